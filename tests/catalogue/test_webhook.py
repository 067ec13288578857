"""What a carrier, or somebody who poses as one, posts to the listener: what is answered, stored and read of it."""

import datetime as dt
import io
import json
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from html import escape
from typing import Any

import pytest
from django.conf import settings
from django.db import connections
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from orders.models import CarrierAccount, Order
from shipping_portal import logs
from shipping_portal.accounts.models import Sender, User
from shipping_portal.desk import queues
from tests import factories
from tests.catalogue.pushing import ID, REFERENCE, URL, basic, last, push, wire
from tests.catalogue.rows import rows
from tracking import scans
from tracking.models import EventWord, Parcel, TrackingEvent, WebhookDelivery, WebhookTally

pytestmark = pytest.mark.django_db

USER, _, SECRET = settings.WEBHOOK_SECRETS[0].partition(":")
LARGEST = 64 * 1024
Visit = Callable[[User], Client]


def refused(reason: str) -> int:
    """How often the listener counted this reason."""
    return sum(WebhookTally.objects.filter(reason=reason).values_list("count", flat=True))


def waiting(title: str) -> int:
    """The desk's count in the queue of this name."""
    return next(queue.count for queue in queues.waiting(timezone.now()) if queue.title == title)


# -- Who is let in ------------------------------------------------------------------------------


@rows(
    "given",
    ("W1", "no credentials", ""),
    ("W1", "another scheme", f"Bearer {SECRET}"),
    ("W2", "none beside those in the address", ""),
)
def test_who_names_no_credentials_is_asked_for_them(given: str) -> None:
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
    ("W1", "nothing behind Basic", "Basic"),
    ("W1", "no base64", "Basic !!!"),
    ("W1", "no ASCII", "Basic \xe9\xff"),
    ("W1", "base64 of no UTF-8", "Basic /////w=="),
    ("W2", "wrong ones beside right ones in the address", basic(f"{USER}:wrong")),
)
def test_wrong_credentials_find_nothing_and_count_one(given: str) -> None:
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
    ("W1", "token of no UTF-8", "%ff%fe"),
)
def test_a_wrong_token_in_the_path_finds_nothing(token: str) -> None:
    assert push(wire(), url=f"{URL}{token}/", HTTP_AUTHORIZATION="").status_code == 404
    assert not WebhookDelivery.objects.exists()


@rows("method", *(("W3", method, method) for method in ("GET", "PUT", "HEAD", "OPTIONS", "DELETE", "TRACE")))
def test_only_a_post_is_answered(method: str) -> None:
    answer = Client().generic(method, URL, wire(), HTTP_AUTHORIZATION=basic(settings.WEBHOOK_SECRETS[0]))
    assert (answer.status_code, answer["Allow"]) == (405, "POST")
    assert not WebhookDelivery.objects.exists()


@rows(
    "given, status",
    ("W30", "wrong secret from this machine", basic(f"{USER}:wrong"), 404),
    ("W30", "no secret from this machine", "", 401),
    ("W30", "right secret from this machine", basic(settings.WEBHOOK_SECRETS[0]), 200),
)
def test_a_claimed_address_opens_and_closes_nothing(given: str, status: int) -> None:
    answer = push(wire(), HTTP_AUTHORIZATION=given, HTTP_X_FORWARDED_FOR="127.0.0.1", HTTP_X_REAL_IP="::1")
    assert answer.status_code == status


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
    ("W7", "60,000 digits below nothing", wire(b'"a": -' + b"9" * 60_000), RANGE),
    ("W8", "event_id twice", wire(b'"event_id": "00000000-0000-4000-8000-000000000001"'), TWICE),
    ("W8", "the same event_id twice", wire(b'"event_id": "%s"' % ID.encode()), TWICE),
    ("W8", "twice in the place", wire(b'"x": {"suburb": "A", "suburb": "B"}'), TWICE),
    ("W8", "twice, once escaped", wire(rb'"\u0065vent_id": "x"'), TWICE),
    ("W9", "UTF-16", wire().decode().encode("utf-16"), NO_UTF8),
    ("W9", "UTF-16 without its mark", wire().decode().encode("utf-16-le"), NO_JSON),
    ("W9", "UTF-32", wire().decode().encode("utf-32"), NO_UTF8),
    ("W9", "a byte that is no UTF-8", wire().replace(b"picked", b"p\xffcked"), NO_UTF8),
    ("W9", "NUL in overlong UTF-8", wire().replace(b"picked", b"p\xc0\x80cked"), NO_UTF8),
    ("W9", "a surrogate in UTF-8", wire().replace(b"picked", b"p\xed\xa0\x80cked"), NO_UTF8),
)
def test_a_body_that_is_no_event_is_kept_to_the_byte_and_set_aside(body: bytes, reason: str) -> None:
    assert push(body).status_code == 200
    assert bytes(last().body) == body
    assert last().state == "quarantined"
    assert reason in last().reason
    assert not any(word in last().reason for word in ("Invalid", "invalid", "sys."))
    assert not TrackingEvent.objects.exists()
    assert waiting("Webhooks that gave no scan") == 1


