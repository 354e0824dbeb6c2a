<?php
// Creates the order, and redirects the customer to its checkout page.
require 'order_service.php';

$cart = $_POST['cart'] ?? '';
if (!ctype_xdigit($cart)) {
    http_response_code(400);
    exit;
}
$shop = getenv('SHOP_URL') ?: 'http://127.0.0.1:' . (getenv('PORT') ?: 8080);
for ($attempt = 1; ; $attempt++) {
    $created = order_service('POST', '/seller/' . getenv('SELLER_ID') . '/order/', [
        'amount' => 1234.50,
        'reference' => "cart-$cart",
        'redirect_url' => "$shop/return.php",
        'cancel_url' => "$shop/return.php",
        'webhook_url' => "$shop/webhook.php",
    ], "cart-$cart-$attempt"); // With the Idempotency-Key, a second click or a repeated call gets the same order.
    // The order of an earlier click may be paid or closed by now.
    $order = order_service('GET', "/order/$created[id]/");
    if ($order['status'] !== 'UNSUCCESSFUL') {
        break;
    }
}
header('Location: ' . $order[$order['status'] === 'SUCCESSFUL' ? 'redirect_url' : 'order_url'], true, 303);
