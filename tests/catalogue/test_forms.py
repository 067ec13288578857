"""The parcel form: what it refuses, and the message at each field. Nothing typed is lost and no carrier is called."""

import time
from typing import Any

import pytest
from django.core.exceptions import ValidationError

from orders.drafting.form_fields import PlainDecimalField
from orders.drafting.forms import ParcelForm
from orders.models import Quote
from shipping_portal.accounts.models import LocalityList, Sender, User
from shipping_portal.carrier.errors import Rejected
from tests.catalogue.browsing import Browser, ListeningCarrier, lost
from tests.catalogue.form_values import HIDDEN, NEW, TWICE, refused
from tests.catalogue.rows import rows
from tests.pages.typed import AT_HOME, messages_at

pytestmark = pytest.mark.django_db

NUMBER = "Enter a number, like 1.2."
LENGTH = "Enter a number, like 32."
ZERO = "This must be more than 0."
LARGE = "This is more than any parcel has. Check the number."
NAME = "Enter the receiver's name."
EMAIL = "Enter a full email address, like name@example.com."
SAME = "Contact and company are the same. Clear company so it prints once."
COUNTRY = "Choose a country on the list."


@rows(
    "name, typed, message",
    ("B1", "name", "receiver_name", "a\x00b", HIDDEN),
    ("B1", "company", "receiver_company", "a\x00b", HIDDEN),
    ("B1", "line 1", "receiver_line1", "4 Sample\x00 Street", HIDDEN),
    ("B1", "suburb", "receiver_suburb", "Brunswick\x00", HIDDEN),
    ("B1", "postcode", "receiver_postcode", "30\x0056", HIDDEN),
    ("B1", "description", "description", "mugs\x00", HIDDEN),
    ("B1", "order number", "customer_reference", "\x00", HIDDEN),
    ("B1", "instructions", "delivery_place", "porch\x00", HIDDEN),
    ("B1", "e-mail", "receiver_email", "a\x00@example.net", HIDDEN),
    ("B1", "phone", "receiver_phone", "0491 570 156\x00", HIDDEN),
    ("B1", "weight", "weight_kg", "1\x00", HIDDEN),
    ("B1", "choice", "delivery_choice", "none\x00", HIDDEN),
    ("B1", "country", "receiver_country", "AU\x00", HIDDEN),
    ("B2", "only zero-width space and direction", "receiver_name", "\u200b\u202e", NAME),
    ("B2", "only a byte-order mark", "receiver_name", "\ufeff", NAME),
    ("B2", "private use", "receiver_name", "Priya \ue000", HIDDEN),
    ("B2", "a filler that counts as a letter", "receiver_name", "\u3164", NAME),
    ("B2", "only an accent", "receiver_name", "\u0301", "Use Latin letters: “\u0301” cannot be printed."),
    ("B2", "only dots", "receiver_name", "...", "Use at least one letter or digit."),
    ("B3", "a header in an address line", "receiver_line1", "x\r\nBcc: a@b", HIDDEN),
    ("B3", "a bare CR in the name", "receiver_name", "Priya\rNair", HIDDEN),
    ("B3", "a line at the end", "receiver_line2", "Unit 2\n", HIDDEN),
    ("B3", "two lines of instructions", "delivery_place", "porch\nor door", HIDDEN),
    ("B5", "256 characters", "receiver_line1", "x" * 256, "Use at most 255 characters; this has 256."),
    (
        "B6",
        "suburb",
        "receiver_line1",
        "4 Sample Street, Brunswick",
        "Leave out “Brunswick” here. It's printed from the suburb field.",
    ),
    (
        "B6",
        "postcode",
        "receiver_line1",
        "4 Sample Street 3056",
        "Leave out “3056” here. It's printed from the suburb field.",
    ),
    ("B6", "state", "receiver_line2", "Unit 2, Vic", "Leave out “Vic” here. It's printed from the suburb field."),
    (
        "B6",
        "country",
        "receiver_line2",
        "Unit 2, AUSTRALIA",
        "Leave out “AUSTRALIA” here. It's printed from the suburb field.",
    ),
    ("B7", "the same", "receiver_company", "Priya Nair", SAME),
    ("B7", "other case and blanks", "receiver_company", "  PRIYA   nair ", SAME),
    ("B7", "other accents and dots", "receiver_company", "Príya Nair.", SAME),
    ("B8", "NaN", "weight_kg", "NaN", NUMBER),
    ("B8", "Infinity", "weight_kg", "Infinity", NUMBER),
    ("B8", "minus nothing", "weight_kg", "-0", NUMBER),
    ("B8", "nothing", "weight_kg", "0", ZERO),
    ("B8", "nothing with decimals", "weight_kg", "0.000", ZERO),
    ("B8", "less than nothing", "weight_kg", "-1", NUMBER),
    ("B8", "a plus", "weight_kg", "+1", NUMBER),
    ("B8", "hexadecimal", "weight_kg", "0x10", NUMBER),
    ("B9", "1e999999999", "weight_kg", "1e999999999", NUMBER),
    ("B9", "a million digits", "weight_kg", "9" * 1_000_000, LARGE),
    ("B10", "underscore", "weight_kg", "1_0", NUMBER),
    ("B10", "Devanagari digits", "weight_kg", "१२", NUMBER),
    ("B10", "Arabic digits", "height_cm", "١٢", LENGTH),
    ("B11", "1,5", "weight_kg", "1,5", "Use a dot: 1.5."),
    ("B11", "of a length", "width_cm", "24,25", "Use a dot: 24.25."),
    (
        "B11",
        "a thousand, or one",
        "weight_kg",
        "1,000",
        "Write 1000, without a comma, or 1.000, with a dot for the decimals.",
    ),
    ("B12", "4 decimal places", "weight_kg", "1.2345", "Use at most 3 decimals."),
    ("B12", "20 digits", "weight_kg", "1" * 20, LARGE),
    ("B12", "20 digits of length", "length_cm", "1" * 20, LARGE),
    ("B13", "length missing", "length_cm", "", "Enter the length. The carrier needs all three."),
    ("B13", "width 0", "width_cm", "0", ZERO),
    ("B13", "height abc", "height_cm", "abc", LENGTH),
    ("B13", "weight missing", "weight_kg", " ", "Enter the weight."),
    ("B17", "letters", "receiver_postcode", "ab", "Doesn't match Brunswick."),
    ("B17", "Arabic digits", "receiver_postcode", "٢٠٠٠", "Use Latin letters: “٢” cannot be printed."),
    ("B18", "off the list", "receiver_postcode", "3065", "Doesn't match Brunswick."),
    ("B19", "ZZ", "receiver_country", "ZZ", COUNTRY),
    ("B19", "by its name", "receiver_country", "Australia", COUNTRY),
    ("B20", "no e-mail at home either", "receiver_email", "", "Enter the receiver's email."),
    ("B21", "more than 1500", "cover_amount", "1500.01", "Extra Cover goes up to 1500."),
    ("B23", "no domain", "receiver_email", "a@b", EMAIL),
    ("B23", "a header", "receiver_email", "a@x.com\nbcc", HIDDEN),
    ("B23", "a line at the end", "receiver_email", "a@x.com\n", HIDDEN),
    (
        "B23",
        "an accent in the domain",
        "receiver_email",
        "a@é.com",
        "Enter the email in plain letters, like name@example.com.",
    ),
    (
        "B23",
        "a Cyrillic letter in the domain",
        "receiver_email",
        "a@exаmple.com",
        "Enter the email in plain letters, like name@example.com.",
    ),
    ("B23", "two addresses", "receiver_email", "a@x.com,b@x.com", EMAIL),
    ("B23", "with a name", "receiver_email", "A <a@x.com>", EMAIL),
    ("B25", "10,000 characters", "delivery_place", "x" * 10_000, "Use at most 200 characters; this has 10000."),
    ("B30", "weight=1&weight=100", "weight_kg", ["1", "100"], TWICE),
    ("B30", "the same name twice", "receiver_name", ["Priya Nair", "Priya Nair"], TWICE),
    ("B30", "two countries", "receiver_country", ["AU", "US"], TWICE),
    ("B30", "two instructions", "delivery_choice", ["none", "signature"], TWICE),
)
def test_a_bad_value_for_a_domestic_parcel_is_refused(
    alices: Browser, listener: ListeningCarrier, name: str, typed: Any, message: str
) -> None:
    refused(alices, {**AT_HOME, name: typed}, name, message, listener)


