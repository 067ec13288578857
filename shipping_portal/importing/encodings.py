"""Which letters the bytes of a file stand for, where it doesn't say so, and letters that were read wrongly before.

A library that guesses encodings goes by whole texts of a language. A file of orders has a few names with one letter
each that matters, and there the libraries guess wrong: so each likely code page is tried on just these letters.
"""

import re
from itertools import islice

# The first that fits best. Excel writes Windows' on Windows, Mac OS's on older Macs; old programs write DOS's.
CODE_PAGES = {"cp1252": "Windows-1252", "mac_roman": "Mac OS Roman", "cp850": "DOS 850", "cp1250": "Windows-1250"}
MOST_LETTERS = 5_000  # that are looked at
MOST_TIMES = 3  # that a text was read wrongly, each on top of the other
NOT_ASCII = re.compile(r"[^\x00-\x7f]")
FOLLOWS = set("’”»™®©…·‑")  # signs that may stand right behind a letter
WITHIN = set("’·‑")  # of these, those that may stand between two
OPENS = set("‘“«‚„¿¡")
# What Windows has in place of a few bytes' own characters, back to these bytes.
TO_BYTES = {ord(bytes([byte]).decode("cp1252", "ignore") or chr(byte)): byte for byte in range(128, 160)}


def guess(data: bytes) -> tuple[str, str] | None:
    """Return the text in the code page whose letters look most like words, and its name; None where none fits."""
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
    """Return how many letters and signs stand where words have none: a capital or a dash within, a quote behind."""
    odd = 0
    for found in islice(NOT_ASCII.finditer(text), MOST_LETTERS):
        sign, at = found[0], found.start()
        before, after = text[at - 1 : at], text[at + 1 : at + 2]
        if sign.isalpha():
            odd += before.isdigit() or (sign.isupper() and (before.islower() or (before.isalpha() and after.islower())))
        elif before.isalpha():
            odd += sign not in (WITHIN if after.isalpha() else FOLLOWS)
        else:
            odd += before.isdigit() and sign in OPENS
    return odd


def decoded_back(text: str) -> str:
    """Return what a text was before its UTF-8 was read as Windows' letters; the same text where it wasn't."""
    for _ in range(MOST_TIMES):
        try:
            before = text.translate(TO_BYTES).encode("latin-1").decode("utf-8")
        except UnicodeError:
            break
        if before == text:
            break
        text = before
    return text
