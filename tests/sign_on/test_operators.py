"""What an operator can do about people who sign on, and what remains of erased ones."""

from typing import Any

import pytest
from allauth.socialaccount.models import SocialAccount
from django.db import IntegrityError, transaction
from django.utils import timezone

from shipping_portal.accounts.login import signing_on
from shipping_portal.accounts.login.claims import PersonClaims
from shipping_portal.accounts.models import Audit, Role, Sender, Session, User
from shipping_portal.accounts.teams import people
from shipping_portal.jobs import erasing
from shipping_portal.refused import Refused
from tests import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def marlow(db: None) -> Sender:
    sender: Sender = factories.sender(name="Marlow Candles", external_id="marlow")
    factories.member(sender, factories.user("owner@marlow.example"))
    return sender


def move(person: User, to: Sender, by: User, role: str = Role.VIEWER) -> None:
    people.move_person(person, to.number, role, by=by, reason="she changed her job", now=timezone.now())


@pytest.fixture
def sam(db: None) -> User:
    person: User = factories.user("sam@portal.example", is_staff=True, is_superuser=True)
    return person


def test_a_person_is_moved_and_logged_out(marlow: Sender, sam: User, client: Any) -> None:
    mia, bolts = factories.user("mia@marlow.example"), factories.sender(name="Bolts", external_id="bolts")
    factories.member(marlow, mia, role="shipper")
    client.force_login(mia, backend="allauth.account.auth_backends.AuthenticationBackend")
    move(mia, bolts, sam)
    member = User.objects.get(pk=mia.pk).membership
    assert (member.sender, member.role) == (bolts, "viewer")
    assert not Session.objects.filter(whose=mia.pk).exists()
    assert list(Audit.objects.order_by("pk").values_list("action", flat=True))[-2:] == [
        "removed from the team",
        "moved to another business",
    ]


def test_the_last_owner_an_operator_and_a_closed_account_are_refused(marlow: Sender, sam: User) -> None:
    owner, bolts = User.objects.get(email="owner@marlow.example"), factories.sender(name="Bolts")
    with pytest.raises(Refused, match="needs an owner"):
        move(owner, bolts, sam)
    with pytest.raises(Refused, match="there already"):
        move(owner, marlow, sam)
    with pytest.raises(Refused, match="ships for no business"):
        move(sam, bolts, sam)
    now = timezone.now()
    Sender.objects.filter(pk=bolts.pk).update(closed_at=now, suspended_at=now, suspension="closed")
    with pytest.raises(Refused, match="No open account"):
        move(factories.user("new@marlow.example"), bolts, sam)
    assert marlow.memberships.get().user == owner


def test_an_external_id_belongs_to_one_business(marlow: Sender) -> None:
    factories.sender(name="Bolts")
    factories.sender(name="Screws")  # two without one
    with pytest.raises(IntegrityError), transaction.atomic():
        factories.sender(name="Twice", external_id="marlow")


def test_two_tabs_that_sign_on_at_once_make_one_person(marlow: Sender, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second tab checked before the first had written its row."""
    claims, real = PersonClaims(email="mia@marlow.example", is_verified=True), signing_on._known_account
    first = signing_on._follow(SocialAccount(provider="sso", uid="1" * 64), claims, now=timezone.now())
    looked: list[str] = []

    def too_early(uid: str) -> SocialAccount | None:
        looked.append(uid)
        return real(uid) if len(looked) > 1 else None

    monkeypatch.setattr(signing_on, "_known_account", too_early)
    second = signing_on._follow(SocialAccount(provider="sso", uid="1" * 64), claims, now=timezone.now())
    assert (second, len(looked), SocialAccount.objects.count()) == (first, 2, 1)


def test_an_erased_person_is_new_at_the_next_sign_on(marlow: Sender) -> None:
    mia = factories.user("mia@marlow.example")
    factories.member(marlow, mia, role="shipper")
    SocialAccount.objects.create(user=mia, provider="sso", uid="0" * 64)
    erasing.erase({"member": [mia.pk]})
    assert not SocialAccount.objects.exists()
