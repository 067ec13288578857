"""The protocol as a model, explored completely and compared with the portal's own functions."""

import uuid
from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import cache
from typing import Any

import pytest
from django.utils import timezone

from orders.booking import recording
from orders.models import MOVES, BookingAttempt, CancelAttempt, CarrierAccount, Order
from orders.models.statuses import HELD
from shipping_portal.accounts.models import Sender, User
from shipping_portal.carrier import errors
from shipping_portal.carrier.messages import Booked, Money
from tests import factories
from tests.protocol import exploring, model
from tests.protocol.exploring import Worlds
from tests.protocol.model import ANOTHERS, IDLE, Rows, World
from tests.savepoints import undone

pytestmark = pytest.mark.xdist_group("the protocol")  # results of explored models are kept
CONTRACTS = {"keeps no keys": (False, False), "keeps keys": (True, True)}
MORE = {"keeps keys of bookings": (True, False), "keeps keys of cancellations": (False, True)}
OTHERS_REFERENCE = "SANOTHERS"


Walk = tuple[list[World], Worlds]  # the start, and every world reached


@cache
def walks(
    replays: bool, repeatable: bool, *, workers: int, with_misled: bool, finds: bool = False, asks: bool = False
) -> tuple[Walk, Walk]:
    """Return every reachable world, before a restore and after it."""
    starts = [World(replays, repeatable, (IDLE,) * workers, finds=finds, asks=asks)]
    before = exploring.explore(starts, with_misled=with_misled)
    again = list(exploring.restored(before))
    return (starts, before), (again, exploring.explore(again, with_misled=with_misled))


@pytest.fixture(autouse=True, scope="module")
def _walks_are_forgotten() -> Iterator[None]:
    """Forget the worlds: the garbage collector would check millions of them for the rest of the run."""
    yield
    walks.cache_clear()


def refute(walk: Walk) -> None:
    """Fail with a trace if something is booked twice or unseen, or if an order gets stuck."""
    starts, found = walk
    wrong = [world for world in found if not world.is_misled and _is_wrong(world)]
    for world in [*wrong[:1], *exploring.stuck(found)[:1]]:
        pytest.fail(exploring.story(found, starts, world))


def _is_wrong(world: World) -> bool:
    live, rows = world.live(), world.rows
    return len(live) > 1 or (bool(live) and rows.status in model.UNSIGNED and not rows.is_paused)


def under_contracts(*often: Any, seldom: Any) -> Any:
    """Mark a test to run under every contract, the rare ones less often."""
    cases = [pytest.param(*both, id=name, marks=often) for name, both in CONTRACTS.items()]
    cases += [pytest.param(*both, id=name, marks=seldom) for name, both in MORE.items()]
    return pytest.mark.parametrize(("replays", "repeatable"), cases)


@under_contracts(seldom=pytest.mark.full)
def test_nothing_is_booked_twice_or_gets_stuck_even_if_operators_are_misled(replays: bool, repeatable: bool) -> None:
    for walk in walks(replays, repeatable, workers=1, with_misled=True):
        refute(walk)


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.full)])
@pytest.mark.parametrize(
    "replays", [False, pytest.param(True, marks=pytest.mark.full)], ids=["looks", "looks and repeats"]
)
def test_nothing_is_booked_twice_or_gets_stuck_if_bookings_can_be_looked_up(replays: bool, workers: int) -> None:
    for walk in walks(replays, False, workers=workers, with_misled=workers == 1, finds=True):
        refute(walk)


# Booking keys don't change how a cancellation is requested: before a merge both are explored with one worker.
@pytest.mark.parametrize(
    ("replays", "repeatable", "workers"),
    [
        (False, False, 1),
        (False, True, 1),
        pytest.param(True, False, 1, marks=pytest.mark.full),
        pytest.param(False, False, 2, marks=pytest.mark.full),
        pytest.param(False, True, 2, marks=pytest.mark.nightly),
        pytest.param(True, False, 2, marks=pytest.mark.nightly),
    ],
)
def test_nothing_is_booked_twice_or_gets_stuck_if_cancellations_are_only_requested(
    replays: bool, repeatable: bool, workers: int
) -> None:
    for walk in walks(replays, repeatable, workers=workers, with_misled=workers == 1, asks=True):
        refute(walk)


# If the carrier remembers keys, two workers make fifty times as many worlds.
@pytest.mark.parametrize(
    ("replays", "repeatable"),
    [
        pytest.param(*keys, id=name, marks=pytest.mark.full if name == "keeps no keys" else pytest.mark.nightly)
        for name, keys in (CONTRACTS | MORE).items()
    ],
)
def test_nothing_is_booked_twice_or_gets_stuck_with_any_two_workers_at_once(replays: bool, repeatable: bool) -> None:
    for walk in walks(replays, repeatable, workers=2, with_misled=False):
        refute(walk)


@pytest.mark.nightly
@pytest.mark.parametrize(("replays", "repeatable"), CONTRACTS.values(), ids=CONTRACTS)
def test_nothing_is_booked_twice_or_gets_stuck_with_a_sweep_and_two_workers(replays: bool, repeatable: bool) -> None:
    for walk in walks(replays, repeatable, workers=3, with_misled=False):
        refute(walk)


