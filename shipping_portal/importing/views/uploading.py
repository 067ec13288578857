"""Upload or paste an import, then match its columns. Neither books anything."""

import uuid
from collections.abc import Iterable

from django.contrib import messages
from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_GET

from shipping_portal import sheets
from shipping_portal.accounts.access import BOOKERS, MemberRequest, audience, require_get_or_post
from shipping_portal.accounts.models import PickupAddress, Sender
from shipping_portal.accounts.templatetags.words import local_date, local_time
from shipping_portal.http.forms import render_form
from shipping_portal.importing import checking, columns, notes, progress, uploads
from shipping_portal.importing.forms import ImportUploadForm, Match, MatchForm, guesses
from shipping_portal.importing.listing import import_of
from shipping_portal.importing.models import Import

NEWEST = 50


@audience(BOOKERS)
@require_GET
def imports(request: MemberRequest) -> HttpResponse:
    """List the newest files with their state; archived files are separate."""
    mine = Import.objects.for_user(request.user)
    show_archived = request.GET.get("archived") == "yes"
    files = mine.filter(archived_at__isnull=not show_archived).order_by("-created_at")
    # Select the page first; otherwise the rows of all files ever sent would be counted.
    newest = Import.objects.filter(pk__in=list(files.values_list("pk", flat=True)[:NEWEST]))
    listed = progress.with_counts(newest).select_related("made_by").order_by("-created_at")
    archived = mine.exclude(archived_at=None).count()
    context = {"files": listed, "archived": archived, "show_archived": show_archived}
    return render(request, "importing/imports.html", context)


@audience(BOOKERS)
@require_get_or_post
def new_import(request: MemberRequest) -> HttpResponse:
    """Accept a file or a paste, without booking anything."""
    if request.sender.pickup_address() is None:
        messages.info(request, "First tell us where your parcels are picked up.")
        return redirect("start")
    if request.method == "POST":
        try:
            uploads.count_try(request.sender, request.user, timezone.now())
        except uploads.TooManyFiles as error:
            messages.error(request, _too_many(error, request.sender))
            form = ImportUploadForm(initial={"pasted": request.POST.get("pasted", "")})
            return render(request, "importing/import_new.html", {"form": form}, status=429)
    form = ImportUploadForm(request.POST or None, request.FILES or None)
    if not form.is_valid():
        return render_form(request, "importing/import_new.html", {"form": form})
    before = uploads.find_same_file(form.sheet, request.sender)
    file = uploads.store_upload(
        form.sheet, name=form.file_name, sender=request.sender, by=request.user, now=timezone.now()
    )
    if before:
        messages.warning(request, _known_file(before))
    if form.sheet.dropped:
        names = ", ".join(f"“{text}”" for text in form.sheet.dropped[:4])
        messages.info(request, f"We left out lines that aren't orders: {names}.")
    return redirect(
        "match_columns" if file.state == Import.State.MATCHING else "check_import", file.uuid
    )


@audience(BOOKERS)
@require_GET
def import_template(request: MemberRequest) -> StreamingHttpResponse:
    """Download a header line with our field names, in the words of the sender's country."""
    address = request.sender.pickup_address() or PickupAddress(country=request.sender.country)
    heads = [field.label for field in columns.fields(request.sender, address)]
    return sheets.stream_sheet("import-template.csv", heads, [])


@audience(BOOKERS)
@require_get_or_post
def match_columns(request: MemberRequest, file: uuid.UUID) -> HttpResponse:
    """Match columns to our fields. The answer is remembered for this header."""
    found, address = import_of(request, file), request.sender.pickup_address()
    if address is None:
        return redirect("start")
    if found.state == Import.State.BOOKING:
        messages.info(request, "This import is being booked, so its columns stay as they are.")
        return redirect("import", found.uuid)
    initial = guesses(found, columns.fields(request.sender, address))
    form = MatchForm(request.POST or None, initial=initial, file=found, address=address)
    if form.is_valid():
        checking.begin(found, form.columns, form.constants, timezone.now())
        return redirect("check_import", found.uuid)
    # fields that need an answer come first
    matches = sorted(form.matches(), key=lambda match: not match.is_missing)
    missing = [match for match in matches if match.is_missing]
    by_size = [match for match in missing if match.is_measure and form.sizes]
    context = {
        "file": found,
        "notes": list(notes.reading_notes(found)),
        "form": form,
        "matched": [match for match in matches if match.is_used],
        "missing": _labels(match for match in missing if match not in by_size),
        "unmeasured": _labels(by_size),
        "others": [match for match in matches if not match.is_used],
    }
    return render_form(request, "importing/import_match.html", context)


def _labels(matches: Iterable[Match]) -> list[str]:
    return [match.field.label.lower() for match in matches]


def _too_many(error: uploads.TooManyFiles, sender: Sender) -> str:
    return (
        f"You gave us {error.most} files within an hour, the most there is. Files that couldn't be"
        " read count as well. Nothing of this one was read: upload it again after"
        f" {local_time(error.free_at, sender)}."
    )


def _known_file(before: Import) -> str:
    day = local_date(before.created_at, before.sender)
    booked = progress.counts(before).booked
    return (
        f"You imported this same file on {day} ({booked} booked). "
        "Orders that are booked already are left out. Check the others before you book them."
    )
