"""A planned select reads the same as its queryset, with the values of each call."""

import datetime as dt
from typing import Any

import pytest
from django.db import IntegrityError, connection, models, transaction
from django.utils import timezone

from orders.models import Label, Order
from orders.models.statuses import Status
from shipping_portal.accounts.models import Sender, User
from shipping_portal.db import planned_statements
from shipping_portal.db.planned_statements import Given, PlannedSelect, PlannedUpdate, insert_row, update_row
from shipping_portal.jobs.registry import JobKind, all_kinds
from tests import factories

pytestmark = [pytest.mark.django_db, pytest.mark.postgres]


def loaded(row: models.Model, deep: int = 3) -> dict[str, Any]:
    """Return everything read into a row: columns, annotations, related rows and prefetched ones."""
    state = row._state
    assert (state.adding, state.db) == (False, "default")
    found = {name: value for name, value in vars(row).items() if not name.startswith("_")}
    if deep:
        related = {name: one for name, one in state.fields_cache.items() if one is not None}
        found |= {f"{name}.": loaded(one, deep - 1) for name, one in related.items()}
    kept: dict[str, Any] = vars(row).get("_prefetched_objects_cache", {})
    return found | {f"{name}[]": list(rows) for name, rows in kept.items()}


@pytest.mark.parametrize("kind", all_kinds(), ids=lambda kind: kind.name)
def test_the_row_of_each_kind_is_read_as_its_queryset_reads_it(due: dict[str, int], kind: JobKind) -> None:
    now, pk = timezone.now(), due[kind.name]
    queried = kind.due(now).filter(pk=pk).get()
    planned = kind._due_row.first(now=now, pk=pk)
    assert type(planned) is type(queried)
    assert planned.get_deferred_fields() == queried.get_deferred_fields()
    assert loaded(planned) == loaded(queried)


@pytest.mark.parametrize("kind", all_kinds(), ids=lambda kind: kind.name)
def test_each_call_has_its_own_time_and_key(due: dict[str, int], kind: JobKind) -> None:
    now, pk = timezone.now(), due[kind.name]
    assert kind._due_row.first(now=now - dt.timedelta(days=400), pk=pk) is None
    assert kind._due_row.first(now=now, pk=pk).pk == pk
    assert kind._due_row.first(now=now, pk=pk + 1_000) is None


def test_the_sql_is_written_once_for_a_connection(quill: Sender, alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    orders = [factories.order(quill, alice, status=Status.BOOKING) for _ in range(2)]
    planned = PlannedSelect(Order.objects.filter(pk=Given("pk", models.BigIntegerField())))
    assert planned.first(pk=orders[0].pk) == orders[0]
    monkeypatch.setattr("django.db.models.sql.compiler.SQLCompiler.as_sql", None)
    assert planned.first(pk=orders[1].pk) == orders[1]
    assert planned.rows(pk=0) == []


def test_an_update_is_written_once_and_changes_the_given_row(
    quill: Sender, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = (factories.order(quill, alice, tries=2) for _ in range(2))
    rows = Order.objects.filter(pk=Given("pk", models.BigIntegerField()))
    planned = PlannedUpdate(rows, tries=models.F("tries") + Given("more", models.IntegerField()))
    assert planned.run(pk=one.pk, more=1) == 1
    monkeypatch.setattr("django.db.models.sql.compiler.SQLUpdateCompiler.as_sql", None)
    assert (planned.run(pk=other.pk, more=5), planned.run(pk=0, more=1)) == (1, 0)
    for order, tries in ((one, 3), (other, 7)):
        order.refresh_from_db()
        assert order.tries == tries


@pytest.mark.parametrize(
    ("statement", "numbered", "names"),
    [
        ("a = %s AND b LIKE '9%%' AND c IN (%s, %s)", b"a = $1 AND b LIKE '9%' AND c IN ($2, $3)", []),
        ("a = %(one)s, b = %(two)s + %(one)s, c = '%%s'", b"a = $1, b = $2 + $1, c = '%s'", ["one", "two"]),
    ],
)
def test_values_are_numbered_as_the_server_wants_them(statement: str, numbered: bytes, names: list[str]) -> None:
    assert planned_statements._numbered(statement) == (numbered, names)


def test_nothing_is_compared_with_a_value_that_is_none() -> None:
    planned = PlannedSelect(Order.objects.filter(pk=Given("pk", models.BigIntegerField())))
    with pytest.raises(ValueError, match="pk is None"):
        planned.first(pk=None)


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor == "sqlite", reason="SQLite locks no rows")
def test_a_row_is_locked_only_in_a_transaction(quill: Sender, alice: User) -> None:
    order = factories.order(quill, alice)
    with transaction.atomic():
        assert Order.locked(order.pk) == order
    with pytest.raises(transaction.TransactionManagementError):
        Order.locked(order.pk)


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor == "sqlite", reason="SQLite has no server to lose")
def test_a_request_may_begin_with_a_planned_statement_after_the_server_restarted(quill: Sender) -> None:
    planned = PlannedSelect(Sender.objects.filter(pk=Given("pk", models.BigIntegerField())))
    assert planned.first(pk=quill.pk) == quill
    connection.connection.close()
    connection.health_check_done = False  # as Django does when a request or a task begins
    assert planned.first(pk=quill.pk) == quill


