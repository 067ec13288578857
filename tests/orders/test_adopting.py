"""An operator found an unclear booking's reference. It keeps the carrier's spelling, must be ours, and belongs to the
right attempt.
"""

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from django.utils import timezone

from orders.booking import bookings
from orders.calling import gateway
from orders.labels import fetching
from orders.models import BookingAttempt, CarrierAccount, Order
from shipping_portal.accounts.models import Audit, Sender, User
from shipping_portal.carrier.messages import Booked, Tracked
from shipping_portal.refused import Refused
from shipping_portal.staff.resolution import deciding, undoing, verifying
from tests import factories
from tests.sandbox_carrier import SandboxCarrier
from tests.staff import cases

pytestmark = pytest.mark.django_db

REASON = "the carrier told us on the phone"
Submit = Callable[..., Order]


@dataclass
class TerseCarrier:
    """Replies to every reference with `tracked`; shows `orders` by order id, else what was tracked."""

    orders: dict[str, Booked] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    tracked: bytes = b"{}"

    def track(self, reference: str) -> Tracked:
        self.asked.append(reference)
        return Tracked("", (), (), None, self.tracked)

    def view(self, order_id: str) -> Booked:
        return self.orders.get(order_id) or held(self.asked[-1])


@pytest.fixture
def terse(monkeypatch: pytest.MonkeyPatch) -> TerseCarrier:
    made = TerseCarrier()
    monkeypatch.setattr(gateway, "carrier_client", lambda *of, **how: made)
    return made


def held(reference: str, *, order_key: str = "", state: str = "booked", body: bytes = b"{}") -> Booked:
    """Return what the carrier shows about an order."""
    return Booked("id-1", reference, state, (), None, None, (), "", order_key, 200, body)


def adopt(order: Order, reference: str, by: User, order_id: str = "id-1") -> Order:
    deciding.adopt_reference(order, reference, by=by, reason=REASON, now=timezone.now(), carrier_order_id=order_id)
    return Order.objects.get(pk=order.pk)


def attempt(of: Order, **changes: Any) -> BookingAttempt:
    """Add another attempt to an order, like its first."""
    made: BookingAttempt = of.attempts.earliest("pk")
    made.pk, made._state.adding = None, True
    made.key = BookingAttempt._meta.get_field("key").get_default()
    for name, value in changes.items():
        setattr(made, name, value)
    made.save()
    return made


# -- The reference keeps the carrier's case ------------------------------------------------------


def test_a_reference_keeps_the_case_of_the_reply(quill: Sender, alice: User, sam: User, terse: TerseCarrier) -> None:
    order = cases.unclear(quill, alice, seen_reference="Smixed12345")
    assert adopt(order, "SMIXED12345", sam).carrier_reference == "Smixed12345"
    assert terse.asked == ["Smixed12345"]


def test_a_reference_keeps_the_case_of_the_carriers_order(
    quill: Sender, alice: User, sam: User, terse: TerseCarrier
) -> None:
    order = cases.unclear(quill, alice)
    terse.orders["id-1"] = held("Smixed12345")
    booked = adopt(order, "smixed12345", sam, "id-1")
    assert (booked.carrier_reference, booked.carrier_order_id) == ("Smixed12345", "id-1")
    assert "smixed12345" in booked.search


@pytest.mark.parametrize(("typed", "kept"), [("Smixed12345", "Smixed12345"), (" smixed12345 ", "SMIXED12345")])
def test_an_unseen_reference_is_kept_as_typed(
    quill: Sender, alice: User, sam: User, terse: TerseCarrier, typed: str, kept: str
) -> None:
    """A lower-case s was typed by mistake: no reference starts with one."""
    assert adopt(cases.unclear(quill, alice), typed, sam).carrier_reference == kept


def test_another_orders_reference_is_recognised_in_any_case(
    quill: Sender, alice: User, sam: User, terse: TerseCarrier
) -> None:
    factories.order(quill, alice, status="booked", carrier_reference="Smixed12345")
    with pytest.raises(Refused, match="Another order"):
        adopt(cases.unclear(quill, alice), "SMIXED12345", sam)
    assert terse.asked == []


