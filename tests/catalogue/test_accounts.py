"""Logging in: confusing names, passwords that only look long, used codes and copied cookies."""

import time
from typing import Any

import pytest
from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value
from django.contrib.auth.hashers import MD5PasswordHasher
from django.core import mail

from shipping_portal.accounts.address import sender_email
from shipping_portal.accounts.models import Sender, User
from tests import factories
from tests.catalogue.browsing import Browser
from tests.catalogue.rows import rows
from tests.pages.typed import messages_at

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("quick_hash")]

SIGN_UP, LOG_IN, RESET = "/accounts/signup/", "/accounts/login/", "/accounts/password/reset/"
CODE = "/accounts/2fa/authenticate/"
HIDDEN = "Use plain text on one line, without hidden characters."
MIA = {
    "name": "Mia Marlow",
    "business": "Marlow Candles",
    "email": "mia@marlow.example",
    "password1": "candle-harbour-violin",
    "country": "AU",
    "no_dangerous_goods": "on",
}
PLAIN = "Enter the email in plain letters, like name@example.com."
WHOLE = "Enter a full email address, like name@example.com."
GOODS = "The carrier doesn't take dangerous goods. Tick this to open an account."
TOO_LONG = "Use at most 4096 characters; this has 10000."
COMMON = "This is a common word, or your own or the portal's name, dressed up. A few unrelated words work well."


@rows(
    "name, typed, message",
    ("A9", "a control in the name", "name", "ad\x07min", HIDDEN),
    ("A9", "a control in the business", "business", "Qu\x07ill", HIDDEN),
    ("A9", "a Cyrillic letter in the name", "name", "Аdmin", "Use Latin letters: “А” cannot be printed."),
    ("A9", "a Cyrillic letter in the domain", "email", "mia@mаrlow.example", PLAIN),
    ("A9", "a Greek letter in the domain", "email", "mia@marlοw.example", PLAIN),
    ("A9", "a password of 10 kB", "password1", "x y" * 3333 + "z", TOO_LONG),
    ("A10", "password1234567", "password1", "password1234567", COMMON),
    ("A10", "shippingportal2026", "password1", "shippingportal2026", COMMON),
    ("A10", "Parcel in digits", "password1", "2026Parcel2026!", COMMON),
    ("B23", "no-reply", "email", "noreply@marlow.example", sender_email.SENTENCES["no_reply"]),
    ("B42", "not acknowledged", "no_dangerous_goods", "", GOODS),
)
def test_a_bad_sign_up_is_refused(name: str, typed: str, message: str) -> None:
    answer = Browser().send(SIGN_UP, {**MIA, name: typed})
    assert messages_at(answer, name) == [message]
    assert not User.objects.exists()
    assert not Sender.objects.exists()
    assert mail.outbox == []


@rows(
    "address, name, others",
    ("A9", "logging in with 10 kB", LOG_IN, "password", {"login": "alice@quill.example"}),
    ("A9", "changing to 10 kB", "/accounts/password/change/", "password1", {"oldpassword": factories.PASSWORD}),
    ("A9", "changing from 10 kB", "/accounts/password/change/", "oldpassword", {"password1": "candle-harbour-violin"}),
)
def test_a_huge_password_is_never_hashed(
    alice: User, monkeypatch: Any, address: str, name: str, others: dict[str, str]
) -> None:
    computed: list[int] = []
    encode = MD5PasswordHasher.encode

    def noting(self: MD5PasswordHasher, password: str, salt: str) -> str:
        computed.append(len(password))
        return encode(self, password, salt)

    monkeypatch.setattr(MD5PasswordHasher, "encode", noting)
    alice.set_password(factories.PASSWORD)
    alice.save()
    browser = Browser() if address == LOG_IN else Browser(alice)
    answer = browser.send(address, {**others, name: "x" * 10_000})
    assert TOO_LONG in messages_at(answer, name)
    assert max(computed) < 100


