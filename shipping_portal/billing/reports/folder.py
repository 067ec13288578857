"""Take reports from a folder, such as an SFTP server's, as uploads without a user.

    REPORTS_FOLDER/               of the default account
        taking/ taken/ refused/   created here, in each folder
        OLD/                      of the account in SECOND_CARRIER, or one in OLDER_CARRIERS

A sweeper claims a file by moving it to `taking`, which only one of several can do. From there the
file goes to `taken`, or to `refused` with the reason next to it. A file that a crash left in
`taking` is processed again; because of its hash, a report is stored only once. Links aren't
followed.
"""

import datetime as dt
import logging
import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

from django.conf import settings

from orders.calling import carrier_settings, gateway
from orders.calling.carrier_settings import CarrierSettings
from shipping_portal.billing.models import BillingReport
from shipping_portal.billing.reports import uploads
from shipping_portal.billing.reports.reading import LARGEST
from shipping_portal.jobs.registry import chore
from shipping_portal.jobs.sweep import log_failures

logger = logging.getLogger(__name__)
TAKING, TAKEN, REFUSED = "taking", "taken", "refused"
UNFINISHED = (".part", ".filepart", ".tmp")
QUIET = dt.timedelta(minutes=1)  # a file that hasn't changed for this long is complete
GIVEN_UP = dt.timedelta(minutes=10)  # a process that claimed a file this long ago is gone
STUCK = dt.timedelta(minutes=30)
MOST = 20  # files per folder and round, so that the rest of the sweep doesn't wait long


@chore("reports folder", every=60)
def take_finished_files(now: dt.datetime) -> None:
    """Take the completed files."""
    for folder, configured in _account_folders():
        for file in islice(_finished_files(folder, now), MOST):
            # Another sweeper has it.
            with log_failures("reports folder"), suppress(FileNotFoundError):
                _take_file(file, folder, configured, now)


def why_unusable() -> str:
    """Return why files can't be taken, or "" if they can be or no folder is set."""
    for folder, _ in _account_folders():
        if os.path.isdir(folder) and not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
            return f"The portal can't read {folder} or move files in it."
    root = settings.REPORTS_FOLDER
    return (
        f"REPORTS_FOLDER is {root}, which isn't a folder."
        if root and not os.path.isdir(root)
        else ""
    )


def stuck_since(now: dt.datetime) -> list[dt.datetime]:
    """Return when the oldest overdue file arrived, even one in no account's folder."""
    own = [folder for folder, _ in _account_folders()]
    beside = (
        place
        for root in own[:1]
        for place in root.glob("[!.]*/")
        if place.name not in (TAKEN, REFUSED)
    )
    places = {*own, *(folder / TAKING for folder in own), *beside}
    return [at for place in places for _, at in _files_by_name(place) if at <= now - STUCK]


def _account_folders() -> Iterator[tuple[Path, CarrierSettings]]:
    """Yield each account's folder, existing or not; none if no folder is set."""
    if settings.REPORTS_FOLDER:
        root = Path(os.path.realpath(settings.REPORTS_FOLDER))
        for name in ("", *carrier_settings.further_names()):
            yield root / name, carrier_settings.settings_named(name)


def _finished_files(folder: Path, now: dt.datetime) -> Iterator[Path]:
    for place, quiet in ((folder, QUIET), (folder / TAKING, GIVEN_UP)):
        yield from (file for file, changed in _files_by_name(place) if changed <= now - quiet)


def _files_by_name(place: Path) -> list[tuple[Path, dt.datetime]]:
    """Return a folder's files, without links, by name, with when each was last changed or moved."""
    found = []
    is_listed = (
        os.path.isdir(place) and not os.path.islink(place) and os.access(place, os.R_OK | os.X_OK)
    )
    for name in sorted(os.listdir(place)) if is_listed else ():
        # Another sweeper has moved it.
        with suppress(OSError):
            facts = (place / name).lstat()
            if (
                stat.S_ISREG(facts.st_mode)
                and not name.startswith(".")
                and not name.lower().endswith(UNFINISHED)
            ):
                found.append((place / name, dt.datetime.fromtimestamp(facts.st_ctime, dt.UTC)))
    return found


def _take_file(file: Path, folder: Path, configured: CarrierSettings, now: dt.datetime) -> None:
    """Claim the file, store its content, and move it to its final folder.

    Raises FileNotFoundError if it is gone.
    """
    claimed = file
    if file.parent == folder:
        # The time makes each name unique.
        claimed = _place_for(folder, TAKING) / f"{now:%Y%m%dT%H%M%S%f}-{file.name}"
        file.rename(claimed)
    name = os.fsencode(claimed.name.partition("-")[2] or claimed.name).decode(errors="replace")
    try:
        report = uploads.store_report(
            gateway.account_of(configured),
            name,
            _read_content(claimed),
            by=None,
            now=now,
            keeps_refused=True,
        )
    except uploads.TakenBefore as known:
        report = known.report
    is_refused = report.state == BillingReport.State.DAMAGED
    ended = claimed.rename(_place_for(folder, REFUSED if is_refused else TAKEN) / claimed.name)
    facts = {"report": report.pk, "account": configured.prefix, "file": name}
    if not is_refused:
        logger.info("report_taken", extra=facts)
    else:
        logger.warning("report_refused", extra=facts)
        ended.with_name(f"{ended.name}.txt").write_text(f"{report.problems[0][1]}\n")


def _read_content(file: Path) -> bytes:
    """Return the file's bytes, reading at most one more than a report may have."""
    with open(
        file, "rb", opener=lambda path, flags: os.open(path, flags | os.O_NOFOLLOW)
    ) as content:
        return content.read(LARGEST + 1)


def _place_for(folder: Path, name: str) -> Path:
    (folder / name).mkdir(exist_ok=True)
    return folder / name
