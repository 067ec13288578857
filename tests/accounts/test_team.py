"""Team: who is invited, who joins, who leaves; one owner always stays."""

import datetime as dt
import re
from collections.abc import Callable
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from django.core import mail
from django.db import IntegrityError, connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from shipping_portal.accounts.models import Audit, Invitation, Membership, Sender, User
from shipping_portal.accounts.teams import people, team
from shipping_portal.refused import Refused
from tests import factories
from tests.pages.typed import messages_at, text, value_of

pytestmark = pytest.mark.django_db

URL = "/settings/team/"
NEW = "wren@quill.example"
PASSWORD = "a-long-enough-passphrase"


@pytest.fixture
def page(alice: User, visit: Callable[[User], Client]) -> Client:
    return visit(alice)


def invite(page: Client, email: str = NEW, role: str = "shipper") -> str:
    """Send an invitation. Return the path of its link."""
    page.post(URL, {"email": email, "role": role})
    found = re.findall(r"https?://[^/]+(/\S+)", mail.outbox[-1].body)
    assert len(found) == 1
    return str(found[0])


def test_somebody_new_joins_by_name_and_password(page: Client, quill: Sender) -> None:
    link, browser = invite(page), Client()
    assert "Alice Quill invites wren@quill.example as shipper" in text(browser.get(link))
    browser.post(link, {"name": "Wren Sato", "password": PASSWORD})
    member = Membership.objects.get(user__email=NEW)
    assert (member.sender, member.role, member.user.name) == (quill, "shipper", "Wren Sato")
    assert browser.get("/parcels/").status_code == 200


@pytest.mark.parametrize("email", ["wren@quіll.example", "no-reply@quill.example", "order-100@quill.example"])
def test_an_address_that_could_not_sign_up_is_not_invited_either(page: Client, email: str) -> None:
    answer = page.post(URL, {"email": email, "role": "shipper"})
    assert (answer.status_code, value_of(answer, "email"), mail.outbox) == (422, email, [])
    assert len(messages_at(answer, "email")) == 1
    assert not Invitation.objects.exists()


def test_an_operator_joins_no_account(page: Client, quill: Sender, sam: User) -> None:
    invite(page, sam.email)
    with pytest.raises(Refused):
        team.accept_invitation(Invitation.objects.get(), sam, now=timezone.now())
    assert not Membership.objects.filter(user=sam).exists()


def test_opening_the_link_accepts_nothing(page: Client) -> None:
    Client().get(invite(page))
    assert not User.objects.filter(email=NEW).exists()


def test_opening_the_link_while_logged_in_accepts_nothing_and_the_button_does(
    page: Client, visit: Callable[[User], Client]
) -> None:
    link, wren = invite(page), factories.user(NEW)
    browser = visit(wren)
    assert "as shipper" in text(browser.get(link))
    assert not Membership.objects.filter(user=wren).exists()
    browser.post(link)
    assert Membership.objects.get(user=wren).role == "shipper"


def test_the_database_and_the_audit_log_have_no_token(page: Client) -> None:
    token = invite(page).split("/")[-2]
    stored = repr(list(Invitation.objects.values())) + repr(list(Audit.objects.values()))
    assert token not in stored


def test_a_link_works_once(page: Client) -> None:
    link = invite(page)
    Client().post(link, {"name": "Wren Sato", "password": PASSWORD})
    again = Client().get(link)
    assert again.status_code == 410
    assert "It was accepted already." in text(again)


def test_a_link_expires_after_72_hours(page: Client) -> None:
    link = invite(page)
    Invitation.objects.update(expires_at=timezone.now() - dt.timedelta(seconds=1))
    assert Client().post(link, {"name": "Wren", "password": PASSWORD}).status_code == 410
    assert not User.objects.filter(email=NEW).exists()


def test_a_revoked_link_no_longer_works(page: Client) -> None:
    link = invite(page)
    page.post(f"{URL}invitations/{Invitation.objects.get().uuid}/", {"revoke": "1"})
    assert Client().get(link).status_code == 410


def test_sending_again_makes_a_new_link_and_ends_the_old_one(page: Client) -> None:
    old = invite(page)
    page.post(f"{URL}invitations/{Invitation.objects.get().uuid}/", {"resend": "1"})
    assert Client().get(old).status_code == 410
    assert Invitation.objects.filter(accepted_at=None, revoked_at=None).count() == 1


