"""Reports left in REPORTS_FOLDER: each is taken once, by one sweeper. None is lost, stuck or silently refused."""

import datetime as dt
import logging
import os
from collections.abc import Callable
from pathlib import Path
from threading import Barrier, Thread
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from orders.calling import gateway
from shipping_portal.billing.models import BillingReport
from shipping_portal.billing.reports import checking, folder, reading, uploads
from shipping_portal.ops import checks
from shipping_portal.staff.alerts import conditions
from tests import older
from tests.billing.conftest import line, summed

pytestmark = pytest.mark.django_db
MINUTE = dt.timedelta(minutes=1)
NAME = "billing-2026-11-23.csv"
REPORT = summed(line("SQ7K2M"))
Left = Callable[..., Path]


@pytest.fixture
def root(tmp_path: Path, settings: Any) -> Path:
    settings.REPORTS_FOLDER = str(tmp_path)
    return tmp_path


@pytest.fixture
def left(root: Path) -> Left:
    """`left()` puts another file in the folder."""

    def leave(name: str = NAME, content: bytes = REPORT) -> Path:
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_bytes(content)
        return root / name

    return leave


def look(minutes: float = 2) -> None:
    """Look in the folder, this many minutes from now."""
    folder.take_finished_files(timezone.now() + minutes * MINUTE)


def there(root: Path) -> dict[str, list[str]]:
    """Return the names of all files by folder, without the time and claim at their start."""
    found: dict[str, list[str]] = {}
    for path in sorted(path for path in root.rglob("*") if path.is_file()):
        place = str(path.parent.relative_to(root))
        found.setdefault(place, []).append(path.name if place in (".", "OLD") else path.name.partition("-")[2])
    return {place: sorted(names) for place, names in found.items()}


def test_a_finished_file_is_taken_as_if_it_were_uploaded(
    root: Path, left: Left, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "shipping_portal.billing.reports.folder")
    left()
    look()
    report = BillingReport.objects.get()
    assert (report.account, report.name, report.week) == (gateway.current_account(), NAME, dt.date(2026, 11, 16))
    assert bytes(report.file.content) == REPORT
    assert there(root) == {"taken": [NAME]}
    assert [(it.getMessage(), it.__dict__["report"]) for it in caplog.records] == [("report_taken", report.pk)]
    BillingReport.objects.update(due_at=timezone.now())
    checking.read_due_report(report.pk)
    report.refresh_from_db()
    assert report.state == "checked"


@pytest.mark.parametrize(
    ("name", "minutes"),
    [(NAME, 0.9), (f".{NAME}", 60), (f"{NAME}.part", 60), (f"{NAME}.filepart", 60), (f"{NAME}.TMP", 60)],
)
def test_a_file_that_may_still_be_written_is_left_alone(root: Path, left: Left, name: str, minutes: float) -> None:
    file = left(name)
    os.utime(file, (0, 0))  # its sender may set the original's time before the end
    look(minutes)
    assert (list(BillingReport.objects.all()), file.read_bytes()) == ([], REPORT)
    file.unlink()


def test_links_and_folders_within_folders_are_not_followed(root: Path, left: Left, tmp_path_factory: Any) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / f"20261124T000000-{NAME}").write_bytes(REPORT)
    (root / NAME).symlink_to(elsewhere / f"20261124T000000-{NAME}")
    (root / "taking").symlink_to(elsewhere)
    (root / "within").mkdir()
    left(f"within/{NAME}")
    os.mkfifo(root / "pipe.csv")
    look(60)
    assert not BillingReport.objects.exists()
    assert len(list(elsewhere.iterdir())) == 1


def test_a_link_that_replaced_a_file_is_not_read(root: Path, left: Left, tmp_path_factory: Any) -> None:
    secret = tmp_path_factory.mktemp("elsewhere") / "secret"
    secret.write_bytes(REPORT)
    (root / NAME).symlink_to(secret)
    with pytest.raises(OSError, match="symbolic links"):
        folder._read_content(root / NAME)


def test_without_a_folder_there_is_nothing_to_do(settings: Any) -> None:
    settings.REPORTS_FOLDER = ""
    look()
    assert (
        folder.why_unusable(),
        folder.stuck_since(timezone.now()),
        conditions.present_conditions(timezone.now()),
    ) == ("", [], [])


