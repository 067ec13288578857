"""How claims are read, according to the settings."""

from typing import Any

import pytest

from shipping_portal.accounts.login.claims import PersonClaims, read_claims

SETTINGS = {
    "SSO_BUSINESS_CLAIM": "org",
    "SSO_BUSINESS_NAME_CLAIM": "org_name",
    "SSO_COUNTRY_CLAIM": "country",
    "SSO_ROLE_CLAIM": "realm_access.roles",
    "SSO_ROLES": {"admin": "owner", "packer": "shipper", "accounts": "bookkeeper", "guest": "viewer"},
    "SSO_STAFF_CLAIM": "https://saltbush.example/staff",
    "SSO_STAFF_GROUPS": {"helpers": "Support", "chiefs": "Ops lead"},
    "SSO_SECOND_FACTORS": ["mfa", "urn:acr:2"],
}


@pytest.fixture(autouse=True)
def _settings(settings: Any) -> None:
    for name, value in SETTINGS.items():
        setattr(settings, name, value)


def read(**claims: Any) -> PersonClaims:
    return read_claims(claims)


def test_all_claims_are_read() -> None:
    given = {
        "email": " Mia@Marlow.example",
        "email_verified": True,
        "name": "Mia  Marlow",
        "org": "marlow",
        "org_name": "Marlow Candles",
        "country": "au",
        "realm_access": {"roles": ["packer", "accounts"]},
        "https://saltbush.example/staff": ["chiefs"],
        "acr": "urn:acr:2",
    }
    assert read_claims(given) == PersonClaims(
        email="mia@marlow.example",
        is_verified=True,
        name="Mia Marlow",
        business="marlow",
        business_name="Marlow Candles",
        country="AU",
        role="shipper",
        groups=frozenset({"Ops lead"}),
        has_second_factor=True,
    )


def test_missing_claims_leave_everything_blank() -> None:
    assert read_claims({}) == PersonClaims()


@pytest.mark.parametrize(
    ("said", "is_verified"),
    [(True, True), ("true", True), (False, False), ("false", False), (None, False), (1, False), ([True], False)],
)
def test_an_address_is_verified_if_the_claim_is_true(said: Any, is_verified: bool) -> None:
    assert read(email="mia@marlow.example", email_verified=said).is_verified is is_verified


@pytest.mark.parametrize(("said", "is_verified"), [(None, True), (False, False), ("no", False), (True, True)])
def test_a_trusted_issuers_address_is_verified_unless_it_says_otherwise(
    said: Any, is_verified: bool, settings: Any
) -> None:
    settings.SSO_TRUSTS_EMAILS = True
    assert read(email_verified=said).is_verified is is_verified
    assert read().is_verified


@pytest.mark.parametrize(
    ("said", "role"),
    [
        ({"roles": ["guest", "admin", "packer"]}, "owner"),
        ({"roles": "accounts"}, "bookkeeper"),
        ({"roles": ["owner"]}, ""),  # their word, not ours
        ({"roles": [{"admin": 1}, None, True, 7]}, ""),
        ({"roles": {"admin": True}}, ""),
        (["admin"], ""),
        (None, ""),
    ],
)
def test_the_strongest_mapped_role_is_used(said: Any, role: str) -> None:
    assert read(realm_access=said).role == role


def test_the_default_role_is_for_people_without_one(settings: Any) -> None:
    settings.SSO_DEFAULT_ROLE = "viewer"
    assert read(realm_access={"roles": ["cook"]}).role == "viewer"
    assert read(realm_access={"roles": ["packer"]}).role == "shipper"


@pytest.mark.parametrize(
    ("said", "business"),
    [
        ("marlow", "marlow"),
        (["marlow"], "marlow"),
        (4711, "4711"),
        (["marlow", "bolts"], ""),  # nobody ships for two
        (True, ""),
        ("", ""),
        ("x" * 121, ""),
        ("mar\x00low", ""),
        ("mar\u202elow", ""),
        ({"id": "marlow"}, ""),
    ],
)
def test_a_single_readable_business_is_used(said: Any, business: str) -> None:
    assert read(org=said).business == business


@pytest.mark.parametrize(
    ("claims", "counts"),
    [({"acr": "mfa"}, True), ({"amr": ["pwd", "mfa"]}, True), ({"acr": "0"}, False), ({"amr": ["pwd"]}, False)],
)
def test_a_second_factor_counts_only_if_a_setting_lists_it(claims: Any, counts: bool, settings: Any) -> None:
    assert read_claims(claims).has_second_factor is counts
    settings.SSO_SECOND_FACTORS = []
    assert not read_claims(claims).has_second_factor


def test_a_claim_is_not_read_without_a_setting_for_it(settings: Any) -> None:
    settings.SSO_BUSINESS_CLAIM = settings.SSO_ROLE_CLAIM = settings.SSO_STAFF_CLAIM = ""
    found = read(**{"": "marlow", "org": "marlow", "realm_access": {"roles": ["admin"]}})
    assert (found.business, found.role, found.groups) == ("", "", frozenset())
