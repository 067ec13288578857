"""What a carrier answers that it should not: what becomes of the order, its label, its scans, and what is read.

Every reply comes over real HTTP from the sandbox carrier: by a trouble of its own, or changed on the line.
"""

import datetime as dt
import hashlib
import json
import socket
import uuid
from collections.abc import Callable, Iterator
from decimal import Decimal
from html import escape
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from orders import booking, labels, quoting, resolving
from orders.models import Label, Order, Quote
from shipping_portal.accounts.models import Sender, User
from shipping_portal.desk import queues
from tests import factories
from tests.catalogue.meddling import Meddler, reply
from tests.catalogue.rows import rows
from tests.pages.typed import text
from tests.sandbox_carrier import SandboxCarrier
from tracking import polling
from tracking.models import Parcel, WebhookDelivery

pytestmark = pytest.mark.django_db

Book = Callable[..., Order]
Read = Callable[[Order], str]
DONT_BOOK_AGAIN = (
    "so the parcel may or may not be booked. Don't book it again – the answer will be on this page."
)
ANSWERS_DISAGREE = "The carrier's answers don't agree, so a person is looking at it. Don't book it again"
KEEP_ASKING = (
    "The carrier hasn't given us this label yet. The parcel is booked; we keep asking. Don't book it again."
)


@pytest.fixture
def line(carrier: SandboxCarrier, settings: Any) -> Iterator[Meddler]:
    """The line to the sandbox carrier, on which a test changes what comes back."""
    with Meddler(carrier.url) as it:
        settings.CARRIER_BASE_URL = it.url
        yield it


@pytest.fixture
def book(line: Meddler, quill: Sender, alice: User) -> Book:
    """`book()` is an order Alice pressed Book for, sent to the carrier, and settled by what came back."""

    def one() -> Order:
        now = timezone.now()
        order = booking.submit(
            quote=factories.quote(quill, alice),
            code="STANDARD-PICKUP",
            by=alice,
            form_token=uuid.uuid4(),
            pickup_date=None,
            now=now,
        )
        return work(order)

    return one


@pytest.fixture
def reads(alice: User, visit: Callable[[User], Client]) -> Read:
    """What Alice reads on the parcel's page."""
    return lambda order: text(visit(alice).get(reverse("parcel", args=[order.uuid])))


def work(order: Order) -> Order:
    """Whatever is owed on this order, as if its time had come."""
    Order.objects.filter(pk=order.pk, due_at__isnull=False).update(due_at=timezone.now())
    booking.work(order.pk)
    resolving.work(order.pk)
    order.refresh_from_db()
    return order


def fetch(order: Order) -> Label:
    """The full-page label after one try, as if its time had come."""
    label = order.labels.get(size="full")
    Label.objects.filter(pk=label.pk, due_at__isnull=False).update(due_at=timezone.now())
    labels.work(label.pk)
    label.refresh_from_db()
    return label


def waiting(title: str) -> int:
    """The desk's count in the queue of this name."""
    return next(queue.count for queue in queues.waiting(timezone.now()) if queue.title == title)


# -- Replies to a booking -----------------------------------------------------------------------


@rows(
    "verb",
    ("R1", "the reference of another order of ours", "bad-ref"),
    ("R1", "the whole reply of another order", "replay-other"),
)
def test_a_reference_that_another_order_has_is_a_conflict_and_never_adopted(
    book: Book, reads: Read, carrier: SandboxCarrier, verb: str
) -> None:
    first = book()
    carrier.trouble("book", verb, arg=first.carrier_reference)
    second = book()
    first.refresh_from_db()
    assert (second.status, second.carrier_reference, second.due_at) == ("conflict", None, None)
    assert second.attempts.get().seen_reference == first.carrier_reference
    assert first.status == "booked"
    assert waiting("Two answers that disagree") == 1
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
    ("R2", "a line behind it", "SQ7K2M\n"),
    ("R2", "33 characters", "S" + "x" * 32),
    ("R2", "half a megabyte", "S" + "x" * 500_000),
    ("R2", "1 MB", "S" + "x" * 1_048_576),
)
def test_a_reference_nobody_can_read_leaves_the_booking_unclear_and_unsent(
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
    assert waiting("Not known whether booked") == 1
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
    assert waiting("Two answers that disagree") == 1
    assert ANSWERS_DISAGREE in reads(order)


NO_PRICE = "The carrier told us no price we can use, so this is the quoted one."


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
    ("R4", "another currency", {"amount": 7.77, "currency": "USD"}, "7.77"),
    ("R4", "a currency nobody knows", {"amount": 7.77, "currency": "dollars"}, "7.77"),
    ("R4", "10^12", {"amount": 10**12, "currency": "AUD"}, "1000000000000"),
    ("R4", "10^400 as a number", {"amount": 10**400, "currency": "AUD"}, "1000000000000"),
    ("R4", "a list", [5.55], "5.55"),
    ("R4", "null", None, "None"),
)
def test_an_odd_price_books_the_parcel_and_is_not_shown_as_what_it_costs(
    book: Book, reads: Read, line: Meddler, gross: Any, shown: str
) -> None:
    line.edits("book", priced(gross))
    order = book()
    assert (order.status, order.charged_price, order.total) == ("booked", None, Decimal("12.08"))
    assert "no price we can use" in order.changes.get(new="booked").reason
    assert NO_PRICE in reads(order)
    assert "Booked at the quoted $12.08." in reads(order)
    assert shown not in reads(order)


