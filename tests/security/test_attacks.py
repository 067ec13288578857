"""No request takes more than a second of CPU, whatever is typed, pasted or uploaded."""

import gc
import logging
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from shipping_portal.importing import reading
from tests.access import OURS, World, address, world  # noqa: F401
from tests.importing.workbooks import sheet_of
from tests.pages.typed import AT_HOME
from tests.security import attacks
from tests.security.attacks import Form

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("localities")]
ADMIN = "/admin/"


@pytest.fixture(autouse=True)
def nothing_is_kept() -> Iterator[None]:
    """Drop the log. Django logs a refused request in full and pytest keeps it, which would add up to gigabytes.

    The objects that `attacks.seconds` freezes add up too.
    """

    def without_it(record: logging.LogRecord) -> bool:
        record.__dict__.pop("request", None)
        return True

    loggers = [logging.getLogger(name) for name in ("django.request", "django.security.SuspiciousOperation")]
    for logger in loggers:
        logger.addFilter(without_it)
    yield
    for logger in loggers:
        logger.removeFilter(without_it)
    forget()


def forget() -> None:
    """Unfreeze the objects of a measurement. After thousands of requests they would fill the memory."""
    gc.unfreeze()
    gc.collect()
    gc.freeze()


def pages(browser: Client, urls: list[str]) -> Iterator[tuple[Client, Form]]:
    """Yield each form on those pages that return HTML, and who sends it."""
    browser.raise_request_exception = False
    for url in urls:
        page = browser.get(url)
        if page.status_code == 200 and not page.streaming and "html" in page.headers.get("Content-Type", ""):
            for form in attacks.forms_of(url, page.content.decode()):
                yield browser, form


def distinct(found: Iterator[tuple[Client, Form]]) -> list[tuple[Client, Form]]:
    """Return each form once, going by what it sends and where."""
    once: dict[tuple[Any, ...], tuple[Client, Form]] = {}
    for browser, form in found:
        key = (re.sub(r"[0-9a-f-]{36}|\d+", "#", form.action), form.method, *form.typed)
        once.setdefault(key, (browser, form))
    return list(once.values())


def staff(browser: Client) -> list[str]:
    """Return the admin's pages: its lists, the first objects in each, and their actions."""
    found: dict[str, Any] = {ADMIN: None}
    for _ in range(3):
        for url in [url for url, seen in found.items() if seen is None]:
            page = browser.get(url)
            found[url] = True
            if page.status_code == 200 and not page.streaming:
                links = re.findall(rf'href="({ADMIN}[\w/-]+/)(?:\?[^"]*)?"', page.content.decode())
                fresh = [link for link in dict.fromkeys(links) if link not in found and "logout" not in link]
                found |= dict.fromkeys(fresh[:40])
    return list(found)


def asked(world: World) -> list[tuple[Client, Form]]:  # noqa: F811
    """Return requests that no form sends, but a page's script or somebody's program does."""
    owner = world.client("owner")
    return [
        (owner, Form(reverse("new_parcel"), "post", {"unpaste": "1"}, {"pasted": 2_000})),
        (owner, Form(reverse("suggest_localities"), "get", {"country": "AU"}, {"q": 200})),
        (owner, Form(reverse("suggest_receivers"), "get", typed={"q": 200})),
        (owner, Form(reverse("parcels"), "get", typed={"q": 200, "after": 200, "view": 200})),
        (owner, Form(reverse("new_parcel"), "post", typed=dict.fromkeys(AT_HOME, 255))),
        (owner, Form(reverse("new_import"), "post", typed={"pasted": 2_000})),
    ]


def slow(
    forms: list[tuple[Client, Form]], pieces: list[str], make: Callable[[Form, str], Iterator[Any]] = attacks.bodies
) -> tuple[int, list[str]]:
    """Return how many bodies were sent, and which took too long."""
    count, found = 0, []
    for browser, form in forms:
        for filler in pieces:
            for what, body in make(form, filler):
                took, status = attacks.slowest(lambda: attacks.send(browser, form, body))  # noqa: B023
                count += 1
                if count % 100 == 0:
                    forget()
                if took > attacks.MOST_SECONDS or (status >= 500 and status != 503):
                    found.append(f"{form.method} {form.action} {what} of {filler!r}: {status}, {took:.2f} s")
    return count, found


def test_no_senders_form_takes_long_whatever_its_fields_contain(world: World) -> None:  # noqa: F811
    forms = distinct(pages(world.client("owner"), [address(route, world.things) for route, _ in OURS]))
    assert len(forms) > 35
    count, found = slow(forms, ["ﷺ "])
    assert (count, found) == (2 * len(forms), [])


def test_no_request_from_a_script_takes_long(world: World) -> None:  # noqa: F811
    _, found = slow(asked(world), ["11-", "7000 ", "a ", "(1"])
    assert found == []


@pytest.fixture
def every_form(world: World) -> list[tuple[Client, Form]]:  # noqa: F811
    """Our own forms, the login's and the admin's, and requests from scripts."""
    log_in = [reverse(name) for name in ("account_login", "account_signup", "account_reset_password")]
    of_owner = pages(world.client("owner"), [address(route, world.things) for route, _ in OURS])
    of_operator = pages(world.client("operator"), staff(world.client("operator")))
    return [*distinct(of_owner), *distinct(pages(Client(), log_in)), *distinct(of_operator), *asked(world)]


