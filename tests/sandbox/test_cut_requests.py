"""A client disconnects in the middle of its request: the carrier does nothing, and logs how much arrived."""

import contextlib
import json
import socket
import struct
from urllib.parse import urlsplit

import pytest

from tests.recording import cut, improper
from tests.sandbox.client import CREDENTIALS, an_order

ORDER = json.dumps(an_order()).encode()
HEADERS = {
    **CREDENTIALS,
    "User-Agent": "ShippingPortal/0.1 (ops@portal.example)",
    "Idempotency-Key": "k1",
    "Content-Type": "application/json",
}
RESET = struct.pack("ii", 1, 0)  # linger on, for no time: closing sends a reset instead of an end


def connected(carrier):
    parts = urlsplit(carrier.url)
    return socket.create_connection((parts.hostname, parts.port), timeout=5)


def head(**framing):
    """Return the head of a booking. `framing` gives the length of its body, if it is known."""
    fields = {"Host": "carrier", **HEADERS, **{name.replace("_", "-"): value for name, value in framing.items()}}
    lines = ["POST /orders HTTP/1.1", *(f"{name}: {value}" for name, value in fields.items()), "", ""]
    return "\r\n".join(lines).encode()


def sent(carrier, *pieces):
    """Send the pieces one by one and stop. Return the carrier's reply once it has closed the connection."""
    with connected(carrier) as line, contextlib.suppress(OSError):  # a body left unread resets the connection
        for piece in pieces:
            line.sendall(piece)
        line.shutdown(socket.SHUT_WR)
        return line.makefile("rb").read()
    return b""


@pytest.mark.parametrize("replays", [False, True])
@pytest.mark.parametrize("came", [0, 1, len(ORDER) // 2, len(ORDER) - 1])
def test_a_booking_cut_short_books_nothing_and_is_recorded_as_cut(open_carrier, came, replays):
    carrier = open_carrier(replays=replays)
    answer = sent(carrier, head(Content_Length=len(ORDER)), ORDER[:came])
    (details,) = carrier.read("requests")
    assert improper([details]) == []
    assert cut([details]) == [details]
    assert (details["bytes_read"], details["headers"]["content-length"]) == (came, str(len(ORDER)))
    assert (details["operation"], details["status"], answer) == ("book", None, b"")
    assert carrier.effects("booked") == []
    assert carrier.book(key="k1").status == 201  # the key is as good as new


def test_a_body_cut_short_that_looks_like_a_whole_order_books_nothing(carrier):
    assert sent(carrier, head(Content_Length=len(ORDER) + 1), ORDER) == b""
    assert carrier.effects("booked") == []


def test_a_request_reset_in_the_middle_is_recorded_as_cut(carrier):
    with connected(carrier) as line:
        line.sendall(head(Content_Length=len(ORDER)) + ORDER[:100])
        while not carrier.read("requests"):
            pass
        line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    (details,) = carrier.read("requests")
    assert improper([details]) == []
    assert cut([details]) == [details]
    assert carrier.effects("booked") == []


def test_a_booking_cut_short_uses_up_no_trouble(carrier):
    carrier.control("trouble", operation="book", verb="500")
    sent(carrier, head(Content_Length=len(ORDER)), ORDER[:100])
    assert [carrier.book().status for _ in range(2)] == [500, 201]


@pytest.mark.parametrize("pieces", [(ORDER,), (ORDER[:100], ORDER[100:])])
def test_a_whole_booking_is_booked_and_checked_against_the_rules(carrier, pieces):
    assert sent(carrier, head(Content_Length=len(ORDER)), *pieces).startswith(b"HTTP/1.1 201 ")
    (details,) = carrier.read("requests")
    assert improper([details]) == cut([details]) == []


@pytest.mark.parametrize(
    ("framing", "body"),
    [
        ({"Transfer_Encoding": "chunked"}, b"%x\r\n%b\r\n0\r\n\r\n" % (len(ORDER), ORDER)),
        ({"Transfer_Encoding": "chunked"}, b"%x\r\n%b" % (len(ORDER), ORDER[:100])),
        ({}, ORDER),
        ({}, b""),
        ({"Content_Length": 0}, b""),
        ({"Content_Length": "many"}, ORDER),
        ({"Content_Length": 5_000_000}, ORDER),
    ],
)
def test_a_body_with_a_false_length_books_nothing_and_is_reported(carrier, framing, body):
    sent(carrier, head(**framing), body)
    (details,) = carrier.read("requests")
    (fault,) = improper([details])
    assert "partner_id is not where the interface puts it" in fault
    assert cut([details]) == []
    assert carrier.effects("booked") == []


def test_a_whole_booking_without_the_partner_is_reported_with_its_size(carrier):
    body = json.dumps(an_order(metadata__partner_id=None)).encode()
    sent(carrier, head(Content_Length=len(body)), body)
    (fault,) = improper(carrier.read("requests"))
    size = f"{len(body)} of {len(body)} bytes of body"
    assert fault == f"POST /orders, {size}, answered 422: partner_id is not where the interface puts it"