@rows(
    "amount, charged",
    ("R4", "a number", 13.5, "13.50"),
    ("R4", "digits as text", "13.50", "13.50"),
    ("R4", "nothing to pay", 0, "0.00"),
    ("R4", "the largest we read", "999999999999.99", "999999999999.99"),
)
def test_a_readable_price_is_what_it_costs(
    book: Book, reads: Read, line: Meddler, amount: Any, charged: str
) -> None:
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
    ("R7", "422 for a field nobody knows", reply(422, {"messages": {SCRIPT: [SCRIPT]}}), "rejected"),
    ("R7", "422 as text", reply(422, SCRIPT), "rejected"),
    ("R7", "402 in HTML", reply(402, HTML, Content_Type="text/html"), "booking"),
)
def test_markup_in_an_error_is_text_for_the_sender_and_the_operator(
    book: Book,
    line: Meddler,
    alice: User,
    sam: User,
    visit: Callable[[User], Client],
    answer: bytes,
    status: str,
) -> None:
    line.says("book", answer)
    order = book()
    assert order.status == status
    hers, parcel = visit(alice), reverse("parcel", args=[order.uuid])
    again = f"{reverse('new_parcel')}?again={order.uuid}"
    progress = reverse("booking_progress", args=[order.uuid])
    for_alice = "".join(hers.get(url, follow=True).content.decode() for url in (parcel, progress, again))
    desk = visit(sam)
    pages = [
        desk.get(reverse("admin:orders_order_change", args=[order.pk])).content.decode(),
        desk.get(
            reverse("admin:orders_bookingattempt_change", args=[order.attempts.get().pk])
        ).content.decode(),
        desk.get(reverse("admin:orders_carrieraccount_change", args=[order.account_id])).content.decode(),
    ]
    assert not [page for page in (for_alice, *pages) if "<script>alert" in page]
    assert escape(SCRIPT) in pages[1]
    assert (escape(SCRIPT) in for_alice) == (status == "rejected")


BOOKED = {
    "order_id": "7d0c2f5e-5a36-4b0e-9d0a-6f1f0b7a2c11",
    "carrier_reference": "SQ7K2M",
    "state": "Pickup",
    "labels": [],
    "price": {"gross": {"amount": 12.08, "currency": "AUD"}},
}


def bombed(count: int, size: int) -> bytes:
    """A booked order behind so many header lines of so many bytes."""
    return reply(201, BOOKED, **{f"X-Bomb-{number}": "x" * size for number in range(count)})


