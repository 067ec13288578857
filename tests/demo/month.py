"""A month of the demo's business, played through the portal's entry points, the sandbox carrier and its webhooks.

Four weeks are over and billed; then come five business days that are still going on. No parcel belongs to both, because
the two are moved to the loading day by different rules (`shipping_portal/staff/demo/demo_history.py`).
"""

import datetime as dt
import heapq
import itertools
import json
import random
import unicodedata
import uuid
from base64 import b64encode
from collections.abc import Callable
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import time_machine
from django.conf import settings
from django.test import Client
from django.utils import timezone

from orders.booking import bookings
from orders.calling import gateway
from orders.cancelling import cancels
from orders.drafting import drafts, sizes
from orders.drafting.parcel_details import ParcelDetails
from orders.labels import fetching, printing
from orders.models import Draft, Order
from orders.quoting import asking
from shipping_portal.accounts import demo
from shipping_portal.accounts.address import receivers
from shipping_portal.accounts.models import ParcelSize, Receiver, Sender, User
from shipping_portal.billing.disputes import disputing
from shipping_portal.billing.models import Charge
from shipping_portal.billing.reports import checking, posting, uploads
from shipping_portal.carrier.messages import Item, Measures, Party
from shipping_portal.sandbox.measuring import charge_size
from shipping_portal.sandbox.parcels import Parcel
from shipping_portal.sandbox.replies import event_document
from shipping_portal.staff.demo.demo_history import LIVE
from tests.sandbox_carrier import SandboxCarrier
from tracking import polling
from tracking.models import Poll
from tracking.scanning import reading