def test_without_tracking_a_reference_is_adopted_unchecked_and_that_is_recorded(
    quill: Sender, alice: User, sam: User, carrier: SandboxCarrier, contract: Callable[[str], None]
) -> None:
    contract('track = ""\nview = ""')
    order = adopt(cases.unclear(quill, alice), "SFOUND12345", sam, "")
    unchecked = f"SFOUND12345: {REASON} ({verifying.UNCHECKED})"
    assert (order.status, order.carrier_reference) == ("booked", "SFOUND12345")
    assert order.changes.latest("pk").reason == f"adopted {unchecked}"
    assert Audit.objects.get().reason == unchecked


def test_without_tracking_an_order_id_is_still_checked(
    quill: Sender, alice: User, sam: User, carrier: SandboxCarrier, contract: Callable[[str], None]
) -> None:
    contract('track = ""')
    with pytest.raises(Refused, match="doesn't confirm this order ID"):
        adopt(cases.unclear(quill, alice), "SFOUND12345", sam, "no-such-id")


# -- What the carrier shows must be this parcel --------------------------------------------------


@pytest.mark.parametrize(
    ("shown", "words"),
    [
        (held("SOTHER12345"), "belongs to another reference"),
        (held("SFOUND12345", state="Cancelled"), "says it is cancelled"),
        (held("SFOUND12345", order_key="somebody-else"), "another of our orders"),
    ],
)
def test_an_order_id_of_another_parcel_is_refused(
    quill: Sender, alice: User, sam: User, terse: TerseCarrier, shown: Booked, words: str
) -> None:
    order = cases.unclear(quill, alice)
    terse.orders["id-1"] = shown
    with pytest.raises(Refused, match=words):
        adopt(order, "SFOUND12345", sam, "id-1")
    assert Order.objects.get(pk=order.pk).status == "unconfirmed"


@pytest.mark.parametrize("named", [1, 2, 3])
def test_an_order_id_under_any_of_this_orders_keys_is_accepted(
    quill: Sender, alice: User, sam: User, terse: TerseCarrier, named: int
) -> None:
    order = cases.unclear(quill, alice)
    Order.objects.filter(pk=order.pk).update(generation=named)
    key = Order.objects.get(pk=order.pk).order_key()
    Order.objects.filter(pk=order.pk).update(generation=2)
    terse.orders["id-1"] = held("SFOUND12345", order_key=key)
    assert adopt(Order.objects.get(pk=order.pk), "SFOUND12345", sam, "id-1").status == "booked"


@pytest.mark.parametrize(
    ("body", "doubt"),
    [
        (b"{}", f" ({verifying.NAMELESS})"),
        (b'{"customer_reference": "portal-100234"}', ""),
        (b'{"customer_reference": "ANOTHER-1", "metadata": {"portal_order": "OWN-KEY"}}', ""),
    ],
)
def test_the_audit_names_what_was_adopted_and_what_could_not_be_compared(
    quill: Sender, alice: User, sam: User, terse: TerseCarrier, body: bytes, doubt: str
) -> None:
    order = cases.unclear(quill, alice)
    terse.orders["id-1"] = held("SFOUND12345", body=body.replace(b"OWN-KEY", order.order_key().encode()))
    assert adopt(order, "SFOUND12345", sam).status == "booked"
    row = Audit.objects.get(action="reference adopted")
    assert row.reason == f"SFOUND12345, order id id-1: {REASON}{doubt}"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b'{"customer_reference": "ANOTHER-1"}', "customer reference ANOTHER-1"),
        (b'{"metadata": {"portal_order": "another-key"}}', "order key another-key"),
    ],
)
@pytest.mark.parametrize("where", ["its order", "its tracking"])
def test_a_reference_under_another_of_our_keys_is_refused(
    quill: Sender, alice: User, sam: User, terse: TerseCarrier, where: str, body: bytes, words: str
) -> None:
    if where == "its tracking":
        terse.tracked = body
    else:
        terse.orders["id-1"] = held("SFOUND12345", body=body)
    with pytest.raises(Refused, match=f"another of our orders: {words}.*Find that order"):
        adopt(cases.unclear(quill, alice), "SFOUND12345", sam)


def test_a_refusal_for_a_missing_order_id_says_where_to_find_it(
    quill: Sender, alice: User, sam: User, terse: TerseCarrier
) -> None:
    with pytest.raises(
        Refused,
        match=r"order ID too: .*[Oo]pen the order with this reference in the "
        "carrier's dashboard",
    ):
        adopt(cases.unclear(quill, alice), "SFOUND12345", sam, "")


