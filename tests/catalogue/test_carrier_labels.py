"""Odd replies about a label: what happens to it, and what people read about it.

Every reply comes over real HTTP from the sandbox carrier, which causes the trouble itself or has its reply changed.
"""

import hashlib
import socket
from types import SimpleNamespace
from typing import Any

import pytest
import time_machine
from django.utils import timezone

from orders.labels import fetching
from orders.models import Label, Order
from shipping_portal.carrier.contract import Contract
from shipping_portal.carrier.errors import CarrierError
from shipping_portal.carrier.messages import LabelLink
from tests.catalogue.acting import Book, Read, fetch, waiting
from tests.catalogue.meddling import Meddler, reply
from tests.catalogue.rows import rows
from tests.sandbox_carrier import SandboxCarrier

pytestmark = pytest.mark.django_db

KEEP_ASKING = "The carrier hasn't given us this label yet. The parcel is booked; we keep asking. Don't book it again."
HTML = b"<html><body><h1>Please sign in</h1></body></html>"

ELSEWHERE = {
    "cloud metadata": "http://169.254.169.254/latest/meta-data/",
    "a file": "file:///etc/passwd",
    "userinfo": "https://127.0.0.1@evil.example/label.pdf",
    "a fragment that looks like the host": "https://evil.example#127.0.0.1",
    "no scheme": "//evil.example/label.pdf",
    "an IPv6-mapped address": "https://[::ffff:169.254.169.254]/label.pdf",
    "a decimal address": "https://2852039166/label.pdf",
    "a hexadecimal address": "https://0xa9fea9fe/label.pdf",
    "a dot after the host": "http://127.0.0.1.:PORT/label.pdf",
    "port 25": "http://127.0.0.1:25/label.pdf",
    "two lines": "http://127.0.0.1:PORT/\r\nX-Evil: 1",
    "10 kB": "http://127.0.0.1:PORT/" + "a" * 10_000,
    "another scheme": "gopher://127.0.0.1:PORT/label.pdf",
    "a file in capital letters": "FILE:///etc/passwd",
    "a backslash": "http://127.0.0.1:PORT\\@evil.example/label.pdf",
}


@pytest.fixture
def book_unlabelled(book: Book) -> Book:
    """Like `book()`, but the reply to the booking has no labels, so the order is viewed."""

    def one() -> Order:
        order = book()
        order.labels.update(address="")
        return order

    return one


@pytest.fixture
def knocked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Every host that was looked up, other than this machine's own address."""
    seen: list[Any] = []
    look_up = socket.getaddrinfo

    def noted(host: Any, *args: Any, **kwargs: Any) -> Any:
        if host != "127.0.0.1":
            seen.append(host)
        return look_up(host, *args, **kwargs)

    monkeypatch.setattr(socket, "getaddrinfo", noted)
    return seen


def refused(label: Label, reads: Read) -> None:
    """Check that there is no label, an operator has a case at once, and the sender knows what to do."""
    assert (label.state, label.sha256) == ("failed", "")
    assert label.problem == "The label's address is not one of the carrier's."
    assert waiting("label-fetching") == 1
    assert KEEP_ASKING in reads(label.order)


@rows("url", *(("R5", words, url) for words, url in ELSEWHERE.items()))
def test_a_label_on_another_host_is_not_fetched(
    book_unlabelled: Book, reads: Read, line: Meddler, knocked: list[Any], url: str
) -> None:
    order = book_unlabelled()
    address = url.replace("PORT", line.url.rpartition(":")[2])
    line.edits("view", lambda seen: seen.update(labels=[{"format": "pdf", "size": "a4", "url": address}]))
    line.asked.clear()
    refused(fetch(order), reads)
    assert line.asked == ["view"]
    assert knocked == []


def test_labels_in_the_reply_to_a_booking_are_fetched_without_viewing_the_order(book: Book, line: Meddler) -> None:
    order = book()
    line.asked.clear()
    assert fetch(order).state == "stored"
    assert set(order.labels.values_list("state", "address")) == {("stored", "")}
    assert line.asked == ["label", "file", "label", "file"]


