"""The database of a demo: made once, and used again while the code that made it is the same."""

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tools.dev.demo_settings import Env
from tools.dev.environment import ROOT, VENV
from tools.dev.processes import ChildProcesses
from tools.dev.programs import manage_py, module
from tools.dev.steps import begin_step

STEP = " ..."  # ends a line that says what `manage.py demo` does next
AFTER_THE_TABLES = "Importing the carrier's places ..."


def prepare_database(
    folder: Path, children: ChildProcesses, settings: Env, carrier: str, has_tables: Callable[[], None]
) -> Any:
    """Make the demo's tables, people and history, or bring them up to date. Return its people by what they do.

    `has_tables` is called as soon as there are tables.
    """
    stamp = folder / "prepared.json"
    stamp.unlink(missing_ok=True)
    command = [*manage_py("demo --json --migrate"), *history_options(folder, children, carrier)]
    begin_step("Starting Django")
    for line in children.follow("demo", command):
        if line.endswith(STEP):
            begin_step(line.removesuffix(STEP))
        if line == AFTER_THE_TABLES:
            has_tables()
    people = json.loads(line)
    (folder / "migrations.json").write_text(json.dumps(migration_digests()))
    stamp.write_text(json.dumps({"by": code_digest(settings), "people": people}))
    return people


def prepared_people(folder: Path, settings: Env) -> Any:
    """Return the demo's people, or None unless this very code prepared the database for a carrier at this address.

    If it did, a second start needs no preparation.
    """
    stamp = folder / "prepared.json"
    both_exist = stamp.exists() and (folder / "portal.sqlite3").exists()
    prepared = json.loads(stamp.read_text()) if both_exist else {}
    return prepared["people"] if prepared.get("by") == code_digest(settings) else None


def code_digest(settings: Env) -> str:
    """Return a digest of what a demo is made from: the portal's files, the packages, the carrier's address."""
    folders = [ROOT / name for name in ("shipping_portal", "orders", "tracking")]
    files = sorted(file for folder in folders for file in folder.rglob("*") if file.suffix in {".py", ".csv", ".xz"})
    whole = hashlib.sha256(settings["CARRIER_BASE_URL"].encode())
    for file in [VENV / "installed.txt", *files]:
        whole.update(f"{file}\n".encode() + file.read_bytes())
    return whole.hexdigest()


def history_options(folder: Path, children: ChildProcesses, carrier: str) -> list[str]:
    """Return the options for a month of history, which only the default sandbox has, and for its places.

    The other sandboxes have prices from the USA, so their demo's sender is there.
    """
    if "CARRIER_BASE_URL" in os.environ:
        return []
    if carrier != "interface":
        return ["--country=US"]
    begin_step("Reading the carrier's places")
    places = folder / "places.csv"
    places.write_text(children.check_output("places", module("shipping_portal.sandbox.places")), encoding="utf-8")
    return [f"--places={places}", f"--carrier-state={folder / 'sandbox'}"]


def migration_digests() -> Env:
    """Return each migration of this clone with its sha256."""
    files = [*ROOT.glob("*/migrations/0*.py"), *ROOT.glob("*/*/migrations/0*.py")]
    return {str(file.relative_to(ROOT)): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def move_outdated_demo(folder: Path) -> None:
    """Move a demo whose migrations have changed, with its carrier's files, to the folder `replaced`.

    Django checks only whether a migration of that name was applied, so it would take the old tables for the new.
    """
    stamp, old = folder / "migrations.json", folder / "replaced"
    applied = json.loads(stamp.read_text()) if stamp.exists() else {"before there was a stamp": ""}
    if not (folder / "portal.sqlite3").exists() or applied.items() <= migration_digests().items():
        return
    print(f"This demo was made by another version, so a new one is made. The old one is in {old}", flush=True)
    shutil.rmtree(old, ignore_errors=True)
    old.mkdir(mode=0o700)
    for path in [*folder.glob("portal.sqlite3*"), *folder.glob("sandbox*"), folder / "mail"]:
        if path.exists():
            path.rename(old / path.name)
