"""Keys, links and query values never end up where somebody could read or store them."""

import json
import logging
import traceback

import pytest

from shipping_portal.carrier.contract import Contract
from shipping_portal.carrier.errors import CarrierError
from shipping_portal.carrier.scrubbing import CUT, scrub_value

from .conftest import ORDER_ID, order, reply, reset, shipment

SECRETS = ["s3cret-key", "czNjcmV0", "l1nk-token", "Example Lane", "Example+Lane", "/labels/a4.pdf", "signing-key"]
TOKEN_URL = "https://track.carrier.example/?ref=SQ7K2M&token=l1nk-token"


def leaks(text):
    return [secret for secret in SECRETS if secret in text]


def test_a_client_shows_only_its_host(client, far_side):
    carrier = client(link_key="signing-key")
    assert leaks(repr(carrier) + str(carrier)) == []
    assert "127.0.0.1" in repr(carrier)


@pytest.mark.parametrize("answer", [reset, b"", reply(500, b"Example Lane"), reply(422, order()), reply(200, {})])
def test_an_error_and_its_traceback_show_no_secrets(client, far_side, answer):
    far_side.answers(answer)
    with pytest.raises(CarrierError) as raised:
        client().quote(shipment())
    problem = raised.value
    assert leaks(repr(problem) + str(problem) + "".join(traceback.format_exception(problem))) == []
    assert (problem.__cause__, problem.__context__) == (None, None)


def test_an_unsent_request_shows_no_secrets(client):
    with pytest.raises(CarrierError) as raised:
        client(base_url="http://127.0.0.1:9/api").quote(shipment())
    assert leaks("".join(traceback.format_exception(raised.value))) == []


def test_a_logged_call_says_how_it_went_and_nothing_else(client, far_side, calls):
    far_side.answers(reply(200, []))
    client().quote(shipment())
    (call,) = calls
    assert (call.operation, call.method, call.path) == ("quote", "GET", "/products")
    assert (call.status, call.outcome) == (200, "ok")
    assert 0 < call.seconds < 3
    assert leaks(repr(call)) == []


@pytest.mark.parametrize(
    ("answer", "status", "outcome"),
    [
        (reply(422, {}), 422, "rejected"),
        (reply(401, b""), 401, "account stopped"),
        (reply(429, {}), 429, "not sent"),
        (reply(500, b""), 500, "unknown"),
        (b"", None, "unknown"),
    ],
)
def test_a_logged_call_has_its_outcome(client, far_side, calls, answer, status, outcome):
    far_side.answers(answer)
    with pytest.raises(CarrierError):
        client().ping()
    assert [(call.status, call.outcome) for call in calls] == [(status, outcome)]


def test_a_broken_request_log_does_not_lose_a_booking(client, far_side):
    def broken(call):
        raise RuntimeError("disk full")

    far_side.answers(reply(201, order()))
    carrier = client(on_call=broken)
    assert carrier.book(carrier.booking_body(shipment()), key="k").reference == "SQ7K2M"


@pytest.mark.parametrize("link", [TOKEN_URL, "https://x.example/eyJhbGciOiJI.eyJzdWIiOiJT.c2ln", "opaque-l1nk-token"])
def test_a_stored_reply_has_no_links(client, far_side, link):
    far_side.answers(reply(201, order(authorised_tracking_url=link, note=f"see {TOKEN_URL}")))
    carrier = client()
    booked = carrier.book(carrier.booking_body(shipment()), key="k")
    kept = json.loads(booked.body)
    assert kept["authorised_tracking_url"] == "[cut]"
    assert kept["labels"][0] == {"format": "pdf", "size": "a4", "url": "[cut]"}
    assert kept["tracking_url"] == "https://track.carrier.example/tracking?ref=SQ7K2M"
    assert leaks(booked.body.decode() + repr(booked)) == []


def test_the_evidence_of_an_unknown_outcome_has_no_links(client, far_side):
    answer = reply(201, order(authorised_tracking_url=TOKEN_URL, carrier_reference=None))
    far_side.answers(answer, answer[:-10])
    carrier = client()
    for _ in range(2):
        with pytest.raises(CarrierError) as raised:
            carrier.book(carrier.booking_body(shipment()), key="k")
        assert ORDER_ID.encode() in raised.value.body
        assert leaks(raised.value.body.decode()) == []


def test_a_stored_reply_is_at_most_64_kib(client, far_side):
    far_side.answers(reply(201, order(note="x" * 200_000)))
    carrier = client()
    assert len(carrier.book(carrier.booking_body(shipment()), key="k").body) == 64 * 1024


def test_no_library_logs_a_secret(client, far_side, caplog):
    caplog.set_level(logging.DEBUG)
    far_side.answers(reply(200, []))
    client().quote(shipment())
    assert leaks(caplog.text) == []


def test_credentials_stay_on_the_carriers_host(client, far_side):
    """The base address can't contain a user and must use https."""
    for base_url in (
        "http://carrier.example/api",
        "https://user:pw@carrier.example",
        "https://carrier.example/?a=1",
        "ftp://carrier.example",
        "carrier.example",
        "",
    ):
        with pytest.raises(ValueError, match="base address") as raised:
            client(base_url=base_url)
        assert "pw" not in str(raised.value)


@pytest.mark.parametrize("changes", [{"user_agent": ""}, {"user_agent": "a\r\nb"}])
def test_a_client_without_a_user_agent_is_refused(client, changes):
    with pytest.raises(ValueError, match="User-Agent"):
        client(**changes)


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("See https://carrier.example/help?page=2", "See https://carrier.example/help?page=2"),
        ("write token= before it", "write token= before it"),
        ("https://track.carrier.example/?ref=SQ7K2M&token=l1nk-token", CUT),
        ("at https://a.example/x?sig=abc now", f"at {CUT} now"),
        (7, 7),
        (None, None),
    ],
)
def test_only_signed_urls_are_cut_out_of_a_reply(said, kept):
    assert scrub_value({"rows": [{"note": said}]}, Contract()) == {"rows": [{"note": kept}]}
