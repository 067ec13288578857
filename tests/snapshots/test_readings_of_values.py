"""How single values and texts of a carrier's JSON are read."""

import datetime as dt
from functools import partial

from shipping_portal.carrier import values
from tests.snapshots.comparing import compare
from tests.snapshots.tables import lines

PLAIN = values.ORDER_ID
NUMBERS = (
    0, 1, -1, 8.95, -0.5, 1e11, 10**12 - 1, 10**12, -(10**12), -(10**12) + 1, 1e12, True, None, "", "0", "8.95",
    "-8.95",
    "+8.95", "8,95", "8.", ".5", "1.123456", "1.1234567", "123456789012", "1234567890123", "1e3", " 1", "1\n", "١",
    [1],
)  # fmt: skip
CODES = ("AUD", "aud", "uSd", "AU", "AUDD", "A1D", "", None, 3, "AUD ", "ÄUD")
DAYS = (
    "2026-02-28", "2026-02-29", "2024-02-29", "2026-2-28", "2026-02-28T10:00", "2026-02-28t10:00Z",
    "2026-02-28 10:00:05.5",
    "2026-02-28T10:00:00+11:00", "2026-02-28T10:00:00-1130", "2026-02-28T10", "2026-02-28T10:00 Z", "2026-02-28Z",
    "20260228",
    "28/02/2026", "0000-01-01", "0001-01-01", "9999-12-31", "2026-13-01", "", None, 20260228, "2026-02-28\n",
)  # fmt: skip
MOMENTS = (
    "2026-11-23T10:20:30Z", "2026-11-23t10:20:30z", "2026-11-23 10:20:30+00:00", "2026-11-23T10:20:30+11:00",
    "2026-11-23T10:20:30-05:30", "2026-11-23T10:20:30", "2026-11-23T10:20Z", "2026-11-23T10:20:60Z",
    "2026-11-23T10:20:61Z",
    "2026-11-23T24:00:00Z", "2026-11-23T23:59:59.9Z", "2026-11-23T10:20:30.1234567Z", "2026-11-23T10:20:30.0000009Z",
    "2026-11-23T10:20:60.5Z", "2026-11-23T10:20:30+23:59", "2026-11-23T10:20:30+24:00", "2026-11-23T10:20:30+1100",
    "1970-01-01T00:00:00Z", "1969-12-31T23:59:59Z", "1970-01-01T05:00:00+06:00", "9998-12-31T23:59:59Z",
    "9999-01-01T00:00:00Z", "9999-12-31T23:59:59-01:00", "0001-01-01T00:00:00+01:00", "2026-02-29T00:00:00Z", "",
    None, 5,
)  # fmt: skip


def nested(depth: int) -> bytes:
    return b"[" * depth + b"]" * depth


def test_numbers_money_and_days_of_a_reply_are_read_as_expected() -> None:
    compare(
        "reads-values",
        [
            *lines(values.read_number, NUMBERS),
            *lines(values.currency_code, CODES),
            *lines(values.read_money, [("-1", "aud"), ("1", ""), (None, "AUD"), (0, "AUD")]),
            *lines(values.read_price, [("-0.01", "aud"), ("0", "aud"), ("-0", "aud"), ("0.01", "nzd"), ("x", "AUD")]),
            *lines(values.read_day, DAYS),
            *lines(values.read_instant, MOMENTS),
            *lines(values.read_flag, [True, False, None, 0, 1, "true"]),
            *lines(
                values.weekdays_after,
                [(dt.date(2026, 11, 16) + dt.timedelta(n), days) for n in range(7) for days in (0, 1, 2, 6)],
            ),
        ],
    )


TEXTS = (
    "plain", "  two \n lines\t", "a\x00b", "\ud800", "\u202eabc", "a\u2028b", "\x7f\x85\x9f.", "\xa0x\xa0", "", None,
    5, ["a"],
    "x" * 499, "x" * 501,
)  # fmt: skip
NAMES = (
    "A",
    "a-1_2.3:4",
    "-a",
    "",
    "A" * 100,
    "A" * 101,
    "a b",
    "é",
    5,
    0,
    -1,
    True,
    5.0,
    None,
    10**100,
    10**100 - 1,
    "a\n",
)
BODIES = (
    b'{"a": 1}', b'\xef\xbb\xbf{"a": 1}', b'{"a": 1, "a": 2}', b"[1.5, 12345678901234567890]", b"[NaN]", b"[Infinity]",
    b"[-1e400]", b"[1e400]", b"[1e308]", b"[" + b"9" * 4300 + b"]", b"[" + b"9" * 4301 + b"]", b'["\\u0000\\ud800x"]',
    b'{"\\u0000k": {"b": ["\\ud800"]}}', b"[1, 2", b"", b"{", b"\xff", '"é"'.encode("utf-16"), b"null", b'"word"',
    nested(39), nested(40), nested(41), nested(100_000),
)  # fmt: skip
PLACES = {"a": {"b": {"c": 0}}, "l": [1], "n": None, "": 5}


def test_texts_names_and_json_of_a_reply_are_read_as_expected() -> None:
    compare(
        "reads-texts",
        [
            *lines(values.read_text, [*TEXTS, ("abcdef", 3), (" abc def", 4), ("abc", 0)]),
            *lines(values.normalise_word, ["Dropped  Off", " STRASSE ß", "", None, "In\ntransit", 5]),
            *lines(partial(values.read_identifier, PLAIN), NAMES),
            *lines(partial(values.match_text, PLAIN), NAMES[:9]),
            *lines(partial(values.load_json, strict=False), BODIES),
            *lines(partial(values.load_json, strict=True), BODIES, "load_json, strictly"),
            *lines(partial(values.value_at, PLACES), ["", "a", "a.b.c", "a.b.c.d", "a.x", "l", "l.0", "n.x", "x"]),
        ],
    )
