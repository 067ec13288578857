"""How units, an order's items and a shop's remarks about an order are read."""

from functools import partial
from itertools import product
from types import SimpleNamespace
from typing import Any

from shipping_portal.accounts.models import Sender
from shipping_portal.importing import items, shop_words, shops, units
from shipping_portal.importing.models import Import, ImportRow
from tests.snapshots.comparing import compare
from tests.snapshots.tables import lines, text_of

HEADERS = (
    "Weight (g)", "Weight", "weight_kg", "weightKg", "Weight in lbs", "Length in cm", "Length in", "Length (in)",
    'Length "', "Length ''", 'a "quoted" b', "kg or lb", "kg kilos",
    "Size mm", "depth.m", "Height″", "in", "in in", "Weight oz.", "", "g/kg",
)  # fmt: skip
CELLS = ("1.5", "1.5kg", "1.5 kg", "1,5 kg", "150g", "2 lb", "3 pounds 2 oz", "x", "", "kg", "1.5 cm", ".5 kg",
"5. kg", "1 000 g", "1234567890.12 g", "12345678901.12 g", "0 g", "16 oz", " 2 ", "1.0004 kg",
"2.5 kilos")  # fmt: skip
SIDES = ("30", "30 mm", "300mm", "0.3 m", '12"', "12 in", "12 ''", "30 kg", "1.25")


def of_cell(by_name: str, in_row: str | None, chosen: str, country: str) -> str:
    file = Import(
        header=[by_name, "Unit"],
        columns={"weight": 0} | ({"weight_unit": 1} if in_row is not None else {}),
        constants={"weight_unit": chosen} if chosen else {},
    )
    file.sender = Sender(country=country)
    row = ImportRow(cells=["2"] + ([in_row] if in_row else []))
    return f"{units.of_cell('weight', row, file)} {units.in_the_forms({'length': '12'}, {'weight': '2'}, row, file)}"


def test_units_are_read_as_expected() -> None:
    tables = {"weights": units.WEIGHTS, "lengths": units.LENGTHS}
    sums: tuple[Any, ...] = (
        ["1 kg", "500 g"],
        ["1 lb", "16 oz"],
        ["1", "2 kg"],
        ["1 kg", "x"],
        ["1 kg", "1 cm"],
        ["0.3333 kg", "0 kg"],
    )
    where = [
        *product(("Weight", "Weight (g)"), (None, "", "kg", "grams", "stone"), ("", "lb"), ("AU",)),
        ("Weight", None, "", "US"),
        ("Weight", "kg", "", "US"),
    ]
    header = {"weight": 0, "length": 1, "width": 2}
    compare(
        "reads-units",
        [
            *lines(lambda text: [(units.unit_in_text(text, table), units.words_without_units(text, table)) for table in tables.values()],
            HEADERS, "stated, bare"),
            *lines(lambda text: [units.convert(text, unit, wanted, units.WEIGHTS) for unit, wanted in (("kg", "kg"),
            ("g", "kg"), ("kg", "lb"), ("", "kg"), ("kg", "stone"))], CELLS,
            "convert: kg, g to kg, kg to lb, none, to none"),
            *lines(lambda text: [units.convert(text, "cm", wanted, units.LENGTHS) for wanted in ("cm", "in")], SIDES,
            "convert lengths"),
            *lines(partial(units.with_unit, unit="g"), CELLS),
            *lines(lambda *texts: units.add_measures(texts, [units.Decimal(n) for n in range(1, len(texts) + 1)],
            units.WEIGHTS), [tuple(one) for one in sums], "added"),
            *lines(of_cell, where),
            *lines(lambda kind: units.of_columns(["Weight (g)", "Length mm", "Width"], header, kind), ["weight_unit",
            "size_unit"], "of_columns"),
            *lines(units.of_account, ["AU", "US", "CA"]),
        ],
    )  # fmt: skip


