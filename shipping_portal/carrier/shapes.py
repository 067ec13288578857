"""Describe a carrier's reference in a small, safe subset of regular expressions.

The subset has letters, digits, `-` and `_`, and classes such as `[A-Z0-9]`, each repeated `{n}` or
`{n,m}` times; `|` separates alternatives. At most two parts of an alternative may vary in length,
so that matching stays fast.
"""

import itertools
import re
from functools import lru_cache
from typing import NamedTuple

LONGEST = 100  # characters; as many as reference columns hold
MOST_ALTERNATIVES = 8
MOST_VARYING = 2
ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_"
PART = re.compile(r"(\[[A-Za-z0-9_-]+\]|[A-Za-z0-9_-])(?:\{(\d{1,3})(?:,(\d{1,3}))?\})?", re.ASCII)


class Part(NamedTuple):
    """The characters allowed at a position, and how many."""

    letters: str
    least: int
    most: int


def check_shape(value: str) -> None:
    """The shape of a reference, such as "S[A-Za-z0-9]{5,99}"."""
    alternatives = value.split("|")
    if len(alternatives) > MOST_ALTERNATIVES:
        raise ValueError(f"it has more than {MOST_ALTERNATIVES} alternatives")
    for alternative in alternatives:
        parts = _parse_parts(alternative)
        if not parts or not 0 < sum(part.most for part in parts) <= LONGEST:
            raise ValueError(f"a reference has 1 to {LONGEST} characters")
        if any(part.least > part.most or not part.letters for part in parts) or not parts[0].least:
            raise ValueError(
                'a part is repeated "{n}" or "{n,m}" times, the first one at least once'
            )
        if sum(part.least < part.most for part in parts) > MOST_VARYING:
            raise ValueError(f"at most {MOST_VARYING} parts may vary in length")


@lru_cache(maxsize=16)
def shape_pattern(value: str) -> re.Pattern[str]:
    """Return the shape as a pattern for full matches."""
    return re.compile(value, re.ASCII)


def in_some_case(value: str, typed: str) -> str:
    """Return the typed text in a case that fits the shape, or ""."""
    ways = (typed, typed.upper(), typed.lower())
    return next((way for way in ways if shape_pattern(value).fullmatch(way)), "")


def spell_reference(value: str, letters: str, *, length: int = 0) -> str:
    """Return a reference of this shape, from `letters` if they fit, close to this length."""
    parts, made = _parse_parts(value.split("|")[0]), ""
    supply = itertools.cycle(letters)
    spare = max(0, length - sum(part.least for part in parts))
    for part in parts:
        count = min(part.most, part.least + spare)
        spare -= count - part.least
        for _ in range(count):
            fitting = (next(supply) for _ in letters)
            made += next((letter for letter in fitting if letter in part.letters), part.letters[0])
    return made


def _parse_parts(alternative: str) -> list[Part]:
    """Return one alternative's parts. Raises ValueError."""
    found = list(PART.finditer(alternative))
    if "".join(match[0] for match in found) != alternative:
        raise ValueError(
            'it holds letters, digits, "-", "_", classes such as [A-Z0-9], {n} and {n,m} only'
        )
    return [_fill_part(*match.groups()) for match in found]


def _fill_part(letters: str, least: str | None, most: str | None) -> Part:
    try:
        fitting = "".join(filter(re.compile(letters, re.ASCII).fullmatch, ALPHABET))
    except re.error:
        raise ValueError(f"{letters} is no class of letters") from None
    return Part(fitting, int(least or 1), int(most or least or 1))
