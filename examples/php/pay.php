<?php
// Creates the order, and redirects the customer to its checkout page.
require 'order_service.php';

$cart = $_POST['cart'] ?? '';
if (!ctype_xdigit($cart)) {
    http_response_code(400);
    exit;
}
$shop = getenv('SHOP_URL') ?: 'http://127.0.0.1:' . $_SERVER['SERVER_PORT'];
$amount = 1234.50;
// Customers see the order number, also on their bank statement, where a reference has 18 characters. A real shop counts its
// orders instead.
$number = 'W-' . strtoupper(substr(hash('sha256', $cart), 0, 10));
for ($attempt = 1; ; $attempt++) {
    try {
        // With the same Idempotency-Key, a second click or a repeated call gets the same order.
        ['id' => $id] = order_service('POST', '/seller/' . getenv('SELLER_ID') . '/order/', [
            'amount' => $amount,
            'reference' => $number,
            'redirect_url' => "$shop/return.php",
            'cancel_url' => "$shop/return.php",
            'webhook_url' => "$shop/webhook.php",
        ], "cart-$cart-$amount-$attempt");
    } catch (OrderServiceException $error) {
        $code = $error->problem['code'] ?? '';
        if ($code === 'idempotency_key_reused') {
            // The shop has changed what it sends since this attempt. The reference finds its order.
            continue;
        }
        if ($code !== 'duplicate_reference') {
            throw $error;
        }
        $id = $error->problem['order_id'];
    }
    // The order may be that of an earlier click: paid, closed or for another amount.
    $order = order_service('GET', "/order/$id/");
    if ($order['status'] === 'UNSUCCESSFUL') {
        continue;
    }
    if ($order['amount'] == $amount) {
        break;
    }
    // The price has changed. A paid order cannot be cancelled: this throws, and a person has to decide.
    order_service('DELETE', "/order/$id/");
}
header('Location: ' . $order[$order['status'] === 'SUCCESSFUL' ? 'redirect_url' : 'order_url'], true, 303);
