"""The campaign as the tests have it: small at every landing, long each night, and proven by sabotage."""

import subprocess
import sys
from collections.abc import Callable

import pytest

from tests.campaigns import campaign, holds
from tools.campaign.plan import STRIKES, draw
from tools.campaign.sabotage import IN_A_CAMPAIGN, ROOT, SABOTAGES, Sabotage, run


def test_the_same_seed_plans_the_same_faults() -> None:
    assert draw(5, 300) == draw(5, 300)
    assert draw(5, 300).digest == draw(5, 300).digest != draw(6, 300).digest
    assert {(strike.kind, strike.target) for strike in draw(5, 60).strikes} == {row[:2] for row in STRIKES}


@pytest.mark.parametrize("sabotage", SABOTAGES, ids=lambda sabotage: sabotage.name)
def test_every_sabotage_still_fits_the_code(sabotage: Sabotage) -> None:
    for file in {file for file, _, _ in sabotage.changes}:
        broken = (ROOT / file).read_text()
        for old, new in [change[1:] for change in sabotage.changes if change[0] == file]:
            assert broken.count(old) == 1
            assert old != new
            broken = broken.replace(old, new)
        # A name that is not there any more stops the campaign instead of breaking the portal.
        command = [sys.executable, "-m", "ruff", "check", "--isolated", "--select=F821", "--output-format=concise", "-"]
        done = subprocess.run(command, input=broken, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout


SMALL = ["--orders=40"]  # every kind of fault once
LONG = [["--seed=1", "--orders=400"], ["--seed=90210", "--orders=1000"]]


@pytest.mark.campaign
def test_no_fault_of_a_small_campaign_costs_a_parcel() -> None:
    holds(campaign("--seed=1", *SMALL))


@pytest.mark.nightly
@pytest.mark.campaign
@pytest.mark.parametrize("options", [*LONG, ["--seed=2", "--orders=200", "--replays=off"]], ids=" ".join)
def test_no_fault_of_a_long_campaign_costs_a_parcel(say: Callable[[str], None], options: list[str]) -> None:
    done = campaign(*options)
    say(done.stdout)
    holds(done)


@pytest.mark.nightly
@pytest.mark.sabotage
@pytest.mark.parametrize("sabotage", IN_A_CAMPAIGN, ids=lambda sabotage: sabotage.name)
def test_the_campaign_notices_every_sabotage(sabotage: Sabotage) -> None:
    verdict = run(sabotage)
    assert verdict.is_caught, verdict.text
