import base64, hmac, json, time
from collections.abc import Mapping


class WebhookVerificationError(Exception):
    """The request is not a recent webhook of the order service: respond with 400."""


def verify_webhook(secret: str, headers: Mapping[str, str], body: bytes) -> dict:
    """Returns the webhook. `headers` are those of the request, `body` is its raw body.

    Raises WebhookVerificationError, or ValueError if the secret is empty or malformed: fix your configuration.
    """
    key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    if len(key) < 24 or not secret.startswith("whsec_"):
        raise ValueError("the webhook secret is empty or malformed")

    def header(name: str) -> str:
        values = [value for given, value in headers.items() if given.lower() == name]
        # Servers join the values of a repeated header with a comma and a space.
        if len(values) != 1 or not isinstance(values[0], str) or not values[0].isascii() or ", " in values[0]:
            raise WebhookVerificationError(f"the header {name} is missing, repeated or not ASCII")
        return values[0]

    timestamp = header("webhook-timestamp")
    if not timestamp.isdecimal() or abs(time.time() - float(timestamp)) > 300:
        raise WebhookVerificationError("the timestamp is not within five minutes of the current time")
    signed = f"{header('webhook-id')}.{timestamp}.".encode() + body
    expected = "v1," + base64.b64encode(hmac.digest(key, signed, "sha256")).decode()
    if not any(hmac.compare_digest(expected, given) for given in header("webhook-signature").split(" ")):
        raise WebhookVerificationError("the signature does not match")
    return json.loads(body)
