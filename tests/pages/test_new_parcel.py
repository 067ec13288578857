"""New parcel: every rule of interface §2.1 with its message at the field, and nothing typed is lost."""

import re
from collections.abc import Callable

import pytest
from django.test import Client
from django.utils import timezone

from orders.entry import Entry
from orders.models import Order, Quote
from shipping_portal.accounts.models import Locality, LocalityList, Role, Sender, User
from tests import factories
from tests.pages.typed import ABROAD, AT_HOME, FROM_OHIO, messages_at, text, title, value_of
from tests.sandbox_carrier import SandboxCarrier

pytestmark = pytest.mark.django_db

Visit = Callable[[User], Client]


@pytest.fixture
def page(alice: User, localities: None, visit: Visit) -> Client:
    return visit(alice)


@pytest.fixture
def ohio(localities: None, visit: Visit) -> Client:
    business = factories.sender(name="Ohio Parts", country="US")
    owner = factories.user("uma@parts.example")
    factories.member(business, owner)
    factories.pickup_address(business, email=owner.email)
    return visit(owner)


@pytest.fixture
def ottawa(localities: None, visit: Visit) -> Client:
    business = factories.sender(name="Claire Ceramics", country="CA")
    owner = factories.user("claire@ceramics.example")
    factories.member(business, owner)
    factories.pickup_address(business, email=owner.email)
    return visit(owner)


def entered() -> Entry:
    return Entry.from_json(Quote.objects.get().entry)


def test_a_good_form_leads_to_its_prices(carrier: SandboxCarrier, page: Client) -> None:
    answer = page.post("/parcels/new/", AT_HOME)
    assert answer.status_code == 302
    assert answer["Location"] == f"/parcels/new/{Quote.objects.get().uuid}/"
    assert entered().receiver.suburb == "BRUNSWICK"  # the published spelling
    assert entered().receiver.state == "VIC"


LONG = "x" * 256
RULES = [
    ("receiver_name", "", "Enter the name of the person who receives it."),
    ("receiver_name", "a\x00b", "Use plain text on one line, without hidden characters."),
    ("receiver_name", "\u200b\u202e", "Use plain text on one line, without hidden characters."),
    ("receiver_name", "...", "Use at least one letter or digit."),
    ("receiver_name", "Прия", "Write this in Latin letters: “П” cannot be printed."),
    ("receiver_name", "x" * 121, "Use at most 120 characters; this has 121."),
    ("receiver_company", "priya  NAIR", "Contact and company are the same. Clear company so it prints once."),
    ("receiver_country", "ZZ", "Parcels from Australia go to Australia, Canada and the United States only."),
    ("receiver_country", "", "Choose the country it goes to."),
    ("receiver_line1", "", "Enter the street and number, or the PO box."),
    (
        "receiver_line1",
        "4 Sample St\r\nBcc: a@b.example",
        "Use plain text on one line, without hidden characters.",
    ),
    ("receiver_line1", LONG, "Use at most 255 characters; this has 256."),
    (
        "receiver_line1",
        "4 Sample Street, Brunswick VIC 3056",
        "Leave out “Brunswick VIC 3056” here. It's printed from the suburb field.",
    ),
    (
        "receiver_line2",
        "Unit 2, Australia",
        "Leave out “Australia” here. It's printed from the suburb field.",
    ),
    ("receiver_suburb", "", "Enter the suburb."),
    ("receiver_postcode", "", "Enter the postcode."),
    ("receiver_postcode", "٣٠٥٦", "Write this in Latin letters: “٣” cannot be printed."),
    ("receiver_email", "", "Enter the receiver's e-mail address."),
    ("receiver_email", "a@b", "Write the whole address, such as name@example.com."),
    ("receiver_email", "a@x.example\nbcc", "Write the whole address, such as name@example.com."),
    ("receiver_email", "a@x.example\n", "Use plain text on one line, without hidden characters."),
    ("receiver_email", "a@ｘ.com", "Write the address in plain letters, such as name@example.com."),
    (
        "receiver_phone",
        "<script>",
        "Check this phone number: write it with its area code, or with + and the country's code.",
    ),
    (
        "receiver_phone",
        "4" * 40,
        "Check this phone number: write it with its area code, or with + and the country's code.",
    ),
    ("delivery_choice", "leave it", "Choose None, Authority To Leave or Signature on Delivery."),
    ("description", "", "Say what's inside, such as “ceramic mugs”."),
    ("weight_kg", "", "Enter the weight."),
    ("weight_kg", "NaN", "Write this as a number, such as 1.2."),
    ("weight_kg", "Infinity", "Write this as a number, such as 1.2."),
    ("weight_kg", "-1", "Write this as a number, such as 1.2."),
    ("weight_kg", "1e999999999", "Write this as a number, such as 1.2."),
    ("weight_kg", "1_0", "Write this as a number, such as 1.2."),
    ("weight_kg", "１２", "Write this as a number, such as 1.2."),
    ("weight_kg", "1,5", "Use a dot for the decimals: 1.5."),
    ("weight_kg", "0", "This must be more than 0."),
    ("weight_kg", "1.2345", "Use at most 3 decimals."),
    ("weight_kg", "1" * 20, "This is more than any parcel has. Check the number."),
    ("length_cm", "", "Enter the length. The carrier needs all three."),
    ("width_cm", "0", "This must be more than 0."),
    ("height_cm", "abc", "Write this as a number, such as 32."),
    ("cover_amount", "1500.01", "Extra Cover goes up to 1500."),
    ("cover_amount", "1.234", "Use at most 2 decimals."),
]


