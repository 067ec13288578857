"""Contracts and replies for the tables: the defaults, and a carrier with different names for everything."""

import json
from typing import Any

from shipping_portal.carrier.connection import Reply
from shipping_portal.carrier.contract import Contract

PLAIN = Contract()
OTHER = Contract.load("docs/contract-example.toml")


def reply(said: Any = None, status: int = 200, *, fault: str = "", framed: bool = True, **headers: str) -> Reply:
    """Return a reply with this body as JSON, or with exactly these bytes."""
    body = said if isinstance(said, bytes) else json.dumps(said).encode()
    return Reply(status, {name.replace("_", "-"): value for name, value in headers.items()}, body, framed, fault)


def put(held: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """Return the same with a value at a dotted path. `...` removes it."""
    name, _, rest = path.partition(".")
    held = dict(held)
    if rest:
        held[name] = put(held.get(name) or {}, rest, value)
    elif value is ...:
        held.pop(name, None)
    else:
        held[name] = value
    return held


def changed(held: dict[str, Any], *changes: tuple[str, Any]) -> dict[str, Any]:
    for path, value in changes:
        held = put(held, path, value)
    return held
