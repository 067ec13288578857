"""`manage.py trace ORDER`: print one parcel's history in order, from every table with its rows."""

import datetime as dt
from collections.abc import Iterator
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from orders.masking import without_emails
from orders.models import Order
from orders.status.references import with_reference
from orders.views.chosen import read_uuid
from shipping_portal.accounts.models import Audit
from shipping_portal.accounts.models.audit import subject_of
from tracking.models import WebhookDelivery

Line = tuple[dt.datetime | None, str, str]


class Command(BaseCommand):
    help = (
        "Print one parcel's history in order: moves, carrier calls, labels, scans, charges,"
        " actions."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("order", help="its carrier reference, order number or UUID")

    def handle(self, *args: Any, **options: Any) -> None:
        order = _find(options["order"])
        if order is None:
            raise CommandError(f"No order matches {options['order']}.")
        facts = {
            "order": order.uuid,
            "number": order.pk,
            "sender": order.sender.number,
            "request": order.request_id or "–",
        }
        self.stdout.write("  ".join(f"{name} {value}" for name, value in facts.items()))
        for at, kind, text in sorted(
            (line for line in _history(order) if line[0]), key=lambda line: str(line[0])
        ):
            self.stdout.write(f"{at:%Y-%m-%d %H:%M:%S.%f}Z  {kind:8}  {text}".rstrip())


def _find(typed: str) -> Order | None:
    """Return the newest order with this reference, or the one with this number or uuid."""
    orders = Order.objects.select_related("sender", "account")
    if found := with_reference(orders, typed).first():
        return found
    if typed.isdecimal() and len(typed) < 10:
        return orders.filter(pk=int(typed)).first()
    key = read_uuid(typed)
    return orders.filter(uuid=key).first() if key else None


def _history(order: Order) -> Iterator[Line]:
    """Yield what happened, by table, without bodies, addresses and links."""
    yield order.quoted_at, "quote", f"{order.product_code}, {order.price} {order.currency}"
    for move in order.changes.all():
        yield move.at, "move", f"{move.old} → {move.new}: {without_emails(move.reason)}"
    for attempt in order.attempts.all():
        text = f"attempt {attempt.generation}"
        yield attempt.sent_at, "booking", f"{text} sent, key {attempt.key}"
        yield (
            attempt.done_at,
            "booking",
            f"{text} {attempt.state}, status {attempt.http_status or '–'} {attempt.error}",
        )
    for asked in order.cancels.all():
        yield asked.asked_at, "cancel", "asked for"
        yield asked.done_at, "cancel", f"{asked.state}, status {asked.http_status or '–'}"
    for call in order.calls.all():
        yield call.at, "call", f"{call} in {call.milliseconds} ms, {call.outcome}"
    for label in order.labels.all():
        yield (
            label.stored_at,
            "label",
            f"{label.size} stored, {label.length} bytes, sha256 {label.sha256[:12]}",
        )
        yield label.served_at, "label", f"{label.size} first served"
        yield label.purged_at, "label", f"{label.size} purged"
    for charge in order.charges.all():
        yield (
            charge.posted_at,
            "charge",
            f"{charge.kind} {charge.amount} {charge.currency}, week {charge.week}",
        )
    for act in Audit.objects.filter(subject=subject_of(order)).select_related("actor"):
        yield (
            act.at,
            "act",
            f"{act.action} by {act.actor_id or 'the portal'}, request {act.request_id or '–'}",
        )
    yield from _tracking(order)


def _tracking(order: Order) -> Iterator[Line]:
    parcel = getattr(order, "parcel", None)
    if parcel is None:
        return
    for event in parcel.events.all():
        yield (
            event.happened_at,
            "scan",
            f"{event.event_type}, told {event.received_at:%Y-%m-%d %H:%M:%S}Z by {event.source}"
            + (
                f", the carrier's clock was ahead by {event.clock_ahead_by}"
                if event.clock_ahead
                else ""
            ),
        )
    looks = WebhookDelivery.looks_at([parcel.reference]).filter(account=parcel.account_id)
    for delivery in (*WebhookDelivery.objects.filter(event__parcel=parcel), *looks):
        yield delivery.received_at, "webhook", f"delivery {delivery.pk} {delivery.state}"
