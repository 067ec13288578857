"""What a page says, as lines of text that a person reads and a test compares."""

import difflib
import os
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from django.apps import apps

# These stand beside what they follow; with any other tag a new line begins.
INLINE = {"a", "abbr", "b", "br", "button", "code", "em", "i", "img", "input", "kbd", "label", "optgroup", "option"} | {
    "select",
    "small",
    "span",
    "strong",
    "td",
    "textarea",
    "th",
    "time",
}
SILENT = {"script", "style", "svg", "template"}
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
HEX = re.compile(r"\b[0-9a-f]{32}\b")
MANY = 60  # options: of a longer list, such as the countries, only what is chosen is told
HIDDEN_NAMES = {"csrfmiddlewaretoken", "form_token"}


HERE = Path(__file__).parent


class _Lines(HTMLParser):
    """The main part of a page: its words, where its links lead, and what its controls hold."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = [""]
        self._depth = self._silent = self._options = self._options_at = 0

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attributes}
        if tag == "main" or found.get("id") == "content":
            self._depth += 1
        self._silent += tag in SILENT
        if tag not in INLINE:
            self.lines.append("")
        if tag == "select":
            self._options, self._options_at = 0, len(self.lines[-1])
        self._options += tag == "option"
        self.lines[-1] += {"td": " | ", "th": " | ", "br": " / "}.get(tag, "")
        self.handle_data(f" {self._control(tag, found)} ")

    def handle_endtag(self, tag: str) -> None:
        if tag == "select" and self._options > MANY:
            before, options = self.lines[-1][: self._options_at], self.lines[-1][self._options_at :]
            self.lines[-1] = before + " ".join(re.findall(r"\(\*[^)]*\)[^(]*", options))
        self._silent -= tag in SILENT
        if tag == "main":
            self._depth -= 1
        if tag not in INLINE:
            self.lines.append("")

    def handle_data(self, data: str) -> None:
        if self._depth and not self._silent:
            self.lines[-1] += data

    def _control(self, tag: str, found: dict[str, str]) -> str:
        name = found.get("name", "")
        if name in HIDDEN_NAMES:
            return ""
        chosen = "*" if {"checked", "selected"} & found.keys() else ""
        if tag in {"input", "textarea", "button"}:
            return f"[{chosen}{found.get('type', tag)} {name}={found.get('value', '')}]"
        return {
            "a": f"<{found.get('href', '')}>",
            "img": found.get("alt", ""),
            "form": f"{found.get('method', 'get')} {found.get('action', '')}:",
            "option": f"({chosen}{found.get('value', '')})",
            "time": f"@{found.get('datetime', '')}",
        }.get(tag, "")


def lines_of(answer: Any) -> list[str]:
    """The lines of a page, or of a text file; of any other file its type alone."""
    if answer.status_code != 200:
        return [f"{answer.status_code} {answer.get('Location', '')}".strip()]
    kind = answer["Content-Type"].partition(";")[0]
    body = answer.getvalue()
    if kind == "text/html":
        page = _Lines()
        page.feed(body.decode())
        lines = page.lines
    else:
        lines = [kind, *(body.decode().splitlines() if kind in {"text/csv", "application/json"} else [])]
    return [words for words in (" ".join(line.split()) for line in lines) if words.strip(" |")]


def named(lines: list[str]) -> Iterator[str]:
    """The same lines with a name in place of each random identifier."""
    names = dict(_names())
    for line in lines:
        yield HEX.sub("{random}", UUID.sub(lambda found: names.get(found[0], "{random}"), line))


def _names() -> Iterator[tuple[str, str]]:
    for model in apps.get_models():
        for field in model._meta.concrete_fields:
            if field.get_internal_type() == "UUIDField":
                values = model._default_manager.order_by("pk").values_list(field.attname, flat=True)
                for number, value in enumerate(values, 1):
                    yield str(value), f"{{{model._meta.model_name} {number}}}"


def compare(name: str, lines: list[str]) -> None:
    """Fail with what is told otherwise than in `expected/`; where TELL is set, write it there. Nothing has no file."""
    path = HERE / "expected" / f"{name}.txt"
    if os.environ.get("TELL") and lines:
        path.parent.mkdir(exist_ok=True)
        path.write_text("\n".join(lines) + "\n")
    expected = path.read_text().splitlines() if path.exists() else []
    changed = list(difflib.unified_diff(expected, lines, "expected", "told", lineterm="", n=1))
    assert not changed, "\n".join(changed)
