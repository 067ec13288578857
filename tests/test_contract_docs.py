"""docs/contract.md tells every point as the code has it, and its example file is one that both sides take."""

import dataclasses
import json
import re
from pathlib import Path

from shipping_portal.carrier.contract import Contract, Point
from shipping_portal.carrier.points import WORDS
from shipping_portal.sandbox import contract as sandbox

DOCS = Path(__file__).parents[1] / "docs"
PAGE = (DOCS / "contract.md").read_text()
EXAMPLE = DOCS / "contract-example.toml"
ROWS = re.findall(r"(?m)^\| `(\w+)` \| (.+?) \| (.+?) \| (.+?) \| (.+?) \|$", PAGE)
POINTS = {point.name: point for point in Contract().points()}


def holds(point: Point) -> str:
    """What the point may hold, as its rule says."""
    rule = next(field.metadata["check"] for field in dataclasses.fields(Contract) if field.name == point.name)
    if rule.__name__ == "anything":
        return "true or false" if isinstance(point.default, bool) else "any text"
    return str(rule.__doc__).strip().splitlines()[0].strip()


def test_every_point_is_told_once_and_in_the_codes_own_order() -> None:
    assert [name for name, *_ in ROWS] == list(POINTS)


def test_each_point_is_documented_as_the_code_has_it() -> None:
    for name, sentence, may_hold, default, basis in ROWS:
        point = POINTS[name]
        value = "the table below" if name == "words" else f"`{json.dumps(point.default, ensure_ascii=False)}`"
        in_code = (name, holds(point), value, f"{point.basis}, {point.section}")
        assert (name, may_hold, default, basis) == in_code
        assert sentence.endswith((".", "?")), name


def test_every_word_of_scans_is_told() -> None:
    found = dict(re.findall(r"(?m)^\| `([a-z ]+)` \| (\w+) \|$", PAGE))
    assert found == {word: meaning or "nothing" for word, meaning in WORDS.items()}


def test_both_sides_take_the_example_file() -> None:
    assert Contract.load(EXAMPLE).reference == sandbox.Contract.load(EXAMPLE)["reference"] == "consignment"


def test_the_pretend_carrier_knows_every_point_by_the_same_default() -> None:
    ours = {name: json.loads(json.dumps(point.default)) for name, point in POINTS.items() if name != "words"}
    assert {name: value for name, value in sandbox.DEFAULTS.items() if name != "words"} == ours
