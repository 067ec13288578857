"""From a stranger to somebody who can book: sign up, verify, log in, first steps."""

import datetime as dt
import re
from typing import Any

import pytest
import time_machine
from allauth.account.adapter import get_adapter
from allauth.account.models import EmailAddress
from django.core import mail
from django.core.exceptions import ValidationError
from django.test import Client

from shipping_portal.accounts.login import forms
from shipping_portal.accounts.models import Audit, Invitation, Membership, Sender, User
from tests import factories
from tests.accounts.forms import MIA, sign_up

pytestmark = pytest.mark.django_db


def link_in_mail(number: int = -1) -> str:
    found = re.search(r"https?://[^/\s]+(/accounts/\S+)", mail.outbox[number].body)
    assert found, mail.outbox[number].body
    return found[1]


def test_a_sign_up_opens_an_account_owned_by_the_person() -> None:
    response = sign_up()
    assert (response.status_code, response["Location"]) == (302, "/accounts/confirm-email/")
    member = Membership.objects.select_related("user", "sender").get()
    assert (member.user.email, member.user.name, member.role) == ("mia@marlow.example", "Mia Marlow", "owner")
    assert (member.sender.name, member.sender.country) == ("Marlow Candles", "AU")
    assert member.sender.zone == "Australia/Sydney"
    assert member.sender.dangerous_goods_acknowledged_at is not None
    assert Audit.objects.get().action == "dangerous goods acknowledged"


def test_two_sign_ups_at_once_with_one_address_open_one_account(monkeypatch: pytest.MonkeyPatch) -> None:
    save = forms.SignUpForm.save

    def save_later(form: forms.SignUpForm, request: Any) -> User:
        monkeypatch.setattr(forms.SignUpForm, "save", save)
        sign_up()
        return save(form, request)

    monkeypatch.setattr(forms.SignUpForm, "save", save_later)
    response = sign_up()
    assert (response.status_code, response["Location"]) == (302, "/accounts/confirm-email/")
    assert (User.objects.count(), Sender.objects.count(), EmailAddress.objects.count()) == (1, 1, 1)


def test_an_american_account_starts_in_an_american_zone() -> None:
    sign_up(country="US")
    assert Sender.objects.get().zone == "America/New_York"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"no_dangerous_goods": ""}, "Tick this to open an account"),
        ({"business": ""}, "Enter the name of your business"),
        ({"email": "noreply@marlow.example"}, "No one reads a no-reply address"),
        ({"email": "x1@privaterelay.appleid.com"}, "hides the real one"),
        ({"email": "mia+100234@marlow.example"}, "made for one order"),
        ({"email": "x@demo.example"}, "kept for the demo"),
        ({"email": "X@Demo.Example"}, "kept for the demo"),
        ({"country": "NZ"}, "Choose one of the countries on the list"),
        ({"password1": "short"}, "at least 12 characters"),
        ({"password1": "password1234567"}, "common word, or your own"),
        ({"password1": "ShippingPortal2026!"}, "common word, or your own"),
        ({"business": "Мир"}, "Latin letters"),
        ({"name": "Mi\x07a"}, "hidden characters"),
    ],
)
def test_an_invalid_sign_up_says_why_and_creates_nothing(changes: dict[str, str], words: str) -> None:
    response = sign_up(**changes)
    assert words in response.content.decode()
    assert not User.objects.exists()
    assert not Sender.objects.exists()


def test_a_business_and_its_owner_are_created_together_or_not_at_all(monkeypatch: Any) -> None:
    def fails(**fields: Any) -> None:
        raise RuntimeError("the disk is full")

    monkeypatch.setattr(Membership.objects, "create", fails)
    with pytest.raises(RuntimeError):
        sign_up()
    assert not User.objects.exists()
    assert not Sender.objects.exists()


def test_the_link_in_the_mail_shows_a_button_and_only_the_button_verifies() -> None:
    browser = Client()
    sign_up(browser)
    link = link_in_mail()
    assert "Yes, verify it" in browser.get(link).content.decode()
    assert not EmailAddress.objects.get().verified  # a mail scanner opens links too
    response = browser.post(link)
    assert EmailAddress.objects.get().verified
    assert response["Location"] == "/start/"
    assert "First steps" in browser.get("/start/").content.decode()


def test_an_expired_link_says_what_to_do() -> None:
    assert "This link has expired" in Client().get("/accounts/confirm-email/abc:def:ghi/").content.decode()


def test_nobody_gets_in_before_the_address_is_verified() -> None:
    sign_up()
    browser = Client()
    response = browser.post("/accounts/login/", {"login": MIA["email"], "password": MIA["password1"]})
    assert response["Location"] == "/accounts/confirm-email/"
    assert browser.get("/start/").status_code == 302


