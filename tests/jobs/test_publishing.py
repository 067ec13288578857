"""A broker that accepts connections and never replies costs one second, once. The sweep does what wasn't sent."""

import socket
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
    assert [celery.publish_task("jobs.book", 1) for _ in range(3)] == [False, False, False]
    assert connections_to(hung_broker) == 1


def connections_to(server: socket.socket) -> int:
    """Count the connections that nobody has accepted yet."""
    server.setblocking(False)
    for number in range(10):
        try:
            server.accept()[0].close()
        except BlockingIOError:
            return number
    raise AssertionError("more than nine connections")
