"""Report errors as problem documents (RFC 9457), worded as on the pages.

Each has a `type`, the address of its row on the API's page, and a `detail`, a sentence for people.
For invalid input it also has `errors`, the messages by field.
"""

import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, NamedTuple

from django.conf import settings
from django.forms import BaseForm
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from ninja import NinjaAPI, Schema
from ninja.errors import HttpError, ValidationError
from pydantic import Field

from shipping_portal.refused import Refused

CONTENT_TYPE = "application/problem+json"
KEPT_HEADERS = ("Allow", "Retry-After")


class Kind(NamedTuple):
    """The status and the title of one type of problem."""

    status: int
    title: str


KINDS = {
    "bad-request": Kind(400, "The request can't be read"),
    "token": Kind(401, "A valid bearer token is needed"),
    "member": Kind(403, "It isn't clear for which member"),
    "scope": Kind(403, "The token doesn't have this scope"),
    "role": Kind(403, "The member's role doesn't allow this"),
    "second-factor": Kind(403, "The member needs two-step verification"),
    "promise": Kind(403, "The account has not promised to send no dangerous goods"),
    "suspended": Kind(403, "Booking is switched off for this account"),
    "not-found": Kind(404, "There is no such thing in this account"),
    "method": Kind(405, "This address doesn't take this method"),
    "start": Kind(409, "The account has no pickup address yet"),
    "duplicate": Kind(409, "A parcel like it was booked moments ago"),
    "state": Kind(409, "Its state doesn't allow this now"),
    "label-late": Kind(409, "The label isn't there yet"),
    "worthless": Kind(409, "The label is worthless"),
    "too-large": Kind(413, "The body is too large"),
    "media-type": Kind(415, "The body must be of another type"),
    "invalid": Kind(422, "Something is missing or wrong"),
    "key-reused": Kind(422, "The key was used with other content"),
    "limit": Kind(429, "A limit is reached"),
    "fault": Kind(500, "A fault of ours"),
    "unavailable": Kind(503, "Not available just now"),
}
BODIES = {
    "parcel",
    "chosen",
    "address",
    "link",
    "matched",
    "correction",
    "share",
    "taken",
    "reported",
}  # what our operations call their bodies
OF_STATUS = {400: "bad-request", 401: "token", 404: "not-found", 405: "method"}
OF_STATUS |= {413: "too-large", 415: "media-type", 429: "limit", 500: "fault", 503: "unavailable"}


class ApiProblem(Exception):
    """Raised to answer with a problem. `more` holds extra members of the document."""

    def __init__(
        self,
        kind: str,
        detail: str = "",
        *,
        errors: Mapping[str, list[str]] | None = None,
        headers: Mapping[str, str] | None = None,
        **more: Any,
    ) -> None:
        super().__init__(kind, detail)
        self.kind, self.detail, self.headers = kind, detail, headers or {}
        self.more = ({"errors": errors} if errors else {}) | more


class ProblemOut(Schema):
    """What went wrong. Nothing was booked or changed."""

    type: str
    title: str
    status: int
    detail: str
    request_id: str = Field(description="To quote when you contact us.")
    errors: dict[str, list[str]] = Field({}, description="Messages by field.")
    parcel: str | None = Field(None, description="The parcel that is meant.")


def answer(request: HttpRequest, problem: ApiProblem) -> HttpResponse:
    """Return the problem's response."""
    kind = KINDS[problem.kind]
    document = {
        "type": f"{settings.SITE_URL}/api/v1/#{problem.kind}",
        "title": kind.title,
        "status": kind.status,
        "detail": problem.detail or f"{kind.title}.",
        "request_id": getattr(request, "id", ""),
        **problem.more,
    }
    if kind.status == HTTPStatus.UNAUTHORIZED:
        problem.headers = {"WWW-Authenticate": "Bearer", **problem.headers}
    return HttpResponse(
        json.dumps(document, default=str),
        status=kind.status,
        content_type=CONTENT_TYPE,
        headers=dict(problem.headers),
    )


def from_page(request: HttpRequest, page: HttpResponseBase) -> HttpResponse:
    """Return the problem for an error that got a page as its answer, for example from Django."""
    kept = {name: page.headers[name] for name in KEPT_HEADERS if name in page.headers}
    is_ours = page.status_code >= HTTPStatus.INTERNAL_SERVER_ERROR
    kind = OF_STATUS.get(page.status_code, "fault" if is_ours else "bad-request")
    return answer(request, ApiProblem(kind, headers=kept))


def refuse_invalid(form: BaseForm) -> None:
    """Raise a problem for an invalid form, with its own messages by its own fields."""
    errors = {name: [str(text) for text in texts] for name, texts in form.errors.items()}
    whole = " ".join(errors.pop("__all__", []))
    if errors or whole:
        raise ApiProblem("invalid", whole, errors=errors)


def answer_problems(api: NinjaAPI) -> None:
    """Make the API turn its own exceptions into problems. Django handles the rest."""

    def answer_error(request: HttpRequest, error: Any) -> HttpResponse:
        return answer(request, _problem_of(error))

    for kind in (ApiProblem, Http404, HttpError, Refused, ValidationError):
        api.add_exception_handler(kind, answer_error)


def _problem_of(error: Exception) -> ApiProblem:
    match error:
        case ApiProblem():
            return error
        case Refused():
            return ApiProblem("state", str(error))
        case HttpError(__cause__=ApiProblem() as cause):  # raised by our parser, wrapped by ninja
            return cause
        case HttpError(status_code=status):
            return ApiProblem(OF_STATUS.get(status, "bad-request"))
        case ValidationError(errors=wrong):  # a body or a parameter that no form reads
            return ApiProblem("invalid", errors=_messages(wrong))
    return ApiProblem("not-found")


def _messages(wrong: list[dict[str, Any]]) -> dict[str, list[str]]:
    """Return pydantic's messages by our field names."""
    found: dict[str, list[str]] = {}
    for one in wrong:
        names = [str(part) for part in one["loc"][1:] if part not in BODIES]
        found.setdefault(".".join(names) or "body", []).append(f"{one['msg']}.")
    return found
