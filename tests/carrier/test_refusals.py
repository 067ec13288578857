"""A refusal in any of its four shapes, read into errors on our own fields."""

import pytest

from shipping_portal.carrier.contract import Contract
from shipping_portal.carrier.outcomes import read_refusal


def messages(said, **points):
    return read_refusal({"error": "unprocessable_entity", "messages": said}, Contract(**points)).messages


def test_a_flat_map_is_read():
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


def test_nested_lists_of_objects_are_read():
    said = {"sender": [{"contact": [{"phone": ["is not valid"]}]}], "receiver": [{"contact": [{"email": ["is bad"]}]}]}
    assert messages(said) == {"sender_phone": ["is not valid"], "receiver_email": ["is bad"]}


def test_a_bare_string_is_read():
    assert messages("Order can not be cancelled.") == {"": ["Order can not be cancelled."]}


def test_a_body_that_is_only_a_string_is_read():
    assert read_refusal("Nope.", Contract()) == ("", "Nope.", {})


def test_a_body_without_json_has_no_messages():
    assert read_refusal(None, Contract()) == ("", "", {})


def test_a_map_without_an_envelope_is_read():
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
def test_each_way_of_naming_a_field_is_understood(key, ours):
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
def test_a_message_about_the_contents_is_on_its_item(said, ours):
    assert messages(said) == {ours: ["too short"]}


def test_a_field_we_do_not_have_keeps_the_carriers_name():
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
def test_a_message_about_several_of_our_fields_is_about_the_parcel(said, words):
    assert messages(said) == {"": [words]}


def test_the_contracts_field_names_are_mapped_to_ours():
    points = {"receiver_suburb": "to.city", "query_receiver_suburb": "to_city", "error_messages": "problems"}
    body = {"problems": {"to": {"city": ["unknown"]}, "to_city": ["really unknown"]}}
    assert read_refusal(body, Contract(**points)).messages == {"receiver_suburb": ["unknown", "really unknown"]}


def test_messages_are_shortened_and_cleaned():
    said = messages({"weight": ["x" * 9000, "a\x00b\x1b[0m\nc\u202e"], **{f"k{n}": ["m"] for n in range(500)}})
    assert said["weight"] == ["x" * 500, "a\ufffdb [0m c"]
    assert sum(map(len, said.values())) == 50


def test_a_signed_link_in_a_message_is_cut_out():
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
def test_see_messages_is_dropped_if_there_are_messages(said, text):
    assert read_refusal({"error": "x", "error_description": "See messages.", **said}, Contract()).text == text


def test_general_messages_replace_a_missing_description():
    assert read_refusal({"error": "x", "messages": {"base": ["A.", "B."]}}, Contract()).text == "A.; B."


@pytest.mark.parametrize("said", [7, True, [], {}, None, [[[]]], {"a": None}, {"a": [1, 2]}])
def test_an_empty_message_is_ignored(said):
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
def test_a_message_about_the_whole_parcel_has_no_field(body, said):
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
def test_a_message_object_is_about_the_field_it_names_or_is_under(said, read):
    assert messages(said) == read


@pytest.mark.parametrize(("length", "kept"), [(199, 199), (200, 200), (201, 200)])
def test_an_errors_description_is_shortened(length: int, kept: int) -> None:
    said = read_refusal({"error_description": "x" * length, "messages": {"base": ["was refused"]}}, Contract())
    assert said.messages == {"": ["was refused", f"“{'x' * kept}”"]}


@pytest.mark.parametrize("where", ["see messages", "Some data is invalid; see Messages.", "was refused."])
def test_a_description_that_adds_nothing_is_left_out(where: str) -> None:
    said = read_refusal({"error_description": where, "messages": {"base": ["was refused"]}}, Contract())
    assert said.messages == {"": ["was refused"]}