@rows(
    "answer, status",
    ("R10", "90 headers more", bombed(90, 10), "booked"),
    ("R10", "a header of 60 kB", bombed(1, 60_000), "booked"),
    ("R10", "a header of 100 kB", bombed(1, 100_000), "unconfirmed"),
    ("R10", "1,000 headers", bombed(1_000, 10), "unconfirmed"),
    ("R10", "30 MB of headers", bombed(500, 60_000), "unconfirmed"),
    ("R10", "header lines without end", b"HTTP/1.1 201 Said\r\n" + b"X-Bomb: 1\r\n" * 200_000, "unconfirmed"),
    ("R10", "a status nobody knows", b"HTTP/1.1 999 Said\r\nContent-Length: 0\r\n\r\n", "unconfirmed"),
)
def test_headers_are_read_up_to_a_limit_and_no_further(
    book: Book, line: Meddler, answer: bytes, status: str
) -> None:
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
    "told, least, most",
    ("R10", "Retry-After 10^9", "1000000000", HOUR, HOUR),
    (
        "R10",
        "Retry-After in the year 9999",
        "Fri, 31 Dec 9999 23:59:59 GMT",
        HOUR - dt.timedelta(minutes=1),
        HOUR,
    ),
    (
        "R10",
        "Retry-After in the past",
        "Wed, 01 Jan 2020 00:00:00 GMT",
        SHORTEST,
        dt.timedelta(minutes=1),
    ),
    ("R10", "Retry-After 0", "0", SHORTEST, dt.timedelta(minutes=1)),
    ("R10", "Retry-After -5", "-5", SHORTEST, dt.timedelta(minutes=1)),
    ("R10", "Retry-After soon", "soon", SHORTEST, dt.timedelta(minutes=1)),
)
def test_the_carriers_wait_is_kept_up_to_an_hour_and_never_no_wait(
    book: Book, carrier: SandboxCarrier, told: str, least: dt.timedelta, most: dt.timedelta
) -> None:
    carrier.trouble("book", "429", arg=told)
    order = book()
    attempt = order.attempts.get()
    assert (order.status, attempt.state) == ("booking", "not_sent")
    assert least <= order.due_at - attempt.done_at <= most


# -- Labels -------------------------------------------------------------------------------------

ELSEWHERE = {
    "cloud metadata": "http://169.254.169.254/latest/meta-data/",
    "a file": "file:///etc/passwd",
    "userinfo": "https://127.0.0.1@evil.example/label.pdf",
    "a fragment that looks like the host": "https://evil.example#127.0.0.1",
    "no scheme": "//evil.example/label.pdf",
    "an IPv6-mapped address": "https://[::ffff:169.254.169.254]/label.pdf",
    "a decimal address": "https://2852039166/label.pdf",
    "a hexadecimal address": "https://0xa9fea9fe/label.pdf",
    "a dot behind the host": "http://127.0.0.1.:PORT/label.pdf",
    "port 25": "http://127.0.0.1:25/label.pdf",
    "two lines": "http://127.0.0.1:PORT/\r\nX-Evil: 1",
    "10 kB": "http://127.0.0.1:PORT/" + "a" * 10_000,
    "another scheme": "gopher://127.0.0.1:PORT/label.pdf",
    "a file in capital letters": "FILE:///etc/passwd",
    "a backslash": "http://127.0.0.1:PORT\\@evil.example/label.pdf",
}


@pytest.fixture
def knocked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Every host that was looked up or connected to, other than this machine's plain address."""
    seen: list[Any] = []
    look_up = socket.getaddrinfo

    def noted(host: Any, *args: Any, **kwargs: Any) -> Any:
        if host != "127.0.0.1":
            seen.append(host)
        return look_up(host, *args, **kwargs)

    monkeypatch.setattr(socket, "getaddrinfo", noted)
    return seen


def refused(label: Label, reads: Read) -> None:
    """No label, an operator's case at once, and the sender knows what to do."""
    assert (label.state, label.sha256) == ("failed", "")
    assert label.problem == "The label's address is not one of the carrier's."
    assert waiting("Labels not fetched") == 1
    assert KEEP_ASKING in reads(label.order)


@rows("url", *(("R5", words, url) for words, url in ELSEWHERE.items()))
def test_a_label_anywhere_but_at_the_carriers_is_not_fetched(
    book: Book, reads: Read, line: Meddler, knocked: list[Any], url: str
) -> None:
    order = book()
    address = url.replace("PORT", line.url.rpartition(":")[2])
    line.edits("view", lambda seen: seen.update(labels=[{"format": "pdf", "size": "a4", "url": address}]))
    line.asked.clear()
    refused(fetch(order), reads)
    assert line.asked == ["view"]
    assert knocked == []


@rows(
    "url",
    *(("R5", f"redirect: {words}", url) for words, url in ELSEWHERE.items() if url.isprintable()),
)
def test_a_redirect_of_a_label_away_from_the_carrier_is_not_followed(
    book: Book, reads: Read, line: Meddler, carrier: SandboxCarrier, knocked: list[Any], url: str
) -> None:
    order = book()
    carrier.trouble("label", "redirect-elsewhere", arg=url.replace("PORT", line.url.rpartition(":")[2]))
    line.asked.clear()
    refused(fetch(order), reads)
    assert line.asked == ["view", "label"]
    assert knocked == []


