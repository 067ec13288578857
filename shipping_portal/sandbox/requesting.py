"""One HTTP request as the routes see it."""

import base64
import binascii
import hmac
import json
import re
import socket
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from urllib.parse import parse_qsl

from shipping_portal.sandbox.config import Config
from shipping_portal.sandbox.trouble import Fault
from shipping_portal.sandbox.wire import HangUp, Refused

LARGEST_BODY = 4 * 1024 * 1024


@dataclass
class Request:
    """One request; its body is read when first needed."""

    environ: dict[str, Any]
    before_commit: Callable[[], None] = field(default=lambda: None)
    fault: Fault | None = None

    def suffers(self, *verbs: str) -> Fault | None:
        """Return this request's fault if it is one of ``verbs``."""
        return self.fault if self.fault and self.fault.verb in verbs else None

    @property
    def method(self) -> str:
        return str(self.environ["REQUEST_METHOD"])

    @property
    def path(self) -> str:
        return str(self.environ.get("PATH_INFO", "")).encode("latin-1").decode("utf-8", "replace")

    @cached_property
    def query(self) -> dict[str, str]:
        return dict(parse_qsl(self.environ.get("QUERY_STRING", ""), keep_blank_values=True))

    @cached_property
    def headers(self) -> dict[str, str]:
        """Return header values by lower-case name."""
        sent = {
            k[5:].replace("_", "-").lower(): v
            for k, v in self.environ.items()
            if k.startswith("HTTP_")
        }
        for name in ("CONTENT_TYPE", "CONTENT_LENGTH"):
            if self.environ.get(name):
                sent[name.replace("_", "-").lower()] = self.environ[name]
        return sent

    @cached_property
    def body(self) -> bytes:
        """Return the body, or what arrived before the client left. Raises Refused."""
        length = self.environ.get("CONTENT_LENGTH") or "0"
        if not length.isdigit() or int(length) > LARGEST_BODY:
            raise Refused(413, "payload_too_large", "The request is too large.")
        return bytes(self.environ["wsgi.input"].read(int(length)))

    @property
    def is_cut(self) -> bool:
        """Return whether less of the body arrived than announced."""
        return len(self.body) < int(self.environ.get("CONTENT_LENGTH") or 0)

    @property
    def base_url(self) -> str:
        host = self.environ.get("HTTP_HOST") or self.environ["SERVER_NAME"]
        return f"{self.environ['wsgi.url_scheme']}://{host}"

    @property
    def is_local(self) -> bool:
        return self.environ.get("REMOTE_ADDR", "") in ("127.0.0.1", "::1", "")

    @property
    def socket(self) -> socket.socket:
        """Return the client's socket, for faults that no HTTP library allows."""
        if "sandbox.socket" not in self.environ:
            raise HangUp
        client: socket.socket = self.environ["sandbox.socket"]
        return client

    @property
    def stopping(self) -> threading.Event:
        """Return the event that is set when the server stops, so that no sleep outlasts it."""
        return self.environ.get("sandbox.stopping") or threading.Event()

    def json(self) -> Any:
        """Return the body as JSON; None for an empty one.

        Raises ValueError if it isn't JSON; NaN isn't JSON either.
        """
        if not self.body:
            return None
        return json.loads(self.body.decode("utf-8"), parse_constant=_no_constant)


def is_authenticated(request: Request, config: Config) -> bool:
    """Return whether the request has this account's credentials in the contract's form."""
    scheme = config.contract["auth"]
    sent = request.headers.get("authorization", "")
    if scheme == "none":
        return True
    if scheme == "bearer":
        return _same(sent, f"Bearer {config.key}")
    if scheme.startswith("header:"):
        return _same(request.headers.get(scheme[len("header:") :].lower(), ""), config.key)
    kind, _, packed = sent.partition(" ")
    try:
        pair = base64.b64decode(packed, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return False
    return kind.lower() == "basic" and _same(pair, f"{config.account}:{config.key}")


def without_credentials(headers: dict[str, str], auth: str) -> dict[str, str]:
    """Return the headers without credentials, for the request log."""
    secret = {"authorization", "cookie", auth.removeprefix("header:").lower()}
    return {name: value for name, value in headers.items() if name not in secret}


def _same(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode(), other.encode())


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def find_route(
    request: Request, routes: Iterable[tuple[str, str, str]]
) -> tuple[str, tuple[str, ...]]:
    """Return the operation of a request, and its path's groups; "" if there is none.

    A route is an operation, a method, and a pattern of the whole path.
    """
    for name, method, pattern in routes:
        if method == request.method and (found := re.fullmatch(pattern, request.path)):
            return name, found.groups()
    return "", ()
