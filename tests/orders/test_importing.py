"""An import's rows: checked by the form's rules, priced, booked once each, and returned when they fail."""

import datetime as dt
import uuid
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone
from time_machine import TimeMachineFixture

from orders.booking import booking_rules, bookings
from orders.calling import turns
from orders.models import CarrierAccount, Order, Quote
from orders.models.statuses import Status
from shipping_portal import sheets
from shipping_portal.accounts.models import Sender, User
from shipping_portal.importing import booking as importing
from shipping_portal.importing import (
    checking,
    chosen_service,
    columns,
    duplicates,
    guessing,
    listing,
    progress,
    reading,
    row_form,
    row_values,
    submitting,
    uploads,
)
from shipping_portal.importing.models import Import, ImportRow
from tests import factories, older
from tests.sandbox_carrier import SandboxCarrier

pytestmark = pytest.mark.django_db

HEADER = "Name,Email,Address 1,Suburb,Postcode,Contents,Weight,Length,Width,Height,Order number"
GOOD = "Priya Nair,priya@example.net,4 Sample Street,Brunswick,3056,Mugs,2.4,32,24,11,1001"


def sheet(*rows: str) -> bytes:
    return "\r\n".join([HEADER, *rows]).encode()


def taken(sender: Sender, by: User, *rows: str) -> Import:
    """Create an import of these rows, with columns matched by name."""
    return factories.taken(sheet(*rows), sender, by)


def checked(sender: Sender, by: User, *rows: str) -> Import:
    file = taken(sender, by, *rows)
    work_off(file)
    return file


def work_off(file: Import) -> None:
    """Do the workers' jobs until nothing is due."""
    for row in file.rows.filter(state="new"):
        checking.check_row(row.pk)
    for row in file.rows.filter(state="owed"):
        importing.book_row(row.pk)
    for order in Order.objects.filter(status="booking"):
        bookings.process_booking(order.pk)


def press(by: User, rule: str = "cheapest") -> submitting.Press:
    return submitting.Press(rule, by, timezone.now())


def book(file: Import) -> None:
    submitting.begin(file, press(file.made_by))
    work_off(file)


def states(file: Import) -> list[str]:
    return list(file.rows.values_list("state", flat=True))


@pytest.fixture
def shop(quill: Sender, alice: User, localities: None, carrier: SandboxCarrier) -> SandboxCarrier:
    """The carrier, and a sender who may import."""
    return carrier


def test_rows_over_a_limit_say_so_and_are_booked_once_there_is_room(
    shop: SandboxCarrier, quill: Sender, alice: User
) -> None:
    Sender.objects.update(bookings_a_day=1)
    file = checked(Sender.objects.get(), alice, GOOD, GOOD.replace("1001", "1002"))
    book(file)
    assert sorted(states(file)) == ["booked", "failed"]
    (found,) = file.rows.get(state="failed").problems[""]
    assert "at most 1 parcels a day; 1 are booked today. Nothing was booked and you weren't charged." in found
    assert len(shop.ledger("booked")) == 1

    Sender.objects.update(bookings_a_day=2)
    file = Import.objects.get()
    assert importing.retry(file, timezone.now()) == 1
    work_off(file)
    book(file)
    assert states(file) == ["booked", "booked"]
    assert len(shop.ledger("booked")) == 2


def test_a_row_without_contents_says_so_once_the_contract_needs_them(
    shop: SandboxCarrier, quill: Sender, alice: User, contract: Callable[[str], None]
) -> None:
    contract("description_needed = false")
    file = checked(quill, alice, GOOD.replace("Mugs", ""))
    submitting.begin(file, press(alice))
    contract("description_needed = true")
    work_off(file)
    assert states(file) == ["failed"]
    assert file.rows.get().problems == {
        "": ["The carrier has to know what's inside now: “Try again” asks for it. Nothing was booked."]
    }
    importing.retry(file, timezone.now())
    work_off(file)
    assert list(file.rows.get().problems) == ["description"]


def test_a_row_processed_again_makes_no_second_order(shop: SandboxCarrier, quill: Sender, alice: User) -> None:
    """The worker died after making the order and before updating the row."""
    file = checked(quill, alice, GOOD)
    book(file)
    ImportRow.objects.update(state="owed", order=None, due_at=timezone.now())
    work_off(file)
    assert Order.objects.count() == 1
    assert file.rows.get().order == Order.objects.get()
    assert len(shop.ledger("booked")) == 1


def test_a_paused_import_starts_no_row_and_resumes_where_it_stopped(
    shop: SandboxCarrier, quill: Sender, alice: User
) -> None:
    file = checked(quill, alice, GOOD)
    submitting.begin(file, press(file.made_by))
    importing.pause(file, timezone.now())
    work_off(file)
    assert states(file) == ["owed"]
    importing.resume(file)
    work_off(file)
    assert states(file) == ["booked"]


def test_an_order_number_booked_before_is_left_out(shop: SandboxCarrier, quill: Sender, alice: User) -> None:
    book(checked(quill, alice, GOOD))
    again = checked(quill, alice, GOOD)
    row = again.rows.get()
    assert row.state == "skipped"
    assert row.problems[""] == [f"Your order number 1001 is booked already: {Order.objects.get()}."]


def test_an_order_number_twice_in_a_file_is_booked_once(shop: SandboxCarrier, quill: Sender, alice: User) -> None:
    file = checked(quill, alice, GOOD, GOOD)
    assert states(file) == ["ready", "skipped"]


def test_a_file_that_is_booked_again_is_running_again(shop: SandboxCarrier, quill: Sender, alice: User) -> None:
    file = checked(quill, alice, GOOD)
    Import.objects.filter(pk=file.pk).update(finished_at=timezone.now(), state="done")
    assert submitting.begin(Import.objects.get(), press(alice)) == 1
    file.refresh_from_db()
    assert (file.state, file.finished_at) == ("booking", None)


