<?php

/**
 * Returns the webhook. $headers is getallheaders(), $body is file_get_contents('php://input').
 *
 * @throws UnexpectedValueException if the request is not a recent webhook of the order service: respond with 400
 * @throws InvalidArgumentException if the secret is empty or malformed: fix your configuration
 */
function verify_webhook(#[SensitiveParameter] string $secret, array $headers, string $body): array
{
    $key = base64_decode(substr($secret, 6), true);
    if ($key === false || strlen($key) < 24 || $secret !== 'whsec_' . base64_encode($key)) {
        throw new InvalidArgumentException('the webhook secret is empty or malformed');
    }
    $header = function (string $name) use ($headers): string {
        $values = [];
        foreach ($headers as $given => $value) {
            if (strtolower((string) $given) === $name) {
                array_push($values, ...array_values((array) $value));
            }
        }
        // Servers join the values of a repeated header with a comma and a space.
        if (count($values) !== 1 || !is_string($values[0]) || !preg_match('/^(?!.*, )[\x20-\x7e]+$/D', $values[0])) {
            throw new UnexpectedValueException("the header $name is missing, repeated or not ASCII");
        }
        return $values[0];
    };
    $timestamp = $header('webhook-timestamp');
    if (!ctype_digit($timestamp) || abs(time() - (int) $timestamp) > 300) {
        throw new UnexpectedValueException('the timestamp is not within five minutes of the current time');
    }
    $signed = $header('webhook-id') . '.' . $timestamp . '.' . $body;
    $expected = 'v1,' . base64_encode(hash_hmac('sha256', $signed, $key, true));
    foreach (explode(' ', $header('webhook-signature')) as $given) {
        if (hash_equals($expected, $given)) {
            return json_decode($body, true, 512, JSON_THROW_ON_ERROR);
        }
    }
    throw new UnexpectedValueException('the signature does not match');
}
