"""The week, created once per module. Each test is a savepoint inside its transaction, at the same midnight."""

from collections.abc import Iterator
from typing import Any

import pytest
import time_machine
from django.db import connection

from shipping_portal.billing.reports.fields import profile_of
from tests import factories
from tests.savepoints import undone
from tests.snapshots import week
from tests.snapshots.rows import rows
from tests.test_access import ROLES, World, _logged_in


@pytest.fixture(scope="module")
def world(django_db_setup: None, django_db_blocker: Any) -> Iterator[World]:
    with time_machine.travel(week.NOW, tick=False), django_db_blocker.unblock(), undone():
        connection.cursor().execute("DELETE FROM sqlite_sequence")  # numbers begin at 1, whatever ran before
        factories.localities()
        profile_of(factories.account())
        bolts = [factories.user(f"{name}@bolts.example", name=f"{name.title()} Bolt") for name in ("bob", "ben")]
        quill = [factories.user(f"{role}@quill.example", name=f"{role.title()} Quill") for role in ROLES]
        others = week.things_of(
            week.business("Bob's Bolts", bolts, zone="Australia/Perth"), bolts, mark="BB", others=[]
        )
        things = week.things_of(week.business("Quill & Co", quill), quill, mark="QQ", others=others["orders"])
        sam = factories.user("sam@portal.example", name="Sam Staff", is_staff=True, is_superuser=True)
        factories.second_factor(sam)
        people = dict(zip(ROLES, quill, strict=True)) | {"stranger": bolts[0], "operator": sam}
        things["rows"] = rows()
        yield World(things, {who: _logged_in(person) for who, person in people.items()})


@pytest.fixture(autouse=True)
def clock() -> Iterator[time_machine.Traveller]:
    with time_machine.travel(week.NOW, tick=False) as traveller:
        yield traveller