@pytest.mark.parametrize(("kind", "count"), [("price_rose", 1), ("suspended", 0), ("limit", 0)])
def test_agreeing_to_new_prices_books_only_rows_whose_price_rose(
    quill: Sender, alice: User, kind: str, count: int
) -> None:
    order = factories.order(quill, alice, status="draft", problem={"kind": kind, "text": "-"})
    row = factories.import_row(quill, alice, state="handed", problems={}, order=order)
    assert progress.price_increased(row.file).count() == count


def test_rows_and_parcels_without_an_order_number_are_not_duplicates(
    shop: SandboxCarrier, quill: Sender, alice: User
) -> None:
    factories.order(quill, alice, status="booked", customer_reference="")
    without = GOOD.replace("1001", "")
    assert states(checked(quill, alice, without, without.replace("priya", "noor"))) == ["ready", "ready"]


def test_other_accounts_order_numbers_do_not_matter(
    shop: SandboxCarrier, quill: Sender, alice: User, bob: User
) -> None:
    factories.order(bob.membership.sender, bob, status="booked", customer_reference="1001")
    assert states(checked(quill, alice, GOOD)) == ["ready"]


def test_another_accounts_pending_order_numbers_do_not_matter(
    shop: SandboxCarrier, quill: Sender, alice: User, bob: User
) -> None:
    factories.import_row(bob.membership.sender, bob, state="owed", reference="1001")
    file = checked(quill, alice, GOOD)
    assert submitting.begin(file, press(alice)) == 1
    assert (file.rows.get().state, file.rows.get().problems) == ("owed", {})


def test_one_correction_is_applied_to_all_similar_rows(shop: SandboxCarrier, quill: Sender, alice: User) -> None:
    wrong = GOOD.replace("3056", "3065")
    file = checked(
        quill, alice, wrong, wrong.replace("1001", "1002"), GOOD.replace("3056", "9999").replace("1001", "3")
    )
    first = file.rows.first()
    assert first is not None
    place = {"receiver_suburb": "Brunswick", "receiver_state": "VIC", "receiver_postcode": "3056"}
    changed = {**place, "receiver_name": "Wren Sato"}
    assert row_form.save(file, first, changed, alike=True, now=timezone.now()) == 2
    work_off(file)
    assert states(file) == ["ready", "ready", "fix"]
    names = [row.quote.details["receiver"]["name"] for row in file.rows.filter(state="ready").order_by("pk")]
    assert names[0] == "Wren Sato" != names[1]  # other changes in a row belong to that row alone, and are kept


THURSDAY_NIGHT = dt.datetime(2026, 11, 26, 12, 52, tzinfo=dt.UTC)  # 23:52 in Melbourne
FRIDAY_MORNING = dt.datetime(2026, 11, 26, 13, 16, tzinfo=dt.UTC)
MONDAY = dt.date(2026, 11, 30)


def test_one_click_books_rows_whose_pickup_day_has_come_for_the_next_day(
    shop: SandboxCarrier, quill: Sender, alice: User, time_machine: TimeMachineFixture
) -> None:
    time_machine.move_to(THURSDAY_NIGHT)
    file = checked(quill, alice, GOOD, GOOD.replace("1001", "1002"), GOOD.replace("1001", "1003"))
    friday = dt.date(2026, 11, 27)
    submitting.begin(file, submitting.Press("cheapest_pickup", alice, timezone.now(), friday))
    rows = list(file.rows.all())
    importing.book_row(rows[0].pk)  # queued, and sent only after midnight
    time_machine.move_to(FRIDAY_MORNING)
    work_off(file)
    assert states(file) == ["booked", "failed", "failed"]
    assert rows[0].file.sender.orders.get().problem["kind"] == "pickup_passed"
    assert shop.ledger("booked") == []
    assert progress.day_passed(file).count() == 3
    assert importing.book_next_day(file, by=alice, now=timezone.now()) == 3
    work_off(file)
    assert progress.counts(file).booked == 3
    assert set(Order.objects.values_list("pickup_date", "carrier_pickup_date")) == {(None, MONDAY)}
    assert importing.book_next_day(file, by=alice, now=timezone.now()) == 0


def test_an_order_number_that_another_file_is_booking_is_not_booked_again_for_the_next_day(
    shop: SandboxCarrier, quill: Sender, alice: User, time_machine: TimeMachineFixture
) -> None:
    """Both rows would be due at once: neither worker would find the other's order."""
    time_machine.move_to(THURSDAY_NIGHT)
    stopped = checked(quill, alice, GOOD, GOOD.replace("1001", "1002"))
    friday = dt.date(2026, 11, 27)
    submitting.begin(stopped, submitting.Press("cheapest_pickup", alice, timezone.now(), friday))
    time_machine.move_to(FRIDAY_MORNING)
    work_off(stopped)
    again = checked(quill, alice, GOOD)
    assert submitting.begin(again, press(alice)) == 1
    assert importing.book_next_day(stopped, by=alice, now=timezone.now()) == 1
    assert list(stopped.rows.values_list("state", "problems")) == [
        ("skipped", {"": ["Your order number 1001 waits to be booked, from orders.csv."]}), ("owed", {}),
    ]  # fmt: skip


def test_one_click_checks_prices_of_an_earlier_day_again(
    shop: SandboxCarrier, quill: Sender, alice: User, time_machine: TimeMachineFixture
) -> None:
    time_machine.move_to(THURSDAY_NIGHT)
    file = checked(quill, alice, GOOD)
    assert checking.priced_before(file, timezone.now() + dt.timedelta(minutes=7)) is None  # the same day
    assert checking.priced_before(file, timezone.now() + dt.timedelta(minutes=2)) is None
    time_machine.move_to(FRIDAY_MORNING)
    assert checking.priced_before(file, timezone.now()) == dt.date(2026, 11, 26)
    assert checking.price_again(file, timezone.now()) == 1
    work_off(file)
    row = file.rows.get()
    assert row.state == "ready"
    assert row.quote is not None
    assert row.quote.made_at >= FRIDAY_MORNING
    assert checking.priced_before(file, timezone.now()) is None
    assert checking.price_again(file, timezone.now()) == 0


