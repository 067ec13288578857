"""Plain functions that create what a test needs. Every default is a realistic value."""

import copy
import datetime as dt
import hashlib
import time
import uuid
from collections.abc import Collection
from decimal import Decimal
from typing import Any

from allauth.account.internal.userkit import user_id_to_str
from allauth.account.models import EmailAddress
from allauth.mfa.totp.internal.auth import TOTP, generate_totp_secret
from django.db.models import Model
from django.utils import timezone

from orders.booking.bookings import _from_quote
from orders.calling import gateway
from orders.calling.contract import settings_of
from orders.drafting.forms import initial_from
from orders.drafting.parcel_details import ParcelDetails
from orders.labels import stations
from orders.models import CarrierAccount, Draft, Label, LabelBytes, Order, PrintJob, PrintStation, Quote, Restore
from orders.models.statuses import HELD
from shipping_portal.accounts.address import receivers
from shipping_portal.accounts.api_tokens import SCOPES, SHOWN
from shipping_portal.accounts.login.encryption import encrypt
from shipping_portal.accounts.models import (
    ApiToken,
    Locality,
    LocalityList,
    Membership,
    ParcelSize,
    PickupAddress,
    Receiver,
    Role,
    Sender,
    User,
    WebhookEndpoint,
    WebhookEvent,
    WebhookKind,
)
from shipping_portal.accounts.teams.team import token_hash
from shipping_portal.accounts.webhooks.events import refresh_flag
from shipping_portal.accounts.webhooks.signing import new_secret
from shipping_portal.billing.charges import week_sums
from shipping_portal.billing.models import BillingReport, Charge, week_of
from shipping_portal.carrier.messages import Item, Measures, Party
from shipping_portal.db.planned_statements import insert_row
from shipping_portal.exporting.models import Export, ExportPart
from shipping_portal.importing import checking, columns, guessing, uploads
from shipping_portal.importing.models import Import, ImportRow
from shipping_portal.importing.reading import read as read_file
from shipping_portal.reports import counting
from tracking.models import Parcel, Poll, TrackingEvent, Watch, WebhookDelivery
from tracking.receiving import intake
from tracking.scanning import reading

PASSWORD = "a-long-enough-passphrase"
PAIRS = [
    ("AU", "FITZROY", "VIC", "3065"),
    ("AU", "BRUNSWICK", "VIC", "3056"),
    ("AU", "HOBART", "TAS", "7000"),
    ("AU", "SYDNEY", "NSW", "2000"),
    ("AU", "DARWIN", "NT", "0800"),
    ("US", "PORTLAND", "OR", "97205"),
    ("CA", "OTTAWA", "ON", "K1P 5M7"),
]


def _insert(made: Model) -> None:
    """Store a new row by one planned statement, or as Django does if a test chose its key."""
    if made.pk is None:
        insert_row(made)
    else:
        made.save(force_insert=True)


def user(email: str, *, name: str = "", **fields: Any) -> User:
    made = User(email=email, name=name, **fields, date_joined=timezone.now())
    made.set_unusable_password()
    _insert(made)
    insert_row(EmailAddress(user=made, email=email, verified=True, primary=True))
    return made


def second_factor(person: User) -> str:
    """Enrol a TOTP secret and return it."""
    secret = generate_totp_secret()
    TOTP.activate(person, secret)
    return secret


def gave_password(client: Any, person: User, *, minutes: float = 0) -> Any:
    """Return the browser of a logged-in user who entered the password this long ago."""
    session = client.session
    session["account_authentication_methods"] = [
        {"method": "password", "at": time.time() - 60 * minutes, "reauthenticated": True}
    ]
    session["account_authentication_methods_user"] = user_id_to_str(person)
    session.save()
    return client


def sender(*, name: str = "A business", country: str = "AU", **fields: Any) -> Sender:
    zones = {"AU": "Australia/Melbourne", "CA": "America/Toronto", "US": "America/Los_Angeles"}
    now = timezone.now()
    fields = {"zone": zones[country], "approved_at": now, **fields, "created_at": now}
    made = Sender(name=name, country=country, dangerous_goods_acknowledged_at=now, **fields)
    _insert(made)
    return made


def member(of: Sender, person: User, *, role: str = Role.OWNER, since: dt.datetime | None = None) -> Membership:
    """Add to the team from now on, or since `since`."""
    made = Membership(sender=of, user=person, role=role, created_at=since or timezone.now())
    _insert(made)
    return made