def enrolled(person: User) -> tuple[Browser, str]:
    """Return a browser that has sent the password and is asked for the code, and the secret behind the codes."""
    person.set_password(factories.PASSWORD)
    person.save()
    secret = factories.second_factor(person)
    browser = Browser()
    browser.send(LOG_IN, {"login": person.email, "password": factories.PASSWORD})
    return browser, secret


def code(secret: str, *, steps: int = 0, digits: int = 6) -> str:
    """Return the code for this many 30-second steps from now."""
    value = hotp_value(secret, int(time.time()) // 30 + steps)
    return format_hotp_value(value).zfill(digits)


@rows(
    "steps, digits",
    ("A11", "two steps late", -2, 6),
    ("A11", "two steps early", 2, 6),
    ("A11", "seven digits", 0, 7),
    ("A11", "an hour late", -120, 6),
)
def test_a_code_for_another_time_or_of_another_length_is_refused(alice: User, steps: int, digits: int) -> None:
    browser, secret = enrolled(alice)
    answer = browser.send(CODE, {"code": code(secret, steps=steps, digits=digits)})
    assert answer.status_code == 200
    assert messages_at(answer, "code")
    assert not logged_in(browser)


@rows("", ("A11", "used in the same step"))
def test_a_code_works_for_one_login_only(alice: User) -> None:
    browser, secret = enrolled(alice)
    now = code(secret)
    assert browser.send(CODE, {"code": now}).status_code == 302
    assert logged_in(browser)
    second = Browser()
    second.send(LOG_IN, {"login": alice.email, "password": factories.PASSWORD})
    assert messages_at(second.send(CODE, {"code": now}), "code")
    assert not logged_in(second)


def logged_in(browser: Browser) -> bool:
    return browser.get("/parcels/").status_code == 200


def _log_out(browser: Browser, person: User) -> None:
    browser.send("/accounts/logout/", {})


def _change_password(browser: Browser, person: User) -> None:
    new = "candle-harbour-violin"
    fields = {"oldpassword": factories.PASSWORD, "password1": new, "password2": new}
    assert browser.send("/accounts/password/change/", fields).status_code == 302
    assert logged_in(browser)  # the person who changed it stays logged in


def _turn_off(browser: Browser, person: User) -> None:
    User.objects.filter(pk=person.pk).update(is_active=False)


@rows(
    "end",
    ("A12", "after logging out", _log_out),
    ("A12", "after a new password", _change_password),
    ("A12", "after being turned off", _turn_off),
)
def test_a_copied_cookie_stops_working_when_the_session_ends(alice: User, end: Any) -> None:
    alice.set_password(factories.PASSWORD)
    alice.save()
    browser, thief = Browser(alice), Browser()
    thief.client.cookies["session"] = browser.client.cookies["session"].value
    assert logged_in(thief)
    end(browser, alice)
    assert not logged_in(thief)


@rows("", ("A13", "same words, same work"))
def test_resetting_a_password_does_not_reveal_who_has_an_account(alice: User) -> None:
    """Each address gets one email: the link, or a note that there is no account."""
    ask_for_a_new_password(alice.email)  # the first of each fills Django's caches
    ask_for_a_new_password("nobody@quill.example")
    known = [ask_for_a_new_password(alice.email) for _ in range(3)]
    unknown = [ask_for_a_new_password("nobody@quill.example") for _ in range(3)]
    assert {answer for answer, _ in known} == {answer for answer, _ in unknown}
    assert abs(min(took for _, took in known) - min(took for _, took in unknown)) < 0.020


def ask_for_a_new_password(address: str) -> tuple[tuple[int, str], float]:
    """Return the response's status and redirect, and the CPU seconds it took."""
    browser = Browser()
    form = f"csrfmiddlewaretoken={browser.token(RESET)}&email={address}".encode()
    mail.outbox.clear()
    began_at = time.process_time()
    answer = browser.send_raw(RESET, form)
    took = time.process_time() - began_at
    assert [message.to for message in mail.outbox] == [[address]]
    return (answer.status_code, answer["Location"]), took
