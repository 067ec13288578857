"""Load a month of the demo's sender, generated once by the real code, moved to the present.

tests/demo generated it. Its first four weeks keep their weekdays. The five business days after them
end with the last one before now, so that parcels on their way today were picked up on a business
day.
"""

import datetime as dt
import hashlib
import json
import lzma
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from allauth.account.models import EmailAddress
from django.apps import apps
from django.core.management.base import CommandError
from django.core.management.color import no_style
from django.db import connection, models, transaction
from django.db.models import Sum

from orders.calling import carrier_settings, gateway
from orders.models import BookingAttempt, CarrierAccount, DailySpend, Label, LabelBytes, Order
from shipping_portal.accounts import demo
from shipping_portal.accounts.login import signing_up
from shipping_portal.accounts.models import Membership, Sender, User
from shipping_portal.billing.charges import week_sums
from shipping_portal.billing.models import BillingReport, Charge, ReportFile
from shipping_portal.reports import counting
from shipping_portal.staff.management.commands import carrier_moved
from tracking.models import Poll, TrackingEvent
from tracking.scanning import scans

FILE = Path(__file__).with_name("demo_history.json.xz")
LIVE = dt.date(2026, 8, 17)  # the Monday of the five days still in progress
LIVE_DAYS, ENDS = 5, dt.timedelta(hours=1, minutes=15)  # time of the last day, in UTC
DATE = re.compile(r"\b2026-\d\d-\d\d")
TABLES = (
    "accounts.ParcelSize",
    "accounts.Receiver",
    "accounts.ReceiverKey",
    "orders.Quote",
    "orders.Order",
    "orders.BookingAttempt",
    "orders.CancelAttempt",
    "orders.OrderChange",
    "orders.Label",
    "orders.LabelBytes",
    "orders.Draft",
    "tracking.Parcel",
    "tracking.Poll",
    "tracking.TrackingEvent",
    "tracking.EventWord",
    "billing.ChargeWord",
    "billing.BillingReport",
    "billing.ReportFile",
    "billing.Charge",
    "billing.Dispute",
    "accounts.Audit",
)
CARRIERS_SIZES = {"full": "a4", "cropped": "cropped"}
OF_SENDER = (
    "default_size",
    "counted_on",
    "booked_today",
    "spent_today",
    "unbilled",
    "booked_in_all",
    "spent_in_all",
)
WAITING = {"email": f"jonas@{demo.DOMAIN}", "name": "Jonas Keller"}


def load_history(now: dt.datetime, carrier_state: Path | None = None) -> bool:
    """Load the month unless there are orders, and write the sandbox's part to its ledger.

    Return whether it was loaded.
    """
    if Order.objects.exists():
        return False
    text = with_dates_at(lzma.decompress(FILE.read_bytes()).decode(), now)
    month = json.loads(text, object_hook=_read_instant)
    with transaction.atomic():
        for label in TABLES:
            _fill_table(apps.get_model(label), **month["tables"][label])
        Sender.objects.filter(pk=_demo_business().pk).update(**month["sender"])
        _hash_again()
        week_sums.add_up(week_sums.weeks_of(Charge.objects.posted()))
        _add_up_days()
        # Otherwise the admin would report late jobs.
        Poll.objects.filter(due_at__lt=now).update(due_at=now)
        _open_an_account(now)
        if carrier_state:
            _tell_the_carrier(carrier_state, month["ledger"])
    counting.schedule_days(_demo_business(), now)
    counting.count_due_days(_demo_business().pk)
    return True


def _add_up_days() -> None:
    """Store what was spent each day: a booking only adds its price."""
    orders = Order.objects.filter(reserved_on__isnull=False).order_by()
    days = orders.values_list("reserved_on").annotate(spent=Sum("reserved"))
    DailySpend.objects.bulk_create(DailySpend(day=day, spent=spent) for day, spent in days)


def _open_an_account(now: dt.datetime) -> None:
    """Create a second business that waits for approval, as SIGN_UP may require."""
    user = User.objects.create_user(password=None, **WAITING)
    EmailAddress.objects.create(user=user, email=user.email, verified=True, primary=True)
    business = signing_up.open_account(user, name="Northside Ceramics", country="AU", now=now)
    Sender.objects.filter(pk=business.pk).update(approved_at=None)


