<?php
// The calls of a shop with a PHP client from openapi-generator and Debian's Guzzle.
declare(strict_types=1);

use OpenAPI\Client\Api\OrdersApi;
use OpenAPI\Client\Api\WebhooksApi;
use OpenAPI\Client\ApiException;
use OpenAPI\Client\Configuration;
use OpenAPI\Client\Model\CreateOrderRequest;
use OpenAPI\Client\Model\CreateOrderRequestData;
use OpenAPI\Client\Model\OrderStatus;
use OpenAPI\Client\Model\OrderStatusChanged;
use OpenAPI\Client\Model\PaymentTerm;
use OpenAPI\Client\Model\Problem;
use OpenAPI\Client\ObjectSerializer;

require '/usr/share/php/GuzzleHttp/autoload.php';
spl_autoload_register(function (string $class): void {
    $file = __DIR__ . '/client/lib/' . strtr(substr($class, strlen('OpenAPI\\Client\\')), '\\', '/') . '.php';
    if (is_file($file)) {
        require $file;
    }
});

$config = (new Configuration())->setHost(getenv('BASE_URL'))->setAccessToken(getenv('SELLER_API_KEY'));
$orders = new OrdersApi(new GuzzleHttp\Client(), $config);
$webhooks = new WebhooksApi(new GuzzleHttp\Client(), $config);
$seller = getenv('SELLER_ID');
$reference = getenv('REFERENCE');

function drive(string $call, callable $run, ?callable $describe = null): void
{
    try {
        $result = $run();
    } catch (ApiException $error) {
        $problem = $error->getResponseObject();
        $result = ['status' => $error->getCode()];
        $result += $problem instanceof Problem
            ? ['code' => $problem->getCode()] + ($describe ? $describe($problem) : [])
            : ['error' => $error->getMessage()];
    } catch (Throwable $error) {
        $result = ['error' => get_class($error) . ': ' . $error->getMessage()];
    }
    echo json_encode(['call' => $call] + $result, JSON_THROW_ON_ERROR), "\n";
}

$create = function (string $key, array $changes = []) use ($orders, $seller, $reference): array {
    // The setters check the values, the constructor does not.
    $order = (new CreateOrderRequestData())
        ->setAmount($changes['amount'] ?? 200000.01)
        ->setReference($reference)
        ->setAllowedPaymentTerms([PaymentTerm::PAY_LATER])
        ->setRedirectUrl($changes['redirect_url'] ?? 'https://shop.example/thank-you')
        ->setMetaData(['basket' => 'b-17']);
    if (isset($changes['webhook_url'])) {
        $order->setWebhookUrl($changes['webhook_url']);
    }
    $request = new CreateOrderRequest(['data' => $order]);
    return $orders->createOrderWithHttpInfo($seller, $request, $reference . $key);
};

$id = '';
drive('create', function () use ($create, &$id): array {
    [$response, $status] = $create('');
    $order = $response->getData();
    $id = $order->getId();
    return [
        'status' => $status,
        'id' => $id,
        'amount' => $order->getAmount(),
        'order_status' => $order->getStatus(),
        'allowed_payment_terms' => $order->getAllowedPaymentTerms(),
    ];
});
drive('duplicate', fn () => ['status' => $create('-2')[1]], fn (Problem $problem) => [
    'order_id' => $problem->getOrderId(),
    'order_amount' => $problem->getOrderAmount(),
]);
$url = 'https://user:password@shop.example/';
$invalid = ['amount' => 12.345, 'webhook_url' => $url, 'redirect_url' => $url];
drive('invalid', fn () => ['status' => $create('-3', $invalid)[1]], fn (Problem $problem) => [
    'errors' => array_map(fn ($error) => "{$error->getPointer()} {$error->getCode()}", $problem->getErrors()),
]);
drive('not_found', fn () => ['status' => $orders->retrieveOrderWithHttpInfo(getenv('MISSING_ORDER_ID'))[1]]);
drive('retrieve', function () use ($orders, &$id): array {
    [$response, $status] = $orders->retrieveOrderWithHttpInfo($id);
    $order = $response->getData();
    return ['status' => $status, 'amount' => $order->getAmount(), 'meta_data' => $order->getMetaData()];
});
drive('list', function () use ($orders, $seller, $reference): array {
    [$page, $status] = $orders->listOrdersWithHttpInfo(
        $seller,
        limit: 10,
        status: OrderStatus::CREATED,
        reference: $reference,
        created_from: '2026-01-01T00:00:00Z',
    );
    $amounts = array_map(fn ($order) => $order->getAmount(), $page->getData());
    return ['status' => $status, 'amounts' => $amounts, 'next_cursor' => $page->getNextCursor()];
});
drive('cancel', function () use ($orders, &$id): array {
    [$response, $status] = $orders->cancelOrderWithHttpInfo($id);
    $order = $response->getData();
    return [
        'status' => $status,
        'amount' => $order->getAmount(),
        'order_status' => $order->getStatus(),
        'cancelled_at' => (int) $order->getCancelledAt()->format('Uv'),
    ];
});
drive('timeline', function () use ($webhooks): array {
    [$page, $status] = $webhooks->retrieveTimelineWithHttpInfo(getenv('TIMELINE_ORDER_ID'));
    $entries = array_map(fn ($entry) => $entry->getType() . ' ' . match ($entry->getType()) {
        'change' => $entry->getTo(),
        'refusal' => $entry->getEvent(),
        'webhook_attempt' => $entry->getStatus(),
    }, $page->getData());
    return ['status' => $status, 'entries' => $entries];
});
drive('webhook', function (): array {
    $webhook = ObjectSerializer::deserialize(file_get_contents('webhook.json'), OrderStatusChanged::class);
    $data = $webhook->getData();
    return [
        'type' => $webhook->getType(),
        'amount' => $data->getOrder()->getAmount(),
        'order_status' => $data->getOrder()->getStatus(),
        'previous_status' => $data->getPreviousStatus(),
        'sequence' => $data->getSequence(),
    ];
});
