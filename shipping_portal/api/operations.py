"""Declare an operation of the API in one line: its address, its scope and its answer."""

import functools
import inspect
from collections.abc import Callable
from typing import Any, get_args

from django.urls import register_converter
from django.urls.converters import UUIDConverter
from ninja import NinjaAPI

from shipping_portal import VERSION
from shipping_portal.accounts.access import MemberRequest
from shipping_portal.api.gate import Bearer, JsonParser
from shipping_portal.api.listed import refuse_names
from shipping_portal.api.problems import answer_problems

api = NinjaAPI(
    title="Shipping Portal",
    version="1",
    description=f"Prices, parcels, labels and tracking. Portal version {VERSION}.",
    openapi_url=None,
    docs_url=None,
    parser=JsonParser(),
    urls_namespace="api",
)
answer_problems(api)


class IdConverter(UUIDConverter):
    """Match an id in small or capital letters: some languages write a UUID in capitals."""

    regex = UUIDConverter.regex.replace("a-f", "a-fA-F")


register_converter(IdConverter, "id")


def api_operation(
    method: str, path: str, *, scope: str, answer: Any = None, status: int = 200, **more: Any
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare a view as an operation. Its docstring becomes its summary and description."""

    def declare(view: Callable[..., Any]) -> Callable[..., Any]:
        summary, _, rest = inspect.cleandoc(view.__doc__ or "").partition("\n")
        return api.api_operation(
            [method],
            path,
            auth=Bearer(scope),
            response={status: answer},
            operation_id=view.__name__,
            summary=summary.rstrip("."),
            description=" ".join(rest.split()),
            tags=[path.split("/")[1]],
            **more,
        )(_refusing_unknown_names(view))

    return declare


def _refusing_unknown_names(view: Callable[..., Any]) -> Callable[..., Any]:
    """Return the view wrapped so that it refuses query parameters it would ignore."""
    known = _query_names(view)

    @functools.wraps(view)
    def checked(request: MemberRequest, *args: Any, **values: Any) -> Any:
        refuse_names(request, known)
        return view(request, *args, **values)

    return checked


def _query_names(view: Callable[..., Any]) -> set[str]:
    """Return the query parameters of a view: arguments with a default, or a schema's fields."""
    found = set()
    for name, one in inspect.signature(view).parameters.items():
        if name == "query":
            found |= {*get_args(one.annotation)[0].model_fields}
        elif one.default is not one.empty:
            found.add(name)
    return found
