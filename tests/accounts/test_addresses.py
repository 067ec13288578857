"""Names, address lines and phone numbers: what a label can carry."""

import sys
import unicodedata

import pytest
from django.core.exceptions import ValidationError

from shipping_portal.accounts.address import addresses
from shipping_portal.accounts.address.addresses import clean_line, is_long, repeats_place, same_name, without_place
from shipping_portal.accounts.address.phones import across_borders, clean_phone
from shipping_portal.sandbox import ordering

FITZROY = {"suburb": "FITZROY", "postcode": "3065", "state": "VIC", "country": "AU"}
OTTAWA = {"suburb": "Ottawa", "postcode": "K1P 5M7", "state": "ON", "country": "CA"}


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("12 Smith Street, Fitzroy VIC 3065", "Fitzroy VIC 3065"),
        ("12 Smith Street fitzroy", "fitzroy"),
        ("Level 3, Fitzroy, 12 Smith Street", "Fitzroy"),
        ("12 Smith Street Victoria", "Victoria"),
        ("12 Smith Street, Vic.", "Vic."),
        ("12 Smith Street Australia", "Australia"),
        ("Fitzroy", "Fitzroy"),
        ("1 Fitzroy Street", ""),
        ("1 Victoria Street", ""),
        ("PO Box 3065", ""),
        ("3065 Smith Street", ""),
        ("Unit 4, 12 Smith Street", ""),
        ("12 Fitzroy VIC Street", "Fitzroy VIC"),
        ("Fitzroy 3065, rear", "Fitzroy 3065"),
        ("12 Smith Street/Fitzroy", "Fitzroy"),
        ("4/12 Smith Street", ""),
        ("12 Fitzroy Victoria Lane", "Fitzroy Victoria"),
    ],
)
def test_a_line_must_not_repeat_the_place_but_a_street_may_be_named_after_it(line: str, words: str) -> None:
    assert repeats_place(line, **FITZROY) == words


@pytest.mark.parametrize(
    ("line", "place", "words"),
    [
        ("12 Oak Ct", ("Hartford", "06103", "CT", "US"), ""),
        ("Unit 5, 12 Oak Ct", ("Hartford", "06103", "CT", "US"), ""),
        ("9 Mill Wy", ("Cody", "82414", "WY", "US"), ""),
        ("100 Main St NE", ("Omaha", "68102", "NE", "US"), ""),
        ("12 Oak St Hartford CT", ("Hartford", "06103", "CT", "US"), "Hartford CT"),
        ("12 Oak Ct CT 06103", ("Hartford", "06103", "CT", "US"), "Ct CT 06103"),
        ("12 Oak St CT 06103 USA", ("Hartford", "06103", "CT", "US"), "CT 06103 USA"),
        ("12 Oak Ct, CT", ("Hartford", "06103", "CT", "US"), "CT"),
        ("12 Oak Ct Connecticut", ("Hartford", "06103", "CT", "US"), "Connecticut"),
        ("12 Hartford Ct", ("Hartford", "06103", "CT", "US"), "Hartford Ct"),
        ("1201 Camino Del Mar", ("Del Mar", "92014", "CA", "US"), ""),
        ("250 Calle San Juan", ("San Juan", "00901", "PR", "US"), ""),
        ("250 Avenida de San Juan", ("San Juan", "00901", "PR", "US"), ""),
        ("250 Ave. de la Puerto Rico", ("San Juan", "00901", "PR", "US"), ""),
        ("9 Rue de Québec", ("Québec", "G1R 4P5", "QC", "CA"), ""),
        ("9 Chemin de la Québec", ("Québec", "G1R 4P5", "QC", "CA"), ""),
        ("9 rue Laval Québec", ("Québec", "G1R 4P5", "QC", "CA"), "Québec"),
        ("Suite 4 100 Broadway", ("Broadway", "22815", "VA", "US"), ""),
        ("Suite 4 Broadway", ("Broadway", "22815", "VA", "US"), "Broadway"),
        ("PO Box 4 Broadway", ("Broadway", "22815", "VA", "US"), "Broadway"),
        ("Unit 3/12 Broadway", ("Broadway", "22815", "VA", "US"), ""),
        *(
            (f"100 {word} Broadway", ("Broadway", "22815", "VA", "US"), "")
            for word in ("N", "W.", "South", "Old", "The")
        ),
        ("12 Oak St North Broadway", ("Broadway", "22815", "VA", "US"), "Broadway"),
        ("Unit 5 South Broadway", ("Broadway", "22815", "VA", "US"), "Broadway"),
        *(
            (f"{word}3065", ("Fitzroy", "3065", "VIC", "AU"), "")
            for word in ("#", "# ", "Flat ", "Apartment ", "Room ", "Parcel Locker ", "RMB ", "Rural Route ", "No. ")
        ),
        ("# 12 Smith Street 3065", ("Fitzroy", "3065", "VIC", "AU"), "3065"),
        ("9 Broadway Broadway", ("Broadway", "22815", "VA", "US"), "Broadway"),
        ("1 Esplanade Victoria", ("Fitzroy", "3065", "VIC", "AU"), ""),
    ],
)
def test_a_street_may_share_its_places_name_or_end_like_its_state(
    line: str, place: tuple[str, str, str, str], words: str
) -> None:
    assert repeats_place(line, *place) == words


