"""How a file's bytes are decoded, and how letters decoded wrongly earlier are repaired."""

import pytest

from shipping_portal.importing import encodings, reading

NAMES = "Zoë Müller, Café José, 12 Señor St"


@pytest.mark.parametrize("code_page", ["cp1252", "mac_roman"])
@pytest.mark.parametrize(
    "text", [NAMES, "Zoë", "É. Côté", "O’Brien – “Mug”", "12 Rue de l’Église", "5°", "Müller™ 5 €"]
)
def test_a_few_names_are_enough_to_guess_the_code_page(code_page: str, text: str) -> None:
    try:
        data = text.encode(code_page)
    except UnicodeEncodeError:  # that code page has no such sign
        return
    guessed = encodings.guess(data)
    assert guessed
    assert guessed[0] == text


@pytest.mark.parametrize(("text", "code_page"), [("Grażyna, Stefańska", "cp1250"), (NAMES, "cp850")])
def test_a_few_names_are_enough_for_rarer_code_pages(text: str, code_page: str) -> None:
    assert encodings.guess(text.encode(code_page)) == (text, code_page)


@pytest.mark.parametrize("times", [1, 2, 3])
@pytest.mark.parametrize("text", [NAMES, "O’Brien", "Ánna Šimon", "“Ł” €", "Ärger in Übersee"])
def test_utf_8_that_was_read_as_windows_1252_is_repaired(times: int, text: str) -> None:
    spoilt = text
    for _ in range(times):
        spoilt = "".join(
            bytes([byte]).decode("cp1252", "ignore") or chr(byte) for byte in spoilt.encode()
        )  # Windows keeps the few bytes that it has no letter for
    assert encodings.decoded_back(spoilt) == text


@pytest.mark.parametrize("text", ["", "Mug", NAMES, "Â", "ÃÃ", "Ã©", "Ł Łódź", "日本", "50 Â°C"])
def test_text_that_may_be_intended_is_not_changed(text: str) -> None:
    stays = text in ("", "Mug", NAMES, "Â", "ÃÃ", "Ł Łódź", "日本")
    assert (encodings.decoded_back(text) == text) == stays


def test_a_file_that_was_only_partly_misread_is_not_changed() -> None:
    sheet = reading.read("name\nBjÃ¶rk\nZoë\n".encode())
    assert sheet.rows == {2: ["BjÃ¶rk"], 3: ["Zoë"]}
    assert "decoded_back" not in sheet.notes


def test_a_file_with_a_byte_order_mark_is_read_as_marked() -> None:
    with pytest.raises(reading.UnreadableFile, match="character on line 2"):
        reading.read(b"\xef\xbb\xbfname\nZo\xeb\n")