# -- Once, by any process and after any failure ---------------------------------------------------


def test_two_sweepers_that_see_the_same_file_take_it_once(
    root: Path, left: Left, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    seen, inner = [], folder._files_by_name

    def overtaken(place: Path) -> Any:
        found = inner(place)
        if place == root and not seen:
            seen.append(place)
            look()  # the other one, between our looking and our claim
        return found

    left()
    monkeypatch.setattr(folder, "_files_by_name", overtaken)
    look()
    assert BillingReport.objects.count() == 1
    assert there(root) == {"taken": [NAME]}
    assert "sweep_failed" not in caplog.text


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_four_sweepers_at_once_take_each_of_ten_files_once(root: Path, left: Left) -> None:
    gateway.current_account()
    names = [left(f"{number}.csv", summed(line(f"SQ7K{number}"))).name for number in range(10)]
    begin = Barrier(4)

    def sweeper() -> None:
        begin.wait()
        look()
        connection.close()

    threads = [Thread(target=sweeper) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert there(root) == {"taken": sorted(names)}
    assert sorted(BillingReport.objects.values_list("name", flat=True)) == sorted(names)


@pytest.mark.parametrize("is_committed", [False, True])
def test_a_file_left_behind_by_a_crash_is_taken_again_and_counts_once(
    root: Path, left: Left, monkeypatch: pytest.MonkeyPatch, is_committed: bool
) -> None:
    """The sweeper is killed after its claim, or after its commit."""
    inner = uploads.store_report

    class Killed(BaseException):
        pass

    def killed(*args: Any, **more: Any) -> None:
        if is_committed:
            inner(*args, **more)
        raise Killed

    left()
    with monkeypatch.context() as broken:
        broken.setattr(uploads, "store_report", killed)
        with pytest.raises(Killed):
            look()
    assert there(root)["taking"] == [NAME]
    look(9)
    assert there(root)["taking"] == [NAME]
    look(11)
    assert there(root) == {"taken": [NAME]}
    assert [report.name for report in BillingReport.objects.all()] == [NAME]
    for file in (root / "taken").iterdir():
        file.unlink()


def test_an_unreadable_file_does_not_stop_the_others(
    root: Path, left: Left, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    inner = folder._read_content

    def forbidden(file: Path) -> bytes:
        if file.name.endswith("-a.csv"):
            raise PermissionError
        return inner(file)

    monkeypatch.setattr(folder, "_read_content", forbidden)
    left("a.csv")
    left("b.csv")
    look()
    assert there(root) == {"taken": ["b.csv"], "taking": ["a.csv"]}
    assert "sweep_failed" in caplog.text


def test_a_repeated_file_and_one_with_the_same_name_both_end_up_in_taken(root: Path, left: Left) -> None:
    for content in (REPORT, REPORT, summed(line("SB4N8X"))):
        left(NAME, content)
        look()
    assert there(root) == {"taken": [NAME] * 3}
    assert BillingReport.objects.count() == 2


def test_bytes_that_cannot_be_read_in_a_name_are_replaced(root: Path, left: Left) -> None:
    left(os.fsdecode(b"b\xfcro.csv"))
    look()
    assert BillingReport.objects.get().name == "b\N{REPLACEMENT CHARACTER}ro.csv"


# -- Whose it is ------------------------------------------------------------------------------------


def test_a_folder_named_after_an_older_account_is_for_that_account(root: Path, left: Left, settings: Any) -> None:
    account = older.named(settings)
    left(f"OLD/{NAME}")
    left("taken-too.csv")
    look()
    assert dict(BillingReport.objects.values_list("name", "account")) == {
        NAME: account.pk,
        "taken-too.csv": gateway.current_account().pk,
    }
    assert there(root) == {"OLD/taken": [NAME], "taken": ["taken-too.csv"]}


# -- What is refused --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "The file is empty."),
        (
            b"Type,Price\r\nOrder,1\r\n",
            "The file has no column “Reference”, “Currency”. Its first line is “Type,Price”.",
        ),
        (b"\x89PNG\r\n", "The file has no column “Type”, “Reference”, “Price”, “Currency”."),
        (REPORT * 3, reading.TOO_MUCH),
    ],
    ids=["empty", "columns", "a picture", "too large"],
)
def test_a_refused_file_is_a_damaged_report_with_its_reason_in_a_file_too(
    root: Path, left: Left, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, content: bytes, why: str
) -> None:
    monkeypatch.setattr(reading, "LARGEST", len(REPORT))
    monkeypatch.setattr(folder, "LARGEST", len(REPORT))
    caplog.clear()
    left(NAME, content)
    look()
    report = BillingReport.objects.get()
    assert (report.state, report.due_at, report.problems) == ("damaged", None, [[1, why]])
    assert there(root) == {"refused": [NAME, f"{NAME}.txt"]}
    assert [file.read_text() for file in (root / "refused").glob("*.txt")] == [f"{why}\n"]
    assert [(it.levelname, it.getMessage()) for it in caplog.records] == [("WARNING", "report_refused")]
    checking.read_report_again(report, now=timezone.now())  # pressing it changes nothing more
    checking.read_due_report(report.pk)
    report.refresh_from_db()
    assert (report.state, report.problems) == ("damaged", [[1, why]])
    for file in (root / "refused").iterdir():
        file.unlink()


def test_a_refused_file_that_comes_again_is_not_a_second_report(root: Path, left: Left) -> None:
    for _ in range(2):
        left(NAME, b"nothing of a report")
        look()
    assert BillingReport.objects.count() == 1
    assert there(root) == {"refused": sorted([NAME, f"{NAME}.txt"] * 2)}


# -- What keeps files from being taken ---------------------------------------------------------------


@pytest.fixture
def recorded() -> Callable[[float], list[tuple[str, str, int]]]:
    """`recorded(minutes)` is what alerts say about the folder that many minutes from now."""

    def present(minutes: float) -> list[tuple[str, str, int]]:
        found = conditions.present_conditions(timezone.now() + minutes * MINUTE)
        return [(it.title, it.next_step, it.count) for it in found if it.name == "reports-folder"]

    return present


def test_a_check_and_an_alert_name_a_missing_folder(
    settings: Any, tmp_path: Path, recorded: Callable[[float], list[Any]]
) -> None:
    settings.REPORTS_FOLDER = str(tmp_path / "gone")
    why = f"REPORTS_FOLDER is {tmp_path}/gone, which isn't a folder."
    assert [(it.id, it.msg) for it in checks.check_reports_folder()] == [("portal.W012", why)]
    assert recorded(0) == [("Billing reports stuck in their folder", why, 1)]
    look()


@pytest.mark.parametrize("name", ["", "OLD"])
def test_a_check_and_an_alert_name_a_folder_the_portal_cannot_change(
    root: Path, settings: Any, monkeypatch: pytest.MonkeyPatch, recorded: Callable[[float], list[Any]], name: str
) -> None:
    older.named(settings)
    (root / "OLD").mkdir(exist_ok=True)
    inner = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != root / name and inner(path, mode))
    why = f"The portal can't read {root / name} or move files in it."
    assert [it.msg for it in checks.check_reports_folder()] == [why]
    assert recorded(0) == [("Billing reports stuck in their folder", why, 1)]
    monkeypatch.undo()


@pytest.mark.parametrize("name", [NAME, f"UNKNOWN/{NAME}", f"taking/20261124T000000-{NAME}"])
def test_a_stuck_file_is_reported_after_half_an_hour(
    root: Path, left: Left, recorded: Callable[[float], list[Any]], name: str
) -> None:
    file = left(name)
    assert recorded(29) == []
    [(title, step, count)] = recorded(31)
    assert (title, count) == ("Billing reports stuck in their folder", 1)
    assert "named after an account" in step
    file.unlink()


def test_a_problem_that_ended_is_no_longer_reported(
    root: Path, left: Left, recorded: Callable[[float], list[Any]]
) -> None:
    left()
    left("other.csv", b"nothing of a report")
    look()
    assert recorded(60) == []
    assert list(checks.check_reports_folder()) == []