@rows(
    "body, description",
    ("W5", "NUL in the description", wire(description="a\x00b"), "a\ufffdb"),
    ("W5", "a lone surrogate in the description", wire(description="a\ud800b"), "a\ufffdb"),
    ("W5", "NUL in a member nobody knows", wire(rb'"note": "\u0000"'), "Parcel picked up"),
    ("W5", "a lone surrogate in a name", wire(rb'"\ud800": 1'), "Parcel picked up"),
    ("W6", "39 lists", wire(b'"a": ' + b"[" * 38 + b"]" * 38), "Parcel picked up"),
    ("W7", "4,000 digits", wire(b'"a": ' + b"9" * 4_000), "Parcel picked up"),
    ("W9", "a byte-order mark", b"\xef\xbb\xbf" + wire(), "Parcel picked up"),
    ("W9", "letters of four bytes", wire(description="📦 到着"), "📦 到着"),
    ("W10", "exactly 64 KiB", wire() + b" " * (LARGEST - len(wire())), "Parcel picked up"),
    ("W25", "members nobody knows", wire(b'"x": {"y": [1, null]}, "state": "BOOKED"'), "Parcel picked up"),
    ("W25", "our own names", wire(b'"order": 1, "owner": 1, "progress": "delivered"'), "Parcel picked up"),
)
def test_a_sound_event_in_odd_clothes_is_a_scan(body: bytes, description: str) -> None:
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
    "told, sent",
    ("W10", "half of what was told", 2 * len(wire()), wire()),
    ("W10", "nothing of what was told", 100, b""),
    ("W10", "a gigabyte told", 1_000_000_000, wire()),
)
def test_a_body_that_breaks_off_is_refused_so_that_it_comes_again(told: int, sent: bytes) -> None:
    """Half a scan stored and acknowledged would be a scan lost."""
    answer = push(wire(), **{"CONTENT_LENGTH": str(told), "wsgi.input": io.BytesIO(sent)})
    assert answer.status_code == 400
    assert not WebhookDelivery.objects.exists()
    assert refused("broken off") == 1


class NotAChunk(Exception):
    """What a web server raises: its own kind of error, of no common base."""


