"""Events with an odd member: what is read, what is set aside, and the reason that is kept."""

import datetime as dt
from typing import Any

import pytest
from django.utils import timezone

from shipping_portal.accounts.models import Sender, User
from tests import factories
from tests.catalogue.pushing import ID, last, push, wire
from tests.catalogue.rows import rows
from tracking.models import EventWord, Parcel, TrackingEvent

pytestmark = pytest.mark.django_db

ID_REASON, REFERENCE_REASON = "the event id", "the reference"
TYPE_REASON, TIME_REASON, WORDS_REASON = "the event type", "the scan time is", "the description"


@rows(
    "changes, reason",
    ("W12", "braces", {"event_id": f"{{{ID}}}"}, ID_REASON),
    ("W12", "urn", {"event_id": f"urn:uuid:{ID}"}, ID_REASON),
    ("W12", "no dashes", {"event_id": ID.replace("-", "")}, ID_REASON),
    ("W12", "dashes elsewhere", {"event_id": "3f0a3d1c2f5b-4c60-8a7d-6f0c-9b0e5d21"}, ID_REASON),
    ("W12", "a line break after it", {"event_id": f"{ID}\n"}, ID_REASON),
    ("W13", "nil", {"event_id": "00000000-0000-0000-0000-000000000000"}, ID_REASON),
    ("W13", "not a UUID", {"event_id": "not-a-uuid"}, ID_REASON),
    ("W13", "an integer", {"event_id": 5}, ID_REASON),
    ("W13", "a list", {"event_id": [ID]}, ID_REASON),
    ("W13", "null", {"event_id": None}, ID_REASON),
    ("W13", "missing", {"event_id": ...}, ID_REASON),
    ("W13", "empty", {"event_id": ""}, ID_REASON),
    ("W13", "fullwidth digits", {"event_id": ID.replace("3", "３")}, ID_REASON),
    ("W14", "X123456", {"carrier_reference": "X123456"}, REFERENCE_REASON),
    ("W14", "S12", {"carrier_reference": "S12"}, REFERENCE_REASON),
    ("W14", "s3ndle", {"carrier_reference": "s3ndle"}, REFERENCE_REASON),
    ("W14", "500 characters", {"carrier_reference": "S" * 500}, REFERENCE_REASON),
    ("W14", "a Cyrillic letter", {"carrier_reference": "S3NDL\u0415"}, REFERENCE_REASON),
    ("W14", "a path", {"carrier_reference": "S12345/../x"}, REFERENCE_REASON),
    ("W14", "a blank within", {"carrier_reference": "SQ7 K2M"}, REFERENCE_REASON),
    ("W14", "an Arabic digit", {"carrier_reference": "S12345\u0661"}, REFERENCE_REASON),
    ("W14", "null", {"carrier_reference": None}, REFERENCE_REASON),
    ("W14", "a number", {"carrier_reference": 1234567}, REFERENCE_REASON),
    ("W14", "missing", {"carrier_reference": ...}, REFERENCE_REASON),
    ("W19", "no offset", {"scan_time": "2026-11-18T21:21:05"}, TIME_REASON),
    ("W19", "basic format", {"scan_time": "20261118T212105Z"}, TIME_REASON),
    ("W19", "a day alone", {"scan_time": "2026-11-18"}, TIME_REASON),
    ("W19", "seconds since 1970", {"scan_time": 1794950465}, TIME_REASON),
    ("W19", "week date", {"scan_time": "2026-W47-3T21:21:05Z"}, TIME_REASON),
    ("W19", "Arabic digits", {"scan_time": "٢٠٢٦-١١-١٨T٢١:٢١:٠٥Z"}, TIME_REASON),
    ("W19", "30 February", {"scan_time": "2026-02-30T21:21:05Z"}, TIME_REASON),
    ("W19", "a blank within", {"scan_time": "2026-11-18T21: 21:05Z"}, TIME_REASON),
    ("W19", "an offset of three digits", {"scan_time": "2026-11-18T21:21:05+110"}, TIME_REASON),
    ("W19", "an offset of 24 hours", {"scan_time": "2026-11-18T21:21:05+2400"}, TIME_REASON),
    ("W19", "the name of a zone", {"scan_time": "2026-11-18 21:21:05 UTC"}, TIME_REASON),
    ("W19", "a word", {"scan_time": "yesterday"}, TIME_REASON),
    ("W19", "empty", {"scan_time": ""}, TIME_REASON),
    ("W19", "null", {"scan_time": None}, TIME_REASON),
    ("W19", "missing", {"scan_time": ...}, TIME_REASON),
    ("W19", "hour 24", {"scan_time": "2026-11-18T24:00:00Z"}, TIME_REASON),
    ("W20", "second 61", {"scan_time": "2026-12-31T23:59:61Z"}, TIME_REASON),
    ("W21", "the last minute west", {"scan_time": "9999-12-31T23:59:59-23:59"}, TIME_REASON),
    ("W21", "the last day there is", {"scan_time": "9999-12-31T23:59:59Z"}, TIME_REASON),
    ("W21", "year 0001", {"scan_time": "0001-01-01T00:00:00Z"}, TIME_REASON),
    ("W21", "year 0001 east", {"scan_time": "0001-01-01T00:00:00+23:59"}, TIME_REASON),
    ("W21", "year 0000", {"scan_time": "0000-01-01T00:00:00Z"}, TIME_REASON),
    ("W23", "10 kB", {"event_type": "x" * 10_000}, TYPE_REASON),
    ("W23", "nothing but blanks", {"event_type": " \u2028 "}, TYPE_REASON),
    ("W23", "101 characters", {"event_type": "x" * 101}, TYPE_REASON),
    ("W23", "empty", {"event_type": ""}, TYPE_REASON),
    ("W23", "null", {"event_type": None}, TYPE_REASON),
    ("W23", "missing", {"event_type": ...}, TYPE_REASON),
    ("W23", "a number", {"event_type": 7}, TYPE_REASON),
    ("W26", "1,001 characters", {"description": "x" * 1_001}, WORDS_REASON),
    ("W26", "an object", {"description": {"text": "x"}}, WORDS_REASON),
    ("W26", "null", {"description": None}, WORDS_REASON),
    ("W26", "a number", {"description": 7}, WORDS_REASON),
    ("W26", "missing", {"description": ...}, WORDS_REASON),
)
def test_an_event_with_a_bad_member_is_set_aside_and_the_reason_names_it(changes: dict[str, Any], reason: str) -> None:
    body = wire(**changes)
    assert push(body).status_code == 200
    assert (last().state, bytes(last().body)) == ("quarantined", body)
    assert last().reason.startswith(reason)
    assert not any(str(value)[:40] in last().reason for value in changes.values() if value and value is not ...)
    assert not TrackingEvent.objects.exists()
    assert not Parcel.objects.exists()