def follow_the_carrier() -> None:
    """Keep the sandbox parcels' account and links if the sandbox listens at another port."""
    current = carrier_settings.current_settings()
    a_port = re.compile(rf"{re.escape(current.account)} at (http://127\.0\.0\.1:\d+)")
    for former in filter(
        None, map(a_port.fullmatch, CarrierAccount.objects.values_list("name", flat=True))
    ):
        # If both accounts already have orders, each keeps its own, and the admin shows those left
        # behind.
        with suppress(CommandError):
            carrier_moved.move(replace(current, base_url=former[1]), current)
    linked = Order.objects.filter(
        account__fingerprint=current.fingerprint, public_tracking_url__startswith="http:"
    )
    moved = list(linked.exclude(public_tracking_url__startswith=f"{current.base_url}/"))
    for order in moved:
        order.public_tracking_url = re.sub(
            r"^http://[^/]+", current.base_url, order.public_tracking_url
        )
    Order.objects.bulk_update(moved, ["public_tracking_url"], batch_size=200)


def _tell_the_carrier(state: Path, ledger: list[dict[str, Any]]) -> None:
    """Write the sandbox's ledger and its labels, which can't be made again."""
    (state / "labels").mkdir(parents=True, exist_ok=True)
    lines = (json.dumps(line, ensure_ascii=False) + "\n" for line in ledger)
    (state / "ledger.jsonl").write_text("".join(lines), encoding="utf-8")
    for kept in LabelBytes.objects.select_related("label__order"):
        size = CARRIERS_SIZES[kept.label.size]
        (state / "labels" / f"{kept.label.order.carrier_order_id}-{size}.pdf").write_bytes(
            kept.content
        )


def with_dates_at(text: str, now: dt.datetime) -> str:
    """Return the text with all dates moved. Lengths don't change, so offsets still fit."""
    last = (now.astimezone(dt.UTC) - ENDS).date()
    last -= dt.timedelta(days=max(last.weekday() - 4, 0))
    monday = last - dt.timedelta(days=last.weekday())

    def move(found: re.Match[str]) -> str:
        day = dt.date.fromisoformat(found[0])
        if day < LIVE:
            return str(day - LIVE + monday)
        weeks, weekday = divmod((day - LIVE).days, 7)
        place = weeks * 5 + min(weekday, 5) - (LIVE_DAYS - 1) + last.weekday()
        return str(monday + dt.timedelta(weeks=place // 5, days=place % 5))

    return DATE.sub(move, text)


def _read_instant(member: dict[str, Any]) -> Any:
    """Read a time in the carrier's ledger, which counts seconds since the epoch."""
    return dt.datetime.fromisoformat(member["$t"]).timestamp() if "$t" in member else member


def _demo_business() -> Sender:
    return Membership.objects.select_related("sender").get(user__email=demo.SENDER_EMAIL).sender


def _fill_table(model: type[models.Model], columns: list[str], rows: list[list[Any]]) -> None:
    """Write one table's rows, changing only their owner to this database's people and account."""
    fields: list[Any] = [model._meta.get_field(name) for name in columns]
    reads = [_column_reader(field) for field in fields]
    made = [
        model(
            **{
                field.attname: None if cell is None else read(cell)
                for field, read, cell in zip(fields, reads, row, strict=True)
            }
        )
        for row in rows
    ]
    model._default_manager.bulk_create(made, batch_size=200)
    with connection.cursor() as cursor:
        for statement in connection.ops.sequence_reset_sql(no_style(), [model]):
            cursor.execute(statement)


def _column_reader(field: Any) -> Callable[[Any], Any]:
    """Return the function that reads a column's value from the file."""
    if field.related_model is User:
        return dict(User.objects.values_list("email", "pk")).__getitem__
    if field.related_model in (Sender, CarrierAccount):
        ours = (
            _demo_business().pk if field.related_model is Sender else gateway.current_account().pk
        )
        return lambda _: ours
    if isinstance(field, models.BinaryField):
        return lambda cell: cell.encode("latin-1")
    return (
        field.to_python
        if not isinstance(field, models.JSONField | models.ForeignKey)
        else lambda cell: cell
    )


def _hash_again() -> None:
    """Recompute the hashes of content with dates, in the same way as the code that reads it."""
    for kept in LabelBytes.objects.all():
        Label.objects.filter(pk=kept.label_id).update(sha256=_hash_content(kept.content))
    for attempt in BookingAttempt.objects.all():
        BookingAttempt.objects.filter(pk=attempt.pk).update(body_sha256=_hash_content(attempt.body))
    for file in ReportFile.objects.all():
        BillingReport.objects.filter(pk=file.report_id).update(sha256=_hash_content(file.content))
    events = list(TrackingEvent.objects.select_related("parcel"))
    for event in events:
        event.fingerprint = scans.scan_fingerprint(event.parcel.reference, event)  # type: ignore[arg-type]
    TrackingEvent.objects.bulk_update(events, ["fingerprint"], batch_size=200)


def _hash_content(content: Any) -> str:
    return hashlib.sha256(bytes(content)).hexdigest()