def webhook_endpoint(sender: Sender, person: User, **fields: Any) -> WebhookEndpoint:
    """Create an endpoint for every kind of event. Its secret is `made.text`, which isn't in the database."""
    text = new_secret()
    values: dict[str, Any] = {
        "url": "https://shop.example/hooks",
        "kinds": WebhookKind.values,
        "secret": encrypt(text),
        "made_by": person,
        "made_at": timezone.now(),
    }
    made = WebhookEndpoint.objects.create(sender=sender, **{**values, **fields})
    refresh_flag(sender)
    made.text = text  # type: ignore[attr-defined]
    return made


def webhook_event(endpoint: WebhookEndpoint, **fields: Any) -> WebhookEvent:
    now = timezone.now()
    values: dict[str, Any] = {"type": "label.ready", "about": "a", "body": "{}", "happened_at": now, "due_at": now}
    return WebhookEvent.objects.create(endpoint=endpoint, **{**values, **fields})


ADDRESSES = {
    "AU": {"suburb": "FITZROY", "state": "VIC", "postcode": "3065", "phone": "0491 570 006"},
    "US": {"suburb": "PORTLAND", "state": "OR", "postcode": "97205", "phone": "503 555 0142"},
    "CA": {"suburb": "OTTAWA", "state": "ON", "postcode": "K1P 5M7", "phone": "613 555 0142"},
}


def api_token(person: User | None = None, *, scopes: Collection[str] = SCOPES, **fields: Any) -> ApiToken:
    """Create a member's token, or a partner's. Its text is `made.text`, which isn't in the database."""
    number, now = ApiToken.objects.count(), timezone.now()
    text = f"portal_{number:04d}{uuid.uuid4().hex}"
    by = person or user(f"ops{number}@portal.example", is_staff=True)
    values: dict[str, Any] = {
        "name": "Order desk",
        "user": person,
        "sender": person.membership.sender if person else None,
        "scopes": list(scopes),
        "token_hash": token_hash(text),
        "start": text[:SHOWN],
        "made_by": by,
        "made_at": now,
        "ends_at": now + dt.timedelta(days=90),
    }
    made = ApiToken.objects.create(**values | fields)
    made.text = text
    return made


def pickup_address(of: Sender, *, email: str, **fields: Any) -> PickupAddress:
    values = {
        "name": "Ira Quill",
        "company": of.name,
        "line1": "12 Example Lane",
        "country": of.country,
        **ADDRESSES[of.country],
        **fields,
    }
    return PickupAddress.objects.create(sender=of, email=email, **values)


def localities() -> None:
    for country in sorted({pair[0] for pair in PAIRS}):
        made = LocalityList.objects.create(
            country=country, source="test", sha256="0" * 64, rows=1, loaded_at=timezone.now(), is_active=True
        )
        Locality.objects.bulk_create(
            Locality(list=made, country=c, suburb=s, state=t, postcode=p, normalised=s.casefold())
            for c, s, t, p in PAIRS
            if c == country
        )


def details(of: Sender, **changes: Any) -> ParcelDetails:
    address = of.pickup_address()
    values: dict[str, Any] = {
        "pickup": address.party(),
        "receiver": receiver(),
        "measures": Measures(Decimal("2.4"), "kg", Decimal(32), Decimal(24), Decimal(11), "cm"),
        "description": "Boxed ceramic mugs",
        "customer_reference": "PORTAL-100234",
    }
    return ParcelDetails(**{**values, **changes})


def receiver(**changes: Any) -> Party:
    values = {
        "name": "Noor Tamsin",
        "company": "Tamsin Ceramics",
        "email": "noor.tamsin@example.net",
        "phone": "0491 570 156",
        "line1": "4 Sample Street",
        "suburb": "HOBART",
        "state": "TAS",
        "postcode": "7000",
        "country": "AU",
        "instructions": "Authority To Leave",
    }
    return Party(**{**values, **changes})


