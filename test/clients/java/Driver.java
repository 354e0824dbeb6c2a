import com.fasterxml.jackson.databind.ObjectMapper;
import static java.util.stream.Collectors.toList;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.Callable;
import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.ApiResponse;
import org.openapitools.client.api.OrdersApi;
import org.openapitools.client.api.WebhooksApi;
import org.openapitools.client.model.*;

/** The calls of a shop with a Java client from openapi-generator. */
public class Driver {
  static final ObjectMapper MAPPER = ApiClient.createDefaultObjectMapper();
  static final String REFERENCE = System.getenv("REFERENCE");
  static final UUID SELLER = UUID.fromString(System.getenv("SELLER_ID"));
  static OrdersApi orders;
  static UUID id;

  static void drive(String call, Callable<Map<String, Object>> run) throws Exception {
    Map<String, Object> result = new LinkedHashMap<>();
    result.put("call", call);
    try {
      result.putAll(run.call());
    } catch (ApiException error) {
      result.put("status", error.getCode());
      if (error.getResponseBody() == null) result.put("error", error.toString());
      else result.putAll(describe(call, MAPPER.readValue(error.getResponseBody(), Problem.class)));
    } catch (Exception error) {
      result.put("error", error.toString());
    }
    System.out.println(new ObjectMapper().writeValueAsString(result));
  }

  static Map<String, Object> describe(String call, Problem problem) {
    Map<String, Object> result = new LinkedHashMap<>();
    result.put("code", problem.getCode());
    if (call.equals("duplicate")) {
      result.put("order_id", problem.getOrderId());
      result.put("order_amount", problem.getOrderAmount());
    }
    if (call.equals("invalid")) {
      result.put("errors", problem.getErrors().stream().map(one -> one.getPointer() + " " + one.getCode()).collect(toList()));
    }
    return result;
  }

  static CreateOrderRequestData order() {
    return new CreateOrderRequestData()
        .amount(200000.01)
        .reference(REFERENCE)
        .addAllowedPaymentTermsItem(PaymentTerm.PAY_LATER)
        .redirectUrl("https://shop.example/thank-you")
        .metaData(Map.of("basket", "b-17"));
  }

  static ApiResponse<CreatedOrderResponse> create(String key, CreateOrderRequestData order) throws ApiException {
    return orders.createOrderWithHttpInfo(SELLER, new CreateOrderRequest().data(order), REFERENCE + key, null, null);
  }

  static String describe(TimelineEntry entry) {
    Object one = entry.getActualInstance();
    if (one instanceof TimelineChange) {
      TimelineChange change = (TimelineChange) one;
      return change.getType() + " " + change.getTo();
    }
    if (one instanceof TimelineRefusal) {
      TimelineRefusal refusal = (TimelineRefusal) one;
      return refusal.getType() + " " + refusal.getEvent();
    }
    TimelineWebhookAttempt attempt = (TimelineWebhookAttempt) one;
    return attempt.getType() + " " + attempt.getStatus();
  }

  public static void main(String[] args) throws Exception {
    ApiClient client = new ApiClient();
    client.updateBaseUri(System.getenv("BASE_URL"));
    client.setRequestInterceptor(
        request -> request.header("Authorization", "Bearer " + System.getenv("SELLER_API_KEY")));
    orders = new OrdersApi(client);
    WebhooksApi webhooks = new WebhooksApi(client);

    drive("create", () -> {
      var response = create("", order());
      CreatedOrder order = response.getData().getData();
      id = order.getId();
      return Map.of(
          "status", response.getStatusCode(),
          "id", id,
          "amount", order.getAmount(),
          "order_status", order.getStatus().getValue(),
          "allowed_payment_terms", order.getAllowedPaymentTerms().stream().map(PaymentTerm::getValue).collect(toList()));
    });
    drive("duplicate", () -> Map.of("status", create("-2", order()).getStatusCode()));
    drive("invalid", () -> {
      String url = "https://user:password@shop.example/";
      var invalid = order().amount(12.345).webhookUrl(url).redirectUrl(url);
      return Map.of("status", create("-3", invalid).getStatusCode());
    });
    drive("not_found", () -> {
      UUID missing = UUID.fromString(System.getenv("MISSING_ORDER_ID"));
      return Map.of("status", orders.retrieveOrderWithHttpInfo(missing, null, null, null).getStatusCode());
    });
    drive("retrieve", () -> {
      var response = orders.retrieveOrderWithHttpInfo(id, null, null, null);
      Order order = response.getData().getData();
      return Map.of("status", response.getStatusCode(), "amount", order.getAmount(), "meta_data", order.getMetaData());
    });
    drive("list", () -> {
      var response = orders.listOrdersWithHttpInfo(
          SELLER, 10, null, OrderStatus.CREATED, REFERENCE, "2026-01-01T00:00:00Z", null, null, null);
      Map<String, Object> result = new LinkedHashMap<>();
      result.put("status", response.getStatusCode());
      result.put("amounts", response.getData().getData().stream().map(Order::getAmount).collect(toList()));
      result.put("next_cursor", response.getData().getNextCursor());
      return result;
    });
    drive("cancel", () -> {
      var response = orders.cancelOrderWithHttpInfo(id, null, null);
      Order order = response.getData().getData();
      return Map.of(
          "status", response.getStatusCode(),
          "amount", order.getAmount(),
          "order_status", order.getStatus().getValue(),
          "cancelled_at", order.getCancelledAt().toInstant().toEpochMilli());
    });
    drive("timeline", () -> {
      UUID order = UUID.fromString(System.getenv("TIMELINE_ORDER_ID"));
      var response = webhooks.retrieveTimelineWithHttpInfo(order, null, null, null, null);
      List<String> entries = new ArrayList<>();
      for (TimelineEntry entry : response.getData().getData()) entries.add(describe(entry));
      return Map.of("status", response.getStatusCode(), "entries", entries);
    });
    drive("webhook", () -> {
      var webhook = MAPPER.readValue(Files.readString(Path.of("webhook.json")), OrderStatusChanged.class);
      OrderStatusChangedData data = webhook.getData();
      return Map.of(
          "type", webhook.getType().toString(),
          "amount", data.getOrder().getAmount(),
          "order_status", data.getOrder().getStatus().getValue(),
          "previous_status", data.getPreviousStatus().getValue(),
          "sequence", data.getSequence());
    });
  }
}
