"""How a parcel's scans are read: from a reply, from its pages, and from a webhook."""

import json
from functools import partial
from typing import Any

from shipping_portal.carrier import naming, paging, reading, scans
from shipping_portal.carrier.hosts import Origin
from tests.snapshots.carriers import OTHER, PLAIN, changed, reply
from tests.snapshots.comparing import compare
from tests.snapshots.tables import changes, lines, outcome, text_of

EVENT = {
    "carrier_reference": "S12345", "event_id": "3F0A3D1C-2F5B-4C60-8A7D-000000000001", "event_type": "In Transit",
    "scan_time": "2026-11-23T10:20:30+11:00", "description": "At the depot",
    "location_data": {"suburb": "Carlton", "state": "VIC", "postcode": "3053", "country": "AU"},
}  # fmt: skip
LINK = "See https://t.example/?token=abc now"
ONES: list[tuple[str, Any]] = [
    ("carrier_reference", ...), ("carrier_reference", "T1"), ("carrier_reference", 5), ("event_id", ...),
    ("event_id", "x"), ("event_id", ""),
    ("event_id", "00000000-0000-0000-0000-000000000000"), ("event_type", ...), ("event_type", " "), ("event_type",
    "x" * 100),
    ("event_type", "x" * 101), ("event_type", 5), ("event_type", LINK), ("scan_time", ...), ("scan_time",
    "2026-11-23T10:20:30"),
    ("scan_time", "2026-02-30T10:20:30Z"), ("scan_time", "1969-12-31T10:20:30Z"), ("scan_time", 1763900000),
    ("description", ...),
    ("description", ""), ("description", 5), ("description", "d" * 1000), ("description", "d" * 1001),
    ("description", LINK),
    ("description", "a\nb\u202e"), ("location_data", ...), ("location_data", "Carlton"), ("location_data", {}),
    ("location_data", []),
    ("location_data.postcode", 3053), ("location_data.suburb", None), ("location_data.suburb", "s" * 101),
    ("location_data.country", LINK),
    ("location_data.state", ["VIC"]), ("location_data.postcode", "1" * 21), ("authorised_tracking_url",
    "https://a.example"),
]  # fmt: skip
BODIES = (b"", b"[]", b"5", b'{"a": 1, "a": 2}', b"\xff", b"[NaN]", b"[" * 50)


def event(what: tuple[str, Any]) -> str:
    plain, row = scans.read_event(json.dumps(EVENT).encode(), PLAIN), changed(EVENT, what)
    try:
        in_reply = changes(scans.read_scan(row, PLAIN), plain)
    except scans.BadScan as error:
        in_reply = text_of(error)
    pushed = outcome(lambda: scans.read_event(json.dumps(row).encode(), PLAIN) and "is read")
    return f"{what[0]}={text_of(what[1])} -> {in_reply}; pushed: {pushed}"


def test_a_scan_is_read_as_expected() -> None:
    names = [
        json.dumps(
            {
                "order_id": "A-1",
                "metadata": {"portal_order": "k", "ours": "o"},
                "customer_reference": "c" * 256,
                "id": "B",
            }
        ).encode()
    ]
    compare(
        "reads-scans",
        [
            text_of(scans.read_event(json.dumps(EVENT).encode(), PLAIN)),
            *map(event, ONES),
            *lines(lambda body: scans.read_event(body, PLAIN), BODIES, "read_event"),
            *lines(lambda row: scans.read_scan(row, PLAIN), [None, "x", []], "read_scan"),
            *lines(lambda body: (naming.names_in(body, PLAIN), naming.names_in(body, OTHER)), [*names, b"x", b"[]",
            b'{"order_id": "a b"}'], "names_in"),
        ],
    )  # fmt: skip


def tracked(said: Any, *, must_list: bool = True, contract: Any = PLAIN, **how: Any) -> str:
    def read() -> list[Any]:
        found = reading.read_tracked(reply(said, **how), contract, reference="s12345", must_list=must_list)
        times = [f"{scan.scan_time:%d %H:%M}" for scan in found.scans]
        return [found.state, times, list(found.unreadable), found.pickup_date, found.is_cancellable, found.leaves_out]

    return outcome(read)


