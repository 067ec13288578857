"""What a new account may do before an operator approves it: always get prices, and book as far as SIGN_UP allows."""

import datetime as dt
import uuid
from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone

from orders.booking import bookings, limit_words, recounting
from orders.booking.limits import LimitReached
from orders.cancelling import replacing
from orders.models import Order, Quote
from orders.status.transitions import move_to
from shipping_portal.accounts.login import signing_up
from shipping_portal.accounts.models import Sender, User
from shipping_portal.importing import booking as import_booking
from tests import factories
from tests.pages.typed import text
from tests.sandbox_carrier import SandboxCarrier

pytestmark = pytest.mark.django_db

PRICE = Decimal("12.08")  # of every quote from the factories
WAITS = "Booking opens once we have approved this new account. Nothing was booked and you weren't charged."
PARCELS = "may book 5 parcels in all; it has booked 5. Nothing was booked and you weren't charged."
BOOKS = {"open": True, "first_limit": True, "approve": False, "invited": False}
each_mode = pytest.mark.parametrize(("mode", "books"), BOOKS.items(), ids=list(BOOKS))


@pytest.fixture
def new(quill: Sender, alice: User) -> Sender:
    """Alice's business, not yet approved by an operator."""
    Sender.objects.update(approved_at=None)
    quill.refresh_from_db()
    return quill


def press(sender: Sender, by: User) -> Order:
    return press_at(factories.quote(Sender.objects.get(pk=sender.pk), by), by, timezone.now())


def press_at(quote: Quote, by: User, now: dt.datetime) -> Order:
    return bookings.submit(
        quote=quote, code="STANDARD-PICKUP", by=by, form_token=uuid.uuid4(), pickup_date=None, now=now
    )


def right() -> bool:
    return recounting.miscounted_rows(timezone.now()) == []


@each_mode
def test_sign_up_decides_what_the_book_button_does(
    new: Sender, alice: User, visit: Any, settings: Any, mode: str, *, books: bool
) -> None:
    settings.SIGN_UP = mode
    page, quote = visit(alice), factories.quote(new, alice)
    shown = " ".join(page.get(factories.prices_of(quote)).content.decode().split())
    assert ("Book parcel, " in shown) is books
    assert ("You can book once we've approved your new account." in shown) is not books
    fields = {"form_token": uuid.uuid4(), "product": "STANDARD-PICKUP"}
    answer = page.post(f"{factories.prices_of(quote)}book/", fields)
    assert answer.status_code == (302 if books else 422)
    assert (WAITS.replace("'", "&#x27;") in answer.content.decode()) is not books
    assert Order.objects.count() == books
    assert right()


@each_mode
def test_every_new_account_has_prices_and_a_pickup_address(
    carrier: SandboxCarrier, new: Sender, alice: User, visit: Any, settings: Any, mode: str, *, books: bool
) -> None:
    settings.SIGN_UP = mode
    quote = factories.quote(new, alice)
    answer = visit(alice).post(factories.prices_of(quote))  # asks again
    assert answer.status_code == 302
    assert new.quotes.count() == 2
    assert visit(alice).get("/settings/pickup-address/").status_code == 200


@each_mode
def test_sign_up_decides_whether_an_imports_row_is_booked(
    new: Sender, alice: User, settings: Any, mode: str, *, books: bool
) -> None:
    settings.SIGN_UP = mode
    row = factories.import_row(
        new, alice, state="owed", due_at=timezone.now(), quote=factories.quote(new, alice),
        product_code="STANDARD-PICKUP", booked_by=alice,
    )  # fmt: skip
    import_booking.book_row(row.pk)
    row.refresh_from_db()
    assert (row.order is not None) is books
    assert Order.objects.count() == books
    assert (WAITS in str(row.problems.get("", [""])[0])) is not books


@each_mode
def test_sign_up_decides_whether_a_higher_price_can_be_agreed_to(
    new: Sender, alice: User, settings: Any, mode: str, *, books: bool
) -> None:
    settings.SIGN_UP = mode
    order = factories.order(new, alice, status="not_booked")
    if books:
        bookings.confirm(order, by=alice, now=timezone.now())
    else:
        with pytest.raises(LimitReached, match="first_parcels"):
            bookings.confirm(order, by=alice, now=timezone.now())
    order.refresh_from_db()
    assert order.status == ("booking" if books else "not_booked")


@each_mode
def test_replacing_cancels_nothing_that_could_not_be_booked_again(
    new: Sender, alice: User, settings: Any, mode: str, *, books: bool
) -> None:
    settings.SIGN_UP = mode
    order = factories.order(new, alice, status="booked")
    ask = {"quote": factories.quote(new, alice), "code": "STANDARD-PICKUP", "by": alice, "now": timezone.now()}
    if books:
        replacing.ask_to_replace(order, form_token=uuid.uuid4(), pickup_date=None, **ask)
    else:
        with pytest.raises(LimitReached, match="first_parcels"):
            replacing.ask_to_replace(order, form_token=uuid.uuid4(), pickup_date=None, **ask)
    order.refresh_from_db()
    assert order.status == ("cancelling" if books else "booked")


