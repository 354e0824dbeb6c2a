"""Schemathesis hooks: rules that the document states in prose only, and a check of access between sellers."""

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

# URLs that are valid for redirects and webhooks. JSON Schema cannot express the rules for their host.
schemathesis.openapi.format(
    "url",
    st.builds(
        "https://{}.example{}{}".format,
        st.from_regex(r"[a-z]([a-z0-9-]{0,20}[a-z0-9])?", fullmatch=True, alphabet=st.characters(codec="ascii")),
        st.sampled_from(["", ":8443", "/", "/hooks", "/a%20b/", "/caf%C3%A9"]),
        st.sampled_from(["", "?", "?a=1", "?orderId=7&b=%26"]),
    ),
)


UNPRINTABLE = ("Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp")


def printable(value):
    """Replace characters that a pattern cannot exclude in every regex dialect. ASCII control characters stay."""
    if isinstance(value, str):
        return "".join(c if c.isascii() or unicodedata.category(c) not in UNPRINTABLE else "x" for c in value)
    return value


def storable(value):
    """Remove what `meta_data` rejects: the key `__proto__`, and numbers that a double cannot hold, which become text."""
    if isinstance(value, dict):
        return {key: storable(child) for key, child in value.items() if key != "__proto__"}
    if isinstance(value, list):
        return [storable(child) for child in value]
    return str(value) if isinstance(value, (int, float)) and abs(value) > 2**53 - 1 else value


MAPPINGS = {"reference": printable, "source": printable, "reason": printable, "meta_data": storable}


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
    """Round up to whole pence, so that amounts above 0 or above the limit stay above it."""
    return math.ceil(pounds * 100) / 100


def is_uuid(value):
    return isinstance(value, str) and re.fullmatch(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", value)


@functools.cache
def ids(name):
    with open(name) as file:
        return [json.loads(line) for line in file]


# The document describes these times in words. Any other text is rejected.
MOMENTS = ["2026-01-31", "2026-11-21T09:00:00Z", "2026-11-21T09:00:00.123+01:00"]
CURSORS = {"listOrders": "orders", "listWebhooks": "webhooks"}


@schemathesis.hook
def before_call(context, case, kwargs):
    """Apply the rules in every phase: the coverage phase does not call `map_body`."""
    data = case.body.get("data") if isinstance(case.body, dict) else None
    amount = data.get("amount") if isinstance(data, dict) else None
    if isinstance(amount, float) and 0 < amount < 1e12:
        case.body = {**case.body, "data": {**data, "amount": pence(amount)}}
    # A unique Idempotency-Key per call, because a second body with the same key is rejected.
    key = (case.headers or {}).get("Idempotency-Key")
    if isinstance(key, str) and re.fullmatch(r"[!-~]{1,255}", key):
        case.headers["Idempotency-Key"] = key[:200] + uuid.uuid4().hex
    for name in ("created_from", "created_before"):
        if isinstance((case.query or {}).get(name), str):
            case.query[name] = MOMENTS[len(case.query[name]) % len(MOMENTS)]
    # An existing cursor, because any other is rejected.
    cursor = (case.query or {}).get("cursor")
    known = CURSORS.get(case.operation.definition.raw.get("operationId"))
    if known and is_uuid(cursor):
        case.query["cursor"] = ids(known)[int(cursor[:8], 16) % len(ids(known))]


calls = Counter()


@schemathesis.hook
def after_call(context, case, response):
    calls[case.operation.label] += 1


@atexit.register
def write_call_counts():
    with open("calls.json", "w") as file:
        json.dump(calls, file)


@schemathesis.check
def other_sellers_have_no_access(ctx, response, case):
    """Every call that succeeds with a seller's key must return 404 with another seller's key."""
    sent = response.request
    if sent.method == "OPTIONS":  # OPTIONS lists the methods of any path to anyone.
        return
    if not 200 <= response.status_code < 300 or sent.headers.get("Authorization") != f"Bearer {SELLER}":
        return
    headers = {**sent.headers, "Authorization": f"Bearer {STRANGER}"}
    theirs = requests.request(sent.method, sent.url, headers=headers, data=sent.body, timeout=60, allow_redirects=False)
    if theirs.status_code != 404:
        raise Failure(
            operation=case.operation.label,
            title="Another seller's key has access",
            message=f"{sent.method} {sent.url} returns {theirs.status_code} to another seller: {theirs.text}",
        )
