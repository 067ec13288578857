"""Limits while many people press Book at once: on PostgreSQL, or SQLite in a file, since in-memory threads lock tables."""

import threading
import uuid
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from orders.booking import bookings, limits, recording, recounting, verdict
from orders.booking.limits import LimitReached
from orders.calling import gateway, waiting
from orders.cancelling import cancel_outcomes
from orders.drafting import drafts
from orders.models import BookingAttempt, DailySpend, Draft, Order, SavedView
from orders.status.transitions import move_to
from orders.views import parcels
from shipping_portal.accounts.login import guesses
from shipping_portal.accounts.models import Invitation, Sender, User
from shipping_portal.accounts.teams import team
from shipping_portal.billing.reports import posting
from shipping_portal.carrier.errors import Rejected
from shipping_portal.carrier.messages import Cancelled
from shipping_portal.refused import Refused
from tests import factories
from tests.billing.conftest import line, summed, take  # noqa: F401  (a fixture)
from tests.racing import at_once
from tracking import watching
from tracking.models import Watch

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.postgres]
PRICE = Decimal("12.08")


@pytest.fixture(autouse=True)
def _threads_have_connections_of_their_own(db: None) -> None:
    if "memory" in str(connection.settings_dict["NAME"]):
        pytest.skip("a SQLite in memory is one connection; ./dev test has it in a file")
    gateway.current_account()


def presses(sender: Sender, by: User, count: int) -> list[Callable[[], Order]]:
    """Return the Book buttons of this many pages, all opened before the first one is pressed."""
    quote, now = factories.quote(sender, by), timezone.now()
    submit = partial(bookings.submit, code="STANDARD-PICKUP", by=by, pickup_date=None, now=now)
    return [partial(submit, quote=type(quote).objects.get(pk=quote.pk), form_token=uuid.uuid4()) for _ in range(count)]


@pytest.mark.parametrize(
    "most",
    [
        {"bookings_a_day": 2},
        {"own_bookings_a_day": 2},
        {"money_a_day": 2 * PRICE},
        {"own_money_a_day": 3 * PRICE - Decimal("0.01")},
        {"unbilled_limit": 2 * PRICE},
    ],
    ids=lambda most: next(iter(most)),
)
def test_fifty_simultaneous_presses_with_room_for_two_book_exactly_two(
    quill: Sender, alice: User, most: dict[str, Any]
) -> None:
    Sender.objects.update(**most)
    found = at_once(*presses(quill, alice, 50))
    assert Counter(type(one) for one in found) == {Order: 2, LimitReached: 48}, found
    quill.refresh_from_db()
    assert (quill.booked_today, quill.spent_today, quill.unbilled) == (2, 2 * PRICE, 2 * PRICE)
    assert Order.objects.filter(status="booking").count() == Order.objects.count() == 2


@pytest.mark.parametrize("before", [{"booked_in_all": 3}, {"spent_in_all": Decimal("75.84")}], ids=["parcels", "money"])
def test_fifty_presses_of_a_new_account_with_room_for_two_book_exactly_two(
    quill: Sender, alice: User, settings: Any, before: dict[str, Any]
) -> None:
    settings.SIGN_UP = "first_limit"
    Sender.objects.update(approved_at=None, **before)
    quill.refresh_from_db()
    found = at_once(*presses(quill, alice, 50))
    assert Counter(type(one) for one in found) == {Order: 2, LimitReached: 48}, found
    assert Order.objects.filter(status="booking").count() == Order.objects.count() == 2


def test_fifty_presses_of_two_senders_with_shared_room_for_two_book_exactly_two(
    quill: Sender, alice: User, bob: User, settings: Any
) -> None:
    settings.DAILY_MONEY_LIMIT = 2 * PRICE
    found = at_once(*presses(quill, alice, 25), *presses(bob.membership.sender, bob, 25))
    assert sum(isinstance(one, Order) for one in found) == Order.objects.count() == 2
    assert all(isinstance(one, Order | LimitReached) for one in found), found
    assert DailySpend.objects.get().spent == 2 * PRICE
    assert recounting.miscounted_rows(timezone.now()) == []


def test_fifty_requests_for_prices_with_room_for_five_send_exactly_five(quill: Sender) -> None:
    Sender.objects.update(quotes_a_minute=5)
    now = timezone.now()
    found = at_once(*[partial(limits.take_quote, quill, now)] * 50)
    assert Counter(found) == {True: 5, False: 45}


def test_an_attempt_resolved_eight_times_at_once_is_given_back_once(quill: Sender, alice: User) -> None:
    orders = [press() for press in presses(quill, alice, 2)]
    attempt = bookings._write_down(Order.objects.get(pk=orders[0].pk), timezone.now())
    assert attempt
    copies = [BookingAttempt.objects.get(pk=attempt.pk) for _ in range(8)]
    found = at_once(*[partial(recording.record_outcome, copy, Rejected(422, "", "no")) for copy in copies])
    assert found == [None] * 8
    assert recounting.miscounted_rows(timezone.now()) == []
    quill.refresh_from_db()
    assert quill.booked_today == 1


