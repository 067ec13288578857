"""The facts of a page without its words: its rows, amounts, days and links."""

import re
from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher
from functools import cache
from html.parser import HTMLParser
from itertools import groupby
from typing import Any

from django.apps import apps

from orders.models.statuses import Progress, Status
from orders.status.status_labels import LABELS, NOT_CANCELLED
from shipping_portal.billing.pages import line_reasons
from tests.snapshots import week

# Each of these is one line, whatever is inside it.
ROWS = {"tr", "li", "dl"}
INLINE = {"a", "abbr", "b", "br", "button", "code", "em", "i", "img", "input", "label", "option", "select", "small"} | {
    "span", "strong", "svg", "textarea", "time", "use"
}  # fmt: skip
SILENT = {"script", "style", "template"}
TONES = {"ok", "warn", "bad", "on"}  # of a badge
RANDOM_NAMES = re.compile("csrfmiddlewaretoken|form_token|.*_FORMS")
HEX = re.compile(r"\b[0-9a-f]{16,64}\b")
FILTER = re.compile(r"<\?[^>]*>[\d ]*")
# Pages have one name for both, so that the name of either may change.
ALIKE = {"rejected": "not_booked", "order": "booking"}
MOST_OPTIONS = 60  # longer lists, such as the countries, are not counted

_MONTH = "(?:Jan|Feb|Mar|Apr|May|June?|July?|Aug|Sept?|Oct|Nov|Dec)[a-z]*"
_NAMES = "|".join(map(re.escape, [*week.NAMES, "Zoe Last", "Abe First", "Mia Middle", "Mug box", "Book", "Priya"]))
_PEOPLE = "|".join(map(re.escape, ["Quill & Co", "Bob's Bolts", "Bob Bolt", "Ben Bolt", "Sam Staff"]))
_PLACES = "|".join(sorted({suburb for suburb, _, _ in week.PLACES} | {"FITZROY", "PERTH", "Brunswick", "Hobart"}))
# What a page has from its rows, rather than from its template or from the names of a status.
FACT = re.compile(
    rf"""
    [-−+]?\$\d[\d,]*(?:\.\d+)?(?:\ [A-Z]{{3}}\b)?            # $4.13, −$10.11 AUD
    | [-−]?\b\d[\d,]*\.\d\d\ [A-Z]{{3}}\b                    # 13.08 AUD
    | [0-9a-f]{{8}}-[0-9a-f-]{{27}}
    | \d{{4}}-\d\d-\d\d(?:T[\d:.]+(?:Z|[+-]\d\d:\d\d)?)?     # 2026-12-31
    | \d{{4}}-W\d\d
    | (?:(?:Mon|Tues?|Wed|Thu|Fri|Sat|Sun)[a-z]*\ )?\b\d{{1,2}}\ {_MONTH}(?:\ \d{{4}})?
    | \b\d{{1,2}}:\d\d(?:\ [ap]m)?
    | [\w.+-]+@[\w.-]+\w
    | [\w-]+\.(?:csv|xlsx|pdf|png|zip)\b
    | (?:(?:{_NAMES}|Candles|[A-Z][.])\ )?\b[\w-]*(?:QQ|BB|NOBODY)[\w-]*  # a receiver, a reference
    | (?:Owner|Shipper|Bookkeeper|Viewer)\ Quill\b | {_PEOPLE}
    | (?:{_PLACES})(?:\ [A-Z]{{2,3}})?(?:\ \d{{4}})?
    | \b[A-Z]+-\d+\b
    | (?<![\w.-])[-−]?\d(?:[\d,.]*\d)?(?:\ (?:kg|cm|AUD|%))?
    """,
    re.VERBOSE,
)


