"""The last week of a year, as two businesses and an operator see it at half past midnight on New Year's Day."""

import datetime as dt
from decimal import Decimal
from typing import Any

from django.utils import timezone

from orders.models import Order, PrintStation
from shipping_portal.accounts.models import Audit, Role, Sender, User
from shipping_portal.accounts.teams import team
from shipping_portal.billing.models import Dispute, DisputePhoto
from tests import factories
from tests.staff import cases

NOW = dt.datetime(2026, 12, 31, 13, 30, tzinfo=dt.UTC)  # 00:30 of 1 January in Melbourne, 21:30 before in Perth


def ago(**time: float) -> dt.datetime:
    return NOW - dt.timedelta(**time)


# Each order's own fields, and the scans of its parcel as (word, hours ago, whether the webhook brought it).
ORDERS: list[tuple[dict[str, Any], list[tuple[str, float, bool]]]] = [
    ({"booked_at": ago(hours=1), "carrier_pickup_date": dt.date(2027, 1, 4)}, []),
    ({"booked_at": ago(hours=9), "carrier_pickup_date": dt.date(2026, 12, 31), "printed_at": ago(hours=8)}, []),
    ({"booked_at": ago(days=3), "progress": "collected"}, [("Pickup", 30, True)]),
    ({"booked_at": ago(days=6), "progress": "in_transit", "eta_to": dt.date(2026, 12, 30)},
     [("Pickup", 120, True), ("Transit", 40, False)]),
    ({"booked_at": ago(days=4), "progress": "out_for_delivery", "eta_to": dt.date(2027, 1, 1)},
     [("Pickup", 90, True), ("On board for delivery", 5, True)]),
    ({"booked_at": ago(days=9), "progress": "delivered", "eta_to": dt.date(2026, 12, 29)},
     [("Pickup", 200, True), ("Delivered", 50, True)]),
    ({"booked_at": ago(days=8), "progress": "delivery_attempted"}, [("Attempted delivery", 26, True)]),
    ({"booked_at": ago(days=8), "progress": "held"}, [("Awaiting collection", 25, True)]),
    ({"booked_at": ago(days=7), "progress": "pickup_missed", "carrier_pickup_date": dt.date(2026, 12, 29)},
     [("Missed pickup", 60, True)]),
    ({"booked_at": ago(days=7), "progress": "pickup_futile", "carrier_pickup_date": dt.date(2026, 12, 30)},
     [("Futile pickup", 36, True)]),
    ({"booked_at": ago(days=12), "progress": "damaged"}, [("Pickup", 250, True), ("Damaged", 28, True)]),
    ({"booked_at": ago(days=12), "progress": "returning"}, [("Return to sender", 29, True)]),
    ({"booked_at": ago(days=5), "status": "cancelled", "cancelled_at": ago(days=4)}, []),
    ({"booked_at": ago(days=10), "status": "cancelled", "cancelled_at": ago(days=9),
      "used_after_cancel_at": ago(hours=31)}, [("Pickup", 31, True)]),
    ({"booked_at": ago(hours=30), "status": "cancelling"}, []),
    ({"booked_at": ago(hours=40), "status": "cancel_unconfirmed",
      "problem": {"kind": "unclear", "text": "The carrier didn't answer."}}, []),
    ({"status": "rejected", "problem": {"text": "The postcode is not on the route."}}, []),
    ({"status": "unconfirmed"}, []),
    ({"status": "not_booked"}, []),
    ({"status": "draft"}, []),
    ({"status": "booking"}, []),
    ({"booked_at": ago(hours=3), "first_mile": "drop-off", "unagreed_price": Decimal("19.95"),
      "unagreed_currency": "AUD", "charged_price": Decimal("19.95")}, []),
]  # fmt: skip
PLACES = [("HOBART", "TAS", "7000"), ("SYDNEY", "NSW", "2000"), ("DARWIN", "NT", "0800"), ("BRUNSWICK", "VIC", "3056")]
NAMES = ["Noor Tamsin", "Ola Brink", "Pia Long", "Remy Vale", "Uma Reyes", "Jo Hart", "Kit Marsh"]