def test_simultaneous_bookings_replies_cancellations_and_a_bill_never_deadlock(
    quill: Sender,
    alice: User,
    take: Callable[..., Any],  # noqa: F811
) -> None:
    """All of them write the sender's row, and all lock it before their orders."""
    now = timezone.now()
    orders = [press() for press in presses(quill, alice, 12)]
    for number, order in enumerate(orders[:8]):
        move_to(order, "booked", reason="-", at=now, carrier_reference=f"SCOUNT{number}", booked_at=now)
    report = take(summed(*(line(f"SCOUNT{number}") for number in range(6))))
    answered = []
    for order in orders[4:8]:
        move_to(order, "cancelling", reason="-", at=now)
        attempt = order.cancels.create(by=alice, why="-", asked_at=now)
        answered.append(partial(cancel_outcomes.confirm, order, attempt.pk, Cancelled("cancelled", "", 200, b"")))
    attempts = [bookings._write_down(Order.objects.get(pk=order.pk), now) for order in orders[8:10]]
    gone = verdict.BackToDraft({"kind": "gone", "text": "-"})
    unsent = [Order.objects.get(pk=order.pk) for order in orders[10:]]
    found = at_once(
        partial(posting.post_report, report, by=None, now=now),
        *answered,
        *[partial(recording.record_outcome, attempt, Rejected(422, "", "no")) for attempt in attempts if attempt],
        *[partial(bookings._carry_out, order, gone, now) for order in unsent],
        *presses(quill, alice, 6),
    )
    assert not [one for one in found if isinstance(one, Exception)], found
    assert recounting.miscounted_rows(now) == []
    quill.refresh_from_db()
    assert (quill.booked_today, quill.unbilled) == (4 + 6, 6 * PRICE)


def test_only_two_of_one_persons_ten_pages_wait_for_the_carrier(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "PLACES", threading.BoundedSemaphore(10))  # as in separate processes
    together = threading.Barrier(10)

    def wait() -> str:
        together.wait(20)
        try:
            with waiting.at_a_page(alice):
                together.wait(20)
                return "waited"
        except waiting.Full:
            together.wait(20)
            raise

    found = at_once(*[wait] * 10)
    assert Counter(one if isinstance(one, str) else type(one) for one in found) == {"waited": 2, waiting.Full: 8}


def test_twenty_of_thirty_simultaneous_invitations_are_sent(quill: Sender, alice: User, mailoutbox: list[Any]) -> None:
    now = timezone.now()
    found = at_once(
        *[
            partial(team.invite_person, quill, f"new{number}@quill.example", "viewer", by=alice, now=now)
            for number in range(30)
        ]
    )
    assert Counter(type(one) for one in found) == {Invitation: 20, Refused: 10}, found
    assert Invitation.objects.good(now).count() == len(mailoutbox) == 20


def test_thirty_invitations_with_room_for_three_that_day_send_three(
    quill: Sender, alice: User, mailoutbox: list[Any]
) -> None:
    now = timezone.now()
    for number in range(47):
        team.revoke_invitation(
            team.invite_person(quill, f"old{number}@quill.example", "viewer", by=alice, now=now), by=alice, now=now
        )
    mailoutbox.clear()
    at_once(
        *[
            partial(team.invite_person, quill, f"new{number}@quill.example", "viewer", by=alice, now=now)
            for number in range(30)
        ]
    )
    assert len(mailoutbox) == 3


def test_ten_drafts_and_ten_watches_with_room_for_two_keep_two_each(
    quill: Sender, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = timezone.now()
    monkeypatch.setattr(drafts, "MOST", 2)
    monkeypatch.setattr(watching, "MOST_WATCHES", 2)
    at_once(
        *[
            partial(drafts.save, Draft(sender=quill, made_by=alice), {"receiver_name": "Priya"}, now=now)
            for _ in range(10)
        ]
    )
    assert drafts.listed(alice).count() == 2
    at_once(*[partial(watching.follow_reference, quill, f"S7K2Q{n}", name="", by=alice, now=now) for n in range(10)])
    assert Watch.objects.count() == 2


def test_ten_saved_views_with_room_for_two_keep_two(
    quill: Sender, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parcels, "MOST_SAVED", 2)
    request = SimpleNamespace(sender=quill, user=alice)
    found = at_once(*[partial(parcels._save_view, request, f"View {n}", query="", is_shared=False) for n in range(10)])
    assert found.count("") == 8
    assert SavedView.objects.count() == 2


def test_five_of_thirty_simultaneous_password_guesses_are_checked() -> None:
    guess = partial(guesses.take_slots, "alice@quill.example", "203.0.113.1", is_known=False)
    assert sum(bool(slots) for slots in at_once(*[guess] * 30)) == 5
