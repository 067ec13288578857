"""Read dotted paths into JSON documents, and operations such as ``GET /orders/{id}``."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

_SHAPE = re.compile(r"^(GET|POST|PUT|PATCH|DELETE) (/[^?\s]*)(?:\?(\S+))?$")
_PLACE = re.compile(r"\{(\w+)\}")


def dig(document: Any, path: str, default: Any = None) -> Any:
    """Return the value at ``path``, or ``default`` when any step is missing.

    The empty path is never present.
    """
    if not path:
        return default
    for step in path.split("."):
        if not isinstance(document, dict) or step not in document:
            return default
        document = document[step]
    return document


def plant(document: dict[str, Any], path: str, value: Any) -> None:
    """Put ``value`` at ``path``, creating objects in between. The empty path is skipped."""
    if not path:
        return
    *steps, last = path.split(".")
    for step in steps:
        inner = document.get(step)
        if not isinstance(inner, dict):
            inner = document[step] = {}
        document = inner
    document[last] = value


def uproot(document: dict[str, Any], path: str) -> None:
    """Remove the field at ``path`` if it exists."""
    parent, _, last = path.rpartition(".")
    holder = dig(document, parent) if parent else document
    if isinstance(holder, dict):
        holder.pop(last, None)


@dataclass(frozen=True)
class Operation:
    """One operation of the interface, and how its requests are recognised."""

    method: str
    path: re.Pattern[str]
    query: tuple[tuple[str, str], ...]

    @classmethod
    def parse(cls, text: str) -> "Operation":
        """Read an operation. Raises ValueError with a message if ``text`` isn't one."""
        shape = _SHAPE.match(text)
        if not shape or set(_PLACE.findall(text)) - {"id", "reference"}:
            raise ValueError(f'"{text}" is not written as METHOD /path/{{id}}?name={{reference}}.')
        method, path, query = shape.groups()
        pieces = re.split(r"(\{\w+\})", path)
        pattern = "".join(
            f"(?P<{p[1:-1]}>[^/]+)" if _PLACE.fullmatch(p) else re.escape(p) for p in pieces
        )
        return cls(
            method,
            re.compile(f"^{pattern}$"),
            tuple(parse_qsl(query or "", keep_blank_values=True)),
        )

    def match(self, method: str, path: str, query: Mapping[str, str]) -> dict[str, str] | None:
        """Return {id} as ``order_id`` and {reference}, or None for another operation."""
        found = self.path.match(path)
        if method != self.method or not found:
            return None
        places = dict(found.groupdict())
        for name, value in self.query:
            if name not in query:
                return None
            place = _PLACE.fullmatch(value)
            if place:
                places[place[1]] = query[name]
            elif query[name] != value:
                return None
        return {"order_id" if name == "id" else name: value for name, value in places.items()}
