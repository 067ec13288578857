"""Guess a file's code page from its letters, and detect letters that were decoded wrongly.

Libraries that guess encodings use statistics of whole texts. A file of orders has only a few names
with a letter that matters, and for those they guess wrong. So each likely code page is tried on
just these letters.
"""

import re
from itertools import islice

# The first of the best fits wins. Excel writes Windows code pages on Windows and Mac OS ones on
# older Macs; old programs write DOS ones.
CODE_PAGES = {
    "cp1252": "Windows-1252",
    "mac_roman": "Mac OS Roman",
    "cp850": "DOS 850",
    "cp1250": "Windows-1250",
}
MOST_LETTERS = 5_000  # letters examined
MOST_TIMES = 3  # how many times in a row a text may have been decoded wrongly
NOT_ASCII = re.compile(r"[^\x00-\x7f]")
FOLLOWS = set("’”»™®©…·‑")  # signs that may follow a letter
WITHIN = set("’·‑")  # those that may also come between two letters
OPENS = set("‘“«‚„¿¡")
# Windows' replacements for a few bytes, mapped back to these bytes.
TO_BYTES = {
    ord(bytes([byte]).decode("cp1252", "ignore") or chr(byte)): byte for byte in range(128, 160)
}


def guess(data: bytes) -> tuple[str, str] | None:
    """Return the text in the best-fitting code page, and the code page's name, or None."""
    texts = {}
    for name in CODE_PAGES:
        try:
            texts[name] = data.decode(name)
        except UnicodeDecodeError:
            continue
    odd = {name: _odd_letters(text) for name, text in texts.items()}
    best = min(odd, key=lambda name: odd[name])
    return (texts[best], best) if "cp1252" in texts or not odd[best] else None


def _odd_letters(text: str) -> int:
    """Return how many letters and signs are in places where words have none.

    Examples are a capital inside a word, or a quotation mark after one.
    """
    odd = 0
    for found in islice(NOT_ASCII.finditer(text), MOST_LETTERS):
        sign, at = found[0], found.start()
        before, after = text[at - 1 : at], text[at + 1 : at + 2]
        if sign.isalpha():
            odd += before.isdigit() or (
                sign.isupper() and (before.islower() or (before.isalpha() and after.islower()))
            )
        elif before.isalpha():
            odd += sign not in (WITHIN if after.isalpha() else FOLLOWS)
        else:
            odd += before.isdigit() and sign in OPENS
    return odd


def decoded_back(text: str) -> str:
    """Return a text as it was before its UTF-8 was decoded with a Windows code page, if it was."""
    for _ in range(MOST_TIMES):
        try:
            before = text.translate(TO_BYTES).encode("latin-1").decode("utf-8")
        except UnicodeError:
            break
        if before == text:
            break
        text = before
    return text
