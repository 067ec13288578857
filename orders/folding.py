"""Texts as a search compares them: no case and no accents, so that `zoe` finds Zoë and `dang` finds Đặng.

PostgreSQL's unaccent() is not immutable and SQLite has none, so the text is folded where it is written (Order.search).
"""

import unicodedata

# Letters that Unicode takes for letters of their own, as their readers type them on another keyboard.
LETTERS = str.maketrans({"đ": "d", "ð": "d", "ø": "o", "ł": "l", "ħ": "h", "ı": "i", "æ": "ae", "œ": "oe", "þ": "th"})


def fold(text: str) -> str:
    """Return the text in small letters without accents; its white space stays as it is."""
    apart = unicodedata.normalize("NFKD", text.casefold())
    return "".join(c for c in apart if not unicodedata.combining(c)).translate(LETTERS)