@pytest.mark.parametrize(
    ("line", "left"),
    [
        ("12 Smith Street, Fitzroy VIC 3065", "12 Smith Street"),
        ("Level 3, Fitzroy, 12 Smith Street", "Level 3, 12 Smith Street"),
        ("Fitzroy", ""),
        ("12 Fitzroy VIC Street", "12 Street"),
        ("12 Smith Street/Fitzroy", "12 Smith Street"),
        ("Unit 4/12 Smith Street", "Unit 4/12 Smith Street"),
        ("12 Smith  Street", "12 Smith  Street"),
        ("12 Smith Street Fitzroy, 3065, Australia", "12 Smith Street"),
    ],
)
def test_a_repeated_place_can_be_left_out(line: str, left: str) -> None:
    assert without_place(line, **FITZROY) == left
    assert repeats_place(left, **FITZROY) == ""


def test_a_street_and_its_suburb_may_share_a_name() -> None:
    assert repeats_place("12 Broadway", "Broadway", "2007", "NSW", "AU") == ""
    assert repeats_place("100 Rue Sherbrooke", "Sherbrooke", "J1H 1A1", "QC", "CA") == ""


@pytest.mark.parametrize("line", ["1 Main St, Ottawa ON K1P 5M7", "1 Main St ottawa Ontario k1p5m7 Canada"])
def test_a_postcode_is_found_with_and_without_its_space(line: str) -> None:
    assert repeats_place(line, **OTTAWA).lower().startswith("ottawa")
    assert repeats_place(line, **OTTAWA).split()[-1].lower() in {"5m7", "canada"}


@pytest.mark.parametrize("text", ["a\x00b", "x\r\nBcc: a@b", "a\ud800", "a\x1b[31mb", "a\x85b", "a\ue000b"])
def test_hidden_characters_are_refused(text: str) -> None:
    with pytest.raises(ValidationError) as refused:
        clean_line(text)
    assert refused.value.code == "hidden"


@pytest.mark.parametrize("text", ["Нина", "東京", "١٢ High St", "12 High St 😀"])
def test_unprintable_characters_are_named(text: str) -> None:
    with pytest.raises(ValidationError, match="Latin letters"):
        clean_line(text)


@pytest.mark.parametrize(
    ("text", "plain"),
    [("1𝟐 High St", "12 High St"), ("𝐃ặng", "Dang"), ("𝐃𝐚𝐧𝐠", "Dang"), ("Nin\u0302x\u0302a", "Ninxa")],
)
def test_a_variant_of_a_latin_letter_suggests_its_plain_spelling(text: str, plain: str) -> None:
    with pytest.raises(ValidationError, match=f"^\\['Write “{plain}”: “.” cannot be printed.'\\]$"):
        clean_line(text)


