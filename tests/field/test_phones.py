"""Phone numbers the way shops, phones and people write them: with extensions, with pauses, or with no number at all."""

from typing import Any

import pytest
from django.core.exceptions import ValidationError

from orders.drafting import pasting
from shipping_portal.accounts.address.phones import clean_phone, extension_of
from shipping_portal.importing import progress
from tests.field.checking import checked, list_places, problems, ready, receiver, rows
from tests.sandbox_carrier import SandboxCarrier

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("typed", "country", "number", "extension"),
    [
        ("+1 213-555-0142 ext. 54321", "US", "(213) 555-0142", "54321"),
        ("2135550142 x123", "US", "(213) 555-0142", "123"),
        ("(213) 555-0142 ext 7", "US", "(213) 555-0142", "7"),
        ("213 555 0142 extn 7", "US", "(213) 555-0142", "7"),
        ("213 555 0142 #7", "US", "(213) 555-0142", "7"),
        ("213-555-0142;ext=7", "US", "(213) 555-0142", "7"),
        ("213-555-0142,,7", "US", "(213) 555-0142", "7"),
        ("213-555-0142,7", "US", "(213) 555-0142", "7"),
        ("213-555-0142p7", "US", "(213) 555-0142", "7"),
        ("213-555-0142 (ext 7)", "US", "(213) 555-0142", "7"),
        ("514 555-0142 poste 12", "CA", "(514) 555-0142", "12"),
        ("03 7010 4321 x 12", "AU", "(03) 7010 4321", "12"),
        ("\u202a+1 (213)\u00a0555\u20110142\u202c", "US", "(213) 555-0142", ""),
        ("213 555 0142", "US", "(213) 555-0142", ""),
        ("０９０－１２３４－５６７８", "JP", "090-1234-5678", ""),
        ("＋８１（９０）１２３４５６７８", "JP", "090-1234-5678", ""),
        ("٠٥٠ ١٢٣ ٤٥٦٧ ext ١٢", "AE", "050 123 4567", "12"),
        ("0061 412 345 678", "AU", "0412 345 678", ""),
        ("0044 20 7946 0018", "US", "+44 20 7946 0018", ""),
        ("0011 61 412 345 678", "AU", "0412 345 678", ""),
        ("+0412 345 678", "AU", "0412 345 678", ""),
        ("", "US", "", ""),
    ],
)
def test_a_number_is_accepted_and_its_extension_is_separated(
    typed: str, country: str, number: str, extension: str
) -> None:
    assert (clean_phone(typed, country), extension_of(typed, country)) == (number, extension)


@pytest.mark.parametrize("typed", ["ext 7", "555 x7", "9" * 61, "00 555 0142", "00", "+0"])
def test_an_extension_does_not_make_an_invalid_number_valid(typed: str) -> None:
    with pytest.raises(ValidationError):
        clean_phone(typed, "US")


def test_extensions_in_a_file_are_put_into_the_instructions_and_mentioned_once(carrier: SandboxCarrier) -> None:
    file = checked("phone_extensions_us.csv", "US")
    found = rows(file)
    assert {row.state for row in found.values()} == {"ready"}
    assert {receiver(row)["phone"] for row in found.values()} == {"(213) 555-0142"}
    kept = [receiver(row)["instructions"].removeprefix("phone ext. ") for row in found.values()]
    assert kept == ["54321", "123", "7", "9", "12", "12", "12", ""]
    assert progress.extensions(file) == 7


def test_an_unreadable_optional_phone_is_left_out_with_a_warning(carrier: SandboxCarrier) -> None:
    found = rows(checked("phones_nobody_can_read_us.csv", "US"))
    states = {number: row.state for number, row in found.items()}
    assert states == {"N1": "warning", "N2": "warning", "N3": "fix", "N4": "warning"}  # a spreadsheet's number was one
    assert {receiver(found[number])["phone"] for number in ("N1", "N2", "N4")} == {""}
    assert problems(found["N2"]).startswith("The phone “555” is left out.")


def test_australian_instructions_take_an_extension_only_after_their_term(carrier: SandboxCarrier) -> None:
    found = rows(checked("phone_extensions_au.csv", "AU"))
    assert (found["A1"].state, receiver(found["A1"])["instructions"]) == ("warning", "")
    assert problems(found["A1"]).startswith("Extension 12 of the phone is left out")
    assert receiver(found["A2"])["instructions"] == "Authority To Leave: porch, phone ext. 12"
    assert (found["A3"].state, receiver(found["A3"])["phone"]) == ("warning", "")
    assert "receiver_phone" in found["A4"].problems  # needed abroad
    assert ready(found) == {"A1", "A2", "A3"}


@pytest.mark.parametrize(
    ("typed", "phone"),
    [
        ("213-555-0142 ext. 54321", "(213) 555-0142 ext. 54321"),
        ("213-555-0142 x7", "(213) 555-0142 ext. 7"),
        ("213-555-0142;ext=7", "(213) 555-0142 ext. 7"),
        ("213-555-0142,7", "(213) 555-0142 ext. 7"),
        ("213-555-0142", "(213) 555-0142"),
    ],
)
def test_a_pasted_number_keeps_its_extension(typed: str, phone: str) -> None:
    list_places()
    found: Any = pasting.read(f"Ann Poe\n5 Sample Rd\nLos Angeles CA 90012\n{typed}\n", "US")
    assert (found.parts["phone"], found.left) == (phone, [])
