"""A report of 20,000 lines is taken, read and posted in limited memory, measured in its own process."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.billing.conftest import line, summed

ROOT = Path(__file__).resolve().parents[2]
MOST_MB = 50
IMPORTS = r"""
import re, sys
from pathlib import Path
import django
django.setup()
from django.core.management import call_command

call_command("migrate", verbosity=0)
small, large = sys.argv[1:]

def peak():  # of this process alone; what getrusage tells begins at its parent's
    return int(re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())[1])

call_command("billing_import", small, "--post")  # what is loaded once is loaded now
before = peak()
call_command("billing_import", large, "--post")
after = peak()
from shipping_portal.billing.models import Charge
print(Charge.objects.posted().count(), (after - before) / 1024)
"""


def report(path: Path, lines: int) -> Path:
    rows = (line(f"S{lines}X{n}", f"{5 + n % 4000 / 100:.2f}", Measured_Weight="3.9") for n in range(lines))
    path.write_bytes(summed(*rows))
    return path


def growth(tmp_path: Path, lines: int) -> float:
    """Return how much importing this many lines raises the peak memory, in megabytes."""
    files = [report(tmp_path / "small.csv", 1000), report(tmp_path / "large.csv", lines)]
    env = {
        **os.environ,
        "DATABASE_URL": f"sqlite:///{tmp_path / 'portal.sqlite3'}",
        "DJANGO_SETTINGS_MODULE": "shipping_portal.settings",
    }
    done = subprocess.run(
        [sys.executable, "-c", IMPORTS, *map(str, files)], cwd=ROOT, env=env, capture_output=True, text=True,
        timeout=600, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    posted, megabytes = done.stdout.split()[-2:]
    assert int(posted) == 1000 + lines
    return float(megabytes)


@pytest.mark.nightly
def test_twenty_thousand_lines_are_imported_in_fifty_megabytes(tmp_path: Path) -> None:
    assert growth(tmp_path, 20_000) <= MOST_MB