def orders(of: Sender, people: list[User], *, mark: str) -> list[Order]:
    """Create all of ORDERS for one business. No two have the same price, size, receiver or reference."""
    return [_order(of, people[n % len(people)], n, f"{mark}{n:02d}", *fields) for n, fields in enumerate(ORDERS)]


def _order(
    of: Sender, by: User, n: int, mark: str, fields: dict[str, Any], scans: list[tuple[str, float, bool]]
) -> Order:
    suburb, state, postcode = PLACES[n % len(PLACES)]
    at = fields.get("booked_at") or ago(hours=2 + n)
    own = {
        "receiver_name": f"{NAMES[n % len(NAMES)]} {mark}",
        "receiver_suburb": suburb, "receiver_state": state, "receiver_postcode": postcode,
        "customer_reference": f"SHOP-{mark}", "note": f"note {mark}" if n % 3 == 0 else "",
        "price": Decimal("10.05") + n, "created_at": at, "submitted_at": at, "quoted_at": at,
        "weight_kg": Decimal("0.4") + n, "description": f"Candles {mark}",
        "product_name": "Express Pickup" if n % 4 == 1 else "Standard Pickup",
    }  # fmt: skip
    status = fields.get("status", "booked")
    if "booked_at" in fields:
        own["carrier_reference"] = f"S{mark}"
    last = max((ago(hours=hours) for _, hours, _ in scans), default=None)
    made = factories.order(of, by, **{"progress_at": last, **own, **fields, "status": status})
    if made.carrier_reference:
        _parcel(made, n, scans, last)
        factories.stored_label(made, content=f"%PDF-1.4 {mark} %%EOF".encode())
    if status == "unconfirmed":
        cases.attempt(made, sent_at=at, done_at=at)
    return made


def _parcel(made: Order, n: int, scans: list[tuple[str, float, bool]], last: dt.datetime | None) -> None:
    parcel = factories.parcel(
        made, created_at=made.created_at, progress=made.progress, progress_at=last, last_scan_at=last
    )
    for word, hours, is_pushed in scans:
        at = ago(hours=hours)
        found = at + dt.timedelta(minutes=2 + n)
        sources = {"pushed_at": found} if is_pushed else {"polled_at": found, "source": "poll"}
        place = dict(zip(("suburb", "state", "postcode"), PLACES[n % len(PLACES)], strict=True))
        description = f"{word} at depot {n}"
        factories.event(
            parcel, event_type=word, scan_time=at, received_at=found, description=description, **sources, **place
        )


def bills(mine: list[Order], others: list[Order], by: User) -> None:
    """Create two posted weeks and one being checked, with lines of both businesses and unassigned ones."""
    for number, (week, state) in enumerate(
        [(dt.date(2026, 12, 14), "posted"), (dt.date(2026, 12, 21), "posted"), (dt.date(2026, 12, 28), "checked")], 1
    ):
        at = dt.datetime.combine(week, dt.time(20), tzinfo=dt.UTC)
        report = factories.billing_report(
            week=week,
            state=state,
            name=f"bill-{number}.csv",
            uploaded_at=at,
            ended_at=at if state == "posted" else None,
        )
        for n, (kind, amount) in enumerate(
            [("order", "12.08"), ("cover", "2.50"), ("under-declared", "4.13"), ("oversize", "33.00"),
             ("cancel-refund", "-11.11"), ("delay-refund", "-3.30"), ("credit", "-1.00")]
        ):  # fmt: skip
            for whose, more in ((mine, 0), (others, 100)):
                factories.charge(
                    whose[(n + number) % 14], kind, str(Decimal(amount) * (1 + more) + number), report=report,
                    day=week + dt.timedelta(days=n), word=f"{kind.title()} Invoiced",
                )  # fmt: skip
        factories.charge(None, "order", f"{number}.77", report=report, reference=f"SNOBODY0{number}")
    disputed = mine[0].sender.charges.filter(kind="under-declared").order_by("pk")
    for charge, state in zip(disputed, ("open", "declined"), strict=False):
        answer = {"answer": "The depot weighed it.", "answered_at": ago(hours=7)} if state == "declined" else {}
        Dispute.objects.create(
            charge=charge, sender=mine[0].sender, made_by=by, made_at=ago(hours=15), state=state,
            text="It weighed less.", **answer,
        )  # fmt: skip


