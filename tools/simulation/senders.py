"""What senders do: each method is one thing that one of them may do at any moment."""

import uuid
from contextlib import suppress
from dataclasses import replace

from django.utils import timezone

from orders.booking import bookings
from orders.cancelling import cancels, replacing
from orders.drafting import returning
from orders.drafting.parcel_details import Box
from orders.models import Order, Quote
from orders.models.statuses import Status
from orders.quoting import consignments
from shipping_portal.accounts.models import Sender, User
from shipping_portal.importing import submitting
from shipping_portal.importing.models import Import, ImportRow
from tests import factories
from tools.simulation.acting import attempt, one_of
from tools.simulation.world import World

HEADER = ",".join([*factories.IMPORT_HEADER, "Order number"])
ROW = "Priya Nair,priya@example.net,4 Sample Street,Brunswick,3056,Mugs,2.4,32,24,11,{}"
ROWS = 5  # of a file


class Senders:
    """The people of one account, with any number of browser windows. They book `wanted` parcels in all."""

    def __init__(self, world: World, orders: int) -> None:
        self.world, self.wanted = world, orders
        self.alice = User.objects.get(email="alice@quill.example")
        self.quill = Sender.objects.get(name="Quill & Co")
        self.parcel = factories.details(self.quill)
        self.forms: list[tuple[uuid.UUID, Quote]] = []
        self.imported = 0
        self.more = 0  # the other parcels of orders with several

    def book(self) -> None:
        if self._begun() < self.wanted:
            self.forms.append((uuid.uuid4(), self._quote(f"Boxed ceramic mugs, {len(self.forms) + 1}")))
            self.world.tell(f"a sender presses Book, parcel {len(self.forms)}")
            attempt(self.world, "Book", self._submit, *self.forms[-1])

    def book_three(self) -> None:
        """Press Book for three parcels in one order, in two windows that show the same prices."""
        if self._begun() + 3 <= self.wanted:
            first = replace(self.parcel, description=f"Boxed ceramic mugs, {len(self.forms) + 1}")
            parcel = replace(first, more=(Box(first.measures), Box(first.measures)))
            each = [factories.quote(self.quill, self.alice, parcel=one, at=timezone.now()) for one in parcel.parcels()]
            self.forms.append((uuid.uuid4(), consignments.quote_of(parcel, each)))
            self.more += 2
            self.world.tell("a sender presses Book for three parcels in one order")
            for _ in range(2):
                attempt(self.world, "Book three", self._submit, *self.forms[-1])

    def press_again(self) -> None:
        if self.forms:
            (token, quote), (_, other) = self.world.dice.pick(self.forms), self.world.dice.pick(self.forms)
            if self.world.dice.below(3) == 2 and other.pk != quote.pk:
                attempt(self.world, "another parcel", self._submit_changed, token, other)
            else:
                attempt(self.world, "Book again", self._submit, token, quote)

    def say_yes(self) -> None:
        if order := one_of(self.world, (Status.DRAFT, Status.NOT_BOOKED)):
            self.world.tell(f"a sender says yes to {order.pk}")
            attempt(self.world, f"yes to {order.pk}", bookings.confirm, order, by=self.alice, now=timezone.now())

    def cancel(self) -> None:
        if order := one_of(self.world, (Status.BOOKED,)):
            self.world.tell(f"a sender cancels {order.pk}")
            why = {"by": self.alice, "why": "not sending it", "now": timezone.now()}
            attempt(self.world, f"cancel of {order.pk}", cancels.ask_to_cancel, order, **why)

    def replace(self) -> None:
        if order := one_of(self.world, (Status.BOOKED,)):
            self.world.tell(f"a sender replaces {order.pk}")
            form = {"quote": self._quote("Boxed ceramic bowls"), "code": factories.OFFER["code"], "pickup_date": None}
            press = {"by": self.alice, "form_token": uuid.uuid4(), "now": timezone.now()}
            attempt(self.world, f"replacement of {order.pk}", replacing.ask_to_replace, order, **form, **press)

    def send_back(self) -> None:
        """Press “Send it back” in two windows: each has its own form."""
        order = one_of(self.world, (Status.BOOKED,))
        if order and order.returns_id is None and self._begun() < self.wanted:
            self.world.tell(f"a sender sends {order.pk} back")
            for _ in range(2):
                back = factories.quote(self.quill, self.alice, parcel=returning.return_of(order, self.quill))
                form = (uuid.uuid4(), back)
                attempt(self.world, f"return of {order.pk}", self._submit, *form)
            self.forms.append(form)

    def import_a_file(self) -> None:
        if self._begun() + ROWS <= self.wanted:
            rows = [ROW.format(1001 + self.imported + row) for row in range(ROWS)]
            self.imported += ROWS
            self.world.tell(f"a sender imports {ROWS} rows")
            content = "\r\n".join([HEADER, *rows]).encode()
            attempt(self.world, "import", factories.taken, content, self.quill, self.alice)

    def book_a_file(self) -> None:
        file = Import.objects.filter(rows__state=ImportRow.State.READY).order_by("pk").first()
        if file:
            self.world.tell(f"a sender presses Book on import {file.pk}")
            press = submitting.Press("cheapest", self.alice, timezone.now())
            attempt(self.world, f"Book on import {file.pk}", submitting.begin, file, press)

    def are_told_of_a_restore(self) -> None:
        """Forget the forms whose quote is gone."""
        known = set(Quote.objects.values_list("pk", flat=True))
        self.forms = [(token, quote) for token, quote in self.forms if quote.pk in known]

    def _begun(self) -> int:
        return len(self.forms) + self.imported + self.more

    def _quote(self, description: str) -> Quote:
        parcel = replace(self.parcel, description=description)
        return factories.quote(self.quill, self.alice, parcel=parcel, at=timezone.now())

    def _submit(self, token: uuid.UUID, quote: Quote) -> None:
        bookings.submit(
            quote=Quote.objects.get(pk=quote.pk), code=factories.OFFER["code"], by=self.alice, form_token=token,
            pickup_date=None, now=timezone.now(),
        )  # fmt: skip

    def _submit_changed(self, token: uuid.UUID, quote: Quote) -> None:
        """Submit the same form with another parcel in it: it is refused, unless it arrives first."""
        form = Order.objects.filter(form_token=token).exclude(quote=quote)
        is_known = form.exists()
        with suppress(bookings.TokenReused):
            self._submit(token, quote)
            if is_known:
                self.world.fail("one form booked two parcels")
