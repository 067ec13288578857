"""Run a part of a test that leaves the database unchanged."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import transaction


@contextmanager
def undone() -> Iterator[None]:
    """Undo everything inside the block. Durable transactions may begin in it, as in a test."""
    part = transaction.atomic()
    part._from_testcase = True
    with part:
        yield
        transaction.set_rollback(True)
