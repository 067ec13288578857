"""Check names and address lines on every form: they must fit a label and suit the carrier."""

import re
import unicodedata
from collections.abc import Iterable
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from shipping_portal.accounts.address import countries
from shipping_portal.accounts.address.countries import COUNTRY_NAMES, state_name
from shipping_portal.accounts.address.text import normalise_name, normalise_text, word_set

LINE_ADVISED = 40  # interface §8: at most 40 characters recommended
LINE_LONGEST = 255
LONGEST_CODE = 3  # the longest state or country code; anything longer is a name
FAR_TOO_LONG = 10 * LINE_LONGEST
HIDDEN = re.compile(r"[\x00-\x1f\x7f]")
HIDDEN_SENTENCE = "Use plain text on one line, without hidden characters."
REPEATS = "Leave out “{words}” here. It's printed from the {word} field."
UNPRINTABLE = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
# used in Latin addresses, although Unicode doesn't class them as Latin
LETTERS_BY_USE = set("ªºʻʼ")
SIGNS_BY_USE = set("°№€£")
# Words that begin street names in French and Spanish: `Rue Sherbrooke`, `Camino Del Mar`.
STREET_FIRST = word_set(
    "rue ruelle avenue av ave boulevard boul bd blvd chemin ch place route rte rang montee cote "
    "allee impasse quai cours promenade croissant terrasse via calle camino avenida avda paseo "
    "plaza carretera carr callejon cerrada calzada alameda vereda esplanade mount mt"
)
PARTICLES = word_set("de du des la le les l d del los las el of the")  # after such a word
STREET_LAST = word_set(
    "street st road rd avenue ave av drive dr lane ln court ct parade pde highway hwy crescent "
    "cres close terrace tce boulevard blvd grove parkway pkwy"
)
PARTS = re.compile("([,;/])")  # with the punctuation between them
NUMBER_FIRST = word_set("apt bag box highway hwy level lot ph shop ste suite unit")
# A number after these isn't the postcode.
NUMBERED = NUMBER_FIRST | word_set(
    "# apartment bldg building cmb fl flat floor gate locker no pmb rm rmb room route rte tower "
    "villa"
)
# Words between a house number and its street: `100 N Broadway`, `1 The Broadway`.
DIRECTIONS = word_set("n s e w north south east west old upper lower")


def clean_line(text: str, *, longest: int = LINE_LONGEST) -> str:
    """Return one line of Latin text with tidy spaces.

    Raises ValidationError with a message for the person who typed it.
    """
    # Checked before the characters are examined one by one.
    if len(text) > FAR_TOO_LONG:
        raise ValidationError(
            f"Use at most {longest} characters; this has {len(text)}.", code="max_length"
        )
    text = normalise_text(text)
    if any(unicodedata.category(c) in UNPRINTABLE for c in text.strip()):
        raise ValidationError(HIDDEN_SENTENCE, code="hidden")
    line = " ".join(unicodedata.normalize("NFC", text).split())
    strange = next((c for c in line if not _is_printable(c)), "")
    if strange:
        plain = _plain_latin(line)
        instead = f"Write “{plain}”" if plain else "Use Latin letters"
        raise ValidationError(f"{instead}: “{strange}” cannot be printed.", code="letters")
    if line and not any(c.isalnum() for c in line):
        raise ValidationError("Use at least one letter or digit.", code="no_letters")
    if len(line) > longest:
        raise ValidationError(
            f"Use at most {longest} characters; this has {len(line)}.", code="max_length"
        )
    return line


def is_long(line: str) -> bool:
    """Return whether a line is longer than interface §8 recommends.

    The end may not fit on the label.
    """
    return len(line) > LINE_ADVISED


def same_name(a: str, b: str) -> bool:
    """Return whether a contact and a company read the same. Both are printed on the label."""
    return bool(normalise_name(a)) and normalise_name(a) == normalise_name(b)


def repeats_place(line: str, suburb: str, postcode: str, state: str, country: str) -> str:
    """Return the words of an address line that repeat its place, or "".

    Words count only at the end of a part of the line, so `1 Fitzroy Street` in Fitzroy and `12
    Broadway` in Broadway pass while `1 Smith Street, Fitzroy VIC 3065` doesn't. The suburb beside
    its state or postcode counts anywhere. A state or country alone must be a separate part, or
    follow a whole street: `12 Oak Ct` in Connecticut is a court.
    """
    parts = [part.split() for part in PARTS.split(line)[::2]]
    found = (words[_repeated_words(words, suburb, postcode, state, country)] for words in parts)
    return " ".join(filter(None, map(" ".join, found)))


def without_place(line: str, suburb: str, postcode: str, state: str, country: str) -> str:
    """Return the line without the words that repeat its place, or "" if nothing else is left."""
    pieces = PARTS.split(line)
    for at, part in enumerate(pieces):
        words = part.split()
        del words[_repeated_words(words, suburb, postcode, state, country)]
        pieces[at] = part if words == part.split() else " ".join(words)
    kept = [
        (sign, text)
        for sign, text in zip(["", *pieces[1::2]], pieces[::2], strict=True)
        if text.strip()
    ]
    return "".join(sign + text for sign, text in kept).strip(" ,;/")