def test_the_model_makes_exactly_the_transitions_of_the_table() -> None:
    for contract in CONTRACTS.values():
        walks(*contract, workers=1, with_misled=True)
    walks(False, False, workers=2, with_misled=False)
    walks(False, False, workers=1, with_misled=True, asks=True)
    assert {(str(old), str(new)) for old in MOVES for new in MOVES[old]} == model.MOVED


# -- Compared with the portal's own functions -----------------------------------------------------------


def booked(reference: str) -> Booked:
    return Booked("id-1", reference, "Booked", (), None, Money(Decimal("12.08"), "AUD"), (), "", "", 201, b"{}")


ANSWERS: dict[str, Callable[[str], Booked | errors.CarrierError]] = {
    "yes": booked,
    "anothers": lambda reference: booked(OTHERS_REFERENCE),
    "rejected": lambda reference: errors.Rejected(422, "", "The carrier will not."),
    "not sent": lambda reference: errors.NotSent("refused"),
    "stopped": lambda reference: errors.AccountStopped(402, "No payment method."),
    "unknown": lambda reference: errors.OutcomeUnknown("no answer"),
    "conflict": lambda reference: errors.OutcomeUnknown("another's", 201, conflict=True),
}


def test_the_model_knows_every_outcome_of_a_call() -> None:
    """A new outcome must be a subclass of one of the four or be listed here."""
    kinds = [kind for kind in errors.CarrierError.__subclasses__() if kind.__module__ == errors.__name__]
    assert {type(answer("S")) for answer in ANSWERS.values()} == {Booked, *kinds}


@pytest.fixture
def put(quill: Sender, alice: User) -> Callable[[Rows], Order]:
    """`put(rows)` writes the model's order into the database."""
    Sender.objects.update(bookings_a_day=30_000, money_a_day=None)
    factories.order(quill, alice, status="booked", carrier_reference=OTHERS_REFERENCE)

    def write(rows: Rows) -> Order:
        now = timezone.now()
        CarrierAccount.objects.update(replays_off_at=None, paused_at=None, stopped_at=None)
        order = factories.order(quill, alice, status=rows.status, due_at=now if rows.due else None)
        if rows.status in HELD:
            Order.objects.filter(pk=order.pk).update(carrier_reference=reference_of(order, rows.reference))
        for generation, key in enumerate(model.KEYS, 1):
            state = rows.attempt if rows.attempt and key == rows.key else "not_created"
            BookingAttempt.objects.create(
                order=order, generation=generation, key=uuid.uuid5(order.uuid, str(key)), body=b"{}", body_sha256="-",
                state=state, lease_until=now, sent_at=now,
            )  # fmt: skip
        if rows.cancel:
            CancelAttempt.objects.create(order=order, by=alice, why="-", state=rows.cancel, asked_at=now)
        return Order.objects.get(pk=order.pk)

    return write


def reference_of(order: Order, key: int) -> str:
    return f"S{order.pk:04d}K{key}"


def read(order: Order) -> Rows:
    """Return the order from the database in the model's terms. A lease counts as due."""
    order = Order.objects.get(pk=order.pk)
    live = order.attempts.filter(state__in=BookingAttempt.LIVE).first()
    cancel = order.cancels.filter(state__in=CancelAttempt.LIVE).first()
    references = {reference_of(order, key): key for key in (*model.KEYS, ANOTHERS)}
    return Rows(
        order.status, live.generation if live else 0, live.state if live else "", cancel.state if cancel else "",
        "now" if order.due_at else "", references[order.carrier_reference] if order.carrier_reference else 0,
    )  # fmt: skip


def plain(rows: Rows) -> Rows:
    """Drop what doesn't affect a reply: whether a due time is a lease, an adoption and a pause."""
    return rows._replace(due="now" if rows.due else "", is_adopted=False, is_paused=False)


def all_rows(replays: bool, repeatable: bool) -> list[Rows]:
    both = walks(replays, repeatable, workers=1, with_misled=True)
    every = {plain(world.rows) for _, found in both for world in found}
    return sorted(rows for rows in every if rows.key == model.KEYS[0])


@pytest.mark.django_db
@pytest.mark.parametrize(("replays", "repeatable"), CONTRACTS.values(), ids=CONTRACTS)
def test_a_reply_changes_the_rows_as_the_model_says(
    put: Any, contract: Callable[[str], None], replays: bool, repeatable: bool
) -> None:
    contract(f"replays = {str(replays).lower()}")
    different = [
        f"{rows}: {answer} to {key}: {found}, and not {expected}"
        for rows in all_rows(replays, repeatable)
        for order in [put(rows)]
        for answer in ANSWERS
        for key in model.KEYS
        for found in [_resolved(order, key, answer)]
        for expected in [plain(model.resolve(rows, key, answer, replays=replays))]
        if found != (expected if expected.attempt else expected._replace(key=0))
    ]
    assert not different, "\n".join(different)


def _resolved(order: Order, key: int, answer: str) -> Rows:
    """Return what the answer makes of the order, which stays as it was."""
    with undone():
        attempt = BookingAttempt.objects.get(order=order.pk, generation=key)
        recording.record_outcome(attempt, ANSWERS[answer](reference_of(order, key)))
        return read(order)