PDF = b"%PDF-1.7\nlabel\n%%EOF\n"


def pdf(content: bytes, **headers: str) -> bytes:
    return reply(200, content, **{"Content_Type": "application/pdf", **headers})


@rows(
    "answer, problem",
    ("R6", "HTML", reply(200, HTML, Content_Type="text/html"), "the label is not a PDF"),
    ("R6", "HTML called a PDF", pdf(HTML), "the label does not begin like a PDF"),
    ("R6", "0 bytes", pdf(b""), "the label does not begin like a PDF"),
    ("R6", "cut short on the line", pdf(PDF)[:-4], "the reply was cut short"),
    ("R6", "cut short by the carrier", pdf(PDF[:-7]), "the label is cut short"),
    ("R6", "%PDF at offset 5", pdf(b"\n\n\n\n\n" + PDF), "the label does not begin like a PDF"),
    ("R6", "11 MiB", pdf(PDF + b" " * (11 * 1024 * 1024) + b"%%EOF"), "the reply is too long"),
    ("R6", "gzip", pdf(PDF, Content_Encoding="gzip"), "the reply is compressed"),
    ("R6", "no length", pdf(PDF, Content_Length=""), "the label's length was not told"),
    ("R6", "a part", pdf(PDF).replace(b"200", b"206", 1), "the label is not a PDF"),
    ("R6", "gone stale", reply(403, {"error": "expired"}), "the label's signed address was not accepted"),
)
def test_a_file_that_is_no_whole_label_is_fetched_again_then_a_case_then_healed(
    book: Book, reads: Read, line: Meddler, answer: bytes, problem: str
) -> None:
    order = book()
    line.says("file", answer)
    label = fetch(order)
    assert (label.state, label.tries, label.problem) == ("pending", 1, problem)
    assert label.due_at > timezone.now()
    assert "The carrier is making the label." in reads(order)

    Label.objects.filter(pk=label.pk).update(tries=labels.ALARM_AFTER_TRIES)
    assert fetch(order).state == "failed"
    assert waiting("Labels not fetched") == 1
    assert KEEP_ASKING in reads(order)

    line.behaves()
    label = fetch(order)
    assert label.state == "stored"
    assert label.sha256 == hashlib.sha256(label.intact_bytes()).hexdigest()
    assert order.status == "booked"


@rows("", ("R6", "what was stored is never replaced"))
def test_a_file_that_changes_later_does_not_replace_the_first(book: Book, carrier: SandboxCarrier) -> None:
    order = book()
    first = fetch(order)
    carrier.trouble("label", "changed")
    Label.objects.filter(pk=first.pk).update(due_at=timezone.now())
    assert fetch(order).sha256 == first.sha256


# -- Quotes -------------------------------------------------------------------------------------


@pytest.fixture
def prices(quill: Sender, alice: User, line: Meddler) -> Callable[[], Quote]:
    """Asks the carrier for prices, afresh."""
    return lambda: quoting.ask(quill, factories.entry(quill), by=alice, now=timezone.now(), fresh=True)


def days(first: int, last: int) -> dict[str, Any]:
    """An estimate by dates, counted in days from today."""
    today = timezone.now().date()
    return {"date_range": [str(today + dt.timedelta(days=day)) for day in (first, last)]}


@rows("", ("R8", "5,000 products"))
def test_fifty_products_are_kept_of_five_thousand(
    prices: Callable[[], Quote], line: Meddler, alice: User, visit: Callable[[User], Client]
) -> None:
    line.edits("quote", lambda found: [_coded(found[0], f"SAVER-{number}-PICKUP") for number in range(5_000)])
    quote = prices()
    assert len(quote.products) == 50
    page = visit(alice).get(reverse("quotes", args=[quote.uuid]))
    assert page.content.decode().count('class="card offer"') == 50


def _coded(row: dict[str, Any], code: str) -> dict[str, Any]:
    return {**row, "product": {**row["product"], "code": code}}


@rows("", ("R8", "no product"))
def test_no_product_at_all_says_so(
    prices: Callable[[], Quote], line: Meddler, alice: User, visit: Callable[[User], Client]
) -> None:
    line.edits("quote", lambda found: [])
    page = text(visit(alice).get(reverse("quotes", args=[prices().uuid])))
    assert "No service takes this parcel" in page


