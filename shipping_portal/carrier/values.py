"""Read single values from a carrier's JSON without trusting them.

These are text, amounts, dates, times and paths.
"""

import json
import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any, NoReturn

from shipping_portal.carrier.messages import Money

LONGEST_INT = 4300  # digits; Python itself raises an error above this
LARGEST_NUMBER = 10**100  # length of an identifier from the carrier; anything longer isn't one
LATEST_YEAR = 9998  # every zone can represent its last moment
# no reply of this family nests deeper than six; much deeper, json would overflow its stack
DEPTH = 40
ORDER_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,99}", re.ASCII)
# Control characters would split log lines; bidirectional overrides would reorder what a person
# reads.
CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]+")
# NUL and lone surrogates, which PostgreSQL can't store
UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
CURRENCY = re.compile(r"[A-Za-z]{3}", re.ASCII)
DAY = re.compile(r"\d{4}-\d\d-\d\d([Tt ]\d\d:\d\d[\d:.]{0,20}([Zz]|[+-]\d\d:?\d\d)?)?", re.ASCII)
MOMENT = re.compile(
    r"(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d):([0-5]\d|60)(?:\.(\d+))?"
    r" ?([Zz]|[+-](?:[01]\d|2[0-3])(?::?[0-5]\d)?)",  # "+1100" and "+11" too: ISO 8601 has them
    re.ASCII,
)


def load_json(body: bytes, *, strict: bool) -> Any:
    """Return the JSON in `body`, replacing text no database stores. Raises ValueError if invalid.

    Only UTF-8 is accepted, because json.loads would guess UTF-16. Duplicate keys are rejected,
    because Python would silently keep the last. Strict mode rejects numbers out of range (NaN,
    1e400); otherwise they read as null.
    """
    odd: Callable[[str], Any] = _refuse_number if strict else _no_number
    try:
        value = json.loads(
            body.decode("utf-8-sig"),
            object_pairs_hook=object_of,
            parse_constant=odd,
            parse_float=lambda digits: _make_float(digits, odd),
            parse_int=lambda digits: int(digits) if len(digits) <= LONGEST_INT else odd(digits),
        )
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except json.JSONDecodeError as problem:  # Python's message is for programmers
        raise ValueError(f"it breaks at character {problem.pos + 1}") from None
    return _is_storable(value, DEPTH)


def object_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the object with these members. Raises ValueError if a key appears twice."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key appears twice")
    return found


def _make_float(digits: str, odd: Callable[[str], Any]) -> Any:
    number = float(digits)
    return odd(digits) if number in (float("inf"), float("-inf")) else number


def _refuse_number(digits: str) -> NoReturn:
    raise ValueError("a number is out of range")


def _no_number(digits: str) -> None:
    return None


def _is_storable(value: Any, depth: int) -> Any:
    if depth == 0:
        raise ValueError("nested too deeply")
    if isinstance(value, str):
        return UNSTORABLE.sub("\ufffd", value)
    if isinstance(value, dict):
        return {
            _is_storable(key, depth - 1): _is_storable(member, depth - 1)
            for key, member in value.items()
        }
    if isinstance(value, list):
        return [_is_storable(member, depth - 1) for member in value]
    return value


def value_at(value: Any, path: str) -> Any:
    """Return the value at a dotted path, or None if the path is off ("") or doesn't exist."""
    if not path:
        return None
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return value


def read_text(value: object, limit: int = 500) -> str:
    """Return a string on one line, at most `limit` characters; anything but a string is ""."""
    if not isinstance(value, str):
        return ""
    return CONTROLS.sub(" ", UNSTORABLE.sub("\ufffd", value)).strip()[:limit]


def normalise_word(word: object) -> str:
    """Return a carrier's word for comparison: "Dropped  Off" and "dropped off" are the same."""
    return " ".join(read_text(word).casefold().split())


def match_text(pattern: re.Pattern[str], value: object) -> str:
    """Return the value if it is a string that fully matches the pattern, otherwise ""."""
    return value if isinstance(value, str) and pattern.fullmatch(value) else ""


def read_identifier(pattern: re.Pattern[str], value: object) -> str:
    """Return a string or whole number as text if it fully matches the pattern, otherwise ""."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < LARGEST_NUMBER:
        value = str(value)
    return match_text(pattern, value)


def read_number(value: object) -> Decimal | None:
    """Return a finite decimal from a JSON number or plain decimal string, otherwise None."""
    if isinstance(value, str) and re.fullmatch(r"-?\d{1,12}(\.\d{1,6})?", value, re.ASCII):
        return Decimal(value)
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 10**12:
        return Decimal(str(value))
    return None


def currency_code(value: object) -> str:
    """Return an ISO 4217 code in upper case, otherwise ""."""
    return match_text(CURRENCY, value).upper()


def read_money(amount: object, currency: object) -> Money | None:
    """Return an amount with its currency, or None if unreadable.

    It may be negative (a discount).
    """
    read, code = read_number(amount), currency_code(currency)
    return Money(read, code) if read is not None and code else None


def read_price(amount: object, currency: object) -> Money | None:
    """Read an amount that somebody can be asked to pay, so not a negative one."""
    read = read_money(amount, currency)
    return read if read and read.amount >= 0 else None


def read_day(value: object) -> date | None:
    """Return a date written as YYYY-MM-DD, ignoring a time after it; otherwise None."""
    if not (isinstance(value, str) and DAY.fullmatch(value)):
        return None
    try:
        return date.fromisoformat(value[:10])
    except ValueError:
        return None


def read_flag(value: object) -> bool | None:
    """Return True or False as sent; None for anything else."""
    return value if isinstance(value, bool) else None


def read_instant(value: object) -> datetime:
    """Return an RFC 3339 time in UTC; its offset may lack the colon or minutes. Raises ValueError.

    Fractions are cut to microseconds, and second 60 becomes the last microsecond of its minute,
    because Python has no leap seconds. A time without an offset is rejected, because it is
    ambiguous.
    """
    match = MOMENT.fullmatch(value.strip()) if isinstance(value, str) else None
    if not match:
        raise ValueError("not an RFC 3339 instant")
    days, minute, second, fraction, offset = match.groups()
    leap = second == "60"
    micros = "999999" if leap else (fraction or "")[:6].ljust(6, "0")
    zone = "+00:00" if offset in "Zz" else offset
    try:
        moment = datetime.fromisoformat(
            f"{days}T{minute}:{'59' if leap else second}.{micros}{zone}"
        )
        moment = moment.astimezone(UTC)
    except (OverflowError, ValueError):
        raise ValueError("outside the calendar") from None
    if moment.year < 1970:
        raise ValueError("before any scan")
    if moment.year > LATEST_YEAR:
        raise ValueError("after any scan")
    return moment


def weekdays_after(start: date, days: int) -> date:
    """Return the day this many weekdays after `start`. Only the carrier knows its holidays."""
    for _ in range(days):
        start += timedelta(days=3 if start.weekday() == 4 else 2 if start.weekday() == 5 else 1)
    return start
