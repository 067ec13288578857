"""Odd replies to a booking: what happens to the order, and what people read about it.

Every reply comes over real HTTP from the sandbox carrier, which causes the trouble itself or has its reply changed.
"""

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from html import escape, unescape
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from shipping_portal.accounts.models import User
from tests.catalogue.acting import Book, Read, fetch, waiting, work
from tests.catalogue.meddling import Meddler, reply
from tests.catalogue.rows import rows
from tests.sandbox_carrier import SandboxCarrier

pytestmark = pytest.mark.django_db

DONT_BOOK_AGAIN = "so the parcel may or may not be booked. Don't book it again – the answer will be on this page."
ANSWERS_DISAGREE = "The carrier's answers don't agree, so a person is looking at it. Don't book it again"


@rows(
    "verb",
    ("R1", "the reference of another order of ours", "bad-ref"),
    ("R1", "the whole reply of another order", "replay-other"),
)
def test_a_reference_of_another_order_is_a_conflict_and_never_adopted(
    book: Book, reads: Read, carrier: SandboxCarrier, verb: str
) -> None:
    first = book()
    carrier.trouble("book", verb, arg=first.carrier_reference)
    second = book()
    first.refresh_from_db()
    assert (second.status, second.carrier_reference, second.due_at) == ("conflict", None, None)
    assert second.attempts.get().seen_reference == first.carrier_reference
    assert first.status == "booked"
    assert waiting("order-conflict") == 1
    assert ANSWERS_DISAGREE in reads(second)
    assert first.carrier_reference not in reads(second)


@rows(
    "reference",
    ("R2", "a path", "../../etc"),
    ("R2", "a number", 1234567),
    ("R2", "a list", ["SQ7K2M"]),
    ("R2", "null", None),
    ("R2", "empty", ""),
    ("R2", "markup", "S<script>alert(1)</script>"),
    ("R2", "a line break after it", "SQ7K2M\n"),
    ("R2", "101 characters", "S" + "x" * 100),
    ("R2", "half a megabyte", "S" + "x" * 500_000),
    ("R2", "1 MB", "S" + "x" * 1_048_576),
)
def test_an_unreadable_reference_leaves_the_booking_unclear_and_it_is_not_sent_again(
    book: Book, reads: Read, line: Meddler, carrier: SandboxCarrier, reference: Any
) -> None:
    line.edits("book", lambda order: order.update(carrier_reference=reference))
    order = book()
    assert (order.status, order.carrier_reference, order.due_at) == ("unconfirmed", None, None)
    attempt = order.attempts.get()
    assert (attempt.state, attempt.seen_reference, attempt.http_status) == ("unknown", "", 201)
    assert 0 < len(attempt.response) <= 64 * 1024
    work(order)
    assert len(carrier.ledger("booked")) == line.asked.count("book") == 1
    assert waiting("order-unconfirmed") == 1
    assert DONT_BOOK_AGAIN in reads(order)


@rows(
    "state",
    ("R3", "cancelled at once by the carrier", "cancelled"),
    ("R3", "in capital letters", "CANCELLED"),
    ("R3", "with blanks", " Cancelled "),
)
def test_an_order_that_comes_back_cancelled_is_a_case_for_the_operator(
    book: Book, reads: Read, line: Meddler, carrier: SandboxCarrier, state: str
) -> None:
    carrier.trouble("book", "return-cancelled")
    line.edits("book", lambda order: order.update(state=state))
    order = book()
    assert (order.status, order.carrier_reference) == ("conflict", None)
    assert order.attempts.get().seen_reference == carrier.ledger("booked")[0]["reference"]
    assert not order.labels.exists()
    assert waiting("order-conflict") == 1
    assert ANSWERS_DISAGREE in reads(order)


NO_PRICE = "The carrier sent no price we can use, so this is the quoted one."


def priced(gross: Any) -> Callable[[Any], None]:
    return lambda order: order.update(price={"gross": gross})


