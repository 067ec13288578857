"""Text as people see it: invisible characters are removed before any rule applies."""

import sys
import unicodedata

import pytest

from shipping_portal.accounts.address.text import APOSTROPHE, normalise_name, normalise_text, one_line

# Visible characters whose Unicode category is that of invisible ones.
SEEN = {*range(0x0600, 0x0606), 0x06DD, 0x070F, 0x0890, 0x0891, 0x08E2, 0x110BD, 0x110CD, *range(0x13430, 0x13460)}
LETTERS = [chr(code) for code in range(sys.maxunicode + 1)]


def test_invisible_characters_are_removed_spaces_and_dashes_unified() -> None:
    becomes = {"Cf": "", "Zs": " ", "Zl": " ", "Zp": " ", "Pd": "-"}
    wanted = {c: becomes[kind] for c in LETTERS if (kind := unicodedata.category(c)) in becomes and ord(c) not in SEEN}
    assert {c: normalise_text(c) for c in wanted if normalise_text(c) != wanted[c]} == {}


def test_nothing_else_changes_but_fillers_selectors_wide_letters_and_the_minus() -> None:
    kinds = {"Cf", "Zs", "Zl", "Zp", "Pd", "Cn"}
    changed = {c: normalise_text(c) for c in LETTERS if normalise_text(c) != c and unicodedata.category(c) not in kinds}
    dropped = {c for c in changed if not changed[c]}
    wide = {chr(code + 0xFEE0): chr(code) for code in range(ord("!"), ord("~") + 1)}
    plain = {"\t": " ", "\u2800": " ", "\u2212": "-", **wide}
    assert {c: changed[c] for c in changed.keys() - dropped} == {c: plain[c] for c in plain if c in changed}
    assert plain.keys() - changed.keys() == {"\uff0d"}  # among the dashes
    assert {"\u034f", "\u115f", "\u1160", "\u3164", "\uffa0", "\ufe0f", "\U000e0100"} <= dropped
    assert all(unicodedata.category(c) in ("Mn", "Lo") for c in dropped)


@pytest.mark.parametrize(
    ("typed", "seen"),
    [
        ("Pat\u200b Doe", "Pat Doe"),
        ("\u202a+1 (213) 555\u20110142\u202c", "+1 (213) 555-0142"),
        ("213\u00a0555\u00a00142", "213 555 0142"),
        ("12\u200c\u200dSmith\u00adson", "12Smithson"),
        ("D’Arcy O'Neil-Lee ʻOkina", "D’Arcy O'Neil-Lee ʻOkina"),
        ("Lee–Ann — 5 − 3", "Lee-Ann - 5 - 3"),
        ("a\tb", "a b"),
        ("１２－３ Ｈｉｇｈ Ｓｔ　＃４", "12-3 High St #4"),
        ("a\r\nb\x00", "a\r\nb\x00"),
    ],
)
def test_a_text_is_read_the_way_it_looks(typed: str, seen: str) -> None:
    assert normalise_text(typed) == seen


def test_a_line_for_a_search_has_no_controls() -> None:
    assert one_line("Mia\u00a0Lee\x00\r\n\u200b") == "Mia Lee"


def test_names_are_compared_without_any_apostrophe() -> None:
    assert {normalise_name(f"O{sign}Fallon") for sign in APOSTROPHE.pattern.strip("[]")} == {"ofallon"}
    assert normalise_name("Kāneʻohe\u200b  Bay–East") == "kaneohe bay east"
