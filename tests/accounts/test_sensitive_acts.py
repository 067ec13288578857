"""Actions a borrowed browser must not do. Each asks an owner for the password again (docs/security/access.md)."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from shipping_portal.accounts.login.session_store import SessionStore
from shipping_portal.accounts.models import ApiToken, Invitation, Sender, Session, User, WebhookEndpoint
from shipping_portal.exporting.models import Export
from tests import factories
from tests.access import things_of

pytestmark = pytest.mark.django_db
BACKEND = "allauth.account.auth_backends.AuthenticationBackend"

ACTS: dict[str, tuple[str, str, dict[str, str]]] = {
    "invite": ("POST", "/settings/team/", {"email": "new1@quill.example", "role": "owner"}),
    "resend an invitation": ("POST", "/settings/team/invitations/{invitation.uuid}/", {"resend": ""}),
    "revoke an invitation": ("POST", "/settings/team/invitations/{invitation.uuid}/", {"revoke": ""}),
    "change a role": ("POST", "/settings/team/members/{member.pk}/", {"role": "owner"}),
    "remove": ("POST", "/settings/team/members/{member.pk}/", {"remove": ""}),
    "drop the second factor": ("POST", "/settings/team/second-factor/", {"needed": "no"}),
    "make a token": ("POST", "/settings/api-tokens/", {"name": "Shop", "scopes": "parcels:read", "days": "90"}),
    "revoke a token": ("POST", "/settings/api-tokens/{token.pk}/", {}),
    "add a webhook endpoint": ("POST", "/settings/webhooks/", {"url": "https://shop.example/", "kinds": "order"}),
    "rotate a webhook's secret": ("POST", "/settings/webhooks/{endpoint.pk}/secret/", {}),
    "remove a webhook endpoint": ("POST", "/settings/webhooks/{endpoint.pk}/change/", {"remove": ""}),
    "pack everything": ("POST", "/settings/data/everything/", {}),
    "download everything": ("GET", "/exports/{everything.uuid}/file.zip", {}),
    "raise the limits": ("POST", "/settings/limits/", {"own_bookings_a_day": ""}),
    "close the account": ("POST", "/settings/data/close/", {"number": "{sender.number}"}),
    "add an address": ("POST", "/accounts/email/", {"action_add": "", "email": "third@quill.example"}),
    "set up a second factor": ("GET", "/accounts/2fa/totp/activate/", {}),
    "read recovery codes": ("GET", "/accounts/2fa/recovery-codes/generate/", {}),
}


@pytest.fixture
def things(quill: Sender, alice: User, ana: User) -> dict[str, Any]:
    alice.set_password(factories.PASSWORD)
    alice.save()
    quill.needs_second_factor = False
    quill.save()
    things = things_of(quill, alice) | {"member": ana.membership, "sender": quill}
    return things | {"everything": factories.export(quill, alice)}


def browser_of(person: User, *, minutes: float) -> Client:
    """Return the browser of somebody who entered the password this long ago."""
    client = Client()
    client.force_login(person, backend=BACKEND)
    return factories.gave_password(client, person, minutes=minutes)  # type: ignore[no-any-return]


def do(act: str, things: dict[str, Any], browser: Client) -> Any:
    method, url, fields = ACTS[act]
    values = {name: value.format(**things) for name, value in fields.items()}
    return (
        browser.generic(method, url.format(**things)) if method == "GET" else browser.post(url.format(**things), values)
    )


@pytest.mark.parametrize("act", ACTS)
def test_after_fifty_minutes_an_action_needs_the_password_first(act: str, things: dict[str, Any], alice: User) -> None:
    rows = [list(model.objects.values()) for model in (Invitation, Export, ApiToken, WebhookEndpoint)]
    answer = do(act, things, browser_of(alice, minutes=50))
    assert (answer.status_code, answer.get("Location", "")[:25]) == (302, "/accounts/reauthenticate/"), act
    assert [list(model.objects.values()) for model in (Invitation, Export, ApiToken, WebhookEndpoint)] == rows


@pytest.mark.parametrize("act", [act for act in ACTS if "add" not in act and "recovery" not in act])
def test_right_after_the_password_an_action_does_not_need_it_again(
    act: str, things: dict[str, Any], alice: User
) -> None:
    answer = do(act, things, browser_of(alice, minutes=1))
    assert not answer.get("Location", "").startswith("/accounts/reauthenticate/"), act


def test_an_error_shown_after_the_password_keeps_the_pages_links(things: dict[str, Any], alice: User) -> None:
    browser = browser_of(alice, minutes=50)
    asked = browser.post("/settings/team/", {"email": "no address", "role": "owner"})
    shown = browser.post(asked["Location"], {"password": factories.PASSWORD})
    assert (shown.status_code, "All activity" in shown.content.decode()) == (422, True)
    assert shown.request["PATH_INFO"] == "/accounts/reauthenticate/"
    assert 'href="/settings/team/?activity=all#activity-title"' in shown.content.decode()


def test_the_typed_action_is_done_after_the_password_is_given(
    things: dict[str, Any], alice: User, quill: Sender
) -> None:
    browser = browser_of(alice, minutes=50)
    asked = do("invite", things, browser)
    kept = SessionStore().decode(Session.objects.get(whose=alice.pk).session_data)
    assert "account_reauthentication_state" in kept
    assert browser.cookies["session"].value not in str(kept)  # reading the table is not enough to log in
    done = browser.post(asked["Location"], {"password": factories.PASSWORD}, follow=True)
    assert done.status_code == 200
    assert quill.invitations.filter(email="new1@quill.example", role="owner").count() == 1


@pytest.mark.parametrize(
    "act", ["make a token", "add a webhook endpoint", "invite", "raise the limits", "close the account"]
)
@pytest.mark.parametrize("is_right", [True, False])
def test_the_page_after_the_password_posts_to_itself(
    act: str, is_right: bool, things: dict[str, Any], alice: User
) -> None:
    """The page is shown at the URL that asked for the password, so a form without an action would post there."""
    browser, (_, url, fields) = browser_of(alice, minutes=50), ACTS[act]
    sent = fields if is_right else dict.fromkeys(fields, "-")
    asked = browser.post(url, {name: value.format(**things) for name, value in sent.items()})
    page = browser.post(asked["Location"], {"password": factories.PASSWORD}).getvalue().decode()
    forms = re.findall(r"<form[^>]*>", page)
    assert [form for form in forms if "post" in form and 'action="/' not in form] == []
    assert bool(forms) or is_right


def test_a_proof_pack_of_one_parcel_does_not_ask(
    things: dict[str, Any], alice: User, visit: Callable[[User], Client]
) -> None:
    answer = browser_of(alice, minutes=50).get(f"/exports/{things['export'].uuid}/file.zip")
    assert answer.status_code == 200
