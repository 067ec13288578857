"""Everything written, emailed and sent to the carrier from the first price to the last bill, step by step."""

import datetime as dt
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
import time_machine
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from orders.calling import gateway
from orders.models import Order, Quote
from shipping_portal.accounts.models import User
from shipping_portal.billing.models import BillingReport
from shipping_portal.importing.models import Import
from shipping_portal.jobs.registry import all_chores, all_kinds
from tests import factories
from tests.catalogue import pushing
from tests.pages.conftest import Visit
from tests.pages.test_imports import book as book_rows
from tests.pages.test_imports import match, upload
from tests.pages.typed import ABROAD, AT_HOME
from tests.sandbox_carrier import SandboxCarrier
from tests.snapshots.comparing import compare
from tests.snapshots.rows import Rows, changes, mails, numbered, rows, written
from tests.snapshots.test_pages import pytestmark as as_pages
from tests.staff.conftest import REASON

pytestmark = as_pages
SHEET = (
    "Name,Email,Address 1,Suburb,State,Postcode,Contents,Weight (kg),Length (cm),Width (cm),Height (cm),Order number\n"
)
ROWS = (
    "Noor Tamsin,noor@example.net,4 Sample Street,Hobart,TAS,7000,Mugs,2.4,32,24,11,R-1\n"
    "Ola Brink,ola@example.net,5 Sample Street,Sydney,NSW,2000,Bowls,1.1,20,20,10,R-2\n"
    "Pia Long,pia@example.net,,Darwin,NT,0800,Plates,0.9,30,30,8,R-3\n"
)


@dataclass
class Story:
    """The lines of a story: each step's response, rows and emails, and what the workers and the carrier did next."""

    carrier: SandboxCarrier
    clock: time_machine.Traveller
    known: Rows = field(default_factory=rows)
    lines: list[str] = field(default_factory=list)
    asked: int = 0

    @contextmanager
    def step(self, name: str, *, minutes: float = 2) -> Iterator[None]:
        """Record what happens inside, and then what is due `minutes` later."""
        self.lines.append(f"== {name}")
        with self.recorded():
            yield
        self.clock.shift(dt.timedelta(minutes=minutes))
        self.lines.append("-- the workers")
        with self.recorded():
            self.work()

    @contextmanager
    def recorded(self) -> Iterator[None]:
        with written() as tables:
            yield
        self.lines += [*changes(self.known, tables), *mails()]
        self.known |= rows(tables)
        requests = self.carrier.requests()
        self.lines += [f"carrier: {one['method']} {one['path']}" for one in requests[self.asked :]]
        self.asked = len(requests)

    def work(self) -> None:
        for chore in all_chores():
            chore.do(timezone.now())
        for kind in [*all_kinds(), *all_kinds()]:
            for pk in kind.due(timezone.now()).order_by("pk").values_list("pk", flat=True):
                kind(pk)


@pytest.fixture
def story(
    carrier: SandboxCarrier, clock: time_machine.Traveller, localities: None, alice: User, sam: User,
    monkeypatch: pytest.MonkeyPatch,
) -> Story:  # fmt: skip
    monkeypatch.setattr("random.uniform", lambda least, most: (least + most) / 2)
    return Story(carrier, clock)


def booked(page: Client, typed: dict[str, Any], **changed: Any) -> Order:
    """Get prices for the typed parcel, and press Book on the first offer."""
    page.post("/parcels/new/", typed | changed)
    quote = Quote.objects.latest("pk")
    chosen = {"product": quote.products[0]["code"], "pickup_date": "", "form_token": str(quote.uuid)}
    answer = page.post(f"{factories.prices_of(quote)}book/", chosen)
    assert answer.status_code == 302, answer.content
    return Order.objects.latest("pk")


def scan(order: Order, word: str, *, at: dt.datetime, number: int) -> None:
    answer = pushing.push(
        pushing.wire(
            carrier_reference=order.carrier_reference, event_id=f"3f0a3d1c-2f5b-4c60-8a7d-{number:012d}",
            event_type=word, scan_time=f"{at:%Y-%m-%dT%H:%M:%SZ}",
        )
    )  # fmt: skip
    assert answer.status_code == 200


def test_one_parcel_from_the_price_to_the_bill(
    story: Story, carrier: SandboxCarrier, alice: User, sam: User, visit: Visit
) -> None:
    page = visit(alice)
    with story.step("a parcel is booked"):
        order = booked(page, AT_HOME, customer_reference="SHOP-1")
    order.refresh_from_db()
    with story.step("a parcel abroad is booked, and the carrier's answer is lost"):
        carrier.trouble("book", "commit-close", count=1)
        lost = booked(page, ABROAD)
    with story.step("it is resolved as the carrier says: booked"):
        held = carrier.ledger("booked")[-1]
        visit(sam).post(
            reverse("admin:orders_order_resolve", args=[lost.pk]),
            {"decision": "adopt", "reference": held["reference"], "reason": REASON},
        )
    with story.step("the driver picks the first one up", minutes=60):
        scan(order, "Pickup", at=timezone.now(), number=1)
    with story.step("cancelling it is too late"):
        page.post(reverse("cancel", args=[order.uuid]), {"need": "not_sending"})
    with story.step("a third one is booked and cancelled"):
        third = booked(page, AT_HOME, receiver_name="Ida Third", weight_kg="1.2")
        story.work()
        page.post(reverse("cancel", args=[third.uuid]), {"need": "not_sending"})
    with story.step("a fourth one is refused"):
        carrier.trouble("book", "422", count=1)
        booked(page, AT_HOME, receiver_name="Fay Fourth", weight_kg="1.3")
    with story.step("the first one is delivered two days later", minutes=2 * 24 * 60):
        scan(order, "Delivered", at=timezone.now(), number=2)
    with story.step("the week is billed"):
        carrier.charge(order.carrier_reference or "", "under-declared", "4.13", measured_weight="3.6")
        name, content = carrier.report()
        form = {"file": SimpleUploadedFile(name, content), "account": gateway.current_account().pk}
        assert visit(sam).post("/admin/billing/billingreport/upload/", form)["Location"].endswith("/change/")
    with story.step("the bill is posted", minutes=24 * 60):
        report = BillingReport.objects.get()
        visit(sam).post(reverse("admin:billing_billingreport_act", args=[report.pk, "post"]), {"reason": REASON})
    compare("story-of-a-parcel", list(numbered(story.lines)))


def test_a_file_of_orders_from_the_upload_to_the_parcels(story: Story, alice: User, visit: Visit) -> None:
    page = visit(alice)
    with story.step("a file is uploaded"):
        upload(page, SHEET + ROWS)
    file = Import.objects.get()
    with story.step("its columns are as guessed"):
        match(page, file)
    with story.step("two rows of three are booked"):
        book_rows(page, file)
    compare("story-of-a-file", list(numbered(story.lines)))