# Five weeks without a public holiday. Each event is at ten in the morning or later, so that Melbourne's day is UTC's.
CLOSED, ZONE = 20, ZoneInfo("Australia/Melbourne")  # business days that have ended; five more are going on
FIRST_MONDAY = LIVE - dt.timedelta(weeks=CLOSED // 5)
A_DAY = (8, 7, 6, 6, 5)  # parcels booked on a Monday, and so on
ENDS_AT = "11:15"  # on the last day

SIZES = [  # name, what is in it, kg, cm; the first is the one that a new parcel begins with
    ("Candle box", "Soy candles", "0.9", 22, 16, 12), ("Gift set", "Gift set of three candles", "2.4", 32, 24, 14),
    ("Satchel", "Room spray and wick trimmer", "0.5", 30, 22, 4),
    ("Wholesale carton", "Candles for the shop", "9.5", 45, 35, 30),
]  # fmt: skip
AT_HOME = [
    ("Priya Nair", "", "7/19 Koornang Road", "Carnegie", "VIC", "3163"),
    ("Zoë Halloran", "", "88 Sydney Road", "Brunswick", "VIC", "3056"),
    ("Tom Okafor", "Okafor & Sons", "5 Elizabeth Street", "Hobart", "TAS", "7000"),
    ("Mei-Ling Chan", "", "14 Crown Street", "Surry Hills", "NSW", "2010"),
    ("Grace Whitlam", "The Whitlam Store", "201 Rundle Street", "Adelaide", "SA", "5000"),
    ("Jack Burrows", "", "33 Boundary Street", "West End", "QLD", "4101"),
    ("Amelia Rossi", "", "60 Lygon Street", "Carlton", "VIC", "3053"),
    ("Noah Petrov", "", "9 Beaufort Street", "Perth", "WA", "6000"),
    ("Isla McKenzie", "Bay Gifts", "2 Moorabool Street", "Geelong", "VIC", "3220"),
    ("Đặng Thu Hà", "", "41 Swan Street", "Richmond", "VIC", "3121"),
    ("Oscar Lindqvist", "", "17 Glebe Point Road", "Glebe", "NSW", "2037"),
    ("Ruby Tran", "", "120 Barkly Street", "Footscray", "VIC", "3011"),
    ("Leo Papadopoulos", "", "3 Darby Street", "Newcastle", "NSW", "2300"),
    ("Chloe Bannister", "Bannister Interiors", "77 Chapel Street", "Prahran", "VIC", "3181"),
    ("Ethan Walsh", "", "8 Mitchell Street", "Darwin City", "NT", "0800"),
    ("Sienna Kaur", "", "29 Bunda Street", "Canberra", "ACT", "2601"),
    ("Lucas Ferreira", "", "54 Bondi Road", "Bondi", "NSW", "2026"),
    ("Matilda Jones", "Jones Florist", "11 Sturt Street", "Ballarat Central", "VIC", "3350"),
    ("Archie Singh", "", "6 Nerang Street", "Southport", "QLD", "4215"),
    ("Hannah Weiss", "", "95 Brunswick Street", "Fitzroy", "VIC", "3065"),
]
ABROAD = [
    ("Avery Lund", "", "500 SW Placeholder Avenue", "Portland", "OR", "97205"),
    ("Jordan Reyes", "Reyes Home", "78 Example Street", "New York", "NY", "10013"),
    ("Dana Whitfield", "", "1420 Sample Avenue", "Seattle", "WA", "98101"),
]
NOBODY_CAME = ("pickup_missed", "No driver could come; another pickup is planned for the next business day")
ON_BOARD = ("out_for_delivery", "On board for delivery", "receiver")
CARD_LEFT = ("delivery_attempted", "Nobody was there; a card was left", "receiver")
CANCELLED, MISSED, RETURNED, CARDED = {12, 47, 83, 108}, {33}, {66}, {20, 75, 99}
SIZED = {6: (0, 18), 27: (25, 0), 52: (15, 30), 90: (0, 22), 118: (30, 10)}  # by how many per cent more was measured


class Month:
    """A month of the demo. `play` runs it from its first day; `days` are business days, by default all of them."""

    def __init__(self, carrier: SandboxCarrier, *, days: int = CLOSED + 5) -> None:
        self.carrier, self.days = carrier, days
        self.app = carrier.running.app
        self.user = User.objects.get(email=demo.SENDER_EMAIL)
        self.operator = User.objects.get(email=demo.OPERATOR_EMAIL)
        self.sender = Sender.objects.get(memberships__user=self.user)
        self.client, self.pushed = Client(), list[dict[str, Any]]()
        self.surcharge, self.number, self.ends = ("", b""), 0, self._moment(days - 1, ENDS_AT)
        self._due: list[tuple[dt.datetime, int, Callable[[], None]]] = []
        self._tie = itertools.count()
        self.app.depot.default_journey = "none"  # the carrier's parcels move when this month says so
        self.app.courier.announce = self._announce  # type: ignore[method-assign]

    def play(self) -> None:
        """Do everything at its own time until these days are over."""
        self._at(self._moment(0, "10:01"), self._wait_for_calm)
        for day in range(self.days):
            self._plan_day(day)
        for week in range(min(self.days, CLOSED) // 5):
            self._at(self._moment(week * 5, "15:00") + dt.timedelta(days=6), lambda: self._bill())
        if self.days > CLOSED:
            self._at(self._moment(CLOSED, "10:05"), self._bill_a_surcharge)
            self._at(self._moment(self.days - 1, "10:20"), self._take_in_the_surcharge)
            self._at(self._moment(self.days - 1, "10:30"), self._dispute)
            self._at(self._moment(self.days - 1, "10:58"), self._lose_the_reply)
            self._at(self._moment(self.days - 1, "11:10"), self._leave_drafts)
        while self._due:
            moment, _, work = heapq.heappop(self._due)
            with time_machine.travel(moment, tick=True):
                work()

    # -- What there is to do ---------------------------------------------------------------------

    def _plan_day(self, day: int) -> None:
        is_last = day == self.days - 1 and self.days > CLOSED
        dice = random.Random(day)  # noqa: S311  (the same month every time)
        for place in range(4 if is_last else A_DAY[day % 5]):
            minutes = 5 + place * 17 if is_last else 40 + place * 45 + dice.randrange(30)
            number, self.number = self.number, self.number + 1
            at = self._moment(day, "10:00") + dt.timedelta(minutes=minutes)
            self._at(at, lambda number=number, day=day, place=place, at=at: self._send(number, day, place, at))  # type: ignore[misc]

    def _wait_for_calm(self) -> None:
        for name, inside, weight, *sides in SIZES:
            length, width, height = map(Decimal, sides)
            size = ParcelSize(name=name, weight=Decimal(weight), weight_units="kg", length=length, width=width,
                              height=height, dimension_units="cm", description=inside)  # fmt: skip
            sizes.append_size(self.sender, size)
        sizes.make_default(self.sender.sizes.get(name=SIZES[0][0]))
        for name, company, *place in AT_HOME:
            if company:
                receivers.store_receiver(Receiver(sender=self.sender), _party(name, company, *place), group="Stockists",
                                is_saved=True)  # fmt: skip

    def _send(self, number: int, day: int, place: int, at: dt.datetime) -> None:
        """Quote, book and fetch the label; then plan the parcel's scans."""
        order = self._book(number, day)
        polling.open_parcel(order.pk)
        order.labels.update(is_spare=False)  # both are wanted
        for label in order.labels.all():
            fetching.fetch_due_label(label.pk)
        order.refresh_from_db()
        assert order.status == "booked", order.problem
        self._plan_story(order, number, day, place, at)

    def _book(self, number: int, day: int) -> Order:
        now = timezone.now()
        quote = asking.ask_for_prices(self.sender, self._details(number), by=self.user, now=now)
        order = bookings.submit(
            quote=quote, code=self._choice(quote.products, number, day), by=self.user, form_token=uuid.uuid4(),
            pickup_date=None, now=now,
        )  # fmt: skip
        bookings.process_booking(order.pk)
        return order

    def _details(self, number: int) -> ParcelDetails:
        is_abroad = number % 14 == 9
        dice = random.Random(1300 + number)  # noqa: S311
        receiver = _party(*dice.choice(ABROAD if is_abroad else AT_HOME))
        which = dice.choice((0, 0, 0, 1, 1, 2)) if is_abroad or not receiver.company else 3
        size = self.sender.sizes.get(name=SIZES[which][0])
        return ParcelDetails(
            pickup=self.sender.pickup_address().party(), receiver=receiver, description=size.description,  # type: ignore[union-attr]
            measures=Measures(size.weight, "kg", size.length, size.width, size.height, "cm"), size=str(size.uuid),
            customer_reference=f"#{1201 + number}", contents_type="Merchandise" if is_abroad else "",
            contents=(Item("Soy candle in glass", Decimal("24.00"), 2, "AU", "3406.00.0000"),) if is_abroad else (),
        )  # fmt: skip

    def _choice(self, products: list[dict[str, Any]], number: int, day: int) -> str:
        """Choose a service: mostly the cheapest pickup, sometimes express or a drop-off, always a drop-off on the last closed day."""
        pickups = [product for product in products if product["first_mile"] == "pickup"]
        drops = [product for product in products if product["first_mile"] != "pickup"]
        if drops and (number % 9 == 4 or day == CLOSED - 1):
            return str(drops[0]["code"])
        return str(pickups[-1 if number % 6 == 2 else 0]["code"])

    # -- A parcel's journey ----------------------------------------------------------------

    def _plan_story(self, order: Order, number: int, day: int, place: int, at: dt.datetime) -> None:
        is_live, last = day >= CLOSED, self.days - 1
        soon = at + dt.timedelta(minutes=25)
        if is_live and day == last and place > 1:
            return  # these two labels wait to be printed
        if number in CANCELLED or (is_live and day == CLOSED + 2 and place == 3):
            return self._at(soon, lambda: self._cancel(order))
        self._at(at + dt.timedelta(minutes=2) if is_live and day == last else soon, lambda: self._print(order))
        collected = day if order.first_mile != "pickup" else day + 1
        if is_live and day == last - 1 and place > 1:
            if place == 2:
                self._scan_at(order, day, last, "10:50", *NOBODY_CAME)
            return  # the driver has yet to come
        if number in MISSED:
            self._scan_at(order, day, collected, "16:40", *NOBODY_CAME)
            collected += 1
        self._plan_trip(order, number, day, place, collected)

    def _plan_trip(self, order: Order, number: int, day: int, place: int, collected: int) -> None:
        is_pickup = order.first_mile == "pickup"
        days = 3 if order.receiver_country != "AU" else 1 if "express" in order.product_name.lower() else 1 + number % 2
        held = day == CLOSED and place == 1  # on Monday of the last week: carded, now held
        arrives = collected + (2 if held or number in CARDED else days)
        if day < CLOSED and number not in CARDED | RETURNED:
            arrives = min(arrives, CLOSED)
        at_door = "receiver"
        picked_up = "18:00" if not is_pickup else "10:55" if day >= CLOSED else f"1{3 + number % 4}:20"
        said = ("collected", "Parcel picked up") if is_pickup else ("dropped_off", "Parcel has been dropped off")
        self._scan_at(order, day, collected, picked_up, *said)
        self._scan_at(order, day, collected, "19:10", "in_transit", "In transit", "nowhere")
        self._scan_at(order, day, arrives, "20:20" if collected == arrives else "10:20", *ON_BOARD)
        clock = f"1{1 + number % 5}:{number * 7 % 50 + 10}" if arrives > collected else "20:40"
        if held or number in CARDED:
            self._scan_at(order, day, arrives, clock, *CARD_LEFT)
            self._scan_at(order, day, arrives + 1, "10:30", "held", "Parcel waits at the agent", at_door)
            if not held:
                self._scan_at(order, day, arrives + 2, "13:00", "delivered", "Parcel handed over at the agent", at_door)
        elif number in RETURNED:
            self._scan_at(order, day, arrives, clock, *CARD_LEFT)
            self._scan_at(order, day, arrives + 1, "15:00", "returning", "Returned to sender", at_door)
        else:
            self._scan_at(order, day, arrives, clock, "delivered", "Parcel delivered", at_door)
        if number in SIZED:
            parcel = self.app.depot.parcels[order.carrier_reference or ""]
            self._at(self._moment(collected, "20:00"), lambda: charge_size(self.app.depot, parcel, *SIZED[number]))

    def _scan_at(
        self, order: Order, booked: int, day: int, clock: str, progress: str, words: str, side: str = "sender"
    ) -> None:
        """Plan a scan. A parcel of the closed weeks ends within them, on their last Saturday at the latest."""
        moment = self._moment(day, clock)
        if booked < CLOSED <= day:
            moment = self._moment(CLOSED - 1, clock) + dt.timedelta(days=1)
        if booked < CLOSED or moment < self.ends:
            self._at(moment, lambda: self._scan(order, progress, words, side))

    def _scan(self, order: Order, progress: str, words: str, side: str) -> None:
        parcel = self.app.depot.parcels[order.carrier_reference or ""]
        journeys = self.app.journeys
        journeys.add_scan(parcel, progress, words, journeys.place(parcel, side))
        self._deliver()
        if progress == "pickup_missed":  # the new pickup day is in no scan
            Poll.objects.filter(parcel__order=order).update(due_at=timezone.now())
            polling.poll_due_parcel(Poll.objects.get(parcel__order=order).pk)

    def _announce(self, parcel: Parcel, scan: Any, *, at_once: bool = False) -> None:
        self.pushed.append(event_document(parcel, scan, self.app.depot.contract))

    def _deliver(self) -> None:
        """Post the carrier's events to the portal's listener in this thread."""
        secret = b64encode(settings.WEBHOOK_SECRETS[0].encode()).decode()
        for document in self.pushed:
            answer = self.client.post(
                "/webhooks/tracking/", json.dumps(document), content_type="application/json",
                headers={"Authorization": f"Basic {secret}"},
            )  # fmt: skip
            assert answer.status_code == 200, answer.content
        self.pushed.clear()
        reading.read_due()

    def _print(self, order: Order) -> None:
        printing.mark_printed(order, by=self.user, at=timezone.now())

    def _cancel(self, order: Order) -> None:
        cancels.ask_to_cancel(order, by=self.user, why="not sending it", now=timezone.now())
        cancels.process_cancel(order.pk)
        polling.open_parcel(order.pk)
        order.refresh_from_db()
        assert order.status == "cancelled", order.problem

    # -- The bill, and what is left --------------------------------------------------------------

    def _bill(self) -> None:
        name, content = self.carrier.report()
        report = uploads.store_report(gateway.current_account(), name, content, by=self.operator, now=timezone.now())
        checking.read_due_report(report.pk)
        report.refresh_from_db()
        posting.post_report(report, by=self.operator, now=timezone.now())
        charge = Charge.objects.filter(report=report, kind="under-declared").first()
        if charge and charge.order and charge.order.customer_reference == "#1228":
            why = f"The scale here says {charge.declared_kg:.1f} kg with the carton."
            asked = disputing.open_for(charge, by=self.user, text=why, now=timezone.now())
            answer, then = f"The depot weighed it twice: {charge.measured_kg:.1f} kg.", dt.timedelta(hours=2)
            disputing.answer_dispute(asked, accepted=False, text=answer, by=self.operator, now=timezone.now() + then)

    def _bill_a_surcharge(self) -> None:
        """Send one more line after the carrier's last bill, in words that nobody has mapped yet."""
        far = Order.objects.filter(receiver_state="NT", progress="delivered").order_by("pk").last()
        assert far
        self.carrier.charge(far.carrier_reference or "", "novelty", "2.75", words="Surcharge: Remote area")
        self.surcharge = self.carrier.report()

    def _take_in_the_surcharge(self) -> None:
        report = uploads.store_report(gateway.current_account(), *self.surcharge, by=self.operator, now=timezone.now())
        checking.read_due_report(report.pk)

    def _dispute(self) -> None:
        charge = Charge.objects.posted().filter(kind="under-declared").order_by("pk").last()
        assert charge
        why = "We measured this box again: it is what we declared."
        disputing.open_for(charge, by=self.user, text=why, now=timezone.now())

    def _lose_the_reply(self) -> None:
        """Lose the reply to one booking: the carrier has it and sends its events, but the reply never arrives."""
        self.carrier.trouble("book", "commit-close")
        order = self._book(self.number, self.days - 1)
        order.refresh_from_db()
        assert (order.status, order.due_at) == ("unconfirmed", None)
        [parcel] = [one for one in self.app.depot.by_id.values() if one.order_key == order.order_key()]
        self.app.journeys.add_scan(parcel, "", "Label created", self.app.journeys.place(parcel, "sender"))
        self._deliver()

    def _leave_drafts(self) -> None:
        half = {"receiver_name": "Nadia Fontaine", "receiver_line1": "16 Acland Street", "receiver_suburb": "St Kilda"}
        for values in (half, {"receiver_name": "Ruby Tran", "description": "Soy candles", "weight": "0.9"}):
            drafts.save(Draft(sender=self.sender, made_by=self.user), values, now=timezone.now())

    def _moment(self, day: int, clock: str) -> dt.datetime:
        """Return a time in Melbourne on a business day counted from the first, or on the Saturday after the closed weeks."""
        weeks, weekday = divmod(day, 5)
        date = FIRST_MONDAY + dt.timedelta(weeks=weeks, days=weekday)
        return dt.datetime.combine(date, dt.time.fromisoformat(clock), ZONE).astimezone(dt.UTC)

    def _at(self, moment: dt.datetime, work: Callable[[], None]) -> None:
        heapq.heappush(self._due, (moment, next(self._tie), work))


def _party(name: str, company: str, line1: str, suburb: str, state: str, postcode: str) -> Party:
    plain = unicodedata.normalize("NFKD", name.replace("Đ", "D").lower().replace(" ", "."))
    mail = "".join(c for c in plain if c.isascii() and (c.isalpha() or c == "."))
    is_abroad = len(postcode) == 5
    return Party(
        name=name, company=company, email=f"{mail}@example.com", line1=line1, suburb=suburb, state=state,
        phone="+1 503 555 0142" if is_abroad else "0491 570 156", postcode=postcode,
        country="US" if is_abroad else "AU",
    )  # fmt: skip
