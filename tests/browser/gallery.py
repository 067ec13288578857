"""Every page of the portal in the states people see it in: empty, an ordinary day, a full year.

Runs as a process on the database of the portal under test and prints who sees which addresses. The addresses come from
the URLconf, so a new page joins the gallery without a change here.
"""

import datetime as dt
import json
import os
import sys
import uuid
from dataclasses import replace
from decimal import Decimal
from typing import Any

import django

os.environ["DJANGO_SETTINGS_MODULE"] = "shipping_portal.settings"
django.setup()

from django.conf import settings  # noqa: E402
from django.contrib import admin  # noqa: E402
from django.test import Client, RequestFactory  # noqa: E402
from django.urls import reverse  # noqa: E402
from django.utils import timezone  # noqa: E402

from orders.drafting import returning  # noqa: E402
from orders.drafting.parcel_details import Box  # noqa: E402
from orders.labels import return_links  # noqa: E402
from orders.models import CancelAttempt, CarrierCall, Order, Replacement  # noqa: E402
from orders.quoting import consignments  # noqa: E402
from shipping_portal.accounts.models import Sender, User  # noqa: E402
from shipping_portal.billing.disputes import disputing  # noqa: E402
from shipping_portal.billing.models import SIZE_CHARGES, BillingReport, Charge, ChargeWord, Dispute, week_of  # noqa: E402
from shipping_portal.billing.pages.notifications import size_charges  # noqa: E402
from shipping_portal.billing.pages.statements import week_name  # noqa: E402
from shipping_portal.billing.reports.fields import profile_of  # noqa: E402
from shipping_portal.carrier.messages import Measures  # noqa: E402
from shipping_portal.staff import casework  # noqa: E402
from tests import factories  # noqa: E402
from tests.access import OURS, address, audience, things_of  # noqa: E402
from tests.staff.cases import unclear  # noqa: E402
from tracking import receiver_pages  # noqa: E402

MANY = 120
STANDINGS = [
    ("booked", ""), ("booked", "pickup_missed"), ("booked", "pickup_futile"), ("booked", "in_transit"),
    ("booked", "delivery_attempted"), ("booked", "delivered"), ("cancelled", ""), ("cancelling", ""),
    ("cancel_unconfirmed", ""), ("cancel_asked", ""), ("draft", ""), ("rejected", ""), ("not_booked", ""), ("conflict", ""),
]  # fmt: skip
LINES = [
    ("order", "12.08"), ("cover", "2.50"), ("under-declared", "4.13"), ("oversize", "100.00"),
    ("un-cancellation", "12.08"), ("cancel-refund", "-12.08"), ("cancel-refund-later", "-9.10"),
    ("delay-refund", "-3.00"), ("loss-refund", "-1212.08"), ("other-refund", "-1.01"), ("credit", "-5.00"),
]  # fmt: skip
WORDS = ("Pickup", "In Transit", "Out for Delivery")


def business(name: str) -> tuple[Sender, User]:
    made = factories.sender(name=name)
    word = name.split()[0]
    person = factories.user(f"{word.lower()}-{uuid.uuid4().hex[:6]}@gallery.example", name=f"{word} Marlow")
    factories.member(made, person)
    factories.pickup_address(made, email=person.email)
    return made, person


def order(of: Sender, by: User, status: str, progress: str) -> Order:
    """Create an order that nobody is working on, as its page shows it."""
    made = factories.order(of, by, status=status, progress=progress, due_at=None)
    if status in {"draft", "rejected"}:
        problem = (
            {"kind": "price_rose", "old": "12.08", "new": "13.40", "offer": {"currency": "AUD"}}
            if status == "draft"
            else {"text": "Too heavy."}
        )
        Order.objects.filter(pk=made.pk).update(problem=problem)
    if made.is_held:
        at = factories.parcel(made)
        for word in WORDS if progress in {"in_transit", "delivered", "delivery_attempted"} else ():
            factories.event(at, event_type=word)
        for size in ("full", "cropped"):
            factories.stored_label(made, size=size)
    return made


