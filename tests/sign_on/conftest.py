"""One provider for all tests of a run. Each test sets which people it knows."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from shipping_portal.accounts.login import openid
from tests.sign_on.partner import MIA, Partner, Person


@pytest.fixture(scope="session")
def _provider(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Partner]:
    with Partner(tmp_path_factory.mktemp("partner")) as it:
        yield it


@pytest.fixture
def partner(_provider: Partner, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Partner]:
    """The partner whose people sign on. Their claims give a business and a role."""
    openid.forget_discovery()
    monkeypatch.setattr(openid, "SECONDS", 30.0)  # on a busy machine
    for name, value in (_provider.settings() | CLAIMS).items():
        setattr(settings, name, value)
    _provider.people = {}
    _provider.knows("mia", **MIA, org="marlow", roles=["admin"])
    yield _provider
    openid.forget_discovery()


CLAIMS = {
    "SSO_BUSINESS_CLAIM": "org",
    "SSO_ROLE_CLAIM": "roles",
    "SSO_ROLES": {"admin": "owner", "packer": "shipper", "accounts": "bookkeeper"},
    "SSO_STAFF_CLAIM": "staff",
    "SSO_STAFF_GROUPS": {"helpers": "Support", "chiefs": "Ops lead"},
}


@pytest.fixture
def somebody(partner: Partner) -> Callable[..., Person]:
    """`somebody("ann", email="…")` is a person the partner knows, with these claims."""

    def known(user: str = "mia", **claims: Any) -> Person:
        given = {**MIA, "sub": user, "org": "marlow", "roles": ["admin"], **claims}
        partner.knows(user, **{name: value for name, value in given.items() if value is not None})
        return Person(partner, user)

    return known


@pytest.fixture
def stopped(settings: Any, tmp_path: Path) -> None:
    """An issuer that doesn't answer."""
    openid.forget_discovery()
    settings.SSO_ISSUER, settings.SSO_NAME = "http://127.0.0.1:9/o", "Saltbush"
    settings.SSO_CLIENT_ID, settings.SSO_CLIENT_SECRET = "portal", "canary-sign-on-secret"