def test_a_second_press_sends_no_second_link(page: Client) -> None:
    link = invite(page)
    assert page.post(URL, {"email": NEW, "role": "shipper"})["Location"] == URL
    assert (Client().get(link).status_code, len(mail.outbox)) == (200, 1)
    assert Invitation.objects.count() == 1
    invite(page, role="viewer")  # another role is meant
    Invitation.objects.update(created_at=timezone.now() - team.SAME_PRESS)
    invite(page, role="viewer")
    assert len(mail.outbox) == 3


def test_sending_again_twice_at_once_sends_one_link(quill: Sender, alice: User) -> None:
    now = timezone.now()
    first = team.invite_person(quill, NEW, "viewer", by=alice, now=now)
    # Both requests have found the first one open.
    made = [team.invite_person(quill, NEW, "viewer", by=alice, now=now, replaces=first.pk) for _ in range(2)]
    assert (made[0], len(mail.outbox)) == (made[1], 2)
    assert made[0] != first


def test_a_weak_password_is_refused_at_the_field(page: Client) -> None:
    answer = Client().post(invite(page), {"name": "Wren", "password": "short"})
    assert answer.status_code == 422
    assert "at least 12 characters" in text(answer)
    assert not User.objects.filter(email=NEW).exists()


def test_somebody_with_a_login_logs_in_first(page: Client, visit: Callable[[User], Client], quill: Sender) -> None:
    known = factories.user(NEW, name="Wren Sato")
    link = invite(page)
    assert "Log in to join" in text(Client().get(link))
    assert visit(known).post(link).status_code == 302
    assert Membership.objects.get(user=known).sender == quill


def test_an_invitation_is_for_its_own_address_only(page: Client, visit: Callable[[User], Client]) -> None:
    link, browser = invite(page), visit(factories.user("other@quill.example"))
    refusal = "This invitation is for wren@quill.example. Log out, then open its link again."
    answer = browser.post(link)
    assert answer.status_code == 409
    assert refusal in text(answer)
    opened = browser.get(link)
    assert refusal in text(opened)
    assert "<button" not in opened.content.decode().split("<main")[1]  # none that would be refused


def test_somebody_of_another_account_reads_that_before_any_button(
    page: Client, bob: User, visit: Callable[[User], Client]
) -> None:
    opened = visit(bob).get(invite(page, email=bob.email))
    assert "You already belong to another account." in text(opened)
    assert "<button" not in opened.content.decode().split("<main")[1]


def test_one_person_belongs_to_one_account(page: Client, bob: User, visit: Callable[[User], Client]) -> None:
    answer = visit(bob).post(invite(page, email=bob.email))
    assert answer.status_code == 409
    assert Membership.objects.get(user=bob).sender.name == "Bob's Bolts"


def test_a_team_member_is_not_invited_again(page: Client, ana: User) -> None:
    answer = page.post(URL, {"email": ana.email.upper(), "role": "viewer"})
    assert (answer.status_code, len(mail.outbox)) == (422, 0)


def test_at_most_twenty_invitations_are_open(page: Client, quill: Sender, alice: User) -> None:
    for number in range(team.MOST_OPEN):
        team.invite_person(quill, f"p{number}@quill.example", "viewer", by=alice, now=timezone.now())
    assert "20 invitations are open." in text(page.post(URL, {"email": NEW, "role": "viewer"}))


