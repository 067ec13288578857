"""While an operator views as a sender, no page has a link, form or button that would be refused."""

from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urljoin, urlsplit

import pytest
from django.test import Client
from django.urls import Resolver404, resolve
from django.utils import timezone

from orders.models import Order
from orders.models.statuses import MOVES, Progress
from orders.status.status_labels import GROUPS
from shipping_portal.accounts.login import seeing_as
from shipping_portal.accounts.models import Sender, User
from tests import factories
from tests.access import MEMBERS, address, things_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("parcel_tools")]
# Links that leave the sender's pages: stop viewing, and log out.
STOP = {"accounts_sender_stop_seeing", "account_logout"}
ADDRESSES = ("href", "src", "action", "formaction", "hx-get", "hx-post", "data-url")


class Controls(HTMLParser):
    """Collects the URLs a page links to, each with its method. A form without a URL is named by its fields."""

    def __init__(self, page: Any, url: str) -> None:
        super().__init__()
        self.url, self.method = url, "get"
        self.found: set[tuple[str, str]] = set()
        self.feed(page.content.decode())

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.method = given.get("method", "get").lower()
            given.setdefault("action", "")
        is_form = tag == "form" or "formaction" in given
        for name in ADDRESSES:
            if name in given and (tag != "link" or given.get("rel") != "stylesheet"):
                method = "post" if name == "hx-post" or (is_form and self.method == "post") else "get"
                self.found.add((method, urljoin(self.url, given[name])))


def walk(browser: Client, pages: list[str]) -> Iterator[tuple[str, str, str, int]]:
    """Open each page and use one control of each kind. Return each one's page, method, name and response."""
    pressed: dict[tuple[str, str], int] = {}
    for at in pages:
        page = browser.get(at)
        yield "", "get", _name(at), page.status_code
        if page.status_code != 200:
            continue
        for method, url in sorted(Controls(page, at).found):
            name = _name(url)
            if url.startswith("/") and name and name not in STOP:
                if (method, name) not in pressed:
                    pressed[method, name] = getattr(browser, method)(url.partition("#")[0]).status_code
                yield _name(at), method, name, pressed[method, name]


def _name(url: str) -> str:
    try:
        return str(resolve(urlsplit(url).path).url_name)
    except Resolver404:
        return ""


@pytest.fixture
def things(quill: Sender, alice: User) -> Any:
    return things_of(quill, alice)


@pytest.fixture
def pages(quill: Sender, alice: User, things: Any) -> list[str]:
    """Every page open to an operator, for an account with one of everything and a parcel in every status."""
    for status in {*MOVES, *(to for ways in MOVES.values() for to in ways)}:
        made = factories.order(quill, alice, status=status)
        factories.stored_label(made)
        if status == "booked":
            factories.parcel(made)
            factories.charge(made, "under-declared", "4.13", measured_kg="3.6")
    for progress in Progress.values:
        factories.parcel(factories.order(quill, alice, status="booked", progress=progress, progress_at=timezone.now()))
    opened = [address(route, things) for route, entry in MEMBERS if entry.name in seeing_as.PAGES]
    opened += [f"/parcels/{key}/" for key in Order.objects.values_list("uuid", flat=True)]
    opened += [f"/parcels/?status={group}" for group in GROUPS]
    opened += [f"/parcels/?view={view}" for view in ("drafts", "waiting", "late-ones")]
    return [*opened, "/parcels/?q=nobody+has+this", "/parcels/?open=1", "/watch/", "/billing/?open=1"]


def looking(browser: Client, sender: Sender) -> Client:
    browser.post(f"/admin/accounts/sender/{sender.pk}/see_as/", {"reason": "she can't find her parcel"})
    return browser


@pytest.mark.parametrize("group", ["Ops lead", "Billing"])
def test_no_control_on_a_page_is_refused(group: str, operator: Any, quill: Sender, pages: list[str]) -> None:
    found = set(walk(looking(operator(group), quill), pages))
    assert sorted(one for one in found if one[3] == 403) == []
    assert {name for _, _, name, _ in found} >= {"today", "parcels", "parcel", "billing", "statement", "more"}


def test_no_control_of_an_empty_account_is_refused_either(operator: Any, quill: Sender) -> None:
    pages = ["/today/", "/parcels/", "/watch/", "/more/", "/billing/", "/reports/"]
    browser = looking(operator("Ops lead"), quill)
    assert [found for found in walk(browser, pages) if found[3] == 403] == []


def test_the_owner_sees_all_controls_and_each_leads_somewhere(
    alice: User, visit: Any, things: Any, pages: list[str]
) -> None:
    """The same crawl finds what is closed to an operator."""
    browser, names, dead = visit(alice), set(), set()
    for at in {*pages, *(address(route, things) for route, _ in MEMBERS)}:
        page = browser.get(at)
        if page.headers["Content-Type"].startswith("text/html") and not page.streaming:
            found = {url for _, url in Controls(page, at).found}
            names |= {_name(url) for url in found}
            dead |= {(at, url) for url in found if not _leads_somewhere(url)}
    assert names >= {"label", "tracking_page", "printed", "pack_proof", "cancel", "new_parcel", "imports", "settings"}
    assert dead == set()


def _leads_somewhere(url: str) -> bool:
    return not url.startswith("/") or url.startswith("/static/") or bool(_name(url))
