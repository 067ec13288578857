"""Units of an import: read from a header, a cell or a choice; the carrier gets the parcel the sender meant."""

import pytest
from django.utils import timezone

from orders.drafting.forms import UNITS
from shipping_portal.accounts.models import Sender, User
from shipping_portal.importing import checking, columns, guessing, progress, reading, units, uploads
from shipping_portal.importing.forms import MatchForm, guesses
from shipping_portal.importing.models import ColumnMapping, Import, ImportRow
from shipping_portal.importing.units import (
    LENGTHS,
    MEASURES,
    SIZE_UNIT,
    TABLES,
    WEIGHT,
    WEIGHT_UNIT,
    WEIGHTS,
    convert,
    unit_in_text,
    words_without_units,
)
from tests import factories
from tests.orders.ledger import in_the_ledger
from tests.orders.test_importing import book, work_off
from tests.sandbox_carrier import SandboxCarrier

WHO = "Name,Email,Address 1,Suburb,Postcode,Contents,Order number"
PRIYA = "Priya Nair,priya@example.net,4 Sample Street,Brunswick,3056,Mugs,1001"


def fields_named(*names: str) -> list[columns.Field]:
    return [columns.Field(name, name, is_needed=False) for name in names]


@pytest.mark.parametrize(
    ("header", "unit"),
    [
        ("Length (mm)", "mm"), ("length_mm", "mm"), ("L mm", "mm"), ("Length/mm", "mm"), ("lengthMm", "mm"),
        ("Length [cm]", "cm"), ("LENGTH CM", "cm"), ("Length in cm", "cm"), ("Length, centimetres", "cm"),
        ("Length (m)", "m"), ("Length in metres", "m"),
        ("Length (in)", "in"), ("Length in", "in"), ("Length in.", "in"), ("Length (inches)", "in"),
        ('Length (")', "in"), ("Length ″", "in"), ('Length "', "in"), ("Length in inches", "in"),
        ("Length", ""), ("Length (cm or in)", ""), ('"Length"', ""), ("Length (ft)", ""), ("Length kg", ""),
    ],
)  # fmt: skip
def test_a_header_states_the_unit_of_its_lengths(header: str, unit: str) -> None:
    assert unit_in_text(header, LENGTHS) == unit


@pytest.mark.parametrize(
    ("header", "unit"),
    [
        ("Weight (g)", "g"), ("weight_g", "g"), ("Weight in grams", "g"), ("Total Weight g", "g"),
        ("Weight (kg)", "kg"), ("weightKg", "kg"), ("Weight in kg.", "kg"), ("Weight oz", "oz"),
        ("Weight (ounces)", "oz"), ("Weight (lbs)", "lb"), ("Weight, pounds", "lb"),
        ("Weight", ""), ("Weight in", ""), ("Weight (kg/lb)", ""),
    ],
)  # fmt: skip
def test_a_header_states_the_unit_of_its_weights(header: str, unit: str) -> None:
    assert unit_in_text(header, WEIGHTS) == unit


@pytest.mark.parametrize(
    ("header", "field"),
    [
        ("Length (mm)", "length"), ("L mm", "length"), ("length_in", "length"), ('Length (")', "length"),
        ("Parcel width, cm", "width"), ("W (mm)", "width"), ("Depth in metres", "height"), ("H", "height"),
        ("Weight in grams", "weight"), ("Parcel weight oz", "weight"), ("weightKg", "weight"),
        ("Weight unit", "weight_unit"), ("Dimensions unit", "size_unit"), ("dimension_units", "size_unit"),
    ],
)  # fmt: skip
def test_a_measure_is_found_whatever_unit_its_header_states(header: str, field: str) -> None:
    names = [WEIGHT, "length", "width", "height", WEIGHT_UNIT, SIZE_UNIT]
    assert guessing.guess_columns(["Suburb", header], fields_named(*names)) == {field: 1}


def test_a_weight_is_not_taken_for_a_length() -> None:
    assert guessing.guess_columns(["W kg", "Made in"], fields_named("width", "length", "weight")) == {}
    assert words_without_units("Length in cm", LENGTHS) == "length"


