"""Guessing passwords is slow from one address and from many, and locks nobody out of their account."""

import datetime as dt
from typing import Any

import pytest
import time_machine
from allauth.account.models import EmailAddress
from django.http import HttpResponse
from django.test import Client, RequestFactory

from shipping_portal.accounts.login import guesses, known_browsers
from shipping_portal.accounts.models import User
from tests import factories

pytestmark = pytest.mark.django_db
LOG_IN = "/accounts/login/"
SLOW = "Too many tries"


@pytest.fixture(autouse=True)
def alice_has_a_password(alice: User) -> None:
    alice.set_password(factories.PASSWORD)
    alice.save()


def try_it(alice: User, *, address: str = "203.0.113.1", right: bool = False, browser: Client | None = None) -> Any:
    fields = {"login": alice.email, "password": factories.PASSWORD if right else "a wrong password"}
    return (browser or Client()).post(LOG_IN, fields, REMOTE_ADDR=address)


def guess_from_many_addresses(alice: User, count: int) -> list[bool]:
    return [SLOW in try_it(alice, address=f"198.51.100.{number}").content.decode() for number in range(count)]


def test_the_sixth_wrong_password_blocks_only_that_address(alice: User) -> None:
    for _ in range(5):
        assert SLOW not in try_it(alice).content.decode()
    assert SLOW in try_it(alice, right=True).content.decode()
    assert try_it(alice, address="203.0.113.2", right=True).status_code == 302


def test_one_address_has_sixty_tries_a_minute_over_all_accounts(alice: User) -> None:
    for number in range(60):
        assert guesses.take_slots(f"person{number}@quill.example", "203.0.113.1", is_known=False)
    assert not guesses.take_slots("one.more@quill.example", "203.0.113.1", is_known=False)
    assert guesses.take_slots("one.more@quill.example", "203.0.113.2", is_known=False)


@pytest.mark.parametrize("number", [5, 70])
def test_refused_tries_at_one_account_leave_the_office_its_sixty(number: int) -> None:
    for _ in range(number):
        guesses.take_slots("alice@quill.example", "203.0.113.1", is_known=False)
    others = (f"person{one}@quill.example" for one in range(60))
    taken = [bool(guesses.take_slots(one, "203.0.113.1", is_known=False)) for one in others]
    assert taken == [True] * 55 + [False] * 5


def test_an_ipv6_network_counts_as_one_address() -> None:
    for number in range(5):
        assert guesses.take_slots("alice@quill.example", f"2001:db8:1:2::{number}", is_known=False)
    assert not guesses.take_slots("alice@quill.example", "2001:db8:1:2::ffff", is_known=False)
    assert guesses.take_slots("alice@quill.example", "2001:db8:1:3::1", is_known=False)


@pytest.mark.parametrize("address", ["", "unknown", "203.0.113.1:50112"])
def test_an_invalid_address_is_counted_unchanged(alice: User, address: str) -> None:
    """A server behind a Unix socket gives no address, and some proxies add a port."""
    for _ in range(5):
        assert SLOW not in try_it(alice, address=address).content.decode()
    assert SLOW in try_it(alice, address=address).content.decode()


def test_guessing_from_many_addresses_is_stopped(alice: User) -> None:
    assert guess_from_many_addresses(alice, 22) == [False] * 20 + [True] * 2
    assert SLOW in try_it(alice, right=True).content.decode()


def test_a_browser_that_was_logged_in_before_gets_through(alice: User, bob: User) -> None:
    browser = Client()
    try_it(alice, right=True, browser=browser)
    browser.post("/accounts/logout/")
    guess_from_many_addresses(alice, 21)
    assert try_it(alice, right=True, browser=browser).status_code == 302
    browser.post("/accounts/logout/")
    browser.cookies["known"] = browser.cookies["known"].value + "x"
    assert SLOW in try_it(alice, right=True, browser=browser).content.decode()


@pytest.mark.parametrize(("seconds", "is_known"), [(-1, True), (0, True), (1, False)])
def test_a_browser_is_recognised_for_180_days_however_long_it_keeps_the_cookie(
    alice: User, rf: RequestFactory, seconds: int, is_known: bool
) -> None:
    logged_in = dt.datetime(2026, 6, 1, tzinfo=dt.UTC)
    response = HttpResponse()
    with time_machine.travel(logged_in, tick=False):
        known_browsers.remember_browser(rf.get("/"), response, alice)
    later = rf.get("/", headers={"cookie": response.cookies.output(header="", attrs=[]).strip()})
    with time_machine.travel(logged_in + dt.timedelta(days=180, seconds=seconds), tick=False):
        assert known_browsers.is_known(later, alice.email) is is_known


def test_a_browser_known_to_one_account_is_unknown_to_another(alice: User, bob: User) -> None:
    bob.set_password(factories.PASSWORD)
    bob.save()
    bobs = Client()
    try_it(bob, right=True, browser=bobs)
    bobs.post("/accounts/logout/")
    guess_from_many_addresses(alice, 21)
    assert SLOW in try_it(alice, right=True, browser=bobs).content.decode()


def test_a_password_reset_by_email_logs_in_at_once(alice: User, mailoutbox: Any) -> None:
    guess_from_many_addresses(alice, 21)
    browser = Client()
    browser.post("/accounts/password/reset/", {"email": alice.email})
    link = next(line for line in mailoutbox[-1].body.splitlines() if "/reset/key/" in line)
    form = browser.get(link.partition("8000")[2] or link, follow=True).redirect_chain[-1][0]
    browser.post(form, {"password1": "violin-candle-harbour", "password2": "violin-candle-harbour"})
    fields = {"login": alice.email, "password": "violin-candle-harbour"}
    assert Client().post(LOG_IN, fields).status_code == 302


def test_an_office_behind_one_address_logs_in_in_the_same_minute(quill: Any) -> None:
    for number in range(40):
        person = factories.user(f"person{number}@quill.example")
        person.set_password(factories.PASSWORD)
        person.save()
        factories.member(quill, person, role="viewer")
        assert try_it(person, right=True).status_code == 302


def test_correct_passwords_never_count_however_many_browsers_there_are(alice: User) -> None:
    for number in range(30):
        assert try_it(alice, address=f"198.51.100.{number}", right=True).status_code == 302


def test_a_refused_address_gets_one_of_our_pages(alice: User, settings: Any) -> None:
    settings.ACCOUNT_RATE_LIMITS = {"login": "1/m/ip"}
    try_it(alice)
    page = try_it(alice)
    assert page.status_code == 429
    assert "Wait a minute" in page.content.decode()


def test_the_cookie_of_a_known_browser_names_nobody(alice: User) -> None:
    browser = Client()
    try_it(alice, right=True, browser=browser)
    assert EmailAddress.objects.filter(user=alice).exists()
    cookie = browser.cookies["known"]
    assert "alice" not in cookie.value
    assert cookie["httponly"]
    assert cookie["samesite"] == "Lax"
