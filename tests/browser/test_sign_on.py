"""Sign on from the partner's account and log out again, in a real browser without scripts."""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import AXE_TAGS, WIDE
from tests.ports import free_port
from tests.processes.portal import Portal, until_ready
from tests.sign_on.partner import MIA, Partner

LOOKS = os.environ.get("LOOKS")  # a folder for pictures of each page


@dataclass
class PortalWithSignOn:
    url: str
    partner: Partner
    chromium: Browser
    complaints: list[str]

    def open(self, *, width: int, javascript: bool = False) -> Page:
        context = self.chromium.new_context(
            base_url=self.url, java_script_enabled=javascript, viewport={"width": width, "height": 800}
        )
        context.set_default_timeout(60_000)
        page = context.new_page()
        page.on("console", lambda said: self.complaints.append(said.text) if said.type == "error" else None)
        return page


def look(page: Page, name: str) -> None:
    if LOOKS:
        page.screenshot(path=Path(LOOKS) / f"{name}.png", full_page=True)


@pytest.fixture(scope="module")
def signing_on(tmp_path_factory: pytest.TempPathFactory, chromium: Browser) -> Iterator[PortalWithSignOn]:
    folder, web = tmp_path_factory.mktemp("front"), free_port()
    url = f"http://127.0.0.1:{web}"
    client = {"callback": f"{url}/accounts/sso/callback/", "logged_out": f"{url}/accounts/sso/logged-out/"}
    with Partner(folder / "partner", client=client) as partner:
        partner.knows("mia", **MIA, org="marlow", roles=["admin"])
        portal = Portal(folder / "portal", "http://127.0.0.1:9")
        portal.env |= partner.settings() | {
            "SITE_URL": url,
            "CSRF_TRUSTED_ORIGINS": url,
            "SSO_BUSINESS_CLAIM": "org",
            "SSO_ROLE_CLAIM": "roles",
            "SSO_ROLES": "admin=owner",
            "SSO_OPENS_BUSINESSES": "on",
            "SSO_COUNTRY": "AU",
            "LOCAL_PASSWORDS": "off",
        }
        with portal:
            portal.start_web(web)
            until_ready(web)
            complaints: list[str] = []
            yield PortalWithSignOn(url, partner, chromium, complaints)
            assert [text for text in complaints if "status of" not in text] == []


@pytest.mark.parametrize("width", [360, 1280])
def test_there_and_back_without_a_script_or_a_password(signing_on: PortalWithSignOn, width: int) -> None:
    page = signing_on.open(width=width)
    page.goto("/accounts/login/?next=/settings/")
    page.wait_for_url(re.compile("/log-in/"))  # the partner's page, without a press
    page.fill("input[name=user]", "mia")
    page.get_by_role("button", name="Log in").click()
    page.wait_for_url(re.compile("/(promise|settings)/"))
    if "/promise/" in page.url:
        look(page, f"promise-{width}")
        page.get_by_label("We won't send dangerous goods").check()
        page.get_by_role("button", name="Go on").click()
        page.wait_for_url(re.compile("/start/"))
    look(page, f"first-page-{width}")
    page.locator("details.me summary").click()
    page.get_by_role("button", name="Log out").click()
    page.wait_for_url(re.compile("/o/logout/"))  # the partner's page, which asks
    page.locator("input[name=allow]").click()
    expect(page.get_by_role("heading", name="You're logged out")).to_be_visible()
    look(page, f"logged-out-{width}")
    page.goto("/settings/")
    page.wait_for_url(re.compile("/log-in/"))  # logged out at both


@pytest.mark.parametrize("address", ["/accounts/sso/callback/?state=x", "/accounts/sso/logged-out/?here=1",
                                     "/accounts/enter/x/", "/accounts/break-glass/x/", "/accounts/signup/"])  # fmt: skip
@pytest.mark.parametrize("width", [360, 1280])
def test_its_pages_are_accessible_and_fit(signing_on: PortalWithSignOn, address: str, width: int) -> None:
    page = signing_on.open(width=width, javascript=True)
    page.goto(address)
    look(page, f"{address.strip('/').replace('/', '-').partition('?')[0]}-{width}")
    assert not page.evaluate(WIDE)
    page.evaluate(AXE_SCRIPT)
    found = page.evaluate("tags => axe.run({runOnly: {type: 'tag', values: tags}})", AXE_TAGS)
    assert [violation["id"] for violation in found["violations"]] == []
