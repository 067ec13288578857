"""/livez and /readyz: one word for anybody, at any host name, without a session or a login."""

from collections.abc import Iterator

import pytest
from django.db import InterfaceError, OperationalError, connection
from django.test import Client

from shipping_portal.http import probes


@pytest.fixture
def draining() -> Iterator[None]:
    """Tell gunicorn to stop."""
    probes.draining[0] = 1
    yield
    probes.draining[0] = 0


@pytest.mark.parametrize("probe", ["/livez", "/readyz"])
@pytest.mark.parametrize("host", ["testserver", "10.0.0.7:8000", "127.0.0.1", "portal_a"])
def test_it_replies_at_any_host_name(db: None, probe: str, host: str) -> None:
    answer = Client().get(probe, headers={"Host": host})
    assert (answer.status_code, answer.content) == (200, b"ok")
    assert answer["Content-Type"] == "text/plain; charset=utf-8"
    assert answer["Cache-Control"] == "no-store"
    assert "Set-Cookie" not in answer
    assert Client().head(probe).status_code == 200
    assert Client().post(probe).status_code == 405


def test_it_is_not_redirected_to_https(db: None, settings: object) -> None:
    settings.SECURE_SSL_REDIRECT = True  # type: ignore[attr-defined]
    assert Client().get("/readyz").status_code == 200
    assert Client().get("/").status_code == 301


@pytest.mark.parametrize("error", [OperationalError("no route"), InterfaceError("closed")])
def test_without_the_database_it_is_live_but_not_ready(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def away() -> None:
        raise error

    monkeypatch.setattr(connection, "cursor", away)
    answer = Client().get("/readyz")
    assert (answer.status_code, answer.content) == (503, b"unavailable")
    assert Client().get("/livez").status_code == 200


def test_while_stopping_it_is_live_but_not_ready(db: None, draining: None) -> None:
    assert Client().get("/readyz").status_code == 503
    assert Client().get("/livez").status_code == 200
    assert Client().get("/accounts/login/").status_code == 200  # requests are still served