def typical() -> dict[str, Any]:
    """An ordinary day: parcels in every state, and one of everything that has an address."""
    of, by = business("Typical Candles")
    things = things_of(of, by)
    pages = addresses(things)
    for status, progress in STANDINGS:
        made = order(of, by, status, progress)
        kind = "parcel" if made.is_held else "booking_progress"
        pages[f"{kind} {status} {progress}".strip()] = reverse(kind, args=[made.uuid])
        if status == "booked":
            pages[f"cancel {progress}".strip()] = reverse("cancel", args=[made.uuid])
    checking = unclear(of, by)
    Order.objects.filter(pk=checking.pk).update(due_at=None)
    pages["booking_progress unconfirmed"] = reverse("booking_progress", args=[checking.uuid])
    pages["cancel not_sending"] = reverse("cancel", args=[things["order"].uuid]) + "?need=not_sending"
    waiting = order(of, by, "cancelling", "")
    CancelAttempt.objects.create(order=waiting, by=by, why="-", asked_at=timezone.now())
    Replacement.objects.create(
        order=waiting, quote=waiting.quote, product_code="-", form_token=uuid.uuid4(), asked_by=by,
        asked_at=timezone.now(),
    )  # fmt: skip
    pages["replacing"] = reverse("replacing", args=[waiting.uuid])
    shared = order(of, by, "booked", "in_transit")
    receiver_pages.share_page(shared, by=by, now=timezone.now())
    pages["receiver_page shared"] = reverse("receiver_page", args=[shared.uuid])
    pages |= sent_back(of, by)
    pages |= several(of, by)
    a_quarter(of, by)
    more = [imports(of, by), billed(of, by, things["charge"]), exports(of, by, things["order"]), guarded(of, by)]
    for its in more:
        pages |= its
    return room(by, pages)


def sent_back(of: Sender, by: User) -> dict[str, str]:
    """A delivered parcel with a return, the return, its prices, and its label's link before and after."""
    sent = order(of, by, "booked", "delivered")
    made = factories.order(of, by, status="booked", returns=sent, pickup=vars(sent.receiver()))
    factories.stored_label(made)
    quote = factories.quote(of, by, parcel=returning.return_of(sent, of))
    draft = factories.draft(of, by, quote)
    pages = {"return": reverse("parcel", args=[made.uuid]), "sent back": reverse("parcel", args=[sent.uuid])}
    pages |= {"return prices": reverse("quotes", args=[draft.uuid])}
    return_links.make_return_link(made, by=by, now=timezone.now())
    return pages | {"return_link made": reverse("return_link", args=[made.uuid])}


def several(of: Sender, by: User) -> dict[str, str]:
    """An order of three parcels, one of them refused, and the form and prices of another order."""
    one = factories.details(of)
    parcel = replace(one, more=(Box(one.measures), Box(one.measures)))
    quote = consignments.quote_of(parcel, [factories.quote(of, by, parcel=one)] * 3)
    place = {"consignment": uuid.uuid4(), "parcel_count": 3}
    for number, status in enumerate(("booked", "booked", "rejected"), start=1):
        made = factories.order(of, by, status=status, parcel_number=number, **place)
    pages = {"several refused": reverse("booking_progress", args=[made.uuid])}
    pages |= {"several": reverse("parcel", args=[Order.objects.get(parcel_number=1, **place).uuid])}
    prices = factories.prices_of(quote)
    return pages | {"several prices": prices, "several form": prices.removesuffix("prices/")}


def lately(of: Sender, by: User) -> Order:
    """Create an order booked some weeks ago, so it's in a report."""
    made, ago = order(of, by, "booked", "delivered"), timezone.now() - dt.timedelta(days=20)
    Order.objects.filter(pk=made.pk).update(created_at=ago, submitted_at=ago, booked_at=ago, quoted_at=ago)
    made.refresh_from_db()
    return made


