"""Create the people directly in the database; everything they do afterwards goes through real pages."""

from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.db import transaction

from shipping_portal.accounts.login.session_store import SessionStore
from shipping_portal.accounts.models import Role, Sender, User
from tests import factories

PASSWORD = "a-long-enough-passphrase"
BUSINESSES = ("Quill & Co", "Lowe Ceramics", "Tamsin Prints")
FAST = {"bookings_a_day": 1_000_000, "money_a_day": None, "quotes_a_minute": 1_000_000}


@dataclass(frozen=True)
class Person:
    """A person who logs in with the real form."""

    email: str
    password: str


@transaction.atomic
def make_people(country: str = "AU") -> list[Person]:
    """Make three businesses with an owner each; the last one is a stranger to the parcels of the others."""
    made = []
    for number, name in enumerate((*BUSINESSES, "Bob's Bolts")):
        sender = factories.sender(name=name, country=country, **FAST)
        user = factories.user(f"owner{number}@campaign.example", name=f"Owner {number}")
        user.set_password(PASSWORD)
        user.save(update_fields=["password"])
        factories.member(sender, user, role=Role.OWNER)
        factories.pickup_address(sender, email=user.email)
        made.append(Person(user.email, PASSWORD))
    return made


def operators_session() -> str:
    """Return the session of an operator who has logged in with the second factor; codes aren't tested here."""
    operator = factories.user("desk@campaign.example", name="Dana Desk", is_staff=True, is_superuser=True)
    factories.second_factor(operator)
    session: Any = SessionStore()
    session[SESSION_KEY] = str(operator.pk)
    session[BACKEND_SESSION_KEY] = settings.AUTHENTICATION_BACKENDS[0]
    session[HASH_SESSION_KEY] = operator.get_session_auth_hash()
    session.save()
    key: str = session.session_key
    return key


def businesses() -> list[Sender]:
    return list(Sender.objects.filter(name__in=BUSINESSES))


def owner_of(sender: Sender) -> User:
    found = User.objects.filter(memberships__sender=sender).first()
    if found is None:
        raise RuntimeError(f"{sender} has no owner")
    return found