@pytest.mark.parametrize(("name", "typed", "message"), RULES, ids=[f"{n}={t[:20]!r}" for n, t, _ in RULES])
def test_a_broken_rule_is_told_at_its_field(page: Client, name: str, typed: str, message: str) -> None:
    answer = page.post("/parcels/new/", {**AT_HOME, name: typed})
    assert answer.status_code == 422
    assert message in messages_at(answer, name)
    assert title(answer) == "Error: New parcel – Shipping Portal"
    assert not Quote.objects.exists()


@pytest.mark.parametrize("name", ["receiver_suburb", "receiver_postcode"])
def test_a_pair_off_the_list_is_told_at_both_fields_with_what_was_meant(page: Client, name: str) -> None:
    answer = page.post("/parcels/new/", {**AT_HOME, "receiver_postcode": "3065"})
    told = messages_at(answer, name)
    assert told == [
        "Brunswick doesn't match 3065 on the carrier's list. Did you mean Brunswick 3056 or Fitzroy 3065?"
    ]


def test_a_suggested_place_is_one_press_away(carrier: SandboxCarrier, page: Client) -> None:
    answer = page.post(
        "/parcels/new/", {**AT_HOME, "receiver_postcode": "3065", "use_place": "FITZROY|VIC|3065"}
    )
    assert answer.status_code == 302
    assert entered().receiver.suburb == "FITZROY"


def test_the_company_is_cleared_by_one_press(carrier: SandboxCarrier, page: Client) -> None:
    same = {**AT_HOME, "receiver_company": "Priya Nair"}
    assert 'name="clear_company"' in page.post("/parcels/new/", same).content.decode()
    page.post("/parcels/new/", {**same, "clear_company": "1"})
    assert entered().receiver.company == ""


@pytest.mark.parametrize("name", ["weight_kg", "receiver_name", "delivery_choice"])
def test_a_field_sent_twice_is_refused_rather_than_guessed(page: Client, name: str) -> None:
    answer = page.post("/parcels/new/", {**AT_HOME, name: [AT_HOME[name], AT_HOME[name]]})
    assert "This was sent twice. Fill it in once." in messages_at(answer, name)


def test_a_long_line_is_allowed_and_warned_about(carrier: SandboxCarrier, page: Client) -> None:
    line = "Building 7, Loading Dock North, 4 Sample St Rear"
    answer = page.post("/parcels/new/", {**AT_HOME, "receiver_line1": line}, follow=True)
    assert f"Address line 1 is {len(line)} of 40 characters. The end may not fit on the label." in text(
        answer
    )


def test_a_parcel_to_its_own_start_is_warned_about(carrier: SandboxCarrier, page: Client) -> None:
    home = {"receiver_line1": "12 Example Lane", "receiver_suburb": "Fitzroy", "receiver_postcode": "3065"}
    answer = page.post("/parcels/new/", {**AT_HOME, **home}, follow=True)
    assert "This parcel goes to the address it starts from." in text(answer)


def test_a_postcode_keeps_its_leading_zero(carrier: SandboxCarrier, page: Client) -> None:
    Locality.objects.filter(postcode="0800").update(suburb="DARWIN CITY", folded="darwin city")
    page.post("/parcels/new/", {**AT_HOME, "receiver_suburb": "Darwin City", "receiver_postcode": "0800 "})
    assert entered().receiver.postcode == "0800"


@pytest.mark.parametrize(
    ("choice", "place", "sent"),
    [
        ("none", "", ""),
        ("authority_to_leave", "", "Authority To Leave"),
        ("authority_to_leave", "front porch", "Authority To Leave: front porch"),
        ("signature", "", "Signature on Delivery"),
    ],
)
def test_instructions_go_out_in_industry_terms(
    carrier: SandboxCarrier, page: Client, choice: str, place: str, sent: str
) -> None:
    page.post("/parcels/new/", {**AT_HOME, "delivery_choice": choice, "delivery_place": place})
    assert entered().receiver.instructions == sent