def test_a_row_whose_price_rose_waits_for_consent_and_is_booked_once(
    shop: SandboxCarrier, quill: Sender, alice: User
) -> None:
    file = checked(quill, alice, GOOD)
    Quote.objects.update(made_at=timezone.now() - timezone.timedelta(hours=1))
    shop.prices(20)
    book(file)
    assert progress.counts(file).price_increased == 1
    order = Order.objects.get()
    assert importing.agree(file, {order.uuid: "1.00"}, by=alice, now=timezone.now()) == 0
    seen = {order.uuid: str(order.price_to_confirm)}
    assert importing.agree(file, seen, by=alice, now=timezone.now()) == 1
    assert importing.agree(file, seen, by=alice, now=timezone.now()) == 0
    work_off(file)
    assert progress.counts(file).booked == 1
    assert len(shop.ledger("booked")) == 1


def test_a_limit_reached_while_agreeing_to_new_prices_leaves_the_rest_waiting(
    shop: SandboxCarrier, quill: Sender, alice: User
) -> None:
    file = checked(quill, alice, GOOD, GOOD.replace("1001", "1002"))
    Quote.objects.update(made_at=timezone.now() - timezone.timedelta(hours=1))
    shop.prices(20)
    book(file)
    seen = {order.uuid: str(order.price_to_confirm) for order in Order.objects.all()}
    Sender.objects.update(bookings_a_day=1)
    assert importing.agree(file, seen, by=alice, now=timezone.now()) == 1
    assert sorted(Order.objects.values_list("status", flat=True)) == ["booking", "draft"]
    with pytest.raises(bookings.LimitReached):
        importing.agree(file, seen, by=alice, now=timezone.now())


def risen(shop: SandboxCarrier, quill: Sender, alice: User) -> tuple[Import, list[Order]]:
    """A file of three rows whose prices went up, and their orders."""
    file = checked(quill, alice, *(GOOD.replace("1001", number) for number in ("1001", "1002", "1003")))
    Quote.objects.update(made_at=timezone.now() - timezone.timedelta(hours=1))
    shop.prices(20)
    book(file)
    return file, list(Order.objects.order_by("pk"))


def from_an_earlier_address(order: Order) -> dict[str, Any]:
    return {"pickup": order.pickup | {"line1": "1 Old Road"}}


@pytest.mark.parametrize("refused", [0, 1, 2])
@pytest.mark.parametrize(
    ("changes", "error"),
    [
        (lambda _: {"pickup_date": dt.date(2026, 1, 5)}, booking_rules.PickupDayPassed),
        (from_an_earlier_address, booking_rules.PickupMoved),
    ],
    ids=["a pickup day that has passed", "an earlier pickup address"],
)
def test_a_row_that_cannot_be_agreed_to_stops_no_other(
    shop: SandboxCarrier,
    quill: Sender,
    alice: User,
    refused: int,
    changes: Callable[[Order], dict[str, Any]],
    error: type[Exception],
) -> None:
    file, orders = risen(shop, quill, alice)
    Order.objects.filter(pk=orders[refused].pk).update(**changes(orders[refused]))
    seen = {order.uuid: str(order.price_to_confirm) for order in orders}
    assert importing.agree(file, seen, by=alice, now=timezone.now()) == 2
    assert Order.objects.get(status="draft") == orders[refused]
    with pytest.raises(error):
        importing.agree(file, seen, by=alice, now=timezone.now())


@pytest.mark.parametrize("moved", [0, 1, 2])
def test_a_row_from_an_earlier_pickup_address_stops_no_other_from_the_next_day(
    shop: SandboxCarrier, quill: Sender, alice: User, moved: int
) -> None:
    """One that is refused each time must not keep the others from being booked."""
    file, orders = risen(shop, quill, alice)
    Order.objects.update(problem={"kind": "pickup_passed", "text": "-"}, pickup_date=dt.date(2026, 1, 5))
    Order.objects.filter(pk=orders[moved].pk).update(**from_an_earlier_address(orders[moved]))
    assert importing.book_next_day(file, by=alice, now=timezone.now()) == 2
    assert Order.objects.get(status="draft") == orders[moved]
    with pytest.raises(booking_rules.PickupMoved):
        importing.book_next_day(file, by=alice, now=timezone.now())
    assert shop.ledger("booked") == []


