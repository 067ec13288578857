"""Hold a restored database's pending work: it may have been done since the backup.

Bookings become cases, cancellations are checked, import rows and replacements are held, and labels
are compared with the carrier before they are shown. In-flight attempts stay as they are: their
workers are gone, so they become unknown as usual.
"""

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass

from django.apps import apps
from django.db import connection, models, transaction
from django.db.models.functions import Coalesce

from orders.calling import gateway
from orders.calling.contract import contract_of
from orders.models import CancelAttempt, CarrierAccount, Label, Order, Replacement, Restore
from orders.models.attempts import BookingAttempt
from orders.models.restores import GAP_IS_OPEN, OLDER
from orders.models.statuses import STILL_AT_SENDER, Status
from orders.restoring import marks
from orders.status.transitions import move_to
from shipping_portal.accounts.models import Audit
from shipping_portal.importing import holding
from shipping_portal.importing.models import Import, ImportRow
from shipping_portal.staff import erasing


@dataclass(frozen=True)
class Fenced:
    """One line of what was held: in words, how many, and when the oldest became due."""

    what: str
    count: int
    oldest: dt.datetime | None = None


class HalfRestored(Exception):
    """Raised when something wrote into the database during the restore.

    The text says what shows that.
    """


@transaction.atomic(durable=True)
def fence_database(backup_at: dt.datetime, *, now: dt.datetime) -> list[Fenced] | None:
    """Hold everything in a database as old as `backup_at`, and mark it as the one in use.

    Raises HalfRestored, marks.NoMarkFile or erased_keys.NoErasedFile. Returns None if this was done
    already and nothing has been restored since.
    """
    _refuse_half_a_restore()
    if _is_done(backup_at, now):
        return None
    restore, _ = Restore.objects.update_or_create(
        backup_at=backup_at, defaults={"restored_at": now, "lifted_at": None, "lifted_by": None}
    )
    fenced = [
        _pause_bookings(now),
        _fence_bookings(now),
        _fence_cancellations(now),
        _fence_replacements(restore),
        _import_rows(restore, now),
        *_withhold_labels(now),
        Fenced("erased again from ERASED_FILE", erasing.erase_again(now)),
        Fenced(f"tables whose row numbers jumped ahead by {FURTHER:,}", jump_numbers()),
    ]
    summary = "; ".join(f"{one.what}: {one.count}" for one in fenced)
    Audit.write("database restored", restore, by=None, reason=f"{restore}. {summary}", at=now)
    marks.renew_mark(now=now)
    return fenced


def _refuse_half_a_restore() -> None:
    """Refuse tables without their primary key.

    `pg_restore` adds it last, and fails if a process has added a row.
    """
    models_of_ours = [model for name in APPS for model in apps.get_app_config(name).get_models()]
    with connection.cursor() as cursor:
        key_of = connection.introspection.get_primary_key_columns
        keyless = [
            model._meta.db_table
            for model in models_of_ours
            if not key_of(cursor, model._meta.db_table)
        ]
    if keyless:
        raise HalfRestored(f"{len(keyless)} tables have no primary key, such as {keyless[0]}.")


def _is_done(backup_at: dt.datetime, now: dt.datetime) -> bool:
    if not Restore.objects.filter(backup_at__gte=backup_at).exists():
        return False
    try:
        marks.require_unrestored(now=now)
    except marks.Restored:
        return False
    return True


def _pause_bookings(now: dt.datetime) -> Fenced:
    """Pause every account's bookings until the gap is closed; see staff/restores/restoring.py."""
    gateway.current_account()  # the account exists, even if nothing was ever booked
    for account in CarrierAccount.objects.all():
        CarrierAccount.objects.filter(pk=account.pk).update(
            paused_at=now, pause_text=GAP_IS_OPEN, pause_ends_at=None
        )
        Audit.write("bookings paused", account, by=None, reason="by after_restore", at=now)
    return Fenced("carrier accounts paused for bookings", CarrierAccount.objects.count())


def _fence_bookings(now: dt.datetime) -> Fenced:
    in_flight = BookingAttempt.objects.filter(state=BookingAttempt.State.IN_FLIGHT)
    due = Order.objects.filter(status=Status.BOOKING).exclude(pk__in=in_flight.values("order"))
    orders = list(due)
    for order in orders:
        problem = {"text": OLDER, "fields": {}, "kind": "restored"}
        move_to(order, Status.UNCONFIRMED, reason=OLDER, at=now, due_at=None, problem=problem)
    return _count_fenced(
        "bookings now waiting for an operator", (order.created_at for order in orders)
    )