def abroad(of: Sender, **changes: Any) -> ParcelDetails:
    """An international parcel from Australia, with contents."""
    values: dict[str, Any] = {
        "receiver": receiver(
            name="Avery Lund",
            company="",
            email="avery.lund@example.org",
            phone="+1 503 555 0142",
            line1="500 SW Placeholder Ave",
            suburb="PORTLAND",
            state="OR",
            postcode="97205",
            country="US",
            instructions="Leave with front desk",
        ),
        "contents": (Item("Cotton t-shirt, knitted", Decimal("28.00"), 2, "BD", "6109.10.0012"),),
        "contents_type": "Merchandise",
    }
    return details(of, **{**values, **changes})


OFFER: dict[str, Any] = {
    "code": "STANDARD-PICKUP",
    "name": "Standard Pickup",
    "first_mile": "pickup",
    "service": "standard",
    "amount": "12.08",
    "currency": "AUD",
    "breakdown": [["base", "11.20", "AUD"], ["service", "0.20", "AUD"], ["fuel_surcharge", "0.68", "AUD"]],
    "taxes": [["gst", "1.08", "AUD"]],
    "plan": "Pro",
    "eta_from": "2026-12-01",
    "eta_to": "2026-12-04",
    "duties_paid": False,
    "cover": None,
}


def quote(
    of: Sender, by: User, *, parcel: ParcelDetails | None = None, at: dt.datetime | None = None, **offer: Any
) -> Quote:
    """Create a stored quote without a carrier."""
    parcel = parcel or details(of)
    made = Quote(
        sender=of,
        account=gateway.current_account(),
        made_by=by,
        details=parcel.to_json(),
        inputs_hash=parcel.hash(),
        products=[{**OFFER, **offer}],
        made_at=at or timezone.now(),
    )
    _insert(made)
    return made


def order(of: Sender, by: User, *, status: str = "draft", **fields: Any) -> Order:
    """Create an order directly in the status a test needs, as far as the constraints allow."""
    now = timezone.now()
    parcel = details(of)
    made_from = quote(of, by, parcel=parcel)
    made = _from_quote(made_from, made_from.products[0], by=by, pickup_date=None, now=now, parcel=parcel)
    made.form_token, made.form_hash = uuid.uuid4(), "-"
    values: dict[str, Any] = {"status": status, "submitted_at": fields.get("created_at", now)}
    if status in HELD:
        count = Order.objects.count()
        values |= {
            "carrier_reference": f"STEST{count:05d}",
            "carrier_order_id": f"id-{count}",
            "booked_at": now,
            "cancelled_at": now if status == "cancelled" else None,
        }
    for name, value in {**values, **fields}.items():
        setattr(made, name, value)
    made.search = fields.get("search", made.search_text())
    if made.carrier_reference:
        made.search += f" {made.carrier_reference.lower()}"
    _insert(made)
    return made


def parcel(
    of: Order | None = None, *, reference: str = "", poll_due_at: dt.datetime | None = None, **fields: Any
) -> Parcel:
    """Create a parcel, and its poll if one is due at some time."""
    name = reference or (of.carrier_reference if of else None) or f"SLOOSE{Parcel.objects.count():03d}"
    fields = {"account": of.account if of else account(), "created_at": timezone.now()} | fields
    made = Parcel.objects.create(reference=name, order=of, **fields)
    if poll_due_at:
        Poll.objects.create(parcel=made, due_at=poll_due_at)
    return made


def scan(
    at: Parcel, *, event_type: str = "Pickup", scan_time: dt.datetime | None = None, **fields: Any
) -> TrackingEvent:
    """Return a scan of this parcel without saving it."""
    when = scan_time or timezone.now()
    values = {
        "account_id": at.account_id,
        "event_id": uuid.uuid4(),
        "fingerprint": uuid.uuid4().hex,
        "description": f"{event_type} scan",
        "suburb": "Fitzroy",
        "state": "VIC",
        "postcode": "3065",
        "country": "AU",
        "raw": b"{}",
        "source": "push",
        "received_at": when,
    }
    return TrackingEvent(parcel=at, event_type=event_type, scan_time=when, **{**values, **fields})


def event(at: Parcel, **fields: Any) -> TrackingEvent:
    made = scan(at, **fields)
    made.save(force_insert=True)
    return made


def account() -> Any:
    return gateway.current_account()


def delivery(*, body: bytes = b"{", **fields: Any) -> WebhookDelivery:
    """Create a stored webhook body at the account that takes new orders."""
    values: dict[str, Any] = {"account": account(), "received_at": timezone.now(), "sha256": "0" * 64}
    return WebhookDelivery.objects.create(body=body, **{**values, **fields})


