"""The calls of a shop with a client from openapi-python-client."""

import json
import os
from uuid import UUID

from client import AuthenticatedClient
from client.api.orders import cancel_order, create_order, list_orders, retrieve_order
from client.api.webhooks import retrieve_timeline
from client.models import CreateOrderRequest, CreateOrderRequestData, OrderStatus, OrderStatusChanged, PaymentTerm
from client.models import CreateOrderRequestDataMetaDataType0 as MetaData
from client.models import TimelineChange, TimelineRefusal

client = AuthenticatedClient(base_url=os.environ["BASE_URL"], token=os.environ["SELLER_API_KEY"])
seller_id = UUID(os.environ["SELLER_ID"])
reference = os.environ["REFERENCE"]
order_id = None


def drive(run):
    try:
        result = run()
    except Exception as error:
        result = {"error": repr(error)}
    print(json.dumps({"call": run.__name__, **result}), flush=True)


def post(key, **changes):
    data = {"amount": 200000.01, "redirect_url": "https://shop.example/thank-you", **changes}
    meta_data = MetaData.from_dict({"basket": "b-17"})
    order = CreateOrderRequestData(
        reference=reference, allowed_payment_terms=[PaymentTerm.PAY_LATER], meta_data=meta_data, **data
    )
    body = CreateOrderRequest(data=order)
    response = create_order.sync_detailed(seller_id, client=client, body=body, idempotency_key=reference + key)
    return response.status_code, response.parsed


def create():
    global order_id
    status, created = post("")
    order = created.data
    order_id = order.id
    return {
        "status": status,
        "id": str(order.id),
        "amount": order.amount,
        "order_status": order.status.value,
        "allowed_payment_terms": [term.value for term in order.allowed_payment_terms],
    }


def duplicate():
    status, problem = post("-2")
    return {
        "status": status,
        "code": problem.code,
        "order_id": str(problem.order_id),
        "order_amount": problem.order_amount,
    }


def invalid():
    url = "https://user:password@shop.example/"
    status, problem = post("-3", amount=12.345, webhook_url=url, redirect_url=url)
    errors = [f"{error.pointer} {error.code}" for error in problem.errors]
    return {"status": status, "code": problem.code, "errors": errors}


def not_found():
    response = retrieve_order.sync_detailed(UUID(os.environ["MISSING_ORDER_ID"]), client=client)
    return {"status": response.status_code, "code": response.parsed.code}


def retrieve():
    response = retrieve_order.sync_detailed(order_id, client=client)
    order = response.parsed.data
    return {"status": response.status_code, "amount": order.amount, "meta_data": order.meta_data.to_dict()}


def list_():
    response = list_orders.sync_detailed(
        seller_id,
        client=client,
        reference=reference,
        status=OrderStatus.CREATED,
        created_from="2026-01-01T00:00:00Z",
        limit=10,
    )
    amounts = [order.amount for order in response.parsed.data]
    return {"status": response.status_code, "amounts": amounts, "next_cursor": response.parsed.next_cursor}


def cancel():
    response = cancel_order.sync_detailed(order_id, client=client)
    order = response.parsed.data
    return {
        "status": response.status_code,
        "amount": order.amount,
        "order_status": order.status.value,
        "cancelled_at": round(order.cancelled_at.timestamp() * 1000),
    }


def describe(entry):
    if isinstance(entry, TimelineChange):
        return f"{entry.type_} {entry.to.value}"
    return f"{entry.type_} {entry.event if isinstance(entry, TimelineRefusal) else entry.status}"


def timeline():
    response = retrieve_timeline.sync_detailed(UUID(os.environ["TIMELINE_ORDER_ID"]), client=client)
    return {"status": response.status_code, "entries": [describe(entry) for entry in response.parsed.data]}


def webhook():
    with open("webhook.json") as file:
        webhook = OrderStatusChanged.from_dict(json.load(file))
    return {
        "type": webhook.type_,
        "amount": webhook.data.order.amount,
        "order_status": webhook.data.order.status.value,
        "previous_status": webhook.data.previous_status.value,
        "sequence": webhook.data.sequence,
    }


list_.__name__ = "list"
for call in (create, duplicate, invalid, not_found, retrieve, list_, cancel, timeline, webhook):
    drive(call)