def test_an_order_id_known_from_a_reply_need_not_be_typed(
    quill: Sender, alice: User, sam: User, terse: TerseCarrier
) -> None:
    found = b'{"order_id": "id-7", "carrier_reference": "STOLD00001"}'
    order = cases.unclear(quill, alice, seen_reference="STOLD00001", response=found)
    assert adopt(order, "STOLD00001", sam, "").carrier_order_id == "id-7"


def test_no_order_id_is_needed_if_tracking_shows_our_order_key(
    quill: Sender, alice: User, sam: User, terse: TerseCarrier
) -> None:
    order = cases.unclear(quill, alice)
    terse.tracked = b'{"metadata": {"portal_order": "%s"}}' % order.order_key().encode()
    assert adopt(order, "SFOUND12345", sam, "").status == "booked"


# -- What was known before the booking was sent is another parcel's ------------------------------


@pytest.mark.parametrize(
    ("before", "is_taken"), [(dt.timedelta(minutes=14), False), (dt.timedelta(seconds=6), False),
                             (dt.timedelta(seconds=4), True), (dt.timedelta(minutes=-5), True)],
)  # fmt: skip
@pytest.mark.parametrize("how", ["scanned", "billed", "scanned, of an order without an attempt"])
def test_a_reference_seen_before_the_booking_was_sent_is_refused_with_both_times(
    quill: Sender, alice: User, sam: User, terse: TerseCarrier, how: str, before: dt.timedelta, is_taken: bool
) -> None:
    """Without an attempt, as after a restore, the time of the order counts."""
    sent = timezone.now() - dt.timedelta(hours=1)
    order = cases.unclear(quill, alice, sent_at=sent)
    Order.objects.filter(pk=order.pk).update(created_at=sent - dt.timedelta(hours=1))
    if how.endswith("attempt"):
        order.attempts.all().delete()
        Order.objects.filter(pk=order.pk).update(created_at=sent)
    order.refresh_from_db()
    if how == "billed":
        report = factories.billing_report(uploaded_at=sent - before)
        factories.charge(None, reference="SFOUND12345", report=report)
    heard_at = None if how == "billed" else sent - before
    case = (order, "SFOUND12345")
    more = {"by": sam, "reason": REASON, "now": timezone.now(), "carrier_order_id": "id-1", "heard_at": heard_at}
    if is_taken:
        deciding.adopt_reference(*case, **more)
        return
    with pytest.raises(Refused, match=f"at {sent - before:%-d %b %Y, %H:%M:%S} UTC.*{sent:%H:%M:%S}"):
        deciding.adopt_reference(*case, **more)
    assert terse.asked == []


def test_another_carrier_accounts_bill_is_no_evidence_about_a_reference(
    quill: Sender, alice: User, sam: User, terse: TerseCarrier
) -> None:
    sent = timezone.now() - dt.timedelta(hours=1)
    order = cases.unclear(quill, alice, sent_at=sent)
    other = CarrierAccount.objects.create(name="other", fingerprint="0" * 64)
    report = factories.billing_report(uploaded_at=sent - dt.timedelta(days=1), account=other)
    factories.charge(None, reference="SFOUND12345", report=report)
    deciding.adopt_reference(
        order, "SFOUND12345", by=sam, reason=REASON, now=timezone.now(), carrier_order_id="id-1", heard_at=None
    )


# -- Which attempt it was ------------------------------------------------------------------------


def test_a_late_yes_to_a_booking_resolved_as_not_made_goes_to_that_attempt(
    quill: Sender, alice: User, sam: User, terse: TerseCarrier
) -> None:
    """A past bug: its attempt stayed `not_created`, so nothing prevented a second one."""
    order = cases.unclear(quill, alice, status="conflict", state="not_created", seen_reference="SLATE00001")
    later = attempt(order, generation=2, seen_reference="")
    adopt(order, "slate00001", sam)
    assert order.attempts.get(state="accepted").generation == 1
    later.refresh_from_db()
    assert later.state == "not_created"