@rows("url", *(("R5", f"in the booking's reply: {words}", url) for words, url in ELSEWHERE.items()))
def test_a_label_on_another_host_in_the_reply_to_a_booking_is_not_fetched(
    book: Book, reads: Read, line: Meddler, knocked: list[Any], url: str
) -> None:
    address = url.replace("PORT", line.url.rpartition(":")[2])
    line.edits("book", lambda seen: seen.update(labels=[{"format": "pdf", "size": "a4", "url": address}]))
    order = book()
    line.edits("view", lambda seen: seen.update(labels=[{"format": "pdf", "size": "a4", "url": address}]))
    fetch(order)
    refused(fetch(order), reads)
    assert knocked == []


@rows(
    "verb",
    ("R6", "in the booking's reply, and out of order", "500"),
    ("R6", "in the booking's reply, and HTML", "html"),
    ("R6", "in the booking's reply, and cut short", "truncated"),
)
def test_a_label_missing_at_the_bookings_address_is_looked_up(
    book: Book, line: Meddler, carrier: SandboxCarrier, verb: str
) -> None:
    order = book()
    carrier.trouble("label", verb)
    line.asked.clear()
    assert (fetch(order).state, fetch(order).state) == ("pending", "stored")
    assert line.asked.count("view") == 1


@rows("url", *(("R5", f"redirect: {words}", url) for words, url in ELSEWHERE.items() if url.isprintable()))
def test_a_labels_redirect_away_from_the_carrier_is_not_followed(
    book_unlabelled: Book, reads: Read, line: Meddler, carrier: SandboxCarrier, knocked: list[Any], url: str
) -> None:
    order = book_unlabelled()
    away = url.replace("PORT", line.url.rpartition(":")[2])
    carrier.trouble("label", "redirect-elsewhere", arg=away)
    line.asked.clear()
    refused(fetch(order), reads)
    assert line.asked == ["view", "label", "label", "file"]  # the last two are of the other size
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
    ("R6", "%PDF at offset 1,020", pdf(b"\n" * 1020 + PDF), "the label does not begin like a PDF"),
    ("R6", "11 MiB", pdf(PDF + b" " * (11 * 1024 * 1024) + b"%%EOF"), "the reply is too long"),
    ("R6", "gzip", pdf(PDF, Content_Encoding="gzip"), "the reply is compressed"),
    ("R6", "no length", pdf(PDF, Content_Length=""), "the reply doesn't say how long the label is"),
    ("R6", "a part", pdf(PDF).replace(b"200", b"206", 1), "the label is not a PDF"),
    ("R6", "gone stale", reply(403, {"error": "expired"}), "the label's signed address was not accepted"),
)
def test_a_bad_label_is_tried_again_then_a_case_and_finally_fetched(
    book_unlabelled: Book, reads: Read, line: Meddler, answer: bytes, problem: str
) -> None:
    order = book_unlabelled()
    line.says("file", answer)
    with time_machine.travel(timezone.now(), tick=False):
        label = fetch(order)
        assert (label.state, label.tries, label.problem) == ("pending", 1, problem)
        assert label.due_at > timezone.now()
    assert "The carrier is making the label." in reads(order)

    Label.objects.filter(pk=label.pk).update(tries=fetching.ALARM_AFTER_TRIES)
    assert fetch(order).state == "failed"
    assert waiting("label-fetching") == 1
    assert KEEP_ASKING in reads(order)

    line.behaves()
    label = fetch(order)
    assert label.state == "stored"
    assert label.sha256 == hashlib.sha256(label.intact_bytes()).hexdigest()
    assert order.status == "booked"


def without_full_page(seen: dict[str, Any]) -> None:
    seen["labels"] = [label for label in seen["labels"] if label["size"] == "cropped"]


@rows("", ("R6", "the other size is listed first"))
def test_a_size_listed_seconds_after_the_other_is_stored(book_unlabelled: Book, line: Meddler) -> None:
    order = book_unlabelled()
    line.edits("view", without_full_page)
    label = fetch(order)
    assert (label.state, label.tries) == ("pending", 1)
    line.behaves()
    assert fetch(order).state == "stored"


@rows("", ("R6", "a size this carrier doesn't have"))
def test_a_size_still_missing_after_some_tries_is_not_offered(book_unlabelled: Book, line: Meddler) -> None:
    order = book_unlabelled()
    line.edits("view", without_full_page)
    states = [fetch(order).state for _ in range(len(fetching.FIRST_WAITS) + 1)]
    assert states == ["pending"] * len(fetching.FIRST_WAITS) + ["absent"]
    assert waiting("label-fetching") == 0  # the cropped one may still come


