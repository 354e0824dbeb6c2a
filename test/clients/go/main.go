// The calls of a shop with a client from oapi-codegen.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"

	"github.com/google/uuid"
	"shop/orders"
)

type result map[string]any

var (
	ctx       = context.Background()
	client    *orders.ClientWithResponses
	seller    = uuid.MustParse(os.Getenv("SELLER_ID"))
	reference = os.Getenv("REFERENCE")
)

func drive(call string, run func() (result, error)) {
	line, err := run()
	if err != nil {
		line = result{"error": err.Error()}
	}
	line["call"] = call
	text, _ := json.Marshal(line)
	fmt.Println(string(text))
}

func create(key string, change func(*orders.CreateOrderRequestData)) (*orders.CreateOrderResponse, error) {
	url := "https://shop.example/thank-you"
	data := orders.CreateOrderRequestData{
		Amount:              200000.01,
		Reference:           reference,
		AllowedPaymentTerms: &[]orders.PaymentTerm{orders.PAYLATER},
		RedirectUrl:         &url,
		MetaData:            &map[string]any{"basket": "b-17"},
	}
	change(&data)
	key = reference + key
	params := &orders.CreateOrderParams{IdempotencyKey: &key}
	return client.CreateOrderWithResponse(ctx, seller, params, orders.CreateOrderRequest{Data: data})
}

func unchanged(*orders.CreateOrderRequestData) {}

func describe(entry orders.TimelineEntry) (string, error) {
	value, err := entry.ValueByDiscriminator()
	switch one := value.(type) {
	case orders.TimelineChange:
		return fmt.Sprintf("%s %s", one.Type, one.To), err
	case orders.TimelineRefusal:
		return fmt.Sprintf("%s %s", one.Type, one.Event), err
	case orders.TimelineWebhookAttempt:
		return fmt.Sprintf("%s %d", one.Type, *one.Status), err
	default:
		return "", err
	}
}

func main() {
	authorize := func(_ context.Context, request *http.Request) error {
		request.Header.Set("Authorization", "Bearer "+os.Getenv("SELLER_API_KEY"))
		return nil
	}
	var err error
	client, err = orders.NewClientWithResponses(os.Getenv("BASE_URL"), orders.WithRequestEditorFn(authorize))
	if err != nil {
		panic(err)
	}

	var id uuid.UUID
	drive("create", func() (result, error) {
		response, err := create("", unchanged)
		if err != nil || response.JSON201 == nil {
			return result{}, fmt.Errorf("no order: %w %s", err, response.Body)
		}
		order := response.JSON201.Data
		id = order.Id
		return result{
			"status": response.StatusCode(), "id": order.Id, "amount": order.Amount,
			"order_status": order.Status, "allowed_payment_terms": order.AllowedPaymentTerms,
		}, nil
	})
	drive("duplicate", func() (result, error) {
		response, err := create("-2", unchanged)
		if err != nil {
			return nil, err
		}
		problem := response.ApplicationproblemJSON409
		return result{
			"status": response.StatusCode(), "code": problem.Code,
			"order_id": problem.OrderId, "order_amount": problem.OrderAmount,
		}, nil
	})
	drive("invalid", func() (result, error) {
		url := "https://user:password@shop.example/"
		response, err := create("-3", func(data *orders.CreateOrderRequestData) {
			data.Amount, data.WebhookUrl, data.RedirectUrl = 12.345, &url, &url
		})
		if err != nil {
			return nil, err
		}
		problem := response.ApplicationproblemJSON422
		var errors []string
		for _, one := range problem.Errors {
			errors = append(errors, fmt.Sprintf("%s %s", *one.Pointer, one.Code))
		}
		return result{"status": response.StatusCode(), "code": problem.Code, "errors": errors}, nil
	})
	drive("not_found", func() (result, error) {
		response, err := client.RetrieveOrderWithResponse(ctx, uuid.MustParse(os.Getenv("MISSING_ORDER_ID")), nil)
		if err != nil {
			return nil, err
		}
		return result{"status": response.StatusCode(), "code": response.ApplicationproblemJSON404.Code}, nil
	})
	drive("retrieve", func() (result, error) {
		response, err := client.RetrieveOrderWithResponse(ctx, id, nil)
		if err != nil {
			return nil, err
		}
		order := response.JSON200.Data
		return result{"status": response.StatusCode(), "amount": order.Amount, "meta_data": order.MetaData}, nil
	})
	drive("list", func() (result, error) {
		limit, status, from := 10, orders.CREATED, "2026-01-01T00:00:00Z"
		params := &orders.ListOrdersParams{Limit: &limit, Status: &status, Reference: &reference, CreatedFrom: &from}
		response, err := client.ListOrdersWithResponse(ctx, seller, params)
		if err != nil {
			return nil, err
		}
		var amounts []float64
		for _, order := range response.JSON200.Data {
			amounts = append(amounts, order.Amount)
		}
		next := response.JSON200.NextCursor
		return result{"status": response.StatusCode(), "amounts": amounts, "next_cursor": next}, nil
	})
	drive("cancel", func() (result, error) {
		response, err := client.CancelOrderWithResponse(ctx, id, nil)
		if err != nil {
			return nil, err
		}
		order := response.JSON200.Data
		return result{
			"status": response.StatusCode(), "amount": order.Amount,
			"order_status": order.Status, "cancelled_at": order.CancelledAt.UnixMilli(),
		}, nil
	})
	drive("timeline", func() (result, error) {
		response, err := client.RetrieveTimelineWithResponse(ctx, uuid.MustParse(os.Getenv("TIMELINE_ORDER_ID")), nil)
		if err != nil {
			return nil, err
		}
		var entries []string
		for _, entry := range response.JSON200.Data {
			text, err := describe(entry)
			if err != nil {
				return nil, err
			}
			entries = append(entries, text)
		}
		return result{"status": response.StatusCode(), "entries": entries}, nil
	})
	drive("webhook", func() (result, error) {
		text, err := os.ReadFile("webhook.json")
		if err != nil {
			return nil, err
		}
		var webhook orders.OrderStatusChanged
		if err := json.Unmarshal(text, &webhook); err != nil {
			return nil, err
		}
		order := webhook.Data.Order
		return result{
			"type": webhook.Type, "amount": order.Amount, "order_status": order.Status,
			"previous_status": webhook.Data.PreviousStatus, "sequence": webhook.Data.Sequence,
		}, nil
	})
}
