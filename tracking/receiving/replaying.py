"""Reprocess stored webhooks under today's contract: choose, preview, give a reason, confirm.

Reading is idempotent (tracking/scanning/reading.py), so an interrupted replay is simply repeated.
"""

import datetime as dt
import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.db import InterfaceError, OperationalError, transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils import timezone

from shipping_portal.accounts.adminkit.actions import ReasonForm
from shipping_portal.accounts.adminkit.facts import Context
from shipping_portal.accounts.models import Audit
from tracking import queues
from tracking.models import Parcel, TrackingEvent, WebhookDelivery
from tracking.scanning import reading
from tracking.word_decisions import Move, compare_progress

logger = logging.getLogger(__name__)
MOST = 500  # the most in one replay
SECONDS = 20.0  # the rest waits for another press; a web request ends at thirty
State = WebhookDelivery.State
MINUTES = forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M")


@dataclass(frozen=True)
class Reading:
    """One delivery, and the result of reprocessing it."""

    delivery: WebhookDelivery  # as it is now
    after: WebhookDelivery
    gives_new_scan: bool

    @property
    def changes(self) -> bool:
        now, then = self.delivery, self.after
        return (now.state, now.reason, now.event_id) != (then.state, then.reason, then.event_id)

    @property
    def words(self) -> str:
        then = State(self.after.state).label
        if self.gives_new_scan:
            return "New scan"
        return f"{then}: {self.after.reason}" if self.after.reason else then


@dataclass(frozen=True)
class ReplayPreview:
    readings: list[Reading]
    moves: list[Move]

    @property
    def changing(self) -> list[Reading]:
        return [reading for reading in self.readings if reading.changes]

    @property
    def new_scans(self) -> int:
        return sum(reading.gives_new_scan for reading in self.readings)

    @property
    def does_nothing(self) -> bool:
        return not (self.changing or self.moves)


@dataclass(frozen=True)
class Replayed:
    """How many were read, how many changed, how many failed because of us, and how many remain."""

    read: int
    changed: int
    failed: int
    left: int


def preview_replay(chosen: Sequence[int]) -> ReplayPreview:
    """Return what reprocessing would change, by doing it in a transaction that is rolled back.

    It takes at most MOST, so that scans for the same parcels wait a few seconds at worst.
    """
    before = _stored_deliveries(chosen)
    with transaction.atomic():
        for pk in before:
            _read_again(pk)
        after = _stored_deliveries(chosen)
        parcels = list(Parcel.objects.filter(events__deliveries__in=after).distinct())
        transaction.set_rollback(True)
    found = [delivery.event_id for delivery in after.values() if delivery.event_id]
    known = set(TrackingEvent.objects.filter(pk__in=found).values_list("pk", flat=True))
    readings = [
        Reading(delivery, after[pk], gives_new_scan=after[pk].event_id not in {None, *known})
        for pk, delivery in before.items()
    ]
    return ReplayPreview(readings, compare_progress(parcels))


def replay_deliveries(chosen: Sequence[int], *, by: Any, reason: str, now: dt.datetime) -> Replayed:
    """Reprocess them, oldest first. One audit row is written before the first is read."""
    before = _stored_deliveries(chosen)
    first, *_ = before.values()
    what = f"{len(before)} webhooks, {min(before)} to {max(before)}: {reason}"
    Audit.write("webhooks read again", first, by=by, reason=what, at=now)
    ends, read, failed = time.monotonic() + SECONDS, 0, 0
    for pk in before:
        if time.monotonic() > ends:
            break
        read += 1
        failed += not _read_again(pk)
    after = _stored_deliveries(chosen)
    changed = sum(
        Reading(delivery, after[pk], gives_new_scan=False).changes
        for pk, delivery in before.items()
    )
    return Replayed(read, changed, failed, len(before) - read)


def _read_again(pk: int) -> bool:
    """Return whether it could be read. A savepoint protects the others from its failure."""
    try:
        with transaction.atomic():
            reading.read_deliveries(pk)
    except (OperationalError, InterfaceError):
        raise
    except Exception:
        # The others are still read.
        logger.exception("delivery_not_read", extra={"delivery": pk})
        return False
    return True


def _stored_deliveries(chosen: Sequence[int]) -> dict[int, WebhookDelivery]:
    rows = WebhookDelivery.objects.filter(pk__in=chosen).order_by("pk")
    return {
        row.pk: row
        for row in rows.select_related("event__parcel").defer("body", "event__raw")[:MOST]
    }


