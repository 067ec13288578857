"""Show parcels to programs, with the same facts for each role as on the pages."""

import datetime as dt
import hashlib
import uuid
from dataclasses import replace
from html import unescape
from typing import Any

from django.conf import settings
from django.http import HttpResponse
from django.urls import reverse
from django.utils.html import strip_tags

from orders.calling import gateway
from orders.cancelling.cancel_rules import can_cancel
from orders.drafting import returning
from orders.drafting.forms import ParcelForm
from orders.drafting.receivers import sees_contact, shown_receiver
from orders.models import Draft, Label, Order, Quote
from orders.models.statuses import BEING_CANCELLED, Status
from orders.notices.parcel_events import address_of
from orders.quoting.offers import QuotesPage, Titles
from orders.status.status_labels import status_label
from orders.status.status_sentences import status_sentence
from shipping_portal.accounts.access import BOOKKEEPER
from shipping_portal.api.schemas import PARCEL_CONTROLS, SEEN_BY_BOOKERS, OneParcelOut
from shipping_portal.carrier.messages import Money
from tracking import receiver_pages
from tracking.timeline import TimelineEntry

Facts = dict[str, Any]  # a schema's values, by its fields

PDF = {
    "responses": {
        200: {"content": {"application/pdf": {"schema": {"type": "string", "format": "binary"}}}}
    }
}
SAME = (
    "customer_reference",
    "description",
    "status",
    "eta_from",
    "eta_to",
    "booked_at",
    "cancelled_at",
)


def pointer_to(order: Order) -> Facts:
    """Return a parcel's id and its address in the API: the parts that never change."""
    return {"id": order.uuid, "url": address_of(order)}


def quote_facts(quote: Quote, draft: Draft, form: ParcelForm, page: QuotesPage) -> Facts:
    """Return prices, with everything the page says about them."""
    return {
        "id": quote.uuid,
        "draft": draft.uuid,
        "offers": page.offers,
        "closed": page.closed,
        "missing": page.missing,
        "remarks": form.remarks,
        "warnings": page.warnings,
        "goods_questions": [asked.question for asked in page.goods],
        "expires_at": quote.made_at + dt.timedelta(seconds=settings.QUOTE_SECONDS),
    }


def draft_facts(draft: Draft) -> Facts:
    """Return a draft as it was left."""
    return {
        "id": draft.uuid,
        "values": parcel_values(draft.values),
        "changed_at": draft.updated_at,
        "is_saved": draft.is_saved,
        "quote": draft.quote.uuid if draft.quote else None,
        "parcel": draft.order.uuid if draft.order else None,
        "corrects": draft.corrects.uuid if draft.corrects else None,
        "url": settings.SITE_URL + reverse("draft", args=[draft.uuid]),
    }


def parcel_values(values: dict[str, str]) -> dict[str, str]:
    """Return what is typed into a parcel's fields, without values that only the pages use."""
    return {name: text for name, text in values.items() if name in PARCEL_CONTROLS}


def parcel_facts(order: Order, role: str, now: dt.datetime, titles: Titles) -> Facts:
    """Return what a list shows about a parcel."""
    price = Money(order.total, order.currency)
    if order.unagreed_price is not None:
        price = Money(order.unagreed_price, order.unagreed_currency)
    return {name: getattr(order, name) for name in SAME} | {
        "id": order.uuid,
        "reference": order.carrier_reference,
        "progress": order.shown_progress(now),
        "words": status_label(order, now)[1],
        "carrier": titles.get(order.account_id, ""),
        "product": order.product_code,
        "service": order.product_name,
        "price": price,
        "receiver": _receiver(order, role),
        "pickup_day": None if order.first_mile == "drop-off" else order.expected_pickup(),
        "made_at": order.created_at,
        "labels": [
            label
            for label in order.labels.all()
            # A purged label is no longer available.
            if order.is_booked and sees_contact(role) and label.purged_at is None
        ],
    }


def _receiver(order: Order, role: str) -> Facts:
    seen = shown_receiver(order, role)
    name, place = seen.name, seen.place
    if order.returns_id:  # shown only to the account itself
        parts = (order.receiver_suburb, order.receiver_state, order.receiver_postcode)
        name, place = order.receiver_name, " ".join(filter(None, parts))
    found = {"name": name, "place": place, "country": order.receiver_country}
    if sees_contact(role):
        found |= {part: getattr(order, f"receiver_{part}") for part in SEEN_BY_BOOKERS}
    return found


def one_parcel_facts(order: Order, role: str, now: dt.datetime) -> Facts:
    """Return what a parcel's page shows."""
    waits = order.status in {Status.DRAFT, Status.NOT_BOOKED} and not order.erased_at
    public, may = order.public_tracking_url, sees_contact(role)
    page = receiver_pages.open_page_of(order, now) if may else None
    return parcel_facts(order, role, now, gateway.carrier_titles()) | {
        "sentence": sentence_of(order, role, now),
        "can_cancel": may and can_cancel(order, now),
        "price_to_confirm": order.price_to_confirm if waits else None,
        "replaces": order.replaces.uuid if order.replaces else None,
        "returns": order.returns.uuid if order.returns else None,
        "parcel_number": order.parcel_number,
        "same_order": list(order.consignment_parcels().values_list("uuid", flat=True)),
        "sent_back": _sent_back(order),
        "replacement": _replacement(order) if may else None,
        "tracking_page": public if public and may else None,
        "receiver_page": receiver_pages.link_of(page) if page else None,
    }


def _sent_back(order: Order) -> list[uuid.UUID]:
    if order.progress not in returning.ARRIVED:
        return []
    return list(order.sent_back.order_by("pk").values_list("uuid", flat=True))


def _replacement(order: Order) -> Facts | None:
    """Return the latest replacement. Only a parcel that somebody asked to cancel has one."""
    was_asked = order.status in {*BEING_CANCELLED, Status.CANCELLED} or order.cancel_refused_at
    newest = order.replacements.select_related("booked").order_by("-pk")
    if not (last := newest.first() if was_asked else None):
        return None
    made = last.booked.uuid if last.booked else None
    return {"is_waiting": last.ended_at is None, "parcel": made, "problem": last.problem}


def sentence_of(order: Order, role: str, now: dt.datetime) -> str:
    """Return the meaning of the parcel's state, in plain text."""
    may = sees_contact(role)
    words = status_sentence(order, now, sees_contact=may, can_cancel=may and can_cancel(order, now))
    return unescape(strip_tags(words))


def tracking_facts(order: Order, scans: list[TimelineEntry], role: str, now: dt.datetime) -> Facts:
    """Return the scans. As on the page, a bookkeeper doesn't see the carrier's free text."""
    if role == BOOKKEEPER:
        scans = [replace(scan, description="") for scan in scans]
    words, progress = status_label(order, now)[1], order.shown_progress(now)
    return {"status": order.status, "progress": progress, "words": words, "scans": scans}


def etag_of(document: OneParcelOut) -> str:
    """Return an ETag that changes whenever the document does."""
    digest = hashlib.sha256(document.model_dump_json().encode()).hexdigest()
    return f'W/"{digest[:32]}"'


def label_file(label: Label, content: bytes) -> HttpResponse:
    """Return the carrier's file as a download."""
    name = f"label-{label.order.carrier_reference}-{label.size}.pdf"
    return HttpResponse(
        content,
        content_type="application/pdf",
        headers={
            "Content-Disposition": f'attachment; filename="{name}"',
            "Content-Security-Policy": "default-src 'none'",
        },
    )
