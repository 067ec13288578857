"""Rules of names and address lines that every form shares: what a label can carry and the carrier accepts."""

import re
import unicodedata
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from shipping_portal.accounts import countries
from shipping_portal.accounts.countries import COUNTRY_NAMES, state_name
from shipping_portal.accounts.places import normalise

LINE_ADVISED = 40  # interface §8: at most 40 characters recommended
LINE_LONGEST = 255
FAR_TOO_LONG = 10 * LINE_LONGEST
HIDDEN = re.compile(r"[\x00-\x1f\x7f]")
HIDDEN_SENTENCE = "Use plain text on one line, without hidden characters."
UNPRINTABLE = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
LETTERS_BY_USE = set("ªºʻʼ")  # no Latin letters by name, yet part of Latin addresses
SIGNS_BY_USE = set("°№€£")
STREET_FIRST = {"rue", "avenue", "av", "boulevard", "boul", "chemin", "ch", "place", "route", "rang", "via"}
NUMBER_FIRST = {"apt", "bag", "box", "highway", "hwy", "level", "lot", "ph", "shop", "ste", "suite", "unit"}


def clean_line(text: str, *, longest: int = LINE_LONGEST) -> str:
    """Return one line of Latin text, spaces tidied.

    Raises ValidationError with a sentence for the person who typed it.
    """
    if len(text) > FAR_TOO_LONG:  # said before each of its characters is looked at
        raise ValidationError(f"Use at most {longest} characters; this has {len(text)}.", code="max_length")
    if any(unicodedata.category(c) in UNPRINTABLE for c in text.strip()):
        raise ValidationError(HIDDEN_SENTENCE, code="hidden")
    line = " ".join(unicodedata.normalize("NFC", text).split())
    strange = next((c for c in line if not _is_printable(c)), "")
    if strange:
        plain = _plain(line)
        instead = f"Write “{plain}”" if plain else "Use Latin letters"
        raise ValidationError(f"{instead}: “{strange}” cannot be printed.", code="letters")
    if line and not any(c.isalnum() for c in line):
        raise ValidationError("Use at least one letter or digit.", code="no_letters")
    if len(line) > longest:
        raise ValidationError(f"Use at most {longest} characters; this has {len(line)}.", code="max_length")
    return line


def is_long(line: str) -> bool:
    """Return whether it is longer than interface §8 recommends: the end may not fit on the label."""
    return len(line) > LINE_ADVISED


def same_name(a: str, b: str) -> bool:
    """Do a contact and a company read the same? Both are printed on the label."""
    return bool(normalise(a)) and normalise(a) == normalise(b)


def repeats_place(line: str, suburb: str, postcode: str, state: str, country: str) -> str:
    """Return the words of an address line that repeat its suburb, postcode, state or country; "" when none do.

    Only words that end a part of the line count, so `1 Fitzroy Street` in Fitzroy and `12 Broadway` in Broadway
    pass while `1 Smith Street, Fitzroy VIC 3065` does not; or the suburb beside its state or postcode anywhere.
    """
    phrases = _phrases(suburb, postcode, state, country)
    pairs = {(*first, *then) for first in _phrases(suburb) for then in phrases}
    parts = [part.split() for part in re.split(r"[,;/]", line)]
    return " ".join(filter(None, (_repeated(words, phrases) or _inside(words, pairs) for words in parts)))


class LineField(forms.CharField):
    """A form field for one line of text that ends up on a label."""

    def to_python(self, value: Any) -> str:
        return clean_line(super().to_python(value) or "", longest=self.max_length or LINE_LONGEST)


class OnceOnly(forms.Form):
    """Every control has one value, on one line: sent twice or with hidden characters it is refused, never guessed."""

    def _clean_fields(self) -> None:
        super()._clean_fields()  # type: ignore[misc]  # Django's own seam, absent from its stubs
        if not hasattr(self.data, "getlist"):
            return
        for name in self.fields:
            fault = _fault(self.data.getlist(name))
            if fault:
                self.errors.pop(name, None)  # whatever else is wrong follows from it
                self.add_error(name, fault)


def _fault(values: list[str]) -> str:
    if len(values) > 1:
        return "This was sent twice. Fill it in once."
    hidden = bool(values) and HIDDEN.search(values[0])
    return HIDDEN_SENTENCE if hidden else ""


def _is_printable(c: str) -> bool:
    kind = unicodedata.category(c)
    if kind[0] == "L":
        return c in LETTERS_BY_USE or unicodedata.name(c, "").startswith("LATIN ")
    return c.isascii() or kind[0] in "PZ" or c in SIGNS_BY_USE


def _plain(line: str) -> str:
    """Return the line in plain Latin letters: “Ｄａｎｇ” is “Dang”. "" where one is another script's."""
    letters = [c for c in unicodedata.normalize("NFKD", line) if not unicodedata.combining(c)]
    return "".join(letters) if any(c.isalnum() for c in letters) and all(map(_is_printable, letters)) else ""


def _phrases(suburb: str, postcode: str = "", state: str = "", country: str = "") -> set[tuple[str, ...]]:
    names = [suburb, postcode, "".join(postcode.split()), state, state_name(country, state)]
    names += COUNTRY_NAMES.get(country, (country, countries.name(country)))
    return {tuple(normalise(name).split()) for name in names} - {()}


def _repeated(words: list[str], phrases: set[tuple[str, ...]]) -> str:
    """Return the tail of one comma-separated part that only says where the place is."""
    left = [normalise(word) for word in words]
    while tail := next((phrase for phrase in phrases if tuple(left[-len(phrase) :]) == phrase), None):
        before = left[: -len(tail)]
        if before and _belongs_to_street(before, tail):
            break
        left = before
    return " ".join(words[len(left) :])


def _inside(words: list[str], pairs: set[tuple[str, ...]]) -> str:
    """Return the first of these phrases that stands anywhere in the part."""
    left = [normalise(word) for word in words]
    for at in range(len(left)):
        for pair in pairs:
            if tuple(left[at : at + len(pair)]) == pair:
                return " ".join(words[at : at + len(pair)])
    return ""


def _belongs_to_street(before: list[str], tail: tuple[str, ...]) -> bool:
    if tail[0][:1].isdigit():
        return before[-1] in NUMBER_FIRST
    is_house_number = all(re.match(r"[0-9]", word) for word in before)
    return is_house_number or before[-1] in STREET_FIRST | NUMBER_FIRST
