"""While the database is down every page returns 503 with a retry time; a constraint error stays a 500."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from django.contrib.auth.decorators import login_not_required
from django.db import DatabaseError, IntegrityError, InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse
from django.test import Client
from django.urls import path

from shipping_portal.accounts.models import Session
from shipping_portal.http import database_outage
from tests import factories


def _failing(error: type[DatabaseError]) -> Callable[[HttpRequest], HttpResponse]:
    @login_not_required
    def view(request: HttpRequest) -> HttpResponse:
        raise error("connection to server at 10.0.0.5 failed")

    return view


urlpatterns = [
    path("away/", _failing(OperationalError)),
    path("closed/", _failing(InterfaceError)),
    path("rule/", _failing(IntegrityError)),
]


@pytest.fixture
def browser(settings: Any) -> Client:
    settings.ROOT_URLCONF = __name__
    return Client(raise_request_exception=False)


@pytest.mark.parametrize("url", ["/away/", "/closed/"])
def test_a_lost_database_gives_503_with_a_retry_time(browser: Client, db: None, url: str) -> None:
    answer = browser.get(url)
    assert answer.status_code == 503
    assert answer["Retry-After"] == "5"
    assert "Back in a moment" in answer.content.decode()
    assert "10.0.0.5" not in answer.content.decode()


def test_a_constraint_error_is_not_an_outage(browser: Client, db: None) -> None:
    answer = browser.get("/rule/")
    assert answer.status_code == 500
    assert "Retry-After" not in answer


def test_a_database_lost_before_any_view_gives_503_too(
    client: Client, db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Middleware reads the session, outside Django's exception hook for views."""

    def away(self: object) -> None:
        raise OperationalError("gone")

    client.raise_request_exception = False
    client.cookies["session"] = "a-session-to-look-up"
    monkeypatch.setattr("django.contrib.sessions.backends.db.SessionStore.load", away)
    assert client.get("/admin/").status_code == 503


@pytest.mark.parametrize(("error", "status"), [(OperationalError, 503), (InterfaceError, 503), (DatabaseError, 302)])
def test_a_database_lost_while_saving_the_session_gives_503_and_a_deleted_session_the_login_page(
    client: Client, db: None, monkeypatch: pytest.MonkeyPatch, error: type[DatabaseError], status: int
) -> None:
    client.raise_request_exception = False
    client.force_login(factories.user("ada@example.net"))

    def away(*arguments: object, **named: object) -> None:
        raise error("gone")

    monkeypatch.setattr(Session, "save", away)
    assert client.get("/accounts/login/").status_code == status


@dataclass
class Wire:
    """A connection that may be lost, to a database that may be down."""

    connection: object
    usable: bool
    is_away: bool = False

    def is_usable(self) -> bool:
        return self.usable

    def close(self) -> None:
        self.connection = None

    def ensure_connection(self) -> None:
        if self.connection is None and self.is_away:
            raise OperationalError("connection refused")
        self.connection = self.connection or "a new one"


@pytest.mark.parametrize(
    ("wire", "answers", "then"),
    [
        (Wire("as before", usable=True), True, "as before"),  # a lock or a time limit: only one row's problem
        (Wire("lost", usable=False), True, "a new one"),
        (Wire("lost", usable=False, is_away=True), False, None),
        (Wire(None, usable=False, is_away=True), False, None),
    ],
)
def test_the_database_is_down_only_if_a_new_connection_fails_too(
    monkeypatch: pytest.MonkeyPatch, wire: Wire, answers: bool, then: object
) -> None:
    monkeypatch.setattr(database_outage, "connection", wire)
    assert database_outage.database_answers() is answers
    assert wire.connection == then
