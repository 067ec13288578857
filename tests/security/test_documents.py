"""docs/security describes what the code really does."""

import json
import os
import re
from collections.abc import Callable

import pytest
from django.conf import settings

from shipping_portal.accounts.login import sessions
from shipping_portal.jobs import retention
from shipping_portal.jobs.personal_data import HELD
from tests.security import data_classes
from tests.security.asvs import ATTACKS, DEVIATION, ROWS, asvs, is_there
from tests.security.documents import DOCUMENTS, ROOT

ALL = DOCUMENTS | {"asvs.md": asvs}


@pytest.mark.parametrize(("name", "make"), ALL.items(), ids=list(ALL))
def test_each_document_matches_the_code(name: str, make: Callable[[], str]) -> None:
    path = ROOT / "docs/security" / name
    if os.environ.get("UPDATE_EXPECTED"):
        path.write_text(make())
    assert path.read_text() == make(), f"UPDATE_EXPECTED=1 ./dev test tests/security writes {name} anew"


def test_the_bill_of_materials_names_every_package_of_the_lock() -> None:
    lock = (ROOT / "requirements/production.txt").read_text()
    listed = json.loads(DOCUMENTS["sbom.json"]())["components"]
    assert [part["name"] for part in listed] == re.findall(r"^([\w.-]+)==", lock, re.MULTILINE)
    assert len(listed) > 20


def test_the_deviations_state_the_real_session_lengths() -> None:
    text = (ROOT / "docs/security/deviations.md").read_text()
    hours, days = settings.SESSION_COOKIE_AGE // 3600, settings.ACCOUNT_SESSION_COOKIE_AGE // 86400
    assert f"Senders: {hours} hours, or {days} days" in text
    assert (
        f"Operators: {sessions.STAFF_IDLE_SECONDS // 60} minutes idle, {sessions.STAFF_SECONDS // 3600} hours" in text
    )


def test_the_evidence_of_each_asvs_row_exists() -> None:
    assert len(ROWS) == 78
    missing = [one for *_, evidence in ROWS for one in evidence if not is_there(one)]
    assert missing == []
    assert all(evidence for *_, evidence in ROWS)


def test_each_asvs_row_names_a_different_attack() -> None:
    assert [*ATTACKS] == [re.split("[,-]", numbers)[0] for numbers, *_ in ROWS]
    assert len({*ATTACKS.values()}) == len(ROWS)


def test_the_asvs_deviations_are_exactly_the_documented_ones() -> None:
    text = (ROOT / DEVIATION).read_text()
    written = {number for cell in re.findall(r"^\| (\d[\d., ]*) \|", text, re.MULTILINE) for number in cell.split(", ")}
    named = {number for numbers, *_, evidence in ROWS for number in numbers.split(", ") if DEVIATION in evidence}
    beyond_the_list = {"5.4.3", "13.2.1", "16.4.3"}
    assert beyond_the_list < written
    assert written - beyond_the_list <= named
    whole = [numbers for numbers, *_, evidence in ROWS if evidence[0] == DEVIATION]
    assert all(numbers.split(", ")[0] in written for numbers in whole)


def test_every_column_is_exactly_one_of_personal_secret_money_or_technical() -> None:
    named = [
        (model, column)
        for by_model in data_classes.classes().values()
        for model, columns in by_model.items()
        for column in columns
    ]
    wanted = {(model, column) for model, columns in data_classes.to_be_named().items() for column in columns}
    assert wanted - set(named) == set(), "name these in personal_data.py, or in tests/security/data_classes.py"
    assert set(named) - wanted == set(), "these are gone"
    assert [one for one in set(named) if named.count(one) > 1] == []


def test_each_personal_column_with_a_setting_of_days_has_a_retention_term_that_is_applied() -> None:
    timed = {held.model for held in HELD if re.search("[A-Z_]+_DAYS|[0-9]+ days", held.until)}
    assert {held.model for held in HELD if held.term} == timed
    assert {held.term for held in HELD if held.term} <= set(retention._TERMS)
