"""Every field rule of interface §2.1: what is typed, and the sentence shown at its field."""

import pytest
from django.test import Client

from orders.models import Quote
from tests.pages.typed import ABROAD, AT_HOME, messages_at, title

pytestmark = pytest.mark.django_db

LONG = "x" * 256
RULES = [
    ("receiver_name", "", "Enter the receiver's name."),
    ("receiver_name", "a\x00b", "Use plain text on one line, without hidden characters."),
    ("receiver_name", "\u200b\u202e", "Enter the receiver's name."),  # nothing visible
    ("receiver_name", "...", "Use at least one letter or digit."),
    ("receiver_name", "Прия", "Use Latin letters: “П” cannot be printed."),
    ("receiver_name", "x" * 121, "Use at most 120 characters; this has 121."),
    ("receiver_company", "priya  NAIR", "Contact and company are the same. Clear company so it prints once."),
    ("receiver_country", "ZZ", "Choose a country on the list."),
    ("receiver_country", "", "Choose the country it goes to."),
    ("receiver_line1", "", "Enter the street and number, or the PO box."),
    ("receiver_line1", "4 Sample St\r\nBcc: a@b.example", "Use plain text on one line, without hidden characters."),
    ("receiver_line1", LONG, "Use at most 255 characters; this has 256."),
    (
        "receiver_line1",
        "4 Sample Street, Brunswick VIC 3056",
        "Leave out “Brunswick VIC 3056” here. It's printed from the suburb field.",
    ),
    ("receiver_line2", "Unit 2, Australia", "Leave out “Australia” here. It's printed from the suburb field."),
    ("receiver_suburb", "", "Enter the suburb."),
    ("receiver_postcode", "", "Enter the postcode."),
    ("receiver_postcode", "٣٠٥٦", "Use Latin letters: “٣” cannot be printed."),
    ("receiver_email", "", "Enter the receiver's email."),
    ("receiver_email", "a@b", "Enter a full email address, like name@example.com."),
    ("receiver_email", "a@x.example\nbcc", "Use plain text on one line, without hidden characters."),
    ("receiver_email", "a@x.example\n", "Use plain text on one line, without hidden characters."),
    ("receiver_email", "a@é.com", "Enter the email in plain letters, like name@example.com."),
    ("delivery_choice", "leave it", "Choose None, Authority To Leave or Signature on Delivery."),
    ("description", "", "Say what's inside, such as “ceramic mugs”."),
    ("weight_kg", "", "Enter the weight."),
    ("weight_kg", "NaN", "Enter a number, like 1.2."),
    ("weight_kg", "Infinity", "Enter a number, like 1.2."),
    ("weight_kg", "-1", "Enter a number, like 1.2."),
    ("weight_kg", "1e999999999", "Enter a number, like 1.2."),
    ("weight_kg", "1_0", "Enter a number, like 1.2."),
    ("weight_kg", "١٢", "Enter a number, like 1.2."),
    ("weight_kg", "1,5", "Use a dot: 1.5."),
    ("weight_kg", "0", "This must be more than 0."),
    ("weight_kg", "1.2345", "Use at most 3 decimals."),
    ("weight_kg", "1" * 20, "This is more than any parcel has. Check the number."),
    ("length_cm", "", "Enter the length. The carrier needs all three."),
    ("width_cm", "0", "This must be more than 0."),
    ("height_cm", "abc", "Enter a number, like 32."),
    ("cover_amount", "1500.01", "Extra Cover goes up to 1500."),
    ("cover_amount", "1.234", "Use at most 2 decimals."),
]


@pytest.mark.parametrize(("name", "typed", "message"), RULES, ids=[f"{n}={t[:20]!r}" for n, t, _ in RULES])
def test_a_broken_rule_shows_at_its_field(listed: Client, name: str, typed: str, message: str) -> None:
    answer = listed.post("/parcels/new/", {**AT_HOME, name: typed})
    assert answer.status_code == 422
    assert message in messages_at(answer, name)
    assert title(answer) == "Error: New parcel · Shipping Portal"
    assert not Quote.objects.exists()


