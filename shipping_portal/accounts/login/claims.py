"""Read what the partner's issuer says about a person, as the SSO_… settings name it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings

from shipping_portal.accounts.models import Role
from shipping_portal.carrier.values import value_at

Claims = Mapping[str, Any]  # what the issuer says about a person

LONGEST = 120  # of a business's external id, and of names
LONGEST_EMAIL = 254
MOST = 200  # values of one claim; some issuers list every group of a company
STRONGEST_FIRST = (Role.OWNER, Role.SHIPPER, Role.BOOKKEEPER, Role.VIEWER)


@dataclass(frozen=True)
class PersonClaims:
    """The person signing on, in our terms. A text is empty if the issuer didn't send it.

    `email` is in lower case if its letters are all ASCII. `is_verified` is whether it proves
    anything.
    """

    email: str = ""
    is_verified: bool = False
    name: str = ""
    business: str = ""
    business_name: str = ""
    country: str = ""
    role: str = ""
    groups: frozenset[str] = frozenset()
    has_second_factor: bool = False


def read_claims(given: Claims) -> PersonClaims:
    return PersonClaims(
        email=_email_of(given),
        is_verified=_is_verified(given),
        name=_first(given, "name"),
        business=_single_word(given, settings.SSO_BUSINESS_CLAIM),
        business_name=_first(given, settings.SSO_BUSINESS_NAME_CLAIM),
        country=(_first(given, settings.SSO_COUNTRY_CLAIM) or settings.SSO_COUNTRY).upper(),
        role=_role_of(given),
        groups=_groups_of(given),
        has_second_factor=_has_second_factor(given),
    )


def _email_of(given: Claims) -> str:
    """Return the email. Non-ASCII letters are left alone: K (Kelvin) would become k."""
    email = _first(given, "email")
    return email.lower() if email.isascii() else email


def _is_verified(given: Claims) -> bool:
    """Return whether the issuer verified the email. Some issuers send the string "true"."""
    stated = given.get("email_verified")
    if stated is None:
        return bool(settings.SSO_TRUSTS_EMAILS)
    return stated is True or stated == "true"


def _role_of(given: Claims) -> str:
    words = _short_texts(given, settings.SSO_ROLE_CLAIM)
    roles = {settings.SSO_ROLES[word] for word in words if word in settings.SSO_ROLES}
    found = next((str(role) for role in STRONGEST_FIRST if role in roles), "")
    return found or str(settings.SSO_DEFAULT_ROLE)


def _groups_of(given: Claims) -> frozenset[str]:
    groups = settings.SSO_STAFF_GROUPS
    words = _short_texts(given, settings.SSO_STAFF_CLAIM)
    return frozenset(groups[word] for word in words if word in groups)


def _has_second_factor(given: Claims) -> bool:
    words = [*_short_texts(given, "acr"), *_short_texts(given, "amr")]
    return not set(settings.SSO_SECOND_FACTORS).isdisjoint(words)


def _single_word(given: Claims, name: str) -> str:
    """Return the claim's value if it has exactly one: several can't name one business."""
    words = _short_texts(given, name)
    return words[0] if len(words) == 1 else ""


def _first(given: Claims, name: str) -> str:
    return next(iter(_short_texts(given, name)), "")


def _short_texts(given: Claims, name: str) -> list[str]:
    """Return a claim's texts, each on one line, without any that are too long."""
    value = _find(given, name)
    values = value if isinstance(value, list) else [value]
    is_text = [isinstance(one, str | int) and not isinstance(one, bool) for one in values]
    texts = [str(one) for one, good in zip(values[:MOST], is_text, strict=False) if good]
    lines = [" ".join(text.split()) for text in texts]
    longest = LONGEST_EMAIL if name == "email" else LONGEST
    return [line for line in lines if line and len(line) <= longest and line.isprintable()]


def _find(given: Claims, name: str) -> Any:
    """Return the value at a name or path: Keycloak's roles are in realm_access.roles."""
    return given[name] if name and name in given else value_at(given, name)
