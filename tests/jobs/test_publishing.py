"""A broker that accepts and never answers costs one second, once; the sweep does what was not sent."""

import socket
import time
from collections.abc import Iterator

import pytest

from shipping_portal import celery


@pytest.fixture
def hung_broker(monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    monkeypatch.setattr(celery, "_broken_until", 0.0)
    with socket.create_server(("127.0.0.1", 0)) as server:
        monkeypatch.setattr(celery.app.conf, "broker_url", f"redis://127.0.0.1:{server.getsockname()[1]}/0")
        yield server


def test_a_broker_that_never_answers_is_given_up_after_one_try_and_then_left_alone(hung_broker: socket.socket) -> None:
    began_at = time.monotonic()
    assert not celery.publish_task("jobs.book", 1)
    after_one = time.monotonic()
    assert not celery.publish_task("jobs.book", 1)
    assert after_one - began_at < 2.0  # one wait of a second; a second try would come two seconds later
    assert time.monotonic() - after_one < 0.5
