"""Normalise text for searching, without case or accents: `zoe` finds Zoë and `dang` finds Đặng.

PostgreSQL's unaccent() isn't immutable and SQLite has none, so the text is folded when it is
written (Order.search, which triggers copy to OrderSearch).
"""

import unicodedata

# Map letters that Unicode doesn't decompose to what people type on another keyboard.
LETTERS = str.maketrans(
    {"đ": "d", "ð": "d", "ø": "o", "ł": "l", "ħ": "h", "ı": "i", "æ": "ae", "œ": "oe", "þ": "th"}
)


def fold(text: str) -> str:
    """Return the text in lower case without accents. White space stays as it is."""
    apart = unicodedata.normalize("NFKD", text.casefold())
    return "".join(c for c in apart if not unicodedata.combining(c)).translate(LETTERS)