def with_normalised(data: Any, names: Iterable[str]) -> Any:
    """Return posted data with these values as people see them."""
    seen = data.copy()
    for name in {*names} & {*data}:
        if hasattr(data, "setlist"):
            seen.setlist(name, [*map(normalise_text, data.getlist(name))])
        elif isinstance(data[name], str):
            seen[name] = normalise_text(data[name])
    return seen


class LineField(forms.CharField):
    """A field for one line of text that ends up on a label."""

    def to_python(self, value: Any) -> str:
        return clean_line(super().to_python(value) or "", longest=self.max_length or LINE_LONGEST)


class OnceOnly(forms.Form):
    """Require one value per control, on one line. Values are read as people see them.

    A value sent twice or with hidden characters is rejected, never guessed.
    """

    def __init__(self, data: Any = None, *args: Any, **options: Any) -> None:
        super().__init__(None if data is None else with_normalised(data, data), *args, **options)

    def _clean_fields(self) -> None:
        super()._clean_fields()  # type: ignore[misc]  # Django's hook; its stubs lack it
        if not hasattr(self.data, "getlist"):
            return
        for name in self.fields:
            fault = _find_fault(self.data.getlist(name))
            if fault:
                self.errors.pop(name, None)  # it causes the other errors
                self.add_error(name, fault)


def _find_fault(values: list[str]) -> str:
    if len(values) > 1:
        return "This was sent twice. Fill it in once."
    hidden = bool(values) and HIDDEN.search(values[0])
    return HIDDEN_SENTENCE if hidden else ""


def _is_printable(c: str) -> bool:
    kind = unicodedata.category(c)
    if kind[0] == "L":
        return c in LETTERS_BY_USE or unicodedata.name(c, "").startswith("LATIN ")
    return c.isascii() or kind[0] in "PZ" or c in SIGNS_BY_USE


def _plain_latin(line: str) -> str:
    """Return the line in plain Latin letters, as `Dang` for “Ｄａｎｇ”; "" for another script."""
    letters = [c for c in unicodedata.normalize("NFKD", line) if not unicodedata.combining(c)]
    strange = [c for c in line if not _is_printable(c)]
    if not all(c.isalnum() or unicodedata.combining(c) for c in strange):
        return ""  # “TM” isn't an alternative spelling of “™”
    return (
        "".join(letters)
        if any(c.isalnum() for c in letters) and all(map(_is_printable, letters))
        else ""
    )


def _place_phrases(
    suburb: str, postcode: str = "", state: str = "", country: str = ""
) -> set[tuple[str, ...]]:
    names = [suburb, postcode, "".join(postcode.split()), state, state_name(country, state)]
    names += (country, countries.country_name(country), *COUNTRY_NAMES.get(country, ()))
    return {tuple(normalise_name(name).split()) for name in names} - {()}


def _repeated_words(
    words: list[str], suburb: str, postcode: str, state: str, country: str
) -> slice:
    """Return the words of a part that only name the place: at its end, or anywhere as a pair."""
    phrases = _place_phrases(suburb, postcode, state, country)
    anchors = _place_phrases(suburb, postcode)
    plain = [word if word[0] == "#" else normalise_name(word) for word in words]
    left, is_repeat, is_name = plain, False, False
    while not is_name and (tail := next((one for one in phrases if _ends_with(left, one)), None)):
        before = left[: -len(tail)]
        if (
            before
            and not any(_ends_with(before, one) for one in anchors)
            and _belongs_to_street(before, tail)
        ):
            break
        is_name = (
            len("".join(tail)) > LONGEST_CODE
            and tail[0].isalpha()
            and bool(STREET_LAST & {*before[-1:]})
        )
        left, is_repeat = before, is_repeat or tail in anchors or is_name or not before
    if is_repeat:
        return slice(len(left), None)
    pairs = {(*first, *then) for first in _place_phrases(suburb) for then in phrases}
    spans = (slice(at, at + len(pair)) for at in range(len(plain)) for pair in pairs)
    return next((span for span in spans if tuple(plain[span]) in pairs), slice(0, 0))


def _ends_with(words: list[str], phrase: tuple[str, ...]) -> bool:
    return tuple(words[-len(phrase) :]) == phrase


def _belongs_to_street(before: list[str], tail: tuple[str, ...]) -> bool:
    if tail[0][:1].isdigit():
        return before[-1] in NUMBERED
    named = [*before]
    while named and named[-1] in PARTICLES | DIRECTIONS:
        named.pop()
    return bool(named) and (
        named[-1] in STREET_FIRST | NUMBER_FIRST or _ends_in_house_number(named)
    )


def _ends_in_house_number(before: list[str]) -> bool:
    """Return whether text ends in a house number, not a unit number: `Unit 4 100`, not `Unit 4`."""
    number = before[-1][:1].isdigit()
    return number and (len(before) == 1 or before[-2] not in NUMBER_FIRST)
