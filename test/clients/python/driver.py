"""The calls of a shop with a Python client from openapi-generator."""

import json
import os
from uuid import UUID

from openapi_client import ApiClient, ApiException, Configuration, OrdersApi, WebhooksApi
from openapi_client.models import CreateOrderRequest, CreateOrderRequestData, OrderStatus, OrderStatusChanged
from openapi_client.models import PaymentTerm, TimelineChange, TimelineRefusal

client = ApiClient(Configuration(host=os.environ["BASE_URL"], access_token=os.environ["SELLER_API_KEY"]))
orders, webhooks = OrdersApi(client), WebhooksApi(client)
seller_id = UUID(os.environ["SELLER_ID"])
reference = os.environ["REFERENCE"]
order_id = None


def drive(run):
    try:
        result = run()
    except ApiException as error:
        result = {"status": error.status, **describe_problem(run.__name__, error.data)}
    except Exception as error:
        result = {"error": repr(error)}
    print(json.dumps({"call": run.__name__, **result}), flush=True)


def describe_problem(call, problem):
    more = {
        "duplicate": lambda: {"order_id": str(problem.order_id), "order_amount": problem.order_amount},
        "invalid": lambda: {"errors": [f"{error.pointer} {error.code}" for error in problem.errors]},
    }
    return {"code": problem.code, **more.get(call, dict)()}


def post(key, **changes):
    data = {"amount": 200000.01, "redirect_url": "https://shop.example/thank-you", **changes}
    order = CreateOrderRequestData(
        reference=reference,
        allowed_payment_terms=[PaymentTerm.PAY_LATER],
        meta_data={"basket": "b-17"},
        **data,
    )
    body = CreateOrderRequest(data=order)
    return orders.create_order_with_http_info(seller_id, body, idempotency_key=reference + key)


def create():
    global order_id
    response = post("")
    order = response.data.data
    order_id = order.id
    return {
        "status": response.status_code,
        "id": str(order.id),
        "amount": order.amount,
        "order_status": order.status.value,
        "allowed_payment_terms": [term.value for term in order.allowed_payment_terms],
    }


def duplicate():
    return {"status": post("-2").status_code}


def invalid():
    url = "https://user:password@shop.example/"
    return {"status": post("-3", amount=12.345, webhook_url=url, redirect_url=url).status_code}


def not_found():
    return {"status": orders.retrieve_order_with_http_info(UUID(os.environ["MISSING_ORDER_ID"])).status_code}


def retrieve():
    response = orders.retrieve_order_with_http_info(order_id)
    order = response.data.data
    return {"status": response.status_code, "amount": order.amount, "meta_data": order.meta_data}


def list_():
    response = orders.list_orders_with_http_info(
        seller_id, reference=reference, status=OrderStatus.CREATED, created_from="2026-01-01T00:00:00Z", limit=10
    )
    amounts = [order.amount for order in response.data.data]
    return {"status": response.status_code, "amounts": amounts, "next_cursor": response.data.next_cursor}


def cancel():
    response = orders.cancel_order_with_http_info(order_id)
    order = response.data.data
    return {
        "status": response.status_code,
        "amount": order.amount,
        "order_status": order.status.value,
        "cancelled_at": round(order.cancelled_at.timestamp() * 1000),
    }


def describe(entry):
    entry = entry.actual_instance
    if isinstance(entry, TimelineChange):
        return f"{entry.type} {entry.to.value}"
    return f"{entry.type} {entry.event if isinstance(entry, TimelineRefusal) else entry.status}"


def timeline():
    response = webhooks.retrieve_timeline_with_http_info(UUID(os.environ["TIMELINE_ORDER_ID"]))
    return {"status": response.status_code, "entries": [describe(entry) for entry in response.data.data]}


def webhook():
    with open("webhook.json") as file:
        webhook = OrderStatusChanged.from_json(file.read())
    return {
        "type": webhook.type,
        "amount": webhook.data.order.amount,
        "order_status": webhook.data.order.status.value,
        "previous_status": webhook.data.previous_status.value,
        "sequence": webhook.data.sequence,
    }


list_.__name__ = "list"
for call in (create, duplicate, invalid, not_found, retrieve, list_, cancel, timeline, webhook):
    drive(call)
