"""Check what a contract point may hold, and declare points *documented* or *assumed*."""

import dataclasses
import re
from collections.abc import Callable, Mapping
from typing import Any

from shipping_portal.carrier.hosts import Origin
from shipping_portal.carrier.operations import Operation

PROGRESS = frozenset(
    {
        "",  # changes nothing
        "collected",
        "dropped_off",
        "pickup_futile",
        "pickup_missed",
        "in_transit",
        "out_for_delivery",
        "delivery_attempted",
        "held",
        "delivered",
        "cannot_deliver",
        "damaged",
        "lost",
        "returning",
        "expired",
    }
)
Check = Callable[[Any], None]


def anything(value: object) -> None:
    """No rule beyond the type."""


def operation(value: str) -> None:
    """ "METHOD /path"; required."""
    Operation.parse(value)


def optional_operation(value: str) -> None:
    """ "METHOD /path", or "" if the carrier has no such operation."""
    if value:
        Operation.parse(value)


def path(value: str) -> None:
    """A dotted path into JSON, or "" if not sent or absent."""
    if value and not re.fullmatch(r"[\w-]+(\.[\w-]+)*", value, re.ASCII):
        raise ValueError('a path looks like "sender.contact.phone"')
    if any(part.isdigit() for part in value.split(".")):
        raise ValueError("a path has names only: no member of a list can be named by its place")


def name(value: str) -> None:
    """A query or header name, or "" if not sent."""
    if value and not re.fullmatch(r"[A-Za-z0-9_.\[\]-]+", value, re.ASCII):
        raise ValueError("a name has letters, digits, dots, dashes and underscores")


def needed_path(value: str) -> None:
    """A dotted path into JSON; required."""
    if not value:
        raise ValueError("it can't be left out")
    path(value)


def needed_name(value: str) -> None:
    """A query name; required."""
    if not value:
        raise ValueError("it can't be left out")
    name(value)


def one_of(*words: str) -> Check:
    """One of a closed set of words."""

    def check(value: str) -> None:
        if value not in words:
            raise ValueError(f"it is one of {', '.join(words)}")

    check.__doc__ = f"One of {', '.join(words)}."
    return check


def auth_scheme(value: str) -> None:
    """basic, bearer, none, or header:NAME."""
    if not re.fullmatch(r"basic|bearer|none|header:[A-Za-z0-9-]+", value, re.ASCII):
        raise ValueError('it is "basic", "bearer", "none" or "header:NAME"')


def header_line(value: str) -> None:
    """ "Name: value", or ""."""
    if value and not re.fullmatch(
        r"[A-Za-z0-9-]+: [\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?", value, re.ASCII
    ):
        raise ValueError('it looks like "Api-Version: 2025-10-01"')


def page(value: str) -> None:
    """An absolute https address, or ""."""
    origin = Origin.of(value.replace("{reference}", "S"))
    if value and (origin is None or not origin.private):
        raise ValueError("it is an https address")


def hosts(value: str) -> None:
    """Hosts, each "host" or "host:port", separated by spaces."""
    for host in value.split():
        if "/" in host or Origin.of(f"https://{host}") is None:
            raise ValueError("it lists hosts, separated by spaces")


def positive(value: float) -> None:
    """Greater than 0."""
    if not value > 0:
        raise ValueError("it is more than 0")


def bookable(value: float) -> None:
    """At least 0.25: at a slower rate a booking's labels never get a slot."""
    if not value >= 0.25:
        raise ValueError(
            "it is at least 0.25, as a booking's own calls wait six seconds for each other"
        )


def any_words(value: tuple[str, ...]) -> None:
    """A list of words."""
    if not all(word.strip() for word in value):
        raise ValueError("a word can't be blank")


def listed(value: tuple[str, ...]) -> None:
    """A list of one or more words."""
    if not value or not all(word.strip() for word in value):
        raise ValueError("it lists one word or more")


def statuses(value: tuple[int, ...]) -> None:
    """A list of HTTP statuses from 400 to 599."""
    if not all(400 <= status <= 599 for status in value):
        raise ValueError("it lists HTTP statuses from 400 to 599")


def yes_statuses(value: tuple[int, ...]) -> None:
    """A list of HTTP statuses from 200 to 299 or 400 to 499."""
    if not all(200 <= status <= 299 or 400 <= status <= 499 for status in value):
        raise ValueError("it lists HTTP statuses from 200 to 299 or from 400 to 499")


def up_to(most: int) -> Check:
    """A whole number from 1 to what the columns hold."""

    def check(value: int) -> None:
        if not 1 <= value <= most:
            raise ValueError(f"it is a number from 1 to {most}")

    check.__doc__ = f"A whole number from 1 to {most}."
    return check


def short_words(value: tuple[str, ...]) -> None:
    """A list of one or more words of at most 20 characters."""
    listed(value)
    if any(len(word) > 20 for word in value):
        raise ValueError("each word has at most 20 characters")


def countries(value: tuple[str, ...]) -> None:
    """A list of ISO 3166 codes, such as ["AU", "US"]."""
    if not all(re.fullmatch(r"[A-Z]{2}", code, re.ASCII) for code in value):
        raise ValueError('it lists countries by two capital letters, such as ["AU", "US"]')


def progress_words(value: Mapping[str, str]) -> None:
    """Carrier word to progress."""
    for word, progress in value.items():
        if progress not in PROGRESS:
            raise ValueError(f'"{progress}" (for "{word}") is no progress we know')


def _point(default: object, basis: str, section: str, check: Check) -> Any:
    metadata = {"basis": basis, "section": section, "check": check}
    if isinstance(default, dict):
        return dataclasses.field(default_factory=default.copy, metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


def documented(default: object, section: str, check: Check = path) -> Any:
    """Declare a point that the interface document states, with its section."""
    return _point(default, "documented", section, check)


def assumed(default: object, check: Check = path, *, section: str = "not in the interface") -> Any:
    """Declare a point that the interface document doesn't show, with its section or source."""
    return _point(default, "assumed", section, check)
