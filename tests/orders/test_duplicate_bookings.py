"""Two carrier orders for one of ours: shown once in the admin until somebody has dealt with it."""

import uuid
from collections.abc import Callable

import pytest
from django.utils import timezone

from orders.booking import bookings, duplicate_bookings, recording
from orders.calling import gateway
from orders.models import BookingAttempt, Order
from shipping_portal.accounts.models import Audit, Sender, User
from shipping_portal.carrier.errors import Rejected
from shipping_portal.refused import Refused
from shipping_portal.staff.resolution import deciding
from shipping_portal.staff.resolution.verifying import Confirmed
from tests import factories
from tests.sandbox_carrier import SandboxCarrier
from tests.staff import cases

pytestmark = pytest.mark.django_db

Submit = Callable[..., Order]
REASON = "the carrier voided it"


@pytest.fixture(autouse=True)
def _the_carrier_confirms(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "shipping_portal.staff.resolution.verifying.confirm_reference",
        lambda order, reference, *more, **heard: Confirmed(reference),
    )


def waiting(order: Order) -> list[str]:
    return [attempt.seen_reference for attempt in duplicate_bookings.waiting_duplicates(order)]


def attempt(order: Order, *, generation: int, seen: str) -> BookingAttempt:
    return cases.attempt(order, generation=generation, state="not_created", seen_reference=seen)


def test_a_booking_with_one_reference_has_no_duplicate(booked: Submit) -> None:
    assert waiting(booked()) == []


def test_one_key_with_two_references_has_a_duplicate(submitted: Submit, booked: Submit) -> None:
    order = booked()
    first = order.attempts.get()
    other = gateway.carrier_client(gateway.current_account()).book(bytes(first.body), key=str(uuid.uuid4()))
    recording.record_outcome(first, other)
    recording.record_outcome(first, other)  # received twice
    assert waiting(order) == [other.reference]


def test_a_late_yes_to_the_first_attempt_is_a_duplicate_even_if_the_second_is_refused(
    submitted: Submit, sam: User, alice: User, carrier: SandboxCarrier
) -> None:
    order = submitted()
    first = bookings._write_down(order, timezone.now())
    answer = gateway.carrier_client(gateway.current_account()).book(bytes(first.body), key=str(first.key))
    recording.record_unknown(first, "the lease ran out", at=timezone.now())
    order.refresh_from_db()
    deciding.not_booked(order, by=sam, reason="the carrier knows of none", now=timezone.now())
    bookings.confirm(order, by=alice, now=timezone.now())
    order.refresh_from_db()
    second = bookings._write_down(order, timezone.now())
    recording.record_outcome(first, answer)
    recording.record_outcome(second, Rejected(422, text="Too heavy."))
    order.refresh_from_db()
    assert (order.status, waiting(order)) == ("rejected", [answer.reference])


def test_a_resolved_duplicate_does_not_come_back_with_the_next(booked: Submit, sam: User) -> None:
    order = booked()
    attempt(order, generation=2, seen="SSETTLED01")
    duplicate_bookings.note_answers(order, at=timezone.now())
    duplicate_bookings.resolve_duplicate(order, by=sam, reason=REASON, now=timezone.now())
    late = attempt(order, generation=3, seen="SLATE00001")
    duplicate_bookings.note_answers(order, at=timezone.now(), answered=late)
    assert waiting(order) == ["SLATE00001"]


def test_booking_a_second_attempt_keeps_the_firsts_reply(submitted: Submit) -> None:
    order = submitted()
    attempt(order, generation=1, seen="SFIRST0001")
    Order.objects.filter(pk=order.pk).update(generation=2)
    bookings.process_booking(order.pk)
    order.refresh_from_db()
    assert (order.status, waiting(order)) == ("booked", ["SFIRST0001"])


def test_adopting_one_of_two_references_keeps_the_other_listed(quill: Sender, alice: User, sam: User) -> None:
    order = cases.unclear(quill, alice, status="conflict", seen_reference="SSECOND002", generation=2)
    attempt(order, generation=1, seen="SFIRST0001")
    deciding.adopt_reference(order, "ssecond002", by=sam, reason=REASON, now=timezone.now())
    assert waiting(order) == ["SFIRST0001"]


def test_adopting_the_listed_reference_clears_it(quill: Sender, alice: User, sam: User) -> None:
    order = cases.unclear(quill, alice, seen_reference="SFIRST0001", duplicate_booking_at=timezone.now())
    deciding.adopt_reference(order, "SFIRST0001", by=sam, reason=REASON, now=timezone.now())
    assert waiting(order) == []


def test_a_reference_of_another_order_is_not_a_duplicate(quill: Sender, alice: User, sam: User) -> None:
    factories.order(quill, alice, status="booked", carrier_reference="SOTHERS001")
    order = cases.unclear(quill, alice, status="conflict", seen_reference="SOTHERS001")
    deciding.adopt_reference(order, "STHISONE01", by=sam, reason=REASON, now=timezone.now())
    assert waiting(order) == []


def test_a_duplicate_dealt_with_is_audited_and_no_longer_listed(quill: Sender, alice: User, sam: User) -> None:
    order = factories.order(quill, alice, status="booked")
    attempt(order, generation=1, seen="SFIRST0001")
    duplicate_bookings.note_answers(order, at=timezone.now())
    duplicate_bookings.resolve_duplicate(order, by=sam, reason=REASON, now=timezone.now())
    assert waiting(order) == []
    row = Audit.objects.get()
    assert (row.action, row.actor, row.reason) == ("second order resolved", sam, f"SFIRST0001: {REASON}")
    with pytest.raises(Refused):
        duplicate_bookings.resolve_duplicate(order, by=sam, reason=REASON, now=timezone.now())
    assert Audit.objects.count() == 1
