"""How a row of a file and a pasted address are read."""

from decimal import Decimal

import pytest

from orders.drafting import pasting
from shipping_portal.accounts.address import places
from shipping_portal.accounts.models import ParcelSize, PickupAddress, Sender
from shipping_portal.importing import leaving_out, row_checks, row_values, units
from shipping_portal.importing.models import Import, ImportRow
from tests.snapshots.comparing import compare
from tests.snapshots.tables import lines, text_of
from tests.snapshots.test_readings_of_parcels import address as address

pytestmark = pytest.mark.django_db
HEADER = ["Order", "Name", "Last", "Address", "City", "State", "Zip", "Country", "Weight (g)", "Notes", "Item", "Qty"]
FIELDS = (
    "customer_reference",
    "receiver_name",
    "receiver_last_name",
    "receiver_line1",
    "receiver_suburb",
    "receiver_state",
    "receiver_postcode",
    "receiver_country",
    "weight",
    "delivery_choice",
    "description",
    "item_1_quantity",
)
ROW = ["1001", "Noor", "Haddad", "5 Main Road", "Hobart", "TAS", "7000", "Australia", "1200", "", "Mug", "2"]
CHANGES: tuple[dict[int, str], ...] = (
    {}, {2: ""}, {1: "", 2: ""}, {3: "5 Main\r\n Road \n"}, {7: ""}, {7: "new zealand"}, {7: "Atlantis"}, {7: "USA",
    6: "2155"}, {7: "US", 6: "2155-0001"}, {7: "US", 6: "02155"}, {7: "US", 6: "215"}, {6: "800"}, {8: "1.2 kg"},
    {8: "1,2"},
    {8: ""}, {8: "heavy"}, {9: "Authority to leave: front porch"}, {9: "authority_to_leave"},
    {9: "Signature on delivery"}, {9: "SIGNATURE ON DELIVERY - ring"}, {9: "none"}, {9: "Leave it"}, {10: ""},
    {11: "x"}, {1: " Noor "},
)  # fmt: skip


def row_of(
    cells: list[str], constants: dict[str, str], corrected: dict[str, str], country: str = "AU"
) -> dict[str, str]:
    file = Import(header=HEADER, columns={name: place for place, name in enumerate(FIELDS)}, constants=constants)
    file.sender = Sender(country=country)
    row = ImportRow(pk=1, file=file, cells=cells, corrected=corrected)
    row._prefetched_objects_cache = {"lines": []}
    if "size" in constants:
        SIZE.weight_units, _, SIZE.dimension_units = constants["size"].partition(" ")
    return row_values.values(row, file, SIZE if "size" in constants else None)


SIZE = ParcelSize(
    weight=Decimal("2.500"),
    weight_units="kg",
    length=Decimal("30.00"),
    width=Decimal(20),
    height=Decimal(100),
    dimension_units="cm",
    description="Box",
)


def odd(cells: list[str], corrected: dict[str, str]) -> str:
    return leaving_out.cell_count_problem(ImportRow(file=Import(header=HEADER), cells=cells, corrected=corrected))


def test_the_fields_of_a_row_are_read_as_expected() -> None:
    plain = row_of(ROW, {}, {})

    def differing(found: dict[str, str]) -> str:
        return text_of(
            {name: found.get(name, "gone") for name in sorted({*plain, *found}) if found.get(name) != plain.get(name)}
        )

    given = [({"length": "30", "size_unit": "mm"}, {}), ({"receiver_country": "NZ"}, {}), ({"size": "kg cm"}, {}),
    ({"size": "lb cm"}, {}), ({"size": "kg in"}, {}),
    ({"size": "kg cm", "weight": "5"}, {}), ({}, {"weight_kg": "9", "receiver_name": "Ana"}), ({"description": "All"},
    {}), ({"weight": "3", "weight_unit": "lb"}, {})]  # fmt: skip
    rows = [(what, [what.get(place, cell) for place, cell in enumerate(ROW)]) for what in CHANGES]
    shapes = [ROW, ROW[:-1], [*ROW, ""], [*ROW, "x"], [*ROW, " ", "y"]]
    compare(
        "reads-rows",
        [
            text_of(plain),
            *(f"{HEADER[next(iter(what), 0)]} {what} -> {differing(row_of(cells, {}, {}))}" for what, cells in rows),
            *(f"{constants}, {corrected} -> {differing(row_of(ROW, constants, corrected))}" for constants,
            corrected in given),
            f"without a weight, a size -> {differing(row_of([*ROW[:8], '', *ROW[9:]], {'size': 'kg cm'}, {}))}",
            f"in the US -> {differing(row_of(ROW, {'size': 'kg cm'}, {}, 'US'))}",
            *lines(odd, [(cells, how) for cells in shapes for how in ({}, {"shop_status": "yes"},
            {"weight_kg": "1"})]),
            *lines(lambda text: bool(row_checks.SHORTENED.fullmatch(text)), ["6.14E+10", "6E+10", "6e+1", "6.E+10",
            "16E+10", "E+1", "6.14E10", "6.14E+10 "], "shortened"),
            *lines(lambda text: units.PLAIN_NUMBER.fullmatch(text) is not None, ["1", "1.5", ".5", "1.", "1,5",
            "-1"], "a plain number"),
        ],
    )  # fmt: skip


