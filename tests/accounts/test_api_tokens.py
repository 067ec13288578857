"""API tokens: made on a page, shown once, stored as a hash, and revoked at once by those who may."""

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from shipping_portal.accounts import api_tokens
from shipping_portal.accounts.api_tokens import MOST, NobodyNamed, NotAccepted, find_caller
from shipping_portal.accounts.erasing import purge_api_tokens
from shipping_portal.accounts.login import sessions
from shipping_portal.accounts.models import ApiToken, Audit, User
from shipping_portal.accounts.teams import team
from tests import factories

pytestmark = pytest.mark.django_db
Visit = Callable[[User], Client]
PAGE = "/settings/api-tokens/"


def browser(visit: Visit, person: User) -> Client:
    return factories.gave_password(visit(person), person)  # type: ignore[no-any-return]


def typed(**changes: object) -> dict[str, object]:
    return {"name": "Order desk", "scopes": ["parcels:read"], "days": "90", **changes}


def test_a_token_is_shown_once_and_kept_as_a_hash(visit: Visit, alice: User) -> None:
    client = browser(visit, alice)
    page = client.post(PAGE, typed(), follow=True)
    text = page.context["token"]
    made = ApiToken.objects.get()
    assert text.startswith("portal_")
    assert text in page.content.decode()
    assert text not in client.get(PAGE).content.decode()
    assert made.start == text[: len(made.start)]
    assert len(made.start) < 12
    assert made.token_hash == team.token_hash(text)
    assert text not in str(list(ApiToken.objects.values()) + list(Audit.objects.values()))
    assert (made.user, made.sender, made.made_by) == (alice, alice.membership.sender, alice)
    assert made.ends_at - made.made_at == dt.timedelta(days=90)
    row = Audit.objects.get(action="API token made")
    assert (row.actor, row.sender, row.reason) == (alice, made.sender, "parcels:read; 90 days")
    assert page["Cache-Control"] == "private, no-store"


def test_until_its_page_is_opened_a_new_token_is_encrypted_and_on_no_other_page(visit: Visit, alice: User) -> None:
    client = browser(visit, alice)
    assert client.post(PAGE, typed())["Location"] == PAGE
    assert api_tokens.PREFIX not in str(dict(client.session))
    assert client.get("/settings/webhooks/").context["secret"] == ""
    shown = [client.get(PAGE).context["token"] for _ in range(2)]
    assert (shown[0][:7], shown[1]) == (api_tokens.PREFIX, "")
    assert ApiToken.objects.count() == 1


def test_a_new_token_that_no_key_reads_any_more_is_left_out(visit: Visit, alice: User, settings: Any) -> None:
    client = browser(visit, alice)
    client.post(PAGE, typed())
    settings.ENCRYPTION_KEYS = ["another-key-of-the-partner-after-a-change"]
    page = client.get(PAGE)
    assert (page.status_code, page.context["token"]) == (200, "")


def test_a_role_gets_no_scope_beyond_its_pages(visit: Visit, vic: User) -> None:
    page = browser(visit, vic).post(PAGE, typed(scopes=["parcels:book"]))
    assert page.status_code == 422
    assert page.context["form"].errors["scopes"] == ["Choose one from the page."]
    assert [name for name, _ in page.context["form"].fields["scopes"].choices] == ["parcels:read"]


def test_a_token_without_a_name_or_a_scope_is_not_made(visit: Visit, alice: User) -> None:
    page = browser(visit, alice).post(PAGE, {"days": "7"})
    assert page.status_code == 422
    assert page.context["form"].errors == {
        "name": ["Name the program that uses it."],
        "scopes": ["Choose what it may do."],
        "days": ["Choose one from the page."],
    }
    assert not ApiToken.objects.exists()


def test_a_member_has_at_most_twenty_valid_tokens(visit: Visit, alice: User) -> None:
    for _ in range(MOST - 1):
        factories.api_token(alice)
    factories.api_token(alice, revoked_at=timezone.now())
    client = browser(visit, alice)
    assert client.post(PAGE, typed())["Location"] == PAGE
    page = client.post(PAGE, typed())
    assert page.context["form"].non_field_errors() == ["You have 20 valid tokens. Revoke one first."]


def test_an_owner_sees_and_revokes_everybodys_and_others_their_own(visit: Visit, alice: User, ana: User) -> None:
    hers, other = factories.api_token(alice), factories.api_token(ana)
    assert [row for row, _ in browser(visit, ana).get(PAGE).context["rows"]] == [other]
    assert browser(visit, ana).post(f"{PAGE}{hers.pk}/").status_code == 404
    client = browser(visit, alice)
    assert [row for row, _ in client.get(PAGE).context["rows"]] == [other, hers]
    assert client.post(f"{PAGE}{other.pk}/").status_code == 302
    other.refresh_from_db()
    assert other.revoked_at
    assert Audit.objects.filter(action="API token revoked", actor=alice).count() == 1
    client.post(f"{PAGE}{other.pk}/")
    assert Audit.objects.filter(action="API token revoked").count() == 1