class _Facts(HTMLParser):
    """The main part of a page: a line for each row, list item and block that has a fact."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[list[str]] = [[]]  # of cells
        self._main = self._silent = self._row = 0
        self._is_value = False  # whether the text is a row's, such as the name of its status
        self._select: tuple[str, list[str], list[str]] | None = None  # name, values, those chosen
        self._text = ""

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        held = {name: value or "" for name, value in attributes}
        classes = held.get("class", "").split()
        self._flush()
        self._main += tag == "main" or held.get("id") == "content"
        self._silent += tag in SILENT
        if tag in {"td", "th", "dd"} and self._row:
            self.lines[-1].append("")
        elif tag not in INLINE and not self._row:
            self.lines.append([])
        self._row += tag in ROWS
        self._is_value = (
            tag in {"td", "dd"}
            or bool({"badge", "readonly"} & {*classes})
            or (self._is_value and tag in {"svg", "use"})
        )
        self._element(tag, held, classes)

    def handle_endtag(self, tag: str) -> None:
        self._flush()
        if tag == "select" and self._select:
            name, values, chosen = self._select
            count = f" of {len(values)}" if len(values) < MOST_OPTIONS else ""
            self._add(f"[{name}={','.join(chosen)}{count}]")
            self._select = None
        self._silent -= tag in SILENT
        self._main -= tag == "main"
        self._row -= tag in ROWS and self._row > 0
        self._is_value = self._is_value and tag in {"svg", "use"}
        if tag not in INLINE and not self._row:
            self.lines.append([])

    def handle_data(self, data: str) -> None:
        self._text += data

    def _flush(self) -> None:
        text, self._text = " ".join(HEX.sub("", self._text).split()), ""
        if self._select is None:
            for fact in _of_text(text, is_value=self._is_value):
                self._add(fact)

    def _add(self, fact: str) -> None:
        if self._main and not self._silent and fact:
            cells = self.lines[-1] or [""]
            self.lines[-1] = [*cells[:-1], f"{cells[-1]} {fact}".strip()]

    def _element(self, tag: str, held: dict[str, str], classes: list[str]) -> None:
        name, value = held.get("name", ""), held.get("value", "")
        if tag == "select":
            self._select = (name, [], [])
        elif tag == "option" and self._select:
            self._select[1].append(value)
            self._select[2].extend([value] if "selected" in held else [])
        elif tag in {"input", "textarea", "button"} and name:
            chosen = "*" if "checked" in held else ""
            self._add("" if RANDOM_NAMES.fullmatch(name) else f"[{chosen}{name}={value}]")
        else:
            self._add(_of_element(tag, held, classes))


def _of_text(text: str, *, is_value: bool) -> list[str]:
    """Return the facts of a text. Where a row shows a status, the fact is its value, whatever it is called."""
    return [f"={_labels()[text]}"] if is_value and text in _labels() else FACT.findall(text)


def _of_element(tag: str, held: dict[str, str], classes: list[str]) -> str:
    """Return where an element links or posts to, the tone of a badge, or the anchor of a heading."""
    if tag == "a":
        return f"<{held.get('href', '')}>"
    if tag == "form" and not held.get("action", "").endswith("logout/"):
        return f"{held.get('method', 'get')} {held.get('action', '')}:"
    if tag == "button" and held.get("formaction"):
        return f"post {held['formaction']}:"
    if tag == "img" and held.get("alt") in {"True", "False"}:
        return held["alt"]
    if "badge" in classes:
        return f"({' '.join(name for name in classes if name in TONES)})"
    return f"#{held['id'].removesuffix('-title')}" if held.get("id", "").endswith("-title") else ""


@cache
def _labels() -> dict[str, str]:
    """Return the value behind each label of a choice: a row that shows another status shows another fact."""
    fields = [field for model in apps.get_models() for field in model._meta.concrete_fields if field.choices]
    found = {str(label): str(value) for field in fields for value, label in field.flatchoices}
    found |= {words: str(kind) for kind, (words, _) in line_reasons.NAMES.items()}
    found |= {str(label): value for value, label in [*Status.choices, *Progress.choices] if value}
    found |= {words: str(status) for status, words in LABELS.items()} | {NOT_CANCELLED: "cancel_refused"}
    return {label: ALIKE.get(value, value) for label, value in found.items()}


def facts_of(answer: Any) -> list[str]:
    """Return the facts of a page, CSV file or JSON file, one line for each row. Other responses have none."""
    kind = answer.get("Content-Type", "").partition(";")[0]
    if answer.status_code != 200 or kind not in {"text/html", "text/csv", "application/json"}:
        return []
    body = answer.getvalue().decode()
    if kind == "text/html":
        page = _Facts()
        page.feed(body)
        rows = page.lines
    else:
        heads, *filed = (line.strip('"').split('","') for line in body.splitlines() or [""])
        rows = [[" ".join(FACT.findall(" ".join(heads)))]]
        rows += [[" ".join(_of_text(cell, is_value=True)) for cell in cells] for cells in filed]
    lines = (" | ".join(cells).rstrip(" |") for cells in rows)
    return list(_with_filters_joined(line for line in lines if line.strip(" |")))


def _with_filters_joined(lines: Iterable[str]) -> Iterator[str]:
    """Join each filter beside an admin list into one line. It is only a link."""
    for are_filters, group in groupby(lines, key=lambda line: FILTER.fullmatch(line) is not None):
        found = list(group)
        yield from [" ".join(found)] if are_filters else found


def by_role(versions: dict[str, list[str]]) -> Iterator[str]:
    """Return the lines of all roles in one list. A line that only some roles see starts with their initials."""
    merged: list[tuple[str, str]] = []
    for role, lines in versions.items():
        merged = list(_merge(merged, lines, role[0]))
    every = "".join(role[0] for role in versions)
    yield f"== {', '.join(versions)}"
    for line, roles in merged:
        yield line if roles == every else f"{roles}: {line}"


def _merge(merged: list[tuple[str, str]], lines: list[str], initial: str) -> Iterator[tuple[str, str]]:
    for what, a, b, c, d in SequenceMatcher(None, [line for line, _ in merged], lines, autojunk=False).get_opcodes():
        if what == "equal":
            yield from ((line, roles + initial) for line, roles in merged[a:b])
        else:
            yield from merged[a:b]
            yield from ((line, initial) for line in lines[c:d])
