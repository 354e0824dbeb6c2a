<?php
// Customers return here. Anyone can open this page: only the order's status proves the payment, and the page does not show
// the pay link.
require 'order_service.php';

$id = $_GET['orderId'] ?? '';
try {
    $order = order_service('GET', '/order/' . rawurlencode(is_string($id) ? $id : '') . '/');
} catch (OrderServiceException $error) {
    if (($error->problem['code'] ?? '') !== 'not_found') {
        throw $error;
    }
    http_response_code(404);
    exit('<title>Coffee shop</title><h1>Order not found</h1><p>The link may be incomplete.</p>');
}
$paid = $order['status'] === 'SUCCESSFUL';
?>
<title>Coffee shop</title>
<h1><?= $paid ? 'Thank you for your order' : 'Your order is not complete' ?></h1>
<p>The order is <?= $order['status'] ?>.</p>
