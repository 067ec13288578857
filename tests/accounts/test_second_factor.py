"""Operators work with a second factor; sessions end on time."""

import re
import time
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from django.test import Client

from shipping_portal.accounts import access
from shipping_portal.accounts.login import sessions
from shipping_portal.accounts.models import User
from tests import factories
from tests.accounts.forms import code

pytestmark = pytest.mark.django_db


@pytest.fixture
def oz(db: None) -> User:
    """An operator with a password and no second factor yet."""
    person = factories.user("oz@operator.example", is_staff=True, is_superuser=True)
    person.set_password(factories.PASSWORD)
    person.save()
    return person


def log_in(person: User, **fields: str) -> tuple[Client, Any]:
    browser = Client()
    fields = {"login": person.email, "password": factories.PASSWORD, **fields}
    return browser, browser.post("/accounts/login/", fields)


def say_the_password_again(browser: Client) -> None:
    """Enter the password again, which is needed before changing how you log in."""
    assert browser.post("/accounts/reauthenticate/", {"password": factories.PASSWORD}).status_code == 302


def test_an_operator_without_a_second_factor_is_sent_to_set_one_up(oz: User) -> None:
    browser, response = log_in(oz)
    assert response["Location"] == "/admin/"
    visited = [address for address, _ in browser.get("/admin/", follow=True).redirect_chain]
    assert "/accounts/2fa/totp/activate/" in visited
    assert not access.require_second_factor(oz)


def test_enrolling_opens_the_admin(oz: User) -> None:
    browser, _ = log_in(oz)
    say_the_password_again(browser)
    page = browser.get("/accounts/2fa/totp/activate/")
    secret = page.context["form"].secret
    assert secret in page.content.decode()
    browser.post("/accounts/2fa/totp/activate/", {"code": code(secret)})
    assert access.require_second_factor(oz)
    assert browser.get("/admin/").status_code == 200


def test_the_admins_login_is_the_portals_own_and_asks_for_the_code(oz: User) -> None:
    secret = factories.second_factor(oz)
    assert Client().get("/admin/", follow=True).redirect_chain[-1][0].startswith("/accounts/login/")
    browser, response = log_in(oz)
    assert response["Location"] == "/accounts/2fa/authenticate/"
    assert browser.get("/admin/").status_code == 302
    response = browser.post("/accounts/2fa/authenticate/", {"code": code(secret)})
    assert response["Location"] == "/admin/"
    assert browser.get("/admin/").status_code == 200


def test_a_code_may_be_pasted_with_the_space_that_apps_show_in_it(oz: User) -> None:
    secret = factories.second_factor(oz)
    browser, _ = log_in(oz)
    shown = code(secret)
    browser.post("/accounts/2fa/authenticate/", {"code": f" {shown[:3]} {shown[3:]}"})
    assert browser.get("/admin/").status_code == 200


@pytest.mark.parametrize("typed", ["000000", "1234567", "", "abcdef"])
def test_a_wrong_code_opens_nothing(oz: User, typed: str) -> None:
    factories.second_factor(oz)
    browser, _ = log_in(oz)
    assert browser.post("/accounts/2fa/authenticate/", {"code": typed}).status_code == 200
    assert browser.get("/admin/").status_code == 302


def test_a_code_works_once(oz: User) -> None:
    secret = factories.second_factor(oz)
    now_code = code(secret)
    first, _ = log_in(oz)
    second, _ = log_in(oz)
    assert first.post("/accounts/2fa/authenticate/", {"code": now_code}).status_code == 302
    assert second.post("/accounts/2fa/authenticate/", {"code": now_code}).status_code == 200


def test_an_operator_cannot_turn_the_second_factor_off_but_a_sender_can(oz: User, alice: User) -> None:
    for person in (oz, alice):
        person.set_password(factories.PASSWORD)
        person.save()
        secret = factories.second_factor(person)
        browser, _ = log_in(person)
        browser.post("/accounts/2fa/authenticate/", {"code": code(secret)})
        say_the_password_again(browser)
        browser.post("/accounts/2fa/totp/deactivate/")
    assert Authenticator.objects.filter(user=oz).exists()
    assert not Authenticator.objects.filter(user=alice).exists()


