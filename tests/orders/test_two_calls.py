"""A carrier whose booking takes two calls: the first is free, and only the second is binding and paid."""

import json
import uuid
from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import partial
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from orders.booking import answers, bookings, preparing, recording, resolving, verdict
from orders.calling import gateway
from orders.cancelling import cancels
from orders.models import CarrierAccount, Order
from orders.quoting import asking
from shipping_portal.accounts.models import Sender, User
from shipping_portal.jobs.models import DeadLetter
from tests import factories
from tests.sandbox_carrier import SandboxCarrier
from tests.two_calls import TwoCallCarrier, operation_of
from tracking import polling
from tracking.models import Parcel, Poll, TrackingEvent

pytestmark = pytest.mark.django_db
Submit = Callable[[], Order]


@pytest.fixture
def two_calls(settings: Any) -> Iterator[TwoCallCarrier]:
    settings.CARRIER_CLIENT = "tests.two_calls.TwoCalls"
    with TwoCallCarrier() as it:
        settings.CARRIER_BASE_URL = it.url
        yield it


@pytest.fixture
def pressed(two_calls: TwoCallCarrier, quill: Sender, alice: User) -> Submit:
    """`pressed()` is an order Alice has just pressed Book for; nothing is sent yet."""

    return partial(press, quill, alice)


def press(quill: Sender, alice: User) -> Order:
    now, token = timezone.now(), uuid.uuid4()
    quote = asking.ask_for_prices(quill, factories.details(quill), by=alice, now=now)
    code = quote.products[0]["code"]
    return bookings.submit(quote=quote, code=code, by=alice, form_token=token, pickup_date=None, now=now)


def work(order: Order, times: int = 1) -> Order:
    """Do whatever is due for this order, as if its time had come."""
    for _ in range(times):
        Order.objects.filter(pk=order.pk, due_at__isnull=False).update(due_at=timezone.now())
        bookings.process_booking(order.pk)
        resolving.resolve_due_order(order.pk)
    order.refresh_from_db()
    return order


def as_class(settings: Any, name: str) -> None:
    settings.CARRIER_CLIENT = f"tests.two_calls.{name}"


def test_a_prepared_draft_is_bought(pressed: Submit, two_calls: TwoCallCarrier) -> None:
    order = work(pressed())
    assert (order.status, order.carrier_reference) == ("booked", "SDRAFT0001")
    assert (two_calls.drafts, two_calls.bought) == (["draft-1"], ["draft-1"])
    assert b'"draft": "draft-1"' in bytes(order.attempts.get().body)
    assert list(order.calls.order_by("pk").values_list("operation", flat=True)) == ["prepare", "book"]


def test_a_refused_first_call_shows_at_its_field(pressed: Submit, two_calls: TwoCallCarrier) -> None:
    words = "House number is missing"
    two_calls.troubles["prepare"] = [(422, {"messages": {"receiver": {"address": {"address_line1": [words]}}}})]
    order = work(pressed())
    assert (order.status, list(order.problem["fields"])) == ("rejected", ["receiver_line1"])
    assert words in order.problem["text"]
    assert (order.attempts.count(), two_calls.bought) == (0, [])


def test_a_fault_of_ours_in_the_first_call_is_shown_to_the_operator(pressed: Submit, two_calls: TwoCallCarrier) -> None:
    two_calls.troubles["prepare"] = [(422, {"messages": {"partner_id": ["is missing"]}})]
    assert work(pressed()).problem["kind"] == "ours"
    assert "partner_id" in CarrierAccount.objects.get().fault


@pytest.mark.parametrize("trouble", ["lost", "never came", (500, {}), (429, {})])
def test_a_lost_first_call_is_made_again_and_bought_once(
    pressed: Submit, two_calls: TwoCallCarrier, trouble: Any
) -> None:
    two_calls.troubles["prepare"] = [trouble]
    order = work(pressed())
    assert (order.status, order.attempts.count()) == ("booking", 0)
    assert work(order).status == "booked"
    assert len(two_calls.bought) == 1


