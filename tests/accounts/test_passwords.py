"""Which passwords are refused, beyond Django's own rules."""

import hashlib
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError

from shipping_portal.accounts.models import User


def codes(password: str, **person: Any) -> set[str]:
    try:
        validate_password(password, User(email="mia@quill.example", **person))
    except ValidationError as error:
        return {str(problem.code) for problem in error.error_list}
    return set()


@pytest.mark.parametrize(
    "password",
    ["123456789012", "000000000000", "aaaaaaaaaaaa", "abababababab", "password1234567", "ShippingPortal2026"],
)
def test_digits_repeated_letters_and_disguised_words_are_refused(password: str) -> None:
    assert "dressed_up_word" in codes(password)


@pytest.mark.parametrize("password", ["violet-anchor-moss", "Zwölf kleine Enten", "4 8 15 16 23 x rabbit"])
def test_a_few_unrelated_words_are_accepted(password: str) -> None:
    assert codes(password) == set()


@pytest.mark.parametrize(("length", "is_staff", "refused"), [(12, False, False), (14, True, True), (15, True, False)])
def test_an_operator_needs_fifteen_characters(length: int, is_staff: bool, refused: bool) -> None:
    assert ("staff_short" in codes("violet-anchor-moss"[:length], is_staff=is_staff)) is refused


@pytest.fixture
def stolen(tmp_path: Path, settings: Any) -> list[str]:
    words = [f"stolen passphrase {number}" for number in range(200)]
    lines = sorted(hashlib.sha1(word.encode(), usedforsecurity=False).hexdigest().upper() for word in words)
    file = tmp_path / "stolen"
    file.write_text("".join(f"{line}:{number * 7}\r\n" for number, line in enumerate(lines)))
    settings.STOLEN_PASSWORDS_FILE = str(file)
    return words


def test_exactly_the_stolen_passwords_are_refused(stolen: list[str]) -> None:
    assert all("stolen" in codes(word) for word in stolen)
    assert not any("stolen" in codes(f"unknown passphrase {number}") for number in range(200))


@pytest.mark.parametrize(
    "password",
    [
        "portalportal", "shipping portal", "Shipping Portal 2026", "p0rtal p@rcel", "Ann Pty Ann Pty", "annpty-annpty1",
        "p4ssw0rdp4ssw0rd", "mia.quill.mia", "quill example 1", "testserver123", "annannannannann", "Mia Sato Mia Sato",
    ],
)  # fmt: skip
def test_words_of_the_portal_the_person_and_the_business_are_refused_however_they_are_written(
    password: str, settings: Any
) -> None:
    settings.SITE_URL = "https://testserver.example"
    person = User(email="mia@quill.example", name="Mia Sato")
    person.business = "Ann Pty"  # type: ignore[attr-defined]
    with pytest.raises(ValidationError):
        validate_password(password, person)


@pytest.mark.parametrize("password", ["violet ann moss lamp", "anchor portal violet", "4 8 15 16 23 x rabbit"])
def test_such_a_word_among_others_is_accepted(password: str) -> None:
    person = User(email="mia@quill.example", name="Mia Sato")
    person.business = "Ann Pty"  # type: ignore[attr-defined]
    validate_password(password, person)


@pytest.mark.django_db
def test_the_business_of_a_member_counts(alice: User) -> None:
    with pytest.raises(ValidationError):
        validate_password("quillco quillco", alice)


@pytest.mark.parametrize("password", ["kestrelkestrel", "Kestrel Freight", "k3str3l-fr3ight"])
def test_the_brand_of_this_installation_counts(settings: Any, password: str) -> None:
    settings.BRAND_NAME = "Kestrel Freight"
    with pytest.raises(ValidationError):
        validate_password(password, User(email="mia@quill.example"))
