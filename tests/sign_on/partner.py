"""The partner in tests: its OpenID provider in a separate process, and a person's browser between it and us."""

import json
import re
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

import requests
from django.test import Client

from tests.ports import free_port
from tools.dev.processes import ChildProcesses

SITE = "http://127.0.0.1:8000"
CLIENT = {
    "id": "portal",
    "secret": "canary-sign-on-secret-0123456789abcdef",
    "callback": f"{SITE}/accounts/sso/callback/",
    "logged_out": f"{SITE}/accounts/sso/logged-out/",
}
MIA = {"sub": "mia", "email": "mia@marlow.example", "email_verified": True, "name": "Mia Marlow"}


class Partner:
    """`with Partner(folder) as partner:` answers at `partner.issuer` until the block ends."""

    def __init__(self, folder: Path, *, client: dict[str, str] | None = None) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.port, self.client = folder, free_port(), CLIENT | (client or {})
        self.people: dict[str, dict[str, Any]] = {}
        self.children = ChildProcesses(folder / "logs")
        self.url = f"http://127.0.0.1:{self.port}"
        self.issuer = f"{self.url}/o"

    def __enter__(self) -> Self:
        self.knows("mia", **MIA)
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.children.__exit__()

    def start(self) -> None:
        program = [sys.executable, "-m", "tests.sign_on.provider", self.folder, self.port]
        self.children.start("provider", program)
        self.children.wait_for("provider", self.answers)

    def answers(self) -> bool:
        try:
            return requests.get(f"{self.issuer}/.well-known/openid-configuration", timeout=5).ok
        except requests.ConnectionError:
            return False

    def knows(self, user: str, **claims: Any) -> None:
        """Set the claims about somebody from now on."""
        self.people[user] = claims
        new = self.folder / "new.json"
        new.write_text(json.dumps({"client": self.client, "people": self.people}))
        new.replace(self.folder / "provider.json")

    def settings(self) -> dict[str, Any]:
        """The settings of an installation."""
        return {
            "SSO_ISSUER": self.issuer,
            "SSO_CLIENT_ID": self.client["id"],
            "SSO_CLIENT_SECRET": self.client["secret"],
            "SSO_NAME": "Saltbush",
        }


class Person:
    """Somebody with one browser who goes back and forth between the portal and the partner."""

    def __init__(self, partner: Partner, user: str = "mia") -> None:
        self.partner, self.user = partner, user
        self.portal, self.there = Client(), requests.Session()

    def begin(self, address: str = "/accounts/sso/login/") -> str:
        """Return where the portal redirects them."""
        answer = self.portal.get(address)
        assert answer.status_code == 302, answer.content.decode()
        return str(answer["Location"])

    def go_there(self, address: str) -> str:
        """Log in at the partner if it asks. Return the portal's path that it sends them back to."""
        began_at = time.monotonic()
        while not address.startswith(SITE):
            assert time.monotonic() - began_at < 20, address
            address = address if address.startswith("http") else self.partner.url + address
            answer = self.there.get(address, allow_redirects=False, timeout=10)
            if answer.status_code == 200 and "/log-in/" in address:
                answer = self.there.post(address, {"user": self.user}, allow_redirects=False, timeout=10)
            assert answer.is_redirect, (answer.status_code, answer.text[:2000])
            address = answer.headers["Location"]
        return address.removeprefix(SITE)

    def sign_on(self, address: str = "/accounts/sso/login/") -> Any:
        """Return the portal's response to the partner's reply."""
        return self.portal.get(self.go_there(self.begin(address)))

    def page(self, address: str) -> Any:
        return self.portal.get(address, follow=True)

    def is_logged_in(self) -> bool:
        return "_auth_user_id" in self.portal.session


def query_of(address: str) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}


def with_query(address: str, **changes: str) -> str:
    """Return the URL with other values, as a browser or somebody who stole the URL might change it."""
    for name, value in changes.items():
        address = re.sub(rf"([?&]{name}=)[^&]*", rf"\g<1>{value}", address)
    return address
