"""Throttles are stored in a table as JSON: nothing is ever unpickled."""

import base64
import pickle

import pytest
from django.core.cache import cache
from django.db import connection

pytestmark = pytest.mark.django_db


def stored() -> list[bytes]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT value FROM throttles")
        return [base64.b64decode(value) for (value,) in cursor.fetchall()]


def test_it_keeps_what_throttles_store() -> None:
    cache.set("history", [1.5, 2.25], 60)
    cache.add("lock", "yes", 60)
    assert cache.get("history") == [1.5, 2.25]
    assert cache.get_many(["history", "lock", "none"]) == {"history": [1.5, 2.25], "lock": "yes"}
    assert sorted(stored()) == [b'"yes"', b"[1.5, 2.25]"]


def test_a_pickle_in_the_table_is_not_loaded() -> None:
    class Canary:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return print, ("loaded",)

    cache.set("history", [1.5], 60)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE throttles SET value = %s", [base64.b64encode(pickle.dumps(Canary())).decode()])
    with pytest.raises(ValueError, match=r"decode|Expecting"):
        cache.get("history")


def test_a_value_that_is_not_json_is_refused() -> None:
    with pytest.raises(TypeError):
        cache.set("thing", object(), 60)
