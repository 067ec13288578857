"""Put texts built from pairs of fillers into every field of a page, and measure the CPU time of the response.

Only this process's CPU time is measured, so other work on the machine doesn't count.
"""

import gc
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from itertools import product
from typing import Any
from urllib.parse import urljoin

from django.db import transaction
from django.test import Client

MOST_SECONDS = 0.7  # of CPU, on an idle machine
ALONE = 0.057  # seconds that `_work` takes there
BODY = 2_000_000  # characters of all fields together, just below what a form may have
LINE = 4_000  # of a URL: what a web server accepts as the first line of a request
PIECES = (
    *("a", "1", " ", "-", ".", ",", "/", "\n", "<", '"', "@", "é", "\u0301", "7000 ", "11-", "=", "\\", "://"),
    *("Unit ", "\t", "ﷺ", "0", "+61", "eyJ"),
)
FEW = ("a", "11-", "7000 ", " \n", "a@", "ﷺ")
TYPED = {"text", "search", "email", "tel", "password", "hidden", "number", "date", "url", "textarea", "select", "radio",
         "checkbox"}  # fmt: skip


@dataclass
class Form:
    """A form on a page: its URL, its values as loaded, and the fields somebody could type into."""

    action: str
    method: str
    values: dict[str, str] = field(default_factory=dict)
    typed: dict[str, int] = field(default_factory=dict)  # each with the most characters it says it takes
    files: list[str] = field(default_factory=list)


class _Forms(HTMLParser):
    def __init__(self, url: str) -> None:
        super().__init__()
        self.url, self.found, self.named = url, [], ""
        self.outside = Form(url, "post")  # fields that name their form, and pages whose script sends them
        self.now = self.outside

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = {key: value or "" for key, value in attributes}
        if tag == "form":
            self.now = Form(urljoin(self.url, given.get("action", "")), given.get("method", "get").lower())
            self.found.append(self.now)
        kind = given.get("type", "text") if tag == "input" else tag
        name = given.get("name", "")
        if not name or name == "csrfmiddlewaretoken":
            return
        if kind == "file":
            self.now.files.append(name)
        elif kind in TYPED:
            self.now.typed[name] = int(given.get("maxlength") or 255)
            if kind not in ("radio", "checkbox") or "checked" in given:
                self.now.values[name] = given.get("value", "")
            self.named = name if kind == "select" else ""
        elif kind == "submit" or tag == "button":
            self.now.values.setdefault(name, given.get("value", ""))

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attributes)

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self.now = self.outside


def forms_of(url: str, page: str) -> list[Form]:
    parser = _Forms(url)
    parser.feed(page)
    return [form for form in [*parser.found, parser.outside] if form.typed or form.files]


def fillers(pieces: tuple[str, ...]) -> list[str]:
    """Yield each piece and each pair, with the first of a pair also repeated, as in 11-."""
    pairs = [one + other for one, other in product(pieces, pieces) if one != other]
    return list(dict.fromkeys([*pieces, *pairs]))


def grown(filler: str, size: int, end: str = "!") -> str:
    return (filler * (size // len(filler) + 1))[: max(0, size - len(end))] + end


def _work() -> float:
    began = time.process_time()
    sum(at * at for at in range(1_000_000))
    return time.process_time() - began


def slowdown() -> float:
    """Return how much longer the same work takes now: other tests share the machine's caches and clock."""
    return max(1.0, min(_work() for _ in range(3)) / ALONE)


def seconds(ask: Callable[[], Any]) -> tuple[float, int]:
    """Return a response's CPU seconds, as on an idle machine, and its status; undo everything it did.

    Memory left by earlier tests is frozen, so the garbage collector skips it as in a web process.
    """
    with transaction.atomic():
        gc.freeze()
        began = time.process_time()
        status = ask().status_code
        took = time.process_time() - began
        transaction.set_rollback(True)
    return (took / slowdown() if took > MOST_SECONDS / 2 else took), status


def slowest(ask: Callable[[], Any]) -> tuple[float, int]:
    """Return the same, but run a slow request three times and count the fastest: the first may have loaded something."""
    found = seconds(ask)
    return found if found[0] < MOST_SECONDS else min(seconds(ask) for _ in range(3))


def bodies(form: Form, filler: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the bodies to send: all fields at their stated maximum, and at the maximum of a request."""
    whole = BODY if form.method == "post" else LINE
    each = whole // (len(form.typed) or 1) // len(filler.encode())
    yield "as long as it may be", {**form.values, **{name: grown(filler, most) for name, most in form.typed.items()}}
    yield "as long as a request", {**form.values, **{name: grown(filler, each) for name in form.typed}}


def single_bodies(form: Form, filler: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the unchanged form except for one field."""
    for name, most in form.typed.items():
        yield f"{name} alone", {**form.values, name: grown(filler, most)}
        size = (BODY if form.method == "post" else LINE) // len(filler.encode())
        yield f"{name} alone, doubled and doubled", {**form.values, name: grown(filler, size)}


def send(client: Client, form: Form, body: dict[str, str]) -> Any:
    client.raise_request_exception = False
    return client.post(form.action, body) if form.method == "post" else client.get(form.action, body)