def test_a_place_without_a_choice_asks_for_one(page: Client) -> None:
    answer = page.post("/parcels/new/", {**AT_HOME, "delivery_place": "front porch"})
    assert messages_at(answer, "delivery_choice") == [
        "Choose Authority To Leave or Signature on Delivery to go with “front porch”."
    ]


def test_instructions_are_counted_as_they_are_sent(page: Client) -> None:
    typed = {**AT_HOME, "delivery_choice": "signature", "delivery_place": "x" * 190}
    assert messages_at(page.post("/parcels/new/", typed), "delivery_place") == [
        "Together this is 213 of 200 characters."
    ]


def test_a_parcel_abroad_carries_its_contents(carrier: SandboxCarrier, page: Client) -> None:
    assert page.post("/parcels/new/", ABROAD).status_code == 302
    (item,) = entered().contents
    assert (item.description, item.quantity, item.origin) == ("Cotton t-shirt", 2, "BD")
    assert entered().contents_type == "Merchandise"


ABROAD_RULES = [
    (
        "receiver_phone",
        "",
        "Add the receiver's phone. Parcels leaving Australia need an email and a phone number.",
    ),
    ("item_1_value", "0", "Enter the value of one, more than 0."),
    ("item_1_quantity", "0", "Enter how many, 1 or more."),
    ("item_1_origin", "Bangladesh", "Use at most 2 characters; this has 10."),
    ("item_1_origin", "", "Enter the two letters of the country it was made in, such as AU."),
    ("item_1_hs_code", "123", "An HS code has 6 to 10 digits."),
    ("item_1_description", "ab", "Say what it is, in 3 characters or more."),
    ("contents_type", "Contraband", "Choose one of the kinds on the list."),
]


@pytest.mark.parametrize(("name", "typed", "message"), ABROAD_RULES)
def test_a_broken_rule_of_a_parcel_abroad_is_told_at_its_field(
    page: Client, name: str, typed: str, message: str
) -> None:
    assert message in messages_at(page.post("/parcels/new/", {**ABROAD, name: typed}), name)


def test_a_parcel_abroad_needs_contents_and_one_at_home_ignores_them(
    carrier: SandboxCarrier, page: Client
) -> None:
    bare = {name: value for name, value in ABROAD.items() if not name.startswith("item_")}
    told = messages_at(page.post("/parcels/new/", bare), "item_1_description")
    assert told == ["List what is inside: customs ask for it on every parcel abroad."]
    page.post("/parcels/new/", {**AT_HOME, "item_1_description": "Left over"})
    assert entered().contents == ()


def test_a_sender_in_the_united_states_has_its_own_words_and_units(
    carrier: SandboxCarrier, ohio: Client
) -> None:
    shown = text(ohio.get("/parcels/new/"))
    for words in ("ZIP code", "Weight, lb", "Length, in", "City"):
        assert words in shown
    assert "Extra Cover" not in shown
    assert ohio.post("/parcels/new/", FROM_OHIO).status_code == 302
    assert (entered().measures.weight_units, entered().measures.dimension_units) == ("lb", "in")
    assert entered().receiver.postcode == "97205"


@pytest.mark.parametrize("amount", ["100", "0"])
def test_extra_cover_is_refused_outside_australia(ohio: Client, amount: str) -> None:
    answer = ohio.post("/parcels/new/", {**FROM_OHIO, "cover_amount": amount})
    assert "Extra Cover is for parcels from Australia only." in text(answer)
    assert not Quote.objects.exists()


def test_canada_ships_within_canada_only(ottawa: Client) -> None:
    shown = ottawa.get("/parcels/new/").content.decode()
    assert 'value="CA"' in shown
    assert 'value="US"' not in shown
    abroad = {**FROM_OHIO, "receiver_country": "US"}
    assert messages_at(ottawa.post("/parcels/new/", abroad), "receiver_country") == [
        "Parcels from Canada go to Canada only."
    ]


def test_every_message_of_the_summary_stands_at_a_field_too(page: Client) -> None:
    body = page.post(
        "/parcels/new/", {**AT_HOME, "weight_kg": "", "receiver_postcode": "3065"}
    ).content.decode()
    summary = body[
        body.index('class="error-summary"') : body.index("<form", body.index('class="error-summary"'))
    ]
    links = re.findall(r'<a href="#(\w+)">(.*?)</a>', summary)
    assert len(links) == 3
    for control, words in links:
        assert f'id="{control}"' in body
        assert f'<ul class="errorlist" id="{control}_error"><li>{words}</li>' in body


