"""A version has the same number wherever it is written."""

import re
import tomllib
from pathlib import Path

from shipping_portal import VERSION

ROOT = Path(__file__).resolve().parents[2]
CHANGELOG = (ROOT / "CHANGELOG.md").read_text()


def test_the_package_and_the_changelog_name_the_same_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    found = [one for one in re.findall(r"^## (\S+)", CHANGELOG, re.MULTILINE) if one != "Unreleased"]
    assert [project["version"], *found[:1]] == [VERSION, VERSION]
    assert found == sorted(found, key=lambda one: [int(part) for part in one.split(".")], reverse=True)


def test_upgrade_steps_come_first_in_the_changelog() -> None:
    latest = CHANGELOG.partition(f"## {VERSION}")[2].partition("\n## ")[0]
    assert latest.partition("\n\n")[2].startswith("**Upgrade**")
