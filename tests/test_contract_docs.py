"""docs/contract.md documents every point as in the code, and both sides accept its example file."""

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
    """Return the point's allowed values, according to its rule."""
    rule = next(field.metadata["check"] for field in dataclasses.fields(Contract) if field.name == point.name)
    if rule.__name__ == "anything":
        return "true or false" if isinstance(point.default, bool) else "any text"
    return str(rule.__doc__).strip().splitlines()[0].strip()


def test_every_point_is_documented_once_in_the_codes_order() -> None:
    assert [name for name, *_ in ROWS] == list(POINTS)


def test_each_point_is_documented_as_in_the_code() -> None:
    for name, sentence, may_hold, default, basis in ROWS:
        point = POINTS[name]
        value = "the table below" if name == "words" else f"`{json.dumps(point.default, ensure_ascii=False)}`"
        in_code = (name, holds(point), value, f"{point.basis}, {point.section}")
        assert (name, may_hold, default, basis) == in_code
        assert sentence.endswith((".", "?")), name


def test_every_scan_word_is_documented() -> None:
    found = dict(re.findall(r"(?m)^\| `([a-z ]+)` \| (\w+) \|$", PAGE))
    assert found == {word: meaning or "nothing" for word, meaning in WORDS.items()}


def test_both_sides_accept_the_example_file() -> None:
    assert Contract.load(EXAMPLE).reference == sandbox.Contract.load(EXAMPLE)["reference"] == "consignment"


def test_the_sandbox_carrier_has_every_point_with_the_same_default() -> None:
    ours = {name: json.loads(json.dumps(point.default)) for name, point in POINTS.items() if name != "words"}
    assert {name: value for name, value in sandbox.DEFAULTS.items() if name != "words"} == ours
