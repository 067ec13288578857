"""Who may open an account, who is asked to review it, and the operator's approval or refusal."""

from typing import Any

import pytest
from allauth.account.models import EmailAddress, EmailConfirmationHMAC
from django.core import mail
from django.core.mail.backends.locmem import EmailBackend
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from shipping_portal.accounts.adminkit import permissions
from shipping_portal.accounts.login import signing_up
from shipping_portal.accounts.mail import mailing
from shipping_portal.accounts.models import ApprovalRequest, Audit, Membership, Notification, Role, Sender, User
from shipping_portal.accounts.models.senders import UNTIL_APPROVED
from shipping_portal.accounts.teams import team
from shipping_portal.ops import checks
from shipping_portal.refused import Refused
from tests import factories
from tests.accounts.forms import MIA, sign_up
from tests.pages.typed import text

pytestmark = pytest.mark.django_db

REASON = "Their shop exists; we called them."
MODES = ["open", "first_limit", "approve", "invited"]


@pytest.fixture
def approving(settings: Any) -> Any:
    settings.SIGN_UP = "approve"
    settings.CONTACT_EMAIL = "desk@portal.example"
    return settings


@pytest.mark.parametrize("mode", MODES)
def test_the_setting_decides_who_may_sign_up(settings: Any, mode: str) -> None:
    settings.SIGN_UP = mode
    page = text(Client().get("/accounts/signup/"))
    answer = sign_up()
    if mode == "invited":
        assert "Accounts are by invitation" in page
        assert "Write to us" in page
        assert "Accounts are by invitation" in text(answer)
        assert not User.objects.exists()
        assert not Sender.objects.exists()
    else:
        assert "Open an account" in page
        assert ("We check your account before your first booking" in page) == (mode == "approve")
        assert answer["Location"] == "/accounts/confirm-email/"
        assert (Sender.objects.get().approved_at is not None) == (mode == "open")
        confirm()
    assert ApprovalRequest.objects.count() == (mode in {"first_limit", "approve"})


@pytest.mark.parametrize("mode", MODES)
def test_an_invitation_to_a_team_works_in_every_mode(settings: Any, quill: Sender, alice: User, mode: str) -> None:
    settings.SIGN_UP = mode
    Sender.objects.update(approved_at=None)
    team.invite_person(quill, "nia@new.example", Role.SHIPPER, by=alice, now=timezone.now())
    path = mail.outbox[-1].body.split(settings.SITE_URL)[1].split()[0]
    answer = Client().post(path, {"name": "Nia New", "password": MIA["password1"]})
    assert answer.status_code == 302
    assert Membership.objects.get(user__email="nia@new.example").sender == quill
    assert not ApprovalRequest.objects.exists()


def test_the_operators_get_one_email_queued_with_the_account(approving: Any) -> None:
    sign_up()
    confirm()
    request, sender = ApprovalRequest.objects.get(), Sender.objects.get()
    mail.outbox.clear()
    signing_up.ask_for_due_approval(request.pk)
    signing_up.ask_for_due_approval(request.pk)
    [sent] = mail.outbox
    assert sent.to == ["desk@portal.example"]
    assert sent.subject == "Marlow Candles waits for approval"
    for seen in (sender.number, "Australia", "Mia Marlow, mia@marlow.example", f"/admin/accounts/sender/{sender.pk}/"):
        assert seen in sent.body


def confirm(email: str = MIA["email"]) -> None:
    """Press the button on the page that this address's email links to."""
    link = reverse("account_confirm_email", args=[EmailConfirmationHMAC(found(email)).key])
    assert Client().post(link, follow=True).status_code == 200
    assert found(email).verified


def found(email: str) -> EmailAddress:
    return EmailAddress.objects.get(email=email)


def test_the_operators_are_asked_once_the_address_is_confirmed_and_not_before(approving: Any) -> None:
    sign_up()
    assert not ApprovalRequest.objects.exists()
    confirm()
    assert ApprovalRequest.objects.get().sender == Sender.objects.get()
    signing_up.ask_for_due_approval(ApprovalRequest.objects.get().pk)
    EmailAddress.objects.create(user=User.objects.get(), email="mia@other.example")
    confirm("mia@other.example")
    assert ApprovalRequest.objects.get().due_at is None


def test_without_address_confirmation_the_operators_are_asked_at_once(approving: Any) -> None:
    approving.ACCOUNT_EMAIL_VERIFICATION = "none"
    sign_up()
    assert ApprovalRequest.objects.get().due_at


def test_an_address_confirmed_after_approval_asks_nobody(approving: Any) -> None:
    sign_up()
    Sender.objects.update(approved_at=timezone.now())
    confirm()
    assert not ApprovalRequest.objects.exists()


def test_a_shippers_address_asks_nobody(approving: Any) -> None:
    sign_up()
    Membership.objects.update(role=Role.SHIPPER)
    confirm()
    assert not ApprovalRequest.objects.exists()


def test_an_account_that_could_not_be_opened_sends_no_email(approving: Any, monkeypatch: Any) -> None:
    def fails(*given: Any, **more: Any) -> None:
        raise RuntimeError("the disk is full")

    monkeypatch.setattr(Audit, "write", fails)
    with pytest.raises(RuntimeError):
        sign_up()
    assert not ApprovalRequest.objects.exists()
    assert not Sender.objects.exists()