@pytest.mark.parametrize(
    ("typed", "unit", "wanted", "read"),
    [
        ("301", "mm", "cm", "30.1"), ("0.3", "m", "cm", "30"), ("12", "in", "cm", "30.48"), ("30", "cm", "cm", "30"),
        ("30.480", "cm", "in", "12"), ("305", "mm", "in", "12.008"), ('12"', "cm", "cm", "30.48"),
        ("300 mm", "cm", "cm", "30"), ("30,5", "mm", "cm", "30,5 mm"), ("30,5 cm", "mm", "cm", "30,5"),
        ("1" * 13, "mm", "cm", "1" * 13 + " mm"), ("long", "mm", "cm", "long"), ("2 ft", "mm", "cm", "2 ft"),
        ("30", "ft", "cm", "30 ft"), ("5 m 3 cm", "cm", "cm", "503"),
    ],
)  # fmt: skip
def test_a_length_is_converted_exactly_or_left_for_the_form_to_refuse(
    typed: str, unit: str, wanted: str, read: str
) -> None:
    assert convert(typed, unit, wanted, LENGTHS) == read


@pytest.mark.parametrize(
    ("typed", "unit", "wanted", "read"),
    [
        ("2400", "g", "kg", "2.4"), ("40 oz", "oz", "lb", "2.5"), ("heavy", "g", "kg", "heavy"),
        ("12", "oz", "kg", "0.34"), ("0.5 kg", "g", "kg", "0.5"), ("1.5", "kg", "g", "1500"),
        ("2", "stone", "kg", "2 stone"), ("0", "g", "kg", "0"),
        ("500 GRM", "kg", "kg", "0.5"), ("1.5 KGM", "g", "kg", "1.5"), ("2 LBR", "kg", "lb", "2"),
        ("8 ONZ", "lb", "lb", "0.5"),
        ("1½ lb", "kg", "kg", "1½ lb"), ("½ lb", "kg", "kg", "½ lb"), ("2 ⅓kg", "kg", "kg", "2 ⅓kg"),
        ("1 lb 3½ oz", "lb", "lb", "1 lb 3½ oz"), ("2² kg", "kg", "kg", "2² kg"),
    ],
)  # fmt: skip
def test_a_weight_is_converted_exactly_or_left_for_the_form_to_refuse(
    typed: str, unit: str, wanted: str, read: str
) -> None:
    assert convert(typed, unit, wanted, WEIGHTS) == read


@pytest.mark.parametrize(
    "typed",
    [
        "30x20x10", "30 X 20 X 10", "30 × 20 × 10 cm", "30*20*10", "30/20/10", "30 by 20 by 10", "30 20 10", "30,20,10",
        "30cm 20cm 10cm", "30; 20; 10", "L: 30 cm, W: 20 cm, H: 10 cm", "(30 x 20 x 10)", "L30 W20 H10",
    ],
)  # fmt: skip
def test_three_sides_in_a_cell_are_read(typed: str) -> None:
    assert units.sides(typed, "cm") == {"length": "30 cm", "width": "20 cm", "height": "10 cm"}


@pytest.mark.parametrize(
    "typed",
    [
        "30,5x20", "30,5 x 20", "1,200 x 80", "1 200 x 80", "30 x 20,5", "1/2 x 9", "30 20x10", "30 x 20 / 10",
        "30x20", "30x20x10x2", "30,5 x 20,5 x 10,5", "12½ x 9 x 4", "A4", "",
    ],
)  # fmt: skip
def test_a_cell_that_may_not_hold_three_sides_is_left_for_the_form_to_refuse(typed: str) -> None:
    assert units.sides(typed, "cm") == {"length": typed}


def matched(sender: Sender, by: User, header: str, *rows: str, **choices: str) -> MatchForm:
    """Submit a file's matching page as it came, except for these choices."""
    sheet = reading.read("\n".join([header, *rows]).encode())
    file = uploads.store_upload(sheet, name="units.csv", sender=sender, by=by, now=timezone.now())
    address = sender.pickup_address()
    assert address
    initial = guesses(file, columns.fields(sender, address))
    form = MatchForm({**initial, **choices}, initial=initial, file=file, address=address)
    form.is_valid()
    return form


def booked(sender: Sender, by: User, header: str, row: str, **choices: str) -> Import:
    form = matched(sender, by, header, row, **choices)
    assert form.errors == {}
    checking.begin(form.file, form.columns, form.constants, timezone.now())
    form.file.refresh_from_db()
    work_off(form.file)
    book(form.file)
    return form.file