UNREAD, ANY = "unread", "any"


class ChoiceForm(forms.Form):
    """Choose deliveries by state and time of arrival."""

    state = forms.ChoiceField(
        choices=[(UNREAD, "No scan"), *WebhookDelivery.State.choices, (ANY, "All")]
    )
    since = forms.DateTimeField(
        label=f"Received from ({settings.TIME_ZONE})", required=False, widget=MINUTES
    )
    until = forms.DateTimeField(
        label=f"Received before ({settings.TIME_ZONE})", required=False, widget=MINUTES
    )

    def deliveries(self, now: dt.datetime) -> QuerySet[WebhookDelivery]:
        """Return the deliveries, oldest first. Call it after is_valid."""
        state, since, until = (self.cleaned_data[name] for name in ("state", "since", "until"))
        rows = WebhookDelivery.objects.order_by("pk")
        if state == UNREAD:
            rows = rows.filter(queues.unread_webhooks(now))
        elif state != ANY:
            rows = rows.filter(state=state)
        if since:
            rows = rows.filter(received_at__gte=since)
        return rows.filter(received_at__lt=until) if until else rows


class ReplayForm(ReasonForm):
    """The previewed deliveries, and the reason for reprocessing them."""

    chosen = forms.RegexField(
        r"^\d{1,18}(,\d{1,18})*$", widget=forms.HiddenInput, max_length=20 * MOST
    )

    def clean_chosen(self) -> list[int]:
        return [int(pk) for pk in self.cleaned_data["chosen"].split(",")][:MOST]


def replay_page(request: HttpRequest, context: Context) -> HttpResponse:
    """Preview reprocessing, chosen by state and time or by `ids`.

    POST reprocesses exactly those.
    """
    if request.method == "POST":
        form = ReplayForm(request.POST)
        if form.is_valid():
            return _replay_from_form(request, form)
        ids = form.cleaned_data.get("chosen", [])
        return show_preview(request, context, ids, form=form)
    if "ids" in request.GET:
        ids = [int(pk) for pk in request.GET["ids"].split(",") if pk.isdecimal() and len(pk) < 19]
        return show_preview(request, context, ids)
    choice = ChoiceForm(request.GET or None)
    if not choice.is_valid():
        return show_preview(request, context | {"choice": choice}, [])
    rows = choice.deliveries(timezone.now())
    ids = list(rows.values_list("pk", flat=True)[:MOST])
    return show_preview(request, context | {"choice": choice, "matching": rows.count()}, ids)


def show_preview(
    request: HttpRequest, context: Context, ids: list[int], *, form: ReplayForm | None = None
) -> HttpResponse:
    """Show the page with what reprocessing `ids` would change."""
    found = preview_replay(ids) if ids else None
    chosen = ",".join(str(reading.delivery.pk) for reading in found.readings) if found else ""
    more = {
        "title": "Reprocess webhooks",
        "preview": found,
        "most": MOST,
        "form": form or ReplayForm(initial={"chosen": chosen}),
    }
    return TemplateResponse(request, "admin/replay.html", context | more)


def _replay_from_form(request: HttpRequest, form: ReplayForm) -> HttpResponse:
    chosen, reason = form.cleaned_data["chosen"], form.cleaned_data["reason"]
    if not WebhookDelivery.objects.filter(pk__in=chosen).exists():
        messages.warning(request, "These webhooks are no longer stored. Nothing was reprocessed.")
        return redirect("admin:tracking_webhookdelivery_changelist")
    done = replay_deliveries(chosen, by=request.user, reason=reason, now=timezone.now())
    text = (
        f"{_webhooks_in_words(done.read)} reprocessed: {done.changed} changed,"
        f" {done.read - done.changed} unchanged."
    )
    messages.success(request, text)
    if done.failed:
        text = (
            f"{_webhooks_in_words(done.failed)} couldn't be read because of a bug; the log has"
            " details. Nothing is lost."
        )
        messages.error(request, text)
    if done.left:
        messages.warning(
            request,
            f"{_webhooks_in_words(done.left)} not reprocessed: time ran out. Select them again.",
        )
    return redirect("admin:tracking_webhookdelivery_changelist")


def _webhooks_in_words(count: int) -> str:
    return f"{count} webhook{'' if count == 1 else 's'}"
