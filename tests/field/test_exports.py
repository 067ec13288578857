"""Files in the format of real exports, and what a careful person would read in each row.

The folder `exports/answers` holds the right answers, a line for each parcel or left-out row, in the file's order. They
were written before the files were read. `becomes` is one of:

ready         with exactly these values; a wrong one would go to the carrier unseen
left out: …   with this reason
waits: …      for this field or column, as nobody can know the answer
timid: …      for this field, though one answer is right: what the reader can't do yet

People and streets are made up; `SOURCES` names the public page or thread that describes each file's columns.
"""

import csv
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import phonenumbers
import pytest

from orders.drafting.forms import UNITS
from shipping_portal.accounts.models import Sender, User
from shipping_portal.importing.models import ImportRow
from shipping_portal.importing.units import LENGTHS, WEIGHTS
from tests import factories
from tests.field.cases import CASES
from tests.field.checking import list_places
from tests.field.sources import PLACES, SOURCES
from tests.field.verdicts import SIDES, State, taken, verdict
from tests.sandbox_carrier import SandboxCarrier

pytestmark = pytest.mark.django_db

EXPORTS = Path(__file__).parent / "exports"
PARTS = ("name", "company", "line1", "line2", "suburb", "state", "postcode", "country", "email", "instructions")
Answer = dict[str, str]


def answers(name: str) -> list[Answer]:
    text = (EXPORTS / "answers" / name).with_suffix(".csv").read_text()
    return list(csv.DictReader(text.splitlines()))


@pytest.fixture
def accounts(db: None, carrier: SandboxCarrier) -> dict[str, tuple[Sender, User]]:
    """A sender in each country, with a size for files without measures."""
    list_places(PLACES)
    found: dict[str, tuple[Sender, User]] = {}
    for country, (weight, length) in UNITS.items():
        sender, person = factories.sender(country=country), factories.user(f"shop@{country.lower()}.example")
        factories.member(sender, person)
        factories.pickup_address(sender, email=person.email)
        units = {"weight_units": weight, "dimension_units": length}
        sender.default_size = factories.size(sender, description="Mugs", weight=Decimal(2), **SIDES, **units)
        sender.save()
        found[country] = sender, person
    return found


@pytest.mark.parametrize("name", SOURCES)
def test_every_row_is_read_as_a_careful_person_would(name: str, accounts: dict[str, tuple[Sender, User]]) -> None:
    account, _ = SOURCES[name]
    file = taken(f"../exports/{name}", *accounts[account])
    rows = [row for row in file.rows.select_related("file", "quote").order_by("number") if row.state != State.JOINED]
    found = [differences(row, answer) for row, answer in zip(rows, answers(name), strict=False)]
    assert [text for text in found if text] == []  # a ready row with a wrong value is among these
    assert len(rows) == len(answers(name))


def test_the_corpus_is_large_and_most_clear_rows_need_no_help() -> None:
    """No row may be read wrongly: the test above compares every value of every ready row."""
    became = [answer["becomes"] for name in SOURCES for answer in answers(name)]
    became += [text for case in CASES.values() for text in case.rows.values()]
    kinds = Counter(text.partition(":")[0] for text in became)
    assert set(kinds) == {"ready", "left out", "waits", "timid"}
    assert len(SOURCES) + len(CASES) >= 65
    assert kinds.total() >= 620
    assert kinds["ready"] >= 0.95 * (kinds["ready"] + kinds["timid"])


def test_every_file_has_its_source_and_its_answers() -> None:
    assert {path.name for path in EXPORTS.iterdir()} == {*SOURCES, "answers"}
    assert {path.stem for path in (EXPORTS / "answers").iterdir()} == {Path(name).stem for name in SOURCES}


def differences(row: ImportRow, answer: Answer) -> str:
    """Return how the row differs from the right answer, starting with its order number; "" if it doesn't."""
    waited = answer["becomes"].replace("timid:", "waits:")
    became = verdict(row, waited)
    if became != waited:
        return f"{answer['order']}: {became}"
    wrong = [*read_wrongly(row, answer)] if became == "ready" else []
    return f"{answer['order']}: {'; '.join(wrong)}" if wrong else ""


def read_wrongly(row: ImportRow, answer: Answer) -> Iterator[str]:
    """Yield each wrong value of a ready row."""
    assert row.quote is not None
    details, country = row.quote.details, answer["country"]
    receiver, measures = details["receiver"], details["measures"]
    found: dict[str, object] = {part: receiver[part] for part in PARTS} | {
        "order": details["customer_reference"],
        "phone": dialled(receiver["phone"], country),
        "contents": details["description"],
        "weight": Decimal(measures["weight"]),
        "sides": [Decimal(measures[side]) for side in SIDES],
    }
    weight, sides = (UNITS[row.file.sender.country][at] for at in (0, 1))
    right: dict[str, object] = {
        **answer,
        "phone": dialled(answer["phone"], country),
        "weight": (measured(answer["weight"], weight) or [Decimal(2)])[0],
        "sides": measured(answer["sides"], sides) or [*SIDES.values()],
    }
    for name, value in found.items():
        if value != right[name]:
            yield f"{name} is {value}, not {right[name]}"


def dialled(phone: str, country: str) -> str:
    """Return the number as it is dialled from anywhere, which is the same however it is written."""
    if not phone:
        return ""
    return phonenumbers.format_number(phonenumbers.parse(phone, country), phonenumbers.PhoneNumberFormat.E164)


def measured(text: str, unit: str) -> list[Decimal]:
    """Return the numbers in “1.2 kg” or “30 x 20 x 10 cm” in this unit; none for “default”, the saved size."""
    table = WEIGHTS if unit in WEIGHTS else LENGTHS
    *numbers, stated = text.replace(" x ", " ").split()
    return [(Decimal(one) * table[stated] / table[unit]).quantize(Decimal("0.001")) for one in numbers]
