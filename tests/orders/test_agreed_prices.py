"""What the sender agreed to and what the carrier booked. A higher price or another currency always sends a notice."""

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from orders.booking import bookings, recording
from orders.booking.limits import NOT_COUNTED
from orders.models import Order
from orders.quoting import asking
from shipping_portal.accounts.models import Notification, Sender, User
from shipping_portal.billing.charges import reconciling
from shipping_portal.billing.reports import posting
from shipping_portal.carrier.messages import Booked, Money
from shipping_portal.importing import booking as importing
from shipping_portal.importing.models import Import
from tests import factories
from tests.billing.conftest import line, summed
from tests.billing.conftest import take as take
from tests.orders.agreed_prices import work
from tests.pages.typed import text
from tests.sandbox_carrier import SandboxCarrier

pytestmark = pytest.mark.django_db

Submit = Callable[..., Order]
Visit = Callable[[User], Client]


@pytest.fixture
def dearer(submitted: Submit, carrier: SandboxCarrier) -> Callable[..., Order]:
    """An order whose price rose between the quote and the booking, while the quote was still valid."""

    def book(percent: int = 25) -> Order:
        order = submitted()
        carrier.prices(percent)
        return work(order)

    return book


@pytest.fixture
def in_dollars(submitted: Submit, carrier: SandboxCarrier) -> Callable[[], Order]:
    """An order agreed in US dollars that the carrier books in Australian dollars."""

    def book() -> Order:
        order = submitted()
        Order.objects.filter(pk=order.pk).update(currency="USD", price=Decimal("99.00"))
        return work(order)

    return book


def recorded(order: Order) -> list[str]:
    return list(Notification.objects.filter(sender=order.sender).values_list("line", flat=True))


# -- Booked at more than was agreed -------------------------------------------------------------------


def test_a_higher_booked_price_is_shown_with_the_agreed_one_and_a_way_to_cancel(
    dearer: Callable[..., Order], alice: User, visit: Visit
) -> None:
    order = dearer()
    assert (order.status, order.charged_price > order.price) == ("booked", True)
    page = visit(alice).get(f"/parcels/{order.uuid}/")
    said = f"You agreed to ${order.price}; the carrier booked it at ${order.charged_price}."
    assert said in text(page)
    assert f'<a href="/parcels/{order.uuid}/cancel/">Cancel it before pickup</a>' in " ".join(
        page.content.decode().split()
    )


def test_no_cancel_is_offered_if_it_cannot_be_cancelled(
    dearer: Callable[..., Order], alice: User, bea: User, visit: Visit, contract: Callable[[str], None]
) -> None:
    order = dearer()
    said = f"You agreed to ${order.price}; the carrier booked it at ${order.charged_price}."
    for_the_bookkeeper = text(visit(bea).get(f"/parcels/{order.uuid}/"))
    contract('cancel = ""')
    without_a_way = text(visit(alice).get(f"/parcels/{order.uuid}/"))
    assert said in for_the_bookkeeper
    assert said in without_a_way
    assert "Cancel it" not in for_the_bookkeeper + without_a_way


def test_a_higher_price_is_emailed_once_and_not_after_the_sender_cancelled(
    dearer: Callable[..., Order], alice: User, visit: Visit
) -> None:
    order = dearer()
    said = f"You agreed to ${order.price}; the carrier booked it at ${order.charged_price}."
    assert recorded(order) == [
        f"{order} to N. Tamsin was booked at another price. {said} You can cancel it before it leaves."
    ]
    visit(alice).post(f"/parcels/{order.uuid}/cancel/", {"need": "not_sending"})
    assert recorded(order) == []


def test_the_notice_offers_no_cancel_if_the_carrier_has_none(
    dearer: Callable[..., Order], contract: Callable[[str], None]
) -> None:
    contract('cancel = ""')
    assert recorded(dearer())[0].endswith("Contact us if you don't want it at that price.")


def test_a_higher_price_is_in_the_operators_queue_until_the_order_is_cancelled(
    dearer: Callable[..., Order], quill: Sender, alice: User
) -> None:
    factories.order(quill, alice, status="booked")
    order = dearer()
    assert reconciling.charged_otherwise(timezone.now()).get() == order
    Order.objects.filter(pk=order.pk).update(status="cancelled", cancelled_at=timezone.now(), **NOT_COUNTED)
    assert not reconciling.charged_otherwise(timezone.now()).exists()