@rows(
    "given",
    ("W14", "a line break after it", "SQ7K2M\n"),
    ("W14", "a blank after it", "SQ7K2M "),
    ("W14", "a blank before it", " SQ7K2M"),
    ("W14", "a tab and a no-break space around it", "\tSQ7K2M\u00a0"),
)
def test_blanks_around_a_reference_do_not_count(given: str, quill: Sender, alice: User) -> None:
    order = factories.order(quill, alice, status="booked", carrier_reference="SQ7K2M")
    factories.parcel(order)
    push(wire(carrier_reference=given, event_type="Delivered"))
    assert (last().state, last().reference, Parcel.objects.get().reference) == ("stored", "SQ7K2M", "SQ7K2M")
    order.refresh_from_db()
    assert order.progress == "delivered"


@rows("", ("W12", "upper case"))
def test_an_id_in_upper_case_is_the_same_event() -> None:
    push(wire())
    assert push(wire(event_id=ID.upper())).status_code == 200
    assert last().state == "duplicate"
    assert str(TrackingEvent.objects.get().event_id) == ID


@rows(
    "given, at",
    ("W19", "a blank for the T", "2026-11-18 21:21:05Z", (21, 21, 5, 0)),
    ("W19", "lower case", "2026-11-18t21:21:05z", (21, 21, 5, 0)),
    ("W19", "9 digits of a second", "2026-11-18T21:21:05.123456789Z", (21, 21, 5, 123456)),
    ("W19", "200 digits of a second", f"2026-11-18T21:21:05.{'9' * 200}Z", (21, 21, 5, 999999)),
    ("W19", "an offset", "2026-11-19T08:21:05+11:00", (21, 21, 5, 0)),
    ("W19", "an offset without a colon", "2026-11-19T08:21:05+1100", (21, 21, 5, 0)),
    ("W19", "half an hour without a colon", "2026-11-19T06:51:05.5+0930", (21, 21, 5, 500000)),
    ("W19", "an offset of hours alone", "2026-11-18 16:21:05-05", (21, 21, 5, 0)),
    ("W19", "blanks around", " 2026-11-18T21:21:05Z\n", (21, 21, 5, 0)),
    ("W19", "a blank before the offset", "2026-11-19 08:21:05 +1100", (21, 21, 5, 0)),
    ("W20", "a leap second", "2026-11-18T23:59:60Z", (23, 59, 59, 999999)),
    ("W20", "a leap second with a fraction", "2026-11-18T23:59:60.5Z", (23, 59, 59, 999999)),
)
def test_a_scan_time_in_any_rfc_3339_form_is_read_in_utc(given: str, at: tuple[int, ...]) -> None:
    push(wire(scan_time=given))
    assert last().state == "stored"
    assert TrackingEvent.objects.get().scan_time == dt.datetime(2026, 11, 18, *at, tzinfo=dt.UTC)