def deliver(body: bytes, *, at: CarrierAccount | None = None, now: dt.datetime | None = None) -> WebhookDelivery:
    """Store and read a webhook from the carrier of this account."""
    configured = settings_of(at or account())
    assert configured
    pk = intake.receive_delivery(body, configured, now=now or timezone.now())
    reading.read_due()
    return WebhookDelivery.objects.get(pk=pk)


def watch(of: Sender, by: User, *, reference: str = "") -> Watch:
    reference = reference or f"SWATCH{Parcel.objects.count():04d}"
    return Watch.objects.create(
        sender=of, parcel=parcel(reference=reference), made_by=by, made_at=timezone.now(), name="From a friend"
    )


def stored_label(of: Order, *, size: str = "full", content: bytes = b"%PDF-1.4 a label %%EOF") -> Label:
    made = Label.objects.create(
        order=of,
        size=size,
        state="stored",
        sha256=hashlib.sha256(content).hexdigest(),
        length=len(content),
        stored_at=timezone.now(),
    )
    LabelBytes.objects.create(label=made, content=content)
    return made


def print_station(person: User, name: str = "Bench 1", **fields: Any) -> PrintStation:
    """Create a station that just called. Its token's text is `made.text`, which isn't in the database."""
    now = timezone.now()
    made, text = stations.add_station(name, member=person.membership, now=now)
    PrintStation.objects.filter(pk=made.pk).update(**{"seen_at": now, "printer": "Zebra", **fields})
    made.refresh_from_db()
    made.text = text  # type: ignore[attr-defined]
    return made


def print_job(station: PrintStation, order: Order, **fields: Any) -> PrintJob:
    values = {"size": "full", "asked_by": station.token.user, "asked_at": timezone.now()}
    return PrintJob.objects.create(station=station, order=order, **{**values, **fields})


def copy_of(made: Order, number: int) -> Order:
    """Return another order like this one without saving it."""
    another = copy.copy(made)
    another.pk, another.uuid, another.form_token = None, uuid.uuid4(), uuid.uuid4()
    another.carrier_reference = f"SCOPY{number:06d}"
    another._state.adding = True
    return another


def size(of: Sender, *, name: str = "Mug box", **fields: Any) -> ParcelSize:
    values: dict[str, Any] = {
        "weight": Decimal("1.2"),
        "weight_units": "kg",
        "length": Decimal(32),
        "width": Decimal(24),
        "height": Decimal(11),
        "dimension_units": "cm",
        "position": of.sizes.count() + 1,
    }
    return ParcelSize.objects.create(sender=of, name=name, **{**values, **fields})


def saved_receiver(of: Sender, *, group: str = "", **changes: Any) -> Receiver:
    made = Receiver(sender=of)
    receivers.store_receiver(made, receiver(**changes), group=group, is_saved=True)
    return made


def draft(of: Sender, by: User, quote: Quote | None = None, **values: str) -> Draft:
    typed = {"receiver_name": "Priya Nair", "receiver_suburb": "Brunswick", **values}
    return Draft.objects.create(sender=of, made_by=by, quote=quote, values=typed, updated_at=timezone.now())


def prices_of(quote: Quote) -> str:
    """Return the URL of the prices of a draft with this quote."""
    details = ParcelDetails.from_json(quote.details)
    values = {name: str(value) for name, value in initial_from(details, quote.sender).items() if value is not None}
    made = Draft.objects.filter(quote=quote).first() or Draft.objects.create(
        sender=quote.sender, made_by=quote.made_by, quote=quote, values=values, updated_at=timezone.now()
    )
    return f"/parcels/drafts/{made.uuid}/prices/"


IMPORT_HEADER = ["Name", "Email", "Address 1", "Suburb", "Postcode", "Contents", "Weight", "Length", "Width", "Height"]
IMPORT_COLUMNS = ("receiver_name", "receiver_email", "receiver_line1", "receiver_suburb", "receiver_postcode",
                  "description", "weight", "length", "width", "height")  # fmt: skip


