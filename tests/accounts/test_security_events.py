"""Every change to somebody's login writes one log line and one audit row."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from django.test import Client

from shipping_portal.accounts.login import security_events
from shipping_portal.accounts.models import Audit, User
from tests import factories
from tests.accounts.forms import code

pytestmark = pytest.mark.django_db
Recorded = Callable[[], list[dict[str, Any]]]
NEW = "second@quill.example"


@pytest.fixture
def recorded(caplog: Any) -> Recorded:
    caplog.set_level("INFO", "security")
    return lambda: [record.msg for record in caplog.records if record.name == "security"]


@pytest.fixture
def browser(alice: User) -> Client:
    alice.set_password(factories.PASSWORD)
    alice.save()
    browser = Client()
    browser.post("/accounts/login/", {"login": alice.email, "password": factories.PASSWORD})
    return browser


def confirm(browser: Client) -> None:
    browser.post("/accounts/reauthenticate/", {"password": factories.PASSWORD})


def audited() -> list[str]:
    return list(Audit.objects.order_by("pk").values_list("action", flat=True))


def test_logging_in_and_out_is_recorded(browser: Client, alice: User, recorded: Recorded) -> None:
    browser.post("/accounts/logout/")
    assert audited()[-2:] == ["logged in", "logged out"]
    assert (recorded()[-1]["kind"], recorded()[-1]["user"]) == ("logged out", alice.pk)


def test_a_failure_names_the_account_or_the_hash_of_an_address(alice: User, recorded: Recorded) -> None:
    for email in (alice.email, "Stranger@elsewhere.example", "stranger@elsewhere.example"):
        Client().post("/accounts/login/", {"login": email, "password": "a wrong password"})
    known, one, same = recorded()
    assert (known["user"], known["account"], known["ip"]) == (alice.pk, None, "127.0.0.1")
    assert one["account"] == same["account"] == security_events.hash_of("stranger@elsewhere.example")
    assert "elsewhere" not in json.dumps([known, one, same])


def test_a_stranger_adds_at_most_six_audit_rows_an_hour(alice: User, recorded: Recorded) -> None:
    for _ in range(7):
        Client().post("/accounts/login/", {"login": alice.email, "password": "a wrong password"})
    assert [line["kind"] for line in recorded()] == ["log-in failed"] * 5 + ["log-in slowed down"] * 2
    assert audited() == ["log-in failed", "log-in slowed down"]
    assert set(Audit.objects.values_list("actor", flat=True)) == {None}


def test_adding_changing_and_removing_an_address_emails_the_old_one(
    browser: Client, alice: User, mailoutbox: Any
) -> None:
    old = alice.email
    confirm(browser)
    browser.post("/accounts/email/", {"action_add": "", "email": NEW})
    EmailAddress.objects.filter(email=NEW).update(verified=True)
    browser.post("/accounts/email/", {"action_primary": "", "email": NEW})
    alice.membership.sender.pickup_addresses.update(email=NEW)
    mailoutbox.clear()
    browser.post("/accounts/email/", {"action_remove": "", "email": old})
    assert audited()[1:] == ["log-in address added", "log-in address changed", "log-in address removed"]
    assert sorted(mail.to[0] for mail in mailoutbox) == sorted([old, NEW])
    assert not Audit.objects.filter(reason__contains="@").exists()


def test_changing_how_you_log_in_needs_the_password_again(browser: Client, alice: User) -> None:
    EmailAddress.objects.create(user=alice, email=NEW, verified=True)
    for action, email in (("action_add", "third@quill.example"), ("action_primary", NEW), ("action_remove", NEW)):
        answer = browser.post("/accounts/email/", {action: "", "email": email})
        assert answer["Location"].startswith("/accounts/reauthenticate/"), action
    assert browser.get("/accounts/2fa/totp/activate/")["Location"].startswith("/accounts/reauthenticate/")
    assert list(EmailAddress.objects.values_list("email", "primary")) == [(alice.email, True), (NEW, False)]


@pytest.mark.django_db(transaction=True)  # allauth reports a new second factor after the commit
def test_a_new_password_and_a_second_factor_are_recorded(browser: Client, alice: User, recorded: Recorded) -> None:
    new = "violin-candle-harbour"
    typed = {"oldpassword": factories.PASSWORD, "password1": new, "password2": new}
    confirm(browser)
    browser.post("/accounts/password/change/", typed)
    browser.post("/accounts/reauthenticate/", {"password": new})
    secret = browser.get("/accounts/2fa/totp/activate/").context["form"].secret
    browser.post("/accounts/2fa/totp/activate/", {"code": code(secret)})
    browser.post("/accounts/2fa/recovery-codes/generate/")
    browser.post("/accounts/2fa/totp/deactivate/")
    kinds = [line["kind"] for line in recorded()]
    assert kinds[0] == "password changed"
    assert (
        kinds.count("second factor added") == kinds.count("second factor removed") == 2
    )  # the app and the recovery codes
    assert "recovery codes made anew" in kinds
    assert set(kinds) <= set(audited())


def test_a_wrong_code_and_a_recovery_code_are_recorded(browser: Client, alice: User, recorded: Recorded) -> None:
    factories.second_factor(alice)
    confirm(browser)
    browser.post("/accounts/2fa/recovery-codes/generate/")
    page = browser.get("/accounts/2fa/recovery-codes/")
    one = re.search(r"\b[0-9a-f]{8}\b", page.content.decode().partition("<pre>")[2])
    assert one
    other = Client()
    other.post("/accounts/login/", {"login": alice.email, "password": factories.PASSWORD})
    other.post("/accounts/2fa/authenticate/", {"code": "000000"})
    other.post("/accounts/2fa/authenticate/", {"code": one[0]})
    kinds = [line["kind"] for line in recorded()]
    assert kinds[-3:] == ["second factor failed", "recovery code used", "logged in"]
