"""A worker's threads keep their database connections, like a web server's."""

import pytest
from celery.fixups.django import DjangoWorkerFixup
from celery.signals import task_postrun, task_prerun
from django.db import connection

from shipping_portal import celery


def test_a_task_does_not_close_the_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[str] = []
    monkeypatch.setattr(connection, "close", lambda: closed.append("closed"))
    for _ in range(1000):
        DjangoWorkerFixup(celery.app).close_database()
    assert closed == []


def test_an_old_or_broken_connection_is_closed_before_and_after_a_task(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[str] = []
    monkeypatch.setattr(celery, "close_old_connections", lambda: looked.append("looked"))
    task_prerun.send(sender=None)
    task_postrun.send(sender=None)
    assert looked == ["looked"] * 2