def test_a_mail_server_that_is_down_is_tried_again(approving: Any, monkeypatch: Any) -> None:
    sign_up()
    confirm()
    request = ApprovalRequest.objects.get()
    mail.outbox.clear()
    with monkeypatch.context() as away:
        away.setattr(EmailBackend, "send_messages", lambda *given: (_ for _ in ()).throw(OSError("away")))
        signing_up.ask_for_due_approval(request.pk)
    request.refresh_from_db()
    assert request.due_at
    assert request.due_at > timezone.now()
    ApprovalRequest.objects.update(due_at=timezone.now())
    signing_up.ask_for_due_approval(request.pk)
    assert len(mail.outbox) == 1


@pytest.mark.parametrize("why", ["no address", "approved meanwhile"])
def test_nobody_is_asked_if_there_is_nobody_or_nothing_to_ask(approving: Any, why: str) -> None:
    sign_up()
    confirm()
    mail.outbox.clear()
    if why == "no address":
        approving.CONTACT_EMAIL = ""
    else:
        Sender.objects.update(approved_at=timezone.now())
    signing_up.ask_for_due_approval(ApprovalRequest.objects.get().pk)
    assert mail.outbox == []
    assert ApprovalRequest.objects.get().due_at is None


def act(sender: Sender, name: str) -> str:
    return reverse("admin:accounts_sender_act", args=[sender.pk, name])


def test_an_approval_is_audited_and_emailed_to_the_accounts_members(
    approving: Any, quill: Sender, alice: User, sam: User, visit: Any
) -> None:
    Sender.objects.update(approved_at=None)
    staff = visit(sam)
    assert staff.post(act(quill, "approve"), {"reason": REASON}).status_code == 302
    quill.refresh_from_db()
    assert quill.approved_at
    noted = Audit.objects.get()
    assert (noted.action, noted.actor, noted.sender, noted.reason) == ("account approved", sam, quill, REASON)
    notice = Notification.objects.get()
    assert (notice.user, notice.line) == (alice, "We approved your account: you can book now.")
    Notification.objects.update(due_at=timezone.now())
    mailing.send_due_mail(notice.pk)
    assert (mail.outbox[-1].to, mail.outbox[-1].subject) == ([alice.email], "Your account is approved")
    assert REASON not in mail.outbox[-1].body
    assert staff.post(act(quill, "approve"), {"reason": REASON}).status_code == 409
    assert Notification.objects.count() == 1


def test_two_operators_at_once_approve_an_account_once(quill: Sender, alice: User, sam: User) -> None:
    Sender.objects.update(approved_at=None)
    signing_up.approve_account(quill, by=sam, reason=REASON, now=timezone.now())
    with pytest.raises(Refused):
        signing_up.approve_account(quill, by=sam, reason=REASON, now=timezone.now())
    assert Audit.objects.count() == 1


def test_a_declined_account_is_off_the_queue_until_it_is_reinstated(
    approving: Any, quill: Sender, alice: User, sam: User, visit: Any
) -> None:
    Sender.objects.update(approved_at=None)
    staff = visit(sam)
    assert 'value="terms" selected' in staff.get(act(quill, "decline")).content.decode()
    seen = {"category": "terms", "text": "We serve businesses in Australia only.", "note": ""}
    assert staff.post(act(quill, "decline"), seen).status_code == 302
    assert seen["text"] in text(visit(alice).get("/today/"))
    assert staff.get("/admin/accounts/sender/?bookings=waiting").context["cl"].result_count == 0
    assert staff.post(act(quill, "approve"), {"reason": REASON}).status_code == 409
    quill.refresh_from_db()
    with pytest.raises(Refused):
        signing_up.approve_account(quill, by=sam, reason=REASON, now=timezone.now())
    quill.reinstate(by=sam, reason=REASON, now=timezone.now())
    assert quill.approved_at is None


@pytest.mark.parametrize("name", ["approve", "decline"])
def test_those_who_may_suspend_may_approve_and_decline(quill: Sender, visit: Any, name: str) -> None:
    Sender.objects.update(approved_at=None)
    permissions.update_groups()
    person = factories.user("rita@portal.example", is_staff=True)
    person.groups.set(permissions.Group.objects.filter(name=permissions.READ_ONLY))
    factories.second_factor(person)
    assert visit(person).post(act(quill, name), {"reason": REASON}).status_code == 403
    person.groups.set(permissions.Group.objects.filter(name=permissions.SUPPORT))
    assert visit(person).get(act(quill, name)).status_code == 200


def test_a_mode_that_does_not_exist_is_named(settings: Any) -> None:
    assert set(checks.SIGN_UP_MODES) == set(UNTIL_APPROVED)
    assert list(checks.check_settings()) == []
    settings.SIGN_UP = "maybe"
    assert [message.id for message in checks.check_settings()] == ["portal.E009"]


def test_approving_one_account_does_not_approve_another(quill: Sender, alice: User, bob: User, sam: User) -> None:
    Sender.objects.update(approved_at=None)
    signing_up.approve_account(quill, by=sam, reason=REASON, now=timezone.now())
    assert list(Sender.objects.filter(approved_at=None)) == [bob.membership.sender]
    assert [notice.user for notice in Notification.objects.all()] == [alice]


def test_the_operators_see_who_opened_the_account_and_not_who_joined_it(approving: Any) -> None:
    sign_up()
    confirm()
    factories.member(Sender.objects.get(), factories.user("zed@marlow.example", name="Zed Later"))
    mail.outbox.clear()
    signing_up.ask_for_due_approval(ApprovalRequest.objects.get().pk)
    assert "Opened by Mia Marlow, mia@marlow.example" in mail.outbox[0].body
