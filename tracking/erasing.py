"""Erase what tracking holds about a person: scans, and webhooks as the carrier sent them."""

import datetime as dt
import json
from collections.abc import Iterable

from django.conf import settings
from django.db.models import Min, Q, QuerySet
from django.utils import timezone

from shipping_portal.jobs.erasing import Keys, erase_bytes, eraser
from shipping_portal.jobs.retention import delete, term
from tracking.models import LastTime, Parcel, ReceiverPage, TrackingEvent, WebhookDelivery
from tracking.receiver_pages import open_pages

State = WebhookDelivery.State
UNREAD = WebhookDelivery.objects.filter(
    state__in=(State.NEW, State.QUARANTINED, State.DIFFERS), event=None
)


@eraser("order", "scans and webhooks")
def erase_scans(orders: Keys) -> int:
    """Reduce scans to what progress and reports need: the event, its time, state and country."""
    references = Parcel.objects.filter(order__in=orders).values_list("reference", flat=True)
    # One reference may begin with another. If a webhook's own reference is known, the webhook
    # belongs to that parcel only.
    own = Q(reference="") | Q(reference__upper__in=[one.upper() for one in references])
    count = erase_bytes(
        WebhookDelivery.objects.filter(own, pk__in=webhooks_naming(references)), "body"
    ) + erase_bytes(WebhookDelivery.looks_at(references), "body")
    return count + _erase_scans(TrackingEvent.objects.filter(parcel__order__in=orders))


@eraser("scan", "scans of parcels that nobody here booked")
def erase_unknown(scans: Keys) -> int:
    events = TrackingEvent.objects.filter(pk__in=scans)
    references = events.values_list("parcel__reference", flat=True)
    return erase_bytes(WebhookDelivery.looks_at(references), "body") + _erase_scans(events)


def _erase_scans(scans: QuerySet[TrackingEvent]) -> int:
    count = erase_bytes(WebhookDelivery.objects.filter(event__in=scans), "body") + erase_bytes(
        scans, "raw"
    )
    scans.update(description="", suburb="", postcode="")
    return count


@eraser("webhook", "webhooks that could not be read")
def erase_unread(webhooks: Keys) -> int:
    return erase_bytes(UNREAD.filter(pk__in=webhooks), "body")


def webhooks_naming(words: Iterable[str]) -> list[int]:
    """Return unreadable webhooks that contain one of these words, in any case, as text or JSON."""
    spelled = {
        form.upper() for word in words for form in (word.encode(), json.dumps(word)[1:-1].encode())
    }
    since = timezone.now() - dt.timedelta(days=settings.WEBHOOK_DAYS)
    bodies = (
        UNREAD.filter(received_at__gt=since).values_list("pk", "body").iterator(500)
        if spelled
        else ()
    )
    return [pk for pk, body in bodies if any(word in bytes(body).upper() for word in spelled)]


@term("bodies of webhooks and scans")
def purge_bodies(now: dt.datetime) -> int:
    """Overwrite raw bodies after WEBHOOK_DAYS, one day's worth at a time. Parsed values stay."""
    mark, _ = LastTime.objects.get_or_create(
        name="bodies kept since", defaults={"at": _oldest_kept(now)}
    )
    count, before = 0, now - dt.timedelta(days=settings.WEBHOOK_DAYS)
    while mark.at < before:
        until = min(mark.at + dt.timedelta(days=1), before)
        for model, column in ((WebhookDelivery, "body"), (TrackingEvent, "raw")):
            count += erase_bytes(
                model.objects.filter(received_at__gte=mark.at, received_at__lt=until), column
            )
        mark.at = until
        mark.save(update_fields=["at"])
    return count


@term("receivers' pages")
def purge_receiver_pages(now: dt.datetime) -> int:
    return delete(ReceiverPage.objects.exclude(pk__in=open_pages(now).values("pk")))


def _oldest_kept(now: dt.datetime) -> dt.datetime:
    kept = (
        model.objects.aggregate(oldest=Min("received_at"))["oldest"]
        for model in (WebhookDelivery, TrackingEvent)
    )
    return min((at for at in kept if at), default=now)
