"""The short cut for labels answers the usual case as the portal does, and leaves it all else (docs/decisions/0032).

That each of its answers is right is shown by test_labels.py, which runs by both ways.
"""

import datetime as dt
import logging
import re
from typing import Any

import pytest
import time_machine
from django.db import OperationalError, connection, connections
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from orders import label_short_cut
from orders.models import Label
from shipping_portal.accounts import sessions
from shipping_portal.accounts.models import Audit, Membership, Sender, Session, User
from tests import factories
from tests.pages.by_wsgi import ByWsgi
from tests.pages.test_labels import BACKEND, address
from tests.queries import PLANNED, sql_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def label(quill: Sender, alice: User) -> Label:
    return factories.stored_label(factories.order(quill, alice, status="booked"))


@pytest.fixture
def browser(alice: User) -> ByWsgi:
    client = ByWsgi()
    client.force_login(alice, backend=BACKEND)
    return client


def headers(answer: Any) -> dict[str, str]:
    found: dict[str, str] = dict(answer.headers)
    assert re.fullmatch("[0-9a-f]{32}", found.pop("X-Request-ID"))
    return found


@pytest.mark.parametrize("query", ["", "?download", "?download=1"])
def test_it_answers_as_the_portal_does(label: Label, alice: User, browser: ByWsgi, query: str) -> None:
    slow = Client()
    slow.force_login(alice, backend=BACKEND)
    by_portal, by_short_cut = (one.get(address(label) + query, secure=True) for one in (slow, browser))
    assert browser.was_short
    assert by_short_cut.content == by_portal.content
    assert headers(by_short_cut) == headers(by_portal)
    first, second = Audit.objects.filter(subject=f"order {label.order_id}").order_by("pk").values(*AUDITED)
    assert first == second


AUDITED = ("actor", "sender", "action", "subject", "reason")


def test_its_line_in_the_audit_names_the_request(label: Label, browser: ByWsgi) -> None:
    answer = browser.get(address(label))
    assert Audit.objects.get(action="label opened").request_id == answer["X-Request-ID"]


@pytest.mark.postgres
def test_it_is_one_statement_and_one_line_of_audit(label: Label, browser: ByWsgi) -> None:
    with CaptureQueriesContext(connection) as first:
        browser.get(address(label))
    with CaptureQueriesContext(connection) as second:
        browser.get(address(label))
    assert browser.was_short
    is_planned = connection.vendor == "postgresql" and not connection.settings_dict["DISABLE_SERVER_SIDE_CURSORS"]
    read, written = (PLANNED, PLANNED) if is_planned else ("SELECT", "INSERT")
    assert verbs(first) == [read, "UPDATE", written]  # the first time is written at the label too
    assert verbs(second) == [read, written]


def verbs(queries: CaptureQueriesContext) -> list[str]:
    """Those of the short cut; the client of the test reads its session before it."""
    said = [text.split()[0] for text in sql_of(queries) if '"accounts_session"' not in text]
    return [verb for verb in said if verb not in {"BEGIN", "SAVEPOINT", "RELEASE", "COMMIT"}]


def expire(browser: ByWsgi, alice: User) -> None:
    Session.objects.update(expire_date=timezone.now() - dt.timedelta(seconds=1))


def log_out_elsewhere(browser: ByWsgi, alice: User) -> None:
    sessions.end_all(alice)


def change_password(browser: ByWsgi, alice: User) -> None:
    alice.set_password("another-long-password-1")
    alice.save()


def somebody_elses_row(browser: ByWsgi, alice: User) -> None:
    """Whoever can write rows but not sign them, and books for the same account under the very same password."""
    eve = factories.user("eve@quill.example")
    factories.member(alice.membership.sender, eve)
    User.objects.filter(pk=eve.pk).update(password=alice.password)
    Session.objects.update(whose=eve.pk)


def change(**fields: Any) -> Any:
    return lambda browser, alice: User.objects.filter(pk=alice.pk).update(**fields)


def require(browser: ByWsgi, alice: User) -> None:
    Sender.objects.update(needs_second_factor=True)


def role(name: str) -> Any:
    return lambda browser, alice: Membership.objects.filter(user=alice).update(role=name)


