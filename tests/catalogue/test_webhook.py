"""Posts to the listener from a carrier, or from somebody posing as one: who is let in, and the body as a whole."""

import gzip
import io
import json
import logging
from typing import Any

import pytest
from django.conf import settings
from django.db import InterfaceError, OperationalError
from django.test import RequestFactory

from shipping_portal.ops import logs
from tests.catalogue import pushing
from tests.catalogue.acting import waiting
from tests.catalogue.pushing import ID, URL, basic, last, push, wire
from tests.catalogue.rows import rows
from tracking.models import Parcel, TrackingEvent, WebhookDelivery, WebhookTally
from tracking.receiving import short_cut
from tracking.scanning import statements

pytestmark = pytest.mark.django_db

USER, _, SECRET = settings.WEBHOOK_SECRETS[0].partition(":")
LARGEST = 64 * 1024


@pytest.fixture(autouse=True, params=[pushing.by_its_address, pushing.by_the_short_cut])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Send each case both ways."""
    monkeypatch.setitem(pushing.way, "push", request.param)
    return request.param


def refused(reason: str) -> int:
    """Return how often the listener counted this reason."""
    return sum(WebhookTally.objects.filter(reason=reason).values_list("count", flat=True))


# -- Who is let in ------------------------------------------------------------------------------


@rows(
    "given",
    ("W1", "no credentials", ""),
    ("W1", "another scheme", f"Bearer {SECRET}"),
    ("W2", "none, but some in the address", ""),
)
def test_a_request_without_credentials_is_asked_for_them(given: str) -> None:
    answer = push(wire(), url=f"{URL}?token={SECRET}&secret={USER}:{SECRET}", HTTP_AUTHORIZATION=given)
    assert (answer.status_code, answer["WWW-Authenticate"]) == (401, 'Basic realm="webhooks"')
    assert not WebhookDelivery.objects.exists()


@rows(
    "given",
    ("W1", "wrong secret", basic(f"{USER}:wrong")),
    ("W1", "rotated out", basic(f"{USER}:the-secret-of-last-year-0123456789abcdef")),
    ("W1", "right secret in upper case", basic(f"{USER}:{SECRET.upper()}")),
    ("W1", "right secret of another user", basic(f"other:{SECRET}")),
    ("W1", "right secret and one blank", basic(f"{USER}:{SECRET} ")),
    ("W1", "empty secret", basic(f"{USER}:")),
    ("W1", "no colon", basic("x")),
    ("W1", "nothing but a colon", basic(":")),
    ("W1", "nothing after Basic", "Basic"),
    ("W1", "not base64", "Basic !!!"),
    ("W1", "not ASCII", "Basic \xe9\xff"),
    ("W1", "base64 of bytes that aren't UTF-8", "Basic /////w=="),
    ("W2", "wrong ones, and right ones in the address", basic(f"{USER}:wrong")),
)
def test_wrong_credentials_get_a_404_and_are_counted(given: str) -> None:
    answer = push(wire(), url=f"{URL}?token={SECRET}", HTTP_AUTHORIZATION=given)
    assert answer.status_code == 404
    assert not WebhookDelivery.objects.exists()
    assert refused("wrong credentials") == 1


@rows(
    "token",
    ("W1", "wrong token in the path", "wrong"),
    ("W1", "token in upper case", SECRET.upper()),
    ("W1", "user and token in the path", f"{USER}:{SECRET}"),
    ("W1", "token with NUL", f"{SECRET}%00"),
    ("W1", "token that isn't UTF-8", "%ff%fe"),
)
def test_a_wrong_token_in_the_path_gets_a_404(token: str) -> None:
    assert push(wire(), url=f"{URL}{token}/", HTTP_AUTHORIZATION="").status_code == 404
    assert not WebhookDelivery.objects.exists()


@rows("method", *(("W3", method, method) for method in ("GET", "PUT", "HEAD", "OPTIONS", "DELETE", "TRACE")))
def test_only_a_post_is_answered(method: str, way: Any) -> None:
    answer = way(method, URL, wire(), HTTP_AUTHORIZATION=basic(settings.WEBHOOK_SECRETS[0]))
    assert (answer.status_code, answer["Allow"]) == (405, "POST")
    assert not WebhookDelivery.objects.exists()


@rows(
    "given, status",
    ("W30", "wrong secret from this machine", basic(f"{USER}:wrong"), 404),
    ("W30", "no secret from this machine", "", 401),
    ("W30", "right secret from this machine", basic(settings.WEBHOOK_SECRETS[0]), 200),
)
def test_a_claimed_client_address_makes_no_difference(given: str, status: int) -> None:
    answer = push(wire(), HTTP_AUTHORIZATION=given, HTTP_X_FORWARDED_FOR="127.0.0.1", HTTP_X_REAL_IP="::1")
    assert answer.status_code == status


def test_a_request_over_plain_http_is_refused_and_counted(settings: Any) -> None:
    settings.SECURE = True
    assert push(wire()).status_code == 403
    assert push(wire(), HTTP_AUTHORIZATION=basic(f"{USER}:wrong")).status_code == 403
    assert not WebhookDelivery.objects.exists()
    assert refused("over plain http") == 2
    assert push(wire(), **{"wsgi.url_scheme": "https"}).status_code == 200


@pytest.mark.parametrize("url", [f"{URL}{SECRET}/more/", "/webhooks/"])
def test_a_longer_or_shorter_address_is_not_the_listener(url: str) -> None:
    assert push(wire(), url=url, HTTP_AUTHORIZATION="").status_code == 404
    assert not WebhookDelivery.objects.exists()
    assert not WebhookTally.objects.exists()


@pytest.mark.parametrize("error", [OperationalError, InterfaceError])
def test_while_the_database_is_down_the_carrier_is_asked_to_retry(
    error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: Any, **__: Any) -> None:
        raise error

    with monkeypatch.context() as patched:
        patched.setattr(statements, "insert_delivery", away)
        patched.setattr(short_cut.connection, "close", lambda: None)  # this test's own
        answer = push(wire())
    assert (answer.status_code, answer["Retry-After"]) == (503, "5")
    assert not WebhookDelivery.objects.exists()
    assert push(wire()).status_code == 200


def test_only_a_stored_delivery_is_left_out_of_the_web_servers_log() -> None:
    """A carrier that sends no credentials can be found in the log."""
    application = short_cut.webhooks_first(lambda *_: [])
    for given, is_stored in ((basic(settings.WEBHOOK_SECRETS[0]), True), (basic(f"{USER}:wrong"), False), ("", False)):
        environ = RequestFactory().generic("POST", URL, wire(), HTTP_AUTHORIZATION=given).environ
        list(application(environ, lambda *_: None))
        assert environ["portal.recorded"] is is_stored


@pytest.mark.parametrize(
    ("given", "status", "event"),
    [(basic(settings.WEBHOOK_SECRETS[0]), 200, "webhook_stored"), (basic(f"{USER}:wrong"), 404, "webhook_refused")],
)
def test_a_response_has_the_same_id_as_its_log_line(
    given: str, status: int, event: str, caplog: pytest.LogCaptureFixture
) -> None:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logs._json_formatter())
    logging.getLogger().addHandler(handler)
    try:
        with caplog.at_level(logging.DEBUG, logger="tracking.receiving.intake"):
            answer = push(wire(), HTTP_AUTHORIZATION=given)
    finally:
        logging.getLogger().removeHandler(handler)
    assert answer.status_code == status
    [line] = [line for line in map(json.loads, stream.getvalue().splitlines()) if line["event"] == event]
    assert line["request"] == answer["X-Request-ID"]
    assert len(line["request"]) == 32


# -- Bodies -------------------------------------------------------------------------------------

NO_JSON, NO_OBJECT, NO_UTF8 = "the body is not sound JSON", "the event is not an object", "not UTF-8"
DEEP, RANGE, TWICE = "nested too deeply", "a number is out of range", "a key appears twice"


@rows(
    "body, reason",
    ("W4", "empty", b"", NO_JSON),
    ("W4", "null", b"null", NO_OBJECT),
    ("W4", "a list", b"[]", NO_OBJECT),
    ("W4", "a text", b'"x"', NO_OBJECT),
    ("W4", "a number", b"123", NO_OBJECT),
    ("W4", "an empty object", b"{}", "the event type"),
    ("W4", "half an object", wire()[:40], NO_JSON),
    ("W5", "NUL and nothing else", rb'{"a":"\u0000"}', "the event type"),
    ("W5", "a lone surrogate and nothing else", rb'{"a":"\ud800"}', "the event type"),
    ("W5", "NaN", wire(b'"a": NaN'), RANGE),
    ("W5", "minus infinity", wire(b'"a": -Infinity'), RANGE),
    ("W5", "1e400", wire(b'"a": 1e400'), RANGE),
    ("W5", "a real NUL", b"\x00" + wire(), NO_JSON),
    ("W6", "60,000 open brackets", b"[" * 60_000, DEEP),
    ("W6", "lists in a member", wire(b'"a": ' + b"[" * 30_000 + b"]" * 30_000), DEEP),
    ("W6", "objects in a member", wire(b'"a": ' + b'{"a":' * 9_000 + b"1" + b"}" * 9_000), DEEP),
    ("W6", "41 lists", wire(b'"a": ' + b"[" * 41 + b"]" * 41), DEEP),
    ("W7", "5,000 digits", b"9" * 5_000, RANGE),
    ("W7", "5,000 digits in a member", wire(b'"a": ' + b"9" * 5_000), RANGE),
    ("W7", "minus 60,000 digits", wire(b'"a": -' + b"9" * 60_000), RANGE),
    ("W8", "event_id twice", wire(b'"event_id": "00000000-0000-4000-8000-000000000001"'), TWICE),
    ("W8", "the same event_id twice", wire(b'"event_id": "%s"' % ID.encode()), TWICE),
    ("W8", "twice in the place", wire(b'"x": {"suburb": "A", "suburb": "B"}'), TWICE),
    ("W8", "twice, once escaped", wire(rb'"\u0065vent_id": "x"'), TWICE),
    ("W9", "UTF-16", wire().decode().encode("utf-16"), NO_UTF8),
    ("W9", "UTF-16 without its mark", wire().decode().encode("utf-16-le"), NO_JSON),
    ("W9", "UTF-32", wire().decode().encode("utf-32"), NO_UTF8),
    ("W9", "a byte that isn't UTF-8", wire().replace(b"picked", b"p\xffcked"), NO_UTF8),
    ("W9", "gzip", gzip.compress(wire()), "compressed with gzip"),
    ("W9", "NUL in overlong UTF-8", wire().replace(b"picked", b"p\xc0\x80cked"), NO_UTF8),
    ("W9", "a surrogate in UTF-8", wire().replace(b"picked", b"p\xed\xa0\x80cked"), NO_UTF8),
)
def test_a_body_that_is_not_an_event_is_kept_unchanged_and_set_aside(body: bytes, reason: str) -> None:
    assert push(body).status_code == 200
    assert bytes(last().body) == body
    assert last().state == "quarantined"
    assert reason in last().reason
    assert not any(word in last().reason for word in ("Invalid", "invalid", "sys."))
    assert not TrackingEvent.objects.exists()
    assert waiting("webhookdelivery-reading") == 1


@rows(
    "body, description",
    ("W5", "NUL in the description", wire(description="a\x00b"), "a\ufffdb"),
    ("W5", "a lone surrogate in the description", wire(description="a\ud800b"), "a\ufffdb"),
    ("W5", "NUL in an unknown member", wire(rb'"note": "\u0000"'), "Parcel picked up"),
    ("W5", "a lone surrogate in a name", wire(rb'"\ud800": 1'), "Parcel picked up"),
    ("W6", "39 lists", wire(b'"a": ' + b"[" * 38 + b"]" * 38), "Parcel picked up"),
    ("W7", "4,000 digits", wire(b'"a": ' + b"9" * 4_000), "Parcel picked up"),
    ("W9", "a byte-order mark", b"\xef\xbb\xbf" + wire(), "Parcel picked up"),
    ("W9", "letters of four bytes", wire(description="📦 到着"), "📦 到着"),
    ("W10", "exactly 64 KiB", wire() + b" " * (LARGEST - len(wire())), "Parcel picked up"),
    ("W25", "unknown members", wire(b'"x": {"y": [1, null]}, "state": "BOOKED"'), "Parcel picked up"),
    ("W25", "our own names", wire(b'"order": 1, "owner": 1, "progress": "delivered"'), "Parcel picked up"),
)
def test_a_valid_event_in_an_odd_format_is_a_scan(body: bytes, description: str) -> None:
    assert push(body).status_code == 200
    assert (last().state, last().reason) == ("stored", "")
    scan = TrackingEvent.objects.get()
    assert (bytes(last().body), bytes(scan.raw)) == (body, body)
    assert (scan.event_type, scan.description) == ("Pickup", description)
    assert Parcel.objects.get().progress == "collected"


@rows(
    "body",
    ("W6", "100,000 open brackets", b"[" * 100_000),
    ("W10", "64 KiB and one byte", wire() + b" " * (LARGEST + 1 - len(wire()))),
    ("W10", "3 MB", b" " * 3_000_000),
)
def test_more_than_64_kib_is_refused_counted_and_not_stored(body: bytes) -> None:
    assert push(body).status_code == 413
    assert not WebhookDelivery.objects.exists()
    assert refused("larger than 64 KiB") == 1


@rows(
    "stated, sent",
    ("W10", "half the stated length", 2 * len(wire()), wire()),
    ("W10", "nothing of the stated length", 100, b""),
    ("W10", "a stated gigabyte", 1_000_000_000, wire()),
)
def test_a_body_cut_short_is_refused_so_that_the_carrier_retries(stated: int, sent: bytes) -> None:
    """If half a scan were stored and acknowledged, the scan would be lost."""
    answer = push(wire(), **{"CONTENT_LENGTH": str(stated), "wsgi.input": io.BytesIO(sent)})
    assert answer.status_code == 400
    assert not WebhookDelivery.objects.exists()
    assert refused("broken off") == 1


class NotAChunk(Exception):
    """An error as a web server raises it: of its own kind, with no common base class."""


@rows(
    "error",
    ("W10", "the line breaks while it is read", ConnectionResetError),
    ("W10", "the chunks make no sense", NotAChunk),
)
def test_a_connection_that_breaks_is_not_logged_as_our_error(
    error: type[Exception], caplog: pytest.LogCaptureFixture
) -> None:
    class Broken(io.BytesIO):
        def read(self, *_: Any) -> bytes:
            raise error

    assert push(wire(), **{"wsgi.input": Broken()}).status_code == 400
    assert not WebhookDelivery.objects.exists()
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


CHUNKED = {"CONTENT_LENGTH": "", "HTTP_TRANSFER_ENCODING": "chunked"}


@rows("", ("W10", "chunks where the server marks their end"))
def test_a_chunked_body_is_read_like_any_other() -> None:
    """On its own, Django reads nothing without a Content-Length, so every such scan would be stored empty and lost."""
    answer = push(wire(), **{**CHUNKED, "wsgi.input": io.BytesIO(wire()), "wsgi.input_terminated": True})
    assert answer.status_code == 200
    assert (bytes(last().body), last().state) == (wire(), "stored")


@rows("", ("W10", "more than 64 KiB in chunks"))
def test_a_chunked_body_is_limited_to_64_kib_too() -> None:
    endless = io.BytesIO(b" " * 1_000_000)
    answer = push(wire(), **{**CHUNKED, "wsgi.input": endless, "wsgi.input_terminated": True})
    assert answer.status_code == 413
    assert endless.tell() == LARGEST + 1
    assert not WebhookDelivery.objects.exists()


@rows("", ("W10", "chunks where the server does not mark their end"))
def test_a_body_without_a_marked_end_is_refused() -> None:
    answer = push(wire(), **{**CHUNKED, "wsgi.input": io.BytesIO(wire())})
    assert answer.status_code == 411
    assert not WebhookDelivery.objects.exists()
    assert refused("no length") == 1


@rows(
    "kind, body, state",
    *(
        ("W11", f"{kind or 'no type'}, {words}", kind, body, state)
        for kind in (
            "text/plain",
            "application/x-www-form-urlencoded",
            "multipart/form-data",
            "multipart/form-data; boundary=x",
            "application/json; charset=utf-16",
            "application/json; charset=no-such",
            "\xff/\x01",
            "",
        )
        for words, body, state in (("an event", wire(), "stored"), ("no event", b"a=1&b=2", "quarantined"))
    ),
)
def test_the_content_type_does_not_matter(kind: str, body: bytes, state: str) -> None:
    assert push(body, content_type=kind).status_code == 200
    assert (bytes(last().body), last().state) == (body, state)
