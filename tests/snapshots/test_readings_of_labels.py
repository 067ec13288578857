"""How a label, a status, and a link to the tracking page are read."""

import datetime as dt
from functools import partial
from typing import Any

from shipping_portal.carrier import labels, links, outcomes
from shipping_portal.carrier.contract import Contract
from shipping_portal.carrier.hosts import Origin
from tests.snapshots.carriers import OTHER, PLAIN, reply
from tests.snapshots.comparing import compare
from tests.snapshots.tables import lines, outcome
from tests.snapshots.test_readings_of_orders import ORDER

BASE = Origin("https", "api.carrier.example", 443)
PDF = b"%PDF-1.4 x %%EOF"
KIND = {"content_type": "application/pdf"}


def label(body: bytes = PDF, status: int = 200, read: Any = labels.read_label, **how: Any) -> str:
    return outcome(lambda: read(reply(body, status, **(KIND | how)), PLAIN))


def test_labels_and_their_urls_are_read_as_expected() -> None:
    url, away = "https://api.carrier.example/l/1", "https://cdn.example/l"
    hops = [(302, "/l/2"), (303, "l2"), (307, url), (308, away), (304, "/l/2"), (301, ""), (200, "/x"), (404, ""),
    (405, ""), (501, ""), (401, ""), (500, ""), (400, "")]  # fmt: skip
    kinds = ["application/octet-stream", "Application/PDF; a=b", "text/html", "", "application/pdfx"]
    fields = {
        "whole": label(), "201": label(status=201), "unframed": label(framed=False),
        "not begun": label(b" %PDF %%EOF"), "cut": label(b"%PDF-1.4"),
        "2048 from the end": label(PDF + b"x" * 2043), "2049 from the end": label(PDF + b"x" * 2044),
        "fault": label(fault="cut"),
        "403": label(b"{}", 403), "403 signed": label(b"{}", 403, labels.read_signed), "404 signed": label(b"{}",
        404, labels.read_signed),
        "signed": label(read=labels.read_signed), **{f"type {kind}": label(content_type=kind) for kind in kinds},
    }  # fmt: skip
    compare(
        "reads-labels",
        [
            *(f"{name} -> {result}" for name, result in fields.items()),
            *lines(lambda status, to: labels.label_address(reply(b"{}", status, location=to), PLAIN, url=url,
            base=BASE), hops, "asked"),
            *lines(lambda status, to: labels.next_address(reply(b"", status, location=to, fault="x"), PLAIN, url=url,
            base=BASE), hops[:1], "hop, faulty"),
            *lines(lambda status, to: labels.label_or_hop(reply(PDF, status, location=to, **KIND), PLAIN, url=url,
            base=BASE), [(200, ""), (302, "/x")], "label_or_hop"),
        ],
    )  # fmt: skip


def verdict(said: Any, status: int, **how: Any) -> str:
    return outcome(lambda: outcomes.require_success(reply(said, status, **how), how.pop("contract", PLAIN)))


WAITS = ("5", " 5 ", "0", "-1", "1.5", "3600", "3601", "9999999999", "soon", "", "٥", "Thu, 31 Dec 2026 13:31:00 GMT",
         "Thu, 31 Dec 2026 13:30:00 GMT", "Thu, 31 Dec 2026 15:30:00 GMT",
         "Thu, 31 Dec 99999 13:31:00 GMT")  # fmt: skip


def test_each_status_has_the_expected_meaning() -> None:
    bodies = {
        "words": {"messages": {"weight": ["too heavy"]}},
        "text": "No.",
        "list": ["No."],
        "nothing": b"",
        "page": b"<html>",
    }
    statuses = (
        100,
        199,
        200,
        299,
        300,
        302,
        400,
        401,
        402,
        403,
        404,
        405,
        409,
        412,
        413,
        415,
        418,
        422,
        429,
        500,
        502,
        503,
    )
    compare(
        "reads-statuses",
        [
            *(f"{status} -> {verdict(bodies['words'], status)}" for status in statuses),
            *(f"{name}, {status} -> {verdict(body, status)}" for name, body in bodies.items() for status in (400,
            401, 422)),
            f"400, unframed -> {verdict(b'', 400, framed=False)}",
            f"late -> {outcome(lambda: outcomes.require_success(reply(b'', fault='the reply came too late'), PLAIN))}",
            *(f"429, {wait!r} -> {verdict(b'', 429, retry_after=wait)}" for wait in WAITS),
            *lines(lambda n: outcomes.require_success(reply({}, n), OTHER), [405, 409, 410, 412, 429],
            "another carrier"),
            *lines(lambda n: outcomes.require_success(reply({}, n), PLAIN, also_refused=(409,)), [409, 418],
            "also refused"),
        ],
    )  # fmt: skip


def test_links_to_the_tracking_page_are_made_as_expected() -> None:
    signed = Contract(link="signed", link_page="https://t.example/p", link_seconds=60)
    asked = Contract(link="signed", link_page="https://t.example/p?a=1")
    now = dt.datetime(2026, 11, 23, 10, 0, 0, 999999, tzinfo=dt.UTC)
    make = partial(links.signed_link, reference="S1 2", partner_id="p", now=now)
    urls = ["https://api.carrier.example/t", "https://x.example/t", "", None, 5, "javascript:x"]
    link = partial(links.link_in, contract=PLAIN, base=BASE, order_id="A-1")
    compare(
        "reads-links",
        [
            *(f"{make(contract=one, key='k')}" for one in (signed, asked)),
            outcome(lambda: make(contract=signed, key="")),
            *lines(
                lambda url: link(reply(ORDER | {"authorised_tracking_url": url}), reference="S12345"), urls, "link_in"
            ),
            *lines(lambda name: link(reply(ORDER), reference=name), ["S12345", "s12345"], "of which parcel"),
        ],
    )