def test_a_bill_at_the_higher_price_stays_queued_until_the_operator_accepts_it(
    dearer: Callable[..., Order], take: Any
) -> None:
    order = dearer()
    now = timezone.now()
    posting.post_report(take(summed(line(order.carrier_reference, str(order.charged_price)))), by=None, now=now)
    assert reconciling.charged_otherwise(now).get() == order
    assert reconciling.accept_price(order.charges.get())
    assert not reconciling.charged_otherwise(now).exists()


def test_a_bill_at_the_agreed_price_removes_the_order_from_the_queue(dearer: Callable[..., Order], take: Any) -> None:
    order = dearer()
    now = timezone.now()
    posting.post_report(take(summed(line(order.carrier_reference, str(order.price)))), by=None, now=now)
    assert not reconciling.charged_otherwise(now).exists()


@pytest.mark.parametrize("percent", [0, -10])
def test_the_same_price_or_a_lower_one_is_shown_without_alarm(
    dearer: Callable[..., Order], alice: User, visit: Visit, percent: int
) -> None:
    order = dearer(percent)
    said = text(visit(alice).get(f"/parcels/{order.uuid}/"))
    assert f"Booked at ${order.charged_price}." in said
    assert "You agreed to" not in said
    assert recorded(order) == []
    assert not reconciling.charged_otherwise(timezone.now()).exists()


def test_a_booking_in_another_currency_is_reported_however_low_its_number(
    in_dollars: Callable[[], Order], alice: User, visit: Visit
) -> None:
    order = in_dollars()
    said = text(visit(alice).get(f"/parcels/{order.uuid}/"))
    booked = f"${order.unagreed_price} AUD"
    assert order.unagreed_price < order.price
    assert f"You agreed to $99.00 USD; the carrier booked it at {booked}." in said
    assert f"Booked at ${order.unagreed_price}." in said
    assert f"Total {booked}" in said
    assert f"the carrier booked it at {booked}." in recorded(order)[0]
    assert reconciling.charged_otherwise(timezone.now()).get() == order


@pytest.mark.parametrize(
    ("booked", "charged", "unagreed"),
    [
        (Money(Decimal("13.83"), "AUD"), Decimal("13.83"), (None, "")),
        (Money(Decimal("13.84"), "AUD"), Decimal("13.84"), (None, "")),
        (Money(Decimal("13.85"), "AUD"), Decimal("13.85"), (Decimal("13.85"), "AUD")),
        (Money(Decimal("13.83"), "USD"), None, (Decimal("13.83"), "USD")),
        (Money(Decimal("13.84"), "USD"), None, (Decimal("13.84"), "USD")),
        (Money(Decimal("13.85"), "USD"), None, (Decimal("13.85"), "USD")),
    ],
)
def test_only_a_price_in_the_agreed_currency_counts_as_charged(
    submitted: Submit, booked: Money, charged: Decimal | None, unagreed: tuple[Decimal | None, str]
) -> None:
    """Otherwise an amount in another currency would count in limits and totals as if it were in the agreed one."""
    order = submitted()
    attempt = bookings._write_down(order, timezone.now())
    assert attempt
    recording.record_outcome(attempt, Booked("id-1", "SQ7K2M0001", "Booked", (), None, booked, (), "", "", 201, b"{}"))
    order.refresh_from_db()
    assert (order.price, order.currency) == (Decimal("13.84"), "AUD")
    assert (order.charged_price, (order.unagreed_price, order.unagreed_currency)) == (charged, unagreed)
    assert (order.total, order.reserved) == (charged or order.price, charged or order.price)


@pytest.mark.parametrize(("amount", "is_kept"), [("13.84", True), ("13.83", False), ("17.25", False)])
def test_the_agreed_parts_are_shown_only_with_the_price_that_they_add_up_to(
    submitted: Submit, alice: User, visit: Visit, amount: str, *, is_kept: bool
) -> None:
    """Some carriers book at a price and name no parts of it."""
    order = submitted()
    attempt = bookings._write_down(order, timezone.now())
    assert attempt
    price = Money(Decimal(amount), "AUD")
    recording.record_outcome(attempt, Booked("id-1", "SQ7K2M0001", "Booked", (), None, price, (), "", "", 201, b"{}"))
    said = text(visit(alice).get(f"/parcels/{order.uuid}/"))
    assert f"Total ${amount} AUD" in said
    assert ("Delivery $12.60" in said) is is_kept