@pytest.mark.parametrize("is_verified", [True, False])
def test_signing_up_twice_reveals_nothing_to_a_stranger(is_verified: bool) -> None:
    first = sign_up()
    EmailAddress.objects.update(verified=is_verified)
    second = sign_up(name="Mallory", business="Elsewhere", password1="another-long-secret")
    assert (second.status_code, second["Location"]) == (first.status_code, first["Location"])
    assert User.objects.get().name == "Mia Marlow"
    assert Sender.objects.get().name == "Marlow Candles"


def log_in(browser: Client, person: User, *, remember: bool = False, **extra: Any) -> Any:
    fields = {"login": person.email, "password": factories.PASSWORD} | ({"remember": "on"} if remember else {})
    return browser.post("/accounts/login/", fields, **extra)


def say_the_password_again(browser: Client) -> None:
    assert browser.post("/accounts/reauthenticate/", {"password": factories.PASSWORD}).status_code == 302


@pytest.fixture
def alice_with_password(alice: User) -> User:
    alice.set_password(factories.PASSWORD)
    alice.save()
    return alice


def test_a_member_lands_on_parcels_and_an_owner_without_a_pickup_address_on_the_first_steps(
    alice_with_password: User, quill: Sender
) -> None:
    assert log_in(Client(), alice_with_password)["Location"] == "/today/"
    quill.pickup_addresses.all().delete()
    assert log_in(Client(), alice_with_password)["Location"] == "/start/"


def test_somebody_without_an_account_reads_that(alice_with_password: User) -> None:
    Membership.objects.all().delete()
    browser = Client()
    assert log_in(browser, alice_with_password)["Location"] == "/help/no-account/"
    assert "part of a business account yet" in browser.get("/help/no-account/").content.decode()


def test_a_wrong_password_and_an_unknown_address_read_the_same(alice_with_password: User) -> None:
    wrong = Client().post("/accounts/login/", {"login": alice_with_password.email, "password": "x" * 12})
    unknown = Client().post("/accounts/login/", {"login": "nobody@quill.example", "password": "x" * 12})
    for response in (wrong, unknown):
        assert "That email and password don&#x27;t match" in response.content.decode()


def test_a_login_and_a_failed_one_each_log_one_line_without_the_address(alice_with_password: User, caplog: Any) -> None:
    caplog.set_level("INFO", "security")
    log_in(Client(), alice_with_password)
    Client().post("/accounts/login/", {"login": alice_with_password.email, "password": "x" * 12})
    said = [record.msg["kind"] for record in caplog.records if record.name == "security"]
    assert said == ["logged in", "log-in failed"]
    assert alice_with_password.email not in caplog.text


def test_the_next_page_is_never_on_another_site(alice_with_password: User) -> None:
    for elsewhere in ("//evil.example", "https://evil.example", "javascript:alert(1)"):
        fields = {"login": alice_with_password.email, "password": factories.PASSWORD, "next": elsewhere}
        assert Client().post("/accounts/login/", fields)["Location"] == "/today/"


def test_a_client_cannot_dodge_the_throttle_by_naming_another_address(settings: Any, rf: Any) -> None:
    request = rf.get("/", HTTP_X_FORWARDED_FOR="6.6.6.6, 203.0.113.9", REMOTE_ADDR="10.0.0.1")
    expected = {0: "10.0.0.1", 1: "203.0.113.9", 2: "6.6.6.6", 3: "10.0.0.1"}
    for count, address in expected.items():
        settings.TRUSTED_PROXY_COUNT = count
        assert get_adapter().get_client_ip(request) == address


def test_a_password_can_be_reset_by_email(alice_with_password: User) -> None:
    browser = Client()
    browser.post("/accounts/password/reset/", {"email": alice_with_password.email})
    page = browser.get(link_in_mail(), follow=True)
    browser.post(
        page.redirect_chain[-1][0], {"password1": "violin-candle-harbour", "password2": "violin-candle-harbour"}
    )
    alice_with_password.refresh_from_db()
    assert alice_with_password.check_password("violin-candle-harbour")


@pytest.mark.parametrize("email", ["mia+2@marlow.example", "order-12@marlow.example", "mia@k\u00e4rzen.example"])
def test_an_address_that_could_not_sign_up_today_still_gets_its_link(alice_with_password: User, email: str) -> None:
    """Somebody may have joined by an invitation, or before the rule."""
    User.objects.update(email=email)
    EmailAddress.objects.update(email=email)
    answer = Client().post("/accounts/password/reset/", {"email": email.upper()})
    assert (answer.status_code, mail.outbox[0].to) == (302, [email])


def test_demo_users_cannot_log_in_outside_the_demo(settings: Any) -> None:
    person = factories.user("mia@demo.example")
    person.set_password(factories.PASSWORD)
    person.save()
    assert log_in(Client(), person)["Location"] == "/accounts/inactive/"
    settings.DEMO = True
    assert log_in(Client(), person)["Location"] == "/help/no-account/"