@pytest.mark.parametrize("mode", BOOKS)
def test_an_approved_account_books_in_every_mode(new: Sender, alice: User, sam: User, settings: Any, mode: str) -> None:
    settings.SIGN_UP = mode
    signing_up.approve_account(new, by=sam, reason="known to us", now=timezone.now())
    for _ in range(6):
        press(new, alice)
    assert Order.objects.count() == 6


@pytest.mark.parametrize("is_stale", [False, True], ids=["as the page knows", "as only the database knows"])
@pytest.mark.parametrize(
    ("price", "most", "words"),
    [
        ("12.08", 5, PARCELS),
        ("20.00", 5, PARCELS),
        ("33.34", 2, "may book for $100.00 AUD in all; $66.68 AUD is used, and this parcel costs $33.34 AUD."),
    ],
)
def test_a_new_accounts_limit_counts_parcels_and_money_over_all_days(
    new: Sender, alice: User, settings: Any, price: str, most: int, words: str, *, is_stale: bool
) -> None:
    settings.SIGN_UP = "first_limit"
    offer, now = {"amount": price}, timezone.now()
    quotes = [factories.quote(new, alice, **offer) for _ in range(most + 1)]
    days = [now - dt.timedelta(days=most - number) for number in range(most + 1)]
    for quote, day in zip(quotes[:most], days, strict=False):
        press_at(quote, alice, day)
    last = quotes[most] if is_stale else factories.quote(Sender.objects.get(pk=new.pk), alice, **offer)
    with pytest.raises(LimitReached) as refusal:
        press_at(last, alice, now)
    found = limit_words.refusal(refusal.value, new)
    assert words in found
    assert f"quote {new.number} if it can't wait" in found
    assert Order.objects.count() == most
    assert right()


def test_an_order_that_was_not_booked_frees_its_share(new: Sender, alice: User, settings: Any) -> None:
    settings.SIGN_UP = "first_limit"
    first, *_ = [press(new, alice) for _ in range(5)]
    with pytest.raises(LimitReached):
        press(new, alice)
    move_to(first, "rejected", reason="-", at=timezone.now())
    press(new, alice)
    assert right()


def test_an_approval_in_the_meantime_allows_the_booking(new: Sender, alice: User, sam: User, settings: Any) -> None:
    settings.SIGN_UP = "first_limit"
    for _ in range(4):
        press(new, alice)
    read_before = Sender.objects.get(pk=new.pk)
    press(new, alice)
    signing_up.approve_account(Sender.objects.get(pk=new.pk), by=sam, reason="known to us", now=timezone.now())
    press_at(factories.quote(read_before, alice), alice, timezone.now())
    assert Order.objects.count() == 6


@pytest.mark.parametrize("counter", ["booked_in_all", "spent_in_all"])
def test_the_recount_corrects_these_counters(new: Sender, alice: User, settings: Any, counter: str) -> None:
    press(new, alice)
    Sender.objects.update(**{counter: 0})
    assert not right()
    recounting.recount_limits(timezone.now())
    new.refresh_from_db()
    assert (new.booked_in_all, new.spent_in_all) == (1, PRICE)


@pytest.mark.parametrize(
    ("mode", "words"),
    [
        ("open", ""),
        ("first_limit", "it books 5 parcels or $100.00 in all; 1 for $12.08 so far."),
        ("approve", "This new account is waiting for our approval."),
        ("invited", "This new account is waiting for our approval."),
    ],
)
def test_a_banner_says_what_a_new_account_may_do(
    new: Sender, alice: User, sam: User, visit: Any, settings: Any, mode: str, words: str
) -> None:
    press(new, alice)
    settings.SIGN_UP = mode
    page = visit(alice)
    for address in ("/today/", "/parcels/", "/start/", "/settings/"):
        shown = text(page.get(address))
        assert words in shown
        assert ("account is" in shown) is bool(words)
    new.suspend(by=sam, category="terms", text="We don't know you.", note="", now=timezone.now())
    shown = text(page.get("/today/"))
    assert "We don't know you." in shown
    assert not words or words not in shown


@each_mode
def test_sign_up_decides_what_an_imports_book_button_does(
    new: Sender, alice: User, visit: Any, settings: Any, mode: str, *, books: bool
) -> None:
    settings.SIGN_UP = mode
    file = factories.import_file(new, alice)
    quote = factories.quote(new, alice)
    row = factories.import_row(new, alice, file=file, state="ready", problems={}, quote=quote)
    page = visit(alice)
    shown = page.get(f"/imports/{file.uuid}/check/").content.decode()
    assert ('data-busy="Booking"' in shown) is books
    fields = {"rule": "cheapest", "rows": 1, "newest": quote.pk, "pickup_date": "", "last": ""}
    found = text(page.post(f"/imports/{file.uuid}/book/", fields, follow=True))
    row.refresh_from_db()
    assert row.state == ("owed" if books else "ready")
    assert (WAITS in found) is not books
