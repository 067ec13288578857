"""Files of parcels: taken as the page takes them. A person checks and books them on the pages."""

import uuid
from typing import Any

from django.conf import settings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils import timezone
from django.utils.datastructures import MultiValueDict

from shipping_portal.accounts.access import MemberRequest
from shipping_portal.api import schemas
from shipping_portal.api.gate import read_body
from shipping_portal.api.operations import api_operation
from shipping_portal.api.problems import ApiProblem, refuse_invalid
from shipping_portal.api.sent import refuse_unless_may_begin
from shipping_portal.importing import progress, reading, uploads
from shipping_portal.importing.forms import ImportUploadForm
from shipping_portal.importing.models import Import

FILE = {
    "requestBody": {
        "required": True,
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}


@api_operation(
    "POST", "/imports", scope="imports", answer=schemas.ImportOut, status=201, openapi_extra=FILE
)
def upload_import(request: MemberRequest, name: str = "orders.csv") -> Any:
    """Upload an Excel, CSV or TSV file as the body. Nothing is booked.

    Known columns are matched at once. A person goes on at its `url`.
    """
    refuse_unless_may_begin(request.sender)
    now = timezone.now()
    content = read_body(request, reading.MOST_BYTES)
    try:
        uploads.count_try(request.sender, request.user, now)
    except uploads.TooManyFiles as error:
        wait = max(1, round((error.free_at - now).total_seconds()))
        words = f"You gave us {error.most} files within an hour, the most there is."
        raise ApiProblem("limit", words, headers={"Retry-After": str(wait)}) from error
    form = ImportUploadForm({}, MultiValueDict({"file": [SimpleUploadedFile(name, content)]}))
    refuse_invalid(form)
    file = uploads.take(
        form.sheet, name=form.file_name, sender=request.sender, by=request.user, now=now
    )
    return _shown(file)


@api_operation("GET", "/imports/{uuid:file}", scope="imports", answer=schemas.ImportOut)
def get_import(request: MemberRequest, file: uuid.UUID) -> Any:
    """Show how far a file is, with its rows by outcome."""
    return _shown(get_object_or_404(Import.objects.for_user(request.user), uuid=file))


def _shown(file: Import) -> dict[str, Any]:
    counts = progress.counts(file)
    return {
        "id": file.uuid,
        "name": file.file_name,
        "state": file.state,
        "made_at": file.created_at,
        **{name: getattr(counts, name) for name in schemas.COUNTS},
        "url": settings.SITE_URL + reverse("import", args=[file.uuid]),
    }
