"""The register of contract points, and what the carrier itself says about some of them."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from orders.calling.contract import current_contract
from orders.models import CarrierCall
from shipping_portal.staff.carrier import listener
from tests import older
from tests.sandbox_carrier import SandboxCarrier


@pytest.fixture
def asked(tmp_path: Path, settings: Any, localities: None) -> Iterator[SandboxCarrier]:
    """A carrier that may also be called with a wrong key, which fails any other test."""
    with SandboxCarrier(tmp_path / "carrier", key=settings.CARRIER_KEY) as it:
        settings.CARRIER_BASE_URL = it.url
        yield it


def _lines(capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    """Return the printed lines by their first word."""
    lines = capsys.readouterr().out.splitlines()
    return {line.split(" ")[0]: line for line in lines if line.strip()}


def test_every_point_is_printed_with_its_basis_and_section(capsys: pytest.CaptureFixture[str]) -> None:
    call_command("carrier_contract")
    lines = _lines(capsys)
    assert {point.name for point in current_contract().points()} <= set(lines)
    assert "documented" in lines["partner_field"]
    assert "§2.1" in lines["partner_field"]
    assert "assumed" in lines["cancel"]


def test_points_set_by_the_contract_file_are_printed_as_overridden(
    contract: Callable[[str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    contract('cancel = "POST /orders/{id}/cancel"')
    call_command("carrier_contract")
    line = _lines(capsys)["cancel"]
    assert "overridden" in line
    assert "POST /orders/{id}/cancel" in line


def test_a_contract_file_that_cannot_be_used_says_why(contract: Callable[[str], None]) -> None:
    contract("canel = 1")
    with pytest.raises(CommandError, match="canel"):
        call_command("carrier_contract")


def test_probing_makes_only_free_calls(asked: SandboxCarrier, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("carrier_contract", "--probe")
    said = capsys.readouterr().out
    assert "yes       Our account is accepted" in said
    assert "yes       Another key is refused" in said
    assert "STANDARD-PICKUP" in said
    assert "yes       An unknown reference is not found" in said
    assert asked.ledger("booked") == []
    questions = {(request["operation"], request["authenticated"]) for request in asked.requests()}
    assert questions == {("ping", True), ("track", False), ("quote", True), ("track", True)}
    assert all("ShippingPortal/" in request["headers"]["user-agent"] for request in map(_lower, asked.requests()))


def test_probing_an_unreachable_carrier_says_so_and_fails(db: None, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(CommandError, match="4 of the carrier's answers"):
        call_command("carrier_contract", "--probe")
    assert "NO        Our account is accepted: NotSent" in capsys.readouterr().out


def test_probing_calls_nothing_the_contract_does_not_name(
    asked: SandboxCarrier, contract: Callable[[str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    contract('ping = ""')
    call_command("carrier_contract", "--probe")
    assert "not asked Our account is accepted" in capsys.readouterr().out


def test_the_listener_and_the_probe_use_an_unused_reference_in_the_contracts_format(
    asked: SandboxCarrier, contract: Callable[[str], None]
) -> None:
    contract('reference_shape = "[0-9]{12}"')
    assert json.loads(listener._test_body(current_contract()))["carrier_reference"] == "000000000000"
    call_command("carrier_contract", "--probe")
    tracked = {request["path"] for request in asked.requests() if request["operation"] == "track"}
    assert tracked == {"/tracking/000000000000"}


def test_an_older_account_is_printed_and_probed_under_its_own_settings(
    tmp_path: Path, localities: None, settings: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "older.toml"
    file.write_text('reference_shape = "[0-9]{12}"')
    with SandboxCarrier(tmp_path / "older", account="older-account", key=older.KEY) as carrier:
        account = older.named(settings, BASE_URL=carrier.url, CONTRACT=str(file))
        call_command("carrier_contract", "--probe", "--account", "OLD")
        said = capsys.readouterr().out
        assert "[0-9]{12}" in said
        assert "yes       Our account is accepted" in said
        assert "yes       Another key is refused" in said
        assert "CARRIER_OLD_PARTNER_ID" in said
        tracked = {request["path"] for request in carrier.requests() if request["operation"] == "track"}
        assert tracked == {"/tracking/000000000000"}
    assert set(CarrierCall.objects.values_list("account", flat=True)) == {account.pk}


def test_an_account_without_settings_is_not_probed(settings: Any) -> None:
    settings.OLDER_CARRIERS = {"OLD": older.described()}
    with pytest.raises(CommandError, match=r"ELDER is no carrier account here\. OLDER_CARRIERS names: OLD\."):
        call_command("carrier_contract", "--account", "ELDER")


def test_probing_names_the_fields_that_no_product_had(
    asked: SandboxCarrier, contract: Callable[[str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("carrier_contract", "--probe")
    assert "yes       Members of a product were found: 13 of 13\n" in capsys.readouterr().out
    contract('plan = "account.plan"\nquoted_cover = ""')
    call_command("carrier_contract", "--probe")
    assert "were found: 11 of 12; none had plan (account.plan)\n" in capsys.readouterr().out


def test_probing_needs_no_tables_and_no_complete_installation(tmp_path: Path, settings: Any) -> None:
    with SandboxCarrier(tmp_path / "carrier", key="a-key") as carrier:
        chosen = {
            "SECRET_KEY": "x" * 50,
            "DATABASE_URL": f"sqlite:///{tmp_path}/empty.sqlite3",
            "CARRIER_BASE_URL": carrier.url,
            "CARRIER_ACCOUNT": "demo-account",
            "CARRIER_KEY": "a-key",
            "CARRIER_PARTNER_ID": "PRT-0001",
            "CARRIER_CONTRACT": "",
        }
        said = subprocess.run(
            [sys.executable, "manage.py", "carrier_contract", "--probe"],
            cwd=settings.BASE_DIR,
            env={"PATH": os.environ["PATH"], **chosen},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    assert said.returncode == 0, said.stderr
    assert "yes       Products are offered with prices" in said.stdout
    assert "Traceback" not in said.stderr
    assert "could not take" not in said.stderr


def _lower(request: dict[str, Any]) -> dict[str, Any]:
    return {**request, "headers": {name.lower(): value for name, value in request["headers"].items()}}


def test_a_closed_account_is_not_probed(settings: Any) -> None:
    settings.OLDER_CARRIERS = {"OLD": older.described(KEY="")}
    with pytest.raises(CommandError, match="CARRIER_OLD_KEY is empty, so this account is closed"):
        call_command("carrier_contract", "--probe", "--account", "OLD")
