"""Check whether a regular expression takes more than linear time.

The texts are made from the expression itself: the shortest text that leads to each of its repeats, then repeated pairs
of pieces it may match there, then an end that nothing matches. Only the thread's own CPU time is counted, so other work
on the machine matters little, and only the growth from one length to the next is compared.
"""

import re
import time
from collections.abc import Iterator, Sequence
from itertools import islice, product
from re import _constants as codes
from re import _parser as parser
from typing import Any

GENERAL = ("a", "1", " ", "-", "\n")
ENDS = ("\x01", "!", "")
CLASSES = {
    "CATEGORY_DIGIT": "1", "CATEGORY_WORD": "a", "CATEGORY_SPACE": " ", "CATEGORY_NOT_DIGIT": "a",
    "CATEGORY_NOT_WORD": "!", "CATEGORY_NOT_SPACE": "a",
}  # fmt: skip
MOST_PIECES = 14
SHORT, LONG = 2_000, 8_000
SLOW = 0.0015  # seconds of CPU for SHORT: anything faster is not worth testing
GROWTH = 9  # four times the text: four times as long if linear, sixteen if quadratic
HANGS = 0.02  # seconds of CPU for less than 100 characters


def repeats(tree: Any) -> Iterator[tuple[str, Any]]:
    """Yield each repeat with the shortest text before it."""
    before = ""
    for code, value in tree:
        if code in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
            low, high, body = value
            if high > 1:
                yield before, body
            yield from ((before + start, inner) for start, inner in repeats(body))
            before += shortest(body) * low
        else:
            for part in parts(code, value):
                yield from ((before + start, inner) for start, inner in repeats(part))
            before += shortest([(code, value)])


def parts(code: Any, value: Any) -> list[Any]:
    """Return the trees inside a tree that isn't a repeat."""
    if code is codes.SUBPATTERN:
        return [value[-1]]
    if code is codes.BRANCH:
        return list(value[1])
    if code is codes.ATOMIC_GROUP:
        return [value]
    if code in (codes.ASSERT, codes.ASSERT_NOT):
        return [value[1]]
    return []


def shortest(tree: Any) -> str:
    """Return a short text that this tree matches."""
    text = ""
    for code, value in tree:
        if code in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
            text += shortest(value[2]) * value[0]
        elif code in (codes.ASSERT, codes.ASSERT_NOT):
            continue
        elif inner := parts(code, value):
            text += min((shortest(part) for part in inner), key=len)
        else:
            text += next(iter(signs([(code, value)])), "")
    return text


def signs(tree: Any) -> Iterator[str]:
    """Yield one of each kind of character that this tree may match."""
    for code, value in tree:
        if code is codes.LITERAL:
            yield chr(value)
        elif code is codes.NOT_LITERAL:
            yield "a" if value != ord("a") else "b"
        elif code is codes.ANY:
            yield "a"
        elif code is codes.IN:
            yield from members(value)
        elif code in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
            yield from signs(value[2])
        else:
            for part in parts(code, value):
                yield from signs(part)


def members(value: Any) -> Iterator[str]:
    """Yield one of each kind of character of a class."""
    if value[0][0] is codes.NEGATE:
        not_these = {chr(one) for code, one in value if code is codes.LITERAL}
        yield from (sign for sign in "a1 -\n" if sign not in not_these)
        return
    for code, one in value:
        if code is codes.LITERAL:
            yield chr(one)
        elif code is codes.RANGE:
            yield chr(one[0])
        elif code is codes.CATEGORY:
            yield CLASSES.get(str(one), "a")


def literals(tree: Any) -> Iterator[str]:
    """Yield the runs of literal characters."""
    run = ""
    for code, value in [*tree, (None, None)]:
        if code is codes.LITERAL:
            run += chr(value)
            continue
        if len(run) > 1:
            yield run
        run = ""
        if code in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
            yield from literals(value[2])
        for part in parts(code, value):
            yield from literals(part)


def attacks(
    pattern: re.Pattern[str], most: int = MOST_PIECES, ends: Sequence[str] = ENDS
) -> Iterator[tuple[str, str, str]]:
    """Yield the start, the repeated part and the end of each text to try."""
    tree = parser.parse(pattern.pattern, pattern.flags)
    found = list(repeats(tree))
    pieces = {**dict.fromkeys(literals(tree)), **dict.fromkeys(signs(tree))}
    for _, body in found:
        pieces[shortest(body)] = None
    pieces.pop("", None)
    pieces = dict.fromkeys([*islice(pieces, most), *GENERAL])
    fillers = dict.fromkeys([*pieces, *(one + other for one, other in product(pieces, pieces) if one != other)])
    # "11-": a piece twice before another
    fillers |= dict.fromkeys(one + one + other for one, other in product(pieces, pieces) if one != other)
    before = dict.fromkeys(["", *(start for start, _ in found)])
    for start, filler in product(before, fillers):
        for end in ends:
            yield start, filler, end


def cpu(pattern: re.Pattern[str], method: str, text: str) -> float:
    more = ["", text] if method == "sub" else [text]
    began = time.thread_time()
    found = getattr(pattern, method)(*more)
    if method == "finditer":
        for _ in found:
            pass
    return time.thread_time() - began


def grown(start: str, filler: str, end: str, size: int) -> str:
    return start + filler * max(1, size // len(filler)) + end


def is_slow(pattern: re.Pattern[str], method: str, attack: tuple[str, str, str], most: int = LONG) -> str:
    """Return how the time grows, if more than linearly."""
    for size in (12, 18, 24, 30, 36, 48, 64, 90):  # exponential growth never ends: it is caught here
        if (
            cpu(pattern, method, grown(*attack, size)) > HANGS
            and min(cpu(pattern, method, grown(*attack, size)) for _ in range(3)) > HANGS
        ):
            return "without an end"
    short, long = most // 4, most
    if cpu(pattern, method, grown(*attack, short)) < SLOW / 32:  # quadratic growth takes SLOW / 16 here
        return ""
    after = cpu(pattern, method, grown(*attack, long))
    for _ in range(4):  # only if it is slow each time
        if after < SLOW:
            return ""
        before = min(cpu(pattern, method, grown(*attack, short)) for _ in range(3))
        if after < GROWTH * before:
            return ""
        after = min(cpu(pattern, method, grown(*attack, long)) for _ in range(2))
    return f"{after / before:.0f} times as long for four times the text ({after * 1000:.0f} ms)"
