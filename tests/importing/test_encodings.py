"""How a file's bytes are decoded, and letters that were decoded wrongly before."""

import pytest

from shipping_portal.importing import encodings, reading

NAMES = "Zoë Müller, Café José, 12 Señor St"


@pytest.mark.parametrize("code_page", ["cp1252", "mac_roman"])
@pytest.mark.parametrize(
    "text", [NAMES, "Zoë", "É. Côté", "O’Brien – “Mug”", "12 Rue de l’Église", "5°", "Müller™ 5 €"]
)
def test_the_letters_of_a_few_names_tell_the_code_page(code_page: str, text: str) -> None:
    try:
        data = text.encode(code_page)
    except UnicodeEncodeError:  # that code page has no such sign
        return
    guessed = encodings.guess(data)
    assert guessed
    assert guessed[0] == text


@pytest.mark.parametrize(("text", "code_page"), [("Grażyna, Stefańska", "cp1250"), (NAMES, "cp850")])
def test_other_code_pages_are_known_by_a_few_names(text: str, code_page: str) -> None:
    assert encodings.guess(text.encode(code_page)) == (text, code_page)


@pytest.mark.parametrize("times", [1, 2, 3])
@pytest.mark.parametrize("text", [NAMES, "O’Brien", "Ánna Šimon", "“Ł” €", "Ärger in Übersee"])
def test_utf_8_that_was_read_as_windows_is_put_back(times: int, text: str) -> None:
    spoilt = text
    for _ in range(times):
        spoilt = "".join(
            bytes([byte]).decode("cp1252", "ignore") or chr(byte) for byte in spoilt.encode()
        )  # Windows keeps the few bytes that it has no letter for
    assert encodings.decoded_back(spoilt) == text


@pytest.mark.parametrize("text", ["", "Mug", NAMES, "Â", "ÃÃ", "Ã©", "Ł Łódź", "日本", "50 Â°C"])
def test_a_text_that_could_be_meant_stays(text: str) -> None:
    stays = text in ("", "Mug", NAMES, "Â", "ÃÃ", "Ł Łódź", "日本")
    assert (encodings.decoded_back(text) == text) == stays


def test_a_file_of_which_only_some_was_read_wrongly_stays_as_it_is() -> None:
    sheet = reading.read("name\nBjÃ¶rk\nZoë\n".encode())
    assert sheet.rows == {2: ["BjÃ¶rk"], 3: ["Zoë"]}
    assert "decoded_back" not in sheet.notes


def test_a_marked_file_is_read_as_it_says() -> None:
    with pytest.raises(reading.UnreadableFile, match="character on line 2"):
        reading.read(b"\xef\xbb\xbfname\nZo\xeb\n")
