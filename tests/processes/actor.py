"""Act as a sender in the portal under test: a process on its database, controlled with lines of JSON."""

import contextlib
import datetime as dt
import hashlib
import io
import json
import os
import sys
import traceback
import uuid
import zipfile
from dataclasses import asdict
from functools import partial
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "shipping_portal.settings")
django.setup()

from django.apps import apps  # noqa: E402
from django.db import close_old_connections  # noqa: E402
from django.middleware.csrf import CSRF_SESSION_KEY  # noqa: E402
from django.test import Client  # noqa: E402
from django.utils import timezone  # noqa: E402
from django.utils.crypto import get_random_string  # noqa: E402

from orders.booking import bookings  # noqa: E402
from orders.models import CarrierCall, Label, LabelBytes, Order, OrderChange, Restore  # noqa: E402
from shipping_portal import sheets  # noqa: E402
from shipping_portal.accounts.models import Locality, Membership, Sender, User  # noqa: E402
from shipping_portal.celery import publish_task  # noqa: E402
from shipping_portal.exporting import packing  # noqa: E402
from shipping_portal.exporting.models import Export  # noqa: E402
from shipping_portal.importing import progress, submitting  # noqa: E402
from shipping_portal.importing.models import Import  # noqa: E402
from shipping_portal.staff.restores import restoring  # noqa: E402
from tests import factories  # noqa: E402
from tests.jobs.conftest import named  # noqa: E402
from tools.campaign import people  # noqa: E402
from tracking import queues  # noqa: E402
from tracking.models import Parcel  # noqa: E402

NEVER_DEARER = "999.00"  # than what was agreed


def cast() -> tuple[Sender, User]:
    membership = Membership.objects.select_related("sender", "user").first()
    if membership is None:
        sender = factories.sender(name="Campaign", bookings_a_day=10_000, money_a_day=None)
        user = factories.user("campaign@quill.example", name="Campaign")
        factories.pickup_address(sender, email=user.email)
        membership = factories.member(sender, user)
    return membership.sender, membership.user


def submit(count: int, reference: str = "") -> list[str]:
    """Submit orders. If a reference is given, each order has its own that starts with it."""
    sender, user = cast()
    now = timezone.now()
    details = partial(factories.details, sender)
    entries = [details(customer_reference=f"{reference}-{n}") for n in range(count)] if reference else [None]
    made = [factories.quote(sender, user, parcel=parcel, amount=NEVER_DEARER) for parcel in entries]
    orders = [
        bookings.submit(
            quote=made[n % len(made)],
            code="STANDARD-PICKUP",
            by=user,
            form_token=uuid.uuid4(),
            pickup_date=None,
            now=now,
        )
        for n in range(count)
    ]
    return [str(order.uuid) for order in orders]


def quotes(count: int) -> list[str]:
    """Create offers to book, which the carrier never made."""
    sender, user = cast()
    return [str(factories.quote(sender, user, amount=NEVER_DEARER).uuid) for _ in range(count)]


def log_in(email: str = "") -> dict[str, str]:
    """Return a session's cookie and form token, as a browser has them after logging in."""
    user = User.objects.get(email=email) if email else cast()[1]
    client = Client()
    client.force_login(user, backend="allauth.account.auth_backends.AuthenticationBackend")
    session = client.session
    session[CSRF_SESSION_KEY] = secret = get_random_string(32)
    session.save()
    return {"cookie": session.session_key, "csrf": secret}


def make_people() -> list[tuple[str, str]]:
    """Create several businesses, each with an owner. Return their emails and passwords."""
    return [(person.email, person.password) for person in people.make_people()]


def hand_over() -> int:
    """Send a message about each due order, as the broker may still have. Return how many."""
    due = list(Order.objects.filter(status="booking", due_at__lte=timezone.now()).values_list("pk", flat=True))
    return sum(publish_task(named("book").task, pk) for pk in due)


def booked_as() -> dict[str, str]:
    """Return the carrier's reference of every order, by key."""
    return {str(key): reference or "" for key, reference in Order.objects.values_list("uuid", "carrier_reference")}


def states() -> dict[str, str]:
    return {str(key): status for key, status in Order.objects.values_list("uuid", "status")}


def ever_unclear(keys: list[str]) -> list[str]:
    """Return the orders that were unclear, even for a second."""
    unclear = OrderChange.objects.filter(new=Order.Status.UNCONFIRMED, order__uuid__in=keys)
    return [str(key) for key in unclear.values_list("order__uuid", flat=True)]


def take_import(rows: int, bad: int) -> str:
    sender, user = cast()
    if not Locality.objects.exists():
        factories.localities()
    lines = [
        f"Noor Tamsin,noor@example.net,4 Sample Street,Hobart,7000,Mugs,{0 if at >= rows - bad else 2},32,24,11,{at}"
        for at in range(rows)
    ]
    content = "\n".join([",".join([*factories.IMPORT_HEADER, "Order number"]), *lines])
    return str(factories.taken(content.encode(), sender, user).uuid)


def book_import(key: str) -> int:
    _, user = cast()
    return submitting.begin(Import.objects.get(uuid=key), submitting.Press("cheapest", user, timezone.now()))


