"""What a step wrote: the rows that are new, deleted or changed, and the emails it sent."""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.apps import apps
from django.core import mail
from django.db import connection, models

LEFT_OUT = {"sessions.session", "accounts.session", "auth.permission", "contenttypes.contenttype"}
# Nobody reads these, or they differ from run to run.
FIELDS = {"password", "milliseconds", "free_at", "had", "search", "last_login", "request_id"}
BY_MODEL = {"label.length", "export.length", "export.sha256"}
RANDOM = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\b[0-9a-f]{32,64}\b"
    r"|(?-i:\bS(?!TANDARD)[A-Z0-9]{7}\b)|(?<=/invitation/)[\w-]{20,}|(?<=/unsubscribe/)[\w:.-]{20,}"
    r"|127\.0\.0\.1:\d+|\bgAAAAA[\w=-]{90,}",
    re.IGNORECASE,
)
WRITES = re.compile(r'^(?:INSERT(?: OR IGNORE)? INTO|UPDATE|DELETE FROM) "(\w+)"')
Rows = dict[tuple[str, int], dict[str, str]]


@contextmanager
def written() -> Iterator[set[str]]:
    """Collect the tables that statements inside the block may have written to."""
    tables: set[str] = set()

    def look(execute: Callable[..., Any], sql: str, *more: Any) -> Any:
        tables.update(found[1] for found in WRITES.finditer(sql))
        return execute(sql, *more)

    with connection.execute_wrapper(look):
        yield tables


def rows(tables: set[str] | None = None) -> Rows:
    """Return every row (of these tables) by model and number, each field as text."""
    return {
        (model._meta.model_name, row.pk): {
            field.attname: _text(getattr(row, field.attname))
            for field in model._meta.concrete_fields
            if not field.generated
            and field.attname not in FIELDS
            and f"{model._meta.model_name}.{field.attname}" not in BY_MODEL
        }
        for model in apps.get_models()
        if model._meta.label_lower not in LEFT_OUT and (tables is None or model._meta.db_table in tables)
        for row in model._default_manager.order_by("pk")
    }


def _text(value: Any) -> str:
    if isinstance(value, bytes | memoryview):
        held = bytes(value)
        return held.decode() if held[:1] in (b"{", b"[") else "bytes" if held else ""
    if isinstance(value, dict | list):
        return json.dumps(value, default=str)
    if isinstance(value, models.Model):
        return str(value.pk)
    return str(value)


def changes(before: Rows, tables: set[str]) -> Iterator[str]:
    """Yield a line for each row of these tables that is new (+), gone (-) or changed (~), with the relevant fields."""
    after, names = (
        rows(tables),
        {model._meta.model_name for model in apps.get_models() if model._meta.db_table in tables},
    )
    for name, number in sorted({key for key in before if key[0] in names} | after.keys()):
        old, new = before.get((name, number)), after.get((name, number))
        if new is None:
            yield f"- {name} {number}"
        elif old is None:
            fields = [f"{field}={value}" for field, value in new.items() if value not in ("", "None", "{}", "[]")]
            yield f"+ {name} {number}: {', '.join(fields)}"
        elif old != new:
            fields = [f"{field}: {old[field]} -> {new[field]}" for field in new if old[field] != new[field]]
            yield f"~ {name} {number}: {', '.join(fields)}"


def mails() -> Iterator[str]:
    """Return the emails since the last call, line by line."""
    for sent in mail.outbox:
        yield f"mail to {', '.join(sent.to)}: {sent.subject}"
        yield from (f"  {line}" for line in str(sent.body).splitlines() if line)
    mail.outbox.clear()


def numbered(lines: list[str]) -> Iterator[str]:
    """Return the same lines with each random identifier replaced by a number, in order of appearance."""
    known: dict[str, str] = {}
    for line in lines:
        yield RANDOM.sub(lambda found: known.setdefault(found[0].lower(), f"{{{len(known) + 1}}}"), line)
