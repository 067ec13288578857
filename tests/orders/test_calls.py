"""What a parcel costs in calls: the carrier's call rate is the bottleneck (decision 50)."""

import dataclasses
import datetime as dt
from collections import Counter
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.utils import timezone

from orders.booking import bookings
from orders.calling import turns
from orders.labels import fetching
from orders.models import Label, Order, Quote
from orders.models.account import CarrierAccount, CarrierLine
from shipping_portal.accounts.models import Sender, User
from shipping_portal.carrier.easypost import EasyPost
from shipping_portal.carrier.shipstation import ShipStation
from shipping_portal.celery import app
from shipping_portal.importing import booking as importing
from shipping_portal.importing import checking, submitting
from shipping_portal.importing.models import Import
from shipping_portal.jobs.registry import BATCH, NotYet, all_kinds
from shipping_portal.jobs.sweep import due_rows
from tests import factories
from tests.orders.test_importing import GOOD, sheet
from tests.sandbox_carrier import SandboxCarrier

pytestmark = pytest.mark.django_db
Contract = Callable[[str], None]


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Count the turns each operation took."""
    count: Counter[str] = Counter()
    take_turn = turns.take_turn

    def take(account: Any, operation: str, **how: Any) -> float:
        turn = take_turn(account, operation, **how)
        count[operation] += 1
        return turn

    monkeypatch.setattr(turns, "take_turn", take)
    monkeypatch.setattr(turns, "LATE", 60.0)  # a busy machine misses slots and takes others
    return count


@pytest.fixture
def shop(carrier: SandboxCarrier, contract: Contract, quill: Sender, localities: None) -> SandboxCarrier:
    """A carrier whose label files are on a separate host, as at real carriers."""
    files = f"localhost:{urlsplit(carrier.url).port}"
    contract(f'label_hosts = "{files}"')
    carrier.settings(files_host=f"http://{files}")
    return carrier


def rows(number: int, *, places: int) -> bytes:
    """A file's rows: parcels to this many places."""
    found = [
        GOOD.replace("1001", str(1001 + row)).replace("Priya", f"Priya {row}").replace("2.4", f"{2 + row % places}.4")
        for row in range(number)
    ]
    return sheet(*found)


def work_off(kind: Any, now: dt.datetime | None = None) -> None:
    for pk in due_rows(kind, now or timezone.now()):
        kind(pk)


def booked(file: Import) -> None:
    submitting.begin(file, submitting.Press("cheapest", file.made_by, timezone.now()))
    work_off(importing.book_row)
    work_off(bookings.process_booking)


def test_a_parcel_takes_three_calls_from_the_file_to_the_printed_label(
    shop: SandboxCarrier, quill: Sender, alice: User, taken: Counter[str]
) -> None:
    file = factories.taken(rows(1, places=1), quill, alice)
    work_off(checking.check_row)
    booked(file)
    work_off(fetching.fetch_due_label)
    assert Order.objects.get().labels.get(size=quill.label_size).state == Label.State.STORED
    assert taken == {"quote": 1, "book": 1, "label": 1}


def test_with_old_prices_it_takes_four_calls(
    shop: SandboxCarrier, quill: Sender, alice: User, taken: Counter[str], settings: Any
) -> None:
    file = factories.taken(rows(1, places=1), quill, alice)
    work_off(checking.check_row)
    Quote.objects.update(made_at=timezone.now() - dt.timedelta(seconds=settings.QUOTE_SECONDS + 5))
    checked = sum(taken.values())
    booked(file)
    work_off(fetching.fetch_due_label)
    assert Order.objects.get().labels.get(size=quill.label_size).state == Label.State.STORED
    assert sum(taken.values()) - checked == 3  # so four with the one for the check


def test_rows_with_the_same_price_request_share_one_call(
    shop: SandboxCarrier, quill: Sender, alice: User, taken: Counter[str]
) -> None:
    """Twelve rows with three different price requests; each row has its own quote, as old as its reply."""
    file = factories.taken(rows(12, places=3), quill, alice)
    work_off(checking.check_row)
    assert taken == {"quote": 3}
    quotes = [row.quote for row in file.rows.select_related("quote")]
    assert len({quote.pk for quote in quotes}) == 12
    assert len({quote.made_at for quote in quotes}) == 3
    booked(file)
    assert Order.objects.filter(status="booked").count() == 12
    assert taken == {"quote": 3, "book": 12}