def test_recovery_codes_can_be_seen_only_if_there_are_any(oz: User) -> None:
    browser, _ = log_in(oz)
    say_the_password_again(browser)
    secret = browser.get("/accounts/2fa/totp/activate/").context["form"].secret
    browser.post("/accounts/2fa/totp/activate/", {"code": code(secret)})
    assert "/accounts/2fa/recovery-codes/" in links(browser)
    Authenticator.objects.filter(user=oz, type="recovery_codes").delete()
    assert "/accounts/2fa/recovery-codes/" not in links(browser)


def links(browser: Client) -> list[str]:
    return re.findall(r'href="([^"]+)"', browser.get("/accounts/2fa/").content.decode())


def test_a_new_password_does_not_bypass_the_second_factor(oz: User) -> None:
    factories.second_factor(oz)
    oz.set_password("another-long-passphrase")
    oz.save()
    _, response = log_in(oz, password="another-long-passphrase")
    assert response["Location"] == "/accounts/2fa/authenticate/"


def test_members_never_reach_the_admin(alice: User, visit: Any) -> None:
    assert not access.require_second_factor(alice)
    assert visit(alice).get("/admin/", follow=True).status_code == 404


@pytest.fixture
def clock(monkeypatch: Any) -> Any:
    """`clock(minutes)` moves the clock of the session rules on."""
    began = time.time()

    def move(minutes: float) -> None:
        monkeypatch.setattr(sessions.time, "time", lambda: began + minutes * 60)

    move(0)
    return move


def is_in(browser: Client) -> bool:
    return "Log out" in browser.get("/help/").content.decode()


def test_a_sender_is_logged_in_for_twelve_hours(alice: User, visit: Any, clock: Any) -> None:
    browser = visit(alice)
    assert is_in(browser)
    clock(12 * 60 - 1)
    assert is_in(browser)
    clock(12 * 60 + 1)
    assert not is_in(browser)


@pytest.mark.parametrize(("remember", "days"), [("on", 30), ("", 0.5)])
def test_staying_logged_in_lasts_thirty_days(alice: User, clock: Any, remember: str, days: float) -> None:
    alice.set_password(factories.PASSWORD)
    alice.save()
    browser, _ = log_in(alice, **({"remember": remember} if remember else {}))
    clock(days * 24 * 60 - 1)
    assert is_in(browser)
    clock(days * 24 * 60 + 1)
    assert not is_in(browser)


def test_an_operator_is_logged_out_after_an_idle_hour(sam: User, visit: Any, clock: Any) -> None:
    browser = visit(sam)
    for minutes in (0, 59, 118):
        clock(minutes)
        assert is_in(browser)
    clock(118 + 61)
    assert not is_in(browser)


def test_an_operator_is_logged_out_after_eight_hours_whatever_they_do(sam: User, visit: Any, clock: Any) -> None:
    browser = visit(sam)
    for minutes in range(0, 8 * 60, 30):
        clock(minutes)
        assert is_in(browser)
    clock(8 * 60 + 1)
    assert not is_in(browser)


def test_a_session_ends_with_the_password_and_with_the_login(alice: User, visit: Any) -> None:
    browser = visit(alice)
    alice.is_active = False
    alice.save()
    assert not is_in(browser)
    alice.is_active = True
    alice.set_password("another-long-passphrase")
    alice.save()
    assert not is_in(browser)


@pytest.mark.parametrize(
    ("fields", "has_factor", "may"),
    [
        ({"is_staff": True}, True, False),  # in no group
        ({"is_staff": True, "is_superuser": True}, True, True),
        ({"is_staff": True, "is_superuser": True}, False, False),
        ({"is_superuser": True}, True, False),
        ({"is_staff": True, "is_superuser": True, "is_active": False}, True, False),
    ],
)
def test_the_admin_is_for_active_operators_with_a_second_factor(
    fields: dict[str, bool], has_factor: bool, may: bool
) -> None:
    person = factories.user("pat@portal.example", **fields)
    if has_factor:
        factories.second_factor(person)
    assert access.require_second_factor(person) == may


def test_a_member_with_a_second_factor_cannot_find_the_admin(alice: User, visit: Any) -> None:
    factories.second_factor(alice)
    assert visit(alice).get("/admin/", follow=True).status_code == 404


def test_an_operator_reads_why_a_second_factor_is_needed(oz: User) -> None:
    browser, _ = log_in(oz)
    page = browser.get("/admin/", follow=True).content.decode()
    assert "The admin requires two-step verification. Set it up, then come back." in page
