"""Polling a reference and subscribing to one."""

import pytest

from shipping_portal.carrier.errors import OutcomeUnknown, Rejected

from .conftest import reply

PICKUP = {"event_type": "Pickup", "scan_time": "2026-03-04T01:04:00Z", "description": "Parcel picked up"}


def track(client, far_side, events, points=None):
    answer = {"state": "Pickup", "scheduling": {"pickup_date": "2026-03-03"}, "tracking_events": events}
    far_side.answers(reply(200, answer))
    return client(points).track("SQ7K2M")


def test_polled_scans_need_no_id_and_no_reference(client, far_side):
    tracked = track(client, far_side, [PICKUP])
    (scan,) = tracked.scans
    assert (scan.event_type, scan.event_id, scan.reference) == ("Pickup", "", "")
    assert (tracked.state, str(tracked.pickup_date)) == ("Pickup", "2026-03-03")
    assert far_side.asked[0].target == "/api/tracking/SQ7K2M?partner_id=PRT-0001"


PAGED = {"tracking_next": "next"}


def scan(word):
    return PICKUP | {"event_type": word}


@pytest.mark.parametrize(
    ("given", "asked"),
    [
        ("/api/more?cursor=2", "/api/more?cursor=2"),
        ("?cursor=2", "/api/tracking/SQ7K2M?cursor=2"),
        ("c-2/x==", "/api/tracking/SQ7K2M?partner_id=PRT-0001&page=c-2%2Fx%3D%3D"),
        (2, "/api/tracking/SQ7K2M?partner_id=PRT-0001&page=2"),
    ],
)
def test_the_next_page_is_requested_by_link_query_or_token(client, far_side, given, asked):
    last = {"tracking_events": [scan("Delivered")], "next": None}
    far_side.answers(reply(200, {"tracking_events": [PICKUP], "next": given}), reply(200, last))
    tracked = client(PAGED).track("SQ7K2M")
    assert [one.event_type for one in tracked.scans] == ["Pickup", "Delivered"]
    assert far_side.asked[1].target == asked
    assert far_side.asked[1].headers["authorization"] == far_side.asked[0].headers["authorization"]
    assert (tracked.is_whole, tracked.unreadable) == (True, ())


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ("https://elsewhere.example/more", "not at the carrier's address"),
        ("//elsewhere.example/more", "not at the carrier's address"),
        ("http://user:pw@127.0.0.1/more", "not at the carrier's address"),
        ({"page": 2}, "not at the carrier's address"),
        ("/api/tracking/SQ7K2M?partner_id=PRT-0001", "read already"),
    ],
)
def test_a_next_page_that_is_not_requested_is_reported(client, far_side, calls, given, why):
    far_side.answers(reply(200, {"tracking_events": [PICKUP], "next": given}))
    tracked = client(PAGED).track("SQ7K2M")
    assert (len(tracked.scans), len(far_side.asked)) == (1, 1)
    assert why in tracked.unreadable[0][1]
    assert [call.outcome for call in calls] == ["incomplete"]


def test_scans_read_before_a_page_failed_are_kept_as_incomplete(client, far_side, calls):
    far_side.answers(reply(200, {"tracking_events": [PICKUP], "next": 2}), reply(503))
    tracked = client(PAGED).track("SQ7K2M")
    assert (len(tracked.scans), tracked.is_whole) == (1, False)
    assert [call.outcome for call in calls] == ["ok", "unknown"]


def test_a_next_member_is_ignored_if_the_contract_has_no_pages(client, far_side):
    far_side.answers(reply(200, {"tracking_events": [PICKUP], "next": "/api/more"}))
    assert client().track("SQ7K2M").unreadable == ()
    assert len(far_side.asked) == 1


def test_the_reference_can_be_in_the_query(client, far_side):
    track(client, far_side, [], {"track": "GET /tracking?ref={reference}"})
    assert far_side.asked[0].target == "/api/tracking?ref=SQ7K2M&partner_id=PRT-0001"


