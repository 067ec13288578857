"""Between the two steps of a login, unconfirmed sign-ups, and links in our emails."""

import datetime as dt
import re
from collections.abc import Callable

import pytest
from allauth.account.models import EmailAddress
from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value, yield_hotp_counters_from_time
from django.core import mail
from django.test import Client
from django.utils import timezone

from shipping_portal.accounts import erasing
from shipping_portal.accounts.models import Audit, Membership, Sender, User
from shipping_portal.accounts.models.audit import subject_of
from shipping_portal.accounts.teams import team
from tests import factories

pytestmark = pytest.mark.django_db
NEW = "violin-candle-harbour"
SIGN_UP = {
    "name": "Mallory", "business": "Squatters", "email": "wren@quill.example", "password1": "violet-anchor-moss",
    "country": "AU", "no_dangerous_goods": "on",
}  # fmt: skip


def code_of(secret: str) -> str:
    return format_hotp_value(hotp_value(secret, next(yield_hotp_counters_from_time())))


@pytest.mark.parametrize(("changes", "leads_to"), [(False, "/today/"), (True, "/accounts/login/")])
def test_a_login_started_before_a_password_change_ends_with_it(alice: User, changes: bool, leads_to: str) -> None:
    secret = factories.second_factor(alice)
    alice.set_password(factories.PASSWORD)
    alice.save()
    browser = Client()
    asked = browser.post("/accounts/login/", {"login": alice.email, "password": factories.PASSWORD})
    assert asked["Location"].startswith("/accounts/2fa/authenticate/")
    if changes:
        alice.set_password(NEW)
        alice.save()
    done = browser.post("/accounts/2fa/authenticate/", {"code": code_of(secret)})
    assert done["Location"].startswith(leads_to)
    assert (browser.get("/parcels/").status_code == 200) is not changes
    again = browser.post("/accounts/2fa/authenticate/", {"code": code_of(secret)})
    assert again.status_code == 302
    assert (browser.get("/parcels/").status_code == 200) is not changes


@pytest.mark.parametrize("host", ["portal.example:8080", "portal.example."])
@pytest.mark.parametrize("url", ["/accounts/password/reset/", "/accounts/signup/"])
def test_a_link_in_an_email_leads_to_the_portals_own_address(
    alice: User, settings: object, host: str, url: str
) -> None:
    settings.ALLOWED_HOSTS, settings.SITE_URL = ["portal.example"], "https://portal.example"  # type: ignore[attr-defined]
    for email in (alice.email, "nobody@quill.example"):
        Client().post(url, {**SIGN_UP, "email": email}, headers={"host": host})
    links = [link for letter in mail.outbox for link in re.findall(r"https?://[^\s/]+", letter.body)]
    assert len(mail.outbox) == 2
    assert set(links) == {"https://portal.example"}


def sign_up() -> User:
    Client().post("/accounts/signup/", SIGN_UP)
    return User.objects.get(email=SIGN_UP["email"])


def test_an_invited_person_can_join_though_a_stranger_signed_up_with_their_address(quill: Sender, alice: User) -> None:
    squatter = sign_up()
    opened = squatter.membership.sender
    mail.outbox.clear()
    team.invite_person(quill, SIGN_UP["email"], "shipper", by=alice, now=timezone.now())
    link = re.findall(r"https?://[^/]+(/\S+)", mail.outbox[0].body)[0]
    browser = Client()
    assert 'name="password"' in browser.get(link).content.decode()
    browser.post(link, {"name": "Wren Sato", "password": NEW})
    member = Membership.objects.get(user__email=SIGN_UP["email"])
    assert (member.sender, member.user.name) == (quill, "Wren Sato")
    assert browser.get("/parcels/").status_code == 200
    opened.refresh_from_db()
    assert (opened.name, opened.memberships.count()) == (f"Closed account {opened.number}", 0)
    assert Audit.objects.filter(action="unconfirmed sign-up erased").count() == 1


@pytest.mark.parametrize(("hours", "is_gone"), [(24, False), (25, False), (26, True)])
def test_an_unconfirmed_sign_up_ends_after_a_day(quill: Sender, alice: User, hours: int, is_gone: bool) -> None:
    person = sign_up()
    User.objects.update(date_joined=timezone.now() - dt.timedelta(hours=hours) + dt.timedelta(minutes=1))
    assert erasing.purge_unconfirmed(timezone.now()) == is_gone
    person.refresh_from_db()
    assert (person.email == SIGN_UP["email"]) is not is_gone
    rows = Audit.objects.filter(action="unconfirmed sign-up erased").values_list("subject", "actor")
    assert list(rows) == [(subject_of(person), None)] * is_gone
    assert User.objects.get(pk=alice.pk).email == alice.email


@pytest.mark.parametrize(
    "differs",
    [
        lambda person: EmailAddress.objects.filter(user=person).update(verified=True),
        lambda person: User.objects.filter(pk=person.pk).update(last_login=timezone.now()),
        lambda person: User.objects.filter(pk=person.pk).update(is_staff=True),
    ],
)
def test_nobody_else_is_deleted_with_them(differs: Callable[[User], object]) -> None:
    person = sign_up()
    User.objects.update(date_joined=timezone.now() - dt.timedelta(days=9))
    differs(person)
    assert erasing.purge_unconfirmed(timezone.now()) == 0
    assert User.objects.get(pk=person.pk).email == SIGN_UP["email"]


@pytest.mark.parametrize(("given", "leads_to"), [("Zora Canaryname", "/today/"), ("/watch/", "/watch/")])
def test_a_login_redirects_only_to_a_path(alice: User, given: str, leads_to: str) -> None:
    browser = Client()
    browser.force_login(alice, backend="allauth.account.auth_backends.AuthenticationBackend")
    assert browser.get("/accounts/login/", {"next": given})["Location"] == leads_to
