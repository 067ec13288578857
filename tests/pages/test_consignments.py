"""Several parcels in an order, from the form to the statement: added by one click, shown together."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from orders.booking import bookings
from orders.booking.limits import NOT_COUNTED
from orders.drafting import further_parcels
from orders.list.export import read_orders
from orders.models import Draft, Label, Order
from orders.models.statuses import Status
from shipping_portal.accounts.models import Sender, User
from tests import factories
from tests.pages.typed import ABROAD, AT_HOME, BY_SCRIPT, messages_at, text
from tests.sandbox_carrier import SandboxCarrier

pytestmark = pytest.mark.django_db

Visit = Callable[[User], Client]


@pytest.fixture
def page(alice: User, visit: Visit, localities: None, carrier: SandboxCarrier) -> Client:
    return visit(alice)


def add(page: Client, typed: dict[str, Any] = AT_HOME, **more: str) -> str:
    """Press “Another parcel” in a form. Return the draft's URL."""
    answer = page.post("/parcels/new/", {**typed, "add_parcel": "", **more})
    assert answer.status_code == 302, text(answer)
    return str(answer["Location"]).partition("#")[0]


def shown(page: Client, address: str) -> dict[str, str]:
    """Return the values of the form's controls."""
    body = page.get(address).content.decode()
    start = body.index('id="parcel-form"')
    found = dict(
        re.findall(r'<input[^>]*name="([^"]+)"[^>]*?value="([^"]*)"', body[start : body.index("</form>", start)])
    )
    places = dict(re.findall(r'<option value="([^"]+)" selected', body) and [])
    return {name: value for name, value in {**found, **places}.items() if name not in {"size", "product"}}


def booked(page: Client, parcels: int = 3) -> list[Order]:
    """Enter an order of this many parcels, and press Book without JavaScript."""
    typed = {**AT_HOME, "parcels": str(parcels)}
    for number in range(2, parcels + 1):
        typed |= {f"parcel_{number}_{name}": AT_HOME[name] for name in ("length_cm", "width_cm", "height_cm")}
        typed[f"parcel_{number}_weight_kg"] = str(number)
    prices = str(page.post("/parcels/new/", typed)["Location"])
    form = page.get(prices).content.decode().partition(f'action="{prices}book/"')[2]
    chosen = {name: form.partition(f'name="{name}" value="')[2].partition('"')[0] for name in ("form_token", "product")}
    answer = page.post(f"{prices}book/", chosen)
    assert answer.status_code == 302, text(answer)
    made = list(Order.objects.exclude(consignment=None).order_by("pk"))
    assert answer["Location"] == f"/parcels/{made[0].uuid}/booking/"
    return made


def work_all() -> list[Order]:
    for order in Order.objects.filter(due_at__isnull=False).order_by("pk"):
        bookings.process_booking(order.pk)
    return list(Order.objects.order_by("pk"))


def test_one_click_adds_a_parcel_like_the_last_and_keeps_what_is_typed(page: Client) -> None:
    assert 'name="add_parcel" value=""' in page.get("/parcels/new/").content.decode()
    controls = shown(page, add(page))
    assert controls["parcels"] == "2"
    assert [controls[f"parcel_2_{name}"] for name in ("weight_kg", "length_cm")] == ["2.4", "32"]
    assert controls["receiver_name"] == "Priya Nair"
    assert Draft.objects.count() == 1


def test_a_half_typed_form_takes_another_parcel_too(page: Client) -> None:
    controls = shown(page, add(page, {"receiver_name": "Priya", "weight_kg": "abc"}))
    assert (controls["parcels"], controls["weight_kg"], controls["parcel_2_weight_kg"]) == ("2", "abc", "abc")


def test_a_saved_size_is_added_by_one_click(page: Client, quill: Sender) -> None:
    size = factories.size(quill, name="Satchel")
    draft = add(page, add_parcel=str(size.uuid))
    assert shown(page, draft)["parcel_2_size"] == str(size.uuid)
    assert shown(page, draft)["parcel_2_weight_kg"] == f"{size.weight.normalize():f}"


def test_a_removed_parcel_disappears_and_later_ones_move_up(page: Client) -> None:
    typed = {**AT_HOME, "parcels": "3", "parcel_2_weight_kg": "2", "parcel_3_weight_kg": "3"}
    answer = page.post("/parcels/new/", {**typed, "remove_parcel": "2"})
    controls = shown(page, answer["Location"].partition("#")[0])
    assert (controls["parcels"], controls["parcel_2_weight_kg"]) == ("2", "3")
    assert "parcel_3_weight_kg" not in controls


@pytest.mark.parametrize("count", ["0", "-1", "11", "99", "1e3", "²", "x", "1" * 50])
def test_an_impossible_count_becomes_one_or_the_maximum(page: Client, count: str) -> None:
    answer = page.post("/parcels/new/", {**AT_HOME, "parcels": count, "add_parcel": ""})
    assert answer.status_code == 302
    assert further_parcels.count_in({"parcels": count}) in {1, further_parcels.MOST}


