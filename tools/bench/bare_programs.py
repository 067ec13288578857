"""The API's reading functions as bare django-ninja views: no token, no middleware of ours, the same queries."""

import uuid
from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import path
from ninja import NinjaAPI, Query

from shipping_portal.api import parcels, schemas

CALLER: dict[str, Any] = {}
bare = NinjaAPI(openapi_url=None, docs_url=None, urls_namespace="bare")


@bare.get("/parcels", response=schemas.ParcelsOut)
def list_parcels(request: HttpRequest, query: Query[schemas.ParcelsQuery]) -> Any:
    return parcels.list_parcels(request, query)


@bare.get("/parcels/{uuid:parcel}", response=schemas.OneParcelOut)
def get_parcel(request: HttpRequest, response: HttpResponse, parcel: uuid.UUID) -> Any:
    return parcels.get_parcel(request, response, parcel)


def as_caller(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Treat each request as one from the member in CALLER (middleware)."""

    def middleware(request: HttpRequest) -> HttpResponse:
        request.urlconf = __name__
        vars(request).update(CALLER)
        return get_response(request)

    return middleware


urlpatterns = [path("", bare.urls)]
