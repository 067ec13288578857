"""B16: what a screen reader announces on eight pages matches the approved snapshots.

SNAPSHOTS=write saves the current output; read the diff before you commit it.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import Open, Stack
from tests.processes.portal import ROOT

pytestmark = pytest.mark.xdist_group("gallery")  # a second portal that has the gallery

KEPT = Path(__file__).parent / "snapshots"
PAGES = ["today", "parcels", "new_parcel", "quotes", "parcel", "cancel", "print_queue", "settings"]
SCRIPTED = {"print_queue": ["#bench-now dd.ref"], "new_parcel": ["#prices p"]}  # what a script adds, to wait for
MASKS = [
    (r"Prices checked .*", "Prices checked lately"),
    (r"[0-9a-f]{8}-[0-9a-f-]{27}", "UUID"),
    (r"\b(Mon|Tue|Wed|Thu|Fri|Sat|Sun)([a-z]*day)?\b", "DAY"),
    (r"\b(January|February|March|April|August|September|October|November|December)\b", "MONTH"),
    (r"\b(Jan|Feb|Mar|Apr|May|June?|July?|Aug|Sept?|Oct|Nov|Dec)\b", "MONTH"),
    (r"[0-9a-f]{64}", "SHA"),
    (r"typical-[0-9a-f]{6}@", "typical@"),
    (r"\b(just now|\d+ (second|minute)s?( ago)?)\b", "TIME"),
    (r"(?<!level=)\d+", "0"),
    (r"DAY 0 MONTH 0\b", "DAY 0 MONTH"),
    (r"0 MONTH–0 MONTH", "0–0 MONTH"),  # a week that ends in the next month
    (r"\b0(:0)? ?(am|pm)\b", "CLOCK"),
]


@pytest.fixture(scope="module")
def fresh(stack: Stack) -> Any:
    """An ordinary day that no other test has changed."""
    command = [sys.executable, "-m", "tests.browser.gallery", "typical"]
    done = subprocess.run(
        command, cwd=ROOT, env=stack.portal.env, capture_output=True, text=True, check=True, timeout=180
    )
    return json.loads(done.stdout.splitlines()[-1])["typical"]


def masked(snapshot: str) -> str:
    for pattern, word in MASKS:
        snapshot = re.sub(pattern, word, snapshot)
    return snapshot + "\n"


@pytest.mark.pdf_viewer
def test_b16_a_screen_reader_announces_what_was_approved(fresh: Any, open_browser: Open, stack: Stack) -> None:
    page = open_browser()
    page.context.add_cookies([{"name": "session", "value": fresh["cookie"], "url": stack.url}])
    changed = []
    for name in PAGES:
        page.goto(fresh["pages"][name])
        for script in SCRIPTED.get(name, ()):
            page.locator(script).wait_for()
        found, file = masked(page.locator("main").aria_snapshot()), KEPT / f"{name}.yaml"
        if os.environ.get("SNAPSHOTS") == "write":
            file.parent.mkdir(exist_ok=True)
            file.write_text(found)
        elif found != file.read_text():
            changed.append(f"{name}:\n{found}")
    assert not changed, "\n".join(changed)
