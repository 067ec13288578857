"""The files of the product."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CODE = [
    path
    for folder in ("shipping_portal", "orders", "tracking")
    for path in (ROOT / folder).rglob("*.py")
    if "migrations" not in path.parts
]


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))