def test_an_order_has_no_more_than_ten_parcels(page: Client) -> None:
    draft = add(page, {**AT_HOME, "parcels": "10"})
    assert shown(page, draft)["parcels"] == "10"
    assert 'name="add_parcel"' not in page.get(draft).content.decode()


@pytest.mark.parametrize("press", [{"remove_parcel": "1"}, {"remove_parcel": "7"}, {"remove_parcel": "x"}])
def test_removing_a_parcel_that_does_not_exist_changes_nothing(page: Client, press: dict[str, str]) -> None:
    answer = page.post("/parcels/new/", {**AT_HOME, "parcels": "2", "parcel_2_weight_kg": "7", **press})
    assert shown(page, answer["Location"].partition("#")[0])["parcel_2_weight_kg"] == "7"


def test_a_missing_value_of_a_further_parcel_is_shown_at_its_field(page: Client) -> None:
    answer = page.post("/parcels/new/", {**AT_HOME, "parcels": "2"})
    assert messages_at(answer, "parcel_2_weight_kg") == ["Enter the weight of parcel 2."]
    assert "the weight of parcel 2" in text(answer)


def test_parcels_to_another_country_are_booked_one_by_one(page: Client) -> None:
    box = {f"parcel_2_{name}": ABROAD[name] for name in ("weight_kg", "length_cm", "width_cm", "height_cm")}
    answer = page.post("/parcels/new/", {**ABROAD, **box, "parcels": "2"})
    assert answer.status_code == 422
    assert "Book these parcels one by one: customs ask for a list" in text(answer)


@pytest.mark.parametrize("left", [{"item_1_description": ""}, {"item_1_value": "28,5"}, {"receiver_name": ""}])
def test_what_no_field_can_cure_is_said_before_more_is_filled_in(page: Client, left: dict[str, str]) -> None:
    """Otherwise somebody lists the contents first, and reads only then that one parcel goes at a time."""
    box = {f"parcel_2_{name}": ABROAD[name] for name in ("weight_kg", "length_cm", "width_cm", "height_cm")}
    answer = page.post("/parcels/new/", {**ABROAD, **box, **left, "parcels": "2"}, headers=BY_SCRIPT)
    assert "Book these parcels one by one: customs ask for a list" in answer.json()["html"]


def test_another_parcel_is_refused_at_once_where_the_first_goes_abroad(page: Client) -> None:
    address = add(page, ABROAD)
    answer = page.get(address)
    assert "Book one parcel at a time: customs ask for a list" in text(answer)
    assert "One at a time: customs ask what is in each." in text(answer)
    assert 'name="add_parcel" value="" hidden>' in answer.content.decode()
    kept = shown(page, address)
    assert kept["parcels"] == "1"
    assert kept["item_1_value"] == "28.00"


def test_a_return_or_a_correction_has_one_parcel(page: Client, quill: Sender, alice: User) -> None:
    sent = factories.order(quill, alice, status="booked", progress="delivered", progress_at=timezone.now())
    page.post(f"/parcels/{sent.uuid}/return/")
    draft = Draft.objects.get(source="returned")
    answer = page.get(f"/parcels/drafts/{draft.uuid}/")
    assert 'name="add_parcel"' not in answer.content.decode()
    page.post(f"/parcels/drafts/{draft.uuid}/", {**AT_HOME, "parcels": "3", "add_parcel": ""})
    draft.refresh_from_db()
    assert "parcels" not in draft.values


def test_book_makes_three_orders_and_their_pages_link_to_each_other(page: Client, carrier: SandboxCarrier) -> None:
    first, *_ = booked(page)
    assert "Parcels 1, 2 and 3 are being booked." in text(page.get(f"/parcels/{first.uuid}/booking/"))
    made = work_all()
    assert len(carrier.ledger("booked")) == 3
    answer = page.get(f"/parcels/{made[1].uuid}/")
    assert "3 of 3 are booked for $" in text(answer)
    for other in (made[0], made[2]):
        assert f'href="/parcels/{other.uuid}/"' in answer.content.decode()
    assert "Print 3 labels" in text(answer)


def test_the_bench_and_the_price_say_which_of_the_three_each_parcel_is(page: Client) -> None:
    booked(page)
    second = work_all()[1]
    Label.objects.all().delete()
    for order in Order.objects.filter(parcel_number__lt=3):
        factories.stored_label(order)
    row = text(page.get("/parcels/print/")).partition("Queue")[2]
    assert "1 of 3" in row
    assert "2 of 3" in row
    assert "Price 2 of 3" in text(page.get(f"/parcels/{second.uuid}/")).replace("Price and charges", "Price")