def test_an_invited_person_can_be_invited_again_however_many_are_open(
    page: Client, quill: Sender, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(team, "MOST_OPEN", 1)
    team.invite_person(quill, NEW, "viewer", by=alice, now=timezone.now())
    assert page.post(URL, {"email": NEW, "role": "shipper"}).status_code == 302


@pytest.mark.parametrize("over", ["accepted_at", "revoked_at"])
@pytest.mark.parametrize("press", ["resend", "revoke"])
def test_an_ended_invitation_is_neither_sent_again_nor_revoked(
    page: Client, quill: Sender, alice: User, over: str, press: str
) -> None:
    team.invite_person(quill, NEW, "viewer", by=alice, now=timezone.now())
    Invitation.objects.update(**{over: timezone.now()})
    mail.outbox.clear()
    answer = page.post(f"{URL}invitations/{Invitation.objects.get().uuid}/", {press: "1"})
    assert (answer.status_code, len(mail.outbox)) == (404, 0)


def test_only_links_that_still_work_count_as_open(
    page: Client, quill: Sender, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(team, "MOST_OPEN", 1)
    now = timezone.now()
    over = [{"accepted_at": now}, {"revoked_at": now}, {"expires_at": now - dt.timedelta(seconds=1)}]
    for number, change in enumerate(over):
        team.invite_person(quill, f"p{number}@quill.example", "viewer", by=alice, now=now)
        Invitation.objects.filter(email=f"p{number}@quill.example").update(**change)
    assert page.post(URL, {"email": NEW, "role": "viewer"}).status_code == 302


def test_inviting_somebody_again_does_not_change_what_they_accepted_before(quill: Sender, alice: User) -> None:
    now = timezone.now()
    team.invite_person(quill, NEW, "viewer", by=alice, now=now)
    Invitation.objects.update(accepted_at=now)
    team.invite_person(quill, NEW, "viewer", by=alice, now=now)
    assert Invitation.objects.get(accepted_at=now).revoked_at is None


def test_a_removed_member_is_logged_out_at_once(page: Client, ana: User, visit: Callable[[User], Client]) -> None:
    hers = visit(ana)
    page.post(f"{URL}members/{ana.membership.pk}/", {"remove": "1"})
    assert not Membership.objects.filter(user=ana).exists()
    assert hers.get("/parcels/")["Location"].startswith("/accounts/login/")


@pytest.mark.parametrize("change", [{"remove": "1"}, {"role": "viewer"}])
def test_the_last_owner_stays(page: Client, alice: User, change: dict[str, str]) -> None:
    answer = page.post(f"{URL}members/{alice.membership.pk}/", change, follow=True)
    assert Membership.objects.get(user=alice).role == "owner"
    assert "An account needs an owner." in text(answer)


def test_with_two_owners_one_may_step_down(page: Client, alice: User, ana: User) -> None:
    page.post(f"{URL}members/{ana.membership.pk}/", {"role": "owner"})
    page.post(f"{URL}members/{alice.membership.pk}/", {"role": "viewer"})
    assert Membership.objects.get(user=alice).role == "viewer"


def test_somebody_who_steps_down_goes_to_today_and_an_owner_back_to_the_team(
    page: Client, alice: User, ana: User
) -> None:
    change = f"{URL}members/{ana.membership.pk}/"
    assert page.post(change, {"role": "owner"})["Location"] == URL
    mine = page.post(f"{URL}members/{alice.membership.pk}/", {"role": "viewer"})
    assert mine["Location"] == "/"


def test_an_owner_who_cannot_log_in_does_not_count_as_the_last_one(page: Client, alice: User, ana: User) -> None:
    page.post(f"{URL}members/{ana.membership.pk}/", {"role": "owner"})
    User.objects.filter(pk=ana.pk).update(is_active=False)
    page.post(f"{URL}members/{alice.membership.pk}/", {"role": "viewer"})
    assert Membership.objects.get(user=alice).role == "owner"


@pytest.mark.parametrize("change", [{"remove": "1"}, {"role": "viewer"}])
def test_invitations_of_a_former_owner_no_longer_work(
    page: Client, alice: User, ana: User, visit: Callable[[User], Client], change: dict[str, str]
) -> None:
    kept = invite(page, "kept@quill.example")
    page.post(f"{URL}members/{ana.membership.pk}/", {"role": "owner"})
    link = invite(visit(ana), "backdoor@elsewhere.example")
    page.post(f"{URL}members/{ana.membership.pk}/", change)
    assert Client().get(link).status_code == 410
    assert Client().get(kept).status_code == 200


@pytest.mark.parametrize("change", [{"remove": "1"}, {"role": "viewer"}])
def test_a_former_owners_link_stays_invalid_when_they_become_an_owner_again(
    page: Client, quill: Sender, ana: User, visit: Callable[[User], Client], change: dict[str, str]
) -> None:
    page.post(f"{URL}members/{ana.membership.pk}/", {"role": "owner"})
    link = invite(visit(ana), "backdoor@elsewhere.example")
    page.post(f"{URL}members/{ana.membership.pk}/", change)
    Membership.objects.update_or_create(user=ana, defaults={"sender": quill, "role": "owner"})
    assert Client().get(link).status_code == 410


def test_a_link_of_an_owner_with_a_disabled_login_is_invalid(
    page: Client, alice: User, ana: User, sam: User, visit: Callable[[User], Client]
) -> None:
    page.post(f"{URL}members/{ana.membership.pk}/", {"role": "owner"})
    link = invite(visit(ana), "backdoor@elsewhere.example", role="owner")
    people.set_active(ana, is_active=False, by=sam, reason="asked to", now=timezone.now())
    assert Client().get(link).status_code == 410
    assert Client().post(link, {"name": "Wren", "password": PASSWORD}).status_code == 410
    with pytest.raises(Refused):
        team.accept_invitation(
            Invitation.objects.get(), factories.user("backdoor@elsewhere.example"), now=timezone.now()
        )
    assert "Ana can't log in any more" in text(page.get(URL))


def test_a_former_owners_link_is_dead_whoever_changed_the_role(page: Client, alice: User) -> None:
    link = invite(page)
    Membership.objects.filter(user=alice).update(role="shipper")
    assert Client().get(link).status_code == 410


def test_a_persons_second_address_leads_to_their_login(
    page: Client, bob: User, visit: Callable[[User], Client], quill: Sender
) -> None:
    second = "bob2@bolts.example"
    EmailAddress.objects.create(user=bob, email=second, verified=True, primary=False)
    link, browser = invite(page, second), Client()
    assert "Log in to join" in text(browser.post(link, {"name": "Bob", "password": PASSWORD}))
    assert "You already belong to another account." in text(visit(bob).post(link))
    Membership.objects.filter(user=bob).delete()
    assert visit(bob).post(link).status_code == 302
    assert Membership.objects.get(user=bob).sender == quill
    again = page.post(URL, {"email": second, "role": "viewer"})
    assert "is in the team already" in text(again)


def test_an_unconfirmed_address_does_not_belong_to_the_person(page: Client, bob: User) -> None:
    EmailAddress.objects.create(user=bob, email=NEW, verified=False, primary=False)
    Client().post(invite(page), {"name": "Wren Sato", "password": PASSWORD})
    assert Membership.objects.get(user__email=NEW).user != bob


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"expires_at": dt.datetime(2020, 1, 1, tzinfo=dt.UTC)}, "It was good for 72 hours."),
        ({"revoked_at": dt.datetime(2020, 1, 1, tzinfo=dt.UTC)}, "It was taken back, or a newer one was sent"),
    ],
)
def test_a_dead_link_says_why_and_whom_to_ask(page: Client, change: dict[str, Any], words: str) -> None:
    link = invite(page)
    Invitation.objects.update(**change)
    seen = text(Client().get(link))
    assert words in seen
    assert "Ask an owner of Quill & Co for a new one" in seen


