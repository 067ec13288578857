"""Tracking events from a webhook, valid and invalid."""

import json
from datetime import UTC, datetime

import pytest

from shipping_portal.carrier.contract import Contract
from shipping_portal.carrier.scans import BadScan, read_event

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


@pytest.mark.parametrize("member", ["description", "event_type"])
def test_a_signed_link_in_a_scans_text_is_cut(member):
    assert getattr(read(**{member: f"Card left, see {LINK} today"}), member) == "Card left, see [cut] today"


def test_a_signed_link_in_a_scans_place_is_cut():
    scan = read(location_data=dict.fromkeys(["suburb", "state", "country"], LINK) | {"postcode": "eyJ0.eyJz.c2"})
    assert {scan.suburb, scan.state, scan.country, scan.postcode} == {"[cut]"}


def test_the_contract_says_which_parameter_makes_a_link_signed():
    words = "Card left, see https://carrier.example/t/?pass=canary-link or https://carrier.example/help?a=1"
    scan = read_event(body(description=words), Contract(link_token_query="pass"))
    assert scan.description == "Card left, see [cut] or https://carrier.example/help?a=1"


def test_text_that_no_database_can_store_is_replaced():
    scan = read(description="a\x00b\ud800", extra={"x": "\x00"})
    assert scan.description == "a\ufffdb\ufffd"
    assert scan.raw["extra"] == {"x": "\ufffd"}


def test_an_unknown_event_type_is_kept():
    assert read(event_type="<b>Parcel Measured</b>").event_type == "<b>Parcel Measured</b>"


def test_a_description_stays_on_one_line():
    assert read(description="a\r\nX-Evil: 1\x1b[31m\u202eb").description == "a X-Evil: 1 [31m b"


def test_a_reason_never_quotes_the_event():
    with pytest.raises(BadScan) as raised:
        read(carrier_reference="SECRET-REFERENCE-OF-SOMEBODY!!")
    assert "SECRET" not in repr(raised.value)


def test_the_contract_names_an_events_members():
    points = {"event_reference": "ref", "event_type": "kind", "location": "where", "location_suburb": "town"}
    renamed = {"ref": "SQ7K2M", "kind": "Pickup", "where": {"town": "Hobart"}}
    scan = read_event(body(carrier_reference=..., event_type=..., location_data=..., **renamed), Contract(**points))
    assert (scan.reference, scan.event_type, scan.suburb) == ("SQ7K2M", "Pickup", "Hobart")
