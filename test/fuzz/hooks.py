"""Schemathesis hooks: rules that the document states in prose only, and a check of access between sellers."""

import atexit
import datetime
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
        st.sampled_from(["", "?", "?a=1", "?order=7&b=%26"]),
    ),
)


UNPRINTABLE = ("Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp")


def printable(value):
    """Replace characters that a pattern cannot exclude in every regex dialect. ASCII control characters stay."""
    if isinstance(value, str):
        return "".join(c if c.isascii() or unicodedata.category(c) not in UNPRINTABLE else "x" for c in value)
    return value


# Characters without ink that no Unicode category identifies: fillers, variation selectors, the blank Braille pattern.
INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U0001d159\U000e0000-\U000e0fff]"
)


def visible(value):
    """Like `printable`, for references: NFC, single spaces, and only characters that can be told apart."""
    if not isinstance(value, str):
        return value
    spaced = "".join("x" if c != " " and unicodedata.category(c) == "Zs" else c for c in printable(value))
    return unicodedata.normalize("NFC", re.sub(" {2,}", " ", INVISIBLE.sub("x", spaced)))


def storable(value):
    """Remove the key `__proto__`, which `meta_data` rejects."""
    if isinstance(value, dict):
        return {key: storable(child) for key, child in value.items() if key != "__proto__"}
    return [storable(child) for child in value] if isinstance(value, list) else value


def without_order_id(value):
    """Remove the parameter `orderId`, which the service adds to the URLs that customers return to."""
    return re.sub(r"([?&])orderId=[^&#]*", r"\1", value) if isinstance(value, str) else value


MAPPINGS = {
    "redirect_url": without_order_id,
    "cancel_url": without_order_id,
    "reference": visible,
    "source": printable,
    "user": printable,
    "reason": printable,
    "meta_data": storable,
}


@schemathesis.hook
def map_body(context, body):
    if isinstance(body, dict) and isinstance(body.get("data"), dict):
        data = {key: MAPPINGS.get(key, lambda value: value)(value) for key, value in body["data"].items()}
        return {**body, "data": data}
    return body


@schemathesis.hook
def map_query(context, query):
    return {**query, "reference": visible(query["reference"])} if query and "reference" in query else query


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
TODAY = datetime.datetime.now(datetime.timezone.utc).date()
EXPIRY_DATES = [str(TODAY + datetime.timedelta(days=days)) for days in range(2, 365)]
REPLACEMENTS = {
    "createOrder": {"expires_at": f"{EXPIRY_DATES[0]}T09:00:00Z"},
    "resendWebhooks": {"state": "exhausted"},
    "setWebhookEndpoint": {"replaces": None},
}
DATE_TIME = re.compile(r"\d{4}-\d\d-\d\dT")


def is_allowed(operation, data):
    """Whether a body follows the rules that its schema cannot state."""
    if operation == "createOrder":
        expires = data.get("expires_at")
        is_time = isinstance(expires, str) and DATE_TIME.match(expires)
        return not is_time or expires[:10] in EXPIRY_DATES
    if operation == "resendWebhooks":
        return any(data.get(name) is not None for name in ("state", "order_id", "created_from"))
    if operation == "setWebhookEndpoint":
        return data.get("url") is not None or not data.get("replaces")
    return True


def with_own_names(headers):
    """Headers whose names differ in more than their case."""
    if not all(isinstance(header, dict) and isinstance(header.get("name"), str) for header in headers):
        return headers
    return list({header["name"].lower(): header for header in headers}.values())


@schemathesis.hook
def before_call(context, case, kwargs):
    """Apply the rules in every phase: the coverage phase does not call `map_body`."""
    operation = case.operation.definition.raw.get("operationId")
    data = case.body.get("data") if isinstance(case.body, dict) else None
    amount = data.get("amount") if isinstance(data, dict) else None
    if isinstance(amount, float) and 0 < amount < 1e12:
        case.body = {**case.body, "data": {**data, "amount": pence(amount)}}
    # The API accepts PHP's empty map, which the schema does not have.
    if isinstance(data, dict) and data.get("meta_data") == []:
        case.body = {**case.body, "data": {**case.body["data"], "meta_data": [0]}}
    headers = data.get("headers") if isinstance(data, dict) else None
    if isinstance(headers, list):
        case.body = {**case.body, "data": {**data, "headers": with_own_names(headers)}}
    url = data.get("origin") if isinstance(data, dict) else None
    if isinstance(url, str):
        origin = re.sub(r"^(https?://[^/?#]+).*", r"\1", url)
        case.body = {**case.body, "data": {**case.body["data"], "origin": origin}}
    replaced = data.get("replaces") if isinstance(data, dict) else None
    if isinstance(replaced, list) and data.get("url") is not None:
        urls = [re.sub(r"^https?://$", "https://old.example", url) if isinstance(url, str) else url for url in replaced]
        case.body = {**case.body, "data": {**case.body["data"], "replaces": urls}}
    # A unique Idempotency-Key per call, because a second body with the same key is rejected.
    key = (case.headers or {}).get("Idempotency-Key")
    if isinstance(key, str) and re.fullmatch(r"[!-~]{1,255}", key):
        case.headers["Idempotency-Key"] = key[:200] + uuid.uuid4().hex
    for name in (f"{change}_{end}" for change in ("created", "updated", "completed") for end in ("from", "before")):
        if isinstance((case.query or {}).get(name), str):
            case.query[name] = MOMENTS[len(case.query[name]) % len(MOMENTS)]
    example = (case.query or {}).get("amount")
    if isinstance(example, float) and 0 < example < 1e12:
        case.query["amount"] = pence(example)
    # An existing cursor, because any other is rejected.
    cursor = (case.query or {}).get("cursor")
    if isinstance(data, dict) and not is_allowed(operation, data):
        case.body = {**case.body, "data": {**case.body["data"], **REPLACEMENTS[operation]}}
    known = CURSORS.get(operation)
    # None is known of the order in the path.
    if operation == "retrieveTimeline" and isinstance(cursor, str) and re.fullmatch(r"[0-9]{1,18}", cursor):
        del case.query["cursor"]
    elif known and is_uuid(cursor):
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
