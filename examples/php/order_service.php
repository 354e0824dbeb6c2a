<?php

/**
 * Calls the order service and returns the `data` of its response.
 *
 * @throws RuntimeException for an error response, with its status as the code, or if there is no response
 */
function order_service(string $method, string $path, ?array $data = null, string $idempotency_key = ''): array
{
    $curl = curl_init(getenv('ORDERS_URL') . '/api/lending/edge/ecommerce' . $path);
    curl_setopt_array($curl, [
        CURLOPT_CUSTOMREQUEST => $method,
        CURLOPT_HTTPHEADER => [
            'Authorization: Bearer ' . getenv('SELLER_API_KEY'),
            'Content-Type: application/json',
            "Idempotency-Key: $idempotency_key", // Without a value, curl omits the header.
        ],
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
        throw new RuntimeException("the order service returned $status: " . ($body['detail'] ?? $text), $status);
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
