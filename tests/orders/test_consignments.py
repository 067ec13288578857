"""Several parcels in an order: one click, one transaction, and an order, attempt and charge for each parcel."""

import dataclasses
import datetime as dt
import hashlib
import json
import uuid
from decimal import Decimal
from typing import Any

import pytest
from django.conf import settings
from django.utils import timezone

from orders.booking import booking_rules, bookings, recounting
from orders.booking.limits import LimitReached
from orders.drafting import drafts
from orders.drafting.parcel_details import Box, ParcelDetails
from orders.models import Order, Quote
from orders.models.quotes import bookable
from orders.quoting import asking, consignments
from shipping_portal.accounts.models import Sender, User
from shipping_portal.carrier.errors import CarrierError
from shipping_portal.carrier.messages import Measures
from tests import factories, older
from tests.sandbox_carrier import SandboxCarrier

pytestmark = pytest.mark.django_db

SMALL = Measures(Decimal("0.5"), "kg", Decimal(20), Decimal(15), Decimal(5), "cm")


def three(of: Sender, **changes: Any) -> ParcelDetails:
    """Two identical parcels and a small one."""
    first = factories.details(of)
    return dataclasses.replace(first, more=(Box(first.measures), Box(SMALL)), **changes)


def priced(of: Sender, by: User, **options: Any) -> Quote:
    return asking.ask_for_prices(of, three(of), by=by, now=timezone.now(), **options)


def stored(of: Sender, by: User, *prices: str, at: dt.datetime | None = None) -> Quote:
    """Return the quote of three parcels at these prices, without a carrier."""
    details = three(of)
    each = [
        factories.quote(of, by, parcel=parcel, at=at, amount=price)
        for parcel, price in zip(details.parcels(), prices or ("12.08", "12.08", "9.00"), strict=True)
    ]
    return consignments.quote_of(details, each)


def press(quote: Quote, by: User, **changes: Any) -> Order:
    chosen: dict[str, Any] = {
        "code": "STANDARD-PICKUP",
        "form_token": quote.uuid,
        "pickup_date": None,
        "now": timezone.now(),
    }
    return bookings.submit(quote=quote, by=by, **chosen | changes)


def work_all() -> list[Order]:
    for pk in Order.objects.filter(due_at__isnull=False).order_by("pk").values_list("pk", flat=True):
        bookings.process_booking(pk)
    return list(Order.objects.order_by("parcel_number"))


def counted_right() -> bool:
    return recounting.miscounted_rows(timezone.now()) == []


def test_identical_parcels_share_one_price_request_and_the_price_is_the_sum(
    quill: Sender, alice: User, carrier: SandboxCarrier
) -> None:
    quote = priced(quill, alice)
    asked = [one for one in carrier.requests() if one["path"].startswith("/products")]
    assert len(asked) == 2
    for offer in bookable(quote.products):
        assert Decimal(offer["amount"]) == sum(Decimal(one["amount"]) for one in offer["parcels"])
        assert len(offer["parcels"]) == 3
        assert offer["parcels"][0] == offer["parcels"][1]


def test_two_tabs_with_the_same_parcels_share_one_form(quill: Sender, alice: User, carrier: SandboxCarrier) -> None:
    assert priced(quill, alice) == priced(quill, alice)
    assert priced(quill, alice, fresh=True) != priced(quill, alice, fresh=True)


def test_a_service_missing_for_one_parcel_cannot_be_booked(quill: Sender, alice: User) -> None:
    details = three(quill)
    each = [factories.quote(quill, alice, parcel=parcel) for parcel in details.parcels()]
    each[2].products = [factories.OFFER | {"code": "EXPRESS", "name": "Express"}]
    quote = consignments.quote_of(details, each)
    assert bookable(quote.products) == []
    assert {one["refused"] for one in quote.products} == {
        "It isn't offered for parcel 1.",
        "It isn't offered for parcel 3.",
    }
    with pytest.raises(booking_rules.ServiceNotOffered):
        press(quote, alice)
    assert not Order.objects.exists()


def test_prices_of_two_accounts_are_not_added_up(quill: Sender, alice: User) -> None:
    """From the second price request on, new orders go to another account."""
    details = three(quill)
    each = [factories.quote(quill, alice, parcel=parcel) for parcel in details.parcels()]
    each[2].account = older.unnamed()
    assert bookable(consignments.quote_of(details, each).products) == []