@pytest.mark.parametrize("name", ["Đặng Thị Hằng", "Øyvind Ærø", "Ḥasan Ẓāfir", "Łukasz Żółć"])
def test_a_name_in_latin_letters_with_any_accents_is_accepted(name: str) -> None:
    assert clean_line(name) == name


def test_portal_and_carrier_accept_the_same_letters() -> None:
    letters = map(chr, range(sys.maxunicode + 1))
    asked = [c for c in letters if unicodedata.category(c) not in addresses.UNPRINTABLE]
    assert [c for c in asked if addresses._is_printable(c) != ordering.is_printable(c)] == []


def test_a_line_keeps_its_accents_and_loses_stray_spaces() -> None:
    assert clean_line("  Zoe\u0308’s   Café, Nº 5 & Co. ") == "Zoë’s Café, Nº 5 & Co."


def test_a_line_needs_a_letter_or_digit_and_has_a_maximum_length() -> None:
    with pytest.raises(ValidationError, match="at least one letter"):
        clean_line("- .")
    with pytest.raises(ValidationError, match="this has 256"):
        clean_line("a" * 256)
    assert clean_line("a" * 255) == "a" * 255


def test_forty_characters_fit_and_forty_one_are_warned_about() -> None:
    assert not is_long("a" * 40)
    assert is_long("a" * 41)


def test_names_are_the_same_whatever_their_case_spaces_and_accents() -> None:
    assert same_name("Noor  Tamsin", "noor tamsin")
    assert same_name("Zoë’s", "Zoes")
    assert not same_name("", "")
    assert not same_name("Noor Tamsin", "Tamsin Ceramics")


@pytest.mark.parametrize(
    ("typed", "country", "stored"),
    [
        ("0491570006", "AU", "0491 570 006"),
        ("+61 491 570 006", "AU", "0491 570 006"),
        ("503 555 0142", "US", "(503) 555-0142"),
        ("613-555-0142", "CA", "(613) 555-0142"),
        ("+1 503 555 0142", "AU", "+1 503-555-0142"),
        ("  ", "AU", ""),
        ("+44 20 7946 0958", "GB", "020 7946 0958"),
    ],
)
def test_a_phone_is_formatted_as_in_its_country(typed: str, country: str, stored: str) -> None:
    assert clean_phone(typed, country) == stored


@pytest.mark.parametrize(
    ("typed", "country"),
    [("13 12 34", "AU"), ("1300 123 456", "AU"), ("1800 123 456", "AU"), ("+61 1300 123 456", "AU"),
     ("+61 1300 123 456", "NZ")],
)  # fmt: skip
def test_australian_call_centre_numbers_are_refused(typed: str, country: str) -> None:
    with pytest.raises(ValidationError, match="t take 13, 1300 or 1800"):
        clean_phone(typed, country)


def test_another_countrys_freephone_number_is_accepted_in_australia() -> None:
    assert clean_phone("+1 800 234 5678", "AU") == "+1 800-234-5678"


def test_another_countrys_phone_number_is_not_read_as_a_local_one() -> None:
    """Ten digits is a valid length in the United States, but no number there starts with 0."""
    with pytest.raises(ValidationError, match="with \\+ and the country's code"):
        clean_phone("0491 570 156", "US")


@pytest.mark.parametrize(
    ("phone", "country", "dialled"),
    [
        ("0491 570 156", "AU", "+61491570156"),
        ("(310) 555-0100", "US", "+13105550100"),
        ("+1 613-555-0142", "AU", "+16135550142"),
        ("", "AU", ""),
    ],
)
def test_across_borders_a_phone_has_its_countrys_code(phone: str, country: str, dialled: str) -> None:
    assert across_borders(phone, country) == dialled


@pytest.mark.parametrize("typed", ["<script>", "1" * 40, "123", "12", "0412 345 67", "412 345 6", "０４９１５７０００"])
def test_an_invalid_phone_number_is_refused(typed: str) -> None:
    with pytest.raises(ValidationError, match="Check this phone number"):
        clean_phone(typed, "AU")