def test_a_row_that_waited_for_its_turn_uses_the_reply_that_came_first(
    shop: SandboxCarrier, quill: Sender, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many workers start rows with the same request at the same time."""
    file = factories.taken(rows(2, places=1), quill, alice)
    first, second = file.rows.order_by("pk")
    ahead, waited = turns.Turns.ahead, []

    def wait(self: turns.Turns, operation: str, **how: Any) -> None:
        if not waited:
            waited.append(1)
            checking.check_row(second.pk)
        ahead(self, operation, **how)

    monkeypatch.setattr(turns.Turns, "ahead", wait)
    checking.check_row(first.pk)
    asked = [one for one in shop.requests() if one["operation"] == "quote"]
    assert len(asked) == 1
    assert set(file.rows.values_list("state", flat=True)) == {"ready"}


@pytest.mark.parametrize("step", ["check", "book"])
def test_a_row_waits_for_a_short_queue_before_its_call(
    shop: SandboxCarrier, quill: Sender, alice: User, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    file = factories.taken(rows(1, places=1), quill, alice)
    if step == "book":
        work_off(checking.check_row)
        submitting.begin(file, submitting.Press("cheapest", file.made_by, timezone.now()))
    before, then = len(shop.requests()), timezone.now() + dt.timedelta(seconds=6)

    def refuse(account: CarrierAccount) -> None:
        raise NotYet(then)

    monkeypatch.setattr(turns, "wait_for_short_queue", refuse)
    work_off({"check": checking.check_row, "book": importing.book_row}[step])
    row = file.rows.get()
    assert (row.state, row.due_at, row.tries) == ({"check": "new", "book": "owed"}[step], then, 0)
    assert (Order.objects.count(), len(shop.requests())) == (0, before)


def test_a_round_of_the_sweep_sends_more_rows_than_other_jobs(quill: Sender, alice: User) -> None:
    factories.taken(rows(60, places=1), quill, alice)
    assert len(due_rows(checking.check_row, timezone.now())) == 60 > BATCH


def test_messages_about_rows_of_files_come_last() -> None:
    router = app.amqp.Router()
    priorities = {kind.name: router.route({}, kind.task).get("priority", 0) for kind in all_kinds()}
    assert {name for name, priority in priorities.items() if priority} == {"check-row", "book-row"}


@pytest.mark.parametrize(
    ("change", "is_same"),
    [("Priya -> Ira", True), ("4 Sample Street -> 9 Other Road", True), ("3056 -> 3057", False), ("2.4 -> 2.5", False)],
)
def test_a_price_request_is_identified_by_places_and_parcel(
    quill: Sender, alice: User, change: str, is_same: bool
) -> None:
    details = factories.details(quill)
    old, new = change.split(" -> ")
    party, measures = details.receiver, details.measures
    if "." in old:
        other = details.at_weight(measures.weight * 2)
    elif old.isdigit():
        other = dataclasses.replace(details, receiver=dataclasses.replace(party, postcode=new))
    elif old[0].isdigit():
        other = dataclasses.replace(details, receiver=dataclasses.replace(party, line1=new))
    else:
        other = dataclasses.replace(details, receiver=dataclasses.replace(party, name=new))
    assert (other.question(by_street=False) == details.question(by_street=False)) is is_same
    has_same_street = is_same and other.receiver.line1 == party.line1
    assert (other.question(by_street=True) == details.question(by_street=True)) is has_same_street


def test_carriers_that_charge_by_street_get_a_request_for_each() -> None:
    assert EasyPost.prices_by_street
    assert ShipStation.prices_by_street


def test_the_other_size_is_fetched_in_a_spare_turn_or_on_request(
    shop: SandboxCarrier, quill: Sender, alice: User, taken: Counter[str], visit: Callable[[User], Any]
) -> None:
    for number in range(2):
        file = factories.taken(rows(1, places=1).replace(b"1001", f"{number}".encode()), quill, alice)
        work_off(checking.check_row)
        booked(file)
    work_off(fetching.fetch_due_label)
    later, asked = Order.objects.order_by("pk")
    assert {label.size: (label.state, label.is_spare) for label in later.labels.all()} == {
        "full": ("stored", False),
        "cropped": ("pending", True),
    }
    now, account = timezone.now(), later.account
    CarrierLine.objects.filter(name="calls").update(free_at=now.timestamp() + 1)
    spare = later.labels.get(size="cropped")
    assert now < spare.due_at <= now + fetching.SPARE_AFTER
    Label.objects.filter(pk=spare.pk).update(due_at=now)
    taken.clear()
    fetching.fetch_due_label(spare.pk)
    assert taken == {}  # somebody is waiting for a turn
    spare.refresh_from_db()
    assert spare.due_at > now + dt.timedelta(seconds=5)
    CarrierLine.objects.filter(account=account).update(free_at=0)
    Label.objects.filter(pk=spare.pk).update(due_at=now)
    fetching.fetch_due_label(spare.pk)
    assert taken == {"label": 1}
    spare.refresh_from_db()
    assert spare.state == Label.State.STORED

    page = f"/parcels/{asked.uuid}/label/cropped.pdf"
    assert visit(alice).get(page).status_code == 404
    work_off(fetching.fetch_due_label)
    assert visit(alice).get(page).status_code == 200


def test_if_the_printed_size_is_late_the_other_is_fetched_too(shop: SandboxCarrier, quill: Sender, alice: User) -> None:
    file = factories.taken(rows(1, places=1), quill, alice)
    work_off(checking.check_row)
    booked(file)
    shop.trouble("label", "500")
    work_off(fetching.fetch_due_label)
    assert not Label.objects.filter(is_spare=True).exists()
