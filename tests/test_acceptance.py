"""docs/checks.md names a test for every acceptance check, and all these tests exist."""

import re

from tests.product_files import ROOT

ROWS = [line.split("|")[1:4] for line in (ROOT / "docs/checks.md").read_text().splitlines() if line.startswith("|")][2:]
CHECKS = {"B": 17, "P": 9, "J": 11, "R": 17, "A": 3, "T": 2}


def test_every_check_is_listed_once() -> None:
    listed = [check.strip() for row in ROWS for check in row[0].split(",")]
    assert sorted(listed) == sorted(f"{kind}{n + 1}" for kind, most in CHECKS.items() for n in range(most))


def test_every_named_test_exists() -> None:
    code = "\n".join(path.read_text() for path in (ROOT / "tests").rglob("test_*.py"))
    there = set(re.findall(r"^def (test_\w+)", code, re.MULTILINE))
    for checks, _, shown_by in ROWS:
        named = set(re.findall(r"`(test_\w+)`", shown_by))
        assert named - there == set(), checks
        assert named or "open_browser" in shown_by, checks