def test_a_row_is_updated_only_if_it_is_as_seen(quill: Sender, alice: User) -> None:
    order = factories.order(quill, alice, status=Status.BOOKING, tries=2)
    for seen in ({"tries": 3}, {"due_at": None, "tries": 3}, {"parked_at": timezone.now()}, {"tries": (1, 3)}):
        assert not update_row(order, seen, {"tries": 9}), seen
    changes = {"tries": 3, "problem": {"text": "é"}, "parked_at": None, "due_at": timezone.now(), "price": order.price}
    assert update_row(order, {"due_at": None, "tries": (1, 2), "sender": quill}, changes)
    assert not update_row(order, {"due_at": None}, {"tries": 9})
    found = Order.objects.get(pk=order.pk)
    assert {name: getattr(found, name) for name in changes} == changes


def test_an_update_touches_no_other_row(quill: Sender, alice: User) -> None:
    one, other = (factories.order(quill, alice, tries=2) for _ in range(2))
    assert update_row(one, {"tries": 2}, {"sender": other.sender, "tries": 4})
    other.refresh_from_db()
    assert other.tries == 2


def test_a_row_is_added_only_with_the_change(quill: Sender, alice: User) -> None:
    order = factories.order(quill, alice, tries=2)
    label = Label(order=order, size="full")
    assert not update_row(order, {"tries": 3}, {"tries": 4}, label)
    assert not Label.objects.exists()
    assert update_row(order, {"tries": 2}, {"tries": 3}, label)
    order.refresh_from_db()
    assert (order.tries, list(Label.objects.all()), label._state.adding) == (3, [label], False)


def test_nothing_is_changed_if_the_added_row_breaks_a_constraint(quill: Sender, alice: User) -> None:
    order = factories.order(quill, alice, tries=2)
    Label.objects.create(order=order, size="full")
    with pytest.raises(IntegrityError), transaction.atomic():
        update_row(order, {"tries": 2}, {"tries": 3}, Label(order=order, size="full"))
    order.refresh_from_db()
    assert (order.tries, Label.objects.count()) == (2, 1)


def test_several_rows_are_inserted_with_their_keys_and_a_known_one_is_not(quill: Sender, alice: User) -> None:
    order = factories.order(quill, alice)
    labels = [Label(order=order, size=size) for size in ("full", "cropped")]
    assert insert_row(*labels)
    assert [Label.objects.get(size=one.size).pk for one in labels] == [one.pk for one in labels]
    again = Label(order=order, size="full", state=Label.State.FAILED)
    assert not insert_row(again, conflict="ON CONFLICT DO NOTHING")
    assert (again._state.adding, Label.objects.filter(state=Label.State.FAILED).exists()) == (True, False)