def billed(of: Sender, by: User, first: Charge) -> dict[str, str]:
    """Every kind of line over two weeks, one of the weeks in two currencies; open and answered disputes."""
    made, other, now = lately(of, by), lately(of, by), timezone.now()
    older = factories.billing_report(week=first.week - dt.timedelta(days=7))
    lines = []
    for kind, amount in LINES:
        measured = {"measured_kg": Decimal("3.1"), "measured_m3": Decimal("0.012")} if kind in SIZE_CHARGES else {}
        factories.charge(made, kind, amount, report=older)
        lines.append(factories.charge(made, kind, amount, report=first.report, **measured))
    factories.charge(made, "order", "7.00", report=first.report, currency="USD")
    for line, answer in ((lines[2], ""), (lines[3], "The carrier's photo shows a box of 41 kg.")):
        asked = disputing.open_for(line, by=by, text="It is 2.4 kg on our scales.", now=now)
        if answer:
            disputing.answer_dispute(asked, accepted=False, text=answer, by=by, now=now)
    size = f"{reverse('statement', args=[week_name(first.week)])}?kind=size"
    alone = factories.charge(
        other,
        "under-declared", "4.13",
        report=factories.billing_report(week=first.week), measured_kg=Decimal("3.6"),
    )  # fmt: skip
    [one] = size_charges(alone.report)
    several = next(size_charges(first.report))
    return {
        "mail of one charge": one.path,
        "mail of several charges": several.path,
        "parcel charged": reverse("parcel", args=[made.uuid]),
        "parcel one charge": reverse("parcel", args=[first.order.uuid]) if first.order else "/",
        "statement size": size,
        "statement nothing": f"{size}&q=zeppelin",
        "charge_is_wrong open": f"{reverse('charge_is_wrong')}?line={lines[2].pk}",
        "charge_is_wrong several": f"{reverse('charge_is_wrong')}?line={lines[0].pk}&line={lines[1].pk}",
        "charge_is_wrong answered": f"{reverse('charge_is_wrong')}?line={lines[3].pk}",
    }