def test_a_stranger_cannot_see_or_revoke_it(visit: Visit, alice: User, bob: User) -> None:
    made = factories.api_token(alice)
    client = browser(visit, bob)
    assert client.get(PAGE).context["rows"] == []
    assert client.post(f"{PAGE}{made.pk}/").status_code == 404
    made.refresh_from_db()
    assert made.revoked_at is None


def found(text: str, acts_for: str = "", *, at: dt.datetime | None = None) -> User:
    return find_caller(text, acts_for, now=at or timezone.now()).member.user


def test_a_members_token_acts_as_that_member(alice: User) -> None:
    made = factories.api_token(alice)
    assert found(made.text) == alice
    with pytest.raises(NobodyNamed, match="Leave out the header"):
        found(made.text, "ana@quill.example")


def test_unknown_ended_and_revoked_tokens_are_not_accepted(alice: User) -> None:
    now = timezone.now()
    with pytest.raises(NotAccepted, match="unknown"):
        found("portal_" + "x" * 43)
    with pytest.raises(NotAccepted, match="ended on"):
        found(factories.api_token(alice, ends_at=now).text, at=now)
    with pytest.raises(NotAccepted, match="was revoked"):
        found(factories.api_token(alice, revoked_at=now).text)


def test_a_token_ends_when_its_person_leaves_the_account(alice: User, ana: User, bob: User) -> None:
    made, other = factories.api_token(ana), factories.api_token(ana)
    team.remove_member(ana.membership, by=alice, now=timezone.now())
    made.refresh_from_db()
    assert made.revoked_at
    ApiToken.objects.filter(pk=other.pk).update(revoked_at=None)
    with pytest.raises(NotAccepted, match="has left"):
        found(other.text)
    factories.member(bob.membership.sender, ana)
    with pytest.raises(NotAccepted, match="has left"):  # it was made for another account
        found(other.text)


def test_a_token_goes_on_after_a_change_of_password_and_the_end_of_all_logins(alice: User) -> None:
    """docs/api.md says so: a shop's program isn't stopped by a person's new password."""
    made = factories.api_token(alice)
    alice.set_password("another-long-passphrase")
    alice.save()
    sessions.end_all(alice)
    assert found(made.text) == alice


def test_a_person_who_may_not_log_in_has_no_token_that_works(alice: User) -> None:
    made = factories.api_token(alice)
    User.objects.filter(pk=alice.pk).update(is_active=False)
    with pytest.raises(NotAccepted):
        found(made.text)
    User.objects.filter(pk=alice.pk).update(is_active=True)
    assert found(made.text)


def test_a_partners_token_acts_for_the_member_it_names(alice: User, bob: User) -> None:
    made = factories.api_token()
    assert found(made.text, "Alice@quill.example ") == alice
    assert found(made.text, "bob@bolts.example") == bob
    for nobody in ("", "nobody@quill.example"):
        with pytest.raises(NobodyNamed):
            found(made.text, nobody)
    alice.emailaddress_set.update(verified=False)
    with pytest.raises(NobodyNamed):
        found(made.text, alice.email)


def test_its_use_is_recorded_once_a_minute(alice: User) -> None:
    made, now = factories.api_token(alice), timezone.now()
    used = []
    for seconds in (0, 59, 61):
        found(made.text, at=now + dt.timedelta(seconds=seconds))
        used.append((ApiToken.objects.get().used_at - now).seconds)
    assert used == [0, 0, 61]


def test_an_operator_makes_a_partners_token_with_a_reason(visit: Visit, sam: User) -> None:
    client = visit(sam)
    url = "/admin/accounts/apitoken/new/"
    assert client.get(url).status_code == 200
    refused = client.post(url, typed(reason="-"))
    assert refused.status_code == 422
    page = client.post(url, typed(reason="Asked for by the partner."), follow=True)
    made = ApiToken.objects.get()
    assert made.is_partners
    assert page.redirect_chain == [(url, 302)]
    assert page.content.decode().count(page.context["token"]) == 1
    assert Audit.objects.get().reason == "parcels:read; 90 days. Asked for by the partner."
    assert client.get("/admin/accounts/apitoken/").context["title"] == "API tokens"


def test_tokens_are_deleted_thirty_days_after_they_ended(alice: User) -> None:
    now = timezone.now()
    for days in (29, 31):
        factories.api_token(alice, ends_at=now - dt.timedelta(days=days))
        factories.api_token(alice, revoked_at=now - dt.timedelta(days=days))
    assert purge_api_tokens(now) == 2
    assert api_tokens.KEPT_DAYS == 30


def test_a_token_is_shown_after_the_password_is_given(alice: User) -> None:
    """The typed values are kept until then, and nothing is created before."""
    alice.set_password(factories.PASSWORD)
    alice.save()
    client = factories.gave_password(Client(), alice, minutes=50)
    client.force_login(alice, backend="allauth.account.auth_backends.AuthenticationBackend")
    asked = client.post(PAGE, typed())
    assert asked["Location"].startswith("/accounts/reauthenticate/")
    assert not ApiToken.objects.exists()
    page = client.post(asked["Location"], {"password": factories.PASSWORD}, follow=True)
    made = ApiToken.objects.get()
    assert page.content.decode().count(made.start) == 2  # in its row, in full