@rows("typed", ("B9", "an exponent at once", "1e999999999"), ("B9", "digits at once", "9" * 2_000_000))
def test_a_huge_number_is_refused_without_being_computed(quill: Sender, alice: User, typed: str) -> None:
    address = quill.pickup_address()
    field = ParcelForm(sender=quill, address=address).fields["weight_kg"]
    began_at = time.process_time()
    with pytest.raises(ValidationError):
        field.clean(typed)
    assert time.process_time() - began_at < 0.05


@rows("field", *(("B4", f"as JSON would hold it in {name}", name) for name in AT_HOME))
def test_a_lone_surrogate_never_reaches_the_database(quill: Sender, alice: User, field: str) -> None:
    """PostgreSQL's driver can't even encode it."""
    form = ParcelForm({**AT_HOME, field: "4\ud800"}, sender=quill, address=quill.pickup_address())
    assert field in form.errors or field in form.left_out
    "".join([*map(str, form.cleaned_data.values()), *form.left_out.values()]).encode()


@rows("name", ("B4", "as three bytes in the name", "receiver_name"), ("B4", "in the e-mail", "receiver_email"))
def test_the_bytes_of_a_surrogate_are_refused(alices: Browser, listener: ListeningCarrier, name: str) -> None:
    answer = alices.send(NEW, {**AT_HOME, name: AT_HOME[name] + "\ud800"})
    assert answer.status_code == 422
    assert messages_at(answer, name)
    assert listener.asked == []


@rows("", ("B18", "the carrier's own refusal, where no list is loaded"))
def test_the_carriers_refusal_of_a_place_is_shown_at_both_fields(alices: Browser, listener: ListeningCarrier) -> None:
    LocalityList.objects.all().delete()
    word = "is not a place we serve"
    listener.refuses = Rejected(422, messages={"receiver_suburb": [word]})
    form = {**AT_HOME, "receiver_state": "VIC"}
    answer = alices.send(NEW, form)
    assert messages_at(answer, "receiver_suburb") == messages_at(answer, "receiver_postcode") == [f"Suburb: {word}."]
    assert lost(answer, form) == {}
    assert not Quote.objects.exists()


@pytest.mark.parametrize(
    ("typed", "places", "read"),
    [("9.5000", 3, "9.500"), ("45.000", 1, "45.0"), ("2.0", 0, "2"), ("2", 0, "2"), ("0.00100000", 3, "0.001")],
)
def test_zeros_at_the_end_do_not_count_as_decimals(typed: str, places: int, read: str) -> None:
    assert str(PlainDecimalField(example="1", places=places).clean(typed)) == read


@pytest.mark.parametrize(("typed", "places"), [("9.5001", 3), ("2.5", 0), ("0.00010", 3)])
def test_an_extra_decimal_is_refused(typed: str, places: int) -> None:
    with pytest.raises(ValidationError):
        PlainDecimalField(example="1", places=places).clean(typed)
