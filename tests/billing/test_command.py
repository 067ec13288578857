"""`billing_import` takes a file, prints its totals, and posts it only on request."""

from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from shipping_portal.accounts.models import Sender, User
from shipping_portal.billing.models import BillingReport, Charge
from shipping_portal.billing.reports import checking
from shipping_portal.jobs.models import PARK_AFTER
from tests import factories, older
from tests.billing.conftest import line, refund, summed, total, written

pytestmark = pytest.mark.django_db


@pytest.fixture
def run(tmp_path: Path, quill: Sender, alice: User) -> Any:
    factories.order(quill, alice, status="booked", carrier_reference="SQ7K2M")

    def command(content: bytes, *options: str) -> str:
        path = tmp_path / "billing-2026-11-23.csv"
        path.write_bytes(content)
        found = StringIO()
        call_command("billing_import", str(path), *options, stdout=found)
        return found.getvalue()

    return command


def test_a_dry_run_prints_the_totals_by_kind_and_posts_nothing(run: Any) -> None:
    found = run(summed(line("SQ7K2M"), refund("SQ7K2M", "4.00", Refund_Reason="Delay")))
    assert "Refund for delay" in found
    assert "8.08 AUD, stated 8.08" in found
    assert not Charge.objects.posted().exists()


def test_on_request_it_posts_and_a_second_run_changes_nothing(run: Any) -> None:
    content = summed(line("SQ7K2M"))
    assert "Posted." in run(content, "--post", "--week", "2026-W46")
    before = list(Charge.objects.values_list())
    assert "already" in run(content, "--post")
    assert list(Charge.objects.values_list()) == before
    assert BillingReport.objects.get().week.isoformat() == "2026-11-09"


def test_a_dry_run_can_be_posted_by_a_second_run(run: Any) -> None:
    run(summed(line("SQ7K2M")))
    run(summed(line("SQ7K2M")), "--post")
    assert Charge.objects.posted().count() == 1


def test_a_report_that_ends_as_a_dead_letter_ends_the_command_with_its_error(
    run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(checking, "_finish_reading", broken)
    with pytest.raises(ZeroDivisionError):
        run(summed(line("SQ7K2M")))
    BillingReport.objects.update(failures=PARK_AFTER, due_at=timezone.now())
    with pytest.raises(CommandError, match="failed 5 times in a row: ZeroDivisionError at"):
        run(summed(line("SQ7K2M")))


def test_a_report_out_of_balance_is_refused_by_name(run: Any) -> None:
    with pytest.raises(CommandError, match=r"off by 1\.00"):
        run(written(line("SQ7K2M"), total("11.08")), "--post")


def test_a_report_can_be_imported_for_an_older_account(run: Any, settings: Any) -> None:
    account = older.named(settings)
    run(summed(line("SQ7K2M")), "--account", "OLD")
    assert BillingReport.objects.get().account == account
    with pytest.raises(CommandError, match="OLDER_CARRIERS names: OLD"):
        run(summed(line("SQ7K2M")), "--account", "ELDER")


def test_the_total_can_be_given_as_an_option(run: Any) -> None:
    assert "Posted." in run(written(line("SQ7K2M")), "--post", "--total", "AUD=12.08")


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        (b"", [], "empty"),
        (b"nothing,like,it\n", [], "no column"),
        (summed(line("SQ7K2M")), ["--week", "soon"], "isn't a week"),
        (summed(line("SQ7K2M")), ["--total", "AUD"], "Write a total like"),
    ],
)
def test_an_unusable_file_is_refused_with_a_reason(run: Any, content: bytes, options: list[str], message: str) -> None:
    with pytest.raises(CommandError, match=message):
        run(content, *options)


def test_a_missing_file_is_reported(run: Any) -> None:
    with pytest.raises(CommandError, match="No such file"):
        call_command("billing_import", "nowhere.csv")
