from decimal import Decimal

import pytest

from shipping_portal.sandbox import places
from tests.sandbox.client import CONTENTS, an_export, an_order


def cents(money):
    return Decimal(str(money["amount"]))


def codes(answer):
    return [row["product"]["code"] for row in answer.json]


LANES = {
    "AU": {},
    "US": {"sender_suburb": "Portland", "sender_postcode": "97205", "sender_country": "US",
           "receiver_suburb": "Boston", "receiver_postcode": "02108", "receiver_country": "US"},
    "CA": {"sender_suburb": "Montreal", "sender_postcode": "H2Y1C6", "sender_country": "CA",
           "receiver_suburb": "Gatineau", "receiver_postcode": "J8X 3X7", "receiver_country": "CA"},
}  # fmt: skip


@pytest.mark.parametrize("lane", LANES)
def test_gross_is_net_and_tax_and_the_sum_of_the_breakdown(carrier, lane):
    rows = carrier.quote(**LANES[lane]).json
    assert rows
    for row in rows:
        gross, net, tax = (cents(row["quote"][part]) for part in ("gross", "net", "tax"))
        assert gross == net + tax == sum(cents(money) for money in row["price_breakdown"].values())
        assert tax == sum(cents(money) for money in row["tax_breakdown"].values())
        assert cents(row["price_breakdown"]["service"]) > 0


def test_each_country_has_its_products_and_taxes(carrier):
    australian, american, canadian = (carrier.quote(**LANES[lane]) for lane in ("AU", "US", "CA"))
    assert codes(australian) == ["STANDARD-DROPOFF", "STANDARD-PICKUP", "EXPRESS-PICKUP"]
    assert {"SAVER-DROPOFF", "STANDARD-PICKUP"} <= set(codes(american))
    assert codes(canadian) == ["STANDARD-PICKUP"]
    assert [list(answer.json[0]["tax_breakdown"]) for answer in (australian, american, canadian)] == [
        ["gst"],
        [],
        ["gst", "qst"],
    ]


def test_a_large_light_parcel_costs_more_than_a_small_one(carrier):
    small, large = carrier.quote(), carrier.quote(length_value="100", width_value="50", height_value="50")
    assert cents(large.json[0]["quote"]["gross"]) > cents(small.json[0]["quote"]["gross"])


def test_pounds_and_inches_are_the_same_parcel_as_kilograms_and_centimetres(carrier):
    metric = carrier.quote(weight_value="4.5359237", length_value="25.4", width_value="25.4", height_value="25.4")
    imperial = carrier.quote(weight_value="10", weight_units="lb", length_value="10", width_value="10",
                             height_value="10", dimension_units="in")  # fmt: skip
    assert metric.json[0]["quote"] == imperial.json[0]["quote"]


def test_duties_paid_is_offered_only_if_contents_are_given(carrier):
    unpaid = carrier.quote(receiver_suburb="Portland", receiver_postcode="97205", receiver_country="US")
    paid = carrier.call("POST", "/products", an_export())
    assert codes(unpaid) == ["STANDARD-PICKUP"]
    assert codes(paid) == ["STANDARD-PICKUP", "STANDARD-DDP-PICKUP"]
    assert cents(paid.json[1]["price_breakdown"]["duties"]) == Decimal("8.40")


@pytest.mark.parametrize("code", ["", "6109.10", "6109.10.001", "6109.10.00123"])
def test_duties_paid_is_offered_only_if_every_item_has_ten_tariff_digits(carrier, code):
    short = an_export(parcel_contents=[*CONTENTS, {**CONTENTS[0], "hs_code": code}])
    assert codes(carrier.call("POST", "/products", short)) == ["STANDARD-PICKUP"]


def test_an_address_in_other_letters_is_refused_when_quoting(carrier):
    assert (
        "receiver_line1"
        in carrier.call("POST", "/products", an_export(receiver__address__address_line1="улица 1")).json["messages"]
    )


def test_nothing_is_offered_abroad_from_canada(carrier):
    order = an_order(
        sender__address={"address_line1": "1 Rue", "suburb": "Montreal", "postcode": "H2Y 1C6",
                         "state_name": "QC", "country": "CA"},
        parcel_contents=CONTENTS,
    )  # fmt: skip
    answer = carrier.call("POST", "/products", order)
    assert (answer.status, answer.json) == (200, [])


@pytest.mark.parametrize(("cover", "price"), [("100", "0"), ("101", "1.95"), ("300", "3.90"), ("1500", "27.30")])
def test_cover_above_the_first_hundred_is_priced_by_the_hundred(carrier, cover, price):
    rows = carrier.call("POST", "/products", an_order(cover__total_cover__amount=cover)).json
    assert cents(rows[0]["cover"]["price"]["gross"]) == Decimal(price)


def test_a_price_rise_and_a_withdrawn_product_take_effect_at_once(carrier):
    before = cents(carrier.quote().json[0]["quote"]["gross"])
    carrier.control("prices", percent=10)
    carrier.control("withdraw", code="EXPRESS-PICKUP")
    after = carrier.quote()
    assert cents(after.json[0]["quote"]["gross"]) > before
    assert "EXPRESS-PICKUP" not in codes(after)
    assert carrier.book(an_order(product_code="EXPRESS-PICKUP")).json["messages"] == {
        "product_code": ["is not available for this parcel"]
    }


def test_a_bad_quote_names_each_field_by_its_query_name(carrier):
    answer = carrier.call("GET", "/products?sender_country=AU&receiver_country=AU&weight_value=heavy")
    assert answer.status == 422
    assert answer.json["messages"] == {
        "weight_value": ["is not a number"],
        "weight_units": ["is not included in the list", "can't be blank"],
        "sender_suburb": ["can't be blank"],
        "sender_postcode": ["can't be blank"],
        "receiver_suburb": ["can't be blank"],
        "receiver_postcode": ["can't be blank"],
    }


def test_withdrawn_parts_of_the_interface_stay_withdrawn(carrier):
    assert carrier.quote(plan_name="Pro").status == 422
    assert carrier.call("GET", "/quote").status == 404


def test_a_missing_partner_is_only_recorded_unless_the_carrier_is_strict(carrier):
    assert carrier.quote(partner_id="").status == 200
    carrier.control("settings", strict=True)
    assert carrier.quote(partner_id="").json["messages"] == {"partner_id": ["partner_id can't be blank"]}


def test_no_lookup_reads_every_zip_code(monkeypatch):
    monkeypatch.setattr(places, "published", lambda: pytest.fail("reads every ZIP code"))
    monkeypatch.setattr(places, "_of_the_united_states", lambda: pytest.fail("reads every ZIP code"))
    assert places.is_pair("AU", "Carnegie", "3163")
    assert places.is_pair("CA", "Montréal", "H3G 1Z5")
    assert places.is_pair("US", "beverly hills", "90210-1234")
    for postcode in ("", "ABCDE", "1", "00000", "９０２１０"):
        assert places.at_postcode("US", postcode) == (), postcode


def test_a_lookup_finds_what_is_published_and_nothing_else():
    published = {}
    for place in places.published():
        if place.country == "US":
            published[place.postcode] = (*published.get(place.postcode, ()), place)
    some = sorted(published)[::200]
    assert {code: places.at_postcode("US", code) for code in some} == {code: published[code] for code in some}
    not_delivered = ["96910", "00801", "10008"]  # Guam, the Virgin Islands, boxes at a post office
    assert not set(not_delivered) & set(published)
    assert [places.at_postcode("US", code) for code in not_delivered] == [(), (), ()]