def many(count: int) -> list[dict[str, Any]]:
    """Return this many scans, the newest first."""
    return [
        EVENT | {"scan_time": f"2026-11-{25 - n // 1440:02}T{n // 60 % 24:02}:{n % 60:02}:00Z"} for n in range(count)
    ]


def test_the_scans_of_a_reply_are_read_as_expected() -> None:
    rows = [
        EVENT,
        EVENT | {"carrier_reference": "S99999"},
        EVENT | {"carrier_reference": "s12345"},
        EVENT | {"event_type": LINK, "scan_time": ""},
        5,
    ]
    said = {
        "some": {"tracking_events": rows, "state": "Moving"}, "none": {"tracking_events": []},
        "null": {"tracking_events": None}, "absent": {},
        "an object": {"tracking_events": {}}, "a list": [EVENT], "nothing": b"", "no JSON": b"x", "words": "ok",
        "null itself": None,
        "told besides": {"tracking_events": [], "scheduling": {"pickup_date": "2026-11-24", "is_cancellable": False},
        "state": "x" * 101},
        **{f"{n} scans": {"tracking_events": many(n)} for n in (1000, 1001, 1003)},
        **{f"{n} unreadable": {"tracking_events": [5] * n} for n in (100, 101, 102)},
    }  # fmt: skip
    compare(
        "reads-tracking",
        [
            *(f"{name} -> {tracked(body)}" for name, body in said.items()),
            *(f"subscribed, {name} -> {tracked(body, must_list=False)}" for name,
            body in said.items() if "scans" not in name),
            f"its status -> {tracked({'tracking_events': []}, status=404)}",
            f"another carrier -> {tracked({'tracking_events': [EVENT | {'consignment': None}]}, contract=OTHER)}",
        ],
    )  # fmt: skip


BASE = Origin("https", "api.carrier.example", 443)
ASKED = ["https://api.carrier.example/t?ref=S1&cursor=1"]
NEXT = (
    None, "", False, 0, 2, "abc", "a b&c", "https://api.carrier.example/t?x=2", "http://api.carrier.example/t?x=2",
    "https://x.example/t",
    "/t?x=3", "?x=4", ASKED[0], True, ["x"], {"a": 1}, "//x.example/y", "1",
)  # fmt: skip


def page(told_next: Any, asked: list[str]) -> Any:
    said = {"tracking_events": [EVENT | {"consignment": 33123456789012}], "paging": {"next": told_next}}
    found = paging.read_page(reply(said), OTHER, reference="33123456789012", base=BASE, visited=asked)
    return [found.next_page, found.outcome, list(found.unreadable), found.leaves_out]


def joined(*pages: Any, whole: bool = True) -> Any:
    read = partial(reading.read_tracked, contract=PLAIN, reference="S12345", must_list=True)
    found = paging.join_pages([read(reply(one)) for one in pages], is_whole=whole)
    return [found.state, len(found.scans), list(found.unreadable), found.pickup_date, found.is_whole, found.next_page]


def test_the_pages_of_a_reply_are_read_as_expected() -> None:
    days = [{"tracking_events": many(n), "state": f"s{n}", "scheduling": {"pickup_date": day}} for n, day in ((1,
    None), (600, "2026-11-24"), (401, "2026-11-25"))]  # fmt: skip
    compare(
        "reads-pages",
        [
            *lines(lambda told_next: page(told_next, ASKED), [(one,) for one in NEXT], "the next page"),
            *lines(lambda count: page("n", ["https://api.carrier.example/t"] * count), [4, 5, 6], "pages asked for"),
            *lines(lambda *numbers: joined(*(days[n] for n in numbers)), [(0,), (0, 1), (1, 2), (0, 1, 2), (2, 1),
            (0, 0)], "joined"),
            *lines(lambda whole: joined(days[0], {"tracking_events": [5]}, whole=whole), [True, False],
            "joined, whole"),
        ],
    )  # fmt: skip
