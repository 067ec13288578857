"""Refuse to start with sign-on half configured: people could get the wrong roles."""

from collections.abc import Callable, Iterable, Mapping

from django.conf import settings
from django.core.checks import CheckMessage, Tags, register

from shipping_portal.accounts.adminkit.permissions import GROUPS
from shipping_portal.accounts.login import openid
from shipping_portal.accounts.models import Role, Sender
from shipping_portal.ops.checks import is_bundle
from shipping_portal.ops.deploy_checks import Rule, broken_rules

SECRET_CHARACTERS = 16


def _unknown(given: Mapping[str, str], ours: Iterable[str]) -> bool:
    return not set(given.values()) <= set(ours)


def _is_pair_broken(claim: str, words: Mapping[str, str]) -> bool:
    return bool(claim) != bool(words)


def _when_on(is_broken: Callable[[], bool]) -> Callable[[], bool]:
    return lambda: openid.is_on() and is_broken()


def _has_no_bundle() -> bool:
    return bool(settings.SSO_CA_BUNDLE) and not is_bundle(settings.SSO_CA_BUNDLE)


def _can_open_businesses() -> bool:
    has_country = settings.SSO_COUNTRY or settings.SSO_COUNTRY_CLAIM
    return bool(settings.SSO_BUSINESS_CLAIM and has_country)


OTHERS = ("SSO_CLIENT_ID", "SSO_CLIENT_SECRET", "SSO_BUSINESS_CLAIM", "SSO_STAFF_CLAIM")
RULES = (
    Rule(
        "portal.E070",
        lambda: openid.is_on() and not openid.is_usable_address(openid.issuer()),
        "SSO_ISSUER is not an https address.",
        "Use the issuer's address, or that of its discovery document.",
    ),
    Rule(
        "portal.E071",
        lambda: not openid.is_on() and any(getattr(settings, name) for name in OTHERS),
        "Sign-on is half configured: SSO_ISSUER is empty.",
        "Set the issuer's address, or remove the other SSO_… settings.",
    ),
    Rule(
        "portal.E072",
        _when_on(
            lambda: (
                not (settings.SSO_CLIENT_ID and settings.SSO_NAME)
                or len(settings.SSO_CLIENT_SECRET) < SECRET_CHARACTERS
            )
        ),
        "Sign-on is half configured: SSO_CLIENT_ID, SSO_CLIENT_SECRET or SSO_NAME is missing, or"
        f" the secret has fewer than {SECRET_CHARACTERS} characters.",
        "Register the portal at the issuer (docs/sign-on.md) and set what it gives you.",
    ),
    Rule(
        "portal.E073",
        _when_on(
            lambda: (
                _is_pair_broken(settings.SSO_ROLE_CLAIM, settings.SSO_ROLES)
                or _unknown(settings.SSO_ROLES, Role.values)
                or settings.SSO_DEFAULT_ROLE not in {"", *Role.values}
            )
        ),
        "SSO_ROLE_CLAIM and SSO_ROLES don't fit together, or a role isn't one of ours.",
        "Set both, such as SSO_ROLES=admin=owner,packer=shipper. Ours are"
        f" {', '.join(Role.values)}.",
    ),
    Rule(
        "portal.E074",
        _when_on(
            lambda: (
                _is_pair_broken(settings.SSO_STAFF_CLAIM, settings.SSO_STAFF_GROUPS)
                or _unknown(settings.SSO_STAFF_GROUPS, GROUPS)
            )
        ),
        "SSO_STAFF_CLAIM and SSO_STAFF_GROUPS don't fit together, or a group isn't one of ours.",
        f"Set both, such as SSO_STAFF_GROUPS=helpdesk=Support. Ours are {', '.join(GROUPS)}.",
    ),
    Rule(
        "portal.E075",
        _when_on(
            lambda: (
                bool(settings.SSO_BUSINESS_CLAIM)
                and not (settings.SSO_ROLE_CLAIM or settings.SSO_DEFAULT_ROLE)
            )
        ),
        "SSO_BUSINESS_CLAIM lets people join a business, and nothing gives them a role.",
        "Set SSO_ROLE_CLAIM with SSO_ROLES, or SSO_DEFAULT_ROLE.",
    ),
    Rule(
        "portal.E076",
        _when_on(
            lambda: (
                settings.SSO_COUNTRY not in {"", *Sender.Country.values}
                or (settings.SSO_OPENS_BUSINESSES and not _can_open_businesses())
            )
        ),
        "SSO_OPENS_BUSINESSES needs SSO_BUSINESS_CLAIM and a country.",
        "Set SSO_COUNTRY to AU, CA or US, or SSO_COUNTRY_CLAIM.",
    ),
    Rule(
        "portal.E077",
        lambda: not settings.LOCAL_PASSWORDS and not openid.is_on(),
        "LOCAL_PASSWORDS is off and there is no sign-on, so nobody can log in.",
        "Set SSO_ISSUER, or LOCAL_PASSWORDS=on.",
    ),
    Rule(
        "portal.E078",
        _when_on(_has_no_bundle),
        "SSO_CA_BUNDLE is not a certificate file.",
        "Set the path of a PEM file with the authority that signed the issuer's certificate.",
    ),
    Rule(
        "portal.W040",
        _when_on(lambda: not (settings.LOCAL_PASSWORDS or settings.SSO_STAFF_CLAIM)),
        "LOCAL_PASSWORDS is off and SSO_STAFF_CLAIM is empty, so no operator can log in but a"
        " superuser by `manage.py break_glass`.",
        "Set SSO_STAFF_CLAIM and SSO_STAFF_GROUPS.",
    ),
)


@register(Tags.security)
def check_sign_on(**options: object) -> Iterable[CheckMessage]:
    return broken_rules(RULES)
