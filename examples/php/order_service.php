<?php

/** An error response. The exception's code is the status. */
class OrderServiceException extends RuntimeException
{
    /**
     * @param array $problem the body, with `code`, `detail` and `request_id`; empty if another server has responded
     * @param ?int $retry_after in seconds; null without the header
     */
    public function __construct(int $status, public array $problem, public ?int $retry_after)
    {
        $text = $problem ? "$problem[code]: $problem[detail] (request $problem[request_id])" : 'unexpected response';
        parent::__construct("$status $text", $status);
    }
}

/**
 * Calls the order service and returns the `data` of its response.
 *
 * @throws OrderServiceException for an error response
 * @throws RuntimeException if there is no response: repeat the call
 */
function order_service(string $method, string $path, ?array $data = null, string $idempotency_key = ''): array
{
    $retry_after = null;
    $curl = curl_init(getenv('ORDERS_URL') . '/api/lending/edge/ecommerce' . $path);
    curl_setopt_array($curl, [
        CURLOPT_CUSTOMREQUEST => $method,
        CURLOPT_HTTPHEADER => [
            'Authorization: Bearer ' . getenv('SELLER_API_KEY'),
            'Content-Type: application/json',
            "Idempotency-Key: $idempotency_key", // Without a value, curl omits the header.
        ],
        CURLOPT_HEADERFUNCTION => function ($curl, string $line) use (&$retry_after): int {
            if (preg_match('/^retry-after: *(\d+)/i', $line, $match)) {
                $retry_after = (int) $match[1];
            }
            return strlen($line);
        },
        CURLOPT_RETURNTRANSFER => true,
        CURLOPT_TIMEOUT => 30,
    ]);
    if ($data !== null) {
        curl_setopt($curl, CURLOPT_POSTFIELDS, json_encode(['data' => $data], JSON_THROW_ON_ERROR));
    }
    $text = curl_exec($curl);
    if ($text === false) {
        throw new RuntimeException('the order service did not respond: ' . curl_error($curl));
    }
    $status = curl_getinfo($curl, CURLINFO_RESPONSE_CODE);
    $body = json_decode($text, true);
    if ($status >= 300 || !isset($body['data'])) {
        throw new OrderServiceException($status, isset($body['request_id']) ? $body : [], $retry_after);
    }
    return $body['data'];
}

set_exception_handler(function (Throwable $error): void {
    error_log($error);
    http_response_code(500);
    // The customer may have paid: the shop does not know.
    echo '<title>Coffee shop</title><h1>Something went wrong on our side</h1>
        <p>If you have paid, do not pay again: we have your order. Otherwise, try again in a minute.</p>';
});