def test_all_that_was_typed_is_kept(page: Client) -> None:
    answer = page.post(
        "/parcels/new/", {**AT_HOME, "weight_kg": "heavy", "receiver_line2": "{{7*7}} <img onerror>"}
    )
    kept = {
        name: value_of(answer, name)
        for name in ("receiver_name", "receiver_line2", "weight_kg", "description")
    }
    assert kept == {
        "receiver_name": "Priya Nair",
        "receiver_line2": "{{7*7}} <img onerror>",
        "weight_kg": "heavy",
        "description": "Ceramic mugs",
    }


@pytest.mark.parametrize(
    ("verb", "told"),
    [
        ("500", "The carrier didn't answer, so there are no prices yet. Nothing was booked. Try again."),
        ("garbage", "The carrier didn't answer, so there are no prices yet. Nothing was booked. Try again."),
        ("429", "The carrier didn't answer, so there are no prices yet. Nothing was booked. Try again."),
        (
            "403",
            "The carrier gives this portal no prices just now. Nothing was booked. Contact us and quote A-",
        ),
    ],
)
def test_a_carrier_in_trouble_keeps_the_form(
    carrier: SandboxCarrier, page: Client, verb: str, told: str
) -> None:
    carrier.trouble("quote", verb)
    answer = page.post("/parcels/new/", AT_HOME)
    assert answer.status_code == 422
    assert told in text(answer)
    assert value_of(answer, "receiver_name") == "Priya Nair"


def test_the_carriers_own_refusal_lands_on_its_fields(page: Client, carrier: SandboxCarrier) -> None:
    """Where no list is loaded the carrier knows best, and its word about the pair is shown at both fields."""
    LocalityList.objects.all().delete()
    answer = page.post("/parcels/new/", {**AT_HOME, "receiver_state": "VIC", "receiver_postcode": "9999"})
    assert answer.status_code == 422
    assert messages_at(answer, "receiver_suburb") == messages_at(answer, "receiver_postcode") != []


def test_a_carrier_that_cannot_be_reached_keeps_the_form(page: Client) -> None:
    answer = page.post("/parcels/new/", AT_HOME)  # nothing listens at the tests' default address
    assert "The carrier didn't answer, so there are no prices yet. Nothing was booked. Try again." in text(
        answer
    )
    assert value_of(answer, "receiver_name") == "Priya Nair"


def test_too_many_price_checks_wait_a_minute(
    carrier: SandboxCarrier, page: Client, quill: Sender, alice: User
) -> None:
    Sender.objects.filter(pk=quill.pk).update(quotes_a_minute=1)
    factories.quote(quill, alice)
    answer = page.post("/parcels/new/", AT_HOME)
    assert "This account asks for prices at most 1 times a minute." in text(answer)


def test_a_suspended_sender_is_told_why(page: Client, quill: Sender, sam: User) -> None:
    quill.suspend(
        by=sam, category="dangerous_goods", text="Batteries in S7K2QX.", note="-", at=timezone.now()
    )
    for answer, status in ((page.get("/parcels/new/"), 200), (page.post("/parcels/new/", AT_HOME), 403)):
        assert answer.status_code == status
        assert "Booking is off for this account" in text(answer)
        assert "Batteries in S7K2QX." in text(answer)
    assert not Quote.objects.exists()


def test_a_sender_without_a_pickup_address_is_led_to_it(visit: Visit, db: None) -> None:
    owner = factories.user("new@quill.example")
    factories.member(factories.sender(), owner, role=Role.OWNER)
    assert visit(owner).get("/parcels/new/")["Location"] == "/start/"


def test_a_quote_and_an_order_bring_their_parcel_along(page: Client, quill: Sender, alice: User) -> None:
    order = factories.order(quill, alice)
    for source in (f"quote={order.quote.uuid}", f"again={order.uuid}"):
        answer = page.get(f"/parcels/new/?{source}")
        assert value_of(answer, "receiver_name") == "Noor Tamsin"
        assert value_of(answer, "weight_kg") == "2.4"
        assert 'value="authority_to_leave" ' in answer.content.decode()


def test_a_strangers_parcel_brings_nothing_along(quill: Sender, alice: User, bob: User, visit: Visit) -> None:
    order = factories.order(quill, alice)
    for source in (f"quote={order.quote.uuid}", f"again={order.uuid}", "quote=nonsense"):
        assert visit(bob).get(f"/parcels/new/?{source}").status_code == 404


def test_forged_posts_and_extra_fields_change_nothing(
    carrier: SandboxCarrier, alice: User, page: Client
) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(alice, backend="allauth.account.auth_backends.AuthenticationBackend")
    assert strict.post("/parcels/new/", AT_HOME).status_code == 403
    page.post("/parcels/new/", {**AT_HOME, "status": "booked", "sender": "1", "price": "0.01"})
    assert not Order.objects.exists()