def test_without_a_price_in_the_answer_the_quoted_parts_stay(submitted: Submit, alice: User, visit: Visit) -> None:
    order = submitted()
    attempt = bookings._write_down(order, timezone.now())
    assert attempt
    recording.record_outcome(attempt, Booked("id-1", "SQ7K2M0001", "Booked", (), None, None, (), "", "", 201, b"{}"))
    said = text(visit(alice).get(f"/parcels/{order.uuid}/"))
    assert ("Delivery $12.60" in said, "Total $13.84 AUD" in said) == (True, True)


# -- A new price waits for a yes, to its amount and its currency --------------------------------------


def asked_in(order: Order, currency: str, amount: str = "9.40") -> Order:
    """Return the order after the carrier's price changed and it went back to its sender."""
    offer = {**factories.OFFER, "amount": amount, "currency": currency}
    Order.objects.filter(pk=order.pk).update(quoted_at=timezone.now() - dt.timedelta(hours=1))
    order.refresh_from_db()
    now = timezone.now()
    assert not bookings._carry_out(order, asking.compare_offer(order, offer, now), now)
    order.refresh_from_db()
    assert (order.status, order.problem["kind"]) == ("draft", "price_rose")
    return order


@pytest.fixture
def repriced(quill: Sender, alice: User) -> Order:
    """An order at $12.08 AUD that now costs $9.40 USD."""
    return asked_in(factories.order(quill, alice, status="booking", due_at=timezone.now()), "USD")


@pytest.mark.parametrize("page", ["booking/", ""])
def test_a_new_price_is_shown_in_its_own_currency(repriced: Order, alice: User, visit: Visit, page: str) -> None:
    said = text(visit(alice).get(f"/parcels/{repriced.uuid}/{page}"))
    assert "The price is now $9.40 USD (was $12.08 AUD)" in said


@pytest.mark.parametrize(
    ("agreed", "books"), [("9.40 USD", True), ("9.40 AUD", False), ("9.40", False), ("12.08 AUD", False)]
)
def test_agreeing_names_the_amount_and_the_currency(
    repriced: Order, alice: User, visit: Visit, agreed: str, *, books: bool
) -> None:
    visit(alice).post(f"/parcels/{repriced.uuid}/confirm/", {"agreed": agreed})
    repriced.refresh_from_db()
    expected = ("booking", Decimal("9.40"), "USD") if books else ("draft", Decimal("12.08"), "AUD")
    assert (repriced.status, repriced.price, repriced.currency) == expected


def test_the_page_posts_the_price_it_shows(repriced: Order, alice: User, visit: Visit) -> None:
    body = visit(alice).get(f"/parcels/{repriced.uuid}/booking/").content.decode()
    assert 'name="agreed" value="9.40 USD"' in body
    assert "Book at $9.40 USD" in body


def test_agreeing_to_an_older_price_books_nothing(repriced: Order, alice: User) -> None:
    seen_before = Order.objects.get(pk=repriced.pk)
    Order.objects.filter(pk=repriced.pk).update(problem={**repriced.problem, "new": "99.00"})
    with pytest.raises(Order.WrongStatus):
        bookings.confirm(seen_before, by=alice, now=timezone.now())
    repriced.refresh_from_db()
    assert (repriced.status, repriced.due_at) == ("draft", None)


def test_the_sender_must_agree_again_if_the_currency_has_changed(repriced: Order, alice: User) -> None:
    bookings.confirm(repriced, by=alice, now=timezone.now())
    assert asked_in(repriced, "CAD").problem["new"] == "9.40"


@pytest.fixture
def file(quill: Sender, alice: User, repriced: Order) -> Import:
    """An import with one row, which now costs $9.40 USD."""
    made = factories.import_file(quill, alice, state="booking")
    factories.import_row(quill, alice, file=made, state="booked", problems={}, order=repriced)
    return made


def test_an_import_shows_a_new_price_in_its_own_currency(
    file: Import, repriced: Order, alice: User, visit: Visit
) -> None:
    answer = visit(alice).get(f"/imports/{file.uuid}/")
    assert "$12.08 AUD → $9.40 USD" in text(answer)
    assert f'name="price" value="{repriced.uuid}|9.40 USD"' in " ".join(answer.content.decode().split())


@pytest.mark.parametrize(("agreed", "count"), [("9.40 USD", 1), ("9.40 AUD", 0), ("9.40", 0)])
def test_agreeing_for_rows_names_the_amount_and_the_currency(
    file: Import, repriced: Order, alice: User, agreed: str, count: int
) -> None:
    assert importing.agree(file, {repriced.uuid: agreed}, by=alice, now=timezone.now()) == count