PASTES = (
    "Noor Haddad\nHaddad Pty Ltd\n5 Main Road\nHobart TAS 7000\nAustralia\n0491 570 156\nnoor@example.com",
    "Noor Haddad, 5 Main Road, Hobart TAS 7000", "Noor Haddad 5 Main Road Hobart 7000",
    "5 Main Road, Hobart, Tasmania, 7000",
    "Ship to: Noor Haddad\nUnit 3\n5 Main Road\nHobart 7000 TAS", "Noor\n3/5 Main Road\nHobart 7000",
    "Noor\nUnit 3, 5 Main Road\nHobart 7000", "Noor\n5 Main Road, Level 2\nHobart 7000",
    "Noor\nPO Box 12\nHobart 7000",
    "Ann Lee\n100 Elgin St\nOttawa ON K1P5M7\nCanada\n(613) 555-0123",
    "Bo Day\n1 SW Main St\nPortland, OR 97205-1234\nUSA", "Order 123\nNoor\n5 Main Road\nHobart 7000\nTotal 5\n----",
    "Noor Haddad\nNowhere 9999", "", "noor@example.com.",
    "Noor <noor@example.com>\n5 Main Rd\nFTZ VIC 3065", "Noor\n7000 Main Road\nHobart TAS 7000",
    "A\nB\nC\n5 Main Road\nHobart 7000", "Phone: 1300 555 123\nNoor\n5 Main Road\nHobart 7000",
    "Noor\tx|5 Main Road;Hobart 7000", "Noor\n5 Main Road\nBack gate\nHobart 7000", "x" * 2001 + " Hobart 7000",
)  # fmt: skip


def pair(*asked: str) -> str:
    found = places.check_pair(*asked)
    near = [f"{one.suburb} {one.state} {one.postcode}" for one in (found.place, *found.near) if one]
    return f"{'found' if found.place else 'near'} {near}, {found.is_unlisted}"


PAIRS = [("AU", "fitzroy", "3065"), ("AU", "ftz", "3065"), ("AU", "Fitzroi", "3065"), ("AU", "Fitzroy", "3056"),
("AU", "x", "7000"), ("AU", "", ""), ("NZ", "Auckland", "1010"), ("CA", "ottawa", "k1p5m7"), ("US", "Portland",
"97205-0001"), ("AU", "brunswik", "1")]  # fmt: skip
STARTS = [("AU", "fi"), ("AU", "30"), ("AU", "3065 f"), ("AU", "f 3065"), ("AU", "ftz"), ("AU", ""), ("CA", "k1p5"),
("CA", "K1P"), ("US", "97205"), ("AU", "h", 1), ("AU", "7 hob"), ("NZ", "a"), ("AU", "x")]  # fmt: skip


def test_pasted_addresses_and_suggested_places_are_as_expected(address: PickupAddress) -> None:
    compare(
        "reads-pasted",
        [
            *lines(lambda text: list(vars(pasting.read(text, "AU")).values()), PASTES, "pasted"),
            *lines(pair, PAIRS),
            *lines(lambda *asked: [f"{one.suburb} {one.postcode}" for one in places.suggest_places(*asked)], STARTS,
            "suggest"),
            *lines(places.suburb_spellings, ["ftz north", "Fitzroy", "", "Mt. Eliza"]),
        ],
    )  # fmt: skip
