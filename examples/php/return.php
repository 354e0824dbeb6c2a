<?php
// Customers return here. Anyone can open this page, so only the order's status proves the payment.
require 'order_service.php';

$order = order_service('GET', '/order/' . rawurlencode($_GET['orderId'] ?? '') . '/');
$paid = $order['status'] === 'SUCCESSFUL';
?>
<title>Coffee shop</title>
<h1><?= $paid ? 'Thank you for your order' : 'Your order is not complete' ?></h1>
<p>Order <?= htmlspecialchars($order['reference']) ?> is <?= $order['status'] ?>.</p>
