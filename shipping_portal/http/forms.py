"""Read a form's data, and answer with the form."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.forms import BaseForm
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render

from shipping_portal.refused import Refused


def posted_data(request: HttpRequest) -> QueryDict | None:
    """Return what was posted, even if it is empty: an unticked box sends nothing."""
    return request.POST if request.method == "POST" else None


def render_form(request: HttpRequest, template: str, context: dict[str, Any]) -> HttpResponse:
    """Return the page with the context's `form`; the status is 422 if the form was refused."""
    status = 422 if context["form"].errors else 200
    return render(request, template, context, status=status)


@contextmanager
def refusals_at(
    form: BaseForm, field: str | None = None, *, kinds: tuple[type[Exception], ...] = (Refused,)
) -> Iterator[None]:
    """Add a refusal to the form or one of its fields, instead of raising it."""
    try:
        yield
    except kinds as refusal:
        form.add_error(field, str(refusal))