def test_a_demo_address_cannot_be_added_or_invited_outside_the_demo(alice_with_password: User, settings: Any) -> None:
    browser = Client()
    log_in(browser, alice_with_password)
    add = {"action_add": "", "email": "x@demo.example"}
    assert "kept for the demo" in browser.post("/accounts/email/", add).content.decode()
    invite = {"email": "x@demo.example", "role": "shipper"}
    say_the_password_again(browser)
    answer = browser.post("/settings/team/", invite)
    assert (answer.status_code, "kept for the demo" in answer.content.decode()) == (422, True)
    assert not EmailAddress.objects.filter(email="x@demo.example").exists()
    assert not Invitation.objects.exists()
    settings.DEMO = True
    assert browser.post("/settings/team/", invite).status_code == 302


@pytest.mark.parametrize(
    "address",
    [
        "login",
        "signup",
        "password/reset",
        "confirm-email",
        "password/reset/done",
        "inactive",
        "password/reset/key/done",
    ],
)
def test_the_pages_around_logging_in_are_ours(address: str) -> None:
    page = Client().get(f"/accounts/{address}/").content.decode()
    assert 'class="skip"' in page
    assert "placeholder" not in page.partition("<main")[2]


@pytest.mark.parametrize("address", ["email", "password/change", "2fa", "logout", "reauthenticate"])
def test_the_pages_about_your_login_are_ours(address: str, alice_with_password: User) -> None:
    browser = Client()
    log_in(browser, alice_with_password)
    page = browser.get(f"/accounts/{address}/").content.decode()
    assert 'class="skip"' in page
    assert "placeholder" not in page.partition("<main")[2]


def test_an_address_on_labels_cannot_be_removed_from_the_login(alice_with_password: User) -> None:
    EmailAddress.objects.create(user=alice_with_password, email="second@quill.example", verified=True)
    alice_with_password.membership.sender.pickup_addresses.update(email="second@quill.example")
    browser = Client()
    log_in(browser, alice_with_password)
    say_the_password_again(browser)
    remove = {"action_remove": "", "email": "second@quill.example"}
    assert "is on your labels" in browser.post("/accounts/email/", remove, follow=True).content.decode()
    alice_with_password.membership.sender.pickup_addresses.update(email="alice@quill.example")
    browser.post("/accounts/email/", remove)
    assert not EmailAddress.objects.filter(email="second@quill.example").exists()


def test_help_is_open_to_everybody() -> None:
    for page in ("", "contact/", "dangerous-goods/", "accessibility/", "terms/", "no-account/"):
        assert Client().get(f"/help/{page}").status_code == 200


def test_the_root_url_leads_to_the_login_or_to_your_own_page(alice: User, sam: User, visit: Any) -> None:
    assert Client().get("/")["Location"] == "/accounts/login/"
    assert visit(alice).get("/")["Location"] == "/today/"
    assert visit(sam).get("/")["Location"] == "/admin/"


def test_only_an_owner_is_sent_to_the_first_steps(ana: User, quill: Sender, visit: Any) -> None:
    quill.pickup_addresses.all().delete()
    assert visit(ana).get("/")["Location"] == "/today/"


def test_an_address_on_the_labels_of_another_account_can_be_removed(alice_with_password: User, bob: User) -> None:
    EmailAddress.objects.create(user=alice_with_password, email="second@quill.example", verified=True)
    bob.membership.sender.pickup_addresses.update(email="second@quill.example")
    browser = Client()
    log_in(browser, alice_with_password)
    say_the_password_again(browser)
    browser.post("/accounts/email/", {"action_remove": "", "email": "second@quill.example"})
    assert not EmailAddress.objects.filter(email="second@quill.example").exists()


def test_the_first_operator_can_log_in_before_email_works(db: None, mailoutbox: Any) -> None:
    User.objects.create_superuser("Ops@portal.example", "violet-anchor-moss")
    answer = Client().post("/accounts/login/", {"login": "ops@portal.example", "password": "violet-anchor-moss"})
    assert answer["Location"] == "/admin/"
    assert mailoutbox == []


def test_the_first_operator_needs_an_operators_password(db: None) -> None:
    with pytest.raises(ValidationError, match="at least 15"):
        User.objects.create_superuser("ops@portal.example", "violet-anchor")
    assert not User.objects.exists()


def test_a_known_address_takes_as_long_to_sign_up_as_a_new_one(monkeypatch: pytest.MonkeyPatch) -> None:
    hashed: list[str] = []
    monkeypatch.setattr(forms, "make_password", hashed.append)
    sign_up()
    assert hashed == []
    sign_up(password1="another-long-secret")
    assert hashed == ["another-long-secret"]


@pytest.mark.parametrize(("minutes", "works"), [(59, True), (61, False)])
def test_a_link_to_set_a_new_password_works_for_an_hour(alice_with_password: User, minutes: int, works: bool) -> None:
    Client().post("/accounts/password/reset/", {"email": alice_with_password.email})
    link = link_in_mail()
    with time_machine.travel(dt.datetime.now(dt.UTC) + dt.timedelta(minutes=minutes)):
        page = Client().get(link, follow=True)
    assert ("password1" in page.content.decode()) is works
