"""The campaign in the tests: small before every merge, long each night, and verified by sabotage."""

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from tests.campaigns import campaign, holds
from tools.campaign.carriers import CHOICES, EASYPOST, Kind, read_easypost, read_shipstation
from tools.campaign.plan import STRIKES, draw
from tools.campaign.sabotage import IN_A_CAMPAIGN, ROOT, SABOTAGES, Sabotage, run


@pytest.mark.parametrize("carriers", CHOICES.values(), ids=CHOICES)
def test_the_same_seed_plans_the_same_faults(carriers: tuple[Kind, ...]) -> None:
    assert draw(5, 300, carriers) == draw(5, 300, carriers)
    assert draw(5, 300, carriers).digest == draw(5, 300, carriers).digest != draw(6, 300, carriers).digest
    rows = {row[:2] for row in [*STRIKES, *(row for kind in carriers for row in kind.strikes)]}
    assert {(strike.kind, strike.target) for strike in draw(5, 60, carriers).strikes} == rows
    assert {strike.kind for strike in draw(5, 20, carriers).strikes} == {"kill in call", "trouble"}


def test_a_campaign_with_another_carrier_has_another_plan() -> None:
    assert draw(5, 300, (EASYPOST,)).digest != draw(5, 300).digest


KEY = "11111111-2222-4333-8444-555555555555"
SHIPMENT = {"details": [{"status": "in_transit", "status_detail": "received_at_origin_facility", "datetime": "T1"}]}
EASYPOSTS = {"t": 1.0, "order_key": KEY, "reference": "9400", "id": "shp_1", "shipment": SHIPMENT}
LABEL = {"id": "se-1", "events": [{"status_code": "IT", "status_detail_code": "PICKED_UP", "occurred_at": "T1"}]}
SHIPSTATIONS = {"t": 1.0, "order_key": f"{KEY}.0a1b", "reference": "9400", "label": LABEL}
BOUGHT = {"amount": "7.10", "body_sha256": "aa"}
OF_IT = {"t": 1.0, "order_key": KEY, "reference": "9400"}


@pytest.mark.parametrize(
    ("read", "lines", "order_id", "word"),
    [
        (
            read_easypost,
            [{"effect": "created"}, {"effect": "bought", **BOUGHT}, {"effect": "scanned"},
             {"effect": "refund asked", "status": "submitted"}, {"effect": "refund ended", "status": "rejected"},
             {"effect": "refund ended", "status": "refunded"}],
            "shp_1", "received_at_origin_facility",
        ),
        (
            read_shipstation,
            [{"effect": "created"}, {"effect": "bought", **BOUGHT}, {"effect": "scanned"}, {"effect": "voided"}],
            "se-1", "picked_up",
        ),
    ],
    ids=["easypost", "shipstation"],
)  # fmt: skip
def test_each_carriers_ledger_is_read_into_one_format(
    read: Callable[..., Any], lines: list[dict[str, Any]], order_id: str, word: str
) -> None:
    common = EASYPOSTS if read is read_easypost else SHIPSTATIONS
    assert list(read([{**common, **line} for line in lines])) == [
        {"effect": "booked", **OF_IT, "order_id": order_id, **BOUGHT},
        {
            "effect": "scan", **OF_IT, "after_cancel": False,
            "scan": {"event_type": word, "scan_time": "T1", "progress": "collected"},
        },
        {"effect": "cancelled", **OF_IT, "by": "portal"},
    ]  # fmt: skip


@pytest.mark.parametrize("sabotage", SABOTAGES, ids=lambda sabotage: sabotage.name)
def test_every_sabotage_still_applies_to_the_code(sabotage: Sabotage) -> None:
    for file in {file for file, _, _ in sabotage.changes}:
        broken = (ROOT / file).read_text()
        for old, new in [change[1:] for change in sabotage.changes if change[0] == file]:
            assert broken.count(old) == 1
            assert old != new
            broken = broken.replace(old, new)
        # A name that no longer exists stops the campaign instead of breaking the portal.
        command = [sys.executable, "-m", "ruff", "check", "--isolated", "--select=F821", "--output-format=concise", "-"]
        done = subprocess.run(command, input=broken, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout


SMALL = ["--orders=40"]  # every kind of fault once
LONG = [["--seed=1", "--orders=400"], ["--seed=90210", "--orders=1000"]]


@pytest.mark.campaign
def test_a_small_campaign_of_faults_loses_no_parcel() -> None:
    holds(campaign("--seed=1", *SMALL))


@pytest.mark.campaign
def test_a_small_campaign_with_easypost_loses_no_parcel() -> None:
    holds(campaign("--seed=1", "--orders=20", "--carrier=easypost"))


CLASSES = [["--seed=2", "--orders=200", f"--carrier={name}"] for name in CHOICES if name != "interface"]


@pytest.mark.nightly
@pytest.mark.campaign
@pytest.mark.parametrize("options", [*LONG, ["--seed=2", "--orders=200", "--replays=off"], *CLASSES], ids=" ".join)
def test_a_long_campaign_of_faults_loses_no_parcel(say: Callable[[str], None], options: list[str]) -> None:
    done = campaign(*options)
    say(done.stdout)
    holds(done)


@pytest.mark.nightly
@pytest.mark.sabotage
@pytest.mark.parametrize("sabotage", IN_A_CAMPAIGN, ids=lambda sabotage: sabotage.name)
def test_the_campaign_notices_every_sabotage(sabotage: Sabotage) -> None:
    verdict = run(sabotage)
    assert verdict.is_caught, verdict.text