def test_without_a_reply_naming_it_the_reference_goes_to_the_last_attempt(
    quill: Sender, alice: User, sam: User, terse: TerseCarrier
) -> None:
    order = cases.unclear(quill, alice, status="conflict", state="not_created")
    attempt(order, generation=2, seen_reference="SFOREIGN01")
    adopt(order, "SFOUND12345", sam)
    accepted = order.attempts.get(state="accepted")
    assert (accepted.generation, accepted.seen_reference) == (2, "SFOREIGN01")


def test_an_unknown_attempt_is_resolved_when_another_attempts_reference_is_adopted(
    quill: Sender, alice: User, sam: User, terse: TerseCarrier
) -> None:
    order = cases.unclear(quill, alice, state="not_created", seen_reference="SLATE00001")
    attempt(order, generation=2, state="unknown", seen_reference="")
    adopt(order, "SLATE00001", sam)
    assert dict(order.attempts.values_list("generation", "state")) == {1: "accepted", 2: "not_created"}


# -- The carrier's order id comes later ----------------------------------------------------------


@pytest.fixture
def adopted(
    submitted: Submit, carrier: SandboxCarrier, sam: User, contract: Callable[[str], None], settings: Any
) -> Order:
    """An order booked at the carrier and adopted without its order id. Fetching both labels was given up."""
    carrier.trouble("book", "commit-close")
    order = submitted()
    bookings.process_booking(order.pk)
    contract('view = ""')  # the contract file did not name it yet
    made = adopt(Order.objects.get(pk=order.pk), carrier.ledger("booked")[0]["reference"], sam, "")
    settings.CARRIER_CONTRACT = ""
    made.labels.update(is_spare=False)  # both are wanted
    for label in made.labels.all():
        fetching.fetch_due_label(label.pk)
    assert set(made.labels.values_list("state", flat=True)) == {"failed"}
    return made


def add_order_id(order: Order, order_id: str, by: User) -> None:
    verifying.add_order_id(order, order_id, by=by, reason=REASON, now=timezone.now())


def test_adding_the_carriers_order_id_fetches_the_labels(adopted: Order, carrier: SandboxCarrier, sam: User) -> None:
    order_id = carrier.ledger("booked")[0]["parcel"]["order_id"]
    add_order_id(adopted, f" {order_id} ", sam)
    adopted.refresh_from_db()
    assert adopted.carrier_order_id == order_id
    adopted.labels.update(is_spare=False)  # both are wanted
    for label in adopted.labels.all():
        fetching.fetch_due_label(label.pk)
    assert set(adopted.labels.values_list("state", flat=True)) == {"stored"}
    row = Audit.objects.get(action="carrier's order id added")
    assert (row.actor, row.reason) == (sam, f"{order_id}: {REASON}")


def test_an_order_id_of_another_parcel_is_not_added(
    adopted: Order, submitted: Submit, carrier: SandboxCarrier, sam: User
) -> None:
    other = submitted()
    bookings.process_booking(other.pk)
    other.refresh_from_db()
    for wrong, words in ((other.carrier_order_id, "another reference"), ("no-such-id", "doesn't confirm")):
        with pytest.raises(Refused, match=words):
            add_order_id(adopted, wrong, sam)
    adopted.refresh_from_db()
    assert adopted.carrier_order_id == ""
    assert not Audit.objects.filter(action="carrier's order id added").exists()


def test_an_order_id_can_be_added_once(adopted: Order, carrier: SandboxCarrier, sam: User) -> None:
    order_id = carrier.ledger("booked")[0]["parcel"]["order_id"]
    stale = Order.objects.get(pk=adopted.pk)
    add_order_id(adopted, order_id, sam)
    with pytest.raises(Refused, match="already has one"):
        add_order_id(stale, order_id, sam)
    assert Audit.objects.filter(action="carrier's order id added").count() == 1


def test_an_order_id_is_not_added_to_an_order_that_has_lost_its_reference_meanwhile(
    adopted: Order, carrier: SandboxCarrier, sam: User
) -> None:
    """Else the next adoption without an id would have that parcel's labels, and cancel that parcel."""
    stale = Order.objects.get(pk=adopted.pk)
    undoing.undo_adoption(adopted, by=sam, reason=REASON, now=timezone.now())
    with pytest.raises(Refused, match="or its adoption was undone"):
        add_order_id(stale, carrier.ledger("booked")[0]["parcel"]["order_id"], sam)
    assert Order.objects.get(pk=adopted.pk).carrier_order_id == ""