@rows(
    "ahead",
    ("W22", "9 hours", dt.timedelta(hours=9)),
    ("W22", "2 days", dt.timedelta(days=2)),
    ("W22", "25 hours", dt.timedelta(hours=25)),
    ("W22", "300 years", dt.timedelta(days=365 * 300)),
)
def test_a_scan_from_the_future_counts_from_when_it_was_received(ahead: dt.timedelta) -> None:
    when = (timezone.now() + ahead).isoformat()
    push(wire(event_type="Delivered", scan_time=when))
    assert last().state == "stored"
    parcel = Parcel.objects.get()
    assert (parcel.progress, parcel.progress_at) == ("delivered", last().received_at)


@rows(
    "word, progress, is_asked_about",
    ("W23", "unknown", "Teleported", "", True),
    ("W23", "markup", "<b>Delivered</b>", "", True),
    ("W23", "100 characters", "y" * 100, "", True),
    ("W23", "DELIVERED", "DELIVERED", "delivered", False),
    ("W23", "blanks around and within", "  Dropped   OFF ", "dropped_off", False),
)
def test_case_and_blanks_do_not_change_the_meaning_of_a_word(word: str, progress: str, is_asked_about: bool) -> None:
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
    ("W24", "two members", {"suburb": "Fitzroy", "country": "Australia"}, ("Fitzroy", "", "", "Australia"), ""),
    ("W24", "a list", ["Fitzroy", "VIC"], NOTHING, ODD_PLACE),
    ("W24", "a text", "Fitzroy VIC", NOTHING, ODD_PLACE),
    ("W24", "nested", {"suburb": {"name": "Fitzroy"}, "state": "VIC"}, ("", "VIC", "", ""), ODD_PLACE),
    ("W24", "a number as postcode", {"suburb": "Fitzroy", "postcode": 3065}, ("Fitzroy", "", "", ""), ODD_PLACE),
    ("W24", "10 kB of suburb", {"suburb": "x" * 10_000}, ("x" * 100, "", "", ""), ""),
)
def test_an_odd_place_is_left_out_with_a_remark_but_the_scan_is_kept(
    place: Any, read_as: tuple[str, ...], remark: str
) -> None:
    push(wire(location_data=place))
    assert (last().state, last().reason) == ("stored", remark)
    scan = TrackingEvent.objects.get()
    assert (scan.suburb, scan.state, scan.postcode, scan.country) == read_as
    assert Parcel.objects.get().progress == "collected"
