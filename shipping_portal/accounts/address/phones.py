"""Read phone numbers by country: local with an area code, or international with a plus."""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import suppress

import phonenumbers
from django.core.exceptions import ValidationError
from phonenumbers import NumberParseException, PhoneNumberFormat, PhoneNumberType

from shipping_portal.accounts.address.text import normalise_text

CALL_CENTRE = {PhoneNumberType.SHARED_COST, PhoneNumberType.TOLL_FREE, PhoneNumberType.PREMIUM_RATE}
LONGEST = 60
# Extension marks the library lacks: French "poste 12", and the pauses p and w of phone contacts.
EXTENSION = re.compile(
    r"(?<=[0-9 ,(])(?:poste|p|w)\.? ?(?=[0-9]{1,7}\)?$)", re.ASCII | re.IGNORECASE
)


def clean_phone(text: str, country: str) -> str:
    """Return the number in its country's format, or with a plus if it is from elsewhere.

    Blank stays blank. `extension_of` reads its extension. Raises ValidationError. The carrier
    doesn't accept Australian 13, 1300 and 1800 numbers.
    """
    typed = normalise_text(text).strip()
    if not typed:
        return ""
    number = _parse_number(typed, country)
    if number.country_code == 61 and phonenumbers.number_type(number) in CALL_CENTRE:
        raise ValidationError(
            "The carrier doesn't take 13, 1300 or 1800 numbers. Use one a person answers.",
            code="call_centre",
        )
    at_home = phonenumbers.region_code_for_number(number) == country
    form = PhoneNumberFormat.NATIONAL if at_home else PhoneNumberFormat.INTERNATIONAL
    number.extension = None
    return phonenumbers.format_number(number, form)


def extension_of(text: str, country: str) -> str:
    """Return the extension of a number that `clean_phone` accepts, such as 54321, or ""."""
    typed = normalise_text(text).strip()
    return _parse_number(typed, country).extension or "" if typed else ""


def across_borders(phone: str, country: str) -> str:
    """Return the number as dialled from another country (E.164); an unreadable one unchanged."""
    try:
        number = phonenumbers.parse(phone, country)
    except NumberParseException:
        return phone
    return phonenumbers.format_number(number, PhoneNumberFormat.E164)


def phone_spellings(typed: str) -> set[str]:
    """Return the forms in which a number may be stored: the local one, and that with a plus.

    `0491570156`, `+61491570156` and `0491 570 156` are one number. For other text the result is
    empty.
    """
    forms = (PhoneNumberFormat.NATIONAL, PhoneNumberFormat.INTERNATIONAL)
    numbers = list(_read_in(("AU", "CA", "US"), typed))
    return {phonenumbers.format_number(number, form) for number in numbers for form in forms}


def spellings_anywhere(typed: str) -> set[str]:
    """Return `phone_spellings`, and how each other country would write a local number like it."""
    numbers = _read_in(phonenumbers.SUPPORTED_REGIONS, typed)
    local = {phonenumbers.format_number(one, PhoneNumberFormat.NATIONAL) for one in numbers}
    return phone_spellings(typed) | local


def _read_in(countries: Iterable[str], typed: str) -> Iterator[phonenumbers.PhoneNumber]:
    for country in countries:
        with suppress(NumberParseException):
            number = phonenumbers.parse(typed, country)
            if phonenumbers.is_valid_number(number):
                yield number


def _parse_number(typed: str, country: str) -> phonenumbers.PhoneNumber:
    if len(typed) <= LONGEST:
        # Digits are often typed in full width in Japan, and Arabic has its own digits.
        plain = phonenumbers.normalize_digits_only(
            unicodedata.normalize("NFKC", typed), keep_non_digits=True
        )
        # Many countries write 00 instead of the plus. No country code begins with 0.
        spellings = plain, re.sub("^00", "+", plain), re.sub(r"^\+(?=0)", "", plain)
        for spelled in spellings:
            with suppress(NumberParseException):
                number = phonenumbers.parse(EXTENSION.sub(" ext ", spelled), country)
                # This checks the numbering plan, not only the length: a mobile number with a digit
                # missing is as long as a local one. The plan includes numbers reserved for fiction,
                # such as US 555-01xx; the carrier takes them.
                if phonenumbers.is_valid_number(number):
                    return number
    raise ValidationError(
        "Check this phone number: write it with its area code, or with + and the country's code.",
        code="phone",
    )
