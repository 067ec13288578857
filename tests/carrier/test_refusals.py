"""A refusal in any of the four shapes, told in our field names."""

import pytest

from shipping_portal.carrier.contract import Contract
from shipping_portal.carrier.outcomes import read_refusal


def messages(said, **points):
    return read_refusal({"error": "unprocessable_entity", "messages": said}, Contract(**points)).messages


def test_a_flat_map():
    said = {
        "pickup_date": ["must be a business day"],
        "dimensions": ["can't be blank"],
        "receiver_suburb": ["does not match the postcode"],
    }
    assert messages(said) == {
        "pickup_date": ["must be a business day"],
        "length": ["can't be blank"],
        "width": ["can't be blank"],
        "height": ["can't be blank"],
        "receiver_suburb": ["does not match the postcode"],
    }


def test_nested_lists_of_objects():
    said = {"sender": [{"contact": [{"phone": ["is not valid"]}]}], "receiver": [{"contact": [{"email": ["is bad"]}]}]}
    assert messages(said) == {"sender_phone": ["is not valid"], "receiver_email": ["is bad"]}


def test_a_bare_string():
    assert messages("Order can not be cancelled.") == {"": ["Order can not be cancelled."]}


def test_a_whole_body_that_is_a_string():
    assert read_refusal("Nope.", Contract()) == ("", "Nope.", {})


def test_no_json_at_all_says_nothing():
    assert read_refusal(None, Contract()) == ("", "", {})


def test_a_map_without_any_envelope():
    assert read_refusal({"receiver_postcode": "is unknown"}, Contract()).messages == {
        "receiver_postcode": ["is unknown"]
    }


@pytest.mark.parametrize(
    ("key", "ours"),
    [
        ("sender.address.address_line1", "sender_line1"),
        ("receiver_address_address_line2", "receiver_line2"),
        ("sender[address][state_name]", "sender_state"),
        ("receiver_state", "receiver_state"),
        ("sender_address_line1", "sender_line1"),
        ("weight", "weight"),
        ("weight_units", "weight_units"),
        ("dimension_units", "dimension_units"),
        ("length_value", "length"),
        ("height", "height"),
        ("product_code", "product_code"),
        ("parcel_contents", "contents"),
        ("contents_type", "contents_type"),
        ("cover", "cover"),
        ("cover.total_cover", "cover"),
        ("description", "description"),
    ],
)
def test_every_way_to_name_a_field(key, ours):
    assert messages({key: ["no"]}) == {ours: ["no"]}


@pytest.mark.parametrize(
    ("said", "ours"),
    [
        ({"parcel_contents": [{"hs_code": ["too short"]}]}, "item_hs_code"),
        ({"parcel_contents": [{}, {"hs_code": ["too short"]}]}, "item_2_hs_code"),
        ({"parcel_contents[1].hs_code": ["too short"]}, "item_2_hs_code"),
        ({"item_hs_code": ["too short"]}, "item_hs_code"),
        ({"parcel_contents": ["too short"]}, "contents"),
    ],
)
def test_messages_about_the_contents_land_on_the_item(said, ours):
    assert messages(said) == {ours: ["too short"]}


def test_a_name_we_do_not_have_stays_the_carriers():
    assert messages({"metadata": [{"partner_id": ["can't be blank"]}], "base": ["Too heavy."]}) == {
        "metadata.partner_id": ["can't be blank"],
        "": ["Too heavy."],
    }


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"receiver": [{"address": ["is not served"]}]}, "Receiver address: is not served"),
        ({"receiver": ["is not served"]}, "Receiver: is not served"),
        ({"errors": {"base": ["is not served"]}}, "is not served"),
    ],
)
def test_what_is_about_several_of_our_fields_is_about_the_parcel(said, words):
    assert messages(said) == {"": [words]}


