"""Route the API. The login middleware exempts its operations by name: each requires a token."""

from typing import Any

from django.urls import include, path

from shipping_portal.accounts.access import public
from shipping_portal.api.operations import api
from shipping_portal.api.reference import openapi_file, reference

ROUTES: list[Any] = list(api.urls[0])
OPERATIONS = [entry for entry in ROUTES if entry.name != "api-root"]
for entry in OPERATIONS:
    public(entry.callback)

urlpatterns = [
    path("", reference, name="api_reference"),
    path("openapi.json", openapi_file, name="api_schema"),
    path("", include((OPERATIONS, "api"))),
]
