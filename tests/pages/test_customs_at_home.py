"""Parcels within the USA about which customs ask: to and from military posts and the Pacific, at EasyPost."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from orders.booking import booking_rules, bookings
from orders.drafting import drafts
from orders.models import Draft, Order, Quote
from orders.quoting import asking
from shipping_portal.accounts.models import PickupAddress, Sender, User
from shipping_portal.importing import checking
from shipping_portal.importing.models import Import
from tests import factories
from tests.api.conftest import Program
from tests.easypost_account import at_easypost
from tests.orders.due_work import work
from tests.pages.typed import FROM_OHIO, messages_at, text
from tests.sandbox.client import Client as SandboxClient

pytestmark = pytest.mark.django_db

Visit = Callable[[User], Client]
TO_AE = FROM_OHIO | {
    "receiver_line1": "PSC 3 Box 4120", "receiver_suburb": "APO", "receiver_state": "AE", "receiver_postcode": "09021",
}  # fmt: skip
TO_GUAM = FROM_OHIO | {"receiver_suburb": "Hagatna", "receiver_state": "Guam", "receiver_postcode": "96910"}
MUGS = {"item_1_description": "Ceramic mug", "item_1_value": "9.50", "item_1_quantity": "2", "item_1_origin": "US"}
ASKED = "List what's inside. Customs ask for it on every parcel between Oregon and"


@pytest.fixture
def easypost(tmp_path: Path, settings: Any) -> Iterator[SandboxClient]:
    with at_easypost(settings, tmp_path) as address:
        yield SandboxClient(address)


@pytest.fixture
def opal() -> User:
    return factories.user("opal@portland.example")


@pytest.fixture
def american(opal: User) -> Sender:
    made = factories.sender(name="Portland Pots", country="US")
    factories.member(made, opal)
    factories.pickup_address(made, email=opal.email)
    return made


@pytest.fixture
def page(easypost: SandboxClient, american: Sender, opal: User, visit: Visit) -> Client:
    return visit(opal)


def form_of(sender: Sender, values: dict[str, str]) -> Any:
    return drafts.parcel_form(sender, {**values, "customer_reference": "", "receiver_phone": ""})


@pytest.mark.parametrize(("values", "where"), [(TO_AE, "Armed Forces Europe"), (TO_GUAM, "Guam")])
def test_the_form_asks_what_is_inside_before_there_are_prices(page: Client, values: dict[str, str], where: str) -> None:
    answer = page.post("/parcels/new/", values)
    assert messages_at(answer, "item_1_description") == [f"{ASKED} {where}."]
    assert not Quote.objects.exists()
    assert '<details class="card extra" id="contents" open' in answer.content.decode()


@pytest.mark.parametrize(
    "values",
    [
        FROM_OHIO,
        FROM_OHIO | {"receiver_suburb": "San Juan", "receiver_state": "PR", "receiver_postcode": "00901"},
        FROM_OHIO | {"receiver_suburb": "St Thomas", "receiver_state": "VI", "receiver_postcode": "00802"},
    ],
)
def test_nothing_more_is_asked_where_customs_dont_ask(page: Client, values: dict[str, str]) -> None:
    answer = page.post("/parcels/new/", values)
    assert answer.status_code == 302, text(answer)


def test_a_carrier_that_needs_no_customs_there_asks_nothing(american: Sender) -> None:
    form = form_of(american, TO_GUAM)
    assert "item_1_description" not in form.errors
    assert form.customs_states == []


def test_a_parcel_to_a_military_post_is_bought_with_its_contents(
    page: Client, easypost: SandboxClient, american: Sender
) -> None:
    prices = page.post("/parcels/new/", TO_AE | MUGS)["Location"]
    quote = Draft.objects.get().quote
    assert quote is not None
    chosen = {"form_token": str(quote.uuid), "product": quote.products[0]["code"]}
    page.post(f"{prices}book/", chosen)
    order = work(Order.objects.get())
    assert (order.status, order.problem) == ("booked", {})
    bought = easypost.effects("bought")[0]["shipment"]["body"]["customs_info"]
    assert [row["description"] for row in bought["customs_items"]] == ["Ceramic mug"]
    assert bought["customs_signer"] == "Ira Quill"


def test_a_parcel_from_guam_needs_contents_unless_it_stays_there(easypost: SandboxClient, american: Sender) -> None:
    PickupAddress.objects.update(suburb="HAGATNA", state="GU", postcode="96910")
    assert form_of(american, FROM_OHIO).errors["item_1_description"][0].endswith("between Guam and Oregon.")
    assert "item_1_description" not in form_of(american, TO_GUAM).errors


def test_a_program_is_told_at_the_field(easypost: SandboxClient, american: Sender, opal: User) -> None:
    program = Program(factories.api_token(opal).text)
    answer = program.post("/quotes", TO_AE)
    assert (answer.status_code, list(answer.json()["errors"])) == (422, ["item_1_description"])
    assert program.post("/quotes", TO_AE | MUGS).status_code == 201


def test_a_correction_to_such_an_address_asks_before_anything_is_cancelled(
    page: Client, american: Sender, opal: User
) -> None:
    receiver = vars(factories.receiver(**factories.ADDRESSES["US"], country="US"))
    fields = {f"receiver_{part}": value for part, value in receiver.items()}
    order = factories.order(american, opal, status="booked", **fields)
    answer = page.post(f"/parcels/{order.uuid}/replace/", TO_GUAM)
    assert messages_at(answer, "item_1_description") == [f"{ASKED} Guam."]
    assert Order.objects.get().status == "booked"


def test_several_parcels_through_customs_are_booked_one_by_one(page: Client) -> None:
    box = {f"parcel_2_{name}": FROM_OHIO[name] for name in ("weight_lb", "length_in", "width_in", "height_in")}
    answer = page.post("/parcels/new/", TO_AE | MUGS | box | {"parcels": "2"})
    assert "Book these parcels one by one" in text(answer)
    added = page.post("/parcels/new/", TO_AE | {"add_parcel": ""})["Location"].partition("#")[0]
    assert "No parcel was added" in text(page.get(added))


def test_a_price_from_before_customs_were_asked_for_isnt_booked(
    easypost: SandboxClient, american: Sender, opal: User
) -> None:
    """Otherwise the purchase fails after it was promised."""
    receiver = factories.receiver(**factories.ADDRESSES["US"] | {"state": "GU"}, country="US")
    details, now = factories.details(american, receiver=receiver), timezone.now()
    quote = asking.ask_for_prices(american, details, by=opal, now=now)
    chosen: dict[str, Any] = {"code": quote.products[0]["code"], "form_token": quote.uuid, "pickup_date": None}
    with pytest.raises(booking_rules.ContentsMissing):
        bookings.submit(quote=quote, by=opal, now=now, **chosen)
    assert not Order.objects.exists()


HEADER = (
    "Name,Email,Address 1,City,State,Zip,Country,Weight (lb),Length (in),Width (in),Height (in),Contents,"
    "Customs description,Item value,Item quantity,Made in"
)


def checked(sender: Sender, by: User, row: str) -> Import:
    file = factories.taken(f"{HEADER}\r\n{row}".encode(), sender, by)
    for one in file.rows.all():
        checking.check_row(one.pk)
    return file


@pytest.mark.parametrize(
    ("item", "state", "problems"),
    [(",,,", "fix", ["item_1_value", "item_1_origin"]), ("Ceramic mug,9.50,2,US", "ready", [])],
)
def test_a_row_of_a_file_waits_for_its_contents(
    easypost: SandboxClient, american: Sender, opal: User, item: str, state: str, problems: list[str]
) -> None:
    file = checked(american, opal, f"Avery Lund,a@example.org,PSC 3 Box 4,APO,AE,09021,US,3.5,10,6,4,Mugs,{item}")
    row = file.rows.get()
    assert (row.state, list(row.problems)) == (state, problems)


def test_a_value_in_another_currency_is_declared_in_ours(easypost: SandboxClient, american: Sender, opal: User) -> None:
    """Within Oregon nobody asks for it. To Guam, 9.50 euros must not be declared as dollars."""
    row = "Avery Lund,a@example.org,1 Marine Drive,Hagatna,{},96910,US,3.5,10,6,4,Mugs,Ceramic mug,EUR 9.50,2,US"
    assert list(checked(american, opal, row.format("GU")).rows.get().problems) == ["item_1_value"]
    at_home = checked(american, opal, row.format("OR")).rows.get()
    assert (at_home.state, at_home.problems) == ("ready", {})
    checking.schedule_check(at_home, {"receiver_state": "GU"}, timezone.now())
    checking.check_row(at_home.pk)
    at_home.refresh_from_db()
    assert list(at_home.problems) == ["item_1_value"]
