"""Odd answers about a label: what becomes of it, and what people read of it.

Every reply comes over real HTTP from the sandbox carrier: by a trouble of its own, or changed on the line.
"""

import hashlib
import socket
from typing import Any

import pytest
from django.utils import timezone

from orders import labels
from orders.models import Label
from tests.catalogue.acting import Book, Read, fetch, waiting
from tests.catalogue.meddling import Meddler, reply
from tests.catalogue.rows import rows
from tests.sandbox_carrier import SandboxCarrier

pytestmark = pytest.mark.django_db

KEEP_ASKING = (
    "The carrier hasn't given us this label yet. The parcel is booked; we keep asking. Don't book it again."
)
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
