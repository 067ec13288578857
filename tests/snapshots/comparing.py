"""Compare lines of text with a file in `expected/`, or write it."""

import difflib
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from django.apps import apps

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
HEX = re.compile(r"\b[0-9a-f]{32}\b")
TOKEN = re.compile(r"\bportal_[\w-]{4}(?![\w-])")  # the first letters of one
HERE = Path(__file__).parent


def named(lines: list[str], names: Mapping[str, str] | None = None) -> Iterator[str]:
    """Yield the same lines with a name in place of each random identifier."""
    names = dict(names_of_rows()) if names is None else names
    for line in lines:
        yield HEX.sub("{random}", UUID.sub(lambda found: names.get(found[0], "{random}"), line))


def names_of_rows() -> Iterator[tuple[str, str]]:
    for model in apps.get_models():
        for field in model._meta.concrete_fields:
            if field.get_internal_type() == "UUIDField":
                values = model._default_manager.order_by("pk").values_list(field.attname, flat=True)
                for number, value in enumerate(values, 1):
                    yield str(value), f"{{{model._meta.model_name} {number}}}"


def compare(name: str, lines: list[str]) -> None:
    """Fail with the differences from `expected/`, or write it if UPDATE_EXPECTED is set. No lines, no file."""
    lines = [TOKEN.sub("portal_{random}", line) for line in lines]
    path = HERE / "expected" / f"{name}.txt"
    if os.environ.get("UPDATE_EXPECTED") and lines:
        path.parent.mkdir(exist_ok=True)
        path.write_text("\n".join(lines) + "\n")
    expected = path.read_text().splitlines() if path.exists() else []
    changed = list(difflib.unified_diff(expected, lines, "expected", "now", lineterm="", n=1))
    assert not changed, "\n".join(changed)
