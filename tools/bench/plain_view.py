"""The usual view of a label: the reader is logged in, and the bytes are read by their row's key."""

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.urls import path

from orders.models import LabelBytes


@login_required
def label(request: HttpRequest, order: str) -> HttpResponse:
    content = LabelBytes.objects.values_list("content", flat=True).get(label=request.headers["X-Row"])
    return HttpResponse(bytes(content), content_type="application/pdf")


urlpatterns = [path("parcels/<uuid:order>/label/full.pdf", label)]
