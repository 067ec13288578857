"""Run a portal of real processes and a real Chromium. A console error or CSP violation fails the test."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Browser, BrowserContext, Page, Playwright, expect, sync_playwright

from tests.ports import free_port
from tests.processes.portal import ROOT, Portal, until_ready
from tests.recording import improper
from tests.sandbox_carrier import SandboxCarrier

CHROMIUM = shutil.which(os.environ.get("CHROMIUM") or "chromium")
# Chromium without its windows, where the machine has it. It takes half the CPU, but it can't show a PDF file.
HEADLESS = shutil.which("chromium-headless-shell") or CHROMIUM
QUIET = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync"]  # fmt: skip
SECRET = "browser-webhook-secret-0123456789abcdef"
AXE_TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


# A page wider than its window, or a table wider than the card that cuts it off.
WIDE = """() => document.documentElement.scrollWidth > document.documentElement.clientWidth
    || [...document.querySelectorAll(".card.flush > table")].some(table =>
        table.scrollWidth > table.parentElement.clientWidth + 1 && !table.parentElement.matches(".scroll"))"""


@pytest.hookimpl(tryfirst=True)  # pytest-xdist reads the groups in a hook of its own
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Make each file a group unless it names one. The workers share the groups, and each has its own portal."""
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.browser)
            if not item.get_closest_marker("xdist_group"):
                item.add_marker(pytest.mark.xdist_group(item.path.stem))
            if CHROMIUM is None:
                item.add_marker(pytest.mark.skip(reason="there is no Chromium on this machine"))


@dataclass
class Stack:
    """The portal's address, its sandbox carrier's address, and who may log in."""

    url: str
    carrier: SandboxCarrier
    portal: Portal
    people: dict[str, dict[str, str]]
    mail: Path

    def manage(self, *arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, "manage.py", *arguments],
            cwd=ROOT,
            env=self.portal.env,
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )
        return done.stdout

    def shell(self, code: str) -> str:
        """Run a few lines of Python on the portal's database. Return what they print."""
        return self.portal.run_code(code)


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    folder = tmp_path_factory.mktemp("stack")
    web, carrier_port = free_port(), free_port()
    contract = f'replays = true\nlink = "signed"\nlink_page = "http://127.0.0.1:{carrier_port}/t/"\n'
    contract += "requests_per_second = 50.0\ntracking_per_second = 50.0\n"
    choices: dict[str, Any] = {
        "port": carrier_port,
        "key": "canary-carrier-key",
        "link_key": "canary-link-key-0123456789abcdef",
        "listener": f"http://carrier:{SECRET}@127.0.0.1:{web}/webhooks/tracking/",
    }
    with SandboxCarrier(folder / "carrier", contract=contract, **choices) as carrier:
        portal = Portal(folder / "portal", carrier.url, contract=contract)
        portal.env |= {
            "DEMO": "1",
            "IMPORTS_AN_HOUR": "1000",  # one person visits them all
            "SITE_URL": f"http://127.0.0.1:{web}",
            "CSRF_TRUSTED_ORIGINS": f"http://127.0.0.1:{web}",
            "WEBHOOK_SECRETS": f"carrier:{SECRET}",
            "EMAIL_URL": f"filemail:///{folder / 'mail'}",
            "TIME_SCALE": "0.25",
            "POLL_SECONDS": "3600",
            "SWEEP_SECONDS": "1",  # the broker is up; polling more often takes a quarter of a core from the browser
            "CARRIER_LINK_KEY": "canary-link-key-0123456789abcdef",
        }
        with portal:
            command = ["-m", "gunicorn", "shipping_portal.wsgi", f"--bind=127.0.0.1:{web}", "--worker-class=gthread"]
            portal.start("web", *command, "--threads=8", "--no-control-socket")
            made = Stack(f"http://127.0.0.1:{web}", carrier, portal, {}, folder / "mail")
            made.people = json.loads(made.manage("demo", "--json").splitlines()[-1])
            until_ready(web)
            yield made
            assert improper(carrier.requests()) == []


@pytest.fixture(scope="session")
def playwright() -> Iterator[Playwright]:
    with sync_playwright() as started:
        yield started


@pytest.fixture(scope="session")
def chromium(playwright: Playwright) -> Iterator[Browser]:
    with playwright.chromium.launch(executable_path=HEADLESS, args=QUIET) as browser:
        yield browser


@pytest.fixture(scope="session")
def full_chromium(playwright: Playwright) -> Iterator[Browser]:
    with playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET) as browser:
        yield browser


Open = Callable[..., Page]


