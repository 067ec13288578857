"""Prices from the carrier that we can't read: sender and operator see exactly that, never "no service"."""

import datetime as dt
import gzip
import json
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from orders.booking import bookings
from orders.models import CarrierCall, Order, Quote
from orders.quoting import asking, awaiting_prices
from shipping_portal.accounts.models import Sender, User
from shipping_portal.importing import checking
from shipping_portal.staff import queues
from tests import factories
from tests.carrier.conftest import SocketCarrier, reply
from tests.carrier.products import product
from tests.orders.agreed_prices import work
from tests.pages.typed import AT_HOME, text

pytestmark = pytest.mark.django_db

GOOD = product(eta=None)
EXPRESS = product(eta=None, product={"code": "EXPRESS-PICKUP"})
SPACED = product(eta=None, product={"code": "Standard Pickup"})
AUD, EUR = (product(eta=None, quote={"gross": {"amount": 12.08, "currency": word}}) for word in ("A$", "euro"))
COMMA = product(eta=None, quote={"gross": {"amount": "1,012.08", "currency": "AUD"}})
NONE_READ = "The carrier's answer couldn't be read in full, so there are no prices yet."


@pytest.fixture
def page(localities: None, alice: User, visit: Callable[[User], Client]) -> Client:
    return visit(alice)


def ask(sender: Sender, by: User, **options: Any) -> Quote:
    return asking.ask_for_prices(sender, factories.details(sender), by=by, now=timezone.now(), **options)


def waiting(title: str) -> int:
    return next(queue.count for queue in queues.waiting_queues(timezone.now()) if queue.title == title)


def test_unreadable_prices_are_not_shown_as_a_refusal(far_side: SocketCarrier, page: Client) -> None:
    far_side.answers(reply(200, [AUD, SPACED, COMMA]))
    for part in ({}, {"HTTP_X_PART": "prices"}):
        said = text(page.post("/parcels/new/", AT_HOME, **part))
        assert f"{NONE_READ} Nothing was booked. We've told the operator." in said
        assert "No service takes this parcel" not in said
    assert len(far_side.asked) == 1  # within the quote's life the same prices aren't requested again


def test_readable_prices_are_offered_and_the_others_counted(
    far_side: SocketCarrier, quill: Sender, alice: User
) -> None:
    far_side.answers(reply(200, [AUD, GOOD, None]))
    quote = ask(quill, alice)
    assert ([offer["code"] for offer in quote.products], quote.unreadable) == (["STANDARD-PICKUP"], 2)


def test_the_operator_has_the_call_in_a_queue_for_two_days(
    far_side: SocketCarrier, quill: Sender, alice: User, sam: User, visit: Callable[[User], Client]
) -> None:
    far_side.answers(reply(200, [GOOD]))
    ask(quill, alice)
    assert waiting("Unreadable prices") == 0
    far_side.answers(reply(200, [AUD, GOOD]))
    ask(quill, alice, fresh=True)
    assert waiting("Unreadable prices") == 1
    CarrierCall.objects.update(at=timezone.now() - dt.timedelta(hours=49))
    assert waiting("Unreadable prices") == 0


def test_no_offers_still_shows_as_no_offers(far_side: SocketCarrier, page: Client) -> None:
    far_side.answers(reply(200, []))
    assert "No service takes this parcel" in text(page.post("/parcels/new/", AT_HOME, follow=True))


def test_a_booking_whose_new_price_is_unreadable_waits_and_is_not_called_unavailable(
    far_side: SocketCarrier, quill: Sender, alice: User
) -> None:
    far_side.answers(reply(200, [GOOD]))
    order = bookings.submit(
        quote=ask(quill, alice), code="STANDARD-PICKUP", by=alice,
        form_token=uuid.uuid4(), pickup_date=None, now=timezone.now(),
    )  # fmt: skip
    Order.objects.filter(pk=order.pk).update(quoted_at=timezone.now() - dt.timedelta(hours=1))
    far_side.answers(reply(200, [AUD, EXPRESS]))
    work(order)
    assert (order.status, order.tries, order.problem) == ("booking", 1, {})
    far_side.answers(reply(200, [EXPRESS]))
    Order.objects.update(due_at=timezone.now())
    work(order)
    assert (order.status, order.problem["kind"]) == ("draft", "gone")


def test_an_import_row_waits_for_readable_prices(
    far_side: SocketCarrier, localities: None, quill: Sender, alice: User
) -> None:
    row = factories.import_row(quill, alice, state="new", due_at=timezone.now(), problems={})
    row.cells[6] = "2.4"
    row.save()
    far_side.answers(reply(200, [AUD]))
    checking.check_row(row.pk)
    row.refresh_from_db()
    assert (row.state, row.tries, row.problems) == ("new", 1, {})


def test_unreadable_prices_do_not_end_a_drafts_wait(
    far_side: SocketCarrier, localities: None, quill: Sender, alice: User
) -> None:
    draft = factories.draft(quill, alice, **AT_HOME)
    awaiting_prices.wait_for_prices(draft, by=alice, now=timezone.now())
    wait = draft.price_waits.get()
    draft.price_waits.update(due_at=timezone.now())
    far_side.answers(reply(200, [AUD]))
    awaiting_prices.ask_for_due_prices(wait.pk)
    assert draft.price_waits.get().tries == 1


def test_the_probe_names_what_it_cannot_read(
    far_side: SocketCarrier, db: None, capsys: pytest.CaptureFixture[str]
) -> None:
    far_side.answers(reply(200, [AUD, AUD, GOOD, GOOD, EUR]))
    with pytest.raises(CommandError):
        call_command("carrier_contract", "--probe")
    said = capsys.readouterr().out
    assert "NO        Products are offered with prices: 3 of 5 rows couldn't be read: " in said
    assert "currency 'A$', currency 'euro'; the others are STANDARD-PICKUP, STANDARD-PICKUP" in said


# -- It did reply ------------------------------------------------------------------------------------

UNREADABLE = "The carrier gave an answer we can't read, so there are no prices yet. Nothing was booked."
TOO_OFTEN = "The carrier asks us to slow down, so there are no prices yet. Nothing was booked."
PRICES = json.dumps([GOOD]).encode()


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (reply(200, {"data": [GOOD]}), UNREADABLE),
        (reply(200, b"<html>Welcome</html>"), UNREADABLE),
        (reply(302, b"", Location="/elsewhere"), UNREADABLE),
        (reply(200, gzip.compress(PRICES), Content_Encoding="gzip"), UNREADABLE),
        (reply(200, PRICES)[:-5], UNREADABLE),
        (reply(429, {}, Retry_After="17"), f"{TOO_OFTEN} Try again in 17 s."),
        (reply(429, {}), f"{TOO_OFTEN} Try again."),
        (reply(503, b"<html>Down</html>"), UNREADABLE),
        (b"", "The carrier didn't answer in time, so there are no prices yet."),
    ],
    ids=["elsewhere", "page", "redirect", "gzip", "cut", "429 with a time", "429", "503", "nothing"],
)  # fmt: skip
def test_price_errors_are_reported_accurately(far_side: SocketCarrier, page: Client, answer: bytes, said: str) -> None:
    far_side.answers(answer)
    assert said in text(page.post("/parcels/new/", AT_HOME))


def test_429_is_reported_too_if_the_contract_does_not_say_it_did_nothing(
    far_side: SocketCarrier, page: Client, contract: Callable[[str], None]
) -> None:
    contract("too_many_requests_is_unprocessed = false")
    far_side.answers(reply(429, {}))
    assert TOO_OFTEN in text(page.post("/parcels/new/", AT_HOME))