def test_an_offer_for_several_parcels_is_the_sum_and_the_latest_arrival(quill: Sender, alice: User) -> None:
    details = three(quill)
    offers: list[dict[str, Any]] = [
        {"cover": "1.50", "pickup": "2026-11-30", "eta_from": "2026-12-02", "eta_to": "2026-12-04"},
        {"cover": None, "pickup": None, "eta_from": "2026-12-01", "eta_to": "2026-12-07"},
        {"cover": "2.25", "pickup": "2026-12-01", "eta_from": "2026-12-03", "eta_to": "2026-12-05"},
    ]
    each = [
        factories.quote(quill, alice, parcel=parcel, **offer)
        for parcel, offer in zip(details.parcels(), offers, strict=True)
    ]
    [found] = consignments.quote_of(details, each).products
    assert (found["amount"], found["cover"], found["taxes"]) == ("36.24", "3.75", [["gst", "3.24", "AUD"]])
    assert (found["pickup"], found["eta_from"], found["eta_to"]) == ("2026-12-01", "2026-12-01", "2026-12-07")


def test_one_press_is_three_orders_with_an_attempt_and_a_charge_each(
    quill: Sender, alice: User, carrier: SandboxCarrier
) -> None:
    quote = priced(quill, alice)
    first = press(quote, alice)
    assert carrier.ledger("booked") == []
    made = work_all()
    assert [one.status for one in made] == ["booked"] * 3
    assert [(one.parcel_number, one.parcel_count) for one in made] == [(1, 3), (2, 3), (3, 3)]
    assert made[0] == first
    assert {one.consignment for one in made} == {quote.uuid}
    assert [one.attempts.count() for one in made] == [1, 1, 1]
    assert len({line["reference"] for line in carrier.ledger("booked")}) == 3
    assert made[2].weight_kg == Decimal("0.5")
    offer = quote.offer("STANDARD-PICKUP")
    assert offer is not None
    assert [one.price for one in made] == [Decimal(one["amount"]) for one in offer["parcels"]]
    assert counted_right()


def test_a_second_press_books_nothing_new(quill: Sender, alice: User, carrier: SandboxCarrier) -> None:
    quote = stored(quill, alice)
    assert press(quote, alice) == press(quote, alice)
    work_all()
    press(quote, alice)
    work_all()
    assert Order.objects.count() == len(carrier.ledger("booked")) == 3


def test_the_token_of_a_later_parcel_books_nothing(quill: Sender, alice: User) -> None:
    """Somebody could send it by hand. Then nothing of the consignment is booked."""
    quote = stored(quill, alice)
    single = factories.quote(quill, alice)
    press(single, alice, form_token=uuid.uuid5(quote.uuid, "2"))
    with pytest.raises(bookings.TokenReused):
        press(quote, alice)
    assert Order.objects.count() == 1
    assert counted_right()


def test_the_same_form_with_another_parcel_is_refused(quill: Sender, alice: User) -> None:
    quote = stored(quill, alice)
    press(quote, alice)
    with pytest.raises(bookings.TokenReused):
        press(factories.quote(quill, alice), alice, form_token=quote.uuid)
    assert Order.objects.count() == 3


@pytest.mark.parametrize("limits", [{"bookings_a_day": 2}, {"money_a_day": Decimal("24.20")}])
def test_a_limit_reached_by_a_later_parcel_books_none(quill: Sender, alice: User, limits: dict[str, Any]) -> None:
    Sender.objects.filter(pk=quill.pk).update(**limits)
    quote = stored(Sender.objects.get(pk=quill.pk), alice)
    with pytest.raises(LimitReached) as refused:
        press(quote, alice)
    assert refused.value.used == 0  # what the sender reads doesn't depend on them
    assert not Order.objects.exists()
    assert counted_right()


def test_a_limit_lowered_since_the_page_loaded_books_none(quill: Sender, alice: User) -> None:
    """The first parcel is counted, the second isn't: the transaction rolls back both."""
    quote = stored(quill, alice)
    Sender.objects.filter(pk=quill.pk).update(bookings_a_day=1)
    with pytest.raises(LimitReached):
        press(quote, alice)
    assert not Order.objects.exists()
    assert Sender.objects.get(pk=quill.pk).booked_today == 0
    assert counted_right()


def test_the_limit_of_all_senders_holds_for_the_second_parcel_too(quill: Sender, alice: User, settings: Any) -> None:
    settings.DAILY_MONEY_LIMIT = Decimal(20)
    with pytest.raises(LimitReached):
        press(stored(quill, alice), alice)
    assert not Order.objects.exists()
    assert counted_right()


