"""Tracking events as a webhook brings them, sound and unsound."""

import json
from datetime import UTC, datetime

import pytest

from shipping_portal.carrier.contract import Contract
from shipping_portal.carrier.scans import BadScan, read_event
from tests.table import table

EVENT = {
    "carrier_reference": "SQ7K2M",
    "event_id": "3f0a3d1c-2f5b-4c60-8a7d-6f0c9b0e5d21",
    "event_type": "Dropped off",
    "scan_time": "2026-03-03T21:21:05Z",
    "description": "Parcel has been dropped off",
    "location_data": {"suburb": "Fitzroy", "state": "VIC", "postcode": "3065", "country": "AU"},
}


def body(**changes):
    return json.dumps({key: value for key, value in (EVENT | changes).items() if value is not ...}).encode()


def read(**changes):
    return read_event(body(**changes), Contract())


def test_an_event_is_read():
    scan = read()
    assert (scan.reference, scan.event_id, scan.event_type) == ("SQ7K2M", EVENT["event_id"], "Dropped off")
    assert scan.scan_time == datetime(2026, 3, 3, 21, 21, 5, tzinfo=UTC)
    assert (scan.suburb, scan.state, scan.postcode, scan.country) == ("Fitzroy", "VIC", "3065", "AU")
    assert scan.raw == EVENT


LINK = "https://carrier.example/t/?token=canary-link"


@table("member", ["description", "event_type"])
def test_a_signed_link_in_a_scans_words_is_cut(member):
    assert getattr(read(**{member: f"Card left, see {LINK} today"}), member) == "Card left, see [cut] today"


def test_a_signed_link_in_a_scans_place_is_cut():
    scan = read(location_data=dict.fromkeys(["suburb", "state", "country"], LINK) | {"postcode": "eyJ0.eyJz.c2"})
    assert {scan.suburb, scan.state, scan.country, scan.postcode} == {"[cut]"}


def test_a_link_is_known_by_the_name_this_carrier_gives_its_token():
    words = "Card left, see https://carrier.example/t/?pass=canary-link or https://carrier.example/help?a=1"
    scan = read_event(body(description=words), Contract(link_token_query="pass"))
    assert scan.description == "Card left, see [cut] or https://carrier.example/help?a=1"


def test_upper_case_ids_are_the_same_event():
    assert read(event_id=EVENT["event_id"].upper()).event_id == EVENT["event_id"]


@table("raw", [b"", b"null", b"[]", b'"x"', b"123", b"{", b"{}"])
def test_a_body_that_is_no_event(raw):
    with pytest.raises(BadScan):
        read_event(raw, Contract())


@table(
    "raw",
    [
        b"[" * 100_000,
        b'{"a":' * 5_000 + b"1" + b"}" * 5_000,
        b'{"a": ' + b"9" * 5_000 + b"}",
        b'{"a": NaN}',
        b'{"a": -Infinity}',
        b'{"a": 1e400}',
        body()[:-1] + b', "event_id": "3f0a3d1c-2f5b-4c60-8a7d-6f0c9b0e5d22"}',
        body().decode().encode("utf-16"),
        b"\xff" + body(),
    ],
    ids=["deep list", "deep object", "long number", "NaN", "infinity", "1e400", "key twice", "UTF-16", "not UTF-8"],
)
def test_a_body_made_to_hurt(raw):
    with pytest.raises(BadScan):
        read_event(raw, Contract())


def test_a_byte_order_mark_is_no_fault():
    assert read_event(b"\xef\xbb\xbf" + body(), Contract()).reference == "SQ7K2M"


def test_text_no_database_stores_is_replaced():
    scan = read(description="a\x00b\ud800", extra={"x": "\x00"})
    assert scan.description == "a\ufffdb\ufffd"
    assert scan.raw["extra"] == {"x": "\ufffd"}


@table(
    "event_id",
    [
        "{3f0a3d1c-2f5b-4c60-8a7d-6f0c9b0e5d21}",
        "urn:uuid:3f0a3d1c-2f5b-4c60-8a7d-6f0c9b0e5d21",
        "3f0a3d1c2f5b4c608a7d6f0c9b0e5d21",
        "00000000-0000-0000-0000-000000000000",
        "not-a-uuid",
        7,
        None,
        "",
        ...,
    ],
)
def test_an_id_that_is_no_uuid(event_id):
    with pytest.raises(BadScan, match="event id"):
        read(event_id=event_id)