@rows("", ("R6", "unknown words for sizes"))
def test_a_parcel_without_labels_is_a_case_and_its_sender_reads_whom_to_contact(
    book_unlabelled: Book, reads: Read, line: Meddler
) -> None:
    order = book_unlabelled()
    line.edits("view", lambda seen: [label.update(size="poster") for label in seen["labels"]] and None)
    order.labels.update(tries=len(fetching.FIRST_WAITS))
    order.labels.update(is_spare=False)  # both are wanted
    for label in order.labels.all():
        fetching.fetch_due_label(label.pk)
    assert {label.state for label in order.labels.all()} == {"absent"}
    assert waiting("label-fetching") == 2
    assert f"contact us and quote {order.carrier_reference}" in reads(order)


@rows("", ("R6", "never a label, for three days"))
def test_after_three_days_fetching_stops_and_the_case_stays_in_the_admin(
    book_unlabelled: Book, reads: Read, line: Meddler
) -> None:
    order = book_unlabelled()
    line.edits("view", lambda seen: seen.update(labels=None))
    Label.objects.update(tries=fetching.LAST_TRY - 1)
    assert fetch(order).due_at is not None
    label = fetch(order)
    assert (label.state, label.due_at, label.tries) == ("failed", None, fetching.LAST_TRY)
    assert waiting("label-fetching") == 2
    assert "we keep asking" not in reads(order)
    assert "Don't book it again." in reads(order)


def test_the_last_try_is_three_days_after_the_first() -> None:
    assert sum(fetching.wait_after(tries) for tries in range(fetching.LAST_TRY)) == pytest.approx(
        3 * 24 * 3600, rel=0.001
    )


@rows("", ("R6", "more tries than a small integer holds"))
def test_the_number_of_tries_is_limited(book_unlabelled: Book, line: Meddler) -> None:
    order = book_unlabelled()
    line.says("file", pdf(HTML))
    Label.objects.update(tries=32_767)
    assert fetch(order).tries <= 32_767


def test_two_slow_replies_do_not_cost_the_label_its_lease(
    book_unlabelled: Book, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Viewing the order and fetching the file may outlast one lease. That must not end in a dead letter."""
    order = book_unlabelled()
    with time_machine.travel(timezone.now(), tick=False) as clock:

        class Slow:
            contract = Contract()

            def view(self, order_id: str) -> Any:
                clock.shift(19)
                link = LabelLink(url="https://carrier.example/label", size="a4", format="pdf")
                return SimpleNamespace(labels=(link,), is_cancellable=None)

            def label(self, link: LabelLink) -> Any:
                clock.shift(19)
                Label.objects.filter(due_at__lte=timezone.now()).update(
                    due_at=None, failures=99
                )  # another worker's by then
                raise CarrierError("no answer in time")

        monkeypatch.setattr(fetching.gateway, "carrier_client", lambda *of, **how: Slow())
        full = order.labels.get(size="full")
        fetching.fetch_due_label(full.pk)
    full.refresh_from_db()
    assert (full.failures, full.tries) == (0, 1)


def test_a_worker_that_outlived_its_lease_changes_nothing(
    book_unlabelled: Book, monkeypatch: pytest.MonkeyPatch
) -> None:
    order = book_unlabelled()

    class FetchedAgainMeanwhile:
        contract = Contract()

        def view(self, order_id: str) -> Any:
            Label.objects.update(tries=0, state="pending", due_at=timezone.now())
            raise CarrierError("the carrier closed the connection")

    monkeypatch.setattr(fetching.gateway, "carrier_client", lambda *of, **how: FetchedAgainMeanwhile())
    Label.objects.update(tries=fetching.LAST_TRY)
    label = fetch(order)
    assert (label.state, label.tries, label.due_at is not None) == ("pending", 0, True)


@rows("", ("R6", "a stored label is never replaced"))
def test_a_file_that_changes_later_does_not_replace_the_first(book_unlabelled: Book, carrier: SandboxCarrier) -> None:
    order = book_unlabelled()
    first = fetch(order)
    carrier.trouble("label", "changed")
    Label.objects.filter(pk=first.pk).update(due_at=timezone.now())
    assert fetch(order).sha256 == first.sha256