def test_a_suspended_sender_books_none_and_queued_ones_stop(
    quill: Sender, alice: User, carrier: SandboxCarrier
) -> None:
    press(stored(quill, alice), alice)
    Sender.objects.filter(pk=quill.pk).update(suspended_at=timezone.now(), suspension="terms")
    assert [one.status for one in work_all()] == ["draft"] * 3
    assert carrier.ledger("booked") == []
    quill.refresh_from_db()
    with pytest.raises(booking_rules.Suspended):
        press(stored(quill, alice), alice)


def book_three(carrier: SandboxCarrier, trouble: str) -> None:
    """Book each parcel. The second one's call fails."""
    first, second, third = Order.objects.order_by("pk")
    bookings.process_booking(first.pk)
    carrier.trouble("book", trouble)
    bookings.process_booking(second.pk)
    bookings.process_booking(third.pk)


def test_a_refused_parcel_is_not_booked_and_the_others_are(quill: Sender, alice: User, carrier: SandboxCarrier) -> None:
    press(stored(quill, alice), alice)
    book_three(carrier, "422")
    made = list(Order.objects.order_by("pk"))
    assert [one.status for one in made] == ["booked", "rejected", "booked"]
    assert len(carrier.ledger("booked")) == 2
    assert counted_right()


def test_a_stop_between_two_parcels_books_the_rest_once(quill: Sender, alice: User, carrier: SandboxCarrier) -> None:
    """The worker dies after sending the second attempt: its outcome is unknown, the third continues."""
    press(stored(quill, alice), alice)
    book_three(carrier, "commit-close")
    for _ in range(3):
        work_all()
    made = list(Order.objects.order_by("pk"))
    assert [one.status for one in made] == ["booked", "unconfirmed", "booked"]
    assert len(carrier.ledger("booked")) == 3


def test_only_the_parcel_whose_price_rose_waits_for_its_sender(
    quill: Sender, alice: User, carrier: SandboxCarrier
) -> None:
    """All prices are too old, so each parcel's is requested again."""
    old = timezone.now() - dt.timedelta(seconds=settings.QUOTE_SECONDS + 5)
    press(stored(quill, alice, "99.00", "99.00", "0.50", at=old), alice)
    made = work_all()
    assert [one.status for one in made] == ["booked", "booked", "draft"]
    assert made[2].problem["kind"] == "price_rose"
    assert counted_right()


def test_the_quote_is_as_old_as_its_oldest_price(quill: Sender, alice: User) -> None:
    details, now = three(quill), timezone.now()
    each = [
        factories.quote(quill, alice, parcel=parcel, at=now - dt.timedelta(seconds=age))
        for parcel, age in zip(details.parcels(), (5, 100, 20), strict=True)
    ]
    assert consignments.quote_of(details, each).made_at == each[1].made_at


def test_a_parcel_without_prices_is_an_error(quill: Sender, alice: User, carrier: SandboxCarrier) -> None:
    asking.ask_for_prices(quill, factories.details(quill), by=alice, now=timezone.now())
    carrier.trouble("quote", "503", count=9)
    with pytest.raises(CarrierError):
        priced(quill, alice)
    assert not Quote.objects.filter(question_hash__startswith="several:").exists()


def test_parcels_of_one_order_do_not_count_as_duplicates(quill: Sender, alice: User) -> None:
    quote = stored(quill, alice)
    assert booking_rules.duplicate_to_ask_about(quote, timezone.now(), form_token=quote.uuid) is None
    press(quote, alice)
    assert booking_rules.duplicate_to_ask_about(quote, timezone.now(), form_token=quote.uuid) is None
    again = stored(quill, alice)
    found = booking_rules.duplicate_to_ask_about(again, timezone.now(), form_token=again.uuid)
    assert found == Order.objects.get(parcel_number=3)


def test_the_hash_of_one_parcel_is_unchanged(quill: Sender, alice: User) -> None:
    """Open forms and quotes keep working across an update."""
    one = factories.details(quill)
    plain = {name: value for name, value in one.to_json().items() if name not in {"size", "returns", "more"}}
    assert one.hash() == hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()
    assert three(quill).hash() != one.hash()
    assert ParcelDetails.from_json(three(quill).to_json()) == three(quill)


def test_a_draft_of_three_ends_with_its_first_order(quill: Sender, alice: User) -> None:
    now = timezone.now()
    draft = drafts.begin(quill, alice, three(quill), now=now)
    quote = stored(quill, alice)
    order = drafts.submit(
        draft, quote, by=alice, now=now, product="STANDARD-PICKUP", form_token=quote.uuid, pickup_date=None
    )
    draft.refresh_from_db()
    assert (draft.order, draft.values, order.parcel_number) == (order, {}, 1)