def say(**session: Any) -> Any:
    def write(browser: ByWsgi, alice: User) -> None:
        kept = browser.session
        kept.update(session)
        kept.save()

    return write


def forget_cookie(browser: ByWsgi, alice: User) -> None:
    browser.cookies.clear()


@pytest.mark.parametrize(
    ("spoil", "status"),
    [
        pytest.param(forget_cookie, 302, id="no cookie"),
        pytest.param(expire, 302, id="the log in is over"),
        pytest.param(log_out_elsewhere, 302, id="it was ended elsewhere"),
        pytest.param(change_password, 302, id="the password was changed"),
        pytest.param(somebody_elses_row, 200, id="the row is somebody elses"),
        pytest.param(say(began_at=1.0), 302, id="it began too long ago"),
        pytest.param(say(_session_expiry="2030-01-01T00:00:00+00:00"), 200, id="it ends at a date"),
        pytest.param(
            say(_auth_user_backend="django.contrib.auth.backends.ModelBackend"), 302, id="its way in is no more"
        ),
        pytest.param(change(is_active=False), 302, id="the account is closed to them"),
        pytest.param(require, 302, id="a second factor is required"),
        pytest.param(role("bookkeeper"), 404, id="they keep the books"),
        pytest.param(role("viewer"), 404, id="they only look"),
    ],
)
def test_it_leaves_to_the_portal_who_is_not_plainly_a_member_that_books(
    label: Label, alice: User, browser: ByWsgi, spoil: Any, status: int
) -> None:
    assert browser.get(address(label)).status_code == 200
    spoil(browser, alice)
    assert browser.get(address(label)).status_code == status
    assert not browser.was_short


@pytest.mark.parametrize(
    ("query", "extra", "status"),
    [
        pytest.param("", {"headers": {"Sec-Fetch-Site": "cross-site"}}, 403, id="another site asks"),
        pytest.param("", {"headers": {"Host": "evil.example"}}, 400, id="a host that is not ours"),
        pytest.param("?download=1&x=%00", {}, 400, id="a query nobody sends"),
    ],
)
def test_it_leaves_odd_requests_to_the_portal(
    label: Label, browser: ByWsgi, query: str, extra: dict[str, Any], status: int
) -> None:
    assert browser.get(address(label) + query, **extra).status_code == status
    assert not browser.was_short


def test_it_leaves_an_operator_who_sees_as_a_sender_to_the_portal(label: Label, sam: User) -> None:
    factories.member(label.order.sender, sam)
    desk = ByWsgi()
    desk.force_login(sam, backend=BACKEND)
    desk.get(address(label))
    assert not desk.was_short


def test_over_plain_http_the_portal_leads_to_https(
    label: Label, browser: ByWsgi, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.SECURE_SSL_REDIRECT = True
    answer = browser.get(address(label))
    assert (answer.status_code, answer["Location"]) == (301, f"https://testserver{address(label)}")
    assert label.intact_bytes() not in answer.content


def test_a_database_that_was_away_is_left_to_the_portal(
    label: Label, browser: ByWsgi, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed: list[bool] = []

    def away(*_: Any, **__: Any) -> Any:
        raise OperationalError("server closed the connection")

    monkeypatch.setattr(label_short_cut, "planned_cursor", away)
    monkeypatch.setattr(connections["default"], "close", lambda: closed.append(True))
    assert browser.get(address(label)).status_code == 200
    assert (closed, browser.was_short) == ([True], False)


def test_a_changed_byte_is_told_by_the_portal(label: Label, browser: ByWsgi, caplog: pytest.LogCaptureFixture) -> None:
    Label.objects.update(sha256="0" * 64)
    with caplog.at_level(logging.ERROR):
        assert browser.get(address(label)).status_code == 500
    assert not browser.was_short


def test_a_log_in_of_twelve_hours_ends_here_too(label: Label, browser: ByWsgi) -> None:
    with time_machine.travel(timezone.now(), tick=False) as clock:
        assert browser.get(address(label)).status_code == 200
        clock.shift(dt.timedelta(hours=11, minutes=59))
        assert browser.get(address(label)).status_code == 200
        assert browser.was_short
        clock.shift(dt.timedelta(minutes=2))
        assert browser.get(address(label)).status_code == 302
