"""Campaigns, run by tests."""

import subprocess
import sys

import pytest

from tools.campaign.sabotage import ROOT

PATIENCE_SECONDS = 2400  # a slow machine needs half of it


def campaign(*options: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "tools.campaign", *options]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False)


def holds(done: "subprocess.CompletedProcess[str]") -> None:
    """Fail if the campaign failed. The worst comes first, on its own lines, so a shortened log still shows it."""
    if done.returncode:
        said = done.stdout.splitlines()
        broken = [line for line in said if "BROKEN" in line or "VOID" in line or line.startswith("      ")]
        pytest.fail("\n".join([*broken, done.stderr[-3000:], done.stdout]), pytrace=False)
