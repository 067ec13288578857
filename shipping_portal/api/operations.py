"""Declare an operation of the API in one line: its address, its scope and its answer."""

import inspect
from collections.abc import Callable
from typing import Any

from django.urls import register_converter
from django.urls.converters import UUIDConverter
from ninja import NinjaAPI

from shipping_portal import VERSION
from shipping_portal.api.gate import Bearer, JsonParser
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
        )(view)

    return declare