def test_the_contracts_own_names_are_followed_back():
    points = {"receiver_suburb": "to.city", "query_receiver_suburb": "to_city", "error_messages": "problems"}
    body = {"problems": {"to": {"city": ["unknown"]}, "to_city": ["really unknown"]}}
    assert read_refusal(body, Contract(**points)).messages == {"receiver_suburb": ["unknown", "really unknown"]}


def test_words_are_capped_and_made_plain():
    said = messages({"weight": ["x" * 9000, "a\x00b\x1b[0m\nc\u202e"], **{f"k{n}": ["m"] for n in range(500)}})
    assert said["weight"] == ["x" * 500, "a\ufffdb [0m c"]
    assert sum(map(len, said.values())) == 50


def test_a_signed_link_in_the_words_is_cut_out():
    assert messages("See https://t.example/?ref=S1&token=abc now") == {"": ["See [cut] now"]}


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ({"messages": {"base": ["Too heavy."]}}, "Too heavy."),
        ({"messages": "Order can not be cancelled."}, "Order can not be cancelled."),
        ({"messages": {"receiver_name": ["can't be blank"]}}, ""),
        ({"messages": {}}, "See messages."),
        ({}, "See messages."),
    ],
)
def test_a_sentence_that_only_points_at_the_messages_is_dropped_where_there_are_any(said, text):
    assert read_refusal({"error": "x", "error_description": "See messages.", **said}, Contract()).text == text


def test_the_general_words_stand_in_for_a_missing_sentence():
    assert read_refusal({"error": "x", "messages": {"base": ["A.", "B."]}}, Contract()).text == "A.; B."


@pytest.mark.parametrize("said", [7, True, [], {}, None, [[[]]], {"a": None}, {"a": [1, 2]}])
def test_what_says_nothing_is_no_message(said):
    assert messages(said) == {}


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"non_field_errors": ["Too heavy for this route"]}, {"": ["Too heavy for this route"]}),
        ({"reason": "Parcel too heavy"}, {"": ["Parcel too heavy"]}),
        ({"messages": {"order_id": ["has already been collected"]}}, {"": ["has already been collected"]}),
        (
            {"errors": [{"field": "weight", "message": "too heavy"}, {"path": "receiver.postcode", "detail": "no"}]},
            {"weight": ["too heavy"], "receiver_postcode": ["no"]},
        ),
    ],
)
def test_what_is_about_the_parcel_as_a_whole_is_the_senders(body, said):
    assert read_refusal(body, Contract()).messages == said


@pytest.mark.parametrize(
    ("said", "read"),
    [
        ([{"field": "weight", "message": "is too heavy"}], {"weight": ["is too heavy"]}),
        ([{"path": "receiver.contact.email", "msg": "is bad"}], {"receiver_email": ["is bad"]}),
        ([{"param": "height", "detail": "is too high"}], {"height": ["is too high"]}),
        ({"receiver_suburb": {"message": "is unknown"}}, {"receiver_suburb": ["is unknown"]}),
        ({"height": [{"message": "is too high"}]}, {"height": ["is too high"]}),
        ([{"message": "Something is wrong"}], {"": ["Something is wrong"]}),
    ],
)
def test_a_message_that_is_an_object_is_about_the_field_it_names_or_stands_at(said, read):
    assert messages(said) == read


@pytest.mark.parametrize(("length", "kept"), [(199, 199), (200, 200), (201, 200)])
def test_what_an_error_says_beside_its_messages_is_bounded(length: int, kept: int) -> None:
    said = read_refusal({"error_description": "x" * length, "messages": {"base": ["was refused"]}}, Contract())
    assert said.messages == {"": ["was refused", f"“{'x' * kept}”"]}


@pytest.mark.parametrize("where", ["see messages", "Some data is invalid; see Messages.", "was refused."])
def test_a_sentence_that_says_nothing_of_its_own_is_left_out(where: str) -> None:
    said = read_refusal({"error_description": where, "messages": {"base": ["was refused"]}}, Contract())
    assert said.messages == {"": ["was refused"]}