@table("reference", ["X123456", "S12", "s3ndle", "S" * 500, "S3NDL\u0415", "SQ7K2M ", 7, None, ..., "S12345\u0661"])
def test_a_reference_that_is_none(reference):
    with pytest.raises(BadScan, match="reference"):
        read(carrier_reference=reference)


@table(
    ("told", "read_as"),
    [
        ("2026-03-03 21:21:05Z", datetime(2026, 3, 3, 21, 21, 5, tzinfo=UTC)),
        ("2026-03-03t21:21:05z", datetime(2026, 3, 3, 21, 21, 5, tzinfo=UTC)),
        ("2026-03-04T08:21:05+11:00", datetime(2026, 3, 3, 21, 21, 5, tzinfo=UTC)),
        ("2026-03-03T21:21:05.123456789Z", datetime(2026, 3, 3, 21, 21, 5, 123456, tzinfo=UTC)),
        ("2026-03-03T21:21:05.5Z", datetime(2026, 3, 3, 21, 21, 5, 500000, tzinfo=UTC)),
        ("2026-12-31T23:59:60Z", datetime(2026, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)),
    ],
)
def test_rfc_3339_in_all_its_forms(told, read_as):
    assert read(scan_time=told).scan_time == read_as


@table(
    "told",
    [
        "2026-03-03T21:21:05",
        "20260303T212105Z",
        "2026-03-03",
        "2026-03-03 21:21:05 UTC",
        "9999-12-31T23:59:59-23:59",
        "0001-01-01T00:00:00Z",
        "0001-01-01T00:00:00+23:59",
        "2026-02-30T00:00:00Z",
        "2026-03-03T24:00:00Z",
        "2026-03-03T21:21:61Z",
        "２０２６-03-03T21:21:05Z",
        "",
        0,
        None,
        ...,
    ],
)
def test_a_time_nobody_can_place(told):
    with pytest.raises(BadScan, match="scan time"):
        read(scan_time=told)


@table("event_type", ["x" * 101, "", " \x00".strip("\x00"), None, 7, ...])
def test_a_type_that_is_no_word(event_type):
    with pytest.raises(BadScan, match="event type"):
        read(event_type=event_type)


def test_a_type_nobody_knows_is_kept():
    assert read(event_type="<b>Parcel Measured</b>").event_type == "<b>Parcel Measured</b>"


@table("description", ["x" * 1001, None, 7, ["x"], ...])
def test_a_description_that_is_none(description):
    with pytest.raises(BadScan, match="description"):
        read(description=description)


def test_a_description_stays_on_one_line():
    assert read(description="a\r\nX-Evil: 1\x1b[31m\u202eb").description == "a X-Evil: 1 [31m b"


@table("place", [None, ..., [], ["Fitzroy"], "Fitzroy", 7])
def test_a_place_that_cannot_be_read_is_no_fault(place):
    assert read(location_data=place).suburb == ""


def test_members_of_a_place_that_cannot_be_read_are_no_fault():
    scan = read(location_data={"suburb": {"name": "x"}, "state": 7, "postcode": None, "country": "Australia"})
    assert (scan.suburb, scan.state, scan.postcode, scan.country) == ("", "", "", "Australia")


def test_a_reason_never_quotes_the_event():
    with pytest.raises(BadScan) as told:
        read(carrier_reference="SECRET-REFERENCE-OF-SOMEBODY!!")
    assert "SECRET" not in repr(told.value)


def test_another_carriers_names():
    points = {"event_reference": "ref", "event_type": "kind", "location": "where", "location_suburb": "town"}
    renamed = {"ref": "SQ7K2M", "kind": "Pickup", "where": {"town": "Hobart"}}
    scan = read_event(body(carrier_reference=..., event_type=..., location_data=..., **renamed), Contract(**points))
    assert (scan.reference, scan.event_type, scan.suburb) == ("SQ7K2M", "Pickup", "Hobart")