@pytest.mark.parametrize("stop", [booking_rules.Paused, booking_rules.Suspended])
def test_rows_booked_before_all_bookings_stopped_are_counted(
    shop: SandboxCarrier, quill: Sender, alice: User, stop: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    file, orders = risen(shop, quill, alice)
    confirm, asked = bookings.confirm, []

    def stopped_after_one(order: Order, **press: Any) -> None:
        asked.append(order)
        if len(asked) > 1:
            raise stop
        confirm(order, **press)

    monkeypatch.setattr(bookings, "confirm", stopped_after_one)
    seen = {order.uuid: str(order.price_to_confirm) for order in orders}
    assert importing.agree(file, seen, by=alice, now=timezone.now()) == 1
    assert len(asked) == 2  # every row after it would get the same reply
    with pytest.raises(stop):
        importing.agree(file, seen, by=alice, now=timezone.now())


def test_failed_rows_come_back_as_a_file_that_imports(shop: SandboxCarrier, quill: Sender, alice: User) -> None:
    file = checked(quill, alice, GOOD, GOOD.replace("Priya Nair", "=1+1").replace("3056", "9999"))
    heads, lines = progress.failed_sheet(file)
    rows = list(lines)
    assert heads == [*HEADER.split(","), "Reason"]
    assert rows[0][:2] == ["=1+1", "priya@example.net"]
    assert "doesn't match 9999" in rows[0][-1]
    assert reading.read(sheet()[:0] + ",".join(heads).encode() + b"\n,x").fingerprint == file.fingerprint


def test_a_carrier_that_does_not_reply_only_delays_the_check(shop: SandboxCarrier, quill: Sender, alice: User) -> None:
    file = taken(quill, alice, GOOD)
    shop.trouble("quote", "503", count=1)
    work_off(file)
    row = file.rows.get()
    assert (row.state, row.tries) == ("new", 1)
    ImportRow.objects.update(due_at=timezone.now())
    work_off(file)
    assert states(file) == ["ready"]


def test_a_row_with_an_extra_cell_is_not_guessed(shop: SandboxCarrier, quill: Sender, alice: User) -> None:
    file = checked(quill, alice, GOOD + ",shifted")
    row = file.rows.get()
    assert row.state == "fix"
    assert "12 cells; the first line has 11" in row.problems[""][0]


def test_a_dropped_leading_zero_is_suggested(shop: SandboxCarrier, quill: Sender, alice: User) -> None:
    file = checked(quill, alice, GOOD.replace("Brunswick,3056", "Darwin,800"))
    row = file.rows.get()
    assert row.state == "fix"
    assert ["DARWIN", "NT", "0800"] in row.near


def test_every_row_has_its_own_token(shop: SandboxCarrier, quill: Sender, alice: User) -> None:
    file = taken(quill, alice, GOOD, GOOD.replace("1001", "1002"))
    tokens = set(file.rows.values_list("token", flat=True))
    assert len(tokens) == 2
    assert uuid.UUID(int=0) not in tokens


def again_with(number: str) -> str:
    return GOOD.replace("1001", number)


def test_each_row_is_booked_as_its_sender_saw_it_whatever_happens_later(
    shop: SandboxCarrier, quill: Sender, alice: User
) -> None:
    file = checked(quill, alice, GOOD)
    submitting.begin(file, press(alice, rule="cheapest"))
    cheapest = file.rows.get().product_code
    again = checked(quill, alice, again_with("1002"))
    again.rows.update(file=file, number=3)
    submitting.begin(file, press(alice, rule="fastest"))
    assert file.rows.get(number=2).product_code == cheapest
    assert file.rows.get(number=3).product_code != cheapest


def test_same_as_last_time_means_the_last_parcel_before_pressing_book(
    shop: SandboxCarrier, quill: Sender, alice: User
) -> None:
    """A row without that service takes the cheapest; this doesn't affect the rows after it."""
    file = checked(quill, alice, GOOD, again_with("1002"))
    first, second = file.rows.all()
    assert first.quote
    assert second.quote
    last = second.quote.products[-1]
    factories.order(quill, alice, status="booked", product_code=last["code"])
    Quote.objects.filter(pk=first.quote.pk).update(
        products=[offer for offer in first.quote.products if offer["code"] != last["code"]]
    )
    submitting.begin(file, press(alice, rule="last"))
    work_off(file)
    codes = list(file.rows.values_list("order__product_code", flat=True))
    assert codes[0] != last["code"]
    assert codes[1] == last["code"]


def test_an_order_belongs_to_the_person_who_pressed_book(shop: SandboxCarrier, quill: Sender, alice: User) -> None:
    colleague = factories.user("carol@quill.example")
    factories.member(quill, colleague)
    file = checked(quill, alice, GOOD)
    submitting.begin(file, press(colleague))
    alice.is_active = False
    alice.save()
    work_off(file)
    assert (Order.objects.get().made_by, Order.objects.get().status) == (colleague, "booked")


def test_two_imports_of_one_file_book_each_order_number_once(shop: SandboxCarrier, quill: Sender, alice: User) -> None:
    """Both are checked before either is booked."""
    first, second = checked(quill, alice, GOOD), checked(quill, alice, GOOD)
    submitting.begin(first, press(alice))
    assert submitting.begin(second, press(alice)) == 0
    work_off(first)
    work_off(second)
    assert len(shop.ledger("booked")) == 1
    assert second.rows.get().problems == {"": ["Your order number 1001 waits to be booked, from orders.csv."]}


def test_an_order_number_booked_by_hand_meanwhile_is_left_out(shop: SandboxCarrier, quill: Sender, alice: User) -> None:
    file = checked(quill, alice, GOOD)
    submitting.begin(file, press(alice))
    factories.order(quill, alice, status="booked", customer_reference="1001")
    work_off(file)
    assert states(file) == ["skipped"]
    assert shop.ledger("booked") == []


def test_an_order_number_booked_by_hand_while_its_row_waits_for_the_carrier_is_left_out(
    shop: SandboxCarrier, quill: Sender, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A row may wait ten seconds for a short queue."""
    file = checked(quill, alice, GOOD)
    submitting.begin(file, press(alice))

    def wait(account: CarrierAccount) -> None:
        factories.order(quill, alice, status="booked", customer_reference="1001")

    monkeypatch.setattr(turns, "wait_for_short_queue", wait)
    work_off(file)
    assert (states(file), Order.objects.count()) == (["skipped"], 1)


def test_a_row_that_a_slower_worker_booked_meanwhile_gets_that_order(
    shop: SandboxCarrier, quill: Sender, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its order number is taken by its own order."""
    file = checked(quill, alice, GOOD)
    submitting.begin(file, press(alice))
    row = file.rows.get()

    def wait(account: CarrierAccount) -> None:
        bookings.submit(
            quote=row.quote, code=row.product_code, by=alice, form_token=row.token, pickup_date=None, now=timezone.now()
        )

    monkeypatch.setattr(turns, "wait_for_short_queue", wait)
    work_off(file)
    assert file.rows.get().order == Order.objects.get()


def test_a_cancelled_order_or_another_accounts_does_not_block_its_number(
    shop: SandboxCarrier, quill: Sender, alice: User, bob: User
) -> None:
    factories.order(quill, alice, status="cancelled", customer_reference="1001")
    factories.order(bob.membership.sender, bob, status="booked", customer_reference="1001")
    file = checked(quill, alice, GOOD)
    assert states(file) == ["ready"]
    book(file)
    assert (states(file), len(shop.ledger("booked"))) == (["booked"], 1)


def test_a_pickup_day_applies_only_to_pickups(shop: SandboxCarrier, quill: Sender, alice: User) -> None:
    file = checked(quill, alice, GOOD, again_with("1002"))
    (dropped, picked_up), day = file.rows.all(), timezone.localdate() + dt.timedelta(days=7)
    offers = {offer["first_mile"]: offer for offer in dropped.quote.products}
    for row, way in ((dropped, "drop-off"), (picked_up, "pickup")):
        row.quote.products = [offers[way]]
        row.quote.save()
    submitting.begin(file, submitting.Press("cheapest", alice, timezone.now(), pickup_date=day))
    assert list(file.rows.values_list("pickup_date", flat=True)) == [None, day]


def test_one_order_number_for_all_rows_is_ignored(shop: SandboxCarrier, quill: Sender, alice: User) -> None:
    file = taken(quill, alice, GOOD.replace("1001", ""), GOOD.replace("1001", ""))
    checking.begin(file, file.columns, {"customer_reference": "Spring market"}, timezone.now())
    file.refresh_from_db()
    work_off(file)
    book(file)
    assert states(file) == ["booked", "booked"]
    assert Order.objects.filter(customer_reference="Spring market").count() == 2


def test_only_the_rows_the_page_showed_are_booked(shop: SandboxCarrier, quill: Sender, alice: User) -> None:
    file = checked(quill, alice, GOOD, again_with("1002"), again_with("1003"))
    quotes = list(file.rows.values_list("quote", flat=True))
    shown = submitting.Press("cheapest", alice, timezone.now(), seen=submitting.Seen(rows=2, newest=quotes[1]))
    late = submitting.Press("cheapest", alice, timezone.now(), seen=submitting.Seen(rows=1, newest=quotes[1]))
    with pytest.raises(submitting.MoreIsReady):
        submitting.begin(file, late)
    assert states(file) == ["ready"] * 3
    assert submitting.begin(file, shown) == 2
    assert states(file) == ["owed", "owed", "ready"]


def test_a_row_checked_again_since_the_page_loaded_waits_for_another_click(
    shop: SandboxCarrier, quill: Sender, alice: User
) -> None:
    file = checked(quill, alice, GOOD)
    row = file.rows.get()
    seen = submitting.Seen(rows=1, newest=row.quote_id or 0)
    assert checking.schedule_check(row, {"weight_kg": "9"}, timezone.now())
    work_off(file)
    assert submitting.begin(file, submitting.Press("cheapest", alice, timezone.now(), seen=seen)) == 0
    assert states(file) == ["ready"]


def test_a_row_edited_while_it_is_booked_stays_as_it_was(shop: SandboxCarrier, quill: Sender, alice: User) -> None:
    file = checked(quill, alice, GOOD)
    as_read = file.rows.get()
    submitting.begin(file, press(alice))
    assert not checking.schedule_check(as_read, {"weight_kg": "9"}, timezone.now())
    work_off(file)
    assert Order.objects.get().entered["weight"] == "2.4"


def test_a_correction_from_a_page_read_earlier_keeps_the_service_chosen_since(
    shop: SandboxCarrier, quill: Sender, alice: User
) -> None:
    file = checked(quill, alice, GOOD)
    as_read = file.rows.get()
    chosen_service.choose(file, {as_read.pk: "EXPRESS-PICKUP"})
    assert not checking.schedule_check(as_read, {"weight_kg": "9"}, timezone.now())
    assert checking.schedule_check(file.rows.get(), {"weight_kg": "9"}, timezone.now())
    assert file.rows.get().corrected == {"service": "EXPRESS-PICKUP", "weight_kg": "9"}


def test_a_correction_from_a_page_read_earlier_keeps_one_checked_since(
    shop: SandboxCarrier, quill: Sender, alice: User
) -> None:
    file = checked(quill, alice, GOOD.replace("priya@example.net", "priya@").replace("4 Sample Street", ""))
    as_read = file.rows.get()
    assert checking.schedule_check(file.rows.get(), {"receiver_email": "p@example.net"}, timezone.now())
    work_off(file)
    assert states(file) == ["fix"]
    assert not checking.schedule_check(as_read, {"receiver_line1": "9 Other Road"}, timezone.now())
    assert file.rows.get().corrected == {"receiver_email": "p@example.net"}


@pytest.mark.parametrize("state", ["owed", "booked"])
def test_a_queued_or_booked_row_cannot_be_corrected(quill: Sender, alice: User, state: str) -> None:
    row = factories.import_row(quill, alice, state=state)
    assert not checking.schedule_check(row, {"weight_kg": "9"}, timezone.now())
    row.refresh_from_db()
    assert (row.state, row.corrected) == (state, {})


def test_an_order_made_late_is_not_lost(shop: SandboxCarrier, quill: Sender, alice: User) -> None:
    """Its worker was slower than its lease, and another worker gave up on the row."""
    file = checked(quill, alice, GOOD)
    submitting.begin(file, press(alice))
    slow = file.rows.get()
    assert slow.claim()
    ImportRow.objects.update(state="failed", due_at=None, problems={"": ["Nothing was booked."]})
    slow.hand_over(factories.order(quill, alice, status="booked", form_token=slow.token))
    assert states(file) == ["booked"]
    assert list(progress.failed_sheet(file)[1]) == []


def test_matching_again_keeps_rows_left_out_by_hand(shop: SandboxCarrier, quill: Sender, alice: User) -> None:
    file = checked(quill, alice, GOOD, again_with("1002"))
    first = file.rows.first()
    assert first
    assert first.finish(state="skipped", problems=checking.LEFT_OUT)
    checking.begin(file, file.columns, {}, timezone.now())
    work_off(file)
    assert states(file) == ["skipped", "ready"]


def test_columns_are_fixed_once_a_row_is_being_booked(shop: SandboxCarrier, quill: Sender, alice: User) -> None:
    file = checked(quill, alice, GOOD)
    submitting.begin(file, press(alice))
    assert not checking.begin(file, {"receiver_name": 3}, {}, timezone.now())
    file.refresh_from_db()
    assert (file.state, file.columns["receiver_name"]) == ("booking", 0)


def test_a_row_is_checked_while_its_import_is_paused(shop: SandboxCarrier, quill: Sender, alice: User) -> None:
    file = taken(quill, alice, GOOD)
    importing.pause(file, timezone.now())
    work_off(file)
    assert states(file) == ["ready"]


def test_a_short_row_with_a_corrected_order_number_is_checked(shop: SandboxCarrier, quill: Sender, alice: User) -> None:
    file = checked(quill, alice, GOOD, GOOD.removesuffix(",1001"))
    short = file.rows.get(number=3)
    assert "10 cells; the first line has 11" in short.problems[""][0]
    assert checking.schedule_check(short, {"customer_reference": "1002"}, timezone.now())
    work_off(file)
    assert states(file) == ["ready", "ready"]


def test_a_corrected_order_number_is_compared_as_corrected(shop: SandboxCarrier, quill: Sender, alice: User) -> None:
    file = checked(quill, alice, GOOD, GOOD)
    duplicate = file.rows.get(number=3)
    assert duplicate.state == "skipped"
    assert checking.schedule_check(duplicate, {"customer_reference": "1002"}, timezone.now())
    work_off(file)
    assert states(file) == ["ready", "ready"]


def come_back(file: Import, sender: Sender, by: User) -> Import:
    """Download the failed rows and import them as they are."""
    heads, rows = progress.failed_sheet(file)
    data = b"".join(sheets.stream_sheet("failed.csv", heads, rows).streaming_content)
    now = timezone.now()
    again = uploads.store_upload(reading.read(data), name="failed.csv", sender=sender, by=by, now=now)
    work_off(again)
    return again


def test_a_row_with_an_extra_cell_comes_back_unchanged(shop: SandboxCarrier, quill: Sender, alice: User) -> None:
    again = come_back(checked(quill, alice, GOOD + ",shifted"), quill, alice)
    assert states(again) == ["fix"]
    assert "13 cells; the first line has 12" in again.rows.get().problems[""][0]


def test_a_corrected_weight_comes_back_in_the_files_own_unit(shop: SandboxCarrier, quill: Sender, alice: User) -> None:
    file = taken(quill, alice, GOOD.replace("2.4", "0").replace("3056", "9999"))
    checking.begin(file, file.columns, {"weight_unit": "g"}, timezone.now())
    file.refresh_from_db()
    work_off(file)
    assert checking.schedule_check(file.rows.get(), {"weight_kg": "2.4"}, timezone.now())
    work_off(file)
    [cells] = progress.failed_sheet(file)[1]
    assert cells[6] == "2400"


def test_a_corrected_name_comes_back_once(shop: SandboxCarrier, quill: Sender, alice: User) -> None:
    file = taken(quill, alice, GOOD.replace("3056", "9999").replace("Priya Nair", "Priya"))
    columns_of = {**file.columns, "receiver_name": 0, "receiver_last_name": 10}
    del columns_of["customer_reference"]
    checking.begin(file, columns_of, {}, timezone.now())
    file.refresh_from_db()
    work_off(file)
    assert checking.schedule_check(file.rows.get(), {"receiver_name": "Priya Nair"}, timezone.now())
    work_off(file)
    again = come_back(file, quill, alice)
    assert row_values.values(again.rows.get(), again)["receiver_name"] == "Priya Nair"


def test_a_partly_booked_file_imported_again_says_how_much_was_booked(
    shop: SandboxCarrier, quill: Sender, alice: User
) -> None:
    book(checked(quill, alice, GOOD, GOOD.replace("3056", "9999").replace("1001", "1002")))
    nothing_booked = checked(quill, alice, GOOD, GOOD.replace("3056", "9999").replace("1001", "1002"))
    before = uploads.find_booked_copy(nothing_booked)
    assert before is not None
    assert (before.pk < nothing_booked.pk, before.booked_rows) == (True, 1)


def test_a_column_called_name_is_the_receivers_except_for_one_shop() -> None:
    fields = [columns.Field(name, "", False) for name in ("receiver_name", "customer_reference")]
    assert guessing.guess_columns(["Name", "Suburb"], fields) == {"receiver_name": 0}
    assert guessing.guess_columns(["Name", "Shipping Name"], fields) == {"receiver_name": 1, "customer_reference": 0}


def test_a_two_line_cell_is_one_line_on_the_label(shop: SandboxCarrier, quill: Sender, alice: User) -> None:
    file = checked(quill, alice, GOOD.replace("4 Sample Street", '"Unit 3\n4 Sample Street"'))
    row = file.rows.get()
    assert row.quote
    assert row.quote.details["receiver"]["line1"] == "Unit 3, 4 Sample Street"


def test_a_number_shortened_by_a_spreadsheet_is_not_an_order_number(
    shop: SandboxCarrier, quill: Sender, alice: User
) -> None:
    file = checked(quill, alice, again_with("1.00123E+11"))
    assert file.rows.get().problems == {
        "customer_reference": ["A spreadsheet shortened this number. Write it in full."]
    }


def test_a_size_for_all_rows_fills_in_what_the_file_lacks(shop: SandboxCarrier, quill: Sender, alice: User) -> None:
    size = factories.size(quill, name="Shoebox")
    bare = GOOD.replace("2.4,32,24,11", ",,,")
    file = taken(quill, alice, bare)
    checking.begin(file, file.columns, {"size": str(size.uuid)}, timezone.now())
    file.refresh_from_db()
    work_off(file)
    assert states(file) == ["ready"]
    again = uploads.store_upload(
        reading.read(sheet(bare.replace("1001", "1002"))), name="next.csv", sender=quill, by=alice,
        now=timezone.now(),
    )  # fmt: skip
    assert again.constants == {"size": str(size.uuid)}


def test_same_as_last_time_means_what_the_page_showed(shop: SandboxCarrier, quill: Sender, alice: User) -> None:
    """A colleague books another service between loading the page and pressing."""
    file = checked(quill, alice, GOOD)
    quote = file.rows.get().quote
    assert quote
    meant, other = quote.products[0]["code"], quote.products[-1]["code"]
    factories.order(quill, alice, status="booked", product_code=other)
    submitting.begin(file, submitting.Press("last", alice, timezone.now(), last=meant))
    assert file.rows.get().product_code == meant


def test_one_click_prices_rows_of_another_carrier_account_again(
    quill: Sender, alice: User, carrier: SandboxCarrier
) -> None:
    now, file = timezone.now(), factories.import_file(quill, alice)
    quote = factories.quote(quill, alice)
    Quote.objects.update(account=older.unnamed())
    due = {"state": "owed", "quote": quote, "product_code": "STANDARD-PICKUP", "booked_by": alice, "due_at": now}
    rows = [factories.import_row(quill, alice, file=file, **due) for _ in range(2)]
    for row in rows:
        importing.book_row(row.pk)
    assert not Order.objects.exists()
    found = {text for row in file.rows.all() for text in row.problems[""]}
    assert found == {"We send with another carrier now: “Try again” asks for its prices. Nothing was booked."}
    assert importing.retry(file, now) == 2


@pytest.mark.parametrize("status", Status.values)
def test_a_queued_row_is_counted_once_whatever_its_orders_status(quill: Sender, alice: User, status: str) -> None:
    made = factories.order(quill, alice, status=status)
    row = factories.import_row(quill, alice, state="booked", problems={}, order=made)
    counts = progress.counts(row.file)
    assert (counts.rows, counts.submitted) == (1, 1)
    failed_rows = status in {"rejected", "not_booked"}
    assert counts.failed == len(progress.failed_rows(row.file)) == failed_rows


def test_a_row_without_measures_takes_the_chosen_sizes_and_others_keep_their_own(quill: Sender, alice: User) -> None:
    size = factories.size(quill, weight=Decimal(9), length=Decimal(90))
    row = factories.import_row(quill, alice)
    row.cells = [*row.cells[:6], "2.4", "", "", ""]
    typed = row_values.values(row, row.file, size)
    assert [typed[name] for name in ("weight_kg", "length_cm")] == ["2.4", "90"]


def test_a_missing_side_is_not_taken_from_the_chosen_size(quill: Sender, alice: User) -> None:
    size = factories.size(quill, length=Decimal(90))
    row = factories.import_row(quill, alice)
    row.cells = [*row.cells[:7], "", *row.cells[8:]]
    typed = row_values.values(row, row.file, size)
    assert (typed["width_cm"], "length_cm" in typed) == ("24", False)


@pytest.mark.parametrize("field", ["printed", "cancelled", "other file", ""])
def test_labels_to_print_are_this_files_booked_and_unprinted_ones(quill: Sender, alice: User, field: str) -> None:
    now, file = timezone.now(), factories.import_file(quill, alice)
    orders = [factories.order(quill, alice, status="booked") for _ in range(2)]
    odd = factories.order(
        quill,
        alice,
        status="cancelled" if field == "cancelled" else "booked",
        printed_at=now if field == "printed" else None,
    )
    for order in (orders[0], odd, orders[1]):
        of = factories.import_file(quill, alice) if order == odd and field == "other file" else file
        factories.import_row(quill, alice, file=of, state="booked", order=order, problems={})
    wanted = [orders[0].uuid, *([] if field else [odd.uuid]), orders[1].uuid]
    assert progress.to_print(file, 10) == wanted
    assert progress.to_print(file, 1) == wanted[:1]


@pytest.mark.parametrize(
    ("ago", "is_written"), [(None, True), (dt.timedelta(seconds=10), False), (dt.timedelta(seconds=10.1), True)]
)
def test_viewing_an_import_is_recorded_every_ten_seconds(
    quill: Sender, alice: User, ago: dt.timedelta | None, is_written: bool
) -> None:
    now = timezone.now()
    before = now - ago if ago else None
    file, other = (factories.import_file(quill, alice, looked_at=before) for _ in range(2))
    progress.note_watched(file, now)
    file.refresh_from_db()
    other.refresh_from_db()
    assert (file.looked_at, other.looked_at) == (now if is_written else before, before)


@pytest.mark.parametrize(("hold", "is_resumed"), [("", True), ("We look at it.", False)])
def test_an_import_on_hold_by_an_operator_is_not_resumed(
    quill: Sender, alice: User, hold: str, is_resumed: bool
) -> None:
    paused = timezone.now()
    file, other = (factories.import_file(quill, alice, paused_at=paused, hold=hold) for _ in range(2))
    assert importing.resume(file) is is_resumed
    file.refresh_from_db()
    other.refresh_from_db()
    assert (file.paused_at, other.paused_at) == (None if is_resumed else paused, paused)


def test_retry_takes_only_this_files_failed_rows_without_an_order(quill: Sender, alice: User) -> None:
    now, file = timezone.now(), factories.import_file(quill, alice)
    failed = factories.import_row(quill, alice, file=file, state="failed", quote=factories.quote(quill, alice), tries=4)
    order = factories.order(quill, alice, status="rejected")
    factories.import_row(quill, alice, file=file, state="failed", order=order)
    factories.import_row(quill, alice, file=file)
    factories.import_row(quill, alice, state="failed")
    assert importing.retry(file, now) == 1
    failed.refresh_from_db()
    assert (failed.state, failed.due_at, failed.problems, failed.quote, failed.tries) == (
        "new", now, {}, None, 0,
    )  # fmt: skip
    assert states(file) == ["new", "failed", "fix"]


@pytest.mark.parametrize(
    ("status", "said"), [("booked", "is booked already"), ("conflict", "has a parcel already"), ("rejected", "")]
)
def test_a_used_order_number_names_the_accounts_own_paid_order(
    quill: Sender, alice: User, bob: User, status: str, said: str
) -> None:
    theirs = bob.membership.sender
    factories.order(theirs, bob, status="booked", customer_reference="1001")
    factories.order(quill, alice, status="cancelled", customer_reference="1001")
    factories.order(quill, alice, status=status, customer_reference="1001")
    row = factories.import_row(quill, alice)
    found = duplicates.find_booked_order(row, "1001")
    assert found.startswith(f"Your order number 1001 {said}") if said else found == ""
    row.corrected = {duplicates.ANYWAY: "yes"}
    assert duplicates.find_booked_order(row, "1001") == ""


def test_rows_without_an_order_number_or_allowed_by_hand_are_never_left_out(quill: Sender, alice: User) -> None:
    file, now = factories.import_file(quill, alice), timezone.now()
    for reference, corrected in (("", {}), ("", {}), ("7", {}), ("7", {}), ("7", {duplicates.ANYWAY: "yes"})):
        factories.import_row(
            quill, alice, file=file, state="ready", reference=reference, corrected=corrected, due_at=now
        )
    duplicates.leave_out(file, ["ready"])
    assert states(file) == ["ready", "ready", "ready", "skipped", "ready"]
    left = file.rows.get(state="skipped")
    assert (left.problems, left.due_at) == ({"": ["Your order number 7 is on row 4 too."]}, None)


@pytest.mark.parametrize(
    ("state", "code", "service"),
    [("ready", "DEAR", "Cheap"), ("warning", "", "Cheap"), ("owed", "DEAR", "Dear"), ("booked", "DEAR", "Dear")],
)
def test_a_queued_row_is_listed_with_its_chosen_offer_and_others_by_the_rule(
    quill: Sender, alice: User, state: str, code: str, service: str
) -> None:
    quote = factories.quote(quill, alice)
    offers = (("CHEAP", "Cheap", "5.00"), ("DEAR", "Dear", "9.00"))
    quote.products = [{**factories.OFFER, "code": code, "name": name, "amount": amount}
                      for code, name, amount in offers]  # fmt: skip
    row = factories.import_row(quill, alice, state=state, quote=quote, product_code=code, problems={})
    [line] = listing.lines([row], "cheapest", "")
    price = {"Cheap": Decimal("5.00"), "Dear": Decimal("9.00")}[service]
    assert (line.service, line.price, line.currency) == (service, price, "AUD")


def test_a_row_without_a_quote_shows_no_price_and_one_with_an_order_shows_the_orders(
    quill: Sender, alice: User
) -> None:
    bare = factories.import_row(quill, alice)
    order = factories.order(quill, alice, status="booked")
    made = factories.import_row(quill, alice, state="booked", order=order, problems={})
    first, second = listing.lines([bare, made], "cheapest", "")
    assert (first.service, first.price, first.currency) == ("", None, "")
    assert (second.service, second.price, second.currency) == (order.product_name, order.total, "AUD")


@pytest.mark.parametrize(("rows", "number", "listed", "has_more"), [
    (50, 1, 50, False), (51, 1, 50, True), (51, 2, 1, False), (0, 1, 0, False),
])  # fmt: skip
def test_a_page_lists_fifty_rows_in_the_files_order(
    quill: Sender, alice: User, rows: int, number: int, listed: int, has_more: bool
) -> None:
    file = factories.import_file(quill, alice)
    ImportRow.objects.bulk_create(ImportRow(file=file, number=at + 2, cells=[]) for at in range(rows))
    page = listing.page(file.rows.all(), "cheapest", "", dearest_of=None, number=number)
    first = 2 + 50 * (number - 1)
    assert [line.row.number for line in page.lines] == list(range(first, first + listed))
    assert (page.has_more, page.before, page.after) == (has_more, number - 1, number + 1)


@pytest.mark.parametrize("problems", [{}, {"": ["Tell us first where your parcels are picked up."]}])
def test_a_correction_of_a_row_without_errors_applies_to_that_row_alone(
    quill: Sender, alice: User, problems: dict[str, list[str]]
) -> None:
    file = factories.import_file(quill, alice)
    first, second = (factories.import_row(quill, alice, file=file, problems=problems) for _ in range(2))
    assert row_form.save(file, first, {"receiver_name": "Wren"}, alike=True, now=timezone.now()) == 1
    second.refresh_from_db()
    assert (second.state, second.corrected) == ("fix", {})


def test_only_rows_to_fix_take_the_correction_of_a_similar_row(quill: Sender, alice: User) -> None:
    file = factories.import_file(quill, alice)
    first = factories.import_row(quill, alice, file=file)
    for state in ("skipped", "ready", "fix"):
        factories.import_row(quill, alice, file=file, state=state)
    factories.import_row(quill, alice)  # from another file
    assert row_form.save(file, first, {"weight_kg": "2"}, alike=True, now=timezone.now()) == 2
    assert states(file) == ["new", "skipped", "ready", "new"]


def test_a_number_typed_into_a_blank_cell_matches_no_order_without_one(quill: Sender, alice: User) -> None:
    factories.order(quill, alice, status="booked", customer_reference="")
    file = factories.import_file(quill, alice, header=["Order"], columns={"customer_reference": 0})
    row = ImportRow(file=file, cells=[""], corrected={"customer_reference": "X9"})
    assert duplicates.find_booked_order(row, "X9") == ""
