"""An operator found an unclear booking's reference: spelled as the carrier does, ours, and on the right attempt."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from django.utils import timezone

from orders import booking, confirming, gateway, labels, resolving
from orders.models import BookingAttempt, Order
from shipping_portal.accounts.models import Audit, Sender, User
from shipping_portal.carrier.errors import NotSent
from shipping_portal.carrier.messages import Booked
from tests import factories
from tests.desk import cases
from tests.sandbox_carrier import SandboxCarrier

pytestmark = pytest.mark.django_db

REASON = "the carrier told us on the phone"
Submit = Callable[..., Order]


@dataclass
class TerseCarrier:
    """Answers for every reference; `orders` are what it shows by order id."""

    orders: dict[str, Booked] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def track(self, reference: str) -> None:
        self.asked.append(reference)

    def view(self, order_id: str) -> Booked:
        if order_id not in self.orders:
            raise NotSent("there is no such order")
        return self.orders[order_id]


@pytest.fixture
def terse(monkeypatch: pytest.MonkeyPatch) -> TerseCarrier:
    made = TerseCarrier()
    monkeypatch.setattr(gateway, "carrier", lambda order=None: made)
    return made


def held(reference: str, *, order_key: str = "", state: str = "booked") -> Booked:
    """What the carrier shows of an order."""
    return Booked("id-1", reference, state, (), None, None, (), "", order_key, 200, b"{}")


def adopt(order: Order, reference: str, by: User, order_id: str = "") -> Order:
    resolving.adopt(order, reference, by=by, reason=REASON, now=timezone.now(), carrier_order_id=order_id)
    return Order.objects.get(pk=order.pk)


def attempt(of: Order, **changes: Any) -> BookingAttempt:
    """One more attempt of an order, like its first."""
    made: BookingAttempt = of.attempts.earliest("pk")
    made.pk, made._state.adding = None, True
    made.key = BookingAttempt._meta.get_field("key").get_default()
    for name, value in changes.items():
        setattr(made, name, value)
    made.save()
    return made


# -- The reference keeps the carrier's case ------------------------------------------------------


def test_a_reference_is_kept_in_the_case_a_reply_named_it(
    quill: Sender, alice: User, sam: User, terse: TerseCarrier
) -> None:
    order = cases.unclear(quill, alice, seen_reference="Smixed12345")
    assert adopt(order, "SMIXED12345", sam).carrier_reference == "Smixed12345"
    assert terse.asked == ["Smixed12345"]


def test_a_reference_is_kept_in_the_case_the_carrier_shows_its_order(
    quill: Sender, alice: User, sam: User, terse: TerseCarrier
) -> None:
    order = cases.unclear(quill, alice)
    terse.orders["id-1"] = held("Smixed12345")
    booked = adopt(order, "smixed12345", sam, "id-1")
    assert (booked.carrier_reference, booked.carrier_order_id) == ("Smixed12345", "id-1")
    assert "smixed12345" in booked.search


@pytest.mark.parametrize(
    ("typed", "kept"), [("Smixed12345", "Smixed12345"), (" smixed12345 ", "SMIXED12345")]
)
def test_a_reference_nobody_has_seen_is_kept_as_it_was_typed(
    quill: Sender, alice: User, sam: User, terse: TerseCarrier, typed: str, kept: str
) -> None:
    """A small s was typed carelessly: no reference begins with one."""
    assert adopt(cases.unclear(quill, alice), typed, sam).carrier_reference == kept


def test_another_orders_reference_is_known_in_any_case(
    quill: Sender, alice: User, sam: User, terse: TerseCarrier
) -> None:
    factories.order(quill, alice, status="booked", carrier_reference="Smixed12345")
    with pytest.raises(resolving.CannotResolve, match="Another order"):
        adopt(cases.unclear(quill, alice), "SMIXED12345", sam)
    assert terse.asked == []


def test_where_the_carrier_shows_no_tracking_a_reference_is_adopted_unchecked_and_that_is_written_down(
    quill: Sender, alice: User, sam: User, carrier: SandboxCarrier, contract: Callable[[str], None]
) -> None:
    contract('track = ""')
    order = adopt(cases.unclear(quill, alice), "SFOUND12345", sam)
    unchecked = f"{REASON} ({confirming.UNCHECKED})"
    assert (order.status, order.carrier_reference) == ("booked", "SFOUND12345")
    assert order.changes.latest("pk").reason == f"adopted SFOUND12345: {unchecked}"
    assert Audit.objects.get().reason == unchecked


def test_where_the_carrier_shows_no_tracking_an_order_id_is_checked_all_the_same(
    quill: Sender, alice: User, sam: User, carrier: SandboxCarrier, contract: Callable[[str], None]
) -> None:
    contract('track = ""')
    with pytest.raises(resolving.CannotResolve, match="does not confirm this order id"):
        adopt(cases.unclear(quill, alice), "SFOUND12345", sam, "no-such-id")


# -- What the carrier shows must be this parcel --------------------------------------------------


@pytest.mark.parametrize(
    ("shown", "words"),
    [
        (held("SOTHER12345"), "belongs to another reference"),
        (held("SFOUND12345", state="Cancelled"), "says it is cancelled"),
        (held("SFOUND12345", order_key="somebody-else"), "another order's name"),
    ],
)
def test_an_order_id_that_shows_something_else_is_refused(
    quill: Sender, alice: User, sam: User, terse: TerseCarrier, shown: Booked, words: str
) -> None:
    order = cases.unclear(quill, alice)
    terse.orders["id-1"] = shown
    with pytest.raises(resolving.CannotResolve, match=words):
        adopt(order, "SFOUND12345", sam, "id-1")
    assert Order.objects.get(pk=order.pk).status == "unconfirmed"


def test_an_order_id_under_an_earlier_name_of_this_order_is_its_own(
    quill: Sender, alice: User, sam: User, terse: TerseCarrier
) -> None:
    order = cases.unclear(quill, alice)
    Order.objects.filter(pk=order.pk).update(generation=2)
    terse.orders["id-1"] = held("SFOUND12345", order_key=str(order.uuid))
    assert adopt(Order.objects.get(pk=order.pk), "SFOUND12345", sam, "id-1").status == "booked"


# -- Which attempt it was ------------------------------------------------------------------------


def test_a_late_yes_to_a_booking_settled_as_not_made_is_that_attempts(
    quill: Sender, alice: User, sam: User, terse: TerseCarrier
) -> None:
    """Finding: its attempt stayed `not_created`, and so nothing kept a second one from being made."""
    order = cases.unclear(quill, alice, status="conflict", state="not_created", seen_reference="SLATE00001")
    later = attempt(order, generation=2, seen_reference="")
    adopt(order, "slate00001", sam)
    assert order.attempts.get(state="accepted").generation == 1
    later.refresh_from_db()
    assert later.state == "not_created"


def test_without_a_reply_that_named_it_the_last_attempt_was_it(
    quill: Sender, alice: User, sam: User, terse: TerseCarrier
) -> None:
    order = cases.unclear(quill, alice, status="conflict", state="not_created")
    attempt(order, generation=2, seen_reference="SFOREIGN01")
    adopt(order, "SFOUND12345", sam)
    accepted = order.attempts.get(state="accepted")
    assert (accepted.generation, accepted.seen_reference) == (2, "SFOREIGN01")


def test_an_attempt_still_unknown_is_settled_when_another_ones_reference_is_adopted(
    quill: Sender, alice: User, sam: User, terse: TerseCarrier
) -> None:
    order = cases.unclear(quill, alice, state="not_created", seen_reference="SLATE00001")
    attempt(order, generation=2, state="unknown", seen_reference="")
    adopt(order, "SLATE00001", sam)
    assert dict(order.attempts.values_list("generation", "state")) == {1: "accepted", 2: "not_created"}


# -- The carrier's order id comes later ----------------------------------------------------------


@pytest.fixture
def adopted(submitted: Submit, carrier: SandboxCarrier, sam: User) -> Order:
    """Booked at the carrier, adopted without its order id, and both labels given up."""
    carrier.trouble("book", "commit-close")
    order = submitted()
    booking.work(order.pk)
    made = adopt(Order.objects.get(pk=order.pk), carrier.ledger("booked")[0]["reference"], sam)
    for label in made.labels.all():
        labels.work(label.pk)
    assert set(made.labels.values_list("state", flat=True)) == {"failed"}
    return made


def add_order_id(order: Order, order_id: str, by: User) -> None:
    confirming.add_order_id(order, order_id, by=by, reason=REASON, now=timezone.now())


def test_with_the_carriers_order_id_the_labels_are_due_and_fetched(
    adopted: Order, carrier: SandboxCarrier, sam: User
) -> None:
    order_id = carrier.ledger("booked")[0]["parcel"]["order_id"]
    add_order_id(adopted, f" {order_id} ", sam)
    adopted.refresh_from_db()
    assert adopted.carrier_order_id == order_id
    for label in adopted.labels.all():
        labels.work(label.pk)
    assert set(adopted.labels.values_list("state", flat=True)) == {"stored"}
    row = Audit.objects.get(action="carrier's order id added")
    assert (row.actor, row.reason) == (sam, f"{order_id}: {REASON}")


def test_an_order_id_of_another_parcel_is_not_added(
    adopted: Order, submitted: Submit, carrier: SandboxCarrier, sam: User
) -> None:
    other = submitted()
    booking.work(other.pk)
    other.refresh_from_db()
    for wrong, words in ((other.carrier_order_id, "another reference"), ("no-such-id", "does not confirm")):
        with pytest.raises(confirming.NotConfirmed, match=words):
            add_order_id(adopted, wrong, sam)
    adopted.refresh_from_db()
    assert adopted.carrier_order_id == ""
    assert not Audit.objects.filter(action="carrier's order id added").exists()


def test_an_order_id_is_added_once(adopted: Order, carrier: SandboxCarrier, sam: User) -> None:
    order_id = carrier.ledger("booked")[0]["parcel"]["order_id"]
    stale = Order.objects.get(pk=adopted.pk)
    add_order_id(adopted, order_id, sam)
    with pytest.raises(confirming.NotConfirmed, match="has one already"):
        add_order_id(stale, order_id, sam)
    assert Audit.objects.filter(action="carrier's order id added").count() == 1
