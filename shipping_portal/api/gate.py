"""Admit programs by bearer token only, with JSON of limited size. Cookies are ignored."""

import json
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

import structlog
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils import timezone
from ninja.parser import Parser
from ninja.security import HttpBearer

from shipping_portal.accounts.access import MemberRequest, has_second_factor, must_promise
from shipping_portal.accounts.api_tokens import (
    SCOPES,
    NobodyNamed,
    NotAccepted,
    find_caller,
    holder_of,
    scopes_of,
)
from shipping_portal.accounts.login import security_events
from shipping_portal.accounts.models import ApiToken
from shipping_portal.api import problems
from shipping_portal.api.problems import ApiProblem
from shipping_portal.carrier.values import object_of

PREFIX = "/api/"
# People who read this page may be logged in. Without their cookie, the one it sets would log them
# out.
PAGE = "/api/v1/"
NOT_JSON = "The body is not JSON, or a key appears in it twice."
MOST_BYTES = 64 * 1024  # bytes of a JSON body; a parcel takes 3 kB


def serve_programs(
    get_response: Callable[[HttpRequest], HttpResponseBase],
) -> Callable[[HttpRequest], HttpResponseBase]:
    """Drop cookies from calls to the API, and answer every error with a problem (middleware)."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        is_page = request.path == PAGE and request.method in {"GET", "HEAD"}
        if is_page or not request.path.startswith(PREFIX):
            return get_response(request)
        request.META.pop("HTTP_COOKIE", None)
        with structlog.contextvars.bound_contextvars(caller=None):
            response = get_response(request)
        is_other = response.headers.get("Content-Type", "") != problems.CONTENT_TYPE
        if response.status_code >= HTTPStatus.BAD_REQUEST and is_other:
            response = problems.from_page(request, response)
        response.headers.setdefault("Cache-Control", "private, no-store")
        return response

    return middleware


class Bearer(HttpBearer):
    """Accept a token with this scope. The member's role must allow the scope."""

    def __init__(self, scope: str) -> None:
        super().__init__()
        self.scope = scope

    def authenticate(self, request: Any, token: str) -> Any:
        try:
            caller = find_caller(token, request.headers.get("Acts-For", ""), now=timezone.now())
        except NotAccepted as error:
            security_events.record_event("API token refused", request, detail=str(error))
            raise ApiProblem("token", str(error)) from error
        except NobodyNamed as error:
            raise ApiProblem("member", str(error)) from error
        structlog.contextvars.bind_contextvars(caller=caller.token.pk)
        request.user, request.membership = caller.member.user, caller.member
        request.sender = caller.member.sender
        self._refuse_unless_allowed(request, caller.token)
        return caller.token

    def _refuse_unless_allowed(self, request: MemberRequest, token: ApiToken) -> None:
        holder = holder_of(token.scopes, is_partners=token.is_partners)
        if self.scope not in scopes_of(holder) or self.scope not in token.scopes:
            raise ApiProblem("scope", f"This needs a token with the scope {self.scope}.")
        if request.membership.role not in SCOPES[self.scope].roles:
            role = request.membership.get_role_display().lower()
            raise ApiProblem("role", f"The member is a {role} of the account.")
        if request.sender.needs_second_factor and not has_second_factor(request.user):
            raise ApiProblem(
                "second-factor", "The member logs in on the pages and sets it up first."
            )
        # An entry link leads to the page that asks for the promise.
        if must_promise(request) and self.scope != "enter":
            raise ApiProblem("promise", "An owner makes it on the pages first.")


def read_body(request: HttpRequest, most: int) -> bytes:
    """Return the body if it has at most this many bytes. Larger ones are refused unread."""
    if request.headers.get("Content-Encoding", "identity").strip().lower() != "identity":
        raise ApiProblem("media-type", "Send the body uncompressed.")
    length = request.headers.get("Content-Length") or "0"
    if not (length.isascii() and length.isdigit()) or int(length) > most:
        raise ApiProblem("too-large", f"Send at most {most // 1024} kB.")
    return request.body


class JsonParser(Parser):
    """Read JSON that a database can store, of at most MOST_BYTES."""

    def parse_body(self, request: HttpRequest) -> Any:
        if request.content_type != "application/json":
            raise ApiProblem("media-type", "Send JSON, as application/json.")
        body = read_body(request, MOST_BYTES)
        try:
            found = json.loads(body, object_pairs_hook=object_of)
            json.dumps(found, ensure_ascii=False).encode()  # half a surrogate pair can't be stored
        except (ValueError, RecursionError) as error:
            raise ApiProblem("bad-request", NOT_JSON) from error
        return found
