"""Who gets email: each kind, for each state its reader may be in when it is sent."""

import datetime as dt
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from django.core import mail
from django.test import Client
from django.utils import timezone

from orders.models import Order
from shipping_portal.accounts.login import signing_up
from shipping_portal.accounts.mail import mailing, outbox
from shipping_portal.accounts.models import ApprovalRequest, Notification, Sender, User
from shipping_portal.accounts.teams import people, team
from shipping_portal.refused import Refused
from shipping_portal.staff import casework
from tests import factories

pytestmark = pytest.mark.django_db
STATES: dict[str, Callable[[Order], object]] = {
    "active": lambda order: None,
    "turned off": lambda order: User.objects.filter(pk=order.made_by_id).update(is_active=False),
    "unconfirmed": lambda order: EmailAddress.objects.filter(user=order.made_by_id).update(verified=False),
    "left": lambda order: team.remove_member(order.made_by.membership, by=order.made_by, now=timezone.now()),
    "suspended business": lambda order: Sender.objects.filter(pk=order.sender_id).update(
        suspended_at=timezone.now(), suspension="terms", suspension_text="-"
    ),
}
GETS = {"active", "suspended business"}
OF_THE_TEAM = sorted(outbox.kinds_for("owner"))


@pytest.fixture
def order(quill: Sender, alice: User, ana: User) -> Order:
    team.set_role(ana.membership, "owner", by=alice, now=timezone.now())
    return factories.order(quill, alice, status="booked")


@pytest.mark.parametrize(("kind", "state"), [(kind, state) for kind in OF_THE_TEAM for state in STATES])
def test_account_notifications_go_only_to_people_who_should_get_them(kind: str, state: str, order: Order) -> None:
    now = timezone.now()
    outbox.choose_when(order.made_by, kind, outbox.KINDS[kind].choices[0], now=now - dt.timedelta(days=1))
    fact = outbox.Event(
        sender=order.sender, kind=kind, dedupe_key="one", line="It happened.", path="/", happened_at=now,
        only=order.made_by_id,
    )  # fmt: skip
    outbox.notify(fact, now=now)
    STATES[state](order)
    for notice in Notification.objects.all():
        Notification.objects.filter(pk=notice.pk).update(due_at=now)
        mailing.send_due_mail(notice.pk)
    assert _written_to() == ({order.made_by.email} if state in GETS else set())


@pytest.mark.parametrize("state", STATES)
def test_an_operators_email_goes_only_to_people_who_should_get_it(state: str, order: Order, sam: User) -> None:
    letter = casework.queue_mail(order, to=order.made_by, about="other", text="Hello", by=sam, now=timezone.now())
    STATES[state](order)
    casework.send_due_mail(letter.pk)
    assert _written_to() == ({order.made_by.email} if state in GETS else set())


@pytest.mark.parametrize("state", STATES)
def test_a_password_reset_is_emailed_to_those_who_may_log_in(state: str, order: Order) -> None:
    """People who left may still log in, and a confirmation goes to the same address."""
    STATES[state](order)
    mail.outbox.clear()
    Client().post("/accounts/password/reset/", {"email": order.made_by.email})
    links = [letter for letter in mail.outbox if "/accounts/password/reset/key/" in letter.body]
    assert bool(links) is (state != "turned off")


@pytest.mark.parametrize("state", [*STATES, "approved", "declined"])
def test_operators_are_emailed_about_an_account_awaiting_approval(
    state: str, order: Order, sam: User, settings: Any
) -> None:
    settings.CONTACT_EMAIL = "operators@portal.example"
    now = timezone.now()
    Sender.objects.filter(pk=order.sender_id).update(approved_at=None)
    signing_up.announce_account(order.made_by, now=now)
    asked = ApprovalRequest.objects.get()
    if state == "approved":
        Sender.objects.filter(pk=order.sender_id).update(approved_at=now)
    STATES["suspended business" if state == "declined" else state if state in STATES else "active"](order)
    mail.outbox.clear()
    signing_up.ask_for_due_approval(asked.pk)
    wanted = state not in {"approved", "declined", "suspended business"}
    assert _written_to() == ({"operators@portal.example"} if wanted else set())


@pytest.mark.parametrize("state", STATES)
def test_an_approval_is_emailed_to_those_who_may_log_in_and_confirmed_the_address(
    state: str, order: Order, sam: User
) -> None:
    """A suspended account is approved by nobody."""
    Sender.objects.filter(pk=order.sender_id).update(approved_at=None)
    STATES[state](order)
    mail.outbox.clear()
    with suppress(Refused):
        signing_up.approve_account(order.sender, by=sam, reason="-", now=timezone.now())
    for notice in Notification.objects.filter(user=order.made_by):
        Notification.objects.filter(pk=notice.pk).update(due_at=timezone.now())
        mailing.send_due_mail(notice.pk)
    assert _written_to() == ({order.made_by.email} if state == "active" else set())


@pytest.mark.parametrize("state", STATES)
def test_a_reset_of_the_second_factor_is_emailed_to_those_who_may_log_in(state: str, order: Order, sam: User) -> None:
    factories.second_factor(order.made_by)
    STATES[state](order)
    mail.outbox.clear()
    person = User.objects.get(pk=order.made_by_id)
    people.reset_second_factor(person, by=sam, reason="lost the phone", now=timezone.now())
    assert _written_to() == ({person.email} if state in {*GETS, "left"} else set())


@pytest.mark.parametrize("state", ["nobody", *STATES])
def test_an_invitation_reveals_nothing_about_who_has_the_address(state: str, order: Order, bob: User) -> None:
    """A person who is turned off is refused at the link's page, and the inviting business doesn't learn it."""
    address = "nobody@else.example" if state == "nobody" else bob.email
    if state != "nobody":
        factories.member(bob.membership.sender, factories.user("another@bolts.example"))  # an account needs an owner
        STATES[state](factories.order(bob.membership.sender, bob))
    mail.outbox.clear()
    team.invite_person(order.sender, address, "viewer", by=order.made_by, now=timezone.now())
    assert _written_to() == {address}


def _written_to() -> set[str]:
    written = {address for letter in mail.outbox for address in letter.to}
    mail.outbox.clear()
    return written