def taken(content: bytes, of: Sender, by: User) -> Import:
    """Import these bytes. Columns are matched by their names, unless somebody matched them before."""
    now = timezone.now()
    file = uploads.store_upload(read_file(content), name="orders.csv", sender=of, by=by, now=now)
    if file.state == Import.State.MATCHING:
        guess = guessing.guess_columns(file.header, [*columns.fields(of, of.pickup_address()), *columns.FILE_ONLY])
        checking.begin(file, guess, {}, now)
        file.refresh_from_db()
    return file


def import_file(of: Sender, by: User, **fields: Any) -> Import:
    """Create a file with matched columns."""
    values: dict[str, Any] = {
        "created_at": timezone.now(),
        "file_name": "orders.csv",
        "sha256": uuid.uuid4().hex,
        "encoding": "utf-8",
        "delimiter": ",",
        "header": IMPORT_HEADER,
        "fingerprint": uuid.uuid4().hex,
        "columns": {name: place for place, name in enumerate(IMPORT_COLUMNS)},
        "state": "checking",
    }
    return Import.objects.create(sender=of, made_by=by, **{**values, **fields})


def import_row(of: Sender, by: User, *, file: Import | None = None, **fields: Any) -> ImportRow:
    """Create a row whose weight has to be fixed."""
    file = file or import_file(of, by)
    number = file.rows.count() + 2
    cells = ["Noor Tamsin", "noor@example.net", "4 Sample Street", "Hobart", "7000", "Mugs", "0", "32", "24", "11"]
    values: dict[str, Any] = {
        "number": number,
        "cells": cells,
        "state": "fix",
        "problems": {"weight_kg": ["This must be more than 0."]},
    }
    return ImportRow.objects.create(file=file, **{**values, **fields})


def export(of: Sender, by: User, *, order: Order | None = None, content: bytes = b"", **fields: Any) -> Export:
    """Create a packed export that hasn't expired: an order's proof pack, or an account's full export."""
    now = timezone.now()
    content = content or b"PK" + bytes(20)
    values: dict[str, Any] = {
        "what": "proof" if order else "account",
        "created_at": now,
        "finished_at": now,
        "expires_at": now + dt.timedelta(days=7),
        "done": 1,
        "total": 1,
        "length": len(content),
        "sha256": hashlib.sha256(content).hexdigest(),
    }
    made = Export.objects.create(sender=of, made_by=by, order=order, **{**values, **fields})
    if made.finished_at:
        ExportPart.objects.create(export=made, number=0, content=content)
    return made


def billing_report(*, week: dt.date | None = None, state: str = "posted", **fields: Any) -> BillingReport:
    """Create one of the carrier's weekly files after it was read. `charge` creates its lines."""
    now = timezone.now()
    values: dict[str, Any] = {
        "account": gateway.current_account(),
        "name": "billing-001.csv",
        "sha256": uuid.uuid4().hex,
        "profile": {},
        "uploaded_at": now,
        "ended_at": now if state in ("posted", "void") else None,
    }
    made = BillingReport(week=week or week_of(now.date()), state=state, **{**values, **fields})
    _insert(made)
    return made


def charge(of: Order | None, kind: str = "order", amount: str = "12.08", **fields: Any) -> Charge:
    """Create a posted line. A refund has a negative amount. Without an order or `sender`, it is unassigned."""
    report = fields.pop("report", None) or billing_report(week=fields.get("week"))
    values: dict[str, Any] = {
        "account": report.account,
        "line": report.lines.count() + 2,
        "key": uuid.uuid4().hex,
        "week": report.week,
        "posted_at": report.ended_at,
        "reference": of.carrier_reference if of else "SNOBODY01",
        "order": of,
        "sender": of.sender if of else None,
        "word": "Order Invoiced",
        "stated": abs(Decimal(amount)),
        "currency": "AUD",
        "day": report.week,
    }
    made = Charge(report=report, kind=kind, amount=Decimal(amount), **{**values, **fields})
    _insert(made)
    if made.sender_id:
        week_sums.add_up({(made.sender_id, made.week)})
    return made


def restore(**fields: Any) -> Restore:
    """Create a restore from an hour-old backup, with its gap still open."""
    now = timezone.now()
    values = {"backup_at": now - dt.timedelta(hours=1), "restored_at": now}
    return Restore.objects.create(**{**values, **fields})


def count_days(sender: Sender) -> None:
    """Run the job that counts all days of a sender."""
    counting.schedule_days(sender, timezone.now())
    counting.count_due_days(sender.pk)