@pytest.fixture
def open_browser(stack: Stack, request: pytest.FixtureRequest) -> Iterator[Open]:
    """`open_browser(javascript=False, width=360, theme="dark")` is a new private window."""
    browser = request.getfixturevalue("full_chromium" if request.node.get_closest_marker("pdf_viewer") else "chromium")
    contexts: list[BrowserContext] = []
    complaints: list[str] = []

    def opened(*, javascript: bool = True, width: int = 1280, theme: str = "light", touch: bool = False) -> Page:
        context = browser.new_context(
            base_url=stack.url,
            java_script_enabled=javascript,
            viewport={"width": width, "height": 900},
            color_scheme=theme,
            has_touch=touch,
            timezone_id="Australia/Melbourne",
        )
        context.set_default_timeout(15_000)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        return page

    yield opened
    for context in contexts:
        context.close()
    stack.carrier.clear()  # errors don't carry over to the next test
    expected = ("404", "409", "403", "422")  # Chromium logs every refused page as an error
    assert [text for text in complaints if not any(f"status of {code}" in text for code in expected)] == []


@pytest.fixture(scope="session")
def operators_cookies(chromium: Browser, stack: Stack) -> Any:
    """Log the operator in once for all tests: a code works once, and after a few wrong ones the login is locked for
    minutes.
    """
    context = chromium.new_context(base_url=stack.url)
    page = context.new_page()
    page.goto("/admin/")
    enter(page, stack.people["operator"])
    page.fill("input[name=code]", stack.manage("totp").split()[-1])
    page.get_by_role("button", name="Log in").click()
    expect(page).to_have_url(re.compile("/admin/$"))
    yield context.cookies()
    context.close()


def enter(page: Page, person: dict[str, str]) -> None:
    page.fill("input[name=login]", person["email"])
    page.fill("input[name=password]", person["password"])
    page.locator("main form button.go").first.click()
    page.wait_for_load_state()


@pytest.fixture
def log_in(open_browser: Open, stack: Stack, request: pytest.FixtureRequest) -> Open:
    """`log_in("sender")` is a window where the demo's sender, or the operator, has logged in.

    The sender has a new session each time. What the login page does is seen in test_three_minutes.py.
    """

    def logged_in(who: str = "sender", **choices: Any) -> Page:
        page = open_browser(**choices)
        if who == "operator":
            page.context.add_cookies(request.getfixturevalue("operators_cookies"))
            page.goto("/admin/")
        else:
            cookie = {"name": "session", "value": stack.portal.session(stack.people[who]["email"]), "url": stack.url}
            page.context.add_cookies([cookie])
            page.goto("/today/")
        return page

    return logged_in


@pytest.fixture
def clicks() -> list[str]:
    """What was clicked, in order."""
    return []


@pytest.fixture
def staff(log_in: Open, clicks: list[str]) -> Page:
    """The admin's first page. Every click from there is added to `clicks`."""
    page = log_in("operator")
    page.expose_function("pressed", lambda what: clicks.append(what))
    script = "addEventListener('pointerdown', event => window.pressed(event.target.textContent.trim()), true)"
    page.add_init_script(script)
    page.goto("/admin/")
    return page


@pytest.fixture(scope="session")
def gallery(stack: Stack) -> Any:
    """Who sees which addresses: {room: {cookie, pages: {name: address}}}. Built once in each worker that needs it."""
    command = [sys.executable, "-m", "tests.browser.gallery"]
    done = subprocess.run(
        command, cwd=ROOT, env=stack.portal.env, capture_output=True, text=True, check=False, timeout=180
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture
def walk_in(open_browser: Open, gallery: Any, stack: Stack) -> Open:
    """`walk_in("typical", width=360)` is a window of the person that room belongs to."""

    def walked_in(room: str = "typical", **choices: Any) -> Page:
        page = open_browser(**choices)
        if gallery[room]["cookie"]:
            cookie = {"name": "session", "value": gallery[room]["cookie"], "url": stack.url}
            page.context.add_cookies([cookie])
        return page

    return walked_in


AXE_FROM_THE_TOP = """async options => {
    const was = scrollY;
    scrollTo({ top: 0, behavior: "instant" });
    const results = await axe.run(options);
    scrollTo({ top: was, behavior: "instant" });
    return results.violations;
}"""


def violations(page: Page, *, but: frozenset[str] = frozenset()) -> list[str]:
    """Return what axe finds on the page; it should be empty. Preloading styles would itself break the CSP."""
    if not page.evaluate("'axe' in window"):  # half a megabyte: load it once a page, however often axe runs
        page.evaluate(AXE_SCRIPT)
    options = {"runOnly": AXE_TAGS, "resultTypes": ["violations"], "preload": False}
    # Start from the top: axe says a field scrolled under the header is too small a target.
    found = page.evaluate(AXE_FROM_THE_TOP, options)
    faults = [fault for fault in found if fault["id"] not in but]
    return [f"{v['id']}: {v['help']} {[n['target'] for n in v['nodes']][:3]}" for v in faults]


def has_sideways_scroll(page: Page) -> bool:
    page.wait_for_load_state()
    wide: bool = page.evaluate(WIDE)
    return wide


def widest(page: Page) -> str:
    """Return the last two elements that stick out past the window's edge."""
    script = """() => { const edge = document.documentElement.clientWidth;
        return [...document.querySelectorAll("body *")].filter(it => it.getBoundingClientRect().right > edge + 1
            && !it.closest("[tabindex='0'] *")).map(it => it.outerHTML.slice(0, 70)).slice(-2).join(" | "); }"""
    return f": {page.evaluate(script)}"
