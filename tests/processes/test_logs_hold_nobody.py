"""Canaries in every search, form race and error of a whole site: no log of any process has one."""

import base64
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from html import unescape
from pathlib import Path
from urllib.parse import quote

import pytest
import requests

from tests.processes.behind import WEBS, Site, a_site
from tests.processes.portal import until
from tools.campaign.actors import OFFER, PARCEL
from tools.campaign.browser import Browser, Noticed

pytestmark = [pytest.mark.processes, pytest.mark.postgres]
CANARIES = ("canaryname", "0491570157", "0491 570 157", "77 quartz", "canary-signed", "canary-key")
WORDS = "Zora Canaryname 0491570157 zora@canaryname.example 77 Quartz Mews"
SIGNED = "https://track.example/t/?token=eyJhbGciOiJIUzI1NiJ9.canary-signed.canary-signed"
RECEIVER = PARCEL | {
    "receiver_name": "Zora Canaryname", "receiver_email": "zora@canaryname.example", "receiver_phone": "0491 570 157",
    "receiver_line1": "77 Quartz Mews", "customer_reference": "C-1",
}  # fmt: skip
SEARCHES = (
    "/parcels/?q={}", "/parcels/?view={}", "/parcels/?pickup={}", "/suggest/receivers/?q={}", "/suggest/places/?q={}",
    "/addresses/?q={}", "/billing/?q={}", "/reports/?weeks={}", "/watch/?q={}", "/prices/?suburb={}", "/nowhere/?q={}",
    "/parcels/new/?again={}", "/parcels/new/?draft={}", "/admin/find/?q={}", "/admin/orders/order/?q={}",
    "/admin/orders/order/?receiver_email__startswith={}", "/admin/orders/order/?day={}", "/accounts/login/?next={}",
    "/parcels/?q={}%00", "/parcels/?by=99999999999999999999&q={}",
)  # fmt: skip
KEYS = (
    "/invitation/canary-key/", "/unsubscribe/canary-key/", "/follow/canary-key/", "/webhooks/tracking/canary-key/",
    "/accounts/password/reset/key/1-canary-key/", "/accounts/confirm-email/canary-key/",
)  # fmt: skip
FORMS = (
    "/parcels/new/", "/suggest/pasted/", "/accounts/login/", "/accounts/password/reset/", "/accounts/signup/",
    "/addresses/new/", "/watch/", "/settings/team/", "/prices/", "/imports/new/", "/nowhere/",
)  # fmt: skip


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with a_site(tmp_path_factory.mktemp("canaries"), has_own_server=True) as made:
        yield made


def logs_of(site: Site) -> dict[str, str]:
    """Return each log of the site by name: web servers, worker, sweeper, PostgreSQL, and both of nginx."""
    files: list[Path] = [*site.portal.folder.glob("*.log"), *site.servers.children.logs.glob("*.log")]
    found = {file.stem: file.read_text(errors="replace") for file in [*files, site.proxy.log, site.proxy.error_log]}
    assert found.keys() >= {*WEBS, "worker", "sweep", "postgres", "access", "error"}
    return found


def book(browser: Browser) -> list[requests.Response]:
    """Send one form two dozen times at once."""
    location = browser.post("/parcels/new/", RECEIVER).headers["Location"]
    token, product = OFFER.findall(browser.get(location).text)[0]
    form = {"form_token": token, "product": unescape(product), "pickup_date": "", "another": "yes"}
    with ThreadPoolExecutor(24) as hands:
        return list(hands.map(lambda _: browser.post(f"{location}book/", form), range(24)))


def send(site: Site, browser: Browser) -> set[int]:
    """Send the canaries to every search and form, and to URLs that contain a token."""
    seen = set()
    for search in SEARCHES:
        seen.add(browser.session.get(site.proxy.url + search.format(quote(WORDS)), timeout=60).status_code)
    fields = dict.fromkeys((*RECEIVER, "text", "login", "password", "email", "name", "reference", "note"), WORDS)
    for path in (*FORMS, *KEYS):
        for data in (fields, fields | {"note": SIGNED, "text": WORDS * 20}):
            seen.add(browser.post(path, data).status_code)
        seen.add(browser.session.get(site.proxy.url + path, timeout=60).status_code)
    too_large = site.proxy.url + "/imports/new/?q=" + quote(WORDS)
    seen.add(browser.session.post(too_large, data=WORDS.encode() * 60_000, timeout=60).status_code)
    basic = {"Authorization": "Basic " + base64.b64encode(b"canary-key:canary-key").decode()}
    body = {"event_id": str(uuid.uuid4()), "description": WORDS, "link": SIGNED}
    for headers in (basic, {"Referer": site.proxy.url + "/parcels/?q=" + quote(WORDS)}):
        answer = browser.session.post(site.proxy.url + "/webhooks/tracking/", json=body, headers=headers, timeout=60)
        seen.add(answer.status_code)
    return seen


def test_no_log_of_a_whole_site_has_a_canary(site: Site) -> None:
    browser = site.logged_in(site.people[0], Noticed(()))
    site.carrier.trouble("book", "commit-close", count=2)
    site.carrier.trouble("label", "redirect-elsewhere", count=2)
    assert {answer.status_code for answer in book(browser)} == {302}
    assert send(site, browser) >= {200, 302, 400, 404, 413}
    until(lambda: "booking" not in site.portal.orders().values(), seconds=60, what="the carrier was asked")
    # Then the database goes down while web, worker and sweeper are working.
    site.servers.stop("postgres")
    for search in SEARCHES[:4]:
        browser.session.get(site.proxy.url + search.format(quote(WORDS)), timeout=60)
    site.servers.start("postgres")
    until(lambda: site.is_ready(WEBS[0]), seconds=60, what="the web is ready again")
    site.portal.kill(WEBS[0])
    site.portal.kill(WEBS[1])
    assert browser.session.get(site.proxy.url + SEARCHES[0].format(quote(WORDS)), timeout=60).status_code == 503
    logs = logs_of(site)
    assert {name for name, text in logs.items() if not text} <= {"error", "valkey"}
    assert [found for name, text in logs.items() if (found := canary_in(name, text))] == []


def canary_in(name: str, text: str) -> str:
    """Return the first canary in the log with the text around it, or "" if there is none."""
    places = [place for canary in CANARIES if (place := text.casefold().find(canary)) >= 0]
    return f"{name}: {text[max(0, min(places) - 900) : min(places) + 200]}" if places else ""
