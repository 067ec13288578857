"""Answer with a form."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render


def render_form(request: HttpRequest, template: str, context: dict[str, Any]) -> HttpResponse:
    """Return the page of the context's `form`, with 422 if the form was refused."""
    status = 422 if context["form"].errors else 200
    return render(request, template, context, status=status)
