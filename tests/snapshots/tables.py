"""The results of a function for a table of inputs: a heading, and `input -> result` for each case."""

import dataclasses
import datetime as dt
import re
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from functools import partial
from typing import Any

from django.core.exceptions import ValidationError

LONG = 90
ADDRESS = re.compile(r" at 0x[0-9a-f]+")


def text_of(value: Any) -> str:
    """Return a value on one line. A long one is shown by its ends and its length."""
    if isinstance(value, str):
        return repr(value) if len(value) <= LONG else f"{value[:20]!r}…{value[-8:]!r} of {len(value)}"
    if isinstance(value, bytes):
        return text_of(value.decode("utf-8", "backslashreplace"))
    if isinstance(value, Decimal | dt.date):
        return str(value)
    if isinstance(value, BaseException):
        return _of_error(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _of_fields(value)
    return "gone" if value is ... else _of_many(value)


def _of_many(value: Any) -> str:
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return f"{type(value).__name__}({_named(value._asdict())})"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{text_of(key)}: {text_of(member)}' for key, member in value.items())}}}"
    if isinstance(value, set | frozenset):
        return f"{{{', '.join(sorted(map(text_of, value)))}}}"
    if isinstance(value, list | tuple):
        return f"{_short([text_of(member) for member in value])}"
    shown = ADDRESS.sub("", repr(value))
    return shown if len(shown) <= LONG else f"{shown[:20]}… of {len(shown)}"


def _short(members: list[str]) -> str:
    shown = members if len(members) <= 12 else [*members[:2], "…", members[-1], f"{len(members)} in all"]
    return f"[{', '.join(shown)}]"


def _of_fields(value: Any) -> str:
    members = {one.name: getattr(value, one.name) for one in dataclasses.fields(value)}
    return f"{type(value).__name__}({_named(members)})"


def _named(members: dict[str, Any]) -> str:
    """Return the members as text, without the empty ones."""
    return ", ".join(
        f"{name}={text_of(member)}" for name, member in members.items() if member not in ("", None, (), [], {})
    )


def changes(value: Any, plain: Any) -> str:
    """Return the fields of a dataclass that differ from the plain case."""
    fields = ((one.name, getattr(value, one.name)) for one in dataclasses.fields(value))
    return (
        ", ".join(f"{name}={text_of(member)}" for name, member in fields if member != getattr(plain, name))
        or "as in the plain one"
    )


def _of_error(error: BaseException) -> str:
    if isinstance(error, ValidationError):
        return f"! {'; '.join(error.messages)} [{getattr(error, 'code', '') or ''}]"
    more = {name: value for name, value in vars(error).items() if value != str(error)}
    return f"! {type(error).__name__}: {error} {_named(more)}".rstrip()


def outcome(function: Callable[..., Any], *given: Any) -> str:
    try:
        result = function(*given)
        return text_of(list(result) if isinstance(result, Iterator) else result)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is written down
        return text_of(error)


def lines(function: Callable[..., Any], cases: Iterable[Any], name: str = "") -> Iterator[str]:
    """Yield the lines of a table. A tuple is several arguments; a `partial` holds those that are the same in all cases."""
    bare = function.func if isinstance(function, partial) else function
    yield f"# {name or bare.__name__}"
    for case in cases:
        given = case if isinstance(case, tuple) else (case,)
        yield f"{', '.join(map(text_of, given))} -> {outcome(function, *given)}"