ABROAD_RULES = [
    ("receiver_phone", "", "Add the receiver's phone. Parcels leaving Australia need an email and a phone number."),
    ("item_1_value", "0", "Enter the value of one, more than 0."),
    ("item_1_quantity", "0", "Enter how many, 1 or more."),
    ("item_1_origin", "Atlantis", "Enter the country it was made in, such as Italy or IT."),
    ("item_1_origin", "", "Enter the country it was made in, such as Italy or IT."),
    ("item_1_hs_code", "123", "An HS code has 6 to 10 digits."),
    ("item_1_description", "ab", "Say what it is, in 3 characters or more."),
    (
        "contents_type",
        "Contraband",
        "Choose one of these: Merchandise, Gift, Sample, Documents, Returned Goods, Other.",
    ),
]


@pytest.mark.parametrize(("name", "typed", "message"), ABROAD_RULES)
def test_a_broken_rule_of_a_parcel_abroad_shows_at_its_field(
    listed: Client, name: str, typed: str, message: str
) -> None:
    assert message in messages_at(listed.post("/parcels/new/", {**ABROAD, name: typed}), name)


@pytest.mark.parametrize(
    ("part", "typed"),
    [("description", "Socks"), ("value", "9.00"), ("hs_code", "6115.95"), ("quantity", "3"), ("origin", "Italy")],
)
def test_a_half_typed_row_of_contents_asks_for_the_rest_and_is_seen_without_scripts(
    listed: Client, part: str, typed: str
) -> None:
    answer = listed.post("/parcels/new/", {**ABROAD, f"item_2_{part}": typed})
    assert answer.status_code == 422
    missing = {"description", "value", "hs_code"} - {part, "hs_code"}
    assert all(messages_at(answer, f"item_2_{name}") for name in missing)
    assert '<details class="extra" open><summary>More items' in answer.content.decode()


def test_rows_of_contents_that_nobody_filled_in_ask_for_nothing(listed: Client) -> None:
    """The first row begins with a quantity of 1; a draft keeps it."""
    first = {f"item_1_{part}": "" for part in ("description", "value", "origin", "hs_code")} | {"item_1_quantity": "1"}
    second = {name.replace("_1_", "_2_"): value for name, value in ABROAD.items() if name.startswith("item_1_")}
    spaces = {f"item_3_{part}": " " for part in ("description", "value", "quantity", "origin", "hs_code")}
    answer = listed.post("/parcels/new/", ABROAD | first | second | spaces)
    assert [name for name in (*first, *second, *spaces) if messages_at(answer, name)] == []


@pytest.mark.parametrize("row", [2, 5])
def test_a_row_of_contents_is_left_out_once_all_of_it_is_cleared(listed: Client, row: int) -> None:
    whole = {f"item_{row}_{part}": ABROAD[f"item_1_{part}"] for part in ("description", "value", "quantity", "origin")}
    half = whole | {f"item_{row}_description": "", f"item_{row}_value": ""}
    [message] = messages_at(listed.post("/parcels/new/", ABROAD | half), f"item_{row}_description")
    assert message == f"Say what it is, in 3 characters or more. To leave item {row} out, clear all of it."
    cleared = listed.post("/parcels/new/", ABROAD | dict.fromkeys(whole, ""))
    assert [name for name in whole if messages_at(cleared, name)] == []


def test_a_line_may_not_repeat_a_state_filled_in_from_the_list(listed: Client) -> None:
    answer = listed.post("/parcels/new/", {**AT_HOME, "receiver_line1": "4 Sample Street Brunswick VIC 3056"})
    assert "Brunswick VIC" in " ".join(messages_at(answer, "receiver_line1"))