def test_a_unit_that_was_chosen_for_a_header_is_offered_again_for_it(
    quill: Sender, alice: User, localities: None
) -> None:
    header, row = ("Name,E-mail,Street,Suburb,Postcode,Weight", "A B,a@b.example,4 Sample St,Brunswick,3056,2400")
    form = matched(quill, alice, header, row, weight_unit="g")
    assert form.initial["weight_unit"] == "kg"
    known = {"fingerprint": form.file.fingerprint, "columns": {}, "constants": {"weight_unit": "g"}}
    ColumnMapping.objects.create(sender=quill, **known, used_at=timezone.now())
    address = quill.pickup_address()
    assert address
    assert guesses(form.file, columns.fields(quill, address))["weight_unit"] == "g"


MEASURED = [
    # header, cells, and the choice of a unit where there is one
    ("Weight (g),Length (mm),Width (mm),Height (mm)", "350,300,200,150", {}),
    ("weight_g,length_m,width_m,height_m", "350,0.3,0.2,0.15", {}),
    ("Weight,L,W,H", "350,300,200,150", {"weight_unit": "g", "size_unit": "mm"}),
    ("Weight,Length,Width,Height", "0.35,30,20,15", {}),
    ("Weight,Length,Width,Height", "350 g,300 mm,20 cm,0.15 m", {}),
    ("Weight,Weight unit,Length,Width,Height,Dimensions unit", "350,g,300,200,150,mm", {}),
    ("Weight (g),Length (mm),Width (cm),Height", "350,300,20,15 cm", {"size_unit": "mm"}),
]


@pytest.mark.django_db
@pytest.mark.parametrize(("measures", "cells", "choices"), MEASURED)
def test_the_carrier_books_the_parcel_the_sender_meant(
    measures: str,
    cells: str,
    choices: dict[str, str],
    carrier: SandboxCarrier,
    localities: None,
    quill: Sender,
    alice: User,
) -> None:
    booked(quill, alice, f"{WHO},{measures}", f"{PRIYA},{cells}", **choices)
    assert in_the_ledger(carrier) == [("0.35", "kg", "30", "20", "15", "cm")]


@pytest.mark.django_db
def test_ounces_and_centimetres_are_pounds_and_inches_in_the_united_states(
    carrier: SandboxCarrier, localities: None
) -> None:
    maker = factories.sender(country="US")
    maya = factories.user("maya@maker.example")
    factories.member(maker, maya)
    factories.pickup_address(maker, email=maya.email)
    priya = "Priya Nair,priya@example.net,1 Sample Street,Portland,97205,Mugs,1001"
    booked(maker, maya, f"{WHO},Weight (oz),Length (cm),Width in,H in", f"{priya},40,30.48,8,4")
    assert in_the_ledger(carrier) == [("2.5", "lb", "12", "8", "4", "in")]


@pytest.mark.django_db
def test_the_page_starts_with_the_headers_unit_or_else_the_accounts(quill: Sender, alice: User) -> None:
    said = matched(quill, alice, f"{WHO},Weight (g),Length (mm),Width,Height", f"{PRIYA},350,300,200,150")
    silent = matched(quill, alice, f"{WHO},Weight,Length,Width,Height", f"{PRIYA},2,30,20,15")
    assert (said["weight_unit"].initial, said["size_unit"].initial) == ("g", "mm")
    assert (silent["weight_unit"].initial, silent["size_unit"].initial) == ("kg", "cm")
    units = {match.field.label: match.unit for match in said.matches() if match.preview}
    assert (units["Weight"], units["Length"], units["Width"]) == ("g", "mm", "")


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("measures", "choices", "refused"),
    [
        ("Weight,Length (mm),Width,Height", {"size_unit": "cm"}, {"size_unit": "“Length (mm)” says mm. Choose mm,"}),
        ("Weight (g),Length,Width,Height", {"weight_unit": "kg"}, {"weight_unit": "“Weight (g)” says g. Choose g,"}),
        ("Weight (g),Length (mm),Width (cm),Height", {"size_unit": "cm"}, {}),
        ("Weight,Length (mm),Width,Height,Long cm", {"column_length": "11"}, {"size_unit": "“Long cm” says cm."}),
    ],
)  # fmt: skip
def test_a_choice_that_contradicts_the_header_is_refused_at_its_field(
    quill: Sender, alice: User, measures: str, choices: dict[str, str], refused: dict[str, str]
) -> None:
    form = matched(quill, alice, f"{WHO},{measures}", f"{PRIYA},350,300,200,150,30", **choices)
    assert list(form.errors) == list(refused)
    for name, sentence in refused.items():
        assert form.errors[name][0].startswith(sentence)