def test_a_shops_remarks_are_read_as_expected() -> None:
    states = [*shop_words._SENT, *shop_words._ENDED, *shop_words._OPEN]
    words = [*states, "paid", "processing", "wc-completed", "WC Cancelled", "0", ""]
    several: list[tuple[Any, ...]] = [
        (["Status", "Paid on date"], ["Paid", ""]), (["Paid on Date"], ["1-Nov"]), (["Cancelled at", "Status"],
        ["1-Nov", "shipped"]), (["Refunded at", "Status"], ["x", "shipped"]),
        (["Status"], ["open"], ["shipped"]), (["Status"], ["shipped"], ["shipped"]), (["Status"], ["open"],
        ["pending"]), (["Status"], ["open"], ["cancelled"]), (["Status"], ["shipped"], ["partial"]),
        (["Status", "x"], ["shipped"]), (["Status"], ["a", "shipped"]), (["Quantity to ship"], ["0"]),
        (["Quantity to ship"], ["1"]), (["Status", "Financial Status"], ["pending", "refunded"]),
    ]  # fmt: skip
    by_column = {
        word: {name: fields for name in shop_words.WORDS if (fields := shops.why_left_out([name], [[word.upper()]]))}
        for word in words
    }
    compare(
        "reads-shop-words",
        [
            *(f"{word!r} -> {sentences(found)}" for word, found in by_column.items()),
            *lines(lambda name: (shops.why_left_out([name], [["x"]]), shops.why_left_out([name], [[""]])),
            sorted((*shop_words.DAYS, *shop_words.NO_DAY)), "a day, none"),
            *lines(lambda header, *rows: shops.why_left_out(header, rows), several, "several"),
            text_of(shop_words.KNOWN_COLUMNS),
        ],
    )  # fmt: skip


def sentences(found: dict[str, str]) -> str:
    texts = sorted(set(found.values()))
    return "; ".join(f"{text} ({', '.join(name for name in found if found[name] == text)})" for text in texts)


def test_items_of_several_rows_are_joined_as_expected() -> None:
    mug, pen, bare = (
        {"description": "Mug", "weight": "1 kg", "item_1_quantity": "2"},
        {"description": "Pen", "weight": "200 g", "item_1_value": "3"},
        {"receiver_name": "Ana"},
    )
    joins: list[Any] = [
        [mug],
        [mug, pen],
        [bare, mug, pen],
        [bare],
        [mug, mug | {"item_1_quantity": "x"}],
        [pen, bare],
        [mug, {"item_1_description": "Cup", "item_1_hs_code": "1"}],
        [mug | {"item_1_quantity": "1234567890123"}],
    ]
    given = {"item_1_origin": "AU", "item_1_quantity": "3", "description": "Things"}
    shares = [
        ("3", "2"),
        ("1", "3"),
        ("x", "2"),
        ("1", "x"),
        ("1", "0"),
        ("1", "1234567890123"),
        ("2.50", "1"),
        ("1", "0.5"),
    ]
    weights: list[Any] = [[mug], [mug, pen], [mug, mug], [bare, mug], [], [mug, mug | {"weight": "1000 g"}]]
    compare(
        "reads-items",
        [
            *lines(lambda rows, common, of_one: items.joined(rows, common, are_weights_of_one=of_one),
            list(product(joins, ({}, given), (False, True))), "joined"),
            *lines(items.share_of_one, shares),
            *lines(items.of_weights, [(one,) for one in weights]),
            *lines(items.places, [(one,) for one in joins]),
            *lines(items.uncounted, [{}, {"item_1_value": "3"}, {"item_1_value": "3", "item_1_quantity": "1"},
            {"item_2_value": "3", "item_3_value": ""}]),
            *lines(lambda name: items.are_weights_of_one(SimpleNamespace(columns={"weight": 0} if name else {},
            header=[name])), ["Item weight", "Lineitem weight", "Product Weight (kg)", "Unit weight", "Weight",
            "Units weight", ""], "of one item"),
        ],
    )  # fmt: skip