def test_removing_yourself_leads_to_the_login(page: Client, alice: User, ana: User) -> None:
    page.post(f"{URL}members/{ana.membership.pk}/", {"role": "owner"})
    answer = page.post(f"{URL}members/{alice.membership.pk}/", {"remove": "1"}, follow=True)
    assert answer.status_code == 200
    assert not Membership.objects.filter(user=alice).exists()


def test_the_role_of_somebody_just_removed_is_not_audited_as_changed(alice: User, ana: User) -> None:
    member = Membership.objects.select_related("user", "sender").get(user=ana)
    Membership.objects.filter(pk=member.pk).delete()
    with pytest.raises(Refused):
        team.set_role(member, "viewer", by=alice, now=timezone.now())
    assert not Audit.objects.filter(action="role changed").exists()


def test_a_member_is_removed_once_however_often_the_button_is_pressed(alice: User, ana: User, bob: User) -> None:
    """Between two presses, the person may have joined another business, with tokens of its own."""
    member = Membership.objects.select_related("user", "sender").get(user=ana)
    team.remove_member(member, by=alice, now=timezone.now())
    factories.member(bob.membership.sender, ana)
    token = factories.api_token(User.objects.get(pk=ana.pk))
    with pytest.raises(Refused):
        team.remove_member(member, by=alice, now=timezone.now())
    token.refresh_from_db()
    assert token.revoked_at is None
    assert Audit.objects.filter(action="removed from the team").count() == 1


def test_a_role_saved_unchanged_is_not_audited_as_changed(page: Client, ana: User) -> None:
    for role in ("shipper", "viewer", "viewer"):
        page.post(f"{URL}members/{ana.membership.pk}/", {"role": role})
    changes = Audit.objects.filter(action="role changed").values_list("reason", flat=True)
    assert list(changes) == ["shipper → viewer"]