@rows(
    "gross, shown",
    ("R4", "less than nothing", {"amount": -7.77, "currency": "AUD"}, "7.77"),
    ("R4", "NaN", {"amount": float("nan"), "currency": "AUD"}, "NaN"),
    ("R4", "infinity", {"amount": float("inf"), "currency": "AUD"}, "Inf"),
    ("R4", "a word", {"amount": "free of charge", "currency": "AUD"}, "free of charge"),
    ("R4", "a comma", {"amount": "9,99", "currency": "AUD"}, "9,99"),
    ("R4", "true", {"amount": True, "currency": "AUD"}, "True"),
    ("R4", "an unknown currency", {"amount": 7.77, "currency": "dollars"}, "7.77"),
    ("R4", "10^12", {"amount": 10**12, "currency": "AUD"}, "1000000000000"),
    ("R4", "10^400 as a number", {"amount": 10**400, "currency": "AUD"}, "1000000000000"),
    ("R4", "a list", [5.55], "5.55"),
    ("R4", "null", None, "None"),
)
def test_a_parcel_with_an_unusable_price_is_booked_at_the_quoted_one(
    book: Book, reads: Read, line: Meddler, gross: Any, shown: str
) -> None:
    line.edits("book", priced(gross))
    order = book()
    assert (order.status, order.charged_price, order.total) == ("booked", None, Decimal("12.08"))
    assert "no price we can use" in order.changes.get(new="booked").reason
    assert NO_PRICE in reads(order)
    assert "Booked at the quoted $12.08." in reads(order)
    assert shown not in reads(order)


@rows("", ("R4", "another currency"))
def test_a_price_in_another_currency_is_shown_next_to_the_agreed_one(book: Book, reads: Read, line: Meddler) -> None:
    line.edits("book", priced({"amount": 7.77, "currency": "USD"}))
    order = book()
    assert (order.status, order.charged_price, order.total) == ("booked", None, Decimal("12.08"))
    assert "You agreed to $12.08 AUD; the carrier booked it at $7.77 USD." in reads(order)
    assert NO_PRICE not in reads(order)


@rows(
    "amount, charged",
    ("R4", "a number", 13.5, "13.50"),
    ("R4", "digits as text", "13.50", "13.50"),
    ("R4", "nothing to pay", 0, "0.00"),
    ("R4", "the largest we read", "999999999999.99", "999999999999.99"),
)
def test_a_readable_price_is_charged(book: Book, reads: Read, line: Meddler, amount: Any, charged: str) -> None:
    line.edits("book", priced({"amount": amount, "currency": "AUD"}))
    order = book()
    assert (order.status, order.charged_price) == ("booked", Decimal(charged))
    assert NO_PRICE not in reads(order)


SCRIPT = "<script>alert('carrier')</script>"
HTML = f"<html><body><h1>Gateway</h1>{SCRIPT}</body></html>".encode()


@rows(
    "answer, status",
    ("R7", "500 in HTML", reply(500, HTML, Content_Type="text/html"), "unconfirmed"),
    ("R7", "422 in HTML", reply(422, HTML, Content_Type="text/html"), "unconfirmed"),
    ("R7", "422 in JSON", reply(422, {"error": SCRIPT, "error_description": SCRIPT}), "rejected"),
    ("R7", "422 by field", reply(422, {"messages": {"receiver_suburb": [SCRIPT]}}), "rejected"),
    ("R7", "422 as text", reply(422, SCRIPT), "rejected"),
    ("R7", "402 in HTML", reply(402, HTML, Content_Type="text/html"), "booking"),
)
def test_markup_in_an_error_is_text_for_the_sender_and_the_operator(
    book: Book, line: Meddler, alice: User, sam: User, visit: Callable[[User], Client], answer: bytes, status: str
) -> None:
    line.says("book", answer)
    order = book()
    assert order.status == status
    hers, parcel = visit(alice), reverse("parcel", args=[order.uuid])
    again = f"{reverse('new_parcel')}?again={order.uuid}"
    progress = reverse("booking_progress", args=[order.uuid])
    for_alice = "".join(hers.get(url, follow=True).content.decode() for url in (parcel, progress, again))
    staff = visit(sam)
    pages = [
        staff.get(reverse("admin:orders_order_change", args=[order.pk])).content.decode(),
        staff.get(reverse("admin:orders_bookingattempt_change", args=[order.attempts.get().pk])).content.decode(),
        staff.get(reverse("admin:orders_carrieraccount_change", args=[order.account_id])).content.decode(),
    ]
    assert not [page for page in (for_alice, *pages) if "<script>alert" in page]
    assert escape(SCRIPT) in pages[1]
    assert (escape(SCRIPT) in for_alice) == (status == "rejected")