@pytest.mark.nightly
def test_no_form_takes_long_whatever_pairs_of_text_its_fields_contain(every_form: list[tuple[Client, Form]]) -> None:
    some = attacks.fillers(attacks.PIECES)
    whole, found = slow(every_form, some[:: len(some) // 60])
    single, others = slow(every_form, list(attacks.FEW), attacks.single_bodies)
    assert found + others == []
    assert whole + single > 10_000


# -- Files ---------------------------------------------------------------------------------------

MOST = reading.MOST_BYTES
SHEETS: dict[str, Callable[[], str]] = {
    "cells": lambda: "<row>" + "<c/>" * 440_000 + "</row>",
    "rows": lambda: "<row/>" * 440_000,
    "rows of a value": lambda: "<row><c><v>1</v></c></row>" * 146_000,
    "cells of a text": lambda: ("<row>" + '<c t="inlineStr"><is><t>a</t></is></c>' * 90 + "</row>") * 1_600,
    "cells in cells": lambda: "<c>" * 440_000 + "</c>" * 440_000,
    "attributes": lambda: ("<c " + " ".join(f'a{at}=""' for at in range(100)) + "/>") * 9_000,
    "blanks": lambda: " \n" * 9_000_000,
    "characters by number": lambda: '<row><c t="inlineStr"><is><t>' + "&#65;" * 3_000_000 + "</t></is></c></row>",
}
LINES: dict[str, Callable[[], bytes]] = {
    "commas": lambda: b"," * MOST,
    "tabs and bars": lambda: b"\t|" * (MOST // 2),
    "quotes": lambda: b'"' * MOST,
    "quoted letters": lambda: b'"a",' * (MOST // 4),
    "half quoted lines": lambda: b'"\n' * (MOST // 2),
    "lines of nothing": lambda: b"\n" * MOST,
    "lines of a comma": lambda: b",\n" * (MOST // 2),
    "lines of a letter": lambda: b"a\n" * (MOST // 2),
    "lines of Windows": lambda: b"\xe9\n" * (MOST // 2),
    "one line": lambda: b"a" * MOST,
    "two bytes a character": lambda: b"\xff\xfe" + b"a\0\n\0" * (MOST // 4 - 1),
    "NULs": lambda: b"\0" * MOST,
    "wide rows": lambda: b"a\n" + (b"a," * 500 + b"\n") * 2_000,
    "full rows": lambda: (b",".join([b"abcd"] * 199) + b"\n") * 2_000,
    "one sign for eighteen": lambda: "\ufdfa\n".encode() * (MOST // 4),
}


def posted(browser: Client, url: str, data: bytes, **more: str) -> tuple[float, int]:
    browser.raise_request_exception = False
    return attacks.slowest(lambda: browser.post(url, {**more, "file": SimpleUploadedFile("a.csv", data)}))


# Before a merge those that came closest to a second of CPU; each night all of them.
CLOSEST_SHEETS = ("rows", "cells of a text")
CLOSEST_LINES = ("commas", "tabs and bars", "wide rows")


@pytest.mark.nightly
@pytest.mark.parametrize("what", SHEETS)
def test_no_workbook_takes_long(what: str, world: World) -> None:  # noqa: F811
    take_no_longer_than_a_second_over_a_workbook(what, world)


@pytest.mark.full
@pytest.mark.parametrize("what", CLOSEST_SHEETS)
def test_the_slowest_workbooks_do_not_take_long(what: str, world: World) -> None:  # noqa: F811
    take_no_longer_than_a_second_over_a_workbook(what, world)


def take_no_longer_than_a_second_over_a_workbook(what: str, world: World) -> None:  # noqa: F811
    data = sheet_of(SHEETS[what]())
    assert len(data) < MOST
    took, status = posted(world.client("owner"), reverse("new_import"), data)
    assert (took < 1, status in (302, 422)) == (True, True), f"{took:.2f} s, {status}"


@pytest.mark.nightly
@pytest.mark.parametrize("what", LINES)
def test_no_file_of_lines_takes_long(what: str, world: World) -> None:  # noqa: F811
    take_no_longer_than_a_second_over_lines(what, world)


@pytest.mark.full
@pytest.mark.parametrize("what", CLOSEST_LINES)
def test_the_slowest_files_of_lines_do_not_take_long(what: str, world: World) -> None:  # noqa: F811
    take_no_longer_than_a_second_over_lines(what, world)


def take_no_longer_than_a_second_over_lines(what: str, world: World) -> None:  # noqa: F811
    data = LINES[what]()[:MOST]
    took, status = posted(world.client("owner"), reverse("new_import"), data)
    assert (took < 1, status in (302, 422)) == (True, True), f"a sender's: {took:.2f} s, {status}"
    for url, head in (
        (reverse("admin:accounts_localitylist_import"), b"country,suburb,state,postcode\n"),
        (reverse("admin:billing_billingreport_upload"), b""),
    ):
        took, status = posted(world.client("operator"), url, (head + data)[:1_990_000], account="1")
        assert (took < 1, status < 500) == (True, True), f"{url}: {took:.2f} s, {status}"
