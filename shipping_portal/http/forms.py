"""Answer with a form."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.forms import BaseForm
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render

from shipping_portal.refused import Refused


def posted_data(request: HttpRequest) -> QueryDict | None:
    """Return what was posted, even if it is nothing: an unticked box sends nothing."""
    return request.POST if request.method == "POST" else None


def render_form(request: HttpRequest, template: str, context: dict[str, Any]) -> HttpResponse:
    """Return the page of the context's `form`, with 422 if the form was refused."""
    status = 422 if context["form"].errors else 200
    return render(request, template, context, status=status)


@contextmanager
def refusals_at(
    form: BaseForm, field: str | None = None, *, kinds: tuple[type[Exception], ...] = (Refused,)
) -> Iterator[None]:
    """Add a refusal to the form, at the field or to the whole, instead of raising it."""
    try:
        yield
    except kinds as refusal:
        form.add_error(field, str(refusal))
