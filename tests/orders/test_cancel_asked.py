"""A cancellation that is only a request: the carrier notes it and decides about the refund within days."""

import datetime as dt
import uuid
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from orders.booking import bookings
from orders.cancelling import cancel_outcomes, cancels, replacing
from orders.labels import fetching, printing
from orders.models import Label, LabelBytes, Order, Replacement
from orders.quoting import asking
from orders.restoring import comparing
from shipping_portal.accounts.models import Notification, Sender, User
from shipping_portal.billing.pages import statements
from shipping_portal.billing.reports.kinds import may_be_cancelled
from shipping_portal.staff import queues
from tests import factories
from tests.sandbox_carrier import SandboxCarrier

pytestmark = pytest.mark.django_db
Book = Callable[..., Order]
CONTRACT = 'asked_word = "refund pending"\ncancel_refused_states = ["refund denied"]\n'


@pytest.fixture
def carrier(carrier_with: Callable[..., SandboxCarrier]) -> SandboxCarrier:
    """A carrier that notes a cancellation and decides later."""
    return carrier_with(CONTRACT)


@pytest.fixture
def asked(booked: Book, alice: User) -> Callable[[], Order]:
    """`asked()` is a booked parcel with its label; Alice has asked for a refund."""

    def ask() -> Order:
        order = booked()
        order.labels.update(is_spare=False)  # both are wanted
        for label in order.labels.all():
            fetching.fetch_due_label(label.pk)
        cancels.ask_to_cancel(order, by=alice, why="not sending it", now=timezone.now())
        return work(order)

    return ask


def work(order: Order) -> Order:
    Order.objects.filter(pk=order.pk, due_at__isnull=False).update(due_at=timezone.now())
    cancels.process_cancel(order.pk)
    order.refresh_from_db()
    return order


def cancel_calls(carrier: SandboxCarrier) -> int:
    return sum(request["method"] == "DELETE" for request in carrier.requests())


def test_a_noted_request_withholds_the_label_and_is_checked_once_a_day(asked, carrier, quill):
    order, now = asked(), timezone.now()
    assert (order.status, order.cancels.get().state, order.cancelled_at) == ("cancel_asked", "unknown", None)
    assert dt.timedelta(hours=23) < order.due_at - now <= dt.timedelta(days=1)
    assert list(printing.to_print(Order.objects.all(), today=now.date())) == []
    assert printing.label_of(order) is None
    with pytest.raises(LabelBytes.DoesNotExist):
        order.labels.first().serve(at=now)
    for _ in range(3):
        assert work(order).status == "cancel_asked"
    assert order.due_at > timezone.now() + dt.timedelta(hours=23)
    assert (cancel_calls(carrier), carrier.ledger("cancelled")) == (1, [])


@pytest.mark.parametrize(
    ("granted", "status", "attempt", "is_open", "words"),
    [(True, "cancelled", "done", False, "gives the money back"), (False, "booked", "refused", True, "wasn't refunded")],
)
def test_a_request_ends_the_way_the_carrier_decides(asked, carrier, granted, status, attempt, is_open, words):
    order = asked()
    carrier.refund(order.carrier_reference, granted=granted)
    assert (work(order).status, order.cancels.get().state) == (status, attempt)
    assert (order.cancelled_at is not None, order.cancel_refused_at is not None) == (granted, not granted)
    assert (printing.label_of(order) is not None) == is_open
    assert [words in event.line for event in Notification.objects.filter(kind="booking")] == [True]
    assert cancel_calls(carrier) == 1


def test_the_order_counts_as_spent_until_it_is_refunded(asked, carrier, quill):
    order = asked()
    quill.refresh_from_db()
    assert (quill.unbilled, quill.booked_today, order.reserved) == (order.price, 1, order.price)
    carrier.refund(order.carrier_reference, granted=True)
    work(order)
    quill.refresh_from_db()
    assert (quill.unbilled, quill.booked_today, order.reserved) == (0, 0, Decimal(0))