@pytest.mark.parametrize("events", [[], None])
def test_a_new_order_has_no_scans_yet(client, far_side, events):
    assert track(client, far_side, events).scans == ()


def test_a_scan_that_cannot_be_read_is_kept_with_the_reason(client, far_side):
    bad = PICKUP | {"scan_time": "2026-03-04T01:04:00"}
    tracked = track(client, far_side, [bad, PICKUP, "what"])
    assert len(tracked.scans) == 1
    assert tracked.unreadable == (
        (bad, "the scan time is not an RFC 3339 instant"),
        ("what", "the event is not an object"),
    )


def test_a_reference_in_another_case_is_the_same_parcel(client, far_side):
    tracked = track(client, far_side, [PICKUP | {"carrier_reference": "Sq7k2m"}])
    assert [scan.reference for scan in tracked.scans] == ["Sq7k2m"]
    assert tracked.unreadable == ()


def test_a_scan_of_another_parcel_is_not_ours(client, far_side):
    tracked = track(client, far_side, [PICKUP | {"carrier_reference": "SOTHER1"}])
    assert (tracked.scans, tracked.unreadable[0][1]) == ((), "the scan is of another parcel")


def test_only_the_newest_thousand_scans_are_kept(client, far_side):
    tracked = track(client, far_side, [PICKUP | {"event_type": f"T{n}"} for n in range(1003)])
    assert [tracked.scans[0].event_type, tracked.scans[-1].event_type] == ["T3", "T1002"]
    assert tracked.unreadable == (({"left_out": 3}, "more than 1000 scans in one reply"),)


def test_the_newest_scans_are_chosen_by_time_not_by_position(client, far_side):
    late = PICKUP | {"event_type": "Delivered", "scan_time": "2026-03-05T01:04:00Z"}
    tracked = track(client, far_side, [late] + [PICKUP] * 1003)
    assert (len(tracked.scans), tracked.scans[-1].event_type) == (1000, "Delivered")


def test_at_most_a_hundred_unreadable_scans_are_kept(client, far_side):
    tracked = track(client, far_side, [PICKUP] + [{}] * 205)
    assert (len(tracked.scans), len(tracked.unreadable)) == (1, 101)
    assert tracked.unreadable[-1] == ({"left_out": 105}, "many more scans like this in one reply")


def test_a_long_list_is_read_whole(client, far_side):
    wordy = PICKUP | {"description": "x" * 1000}
    assert len(track(client, far_side, [wordy] * 5_000).scans) == 1000


@pytest.mark.parametrize("answer", [{}, {"tracking_events": {}}, [], {"tracking_events": "none"}])
def test_a_reply_without_a_list_is_unusable(client, far_side, answer):
    far_side.answers(reply(200, answer))
    with pytest.raises(OutcomeUnknown):
        client().track("SQ7K2M")


def test_an_unknown_reference_is_a_refusal(client, far_side):
    far_side.answers(reply(404, {"error": "not_found"}))
    with pytest.raises(Rejected) as raised:
        client().track("SNOPE0")
    assert raised.value.status == 404


def test_subscribing_sends_no_partner_id(client, far_side):
    far_side.answers(reply(200, {"tracking_events": [PICKUP]}))
    assert len(client().subscribe("SB83LQ").scans) == 1
    (asked,) = far_side.asked
    assert (asked.method, asked.target, asked.body) == ("POST", "/api/tracking/SB83LQ/subscribe", b"")
    assert asked.headers["user-agent"]


def test_a_page_in_reply_to_a_subscription_is_unusable(client, far_side):
    far_side.answers(reply(200, b"<html>Sign in</html>"))
    with pytest.raises(OutcomeUnknown):
        client().subscribe("SB83LQ")


@pytest.mark.parametrize("answer", [reply(204, b"", Content_Length=""), reply(201, {"id": 1})])
def test_the_reply_to_a_subscription_may_have_no_scans(client, far_side, answer):
    far_side.answers(answer)
    assert client().subscribe("SB83LQ").scans == ()
