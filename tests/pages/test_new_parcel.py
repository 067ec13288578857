"""New parcel: every rule of interface §2.1 with its message at the field, and nothing typed is lost."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from orders.drafting.parcel_details import ParcelDetails
from orders.models import Draft, Quote
from shipping_portal.accounts.models import Locality, LocalityList, Role, Sender, User
from tests import factories
from tests.pages.typed import ABROAD, AT_HOME, FROM_OHIO, messages_at, text, value_of
from tests.sandbox_carrier import SandboxCarrier

pytestmark = pytest.mark.django_db

Visit = Callable[[User], Client]


def entered() -> ParcelDetails:
    return ParcelDetails.from_json(Quote.objects.get().details)


def test_a_good_form_leads_to_its_prices(carrier: SandboxCarrier, listed: Client) -> None:
    answer = listed.post("/parcels/new/", AT_HOME)
    assert answer.status_code == 302
    draft = Draft.objects.get()
    assert draft.quote == Quote.objects.get()
    assert answer["Location"] == f"/parcels/drafts/{draft.uuid}/prices/"
    assert entered().receiver.suburb == "BRUNSWICK"  # the published spelling
    assert entered().receiver.state == "VIC"


def test_a_place_off_the_list_shows_at_both_fields_with_suggestions(listed: Client) -> None:
    answer = listed.post("/parcels/new/", {**AT_HOME, "receiver_postcode": "3065"})
    meant = "Did you mean Brunswick 3056 or Fitzroy 3065?"
    assert messages_at(answer, "receiver_suburb") == [f"Brunswick doesn't match 3065 on the carrier's list. {meant}"]
    assert messages_at(answer, "receiver_postcode") == ["Doesn't match Brunswick."]


def test_a_demo_says_how_few_places_it_knows(listed: Client, settings: Any) -> None:
    settings.DEMO = True
    answer = listed.post("/parcels/new/", {**AT_HOME, "receiver_postcode": "3065"})
    (message,) = messages_at(answer, "receiver_suburb")
    known = Locality.objects.filter(list__country="AU").count()
    assert message.endswith(f"This demo knows only {known} places in this country.")


def test_a_suggested_place_is_one_click_away(carrier: SandboxCarrier, listed: Client) -> None:
    answer = listed.post("/parcels/new/", {**AT_HOME, "receiver_postcode": "3065", "use_place": "FITZROY|VIC|3065"})
    assert answer.status_code == 302
    assert entered().receiver.suburb == "FITZROY"


def test_nearby_places_are_radios_and_what_was_typed_stays_until_one_is_chosen(listed: Client) -> None:
    page = listed.post("/parcels/new/", {**AT_HOME, "receiver_postcode": "3065"})
    assert "Not on the carrier's list. Did you mean: BRUNSWICK VIC 3056 FITZROY VIC 3065" in text(page)
    assert '<input type="radio" name="use_place" value="" checked>' in page.content.decode()
    again = listed.post("/parcels/new/", {**AT_HOME, "receiver_postcode": "3065", "use_place": ""})
    assert value_of(again, "receiver_postcode") == "3065"


def test_one_click_clears_the_company(carrier: SandboxCarrier, listed: Client) -> None:
    same = {**AT_HOME, "receiver_company": "Priya Nair"}
    assert 'name="clear_company"' in listed.post("/parcels/new/", same).content.decode()
    listed.post("/parcels/new/", {**same, "clear_company": "1"})
    assert entered().receiver.company == ""


@pytest.mark.parametrize(
    ("choice", "place", "sent"),
    [
        ("none", "", ""),
        ("authority_to_leave", "", "Authority To Leave"),
        ("authority_to_leave", "front porch", "Authority To Leave: front porch"),
        ("signature", "", "Signature on Delivery"),
    ],
)
def test_instructions_are_sent_in_industry_terms(
    carrier: SandboxCarrier, listed: Client, choice: str, place: str, sent: str
) -> None:
    listed.post("/parcels/new/", {**AT_HOME, "delivery_choice": choice, "delivery_place": place})
    assert entered().receiver.instructions == sent


def test_a_place_without_a_choice_asks_for_one(listed: Client) -> None:
    answer = listed.post("/parcels/new/", {**AT_HOME, "delivery_place": "front porch"})
    assert messages_at(answer, "delivery_choice") == [
        "Choose Authority To Leave or Signature on Delivery to go with “front porch”."
    ]


def test_instructions_are_counted_as_they_are_sent(listed: Client) -> None:
    typed = {**AT_HOME, "delivery_choice": "signature", "delivery_place": "x" * 190}
    assert messages_at(listed.post("/parcels/new/", typed), "delivery_place") == [
        "Together this is 213 of 200 characters."
    ]


def test_a_parcel_abroad_is_sent_with_its_contents(carrier: SandboxCarrier, listed: Client) -> None:
    assert listed.post("/parcels/new/", ABROAD).status_code == 302
    (item,) = entered().contents
    assert (item.description, item.quantity, item.origin) == ("Cotton t-shirt", 2, "BD")
    assert entered().contents_type == "Merchandise"


def test_a_parcel_abroad_needs_contents_and_one_at_home_ignores_them(carrier: SandboxCarrier, listed: Client) -> None:
    bare = {name: value for name, value in ABROAD.items() if not name.startswith("item_")}
    found = messages_at(listed.post("/parcels/new/", bare), "item_1_description")
    assert found == ["List what's inside. Customs ask for it on every parcel abroad."]
    listed.post("/parcels/new/", {**AT_HOME, "item_1_description": "Left over"})
    assert entered().contents == ()


def test_a_sender_in_the_united_states_has_its_own_words_and_units(carrier: SandboxCarrier, ohio: Client) -> None:
    shown = text(ohio.get("/parcels/new/"))
    for words in ("ZIP code", "Weight , lb", "Length , in", "City"):
        assert words in shown
    assert "Extra Cover" not in shown
    assert ohio.post("/parcels/new/", FROM_OHIO).status_code == 302
    assert (entered().measures.weight_units, entered().measures.dimension_units) == ("lb", "in")
    assert entered().receiver.postcode == "97205"


def test_canada_ships_within_canada_only(ottawa: Client) -> None:
    shown = ottawa.get("/parcels/new/").content.decode()
    assert 'value="CA"' in shown
    assert 'value="US"' not in shown
    abroad = {**FROM_OHIO, "receiver_country": "US"}
    assert messages_at(ottawa.post("/parcels/new/", abroad), "receiver_country") == [
        "Parcels from Canada go to Canada only."
    ]


def test_every_message_of_the_summary_is_at_a_field_too_and_none_twice(listed: Client) -> None:
    body = listed.post("/parcels/new/", {**AT_HOME, "weight_kg": "", "receiver_postcode": "3065"}).content.decode()
    start = body.index("error-summary")
    summary = body[start : body.index("<form", start)]
    links = re.findall(r'<a href="#(\w+)">(.*?)</a>', summary)
    assert len(links) == len({words for _, words in links}) == 3
    for control, words in links:
        assert f'id="{control}"' in body
        assert f'<ul class="errorlist" id="{control}_error"><li>{words}</li>' in body


def test_everything_typed_is_kept(listed: Client) -> None:
    answer = listed.post("/parcels/new/", {**AT_HOME, "weight_kg": "heavy", "receiver_line2": "{{7*7}} <img onerror>"})
    kept = {name: value_of(answer, name) for name in ("receiver_name", "receiver_line2", "weight_kg", "description")}
    assert kept == {
        "receiver_name": "Priya Nair",
        "receiver_line2": "{{7*7}} <img onerror>",
        "weight_kg": "heavy",
        "description": "Ceramic mugs",
    }


NO_PRICES = "there are no prices yet. Nothing was booked. Try again."
UNREADABLE = ("500", "503", "html200", "302", "truncate")


@pytest.mark.parametrize(
    ("verb", "found"),
    [
        ("accept-close", f"The carrier didn't answer in time, so {NO_PRICES}"),
        *((verb, f"The carrier gave an answer we can't read, so {NO_PRICES}") for verb in UNREADABLE),
        ("429", "The carrier asks us to slow down, so there are no prices yet. Nothing was booked. Try again in 1 s."),
        ("403", "The carrier gives this portal no prices just now. Nothing was booked. Contact us and quote A-"),
    ],
)
def test_a_carrier_in_trouble_keeps_the_form(carrier: SandboxCarrier, listed: Client, verb: str, found: str) -> None:
    carrier.trouble("quote", verb)
    answer = listed.post("/parcels/new/", AT_HOME)
    assert answer.status_code == 422
    assert found in text(answer)
    assert value_of(answer, "receiver_name") == "Priya Nair"


def test_the_carriers_own_refusal_shows_at_its_fields(listed: Client, carrier: SandboxCarrier) -> None:
    """Without a loaded list the carrier decides, and its message about the place shows at both fields."""
    LocalityList.objects.all().delete()
    answer = listed.post("/parcels/new/", {**AT_HOME, "receiver_state": "VIC", "receiver_postcode": "9999"})
    assert answer.status_code == 422
    assert messages_at(answer, "receiver_suburb") == messages_at(answer, "receiver_postcode") != []


def test_a_carrier_that_cannot_be_reached_keeps_the_form(listed: Client) -> None:
    answer = listed.post("/parcels/new/", AT_HOME)  # nothing listens at the tests' default address
    assert "The carrier didn't answer, so there are no prices yet. Nothing was booked. Try again." in text(answer)
    assert value_of(answer, "receiver_name") == "Priya Nair"


def test_too_many_price_checks_wait_a_minute(
    carrier: SandboxCarrier, listed: Client, quill: Sender, alice: User
) -> None:
    Sender.objects.filter(pk=quill.pk).update(quotes_a_minute=1)
    carrier.trouble("quote", "500")
    listed.post("/parcels/new/", AT_HOME)
    answer = listed.post("/parcels/new/", AT_HOME)
    assert "This account asks for prices at most 1 times a minute, and has." in text(answer)
    assert value_of(answer, "receiver_name") == "Priya Nair"


def test_a_suspended_sender_reads_why(listed: Client, quill: Sender, sam: User) -> None:
    quill.suspend(by=sam, category="dangerous_goods", text="Batteries in S7K2QX.", note="-", now=timezone.now())
    for answer, status in ((listed.get("/parcels/new/"), 200), (listed.post("/parcels/new/", AT_HOME), 403)):
        assert answer.status_code == status
        assert "Batteries in S7K2QX." in text(answer)
    assert not Quote.objects.exists()


def test_a_sender_without_a_pickup_address_is_sent_to_its_form(visit: Visit, db: None) -> None:
    owner = factories.user("new@quill.example")
    factories.member(factories.sender(), owner, role=Role.OWNER)
    assert visit(owner).get("/parcels/new/")["Location"] == "/start/"


def test_a_quote_and_an_order_fill_in_their_parcel(listed: Client, quill: Sender, alice: User) -> None:
    order = factories.order(quill, alice)
    for source in (f"quote={order.quote.uuid}", f"again={order.uuid}"):
        answer = listed.get(f"/parcels/new/?{source}", follow=True)
        assert value_of(answer, "receiver_name") == "Noor Tamsin"
        assert value_of(answer, "weight_kg") == "2.4"
        assert 'value="authority_to_leave" ' in answer.content.decode()


def test_a_refused_parcel_comes_back_with_the_carriers_words(listed: Client, quill: Sender, alice: User) -> None:
    said = {"text": "Weight: is more than 25 kg.", "fields": {"weight": ["is more than 25 kg"]}}
    order = factories.order(quill, alice, status="rejected", problem=said)
    answer = listed.get(f"/parcels/new/?again={order.uuid}", follow=True)
    assert "It wasn't booked, and you weren't charged. Fix it, then check the prices" in text(answer)
    assert messages_at(answer, "weight_kg") == ["Weight: is more than 25 kg."]


def test_another_accounts_parcel_fills_in_nothing(quill: Sender, alice: User, bob: User, visit: Visit) -> None:
    order = factories.order(quill, alice)
    for source in (f"quote={order.quote.uuid}", f"again={order.uuid}", "quote=nonsense"):
        assert visit(bob).get(f"/parcels/new/?{source}").status_code == 404


def test_one_click_confirms_a_line_that_ends_like_its_place_as_the_street(
    carrier: SandboxCarrier, listed: Client
) -> None:
    typed = {**AT_HOME, "receiver_line1": "9 Brunswick Vic"}
    answer = listed.post("/parcels/new/", typed)
    assert messages_at(answer, "receiver_line1") == [
        "Leave out “Brunswick Vic” here. It's printed from the suburb field."
    ]
    assert 'name="is_street" value="receiver_line1|9 Brunswick Vic"' in answer.content.decode()
    pressed = {**typed, "is_street": "receiver_line1|9 Brunswick Vic"}
    answer = listed.post("/parcels/new/", {**pressed, "receiver_name": ""})
    assert not messages_at(answer, "receiver_line1")
    assert value_of(answer, "receiver_line1_is_street") == "9 Brunswick Vic"
    answer = listed.post("/parcels/new/", {**pressed, "receiver_line1": "8 Brunswick Vic"})
    assert messages_at(answer, "receiver_line1")  # the answer was about another line
    assert listed.post("/parcels/new/", pressed).status_code == 302
    assert entered().receiver.line1 == "9 Brunswick Vic"


def test_a_street_in_the_address_book_is_not_asked_about_again(
    carrier: SandboxCarrier, listed: Client, quill: Sender
) -> None:
    known = factories.saved_receiver(quill, line1="9 Brunswick Vic", suburb="BRUNSWICK", state="VIC", postcode="3056")
    typed = {**AT_HOME, "receiver_line1": known.line1}
    assert listed.post("/parcels/new/", typed).status_code == 302
    assert messages_at(listed.post("/parcels/new/", {**typed, "receiver_line2": known.line1}), "receiver_line2")


def test_a_state_that_does_not_match_the_place_offers_both_fixes(carrier: SandboxCarrier, listed: Client) -> None:
    answer = listed.post("/parcels/new/", {**AT_HOME, "receiver_state": "New South Wales"})
    assert messages_at(answer, "receiver_suburb") == ["3056 is in VIC; you wrote NSW."]
    assert messages_at(answer, "receiver_state") == ["Doesn't match 3056."]
    assert "One of the two is wrong. Which did you mean: BRUNSWICK VIC 3056" in text(answer)
    press = {**AT_HOME, "receiver_state": "NSW", "use_place": "BRUNSWICK|VIC|3056"}
    assert listed.post("/parcels/new/", press).status_code == 302


@pytest.mark.parametrize("typed", ["<script>", "4" * 40, "555", "1300 975 707"])
def test_a_phone_that_cannot_be_used_at_home_is_left_out_with_a_notice(
    typed: str, carrier: SandboxCarrier, listed: Client
) -> None:
    answer = listed.post("/parcels/new/", {**AT_HOME, "receiver_phone": typed})
    assert (answer.status_code, entered().receiver.phone) == (302, "")
    assert f"The phone “{typed}” is left out." in text(listed.get(answer["Location"]))
    abroad = listed.post("/parcels/new/", {**ABROAD, "receiver_phone": typed})
    assert messages_at(abroad, "receiver_phone")  # a parcel that leaves Australia needs it


def test_an_extension_goes_into_the_instructions_or_is_named_as_left_out(
    carrier: SandboxCarrier, listed: Client
) -> None:
    typed = {**AT_HOME, "receiver_phone": "03 7010 4321 ext 12"}
    answer = listed.post("/parcels/new/", {**typed, "delivery_choice": "signature"})
    assert (entered().receiver.phone, entered().receiver.instructions) == (
        "(03) 7010 4321",
        "Signature on Delivery, phone ext. 12",
    )
    assert "Extension 12 of the phone is in the delivery instructions." in text(listed.get(answer["Location"]))
    Quote.objects.all().delete()
    answer = listed.post("/parcels/new/", {**typed, "delivery_choice": "none"})
    assert entered().receiver.instructions == ""
    assert "Extension 12 of the phone is left out" in text(listed.get(answer["Location"]))


def test_a_copied_parcel_of_a_saved_size_is_filled_in_as_if_typed(listed: Client, quill: Sender, alice: User) -> None:
    order = factories.order(quill, alice)
    order.entered |= {"weight": "9.5000", "length": "45.000"}  # as copied from the size
    order.save()
    draft = listed.get(f"/parcels/new/?again={order.uuid}")["Location"]
    shown = listed.get(draft).context["form"]
    assert [shown[name].value() for name in ("weight_kg", "length_cm")] == ["9.5", "45"]
