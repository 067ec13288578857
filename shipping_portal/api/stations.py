"""Serve print stations: they take a label, get its bytes, and report the result."""

import base64
import hashlib
import uuid
from typing import Any, Literal

from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404
from django.utils import timezone
from ninja import Schema
from pydantic import Field

from orders.labels import stations
from orders.models import PrintJob, PrintStation
from shipping_portal.accounts.access import MemberRequest
from shipping_portal.api import shown
from shipping_portal.api.operations import api_operation
from shipping_portal.api.parcels import label_bytes
from shipping_portal.api.problems import ApiProblem
from shipping_portal.api.schemas import Strict

AGAIN_SECONDS = "2"
NO_NUL = r"^[^\x00]*$"  # PostgreSQL can't store one
NOTHING = {"responses": {204: {"description": "Nothing waits. Come back after Retry-After."}}}


class TakeIn(Strict):
    """The station that asks."""

    installation: uuid.UUID = Field(description="Made once by the station, kept with its journal.")
    printer: str = Field(
        max_length=100, pattern=NO_NUL, description="The printer's name, shown on the pages."
    )


class PrintJobOut(Schema):
    """A label to print once."""

    id: uuid.UUID
    reference: str
    size: str
    sha256: str
    length: int


class ReportIn(Strict):
    """The result of a print job."""

    outcome: Literal["printed", "failed", "stuck"] = Field(
        description="stuck: it is in the printer's queue and waits there. It stays the station's."
    )
    words: str = Field("", max_length=300, pattern=NO_NUL, description="The printer's.")


class ReportedOut(Schema):
    """The state of the job for the portal."""

    state: PrintJob.State
    is_wanted: bool = Field(description="Whether a label that is still in the queue may print.")


@api_operation("POST", "/print/take", scope="print", answer=PrintJobOut, openapi_extra=NOTHING)
def take_print_job(request: MemberRequest, taken: TakeIn) -> Any:
    """Take the next label for this station's bench.

    A station that asks again before reporting gets the same label, so a restart loses none.
    """
    now, station = timezone.now(), _station_of(request)
    stations.register_installation(station, taken.installation, taken.printer)
    stations.record_contact(station, now)
    if request.sender.dispatch_stopped_at:
        raise ApiProblem("suspended", request.sender.suspension_text)
    job = stations.claim_next(station, now=now)
    if job is None:
        return HttpResponse(status=204, headers={"Retry-After": AGAIN_SECONDS})
    label = stations.label_of(job)
    return {
        "id": job.uuid,
        "reference": str(job.order),
        "size": job.size,
        "sha256": label.sha256 if label else "",
        "length": label.length if label and label.length else 0,
    }


@api_operation("GET", "/print/jobs/{id:job}/label", scope="print", openapi_extra=shown.PDF)
def get_print_label(request: MemberRequest, job: uuid.UUID) -> Any:
    """Get a taken label, byte for byte as the carrier made it. Repr-Digest has its SHA-256."""
    found = _job_of(request, job)
    if found.state != PrintJob.State.TAKEN:
        raise ApiProblem("state", "This station has not taken it, or it has ended.")
    if found.order.is_stopped(request.sender):
        raise ApiProblem("suspended", request.sender.suspension_text)
    if why := stations.why_unwanted(found):
        raise ApiProblem("not-found", why)
    label = stations.label_of(found)
    if label is None:
        raise Http404
    answer = shown.label_file(label, label_bytes(label, request, timezone.now()))
    digest = base64.b64encode(hashlib.sha256(answer.content).digest()).decode()
    answer["Repr-Digest"] = f"sha-256=:{digest}:"
    return answer


@api_operation("POST", "/print/jobs/{id:job}/report", scope="print", answer=ReportedOut)
def report_print_job(request: MemberRequest, job: uuid.UUID, reported: ReportIn) -> Any:
    """Report whether a label was printed, or what prevented it. Only `printed` marks the parcel.

    If a job is reported twice, the first result stays.
    """
    now, found = timezone.now(), _job_of(request, job)
    stations.record_contact(found.station, now)
    if reported.outcome == "stuck":
        stations.report_stuck(found, reported.words)
    else:
        is_printed = reported.outcome == "printed"
        stations.report_end(found, is_printed=is_printed, words=reported.words, now=now)
    is_wanted = not (found.order.is_stopped(request.sender) or stations.why_unwanted(found))
    return {"state": found.state, "is_wanted": is_wanted}


def _station_of(request: MemberRequest) -> PrintStation:
    token = request.auth  # type: ignore[attr-defined]  # set by ninja
    try:
        return token.print_station
    except PrintStation.DoesNotExist:
        raise ApiProblem("scope", "This needs the token of a print station.") from None


def _job_of(request: MemberRequest, job: uuid.UUID) -> PrintJob:
    jobs = PrintJob.objects.select_related("order__sender", "station", "asked_by")
    return get_object_or_404(jobs, uuid=job, station=_station_of(request))
