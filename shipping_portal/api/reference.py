"""Describe the API: OpenAPI 3.1 for programs, and a page with the same content for people."""

import functools
import re
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_GET
from ninja.openapi.schema import REF_TEMPLATE

from shipping_portal.accounts.access import public
from shipping_portal.accounts.api_tokens import SCOPES
from shipping_portal.api import (  # noqa: F401  (their operations)
    addresses,
    drafts,
    entry,
    imports,
    parcels,
    statements,
    stations,
)
from shipping_portal.api.operations import api
from shipping_portal.api.problems import CONTENT_TYPE, KINDS, ProblemOut
from shipping_portal.api.webhooks import add_webhooks

Spec = dict[str, Any]  # a part of the OpenAPI document

PLACES = {"path": "In the path", "query": "In the query", "header": "A header"}
ACTS_FOR = {
    "name": "Acts-For",
    "in": "header",
    "required": False,
    "schema": {"type": "string"},
    "description": "With a partner's token: the email that the member logs in with.",
}


@functools.cache
def openapi() -> Spec:
    """Return ninja's schema, with each operation's scope and the problems it may return."""
    schema = dict(api.get_openapi_schema(path_prefix="api/v1/"))
    schema["servers"] = [{"url": settings.SITE_URL}]
    schema["components"]["schemas"]["Problem"] = ProblemOut.model_json_schema(
        ref_template=REF_TEMPLATE
    )
    content = {CONTENT_TYPE: {"schema": {"$ref": REF_TEMPLATE.format(model="Problem")}}}
    for router in api._get_bound_routers():
        for path, view in router.path_operations.items():
            plain = re.sub(r"{\w+:", "{", path)
            for declared in view.operations:
                shown = schema["paths"][f"/api/v1{plain}"][declared.methods[0].lower()]
                bearer: Any = next(iter(declared.auth_callbacks))
                shown["security"] = [{"Bearer": [bearer.scope]}]
                shown["parameters"].append(ACTS_FOR)
                shown["responses"]["default"] = {"description": "A problem", "content": content}
    add_webhooks(schema)
    return schema


@public
@csrf_exempt  # otherwise a body sent here would be read before being refused
@require_GET
def openapi_file(request: HttpRequest) -> HttpResponse:
    """Serve the schema. It contains no account's data."""
    return JsonResponse(openapi())


@public
@csrf_exempt  # otherwise a body sent here would be read before being refused
@require_GET
def reference(request: HttpRequest) -> HttpResponse:
    """Show every operation with its fields, and every problem."""
    schema = openapi()
    shown = [
        _operation(schema, method.upper(), path, declared)
        for path, methods in schema["paths"].items()
        for method, declared in methods.items()
    ]
    context = {"operations": shown, "kinds": KINDS, "scopes": SCOPES, "site": settings.SITE_URL}
    return render(request, "api/reference.html", context)


def _operation(schema: Spec, method: str, path: str, declared: Spec) -> Spec:
    status, good = next(iter(declared["responses"].items()))
    return {
        "method": method,
        "path": path,
        "id": declared["operationId"],
        "summary": declared["summary"].replace("`", ""),
        "description": declared.get("description", "").replace("`", ""),
        "scope": declared["security"][0]["Bearer"][0],
        "parameters": [
            one | {"place": PLACES[one["in"]]}
            for one in declared["parameters"]
            if one is not ACTS_FOR
        ],
        "body": _fields(schema, declared.get("requestBody", {})),
        "status": status,
        "answer": _fields(schema, good),
    }


def _fields(schema: Spec, holder: Spec) -> list[tuple[str, str, bool]]:
    """Return each JSON field's name and description, and whether it is required."""
    body = holder.get("content", {}).get("application/json", {}).get("schema", {})
    found = schema["components"]["schemas"].get(body.get("$ref", "").rpartition("/")[2], body)
    needed = found.get("required", [])
    return [
        (name, field.get("description", "").replace("`", ""), name in needed)
        for name, field in found.get("properties", {}).items()
    ]
