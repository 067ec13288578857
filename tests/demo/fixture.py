"""The month as a file: the rows of its tables, the carrier's ledger, and the sender's own row."""

import datetime as dt
import json
import lzma
from pathlib import Path
from typing import Any

from django.apps import apps
from django.db import models

from shipping_portal.accounts.models import Sender, User
from shipping_portal.staff.demo.demo_history import OF_SENDER, TABLES
from tests.demo.month import Month


def recorded(month: Month) -> dict[str, Any]:
    """Return everything needed to load the month."""
    own = Sender.objects.filter(pk=month.sender.pk).values(*OF_SENDER).get()
    return {
        "tables": {label: _table(apps.get_model(label), month.sender) for label in TABLES},
        "sender": {name: _cell(value) for name, value in own.items()},
        "ledger": [_with_instants(line) for line in month.carrier.ledger()],
    }


def write(month: Month, file: Path) -> None:
    """Write the file. The same rows give the same bytes."""
    text = json.dumps(recorded(month), ensure_ascii=False, separators=(",", ":"))
    file.write_bytes(lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))


def _table(model: type[models.Model], sender: Sender) -> dict[str, Any]:
    """Return a table's columns and its rows in the order of their keys. Audit rows have no key."""
    is_audit = model._meta.label == "accounts.Audit"
    fields = [
        field for field in model._meta.concrete_fields if not field.generated and not (is_audit and field.primary_key)
    ]
    rows = model._default_manager.order_by("pk")
    rows = rows.filter(sender=sender) if is_audit else rows
    emails = dict(User.objects.values_list("pk", "email"))
    cells = [
        [
            emails.get(getattr(row, field.attname))
            if field.related_model is User
            else _cell(getattr(row, field.attname))
            for field in fields
        ]
        for row in rows
    ]
    return {"columns": [field.name for field in fields], "rows": cells}


def _cell(value: Any) -> Any:
    if isinstance(value, bytes | memoryview):
        return bytes(value).decode("latin-1")
    if isinstance(value, dt.datetime):
        return value.astimezone(dt.UTC).isoformat(timespec="seconds")
    return value if isinstance(value, int | dict | list | None) else str(value)


def _with_instants(value: Any) -> Any:
    """Return the ledger with its times as dates, which can be moved like all others."""
    if isinstance(value, float) and value > 1e9:
        return {"$t": dt.datetime.fromtimestamp(value, dt.UTC).isoformat()}
    if isinstance(value, dict):
        return {name: _with_instants(member) for name, member in value.items()}
    return [_with_instants(member) for member in value] if isinstance(value, list) else value