@pytest.mark.parametrize("status", [401, 402, 403, 412])
def test_a_refused_account_stops_all_bookings_until_one_probe_goes_through(
    pressed: Submit, two_calls: TwoCallCarrier, status: int
) -> None:
    orders = [pressed(), pressed(), pressed()]
    two_calls.troubles["prepare"] = [(status, {"error": "wallet empty"})]
    for order in orders:
        work(order, times=2)
    assert gateway.current_account().stopped_at
    assert [path for _, path in two_calls.requests].count("/drafts") == 1
    assert {order.status for order in orders} == {"booking"}
    assert DeadLetter.objects.count() == 0
    assert Order.objects.filter(failures__gt=1).count() == 0

    CarrierAccount.objects.update(probe_due_at=timezone.now())
    assert [work(order).status for order in orders] == ["booked"] * 3
    assert gateway.current_account().stopped_at is None
    assert len(two_calls.bought) == 3


def test_a_dearer_first_call_goes_back_to_the_sender_and_needs_consent(
    pressed: Submit, two_calls: TwoCallCarrier, alice: User
) -> None:
    order = pressed()
    two_calls.surcharge = Decimal("5.00")
    work(order)
    assert (order.status, order.problem["kind"]) == ("draft", "price_rose")
    assert (order.problem["old"], order.problem["new"]) == ("12.08", "17.08")
    assert (order.attempts.count(), two_calls.bought) == (0, [])

    bookings.confirm(order, by=alice, now=timezone.now())
    assert work(order).status == "booked"
    assert (order.price, order.charged_price, order.product_name) == (Decimal("17.08"), Decimal("17.08"), "Standard")


def test_a_cheaper_first_call_asks_nothing(pressed: Submit, two_calls: TwoCallCarrier) -> None:
    order = pressed()
    two_calls.surcharge = Decimal("-2.00")
    work(order)
    assert (order.status, order.price, order.charged_price) == ("booked", Decimal("12.08"), Decimal("10.08"))