def imports(of: Sender, by: User, mine: list[Order]) -> Any:
    """Create a file with a row in each state. Return the row to fix."""
    file = factories.import_file(of, by, created_at=ago(hours=13), file_name=f"{of.name} orders.csv")
    for n, state in enumerate(("ready", "warning", "skipped", "failed", "booked"), 2):
        cells = [
            f"{NAMES[n]} row",
            "row@example.net",
            f"{n} Sample Street",
            "Hobart",
            "7000",
            "Mugs",
            str(n),
            "32",
            "24",
            "11",
        ]
        problems = {"": [f"Row {n} was refused."]} if state == "failed" else {}
        factories.import_row(
            of, by, file=file, cells=cells, state=state, problems=problems, reference=f"ROW-{n}",
            order=mine[n] if state == "booked" else None,
            quote=mine[n].quote if state in ("ready", "warning", "booked") else None,
            product_code="STANDARD-PICKUP" if state in ("ready", "warning", "booked") else "",
        )  # fmt: skip
    return factories.import_row(of, by, file=file)


def business(name: str, people: list[User], **fields: Any) -> Sender:
    made = factories.sender(name=name, approved_at=ago(days=30), created_at=ago(days=31), **fields)
    for person, role in zip(people, (Role.OWNER, Role.SHIPPER, Role.BOOKKEEPER, Role.VIEWER), strict=False):
        factories.member(made, person, role=role, since=ago(days=20))
    factories.pickup_address(made, email=people[0].email)
    return made


def things_of(of: Sender, people: list[User], *, mark: str, others: list[Order]) -> dict[str, Any]:
    """Create a business's week. Return the objects its URLs need."""
    person, made = people[0], orders(of, people[:2], mark=mark)
    row = imports(of, person, made)
    receivers = [
        factories.saved_receiver(of, group=group, name=f"{name} {mark}", email=f"r{n}@{mark.lower()}.example")
        for n, (name, group) in enumerate([("Zoe Last", "Shops"), ("Abe First", ""), ("Mia Middle", "Shops")])
    ]
    sizes = [
        factories.size(of, name=f"{name} {mark}", weight=weight)
        for name, weight in (("Mug box", "1.2"), ("Book", "0.5"))
    ]
    watches = [factories.watch(of, person, reference=f"SW{mark}{n}") for n in range(2)]
    factories.event(watches[1].parcel, event_type="Transit", scan_time=ago(hours=4), suburb="PERTH", state="WA")
    export = factories.export(of, person, order=made[5], created_at=ago(hours=6), expires_at=ago(days=-7))
    Audit.objects.create(
        at=ago(hours=11), actor=person, sender=of, action="limit changed", subject=f"{of.name}: 40 a day", reason=mark
    )
    if others:
        bills(made, others, person)
    factories.count_days(of)
    token = factories.api_token(person)
    return {
        "file": row.file, "row": row, "export": export, "order": made[3], "quote": made[0].quote, "watch": watches[1],
        "label": made[0].labels.get(), "member": of.memberships.get(user=person), "size": sizes[0],
        "draft": factories.draft(of, person, made[0].quote, receiver_name=f"Priya {mark}"), "receiver": receivers[0],
        "token": token, "station": PrintStation.objects.create(sender=of, token=token, name=f"Bench {mark}"),
        "endpoint": factories.webhook_endpoint(of, person),
        "address": of.pickup_address(), "charge": of.charges.order_by("pk").first(),
        "photo": DisputePhoto.objects.create(sender=of, kind="png", content=b"x"), "orders": made,
        "invitation": team.invite_person(of, f"new@{mark.lower()}.example", "viewer", by=person, now=timezone.now()),
    }  # fmt: skip
