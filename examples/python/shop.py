"""A shop with one product that customers pay for through the order service."""

import hashlib, itertools, json, os, traceback, uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.error import HTTPError
from urllib.parse import parse_qs, quote, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from verify_webhook import WebhookVerificationError, verify_webhook

API = os.environ["ORDERS_URL"] + "/api/lending/edge/ecommerce"
PORT = int(os.environ.get("PORT", 8080))
SHOP_URL = os.environ.get("SHOP_URL", f"http://127.0.0.1:{PORT}")
AMOUNT = 1234.50
MAX_BODY = 1_000_000


class OrderServiceError(Exception):
    """An error response.

    `problem` is its body, with `code`, `detail` and `request_id`, or {} if another server has responded. `retry_after` is in
    seconds, or None without the header.
    """

    def __init__(self, response: HTTPError):
        text = response.read().decode(errors="replace")
        super().__init__(f"{response.code} {text}")
        retry_after = response.headers.get("Retry-After", "")
        self.retry_after = int(retry_after) if retry_after.isdecimal() else None
        is_problem = response.headers.get_content_type() == "application/problem+json"
        self.problem = json.loads(text) if is_problem else {}


class NoRedirects(HTTPRedirectHandler):
    """Makes a redirect an error. Following it could send the key to another host."""

    def redirect_request(self, *args):
        return None


opener = build_opener(NoRedirects)


def call(method: str, path: str, data: dict | None = None, idempotency_key: str | None = None) -> dict:
    """Calls the order service and returns the `data` of its response. Raises OrderServiceError for an error response."""
    headers = {"Authorization": f"Bearer {os.environ['SELLER_API_KEY']}", "Content-Type": "application/json"}
    if idempotency_key is not None:
        headers["Idempotency-Key"] = idempotency_key
    body = None if data is None else json.dumps({"data": data}).encode()
    try:
        with opener.open(Request(API + path, body, headers, method=method), timeout=30) as response:
            return json.load(response)["data"]
    except HTTPError as error:
        raise OrderServiceError(error) from None


def product_page() -> str:
    # A real shop creates the cart with its id, and stores both.
    return f"""<title>Coffee shop</title><h1>Coffee machine</h1>
        <form method="post" action="/pay">
          <input type="hidden" name="cart" value="{uuid.uuid4()}">
          <button>Pay £{AMOUNT:,.2f}</button>
        </form>"""


def order_number(cart: str) -> str:
    """
    Customers see it, also on their bank statement, where a reference has 18 characters. A real shop counts its orders
    instead.
    """
    return f"W-{hashlib.sha256(cart.encode()).hexdigest()[:10].upper()}"


def pay(cart: str) -> str:
    """Creates the order, and returns where the customer goes next."""
    data = {
        "amount": AMOUNT,
        "reference": order_number(cart),
        "redirect_url": f"{SHOP_URL}/return",
        "cancel_url": f"{SHOP_URL}/return",
        "webhook_url": f"{SHOP_URL}/webhook",
    }
    for attempt in itertools.count(1):
        try:
            # With the same Idempotency-Key, a second click or a repeated call gets the same order.
            key = f"cart-{cart}-{AMOUNT}-{attempt}"
            order_id = call("POST", f"/seller/{os.environ['SELLER_ID']}/order/", data, idempotency_key=key)["id"]
        except OrderServiceError as error:
            code = error.problem.get("code")
            if code == "idempotency_key_reused":
                # The shop has changed what it sends since this attempt. The reference finds its order.
                continue
            if code != "duplicate_reference":
                raise
            order_id = error.problem["order_id"]
        # The order may be that of an earlier click: paid, closed or for another amount.
        order = call("GET", f"/order/{order_id}/")
        if order["status"] == "UNSUCCESSFUL":
            continue
        if order["amount"] == AMOUNT:
            return order["redirect_url" if order["status"] == "SUCCESSFUL" else "order_url"]
        # The price has changed. A paid order cannot be cancelled: this raises, and a person has to decide.
        call("DELETE", f"/order/{order_id}/")


def return_page(order_id: str) -> tuple[int, str]:
    """Returns the status and the page."""
    # Anyone can open this page: only the order's status proves the payment, and the page does not show the pay link.
    try:
        order = call("GET", f"/order/{quote(order_id, safe='')}/")
    except OrderServiceError as error:
        if error.problem.get("code") != "not_found":
            raise
        return 404, "<title>Coffee shop</title><h1>Order not found</h1><p>The link may be incomplete.</p>"
    heading = "Thank you for your order" if order["status"] == "SUCCESSFUL" else "Your order is not complete"
    page = f"<title>Coffee shop</title><h1>{heading}</h1><p>The order is {order['status']}.</p>"
    return 200, page


def receive_webhook(headers, body: bytes) -> int:
    """Returns the status of the response."""
    try:
        webhook = verify_webhook(os.environ["WEBHOOK_SECRET"], headers, body)
    except WebhookVerificationError:
        return 400
    # A real shop stores the webhook here, unless it has one with this webhook-id, and processes it after the response. It
    # applies a status only if the sequence is higher than the order's highest: a resend can arrive after a newer webhook.
    if webhook["type"] == "order.status_changed":
        data = webhook["data"]
        order, before = data["order"], data["previous_status"]
        print(f"webhook {data['sequence']}: order {order['id']} changed from {before} to {order['status']}", flush=True)
    return 204


class Shop(BaseHTTPRequestHandler):
    def do_GET(self):
        url = urlsplit(self.path)
        length = int(self.headers.get("Content-Length", 0))
        if not 0 <= length <= MAX_BODY:
            return self.send_error(413)
        body = self.rfile.read(length)
        status, page, location = 200, "", None
        try:
            match self.command, url.path:
                case "GET", "/":
                    page = product_page()
                case "POST", "/pay":
                    status, location = 303, pay(parse_qs(body.decode())["cart"][0])
                case "GET", "/return":
                    status, page = return_page(parse_qs(url.query).get("orderId", [""])[0])
                case "POST", "/webhook":
                    status = receive_webhook(self.headers, body)
                case _:
                    status = 404
        except Exception:
            # After a 500, a webhook is sent again. The customer may have paid: the shop does not know.
            traceback.print_exc()
            status = 500
            page = """<title>Coffee shop</title><h1>Something went wrong on our side</h1>
                <p>If you have paid, do not pay again: we have your order. Otherwise, try again in a minute.</p>"""
        self.send_response(status)
        if location is not None:
            self.send_header("Location", location)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(page.encode())

    do_POST = do_GET


if __name__ == "__main__":
    print(f"The shop is at {SHOP_URL}/", flush=True)
    ThreadingHTTPServer(("127.0.0.1", PORT), Shop).serve_forever()