def test_nobody_is_flooded_with_invitations(
    page: Client, quill: Sender, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(team, "MOST_A_DAY", 2)
    for role in ("viewer", "shipper"):
        team.invite_person(quill, NEW, role, by=alice, now=timezone.now())
    assert "2 invitations were sent within 24 hours." in text(page.post(URL, {"email": NEW, "role": "viewer"}))
    assert len(mail.outbox) == 2
    team.invite_person(quill, NEW, "viewer", by=alice, now=timezone.now() + dt.timedelta(hours=25))


@pytest.mark.parametrize("lost", [Refused("This invitation is no longer open."), IntegrityError()])
def test_a_late_click_goes_back_to_the_link(page: Client, monkeypatch: pytest.MonkeyPatch, lost: Exception) -> None:
    def too_late(*_: Any, **__: Any) -> None:
        raise lost

    link = invite(page)
    monkeypatch.setattr(team, "accept_invitation", too_late)
    assert Client().post(link, {"name": "Wren", "password": PASSWORD})["Location"] == link
    assert not User.objects.filter(email=NEW).exists()


def test_accepting_twice_at_once_makes_one_membership(
    quill: Sender, alice: User, bob: User, page: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    invite(page, email=bob.email)
    monkeypatch.setattr("django.db.models.query.QuerySet.exists", lambda _: False)  # read before the other
    with pytest.raises(Refused, match="another account"):
        team.accept_invitation(Invitation.objects.get(), bob, now=timezone.now())
    assert Invitation.objects.get().accepted_at is None


def test_members_of_other_accounts_are_out_of_reach(page: Client, bob: User) -> None:
    assert page.post(f"{URL}members/{bob.membership.pk}/", {"remove": "1"}).status_code == 404
    assert Membership.objects.filter(user=bob).exists()


def test_every_change_is_in_the_activity_list(page: Client, ana: User) -> None:
    invite(page)
    page.post(f"{URL}members/{ana.membership.pk}/", {"role": "viewer"})
    page.post(f"{URL}second-factor/", {"needed": "yes"})
    done = set(Audit.objects.values_list("action", flat=True))
    assert {"invited", "role changed", "second factor required"} <= done


def test_activity_shows_ten_lines_or_on_request_all_or_one_kind(page: Client, alice: User) -> None:
    sender, now = alice.membership.sender, timezone.now()
    lines = ["label printed"] * 12 + ["label opened"] * 3
    Audit.objects.bulk_create(Audit(at=now, actor=alice, sender=sender, action=one, subject="x") for one in lines)
    assert len(page.get(URL).context["activity"]) == 10
    assert len(page.get(f"{URL}?activity=all").context["activity"]) >= 15
    assert {row.action for row in page.get(f"{URL}?activity=label opened").context["activity"]} == {"label opened"}
    assert "label opened" in page.get(f"{URL}?activity=nonsense").context["activity_kinds"]


def test_a_required_second_factor_comes_before_anything_else(
    page: Client, ana: User, visit: Callable[[User], Client], alice: User
) -> None:
    factories.second_factor(alice)
    factories.gave_password(page, alice).post(f"{URL}second-factor/", {"needed": "yes"})
    hers = visit(ana)
    assert hers.get("/parcels/")["Location"] == "/accounts/2fa/totp/activate/"
    assert hers.get("/help/").status_code == 200
    factories.second_factor(ana)
    assert hers.get("/parcels/").status_code == 200


@pytest.mark.parametrize("sent", [{}, {"needed": ""}, {"needed": "perhaps"}])
def test_only_an_answer_changes_the_rule_of_the_second_factor(
    page: Client, alice: User, quill: Sender, sent: dict[str, str]
) -> None:
    factories.second_factor(alice)
    owner = factories.gave_password(page, alice)
    owner.post(f"{URL}second-factor/", {"needed": "yes"})
    assert "Nothing was changed." in text(owner.post(f"{URL}second-factor/", sent, follow=True))
    quill.refresh_from_db()
    assert quill.needs_second_factor


def test_an_unknown_role_changes_nothing_and_says_so(page: Client, ana: User) -> None:
    answer = page.post(f"{URL}members/{ana.membership.pk}/", {"role": "captain"}, follow=True)
    assert "Choose one of the roles on the list. Nothing was changed." in text(answer)
    assert Membership.objects.get(user=ana).role == "shipper"


def test_an_invented_link_is_404() -> None:
    assert Client().get("/invitation/no-such-token/").status_code == 404


def test_the_page_takes_the_same_queries_for_many_people(page: Client, quill: Sender, alice: User, ana: User) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            page.get(URL)
        return len(captured)

    invite(page)
    queries()  # which shows the message of the last press
    few = queries()
    for number in range(5):
        factories.member(quill, factories.user(f"m{number}@quill.example"), role="viewer")
        team.invite_person(quill, f"i{number}@quill.example", "viewer", by=alice, now=timezone.now())
    assert queries() == few


def test_an_email_that_cannot_be_sent_is_reported(page: Client, monkeypatch: Any) -> None:
    def fails(*_: Any, **__: Any) -> None:
        raise OSError("no route")

    monkeypatch.setattr(team, "send_mail", fails)
    assert "couldn't be sent" in text(page.post(URL, {"email": NEW, "role": "viewer"}))
    monkeypatch.undo()
    assert page.post(URL, {"email": NEW, "role": "viewer"}).status_code == 302  # at once
    assert len(mail.outbox) == 1
