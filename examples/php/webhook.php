<?php
// Receives webhooks. After an error, such as a malformed secret, the status stays 500, and the webhook is sent again.
http_response_code(500); // PHP itself sets it only if display_errors is off.
require 'verify_webhook.php';

$body = file_get_contents('php://input');
try {
    $webhook = verify_webhook(getenv('WEBHOOK_SECRET') ?: '', getallheaders(), $body);
} catch (UnexpectedValueException $error) {
    http_response_code(400);
    exit;
}
// A real shop stores the webhook here, unless it has one with this webhook-id, and processes it after the response. It applies
// a status only if the sequence is higher than the order's highest, because a resend can arrive after a newer webhook.
if ($webhook['type'] === 'order.status_changed') {
    ['order' => $order, 'previous_status' => $before, 'sequence' => $sequence] = $webhook['data'];
    error_log("webhook $sequence: order $order[id] changed from $before to $order[status]");
}
http_response_code(204);