def test_a_sender_suspended_during_the_first_call_buys_nothing(
    pressed: Submit, two_calls: TwoCallCarrier, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare = preparing.prepare

    def meanwhile(*given: Any) -> verdict.PreparedVerdict:
        found = prepare(*given)
        Sender.objects.update(suspended_at=timezone.now(), suspension="terms", suspension_text="-")
        return found

    monkeypatch.setattr(preparing, "prepare", meanwhile)
    order = work(pressed())
    assert (order.status, order.problem["kind"]) == ("draft", "suspended")
    assert (two_calls.drafts, two_calls.bought) == (["draft-1"], [])


def test_a_worker_killed_between_the_calls_costs_a_draft_and_buys_once(
    pressed: Submit, two_calls: TwoCallCarrier, monkeypatch: pytest.MonkeyPatch
) -> None:
    order = pressed()

    def killed(*_: Any) -> None:
        raise SystemExit

    with monkeypatch.context() as patch:
        patch.setattr(bookings, "_write_down", killed)
        with pytest.raises(SystemExit):
            bookings.process_booking(order.pk)
    assert (order.attempts.count(), two_calls.bought) == (0, [])
    assert work(order).status == "booked"
    assert (two_calls.drafts, two_calls.bought) == (["draft-1", "draft-2"], ["draft-2"])


# -- The second call ---------------------------------------------------------------------------------


def test_a_lost_purchase_is_found_and_bought_once(pressed: Submit, two_calls: TwoCallCarrier, settings: Any) -> None:
    as_class(settings, "LookOnly")
    two_calls.sells_once = False
    two_calls.troubles["book"] = ["lost"]
    two_calls.troubles["find"] = [(404, {"error": "too early"}), (200, None)]
    order = pressed()
    bookings.process_booking(order.pk)
    order.refresh_from_db()
    assert order.status == "unconfirmed"
    assert order.due_at
    assert work(order, times=2).status == "unconfirmed"
    assert work(order).status == "booked"
    assert (order.carrier_reference, two_calls.bought) == ("SDRAFT0001", ["draft-1"])


def test_a_purchase_that_never_arrived_is_looked_up_and_never_sent_again(
    pressed: Submit, two_calls: TwoCallCarrier, settings: Any
) -> None:
    as_class(settings, "LookOnly")
    two_calls.troubles["book"] = ["never came"]
    order = work(pressed(), times=4)
    assert order.status == "unconfirmed"
    assert order.due_at
    paths = [path for _, path in two_calls.requests]
    assert (paths.count("/drafts/draft-1/buy"), paths.count("/drafts/draft-1")) == (1, 3)


@pytest.mark.parametrize("trouble", ["lost", "never came", (500, {})])
def test_buying_the_same_draft_again_resolves_a_lost_reply(
    pressed: Submit, two_calls: TwoCallCarrier, settings: Any, trouble: Any
) -> None:
    as_class(settings, "BuyOnce")
    two_calls.troubles["book"] = [trouble]
    order = work(pressed(), times=2)
    assert (order.status, two_calls.bought) == ("booked", ["draft-1"])
    assert order.attempts.count() == 1


def test_a_carrier_class_that_can_do_neither_leaves_it_to_an_operator(
    pressed: Submit, two_calls: TwoCallCarrier
) -> None:
    two_calls.troubles["book"] = ["lost"]
    order = work(pressed(), times=3)
    assert (order.status, order.due_at, len(two_calls.bought)) == ("unconfirmed", None, 1)


@pytest.mark.parametrize("name", ["LookOnly", "BuyOnce"])
def test_an_attempt_from_a_backup_is_left_to_an_operator(
    pressed: Submit, two_calls: TwoCallCarrier, settings: Any, name: str
) -> None:
    as_class(settings, name)
    two_calls.troubles["book"] = ["lost"]
    order = pressed()
    bookings.process_booking(order.pk)
    factories.restore()
    assert work(order).status == "unconfirmed"
    assert order.due_at is None


@pytest.mark.parametrize(("name", "status"), [("LookOnly", "unconfirmed"), ("BuyOnce", "booked")])
def test_nothing_is_looked_up_after_a_week_but_a_prepared_draft_may_be_bought(
    pressed: Submit, two_calls: TwoCallCarrier, settings: Any, name: str, status: str
) -> None:
    as_class(settings, name)
    two_calls.troubles["book"] = ["lost"]
    order = pressed()
    bookings.process_booking(order.pk)
    order.attempts.update(sent_at=timezone.now() - resolving.LOOK_FOR)
    assert work(order).status == status
    assert order.due_at is None


@pytest.mark.parametrize(
    ("name", "looks", "status"),
    [
        ("TwoCalls", [{"state": "QUEUED", "order_id": "draft-1"}, {"state": "ERROR", "error": "no"}], "rejected"),
        ("TwoCalls", [{"state": "QUEUED", "order_id": "draft-1"}], "booked"),
        ("TwoCalls", [{"state": "Pickup", "order_id": "draft-2", "carrier_reference": "SOTHER01"}], "unconfirmed"),
        ("BuyOnce", [{"state": "QUEUED", "order_id": "draft-1"}], "booked"),
        ("LookOnly", [{"state": "QUEUED", "order_id": "draft-1"}, {"state": "ERROR", "error": "no"}], "rejected"),
    ],
)
def test_an_undecided_purchase_is_checked_until_the_carrier_decides(
    pressed: Submit, two_calls: TwoCallCarrier, contract: Callable[[str], None], settings: Any,
    name: str, looks: list[dict[str, str]], status: str,
) -> None:  # fmt: skip
    as_class(settings, name)
    contract('refused_states = ["ERROR"]\npending_states = ["QUEUED"]\n')
    two_calls.troubles["book"] = [(201, {"state": "QUEUED", "order_id": "draft-1"})]
    two_calls.bought.append("draft-1")
    two_calls.troubles["find" if name == "LookOnly" else "view"] = [(200, look) for look in looks]
    order = pressed()
    bookings.process_booking(order.pk)
    order.refresh_from_db()
    assert (order.status, order.problem["text"]) == ("unconfirmed", answers.PENDING)
    work(order, times=len(looks))
    assert order.status == ("unconfirmed" if status == "booked" else status)
    if status != "unconfirmed":
        assert work(order).status == status
    assert [path for _, path in two_calls.requests].count("/drafts/draft-1/buy") == 1


@pytest.mark.parametrize(
    ("toml", "said", "is_demo", "is_stopped"),
    [
        ('test_field = "mode"\ntest_word = "test"\n', {"mode": "Test"}, False, True),
        ('test_field = "mode"\ntest_word = "test"\n', {"mode": "production"}, False, False),
        ('test_field = "test"\n', {"test": True}, False, True),
        ('test_field = "test"\n', {"test": False}, False, False),
        ('test_field = "test"\n', {}, False, False),
        ('test_field = "test"\n', {"test": True}, True, False),
        ("", {"mode": "test", "test": True}, False, False),
    ],
)
def test_a_test_mode_booking_stops_the_account(
    pressed: Submit, two_calls: TwoCallCarrier, contract: Callable[[str], None], settings: Any,
    toml: str, said: dict[str, Any], is_demo: bool, is_stopped: bool, alice: User,
) -> None:  # fmt: skip
    contract(toml)
    settings.DEMO = is_demo
    order = {"order_id": "draft-1", "carrier_reference": "SDRAFT0001", "state": "Pickup", "labels": []}
    two_calls.troubles["book"] = [(201, order | said)]
    booked = work(pressed())
    assert booked.status == "booked"
    browser = Client()
    browser.force_login(alice)
    page = browser.get(reverse("parcel", args=[booked.uuid])).content
    assert (b"made with a test key" in page) is is_stopped
    assert {label.is_worthless for label in booked.labels.all()} == {is_stopped}
    account = gateway.current_account()
    assert (bool(account.stopped_at), account.stopped_reason) == (is_stopped, recording.ONLY_A_TEST * is_stopped)


# -- Accounts of different classes -------------------------------------------------------------------


def test_100_parcels_on_their_way_are_each_polled_with_their_own_carriers_calls(
    carrier: SandboxCarrier, contract: Callable[[str], None], settings: Any, quill: Sender, alice: User
) -> None:
    contract("tracking_per_second = 1000.0\nrequests_per_second = 1000.0\n")
    with TwoCallCarrier() as new:
        booked, names = {}, {}
        booked["old"] = work(press(quill, alice))
        names["old"] = under_way(quill, alice, "OLDER")
        parts = {part: getattr(settings, f"CARRIER_{part}") for part in settings.OF_A_CARRIER}
        settings.OLDER_CARRIERS = {"OLD": parts | {"WEBHOOK_SECRETS": []}}
        settings.CARRIER_BASE_URL, settings.CARRIER_CLIENT = new.url, "tests.two_calls.TwoCalls"
        booked["new"] = work(press(quill, alice))
        names["new"] = under_way(quill, alice, "NEWER")
        for name in names["old"]:
            carrier.foreign(name)
            carrier.scan(name, "In Transit", push=False)
        for name in names["new"]:
            new.scans[name] = ["Out for Delivery"]
        for parcel in Parcel.objects.all():
            polling.poll_due_parcel(parcel.pk)
        for order in booked.values():
            cancels.ask_to_cancel(order, by=alice, why="not sending it", now=timezone.now())
            cancels.process_cancel(order.pk)

        assert set(Order.objects.filter(pk__in=[order.pk for order in booked.values()]).values_list("status")) == {
            ("cancelled",)
        }
        followed = Parcel.objects.exclude(order__in=booked.values())
        progress = dict(followed.values_list("reference", "progress"))
        assert progress == dict.fromkeys(names["old"], "in_transit") | dict.fromkeys(names["new"], "out_for_delivery")
        assert TrackingEvent.objects.count() == 100
        assert {operation_of(method, path) for method, path in new.requests} == {
            *("quote", "prepare", "book", "track", "cancel")
        }
        asked = {(each["method"], each["path"].split("/")[1]) for each in carrier.requests()}
        assert asked == {("GET", "products"), ("POST", "orders"), ("GET", "tracking"), ("DELETE", "orders")}
        heard = json.dumps(carrier.requests())
        assert [name for name in names["new"] if name in heard] == []
        assert [name for name in names["old"] if name in str(new.requests)] == []


def under_way(quill: Sender, alice: User, prefix: str) -> list[str]:
    """Fifty parcels of the account that takes new orders, each due for a poll."""
    made = factories.order(quill, alice, status="booked", carrier_reference=f"S{prefix}50")
    copies = [factories.copy_of(made, number) for number in range(49)]
    for number, copy in enumerate(copies):
        copy.carrier_reference = f"S{prefix}{number}"
    orders = [made, *Order.objects.bulk_create(copies)]
    parcels = Parcel.objects.bulk_create(
        Parcel(reference=order.carrier_reference, order=order, account=order.account, created_at=timezone.now())
        for order in orders
    )
    Poll.objects.bulk_create(Poll(parcel=parcel, due_at=timezone.now()) for parcel in parcels)
    return [parcel.reference for parcel in parcels]
