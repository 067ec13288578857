"""Define replies and rejections, as they go over the wire."""

import json
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from shipping_portal.sandbox.contract import Contract
from shipping_portal.sandbox.paths import plant


class HangUp(Exception):
    """Raised when the socket has been handled directly: the server must send nothing more."""


@dataclass
class Reply:
    """A whole HTTP reply, before any fault changes it."""

    status: int
    body: bytes = b""
    content_type: str = "application/json; charset=utf-8"
    headers: list[tuple[str, str]] = field(default_factory=list)

    @property
    def status_line(self) -> str:
        try:
            return f"{self.status} {HTTPStatus(self.status).phrase}"
        except ValueError:
            return f"{self.status} Unknown"

    def all_headers(self) -> list[tuple[str, str]]:
        """Content type, length and the rest."""
        kind = [("Content-Type", self.content_type)] if self.content_type else []
        length = [] if self.status == 204 else [("Content-Length", str(len(self.body)))]
        return [*kind, *length, *self.headers]


def json_reply(status: int, document: Any) -> Reply:
    """Return a reply whose body is ``document`` as JSON."""
    return Reply(status, json.dumps(document, ensure_ascii=False).encode())


class Refused(Exception):
    """A rejection: status, code, text and, for bad fields, messages."""

    def __init__(self, status: int, code: str, text: str, messages: Any = None) -> None:
        super().__init__(text)
        self.status, self.code, self.text, self.messages = status, code, text, messages

    def reply(self, contract: Contract) -> Reply:
        """Return the rejection in the contract's error envelope."""
        document: dict[str, Any] = {}
        plant(document, contract["error_code"], self.code)
        plant(document, contract["error_text"], self.text)
        if self.messages is not None:
            plant(document, contract["error_messages"], self.messages)
        return json_reply(self.status, document)


class NotJson(Refused):
    """400: the body can't be read at all, which this family answers with an empty page."""

    def __init__(self) -> None:
        super().__init__(400, "", "")

    def reply(self, contract: Contract) -> Reply:
        return Reply(400, b"", "text/html; charset=utf-8")


def not_found() -> Refused:
    """404: no such order, reference, label or operation."""
    return Refused(404, "not_found", "The requested resource does not exist.")


def unprocessable(messages: Any) -> Refused:
    """422: some field is wrong; ``messages`` are in any of this carrier's shapes."""
    text = "Some of the supplied data is invalid; see messages."
    return Refused(422, "unprocessable_entity", text, messages)


STOCK_REFUSALS = {
    400: ("bad_request", "The request could not be understood."),
    401: ("unauthorised", "Account ID or API key is not valid."),
    402: ("payment_required", "The account has no payment method, or one is about to expire."),
    403: ("forbidden", "This account may not do that."),
    404: ("not_found", "The requested resource does not exist."),
    408: ("request_timeout", "The request took too long."),
    409: ("conflict", "The request conflicts with another one."),
    412: ("precondition_failed", "The account has not accepted the dangerous-goods terms."),
    413: ("payload_too_large", "The request is too large."),
    422: ("unprocessable_entity", "Some of the supplied data is invalid; see messages."),
    425: ("too_early", "A request with this idempotency key is still being processed."),
    429: ("too_many_requests", "Slow down."),
}


def stock_refusal(status: int) -> Refused:
    """Return the usual rejection for a 4xx status."""
    code, text = STOCK_REFUSALS.get(status, ("error", "The request was refused."))
    return Refused(status, code, text, {"base": ["was refused"]} if status == 422 else None)
