"""Use JSON instead of pickle in Django's table cache: writing to the table must not run code."""

import json
from types import FunctionType, SimpleNamespace
from typing import Any

from django.core.cache.backends import db


def _dumps(value: Any, protocol: int) -> bytes:
    return json.dumps(value).encode()


# Django takes a serializer for Redis, but not here, so its two methods run with another `pickle`.
_NAMES = vars(db) | {"pickle": SimpleNamespace(dumps=_dumps, loads=json.loads)}


def _with_json(method: Any) -> Any:
    made = FunctionType(
        method.__code__, _NAMES, method.__name__, method.__defaults__, method.__closure__
    )
    made.__kwdefaults__ = method.__kwdefaults__
    return made


class JsonCache(db.DatabaseCache):
    """Stores lists, numbers and texts; `json` rejects anything else on storing."""

    get_many = _with_json(db.DatabaseCache.get_many)
    _base_set = _with_json(db.DatabaseCache._base_set)  # type: ignore[attr-defined]
