"""A check of our own, and what the document says in words only."""

import atexit
import functools
import json
import math
import os
import re
import unicodedata
import uuid
from collections import Counter

import requests
import schemathesis
from hypothesis import strategies as st
from schemathesis.core.failures import Failure

STRANGER = os.environ["STRANGER_API_KEY"]
SELLER = os.environ["SELLER_API_KEY"]

# Addresses by the rules for redirects and webhooks: JSON Schema has no word for a host.
schemathesis.openapi.format(
    "url",
    st.builds(
        "https://{}.example{}{}".format,
        st.from_regex(r"[a-z]([a-z0-9-]{0,20}[a-z0-9])?", fullmatch=True, alphabet=st.characters(codec="ascii")),
        st.sampled_from(["", ":8443", "/", "/hooks", "/a%20b/", "/caf%C3%A9"]),
        st.sampled_from(["", "?", "?a=1", "?orderId=7&b=%26"]),
    ),
)


def printable(value):
    """`value` with a letter for what a pattern cannot exclude in every dialect; control characters stay."""
    if isinstance(value, str):
        return "".join("x" if unicodedata.category(c) in ("Cf", "Cn", "Co", "Cs") else c for c in value)
    return value


def kept(value):
    """`value` without what `meta_data` refuses: numbers that a double would change, which become text, and one key."""
    if isinstance(value, dict):
        return {key: kept(child) for key, child in value.items() if key != "__proto__"}
    if isinstance(value, list):
        return [kept(child) for child in value]
    return str(value) if isinstance(value, (int, float)) and abs(value) > 2**53 - 1 else value


MAPPINGS = {"reference": printable, "source": printable, "reason": printable, "meta_data": kept}


@schemathesis.hook
def map_body(context, body):
    if isinstance(body, dict) and isinstance(body.get("data"), dict):
        data = {key: MAPPINGS.get(key, lambda value: value)(value) for key, value in body["data"].items()}
        return {**body, "data": data}
    return body


@schemathesis.hook
def map_query(context, query):
    return {**query, "reference": printable(query["reference"])} if query and "reference" in query else query


def pence(pounds):
    """Whole pence, rounded up: what is above 0 stays so, and what is above the limit, too."""
    return math.ceil(pounds * 100) / 100


def is_uuid(value):
    return isinstance(value, str) and re.fullmatch(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", value)


@functools.cache
def ids(name):
    with open(name) as file:
        return [json.loads(line) for line in file]


CURSORS = {"listOrders": "orders", "listWebhooks": "webhooks"}


@schemathesis.hook
def before_call(context, case, kwargs):
    """What the document says in words only, for each phase: the coverage phase asks no `map_body`."""
    data = case.body.get("data") if isinstance(case.body, dict) else None
    amount = data.get("amount") if isinstance(data, dict) else None
    if isinstance(amount, float) and 0 < amount < 1e12:
        case.body = {**case.body, "data": {**data, "amount": pence(amount)}}
    # A good Idempotency-Key for each call: the second body under one is refused, as it should be.
    key = (case.headers or {}).get("Idempotency-Key")
    if isinstance(key, str) and re.fullmatch(r"[!-~]{1,255}", key):
        case.headers["Idempotency-Key"] = key[:200] + uuid.uuid4().hex
    # And a cursor that there is: any other is refused.
    cursor = (case.query or {}).get("cursor")
    known = CURSORS.get(case.operation.definition.raw.get("operationId"))
    if known and is_uuid(cursor):
        case.query["cursor"] = ids(known)[int(cursor[:8], 16) % len(ids(known))]


calls = Counter()


@schemathesis.hook
def after_call(context, case, response):
    calls[case.operation.label] += 1


@atexit.register
def keep_count():
    with open("calls.json", "w") as file:
        json.dump(calls, file)


@schemathesis.check
def strangers_get_nothing(ctx, response, case):
    """What a seller's key gets, another seller's must not: neither a look nor a change."""
    sent = response.request
    if sent.method == "OPTIONS":  # It tells methods, of any path: addresses are no secret.
        return
    if not 200 <= response.status_code < 300 or sent.headers.get("Authorization") != f"Bearer {SELLER}":
        return
    headers = {**sent.headers, "Authorization": f"Bearer {STRANGER}"}
    theirs = requests.request(sent.method, sent.url, headers=headers, data=sent.body, timeout=60, allow_redirects=False)
    if theirs.status_code != 404:
        raise Failure(
            operation=case.operation.label,
            title="Another seller's key is not refused",
            message=f"{sent.method} {sent.url} is answered {theirs.status_code} to a stranger: {theirs.text}",
        )