@rows(
    "eta",
    ("R8", "a negative estimate", {"days_range": [-2, 3]}),
    ("R8", "an estimate of 1,000 days", {"days_range": [2, 1_000]}),
    ("R8", "an estimate in words", {"days_range": ["soon", "later"]}),
    ("R8", "an estimate in the past", days(-30, -20)),
    ("R8", "an estimate that ended two days ago", days(-4, -2)),
    ("R8", "an estimate that ends before it begins", days(9, 3)),
    ("R8", "an estimate before the send date", {**days(2, 3), "for_send_date": "2999-01-01"}),
)
def test_a_product_whose_estimate_cannot_be_true_is_not_offered(
    prices: Callable[[], Quote], line: Meddler, eta: dict[str, Any]
) -> None:
    line.edits("quote", lambda found: found[0].update(eta=eta))
    honest = prices().products
    line.behaves()
    everything = [offer["code"] for offer in prices().products]
    assert [offer["code"] for offer in honest] == everything[1:]


@rows(
    "eta",
    ("R8", "an estimate that ends today", days(-3, 0)),
    ("R8", "no estimate", None),
    ("R8", "an estimate nobody can read", {"date_range": "next week"}),
)
def test_a_product_without_an_estimate_is_offered_all_the_same(
    prices: Callable[[], Quote], line: Meddler, eta: Any
) -> None:
    everything = [offer["code"] for offer in prices().products]
    line.edits("quote", lambda found: found[0].update(eta=eta))
    assert [offer["code"] for offer in prices().products] == everything


# -- Tracking -----------------------------------------------------------------------------------


def polled(order: Order) -> Parcel:
    """The order's parcel after one poll, as if its time had come."""
    polling.open_parcel(order.pk)
    Parcel.objects.update(poll_due_at=timezone.now())
    polling.work(order.parcel.pk)
    return Parcel.objects.get()


def scan(number: int, **changes: Any) -> dict[str, Any]:
    at = timezone.now().replace(microsecond=0) - dt.timedelta(days=1) + dt.timedelta(seconds=number)
    return {
        "event_type": "In Transit",
        "scan_time": at.isoformat(),
        "description": f"Scan {number}",
        **changes,
    }


@rows("backwards", ("R9", "10,000 events", False), ("R9", "10,000 events, newest first", True))
def test_the_newest_thousand_of_ten_thousand_scans_are_kept_and_the_desk_is_told(
    book: Book, line: Meddler, monkeypatch: pytest.MonkeyPatch, backwards: bool
) -> None:
    monkeypatch.setattr(
        "shipping_portal.carrier.reading.MOST_SCANS", 50
    )  # a thousand rows take seconds to store
    order = book()
    events = [scan(number) for number in range(9_999)] + [scan(9_999, event_type="Delivered")]
    line.edits("track", lambda reply: reply.update(tracking_events=events[::-1] if backwards else events))
    parcel = polled(order)
    assert (parcel.progress, parcel.poll_failures, parcel.events.count()) == ("delivered", 0, 50)
    odd = WebhookDelivery.objects.get()
    assert (odd.state, odd.reason) == ("quarantined", "more than 50 scans in one reply")
    assert json.loads(bytes(odd.body)) == {"left_out": 9_950}


@rows("", ("R9", "10,000 events nobody can read"))
def test_ten_thousand_unreadable_scans_do_not_bury_the_desk(book: Book, line: Meddler) -> None:
    order = book()
    line.edits(
        "track", lambda reply: reply.update(tracking_events=[scan(n, scan_time=n) for n in range(10_000)])
    )
    parcel = polled(order)
    assert (parcel.poll_failures, parcel.events.count()) == (0, 0)
    assert WebhookDelivery.objects.filter(state="quarantined").count() <= 101


@rows("", ("R9", "events of another reference"))
def test_scans_of_another_parcel_move_nothing_and_reach_the_desk(
    book: Book, reads: Read, line: Meddler
) -> None:
    order = book()
    strange = scan(5, event_type="Delivered", carrier_reference="SOTHER1", description="Left with Mr Other")
    line.edits("track", lambda reply: reply.update(tracking_events=[scan(1), strange]))
    parcel = polled(order)
    assert (parcel.progress, parcel.events.count()) == ("in_transit", 1)
    odd = WebhookDelivery.objects.get()
    assert (odd.state, odd.reason) == ("quarantined", "the scan is of another parcel")
    assert waiting("Webhooks that gave no scan") == 1
    assert "Mr Other" not in reads(order)
    assert not Parcel.objects.filter(reference="SOTHER1").exists()