@rows(
    "error",
    ("W10", "the line breaks while it is read", ConnectionResetError),
    ("W10", "the chunks make no sense", NotAChunk),
)
def test_a_line_that_breaks_is_no_error_of_ours(
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
def test_a_body_in_chunks_is_read_like_any_other() -> None:
    """Django alone reads nothing without a Content-Length: every such scan would be stored empty and lost."""
    answer = push(wire(), **{**CHUNKED, "wsgi.input": io.BytesIO(wire()), "wsgi.input_terminated": True})
    assert answer.status_code == 200
    assert (bytes(last().body), last().state) == (wire(), "stored")


@rows("", ("W10", "more than 64 KiB in chunks"))
def test_chunks_are_capped_too() -> None:
    endless = io.BytesIO(b" " * 1_000_000)
    answer = push(wire(), **{**CHUNKED, "wsgi.input": endless, "wsgi.input_terminated": True})
    assert answer.status_code == 413
    assert endless.tell() == LARGEST + 1
    assert not WebhookDelivery.objects.exists()


@rows("", ("W10", "chunks where the server does not mark their end"))
def test_a_body_whose_end_nobody_marks_is_refused() -> None:
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
def test_the_bytes_are_judged_whatever_type_they_claim(kind: str, body: bytes, state: str) -> None:
    assert push(body, content_type=kind).status_code == 200
    assert (bytes(last().body), last().state) == (body, state)


# -- Members ------------------------------------------------------------------------------------

ID_REASON, REFERENCE_REASON = "the event id", "the reference"
TYPE_REASON, TIME_REASON, WORDS_REASON = "the event type", "the scan time is", "the description"


@rows(
    "changes, reason",
    ("W12", "braces", {"event_id": f"{{{ID}}}"}, ID_REASON),
    ("W12", "urn", {"event_id": f"urn:uuid:{ID}"}, ID_REASON),
    ("W12", "no dashes", {"event_id": ID.replace("-", "")}, ID_REASON),
    ("W12", "dashes elsewhere", {"event_id": "3f0a3d1c2f5b-4c60-8a7d-6f0c-9b0e5d21"}, ID_REASON),
    ("W12", "a line behind it", {"event_id": f"{ID}\n"}, ID_REASON),
    ("W13", "nil", {"event_id": "00000000-0000-0000-0000-000000000000"}, ID_REASON),
    ("W13", "not a UUID", {"event_id": "not-a-uuid"}, ID_REASON),
    ("W13", "an integer", {"event_id": 5}, ID_REASON),
    ("W13", "a list", {"event_id": [ID]}, ID_REASON),
    ("W13", "null", {"event_id": None}, ID_REASON),
    ("W13", "missing", {"event_id": ...}, ID_REASON),
    ("W13", "fullwidth digits", {"event_id": ID.replace("3", "３")}, ID_REASON),
    ("W14", "X123456", {"carrier_reference": "X123456"}, REFERENCE_REASON),
    ("W14", "S12", {"carrier_reference": "S12"}, REFERENCE_REASON),
    ("W14", "s3ndle", {"carrier_reference": "s3ndle"}, REFERENCE_REASON),
    ("W14", "500 characters", {"carrier_reference": "S" * 500}, REFERENCE_REASON),
    ("W14", "a Cyrillic letter", {"carrier_reference": "S3NDL\u0415"}, REFERENCE_REASON),
    ("W14", "a path", {"carrier_reference": "S12345/../x"}, REFERENCE_REASON),
    ("W14", "a line behind it", {"carrier_reference": "SQ7K2M\n"}, REFERENCE_REASON),
    ("W14", "a number", {"carrier_reference": 1234567}, REFERENCE_REASON),
    ("W14", "missing", {"carrier_reference": ...}, REFERENCE_REASON),
    ("W19", "no offset", {"scan_time": "2026-11-18T21:21:05"}, TIME_REASON),
    ("W19", "basic format", {"scan_time": "20261118T212105Z"}, TIME_REASON),
    ("W19", "a day alone", {"scan_time": "2026-11-18"}, TIME_REASON),
    ("W19", "seconds since 1970", {"scan_time": 1794950465}, TIME_REASON),
    ("W19", "week date", {"scan_time": "2026-W47-3T21:21:05Z"}, TIME_REASON),
    ("W19", "Arabic digits", {"scan_time": "٢٠٢٦-١١-١٨T٢١:٢١:٠٥Z"}, TIME_REASON),
    ("W19", "30 February", {"scan_time": "2026-02-30T21:21:05Z"}, TIME_REASON),
    ("W19", "hour 24", {"scan_time": "2026-11-18T24:00:00Z"}, TIME_REASON),
    ("W20", "second 61", {"scan_time": "2026-12-31T23:59:61Z"}, TIME_REASON),
    ("W21", "the last minute west", {"scan_time": "9999-12-31T23:59:59-23:59"}, TIME_REASON),
    ("W21", "year 0001", {"scan_time": "0001-01-01T00:00:00Z"}, TIME_REASON),
    ("W21", "year 0001 east", {"scan_time": "0001-01-01T00:00:00+23:59"}, TIME_REASON),
    ("W21", "year 0000", {"scan_time": "0000-01-01T00:00:00Z"}, TIME_REASON),
    ("W23", "10 kB", {"event_type": "x" * 10_000}, TYPE_REASON),
    ("W23", "nothing but blanks", {"event_type": " \u2028 "}, TYPE_REASON),
    ("W23", "a number", {"event_type": 7}, TYPE_REASON),
    ("W26", "1,001 characters", {"description": "x" * 1_001}, WORDS_REASON),
    ("W26", "an object", {"description": {"text": "x"}}, WORDS_REASON),
    ("W26", "missing", {"description": ...}, WORDS_REASON),
)
def test_an_event_with_a_bad_member_is_set_aside_and_its_reason_names_it(
    changes: dict[str, Any], reason: str
) -> None:
    body = wire(**changes)
    assert push(body).status_code == 200
    assert (last().state, bytes(last().body)) == ("quarantined", body)
    assert last().reason.startswith(reason)
    assert not any(
        str(value)[:40] in last().reason for value in changes.values() if value and value is not ...
    )
    assert not TrackingEvent.objects.exists()
    assert not Parcel.objects.exists()


@rows("", ("W12", "upper case"))
def test_an_id_in_upper_case_is_the_same_event() -> None:
    push(wire())
    assert push(wire(event_id=ID.upper())).status_code == 200
    assert last().state == "duplicate"
    assert str(TrackingEvent.objects.get().event_id) == ID


@rows(
    "told, at",
    ("W19", "a blank for the T", "2026-11-18 21:21:05Z", (21, 21, 5, 0)),
    ("W19", "small letters", "2026-11-18t21:21:05z", (21, 21, 5, 0)),
    ("W19", "9 digits of a second", "2026-11-18T21:21:05.123456789Z", (21, 21, 5, 123456)),
    ("W19", "200 digits of a second", f"2026-11-18T21:21:05.{'9' * 200}Z", (21, 21, 5, 999999)),
    ("W19", "an offset", "2026-11-19T08:21:05+11:00", (21, 21, 5, 0)),
    ("W20", "a leap second", "2026-11-18T23:59:60Z", (23, 59, 59, 999999)),
    ("W20", "a leap second with a fraction", "2026-11-18T23:59:60.5Z", (23, 59, 59, 999999)),
)
def test_an_instant_in_any_form_of_rfc_3339_is_read_in_utc(told: str, at: tuple[int, ...]) -> None:
    push(wire(scan_time=told))
    assert last().state == "stored"
    assert TrackingEvent.objects.get().scan_time == dt.datetime(2026, 11, 18, *at, tzinfo=dt.UTC)


@rows(
    "ahead",
    ("W22", "2 days", dt.timedelta(days=2)),
    ("W22", "25 hours", dt.timedelta(hours=25)),
    ("W22", "300 years", dt.timedelta(days=365 * 300)),
)
def test_a_scan_from_the_future_is_stored_and_moves_nothing(ahead: dt.timedelta) -> None:
    when = (timezone.now() + ahead).isoformat()
    push(wire(event_type="Delivered", scan_time=when))
    assert last().state == "stored"
    assert TrackingEvent.objects.get().set_aside
    assert Parcel.objects.get().progress == ""


@rows(
    "word, progress, is_asked_about",
    ("W23", "unknown", "Teleported", "", True),
    ("W23", "markup", "<b>Delivered</b>", "", True),
    ("W23", "100 characters", "y" * 100, "", True),
    ("W23", "DELIVERED", "DELIVERED", "delivered", False),
    ("W23", "blanks around and within", "  Dropped   OFF ", "dropped_off", False),
)
def test_a_word_means_what_its_letters_say_whatever_their_case(
    word: str, progress: str, is_asked_about: bool
) -> None:
    push(wire(event_type=word))
    assert last().state == "stored"
    assert Parcel.objects.get().progress == progress
    assert EventWord.objects.filter(is_known=False).exists() == is_asked_about


NOTHING = ("", "", "", "")
ODD_PLACE = "the location could not be read"


@rows(
    "place, read_as, remark",
    ("W24", "null", None, NOTHING, ""),
    ("W24", "missing", ..., NOTHING, ""),
    ("W24", "empty", {}, NOTHING, ""),
    ("W24", "null members", {"suburb": None, "state": None, "postcode": None, "country": None}, NOTHING, ""),
    (
        "W24",
        "two members",
        {"suburb": "Fitzroy", "country": "Australia"},
        ("Fitzroy", "", "", "Australia"),
        "",
    ),
    ("W24", "a list", ["Fitzroy", "VIC"], NOTHING, ODD_PLACE),
    ("W24", "a text", "Fitzroy VIC", NOTHING, ODD_PLACE),
    ("W24", "nested", {"suburb": {"name": "Fitzroy"}, "state": "VIC"}, ("", "VIC", "", ""), ODD_PLACE),
    (
        "W24",
        "a number as postcode",
        {"suburb": "Fitzroy", "postcode": 3065},
        ("Fitzroy", "", "", ""),
        ODD_PLACE,
    ),
    ("W24", "10 kB of suburb", {"suburb": "x" * 10_000}, ("x" * 100, "", "", ""), ""),
)
def test_an_odd_place_is_left_out_with_a_remark_and_the_scan_is_kept(
    place: Any, read_as: tuple[str, ...], remark: str
) -> None:
    push(wire(location_data=place))
    assert (last().state, last().reason) == ("stored", remark)
    scan = TrackingEvent.objects.get()
    assert (scan.suburb, scan.state, scan.postcode, scan.country) == read_as
    assert Parcel.objects.get().progress == "collected"


# -- Whose it is --------------------------------------------------------------------------------


@rows("", ("W15", "nobody's reference"))
def test_an_unknown_reference_waits_for_its_order(quill: Sender, alice: User) -> None:
    assert push(wire()).status_code == 200
    assert (last().state, Parcel.objects.get().order) == ("stored", None)
    assert waiting("Scans for unknown references") == 1
    assert not Parcel.objects.for_user(alice).exists()


@rows("", ("W16", "an order booked on another carrier account"))
def test_a_reference_of_another_account_is_not_matched(quill: Sender, alice: User) -> None:
    elsewhere = CarrierAccount.objects.create(fingerprint="f" * 64, name="the carrier's test system")
    order = factories.order(quill, alice, status="booked", carrier_reference=REFERENCE, account=elsewhere)
    assert push(wire(event_type="Delivered")).status_code == 200
    order.refresh_from_db()
    assert (Parcel.objects.get().order, order.progress) == (None, "")
    assert not Parcel.objects.for_user(alice).exists()


@rows(
    "changes",
    ("W18", "another description", {"description": "Something else"}),
    ("W18", "another kind", {"event_type": "Delivered"}),
    ("W18", "another time", {"scan_time": "2026-11-18T22:00:00Z"}),
    ("W18", "another parcel", {"carrier_reference": "SOTHER1"}),
)
def test_of_two_events_with_one_id_the_first_stands_and_the_desk_is_told(changes: dict[str, Any]) -> None:
    push(wire())
    body = wire(**changes)
    assert push(body).status_code == 200
    assert (last().state, bytes(last().body)) == ("differs", body)
    assert "known with other content" in last().reason
    scan = TrackingEvent.objects.get()
    assert (scan.event_type, scan.description, bytes(scan.raw)) == ("Pickup", "Parcel picked up", wire())
    assert waiting("Webhooks that gave no scan") == 1


@rows("", ("W18", "only the place differs"))
def test_a_place_told_better_later_is_no_other_event() -> None:
    push(wire())
    push(wire(location_data=None))
    assert last().state == "duplicate"
    assert TrackingEvent.objects.get().suburb == "Fitzroy"


def numbered(number: int, word: str, at: str) -> bytes:
    return wire(event_id=f"00000000-0000-4000-8000-{number:012d}", event_type=word, scan_time=at)


JOURNEY = ["Pickup", "In Transit", "Info", "Out for Delivery", "Delivered"]


@rows(
    "hours",
    ("W27", "in order", [8, 9, 10, 11, 12]),
    ("W27", "in reverse", [12, 11, 10, 9, 8]),
    ("W27", "delivered first, an older Info last", [12, 8, 11, 9, 10]),
)
def test_where_a_parcel_is_does_not_depend_on_what_arrives_first(hours: list[int]) -> None:
    for hour in hours:
        push(numbered(hour, JOURNEY[hour - 8], f"2026-11-18T{hour:02}:00:00Z"))
    parcel = Parcel.objects.get()
    assert (parcel.progress, parcel.progress_at.hour) == ("delivered", 12)
    assert TrackingEvent.objects.count() == 5


# -- What people see ----------------------------------------------------------------------------


@pytest.fixture
def order(quill: Sender, alice: User) -> Order:
    """Booked, with its parcel."""
    made = factories.order(quill, alice, status="booked", carrier_reference=REFERENCE)
    factories.parcel(made)
    return made


MARKUP = '<script>alert(1)</script><img src=x onerror="alert(2)">'


@rows(
    "changes",
    ("W23", "markup on the pages", {"event_type": MARKUP}),
    ("W26", "HTML on the pages", {"description": MARKUP}),
    ("W26", "HTML in the place", {"location_data": {"suburb": MARKUP, "country": MARKUP}}),
    ("W26", "HTML in a member nobody knows", {"<script>": MARKUP}),
)
def test_the_carriers_text_is_only_ever_text(
    order: Order, alice: User, sam: User, visit: Visit, changes: dict[str, Any]
) -> None:
    push(wire(**changes))
    scan = TrackingEvent.objects.get()
    pages = [
        visit(alice).get(reverse("parcel", args=[order.uuid])),
        visit(sam).get(reverse("admin:tracking_trackingevent_change", args=[scan.pk])),
        visit(sam).get(reverse("admin:tracking_webhookdelivery_change", args=[last().pk])),
        visit(sam).get(reverse("admin:tracking_parcel_change", args=[order.parcel.pk])),
        visit(sam).get(reverse("admin:tracking_eventword_changelist")),
    ]
    for page in pages:
        assert page.status_code == 200
        assert "<script>alert" not in page.content.decode()
        assert "<img src=x" not in page.content.decode()
    assert escape("<script>") in pages[0].content.decode()


@rows(
    "told, kept",
    ("W26", "two lines", "left\r\nX-Evil: 1", "left X-Evil: 1"),
    ("W26", "terminal colours", "\x1b[31mred\x1b[0m", "[31mred [0m"),
    ("W26", "an override of direction", "abc\u202egpj.exe", "abc gpj.exe"),
    ("W26", "an isolate of direction", "abc\u2066d\u2069", "abc d"),
    ("W26", "a line separator", "a\u2028b", "a b"),
)
def test_a_description_is_one_line_without_controls(told: str, kept: str) -> None:
    push(wire(description=told))
    assert TrackingEvent.objects.get().description == kept


@rows("", ("W26", "in the log"))
def test_whatever_is_logged_of_an_event_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logs._formatter())
    said = 'left\r\n{"level": "forged"}\n\x1b[31m'

    def fails(*_: Any, **__: Any) -> None:
        raise RuntimeError(said)

    monkeypatch.setattr(scans, "store", fails)
    logging.getLogger().addHandler(handler)
    try:
        assert push(wire(description=said)).status_code == 200
    finally:
        logging.getLogger().removeHandler(handler)
    (line,) = stream.getvalue().splitlines()
    assert json.loads(line)["level"] == "error"
    assert "\x1b" not in line


