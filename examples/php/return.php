<?php
// Customers return here. Anyone can open this page: only the order's status proves the payment, and the page shows neither the
// pay link nor the reference, because the cart in it leads to the pay link.
require 'order_service.php';

$order = order_service('GET', '/order/' . rawurlencode($_GET['orderId'] ?? '') . '/');
$paid = $order['status'] === 'SUCCESSFUL';
?>
<title>Coffee shop</title>
<h1><?= $paid ? 'Thank you for your order' : 'Your order is not complete' ?></h1>
<p>The order is <?= $order['status'] ?>.</p>
