"""The files of the product."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))