@rows("", ("R7", "422 for an unknown field"))
def test_markup_about_an_unknown_field_is_text_for_the_operator_only(
    book: Book, line: Meddler, alice: User, sam: User, visit: Callable[[User], Client]
) -> None:
    line.says("book", reply(422, {"messages": {SCRIPT: [SCRIPT]}}))
    order = book()
    hers = visit(alice).get(reverse("parcel", args=[order.uuid])).content.decode()
    account = visit(sam).get(reverse("admin:orders_carrieraccount_change", args=[order.account_id]))
    assert "We're putting that right." in unescape(hers)
    assert escape(SCRIPT) in account.content.decode()
    assert "alert" not in hers
    assert "<script>alert" not in account.content.decode()


BOOKED = {
    "order_id": "7d0c2f5e-5a36-4b0e-9d0a-6f1f0b7a2c11",
    "carrier_reference": "SQ7K2M",
    "state": "Pickup",
    "labels": [],
    "price": {"gross": {"amount": 12.08, "currency": "AUD"}},
}


def bombed(count: int, size: int) -> bytes:
    """Return a booked order with this many extra header lines of this many bytes."""
    return reply(201, BOOKED, **{f"X-Bomb-{number}": "x" * size for number in range(count)})


@rows(
    "answer, status",
    ("R10", "90 extra headers", bombed(90, 10), "booked"),
    ("R10", "a header of 60 kB", bombed(1, 60_000), "booked"),
    ("R10", "a header of 100 kB", bombed(1, 100_000), "unconfirmed"),
    ("R10", "1,000 headers", bombed(1_000, 10), "unconfirmed"),
    ("R10", "30 MB of headers", bombed(500, 60_000), "unconfirmed"),
    ("R10", "endless header lines", b"HTTP/1.1 201 Said\r\n" + b"X-Bomb: 1\r\n" * 200_000, "unconfirmed"),
    ("R10", "an unknown status", b"HTTP/1.1 999 Said\r\nContent-Length: 0\r\n\r\n", "unconfirmed"),
)
def test_headers_are_read_only_up_to_a_limit(book: Book, line: Meddler, answer: bytes, status: str) -> None:
    line.says("book", answer)
    order = book()
    assert order.status == status
    assert line.asked.count("book") == 1


@rows("", ("R10", "Set-Cookie"))
def test_no_cookie_is_kept_between_calls(book: Book, line: Meddler, carrier: SandboxCarrier) -> None:
    line.says("book", reply(201, BOOKED, Set_Cookie="session=carrier; Path=/"))
    order = book()
    assert order.status == "booked"
    line.behaves()
    fetch(order)
    sent = [request["headers"] for request in carrier.requests()]
    assert len(sent) > 1
    assert not [headers for headers in sent if "cookie" in {name.lower() for name in headers}]


HOUR = dt.timedelta(hours=1)
SHORTEST = dt.timedelta(milliseconds=100)  # of our own back-off


@rows(
    "given, least, most",
    ("R10", "Retry-After 10^9", "1000000000", HOUR, HOUR),
    ("R10", "Retry-After in the year 9999", "Fri, 31 Dec 9999 23:59:59 GMT", HOUR - dt.timedelta(minutes=1), HOUR),
    ("R10", "Retry-After in the past", "Wed, 01 Jan 2020 00:00:00 GMT", SHORTEST, dt.timedelta(minutes=1)),
    ("R10", "Retry-After 0", "0", SHORTEST, dt.timedelta(minutes=1)),
    ("R10", "Retry-After -5", "-5", SHORTEST, dt.timedelta(minutes=1)),
    ("R10", "Retry-After soon", "soon", SHORTEST, dt.timedelta(minutes=1)),
)
def test_the_carriers_wait_is_kept_up_to_an_hour_and_is_never_zero(
    book: Book, carrier: SandboxCarrier, given: str, least: dt.timedelta, most: dt.timedelta
) -> None:
    carrier.trouble("book", "429", arg=given)
    order = book()
    attempt = order.attempts.get()
    assert (order.status, attempt.state) == ("booking", "not_sent")
    assert least <= order.due_at - attempt.done_at <= most