def test_the_prices_count_parcels_of_one_size_together(page: Client, carrier: SandboxCarrier) -> None:
    typed = {**AT_HOME, "parcels": "3"}
    for number, weight in ((2, "2.4"), (3, "5")):
        sides = {f"parcel_{number}_{name}": AT_HOME[name] for name in ("length_cm", "width_cm", "height_cm")}
        typed |= sides | {f"parcel_{number}_weight_kg": weight}
    shown = text(page.post("/parcels/new/", typed, follow=True))
    assert "2 parcels of 2.4 kg, 32 × 24 × 11 cm; 5 kg, 32 × 24 × 11 cm · Ceramic mugs" in shown


def test_price_details_of_several_parcels_say_that_they_are_the_sum(page: Client) -> None:
    box = {f"parcel_2_{name}": AT_HOME[name] for name in ("weight_kg", "length_cm", "width_cm", "height_cm")}
    prices = page.post("/parcels/new/", {**AT_HOME, **box, "parcels": "2"})["Location"]
    assert "Price details of 2 parcels" in text(page.get(prices))
    alone = page.post("/parcels/new/", AT_HOME)["Location"]
    assert "Price details of Standard Pickup" in text(page.get(alone))


def test_the_wait_page_of_one_parcel_shows_the_others_outcomes(page: Client) -> None:
    made = booked(page)
    wait = f"/parcels/{made[2].uuid}/booking/"
    seen = page.get(wait).context["state"]
    assert page.get(wait, {"seen": seen}).status_code == 204
    bookings.process_booking(made[0].pk)
    words = text(page.get(wait, {"seen": seen}))
    assert "1 of 3 is booked for $" in words
    assert "Parcels 2 and 3 are being booked." in words


def test_a_refused_parcel_costs_nothing_and_every_page_says_so(page: Client, carrier: SandboxCarrier) -> None:
    made = booked(page)
    for order in made[:2]:
        bookings.process_booking(order.pk)
    carrier.trouble("book", "422")
    bookings.process_booking(made[2].pk)
    for order in made[:2]:
        words = text(page.get(f"/parcels/{order.uuid}/"))
        assert "2 of 3 are booked" in words
        assert "Nothing was charged for parcel 3." in words
    refused = text(page.get(f"/parcels/{made[2].uuid}/booking/"))
    assert "Nothing was charged for parcel 3." in refused
    assert "2 of 3 are booked" in refused


def test_a_refreshed_page_shows_the_others_outcomes(page: Client) -> None:
    made = booked(page)
    bookings.process_booking(made[0].pk)
    state = page.get(f"/parcels/{made[0].uuid}/").context["state"]
    assert page.get(f"/parcels/{made[0].uuid}/", {"seen": state}).status_code == 204
    bookings.process_booking(made[1].pk)
    assert page.get(f"/parcels/{made[0].uuid}/", {"seen": state}).status_code == 200


def test_a_second_press_of_book_leads_to_the_same_parcel(page: Client) -> None:
    made = booked(page)
    draft = Draft.objects.get()
    assert draft.quote
    again = {"form_token": str(draft.quote.uuid), "product": made[0].product_code}
    answer = page.post(f"/parcels/drafts/{draft.uuid}/prices/book/", again)
    assert answer["Location"] == f"/parcels/{made[0].uuid}/booking/"
    assert Order.objects.count() == 3


def test_the_list_says_which_of_the_three_each_parcel_is(page: Client, quill: Sender, alice: User) -> None:
    factories.order(quill, alice, status="booked")
    booked(page)
    words = text(page.get("/parcels/"))
    assert all(f"{place} of 3 · BRUNSWICK" in words for place in (1, 2, 3))


def test_an_export_has_the_parcels_number_in_its_order(page: Client, quill: Sender) -> None:
    booked(page)
    assert sorted(one.place_in_order for one in read_orders(Order.objects.all(), quill)) == [
        "1 of 3",
        "2 of 3",
        "3 of 3",
    ]


def test_other_accounts_parcels_and_drafts_are_not_found(page: Client, bob: User, visit: Visit) -> None:
    made, draft = booked(page), Draft.objects.get()
    stranger = visit(bob)
    assert stranger.get(f"/parcels/{made[1].uuid}/").status_code == 404
    answer = stranger.post(f"/parcels/drafts/{draft.uuid}/", {**AT_HOME, "add_parcel": ""})
    assert answer.status_code == 404
    before = draft.values
    draft.refresh_from_db()
    assert draft.values == before


def test_a_copy_has_only_that_one_parcel(page: Client) -> None:
    made = booked(page)
    answer = page.get(f"/parcels/new/?again={made[1].uuid}")
    controls = shown(page, answer["Location"])
    assert (controls["parcels"], controls["weight_kg"]) == ("1", "2")


def test_a_cancelled_parcel_leaves_the_others_booked(page: Client) -> None:
    made = booked(page)
    work_all()
    Order.objects.filter(pk=made[0].pk).update(status=Status.CANCELLED, cancelled_at=timezone.now(), **NOT_COUNTED)
    words = text(page.get(f"/parcels/{made[1].uuid}/"))
    assert "2 of 3 are booked" in words
    assert "Parcel 1 is cancelled." in words
    assert "Nothing was charged" not in words