def import_counts(key: str) -> dict[str, int]:
    counts = progress.counts(Import.objects.get(uuid=key))
    return {**asdict(counts), "checked": counts.checked}


def import_failed_again(key: str) -> str:
    sender, user = cast()
    heads, rows = progress.failed_sheet(Import.objects.get(uuid=key))
    lines = b"".join(sheets.stream_sheet("failed.csv", heads, rows).streaming_content).decode()
    return str(factories.taken(lines.replace('"0"', '"2"').encode(), sender, user).uuid)


def ask_export(parcels: int) -> str:
    """Request a full export of an account with this many booked parcels, each with its label."""
    sender, user = cast()
    first = factories.order(sender, user, status="booked", due_at=None)
    factories.stored_label(first)
    Order.objects.bulk_create(factories.copy_of(first, number) for number in range(parcels - 1))
    copies = Order.objects.filter(sender=sender, carrier_reference__startswith="SCOPY")
    content = b"%PDF-1.4" + os.urandom(20_000) + b"%%EOF"
    stored = {"size": "full", "state": "stored", "length": len(content), "stored_at": timezone.now()}
    sha256 = hashlib.sha256(content).hexdigest()
    labels = Label.objects.bulk_create(Label(order=order, sha256=sha256, **stored) for order in copies)
    LabelBytes.objects.bulk_create(LabelBytes(label=label, content=content) for label in labels)
    return str(packing.request_export(sender, None, by=user, now=timezone.now()).uuid)


def export_state(key: str) -> dict[str, Any]:
    """Return an export's progress and, once it is packed, its content and whether it is complete."""
    export = Export.objects.get(uuid=key)
    state: dict[str, Any] = {"done": export.done, "tries": export.tries, "is_packed": bool(export.finished_at)}
    if not export.finished_at:
        return state
    content = b"".join(bytes(part.content) for part in export.parts.all())
    archive = zipfile.ZipFile(io.BytesIO(content))
    checksums = dict(reversed(line.split("  ")) for line in archive.read("CHECKSUMS.txt").decode().splitlines())
    return state | {
        "is_whole": export.sha256 == hashlib.sha256(content).hexdigest()
        and all(hashlib.sha256(archive.read(path)).hexdigest() == sha256 for path, sha256 in checksums.items()),
        "files": len(checksums),
        "labels": len({path for path in checksums if path.endswith(".pdf")}),
        "repeats": len(archive.namelist()) - len(set(archive.namelist())),
    }


def skip_waits(longer: int) -> int:
    """Make due now whatever is due later than this many seconds from now. Return how many."""
    now = timezone.now()
    waiting = Order.objects.filter(status="unconfirmed", due_at__gt=now + dt.timedelta(seconds=longer))
    return waiting.update(due_at=now)


def lift_the_gap() -> None:
    """Resume bookings as an operator without releasing held work. Everything waiting for that is due."""
    person = factories.user("operator@portal.example", is_staff=True)
    for restore in Restore.objects.open():
        restoring.lift_gap(restore, by=person, reason="every sender was told", now=timezone.now())
    for kind in ("book", "resolve", "replace", "book-row"):
        named(kind).queue.filter(due_at__isnull=False).update(due_at=timezone.now())


def unknown_references() -> list[str]:
    """Return unknown references as the admin lists them, only those that were polled."""
    found = Parcel.objects.filter(queues.unmatched_references(), poll__polled_at__isnull=False)
    return list(found.values_list("reference", flat=True))


def labels_stored() -> int:
    return Label.objects.filter(state=Label.State.STORED).count()


def has_label(order: str) -> bool:
    return Label.objects.filter(order__uuid=order, state=Label.State.STORED).exists()


def call_starts() -> list[float]:
    """Return when each call to the carrier started, according to the log of calls."""
    calls = CarrierCall.objects.values_list("at", "milliseconds")
    return sorted(at.timestamp() - milliseconds / 1000 for at, milliseconds in calls)


def run_code(code: str) -> str:
    """Run a few lines of Python with all models imported, as `manage.py shell` does. Return what they print."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code, {model.__name__: model for model in apps.get_models()})  # noqa: S102
    return printed.getvalue()


COMMANDS: dict[str, Any] = {
    "run code": run_code,
    "skip waits": skip_waits,
    "submit": submit,
    "quotes": quotes,
    "log in": log_in,
    "resolve people": make_people,
    "booked as": booked_as,
    "hand over": hand_over,
    "orders": states,
    "ever unclear": ever_unclear,
    "take import": take_import,
    "book import": book_import,
    "import counts": import_counts,
    "import failed again": import_failed_again,
    "ask export": ask_export,
    "export state": export_state,
    "labels stored": labels_stored,
    "has label": has_label,
    "call starts": call_starts,
    "lift the gap": lift_the_gap,
    "unknown references": unknown_references,
}

if __name__ == "__main__":
    for line in sys.stdin:
        name, *arguments = json.loads(line)
        close_old_connections()  # the database may have been down
        try:
            reply = {"value": COMMANDS[name](*arguments)}
        except Exception:  # noqa: BLE001  (it belongs to who asked; the next one is answered)
            reply = {"error": traceback.format_exc()}
        sys.stdout.write(json.dumps(reply) + "\n")
        sys.stdout.flush()
