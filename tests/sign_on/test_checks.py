"""The portal doesn't start with sign-on half configured."""

from typing import Any

import pytest

from shipping_portal.ops.sso_checks import check_sign_on

GOOD = {
    "SSO_ISSUER": "https://login.saltbush.example/realms/shops",
    "SSO_CLIENT_ID": "portal",
    "SSO_CLIENT_SECRET": "b7f3c0de91a24486b1f0a35c77e2d9f8",
    "SSO_NAME": "Saltbush",
    "SSO_BUSINESS_CLAIM": "org",
    "SSO_ROLE_CLAIM": "roles",
    "SSO_ROLES": {"admin": "owner"},
    "SSO_STAFF_CLAIM": "staff",
    "SSO_STAFF_GROUPS": {"helpers": "Support"},
    "SSO_OPENS_BUSINESSES": True,
    "SSO_COUNTRY": "AU",
}


def found(settings: Any, **changes: Any) -> set[str]:
    for name, value in {**GOOD, **changes}.items():
        setattr(settings, name, value)
    return {str(message.id) for message in check_sign_on()}


@pytest.mark.parametrize(
    ("changes", "id"),
    [
        ({"SSO_ISSUER": "http://login.saltbush.example"}, "portal.E070"),
        ({"SSO_ISSUER": "https://user@evil.example"}, "portal.E070"),
        ({"SSO_ISSUER": ""}, "portal.E071"),
        ({"SSO_CLIENT_ID": ""}, "portal.E072"),
        ({"SSO_CLIENT_SECRET": "short"}, "portal.E072"),
        ({"SSO_NAME": ""}, "portal.E072"),
        ({"SSO_ROLES": {}}, "portal.E073"),
        ({"SSO_ROLE_CLAIM": "", "SSO_DEFAULT_ROLE": "viewer"}, "portal.E073"),
        ({"SSO_ROLES": {"admin": "king"}}, "portal.E073"),
        ({"SSO_DEFAULT_ROLE": "king"}, "portal.E073"),
        ({"SSO_STAFF_GROUPS": {}}, "portal.E074"),
        ({"SSO_STAFF_GROUPS": {"helpers": "Gods"}}, "portal.E074"),
        ({"SSO_ROLE_CLAIM": "", "SSO_ROLES": {}}, "portal.E075"),
        ({"SSO_COUNTRY": ""}, "portal.E076"),
        ({"SSO_COUNTRY": "NZ"}, "portal.E076"),
        ({"SSO_BUSINESS_CLAIM": ""}, "portal.E076"),
        ({"SSO_CA_BUNDLE": "/nowhere.pem"}, "portal.E078"),
        ({"LOCAL_PASSWORDS": False, "SSO_STAFF_CLAIM": "", "SSO_STAFF_GROUPS": {}}, "portal.W040"),
    ],
)
def test_each_missing_setting_has_its_message(settings: Any, changes: Any, id: str) -> None:  # noqa: A002
    assert found(settings, **changes) == {id}


def test_complete_settings_have_no_message(settings: Any) -> None:
    assert found(settings) == set()
    assert found(settings, SSO_BUSINESS_CLAIM="", SSO_OPENS_BUSINESSES=False) == set()
    assert found(settings, LOCAL_PASSWORDS=False) == set()


def test_without_sign_on_there_is_no_message_but_passwords_are_needed(settings: Any) -> None:
    assert set(check_sign_on()) == set()
    settings.LOCAL_PASSWORDS = False
    assert [message.id for message in check_sign_on()] == ["portal.E077"]