@pytest.mark.parametrize("trouble", ["500", "404", "commit-close"])
def test_a_failed_check_leaves_it_requested_and_is_repeated(asked, carrier, trouble):
    order = asked()
    carrier.trouble("view", trouble)
    assert work(order).status == "cancel_asked"
    assert order.due_at > timezone.now() + dt.timedelta(hours=23)
    carrier.refund(order.carrier_reference, granted=True)
    assert work(order).status == "cancelled"


def test_an_account_without_settings_leaves_it_requested(asked, carrier, settings):
    order, before = asked(), len(carrier.requests())
    settings.CARRIER_ACCOUNT = "another-account"
    assert work(order).status == "cancel_asked"
    assert (order.due_at is None, len(carrier.requests())) == (False, before)


def test_a_lost_reply_to_the_request_is_not_taken_for_a_cancellation(booked, carrier, alice):
    order = booked()
    carrier.trouble("cancel", "commit-close")
    cancels.ask_to_cancel(order, by=alice, why="not sending it", now=timezone.now())
    assert work(order).status == "cancel_unconfirmed"
    assert work(order).status == "cancel_asked"
    assert carrier.ledger("cancelled") == []


def test_a_refused_request_may_be_made_again(asked, carrier, alice):
    order = asked()
    carrier.refund(order.carrier_reference, granted=False)
    work(order)
    cancels.ask_to_cancel(order, by=alice, why="not sending it", now=timezone.now())
    assert work(order).status == "cancel_asked"
    assert [attempt.state for attempt in order.cancels.order_by("pk")] == ["refused", "unknown"]


@pytest.mark.parametrize(("is_cancelled", "status"), [(True, "cancelled"), (False, "booked")])
def test_an_operator_records_what_the_carrier_said(asked, sam, is_cancelled, status):
    order = asked()
    reason, now = "asked by phone", timezone.now()
    cancel_outcomes.resolve(order, is_cancelled=is_cancelled, by=sam, reason=reason, now=now)
    order.refresh_from_db()
    assert (order.status, order.cancels.filter(done_at=None).count()) == (status, 0)


@pytest.mark.parametrize(("days", "count"), [(29, 0), (31, 1)])
def test_operators_see_requests_undecided_for_a_month(asked, days, count):
    order = asked()
    order.cancels.update(asked_at=timezone.now() - dt.timedelta(days=days))
    assert Order.objects.filter(queues.refund_late(timezone.now())).count() == count
    assert not Order.objects.filter(queues.cancel_stuck(timezone.now())).exists()


def test_after_a_restore_the_carriers_order_shows_the_request(booked, carrier, alice):
    order = booked()
    order.labels.update(is_spare=False)  # both are wanted
    for label in order.labels.all():
        fetching.fetch_due_label(label.pk)
    cancels.ask_to_cancel(order, by=alice, why="not sending it", now=timezone.now())
    work(order)
    order.cancels.all().delete()
    Order.objects.update(status="booked", due_at=None)
    Label.objects.update(state="withheld", due_at=timezone.now())
    comparing.compare_due_label(order.labels.first().pk)
    order.refresh_from_db()
    assert (order.status, order.due_at is None) == ("cancel_asked", False)
    carrier.refund(order.carrier_reference, granted=True)
    assert work(order).status == "cancelled"


# -- What senders see ------------------------------------------------------------------------------


def test_pages_show_it_as_pending(asked, alice, client: Client):
    order = asked()
    client.force_login(alice)

    def shown(name: str, *args: Any, **query: str) -> str:
        return client.get(reverse(name, args=args), query).content.decode()

    for query in ({"view": "refund-asked"}, {"status": "refund_asked"}):
        assert str(order.uuid) in shown("parcels", **query)
    assert str(order.uuid) in shown("today")
    pending = statements.pending_refunds(Order.objects.all())
    assert pending == [{"currency": "AUD", "count": 1, "amount": order.total}]
    for name in ("billing", "reports"):
        assert f"{order.total}" in shown(name)
    assert reverse("label", args=[order.uuid, "full"]) not in shown("parcel", order.uuid)
    assert client.get(reverse("label", args=[order.uuid, "full"])).status_code == 404
    assert "Keep" not in shown("cancel", order.uuid)


