"""Read text as people see it, and normalise it for comparison, before any other rule applies."""

import re
import unicodedata

# Characters that Unicode calls default-ignorable, and annotation marks: direction marks, joiners,
# fillers.
INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
SPACE = re.compile("[\t\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u2800\u3000]")
DASH = re.compile(
    "[\u058a\u05be\u1400\u1806\u2010-\u2015\u2212\u2e17\u2e1a\u2e3a\u2e3b\u2e40\u2e5d\u301c\u3030\u30a0\ufe31\ufe32"
    "\ufe58\ufe63\uff0d\U00010ead]"
)
# Letters, digits and signs as wide as Chinese and Japanese ones.
WIDE = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}
APOSTROPHE = re.compile("['’‘`´ʻʼʹ′＇]")


def normalise_text(text: str) -> str:
    """Return the text without invisible characters, with plain spaces, and "-" for every dash.

    Letters and digits in the double width of Chinese and Japanese signs are plain ones.

    Line ends and other control characters stay: they are neither rejected here nor read as spaces.
    """
    if text.isascii():
        return text.replace("\t", " ")
    return DASH.sub("-", SPACE.sub(" ", INVISIBLE.sub("", text))).translate(WIDE)


def one_line(text: str) -> str:
    """Return the visible text without control characters, for searches and drafts."""
    return "".join(c for c in normalise_text(text) if c.isprintable())


def normalise_name(text: str) -> str:
    """Return a name to compare: no case, accents, apostrophes, punctuation or extra spaces."""
    decomposed = unicodedata.normalize("NFKD", APOSTROPHE.sub("", normalise_text(text)))
    plain = "".join(c for c in decomposed if not unicodedata.combining(c))
    return " ".join(re.sub(r"[^\w\s]|_", " ", plain.casefold().replace(".", "")).split())


def word_set(text: str) -> frozenset[str]:
    """Return the set of words in a space-separated string."""
    return frozenset(text.split())