def a_quarter(of: Sender, by: User) -> None:
    """Thirteen weeks of deliveries and charges, so the reports have something to draw and to claim."""
    now, sizes = timezone.now(), [factories.size(of, name=name) for name in ("Candle box", "Poster tube")]
    states = ("VIC", "VIC", "VIC", "VIC", "NSW", "NSW", "TAS")
    for number in range(36):
        at = now - dt.timedelta(days=5 * number + 1)
        moved = at - dt.timedelta(days=1 + number * 7 % 5 / 2)
        made = factories.order(
            of, by, status="booked", progress="delivered", progress_at=at, booked_at=moved, size=sizes[number % 2],
            carrier_pickup_date=(moved - dt.timedelta(days=number % 4 // 3)).date(), due_at=None,
            receiver_state=states[number % 7], eta_from=(at - dt.timedelta(days=number % 3)).date(),
            eta_to=(at + dt.timedelta(days=1 - number % 5 // 3 * 2)).date(),
        )  # fmt: skip
        parcel = factories.parcel(made, last_scan_at=at)
        factories.event(parcel, scan_time=moved)
        factories.event(parcel, event_type="Delivered", scan_time=at)
        week = week_of(moved.date())
        factories.charge(made, week=week)
        for kind, amount, every in (("cover", "2.50", 2), ("under-declared", "4.13", 6), ("delay-refund", "-6.04", 9)):
            if number % every == 1:
                factories.charge(made, kind, amount, week=week)


def imports(of: Sender, by: User) -> dict[str, str]:
    """One import in each of its states."""
    now = timezone.now()
    unmatched = factories.import_file(of, by, state="matching", header=["Who", "Where"], columns={})
    factories.import_row(of, by, file=unmatched, state="new", cells=["Noor Tamsin", "Hobart"], problems={})
    checking, fixing, booking, done = (
        factories.import_file(of, by, file_name=f"{name}.csv", state=state)
        for name, state in (
            ("checking", "checking"),
            ("fixing", "checking"),
            ("booking", "booking"),
            ("done", "booking"),
        )
    )
    held = factories.import_file(of, by, state="booking", paused_at=now, hold="We look into two addresses.")
    place = {
        "receiver_suburb": ["Suburb “Hobart” doesn't match 3056."],
        "receiver_postcode": ["Suburb “Hobart” doesn't match 3056."],
    }
    for file, state in (
        (checking, "new"), (checking, "ready"), (fixing, "ready"), (fixing, "warning"), (fixing, "skipped"),
        (booking, "owed"), (booking, "booked"), (done, "booked"), (done, "failed"), (held, "owed"),
    ):  # fmt: skip
        its: dict[str, Any] = {"problems": {}}
        if state in {"ready", "warning"}:
            its["quote"] = factories.quote(of, by)
        if state == "booked":
            its["order"] = order(of, by, "booked", "")
        if state in {"failed", "skipped", "warning"}:
            its["problems"] = {"": ["Booking is off for this account. Nothing was booked."]}
        factories.import_row(of, by, file=file, state=state, **its)
    for standing in ("draft", "rejected", "unconfirmed"):
        stopped = factories.order(of, by, status="draft") if standing == "unconfirmed" else order(of, by, standing, "")
        Order.objects.filter(pk=stopped.pk).update(status=standing)
        factories.import_row(of, by, file=done, state="booked", order=stopped, problems={})
    for _ in range(3):
        factories.import_row(of, by, file=fixing)
    factories.import_row(
        of, by, file=fixing, problems=place, near=[["HOBART", "TAS", "7000"], ["WEST HOBART", "TAS", "7000"]]
    )
    odd = factories.import_row(
        of,
        by,
        file=fixing,
        problems={"": ["This row has 9 cells; the first line has 10. Check each value, then save the row."]},
    )
    factories.import_row(of, by, file=fixing, state="joined", joined_into=odd, problems={})
    found = {"shop_status": ["Already shipped in your shop."]}
    factories.import_row(of, by, file=fixing, state="skipped", problems=found)
    heads = [*factories.IMPORT_HEADER, "Length (mm)"]
    columns = {name: place for place, name in enumerate(factories.IMPORT_COLUMNS)}
    huge = factories.import_file(
        of, by, file_name="millimetres.csv", header=heads, columns=columns | {"length": len(heads) - 1}
    )
    sides = Measures(Decimal("0.35"), "kg", Decimal(300), Decimal(200), Decimal(150), "cm")
    for _ in range(7):
        dear = factories.quote(of, by, parcel=factories.details(of, measures=sides), amount="2486.34")
        factories.import_row(of, by, file=huge, state="warning", problems={}, quote=dear)
    pages = {
        "check_import outliers": reverse("check_import", args=[huge.uuid]),
        "remove_import delete": reverse("remove_import", args=[fixing.uuid]),
        "remove_import archive": reverse("remove_import", args=[done.uuid]),
        "match_columns unmatched": reverse("match_columns", args=[unmatched.uuid]),
        "check_import checking": reverse("check_import", args=[checking.uuid]),
        "import booking": reverse("import", args=[booking.uuid]),
        "import done": reverse("import", args=[done.uuid]),
        "import held": reverse("import", args=[held.uuid]),
        "import_row odd": reverse("import_row", args=[fixing.uuid, odd.pk]),
    }
    shown = {f"check_import {name}": f"{reverse('check_import', args=[fixing.uuid])}?show={name}"
             for name in ("all", "fix", "ready", "warnings", "skipped", "joined")}  # fmt: skip
    return pages | shown


def exports(of: Sender, by: User, subject: Order) -> dict[str, str]:
    """A ZIP in each of its states: stuck in packing, ready with something missing, expired."""
    now = timezone.now()
    day = dt.timedelta(days=1)
    made = {
        "packing": factories.export(
            of, by, finished_at=None, expires_at=None, due_at=now + day, done=480, total=1200, tries=2
        ),
        "everything": factories.export(of, by, length=81_000_000),
        "missing": factories.export(of, by, order=subject, problem="1 label is not in it. NOT-INCLUDED.txt says why."),
        "gone": factories.export(of, by, order=subject, created_at=now - 8 * day, expires_at=now - day),
    }
    return {f"export_progress {name}": reverse("export_progress", args=[it.uuid]) for name, it in made.items()}


def guarded(of: Sender, by: User) -> dict[str, str]:
    """Prices of a size that the carrier measured as heavier."""
    size = factories.size(of, name="Shoebox", weight=Decimal(1))
    for measured in ("1.3", "", "1.4", "", "1.3"):
        made = factories.order(of, by, status="booked", size=size, weight_kg=Decimal(1), due_at=None)
        factories.charge(made)
        if measured:
            factories.charge(made, "under-declared", "4.13", measured_kg=Decimal(measured))
    light = Measures(Decimal(1), "kg", size.length, size.width, size.height, "cm")
    quote = factories.quote(of, by, parcel=factories.details(of, measures=light, size=str(size.uuid)))
    return {"quotes guarded": factories.prices_of(quote)}


def empty() -> dict[str, Any]:
    """The first day: only the pages that need no data."""
    _, by = business("Empty Candles")
    return room(by, addresses({}))


def many() -> dict[str, Any]:
    """A full year: lists with more than one page of rows."""
    of, by = business("Many Candles")
    first = order(of, by, "booked", "in_transit")
    Order.objects.bulk_create(factories.copy_of(first, 900_000 + n) for n in range(MANY))
    for back in range(20):
        report = factories.billing_report(week=week_of(timezone.now().date()) - dt.timedelta(days=7 * back))
        for _ in range(1 if back else MANY):
            factories.charge(first, "order", "1234.56", report=report)
    benches(of, by)
    week = week_name(week_of(timezone.now().date()))
    statements = {"statement many": f"/billing/{week}/", "statement whole": f"/billing/{week}/?all=yes"}
    return room(by, addresses({}) | statements)


def benches(of: Sender, by: User) -> None:
    """Two print stations that are on, one with a jam, another that is off, and labels to print."""
    on = timezone.now() + dt.timedelta(days=1)
    jammed = factories.print_station(by, "Zebra by the door", seen_at=on)
    factories.print_station(by, "Bench 2", seen_at=on, printer="Brother_QL_1110NWB")
    factories.print_station(by, "Bench 3", seen_at=on - dt.timedelta(days=3))
    ready = [order(of, by, "booked", "") for _ in range(5)]
    words = "Paper jam. Open the cover, take the label out and close it again. (media-jam-error)"
    factories.print_job(jammed, ready[0], state="taken", words=words)
    factories.print_job(jammed, ready[1])
    factories.print_job(jammed, ready[2], state="failed", words="Out of ribbon", ended_at=timezone.now())


def addresses(things: dict[str, Any]) -> dict[str, str]:
    """The pages of a member, by name; without `things`, only those that aren't about one object."""
    return {
        str(entry.name): address(route, things) if things else f"/{route}"
        for route, entry in OURS
        if "owner" in audience(entry) and not str(entry.name).startswith("older_")
        if things or "<" not in route
    }


def public() -> dict[str, Any]:
    """The public pages."""
    pages = {"login": "/accounts/login/", "signup": "/accounts/signup/", "reset": "/accounts/password/reset/"}
    pages |= {route: "/" + route for route, entry in OURS if route.startswith("help/") and "<" not in route} | {
        "the API": "/api/v1/",
        "an article": "/help/fix-a-mistake/",
        "nothing": "/help/no-such-article/",
    }
    pages |= followed()
    return {"cookie": "", "pages": pages}


def followed() -> dict[str, str]:
    """Receivers' pages: on its way, delivered, in trouble and without news; and a dead link."""
    of, by = business("Followed Candles")
    pages = {"follow nothing": "/follow/no-such-page/"}
    for progress in ("", "in_transit", "delivery_attempted", "damaged", "delivered"):
        made = order(of, by, "booked", "in_transit")
        page = receiver_pages.share_page(made, by=by, now=timezone.now(), contact="help@gallery.example")
        Order.objects.filter(pk=made.pk).update(progress=progress, progress_at=timezone.now())
        pages[f"follow {progress or 'booked'}"] = receiver_pages.link_of(page).removeprefix(settings.SITE_URL)
    sent = order(of, by, "booked", "delivered")
    back = factories.order(of, by, status="booked", returns=sent, pickup=vars(sent.receiver()))
    factories.stored_label(back)
    pages["return_label"] = return_links.make_return_link(back, by=by, now=timezone.now()).removeprefix(
        settings.SITE_URL
    )
    return pages | {"return_label nothing": "/follow/no-such-page/label/"}


def operator() -> dict[str, Any]:
    """The admin: its first page, every list, one object of each kind, and our own pages."""
    person = factories.user(f"gallery-{uuid.uuid4().hex[:6]}@portal.example", is_staff=True, is_superuser=True)
    factories.second_factor(person)
    pages: dict[str, Any] = {"admin": "/admin/", "an app": "/admin/billing/", **reports(), **parcels_and_people()}
    pages |= {name: f"/admin/{name}/" for name in ("find", "health", "more", "listener")}
    busy_carrier()
    asked = RequestFactory().get("/admin/")
    asked.user = person
    for model, its in admin.site._registry.items():
        name = f"admin:{model._meta.app_label}_{model._meta.model_name}"
        pages[name] = reverse(f"{name}_changelist")
        some = list(its.get_queryset(asked).order_by("-pk")[:50])
        if some:
            pages[f"{name} one"] = reverse(f"{name}_change", args=[some[-1].pk])
        for act in getattr(its, "admin_actions", ()):
            for thing in [it for it in some if act.applies(it)][:1]:
                pages[f"{name} {act.name}"] = reverse(f"{name}_act", args=[thing.pk, act.name])
        lists = [page.name for page in its.admin_pages if page.is_of_list and page.label and page.name != "export"]
        pages |= {f"{name} {page}": reverse(f"{name}_{page}") for page in lists}
    return room(person, pages)


def parcels_and_people() -> dict[str, Any]:
    """A parcel and its sender in the admin, and the pages that search, write, erase and assign.

    A page that only a form leads to is stored as its address plus what the form sends.
    """
    of, by = business("Desk Candles")
    made, moving = order(of, by, "booked", "delivered"), order(of, by, "booked", "in_transit")
    case, erase = unclear(of, by), reverse("admin:orders_order_erase")
    for one, text in ((made, "She rang: the box was left at the door."), (None, "Pays by the end of each month.")):
        casework.add_note(of, text, by=by, now=timezone.now(), order=one)
    lines = [("line", f"{factories.charge(None, reference=ref).pk}:") for ref in (moving.carrier_reference, "SX404")]
    return {
        "parcel": reverse("admin:orders_order_change", args=[made.pk]),
        "sender": reverse("admin:accounts_sender_change", args=[of.pk]),
        "find results": f"/admin/find/?q={by.email}",
        "find nothing": "/admin/find/?q=zeppelin",
        "parcels nothing": "/admin/orders/order/?q=zeppelin",
        "resolve": reverse("admin:orders_order_resolve", args=[case.pk]),
        "mail": reverse("admin:orders_order_mail", args=[made.pk]),
        "note refused": [reverse("admin:orders_order_note", args=[made.pk]), [("text", "")]],
        "see as": reverse("admin:accounts_sender_see_as", args=[of.pk]),
        "close refused": reverse("admin:accounts_sender_act", args=[of.pk, "close"]),
        "erase": erase,
        "erase found and refused": [erase, [("email", made.receiver_email)]],
        "erase nobody": [erase, [("email", "nobody@gallery.example")]],
        "erase preview": [erase, [("chosen", f"order:{made.pk}"), ("chosen", f"member:{by.pk}")]],
        "assign lines": ["/admin/billing/charge/assign/", [*lines, ("sender", of.number), ("preview", "yes")]],
        "assign lines refused": ["/admin/billing/charge/assign/", [*lines, ("assign", "yes")]],
    }


def onlooker() -> dict[str, Any]:
    """An operator who sees a sender's pages as the sender does."""
    person = factories.user(f"gallery-{uuid.uuid4().hex[:6]}@portal.example", is_staff=True, is_superuser=True)
    factories.second_factor(person)
    of, by = business("Seen Candles")
    made = order(of, by, "booked", "in_transit")
    pages = {name: reverse(name) for name in ("today", "parcels", "reports", "billing")}
    return room(person, pages | {"parcel": reverse("parcel", args=[made.uuid])}, sees=of)


def busy_carrier() -> None:
    """The first page at its widest: slow calls of every kind, most of them failing, and a file with a long name."""
    slow = {"method": "GET", "path": "/orders", "milliseconds": 12_345, "outcome": "TimedOut", "at": timezone.now()}
    CarrierCall.objects.bulk_create(
        CarrierCall(operation=name, **slow) for name in ("book", "cancel", "quote_contents") for _ in range(1200)
    )
    factories.billing_report(name="partner_billing_report_of_the_week_2026_11_16_corrected.csv")


def reports() -> dict[str, str]:
    """A billing report in each of its states, and the actions on money that ask for more than a reason."""
    of, by = business("Reported Teas")
    posted, checked, damaged, reading = (
        factories.billing_report(name=f"billing-{state}.csv", state=state)
        for state in ("posted", "checked", "damaged", "reading")
    )
    line = factories.charge(order(of, by, "booked", "delivered"), "under-declared", "4.20", report=posted)
    factories.charge(line.order, "order", "13.00", report=posted, is_unexpected=True)
    factories.charge(None, report=posted)
    word, _ = ChargeWord.objects.get_or_create(word="fuel levy / paid", defaults={"first_seen_at": timezone.now()})
    for kind, amount in (("order", "12.08"), ("cover", "2.00"), ("cancel-refund", "-12.08")):
        factories.charge(line.order, kind, amount, report=checked)
    factories.charge(None, "unknown", "1.10", report=checked, posted_at=None, term=word, word="Fuel Levy / Paid")
    BillingReport.objects.filter(pk=checked.pk).update(rows=4, stated={"AUD": "4.10", "CAD": "7.00"})
    problems = [[number, "“12,08” is not a number."] for number in range(2, 9)]
    BillingReport.objects.filter(pk=damaged.pk).update(problems=problems)
    BillingReport.objects.filter(pk=reading.pk).update(rows=1500)
    Dispute.objects.create(
        charge=line, sender=of, made_by=by, made_at=timezone.now(), text="We weighed it twice: 1.5 kg.",
        facts={"declared_kg": "1.5", "measured_kg": "3.2", "quoted": "12.08", "quoted_currency": "AUD",
               "charged": "4.20", "currency": "AUD"},
    )  # fmt: skip
    pages = {
        f"billing report {it.state}": reverse("admin:billing_billingreport_change", args=[it.pk])
        for it in (posted, checked, damaged, reading)
    }
    pages["billing report columns"] = reverse(
        "admin:billing_billingprofile_columns", args=[profile_of(posted.account).pk]
    )
    return pages


def room(person: User, pages: dict[str, Any], *, sees: Sender | None = None) -> dict[str, Any]:
    """One person's cookie, and the addresses that show them a page: no redirects, no addresses that only take a
    form.
    """
    client = Client()
    client.force_login(person, backend="allauth.account.auth_backends.AuthenticationBackend")
    if sees:
        client.post(reverse("admin:accounts_sender_see_as", args=[sees.pk]), {"reason": "She rang about a parcel."})
    shown = {name: url for name, url in pages.items() if is_page(answer(client, url))}
    return {"cookie": client.session.session_key, "pages": shown}


def answer(client: Client, url: Any) -> Any:
    """Return the page at an address, or at an address plus what a form sends."""
    if isinstance(url, str):
        return client.get(url)
    return client.post(url[0], {name: [it for its, it in url[1] if its == name] for name, _ in url[1]})


def is_page(answer: Any) -> bool:
    return answer.status_code == 200 and answer.headers.get("Content-Type", "").startswith("text/html")


if __name__ == "__main__":
    factories.delivery(state="invalid")
    wanted = sys.argv[1:]
    makers = (typical, empty, many, public, operator, onlooker)
    rooms = {make.__name__: make() for make in makers if not wanted or make.__name__ in wanted}
    print(json.dumps(rooms))  # noqa: T201