def _fence_cancellations(now: dt.datetime) -> Fenced:
    """Make cancellations due: the carrier is asked, as after any unclear attempt."""
    wanted = CancelAttempt.objects.filter(
        state=CancelAttempt.State.WANTED, order__status=Status.CANCELLING
    ).select_related("order")
    attempts = list(wanted)
    for attempt in attempts:
        move_to(attempt.order, Status.CANCEL_UNCONFIRMED, reason=OLDER, at=now, due_at=now, tries=0)
        CancelAttempt.objects.filter(pk=attempt.pk).update(
            state=CancelAttempt.State.UNKNOWN, answer=OLDER
        )
    return _count_fenced(
        "cancellations to check with the carrier", (attempt.asked_at for attempt in attempts)
    )


def _fence_replacements(restore: Restore) -> Fenced:
    due = Replacement.objects.filter(ended_at=None)
    comparable = list(due.values_list("asked_at", flat=True))
    due.update(restore=restore)
    return _count_fenced("held replacements", comparable)


def _import_rows(restore: Restore, now: dt.datetime) -> Fenced:
    """Hold import rows through their files, including stopped files, so that those stay stopped."""
    due = ImportRow.objects.filter(state=ImportRow.State.DUE)
    times = list(due.values_list("file__begun_at", flat=True))
    Import.objects.filter(pk__in=due.values("file")).update(restore=restore)
    restore.imports.filter(hold="").update(hold=holding.HELD, paused_at=Coalesce("paused_at", now))
    return _count_fenced("held import rows", times)


def _withhold_labels(now: dt.datetime) -> list[Fenced]:
    """Hold labels of parcels that may have been cancelled since; see orders/restoring/marks.py."""
    waiting = Order.objects.filter(status=Status.BOOKED, progress__in=STILL_AT_SENDER)
    shown = [row for row in gateway.all_accounts() if contract_of(row).operation("view")]
    comparable = waiting.filter(account__in=shown).exclude(carrier_order_id="")
    withheld = Label.objects.exclude(state=Label.State.ABSENT).filter(
        order__in=comparable, purged_at=None
    )
    count = withheld.update(state=Label.State.WITHHELD, due_at=now, **Label.AFRESH)
    others = waiting.exclude(pk__in=comparable.values("pk"))
    return [
        Fenced("labels hidden until the carrier confirms their parcels", count),
        _count_fenced(
            "parcels that may be cancelled and can't be checked from here",
            others.values_list("booked_at", flat=True),
        ),
    ]


def _count_fenced(what: str, times: Iterable[dt.datetime | None]) -> Fenced:
    known = list(times)
    return Fenced(what, len(known), min((at for at in known if at), default=None))


FURTHER = 1_000_000  # more rows than any table gains between two backups
APPS = ("accounts", "orders", "tracking", "billing", "importing", "exporting", "staff")


def jump_numbers() -> int:
    """Advance every numbered table's sequence by a million; return how many there are."""
    tables = [
        (model._meta.db_table, model._meta.pk.attname)
        for name in APPS
        for model in apps.get_app_config(name).get_models()
        if isinstance(model._meta.pk, models.BigAutoField)
        and model._meta.label != "orders.DatabaseMark"
    ]
    for table, column in tables:
        (_in_postgresql if connection.vendor == "postgresql" else _in_sqlite)(table, column)
    return len(tables)


def _in_postgresql(table: str, column: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_get_serial_sequence(%s, %s)", [table, column])
        sequence = cursor.fetchone()[0]
        cursor.execute("SELECT setval(%s, nextval(%s) + %s)", [sequence, sequence, FURTHER])


def _in_sqlite(table: str, column: str) -> None:
    """Set a table's sequence; one that never had a row has no entry yet."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE sqlite_sequence SET seq = seq + %s WHERE name = %s", [FURTHER, table]
        )
        if not cursor.rowcount:
            cursor.execute(
                "INSERT INTO sqlite_sequence (name, seq) VALUES (%s, %s)", [table, FURTHER]
            )