@rows("", ("W28", "a pickup after the cancellation"))
def test_a_label_used_after_cancelling_reaches_the_desk_and_the_sender(
    order: Order, alice: User, visit: Visit
) -> None:
    now = timezone.now()
    order.move_to("cancelling", reason="-", at=now)
    order.move_to("cancelled", reason="-", at=now, cancelled_at=now - dt.timedelta(hours=1))
    push(wire(scan_time=now.isoformat()))
    order.refresh_from_db()
    assert (order.status, order.used_after_cancel_at) == ("cancelled", now)
    assert waiting("Label used after cancelling") == 1
    page = visit(alice).get(reverse("parcel", args=[order.uuid])).content.decode()
    assert "after cancelling, so the carrier charges for it" in page


# -- Many at once -------------------------------------------------------------------------------


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif("sqlite" in settings.DATABASES["default"]["ENGINE"], reason="SQLite lets one writer in")
@rows("", ("W17", "100 in parallel"))
def test_one_event_a_hundred_times_in_parallel_is_one_scan() -> None:
    def deliver(_: int) -> int:
        try:
            return int(push(wire()).status_code)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(20) as pool:
        assert list(pool.map(deliver, range(100))) == [200] * 100
    assert TrackingEvent.objects.count() == 1
    states = list(WebhookDelivery.objects.values_list("state", flat=True))
    assert (states.count("stored"), states.count("duplicate")) == (1, 99)