@pytest.mark.django_db
def test_the_second_file_of_a_shop_is_read_in_the_unit_chosen_for_the_first(
    carrier: SandboxCarrier, localities: None, quill: Sender, alice: User
) -> None:
    header, row = f"{WHO},Weight,L,W,H", f"{PRIYA},350,300,200,150"
    booked(quill, alice, header, row, weight_unit="g", size_unit="mm")
    sheet = reading.read(f"{header}\n{row.replace('1001', '1002')}".encode())
    second = uploads.store_upload(sheet, name="next.csv", sender=quill, by=alice, now=timezone.now())
    work_off(second)
    book(second)
    assert in_the_ledger(carrier) == [("0.35", "kg", "30", "20", "15", "cm")] * 2


@pytest.mark.django_db
def test_a_measure_for_all_rows_is_in_the_chosen_unit(
    carrier: SandboxCarrier, localities: None, quill: Sender, alice: User
) -> None:
    same = {"all_weight": "350", "all_width": "200", "all_height": "150", "weight_unit": "g", "size_unit": "mm"}
    booked(quill, alice, f"{WHO},Length", f"{PRIYA},300", **same)
    assert in_the_ledger(carrier) == [("0.35", "kg", "30", "20", "15", "cm")]


@pytest.mark.django_db
def test_corrected_measures_come_back_in_the_files_own_units(
    carrier: SandboxCarrier, localities: None, quill: Sender, alice: User
) -> None:
    header = f"{WHO},Weight,Weight unit,Length (mm),Width,Height"
    form = matched(quill, alice, header, f"{PRIYA.replace('3056', '9999')},0,oz,0,20,15")
    checking.begin(form.file, form.columns, form.constants | {"size_unit": "in"}, timezone.now())
    form.file.refresh_from_db()
    right = {"weight_kg": "0.34", "length_cm": "30", "width_cm": "50.8"}
    assert checking.schedule_check(form.file.rows.get(), right, timezone.now())
    work_off(form.file)
    [cells] = progress.failed_sheet(form.file)[1]
    assert cells[7:12] == ["11.993", "oz", "300", "20", "15"]


@pytest.mark.django_db
@pytest.mark.parametrize("country", ["AU", "CA", "US"])
def test_our_own_template_states_the_units_of_the_account(country: str) -> None:
    maker = factories.sender(country=country)
    maya = factories.user("maya@maker.example")
    factories.member(maker, maya)
    fields = columns.fields(maker, factories.pickup_address(maker, email=maya.email))
    heads = {field.label: place for place, field in enumerate(fields) if field.name in MEASURES}
    names = [field.name for field in fields]
    matched = guessing.guess_columns([field.label for field in fields], fields)
    assert {name: matched.get(name) for name in MEASURES} == {name: names.index(name) for name in MEASURES}
    units = [unit_in_text(head, TABLES[MEASURES[names[place]]]) for head, place in heads.items()]
    assert units == [*UNITS[country], *[UNITS[country][1]] * 2]


@pytest.mark.parametrize(
    ("header", "cells", "unit"),
    [
        ("Weight (lb)", ["5", "lb"], "lb"),
        ("Weight (lb)", ["5", ""], "lb"),
        ("Weight", ["5", "oz"], "oz"),
        ("Weight (lb)", ["5", "kg"], units.UNSAID),
        ("Weight", ["12", ""], units.UNSAID),
    ],
)
def test_a_contradictory_or_missing_unit_in_a_row_is_not_guessed(header: str, cells: list[str], unit: str) -> None:
    file = Import(header=[header, "Weight unit"], columns={WEIGHT: 0, units.WEIGHT_UNIT: 1}, constants={})
    assert units.of_cell(WEIGHT, ImportRow(cells=cells), file) == unit