def test_a_refund_billed_for_a_request_counts_as_a_cancellation(asked, carrier):
    order = asked()
    assert may_be_cancelled(order)
    carrier.refund(order.carrier_reference, granted=False)
    assert not may_be_cancelled(work(order))


# -- Replacing -------------------------------------------------------------------------------------


@pytest.fixture
def replaced(booked: Book, quill: Sender, alice: User) -> Callable[[], Replacement]:
    """`replaced()` is a replacement; a refund for the old parcel was requested."""

    def replace() -> Replacement:
        order, now = booked(), timezone.now()
        quote = asking.ask_for_prices(quill, factories.details(quill), by=alice, now=now)
        replacing.ask_to_replace(
            order, quote=quote, code="STANDARD-PICKUP", by=alice, form_token=uuid.uuid4(), pickup_date=None, now=now
        )
        work(order)
        return order.replacements.get()

    return replace


def test_the_new_parcel_is_booked_at_once(replaced, carrier, client: Client, alice):
    replacement = replaced()
    client.force_login(alice)
    waiting = client.get(reverse("replacing", args=[replacement.order.uuid])).content.decode()
    assert "both may be charged" in waiting
    replacing.replace_due_parcel(replacement.pk)
    made: Any = Order.objects.get(replaces=replacement.order)
    assert (made.status, replacement.order.status) == ("booking", "cancel_asked")
    page = client.get(reverse("parcel", args=[replacement.order.uuid])).content.decode()
    assert "both may be charged" in page
    carrier.refund(replacement.order.carrier_reference, granted=False)
    assert work(replacement.order).status == "booked"
    assert Order.objects.filter(replaces=replacement.order).count() == 1


@pytest.mark.parametrize("is_refused", [True, False])
def test_a_new_parcel_whose_worker_died_is_found_whatever_happened_since(replaced, carrier, alice, is_refused):
    """Its sender would read that nothing new was booked, and book it again."""
    replacement = replaced()
    made = bookings.submit(
        quote=replacement.quote, code=replacement.product_code, by=alice, form_token=replacement.form_token,
        pickup_date=None, now=timezone.now(),
    )  # fmt: skip
    if is_refused:
        carrier.refund(replacement.order.carrier_reference, granted=False)
        assert work(replacement.order).status == "booked"
    else:
        Replacement.objects.update(quote=None)
    replacing.replace_due_parcel(replacement.pk)
    replacement.refresh_from_db()
    assert (replacement.booked, replacement.problem) == (made, "")
    assert Order.objects.get(replaces=replacement.order) == made
    assert not Notification.objects.filter(path=reverse("replacing", args=[replacement.order.uuid])).exists()


def test_a_parcel_that_stays_booked_can_be_corrected_again(replaced, carrier, quill, alice):
    replacement = replaced()
    order = replacement.order
    replacing.replace_due_parcel(replacement.pk)
    carrier.refund(order.carrier_reference, granted=False)
    assert work(order).status == "booked"
    quote = asking.ask_for_prices(quill, factories.details(quill), by=alice, now=timezone.now(), fresh=True)
    replacing.ask_to_replace(
        order, quote=quote, code="STANDARD-PICKUP", by=alice, form_token=uuid.uuid4(), pickup_date=None,
        now=timezone.now(),
    )  # fmt: skip
    work(order)
    second = order.replacements.get(ended_at=None)
    replacing.replace_due_parcel(second.pk)
    second.refresh_from_db()
    assert second.booked not in (None, replacement.booked)
    assert (second.problem, second.due_at) == ("", None)


def test_a_replacement_that_is_not_booked_says_the_refund_was_requested(replaced, client: Client, alice):
    replacement = replaced()
    Replacement.objects.update(quote=None)
    replacing.replace_due_parcel(replacement.pk)
    replacement.refresh_from_db()
    assert (replacement.booked, replacement.is_only_cancelled) == (None, True)
    client.force_login(alice)
    page = client.get(reverse("replacing", args=[replacement.order.uuid])).content.decode()
    assert "stays booked" not in page
