"""Create the demo's people. Their passwords are public, so they can't log in unless DEMO is set."""

import datetime as dt
import time
from typing import Any

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal import auth as totp
from allauth.mfa.utils import decrypt
from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import connection, transaction
from django.http import HttpRequest

from shipping_portal.accounts import access
from shipping_portal.accounts.address import places
from shipping_portal.accounts.api_tokens import DAYS, MEMBERS, SHOWN, scopes_of
from shipping_portal.accounts.models import (
    ApiToken,
    Membership,
    PickupAddress,
    Role,
    Sender,
    User,
)
from shipping_portal.accounts.teams.team import token_hash

DOMAIN = "demo.example"
SENDER_EMAIL = f"mia@{DOMAIN}"
OPERATOR_EMAIL = f"operator@{DOMAIN}"
SENDER_PASSWORD = "demo-sender-parcel"  # noqa: S105  (public on purpose)
OPERATOR_PASSWORD = "demo-operator-desk"  # noqa: S105
PUBLIC_PASSWORDS = {SENDER_EMAIL: SENDER_PASSWORD, OPERATOR_EMAIL: OPERATOR_PASSWORD}
SENDER_TOKEN = "portal_demo-sender-token-only-on-this-machine"  # noqa: S105
CODE_SECONDS = 30
# The pickup address of the demo's business, by country.
PLACES = {
    "AU": {"suburb": "Fitzroy", "state": "VIC", "postcode": "3065", "phone": "0491 570 006"},
    "US": {"suburb": "New York", "state": "NY", "postcode": "10001", "phone": "212 555 0142"},
}


def is_here(request: HttpRequest) -> bool:
    """Return whether this is a demo, visited from this machine."""
    return bool(settings.DEMO) and request.META.get("REMOTE_ADDR") in ("127.0.0.1", "::1")


def is_of_the_demo(user: Any) -> bool:
    return str(user.email).lower().endswith(f"@{DOMAIN}")


def refuse_reserved(email: str) -> None:
    """Raise ValidationError for a demo address: nobody can log in with one outside the demo."""
    if is_of_the_demo(User(email=email)) and not settings.DEMO:
        raise ValidationError(
            f"{DOMAIN} is kept for the demo. Use an address that reaches you.", code="demo"
        )


def has_demo_credentials() -> bool:
    """Return whether a demo person still has a public password or token. False before migrating.

    Nobody else is checked: start-up must not depend on who signed up.
    """
    tables = connection.introspection.table_names()
    if User._meta.db_table not in tables:
        return False
    public = ApiToken.objects.filter(token_hash=token_hash(SENDER_TOKEN))
    if ApiToken._meta.db_table in tables and public.exists():
        return True
    found = {user.email: user for user in User.objects.filter(email__in=PUBLIC_PASSWORDS)}
    return any(user.check_password(PUBLIC_PASSWORDS[email]) for email, user in found.items())


@transaction.atomic
def make_demo_business(now: dt.datetime, country: str = "AU") -> None:
    """Create a business in Fitzroy or New York, its owner, and an operator with a second factor.

    It may run repeatedly.
    """
    owner = _make_person(SENDER_EMAIL, SENDER_PASSWORD, name="Mia Marlow")
    membership = Membership.objects.filter(user=owner).first()
    if membership is None:
        business = Sender.objects.create(
            name="Marlow Candles",
            country=country,
            zone=places.zone_of(country, PLACES[country]["state"]),
            dangerous_goods_acknowledged_at=now,
            approved_at=now,
        )
        membership = Membership.objects.create(sender=business, user=owner, role=Role.OWNER)
    if membership.sender.pickup_address() is None:
        _make_pickup_address(membership.sender)
    _give_token(membership, now)
    operator = _make_person(
        OPERATOR_EMAIL, OPERATOR_PASSWORD, name="Omar Oduya", is_staff=True, is_superuser=True
    )
    if not access.has_second_factor(operator):
        totp.TOTP.activate(operator, totp.generate_totp_secret())


def operator_code(now: float | None = None) -> str:
    """Return the operator's current code.

    Raises Authenticator.DoesNotExist before the demo exists.
    """
    app = Authenticator.objects.get(user__email=OPERATOR_EMAIL, type=Authenticator.Type.TOTP)
    counter = int(time.time() if now is None else now) // CODE_SECONDS
    return totp.format_hotp_value(totp.hotp_value(decrypt(app.data["secret"]), counter))


def _make_person(email: str, password: str, **fields: Any) -> User:
    user = User.objects.filter(email=email).first() or User(email=email)
    for name, value in fields.items():
        setattr(user, name, value)
    if not (user.pk and user.check_password(password)):
        user.set_password(password)
    user.save()
    EmailAddress.objects.update_or_create(
        user=user, email=email, defaults={"verified": True, "primary": True}
    )
    return user


def _give_token(owner: Membership, now: dt.datetime) -> None:
    """Make the token that the demo prints, or make it valid again."""
    fields = {"name": "The demo's", "user": owner.user, "sender": owner.sender, "revoked_at": None}
    fields |= {
        "scopes": list(scopes_of(MEMBERS)),
        "start": SENDER_TOKEN[:SHOWN],
        "made_by": owner.user,
    }
    fields |= {"made_at": now, "ends_at": now + dt.timedelta(days=DAYS[-1])}
    ApiToken.objects.update_or_create(token_hash=token_hash(SENDER_TOKEN), defaults=fields)


def _make_pickup_address(business: Sender) -> None:
    address = PLACES[business.country]
    listed = places.check_pair(business.country, address["suburb"], address["postcode"]).place
    PickupAddress.objects.create(
        sender=business,
        name="Mia Marlow",
        company=business.name,
        email=SENDER_EMAIL,
        line1="12 Example Lane",
        country=business.country,
        instructions="Parcels are behind the counter",
        **(address | ({"suburb": listed.suburb} if listed else {})),
    )
