"""The database refuses to change history, even for its owner; the portal's role may not even try."""

from typing import Any

import pytest
from django.core.management.color import no_style
from django.db import DatabaseError, connection, transaction
from django.utils import timezone

from shipping_portal.accounts.models import Audit, Sender, User

pytestmark = [pytest.mark.django_db, pytest.mark.postgres, pytest.mark.usefixtures("as_the_owner")]


@pytest.fixture
def act(quill: Sender, alice: User) -> Audit:
    return Audit.write("label size chosen", quill, by=alice, sender=quill, at=timezone.now())


@pytest.mark.parametrize(
    "change",
    [
        lambda: Audit.objects.update(reason="nothing happened"),
        lambda: Audit.objects.all().delete(),
        lambda: connection.cursor().execute("UPDATE accounts_audit SET action = 'x'"),
        lambda: connection.cursor().execute("DELETE FROM accounts_audit"),
    ],
    ids=["update", "delete", "raw update", "raw delete"],
)
def test_rows_are_neither_changed_nor_deleted(act: Audit, change: Any) -> None:
    with pytest.raises(DatabaseError, match="never changed"), transaction.atomic():
        change()
    assert Audit.objects.get().reason == act.reason


def test_the_model_refuses_before_the_database_does(act: Audit) -> None:
    with pytest.raises(Audit.AppendOnly):
        act.save()
    with pytest.raises(Audit.AppendOnly):
        act.delete()


@pytest.mark.django_db(transaction=True)
def test_the_trigger_is_back_after_a_test_database_was_emptied(act: Audit) -> None:
    connection.ops.execute_sql_flush(connection.ops.sql_flush(no_style(), ["accounts_audit"]))
    assert not Audit.objects.exists()
    Audit.write("label size chosen", act.sender, by=None, at=timezone.now())
    with pytest.raises(DatabaseError, match="never changed"):
        Audit.objects.all().delete()
