"""Parse a pasted address with the carrier's list of localities; nothing is guessed silently.

Text that no field used is returned unchanged, so that the sender decides where it goes.
"""

import functools
import re
from collections import deque
from dataclasses import dataclass, field

from django.core.exceptions import ValidationError
from django.db.models import QuerySet

from orders.calling.contract import exports_from
from shipping_portal.accounts.address.countries import COUNTRY_NAMES, STATES, state_code
from shipping_portal.accounts.address.phones import clean_phone
from shipping_portal.accounts.address.places import (
    active_places,
    aliases_of,
    postal_code,
    suburb_spellings,
)
from shipping_portal.accounts.address.text import normalise_name, normalise_text
from shipping_portal.accounts.models import Locality, LocalityAlias

LONGEST = 2000
LONGEST_LINE = 255  # a field's length; anything longer isn't part of an address
MOST_CODES = 5
MOST_WORDS_OF_A_SUBURB = 5
CODES = {
    "AU": re.compile(r"\b\d{4}\b", re.ASCII),
    "US": re.compile(r"\b\d{5}(?:-\d{4})?\b", re.ASCII),
    "CA": re.compile(r"\b[A-Z][\dIO][A-Z][ -]?[\dIO][A-Z][\dIO]\b", re.ASCII | re.IGNORECASE),
}
COUNTRIES = {normalise_name(name): code for code in CODES for name in COUNTRY_NAMES[code]} | {
    "puerto rico": "US"
}
SHORT_NAME = 3  # a word this short isn't a country in the middle of a text, except USA
# Possessive quantifiers (++) keep the time linear: there is only one way to match, so nothing is
# tried twice.
EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]++@[\w-]++(?:\.[\w-]++)++", re.ASCII)
PHONE = re.compile(r"\+?\(?\d[\d ().-]{6,}\d", re.ASCII)
EXTENSION = re.compile(
    r"[ ,;(]{0,3}+(?:ext(?:ension|n)?|poste|x|#|(?<=[,;]))[.:=]?+ ?+(\d{1,7}+)\b\)?",
    re.ASCII | re.IGNORECASE,
)
WORD = re.compile(r"[^\W_]+(?:['’‘`´.-][^\W_]+)*")
# Up to this many words after a postcode may be the state.
AFTER = [
    re.compile(rf"[ ,(]{{0,9}}+(?<!\w)((?:[^\W\d_]{{2,}}+ ?){{{count}}})\)?") for count in (3, 2, 1)
]
LABEL = re.compile(
    r"^(?:(?:please )?(?:ship(?:ping)?|deliver(?:y|ed)?|send|post(?:al)?|mail(?:ing)?|bill(?:ing)?)"
    r"(?: to| address)?|address|name|contact|attn|to|from|"
    r"e-?mail|phone|tel|mobile|mob|ph|m|t|p|e)\s*(?::\s*|$)",
    re.IGNORECASE,
)
# Labels that forms print before each part: “Suburb: Hobart”.
FIELD = re.compile(
    r"^ *+(?:street(?: address)?|address(?: line)?(?: ?[12])?|suburb|city|town|state|province|post"
    r" ?code|postal code|"
    r"zip(?: code)?|country) ?+: *+",
    re.IGNORECASE | re.MULTILINE,
)
# Headings above the receiver's address, and above one that isn't theirs. Emails also have From and
# To.
RECEIVERS = re.compile(
    r"^ *+(?:(?:please )?(?:ship(?:ping)?|deliver(?:y|ed)?|send|post(?:al)?|mailing)"
    r"(?: to| address| details)?|to|recipient|receiver) *+(?::(?!.*@)|$)",
    re.IGNORECASE,
)
ANOTHERS = re.compile(
    r"^ *+(?:(?:bill(?:ing|ed)?|invoiced?|returns?)(?: to| address| details)?|sold to|from|sender"
    r"|payer) *+(?::(?!.*@)|$)",
    re.IGNORECASE,
)
NOISE = re.compile(
    r"^(?:order|invoice|qty|quantity|total|subtotal|sku|paid|placed)\b|^[-–=_*•\W]+$", re.I
)
STREET = re.compile(
    r"^#?+(?:\w++[ /,]++)?\d++\w?+(?:[/-]\d++\w?+)*+[ ,](?:\D|\d++(?:st|nd|rd|th)\b)"
    r"|\b(?:g?p\.? ?o\.? box|post office box|(?:locked|private) bag)\b"
    r"|^(?:rural (?:route|delivery)|r\.?r\.?|rmb|hc) *+#?+\d",
    re.I,
)
UNIT = re.compile(
    r"^(?:unit|suite|ste|apt|apartment|app|appt|apto|bureau|local|piso|level|floor|fl|shop|building|bldg|lot|#)"
    r"\.? *+#?+ *+[\w-]++$",
    re.IGNORECASE,
)
COMPANY = re.compile(
    r"\b(?:pty|ltd|limited|inc|llc|corp|company|gmbh|studio|store|shop|co)\b\.?", re.I
)
IS_NAME = re.compile(r"(?!.*@).*[^\W\d_]")  # a second phone or email isn't
GLUED = re.compile(r"^(\D*?[^\d ,]),? +((?:(?:unit|suite|apt) +)?\d.*)$", re.IGNORECASE)


# a listed place, the state as written, and where it begins and ends in the text
Place = tuple[Locality, str, int, int]


@dataclass
class Pasted:
    """Parts of a receiver found in the text, by the form's control names without `receiver_`."""

    parts: dict[str, str] = field(default_factory=dict)
    left: list[str] = field(default_factory=list)

    def initial(self) -> dict[str, str]:
        return {f"receiver_{name}": value for name, value in self.parts.items()}


def read(text: str, home: str) -> Pasted:
    """Parse a pasted text; `home` is the country the parcel starts in."""
    pasted = Pasted()
    # Tabs separate a spreadsheet row's cells, so they aren't spaces here.
    text = "\t".join(
        map(normalise_text, "\n".join(text.replace("\0", "").splitlines()).split("\t"))
    )
    text = FIELD.sub("", text)
    text, beyond = text[:LONGEST], text[LONGEST:].strip()
    its, others, anothers = _receivers_lines(text)
    rest = _take_place(_take_email(its, pasted), home, pasted)
    if "suburb" not in pasted.parts and its != text:  # the headings didn't help
        pasted, others, anothers = Pasted(), "", ""
        rest = _take_place(_take_email(text, pasted), home, pasted)
    country = pasted.parts.get("country", home)
    rest = _take_phone(rest, country, pasted)
    others = others if "email" in pasted.parts else _take_email(others, pasted)
    others = others if "phone" in pasted.parts else _take_phone(others, country, pasted)
    pasted.left += _clean_lines(f"{others}\n{anothers}".split("\n"))
    pieces = _pieces(rest)
    if "suburb" in pasted.parts:
        _take_lines(pieces, pasted)
    else:
        pasted.left += pieces
    pasted.left += [beyond] if beyond else []
    return pasted


def _receivers_lines(text: str) -> tuple[str, str, str]:
    """Return the lines of the receiver's address by the headings above them.

    The lines without a heading follow, then those of another address. If there is no heading for
    the receiver, the lines without a heading are the receiver's.
    """
    its: list[str] = []
    others: list[str] = []
    anothers: list[str] = []
    below = others
    for line in text.split("\n"):
        below = its if RECEIVERS.match(line) else anothers if ANOTHERS.match(line) else below
        below.append(line)
    if not its:
        its, others = others, its
    return "\n".join(its), "\n".join(others), "\n".join(anothers)


def _take_email(text: str, pasted: Pasted) -> str:
    found = EMAIL.search(text)
    if not found:
        return text
    pasted.parts["email"] = found[0].rstrip(".")
    return text.replace(f"<{found[0]}>", "\n").replace(found[0], "\n")


def _take_phone(text: str, country: str, pasted: Pasted) -> str:
    for found in PHONE.finditer(text):
        behind = EXTENSION.match(text, found.end())
        end = behind.end() if behind else found.end()
        try:
            phone = clean_phone(found[0], country)
        except ValidationError:
            continue
        pasted.parts["phone"] = f"{phone} ext. {behind[1]}" if behind else phone
        return f"{text[: found.start()]}\n{text[end:]}"
    return text


def _take_place(text: str, home: str, pasted: Pasted) -> str:
    """Find a listed suburb and postcode that ends an address, or take them as written."""
    normalised = f" {normalise_name(text)} "
    spoken = (
        (name, code) for name, code in COUNTRIES.items() if len(name) > SHORT_NAME or name == "usa"
    )
    named = [code for name, code in spoken if f" {name} " in normalised]
    abroad = [code for code in CODES if code != home] if exports_from(home) else []
    reach = [home, *abroad]
    codes = {
        country: _last_codes(text, country)
        for country in sorted(reach, key=lambda code: code not in named)
    }
    listed = _find_places(codes)
    known = aliases_of(set(normalised.split())) if listed else []
    for country, written in codes.items():
        tried = (
            _place_before(text, code, listed.get((country, _postcode(country, code)), []), known)
            for code in written
        )
        places = [place for place in tried if place]
        if not places:
            continue
        found = _place_of_street(text, places)
        if found is None:
            return text
        place, state, start, end = found
        pasted.parts |= {
            "suburb": place.suburb,
            "state": state,
            "postcode": place.postcode,
            "country": country,
        }
        return f"{text[:start]}\n{text[end:]}"
    return _take_unlisted(text, next((code for code in reach if code in named), home), pasted)


def _place_of_street(text: str, places: list[Place]) -> Place | None:
    """Return the last place that has a street before it, or None if several different ones do.

    `places` begin with the last. If none has a street, the last is returned.
    """
    with_street: list[Place] = []
    for place, before in zip(places, [*places[1:], None], strict=True):
        lines = _pieces(text[before[-1] if before else 0 : place[-2]])
        if any(STREET.search(line) or GLUED.match(line) for line in lines):
            with_street.append(place)
    if len({(place.suburb, place.postcode) for place, *_ in with_street}) > 1:
        return None
    return (with_street or places)[0]


def _last_codes(text: str, country: str) -> list[re.Match[str]]:
    """Return the last few postcodes, the last one first: an address ends with its postcode."""
    return list(deque(CODES[country].finditer(text), MOST_CODES))[::-1]


def _find_places(codes: dict[str, list[re.Match[str]]]) -> dict[tuple[str, str], list[Locality]]:
    """Return the listed places by country and postcode, for all these codes at once."""
    wanted = (
        active_places(country).filter(postcode__in=[_postcode(country, code) for code in written])
        for country, written in codes.items()
        if written
    )
    listed: dict[tuple[str, str], list[Locality]] = {}
    for place in functools.reduce(QuerySet.union, wanted, Locality.objects.none()):
        listed.setdefault((place.country, place.postcode), []).append(place)
    return listed


def _postcode(country: str, code: re.Match[str]) -> str:
    return postal_code(country, code[0].replace("-", "") if country == "CA" else code[0])


def _take_unlisted(text: str, country: str, pasted: Pasted) -> str:
    """Take an unlisted place if its state is next to its postcode. The form suggests others."""
    for code in _last_codes(text, country):
        words = list(WORD.finditer(text, text.rfind("\n", 0, code.start()) + 1, code.start()))
        skip, before = _state_at_end(words, country)
        end, after = _state_after(text, code.end(), country)
        start = _suburb_start(text, words[: len(words) - skip])
        if start is None or not (before or after):
            continue
        tail = words[-skip].start() if skip else code.start()
        pasted.parts |= {
            "suburb": text[start:tail].strip(" ,"),
            "state": before or after,
            "postcode": postal_code(country, code[0]),
            "country": country,
        }
        return f"{text[:start]}\n{text[end:]}"
    return text


def _suburb_start(text: str, words: list[re.Match[str]]) -> int | None:
    """Return where the words after the last comma begin, or the last word if there is no comma."""
    if not words or any(c.isdigit() for c in words[-1][0]):
        return None
    at = len(words) - 1
    while at and not re.search(r"[,;|\t]", text[words[at - 1].end() : words[at].start()]):
        at -= 1
    has_digits = any(c.isdigit() for word in words[at:] for c in word[0])
    return words[-1 if has_digits else at].start()


def _place_before(
    text: str, code: re.Match[str], here: list[Locality], known: list[LocalityAlias]
) -> Place | None:
    """Return which of the places `here` is named just before its postcode, with or without a state.

    The state is as written: if it isn't the place's own, the form asks. `known` holds the aliases
    of all words.
    """
    if not here:
        return None
    country = here[0].country
    words = list(WORD.finditer(text[: code.start()]))
    for skip, state in (_state_at_end(words, country), (0, "")):  # New York alone is a city
        near = words[: len(words) - skip]
        for count in range(min(MOST_WORDS_OF_A_SUBURB, len(near)), 0, -1):
            name = " ".join(word[0] for word in near[-count:])
            ways = suburb_spellings(name, known)
            fits = sorted(
                (one for one in here if one.normalised in ways),
                key=lambda one: one.normalised != normalise_name(name),
            )
            if fits:
                end, after = _state_after(text, code.end(), country)
                wanted = state or after
                place = next((one for one in fits if one.state == wanted), fits[0])
                return place, wanted or place.state, near[-count].start(), end
    return None


def _is_state(name: str, country: str) -> str:
    """Return the state's code if the words name one, else ""."""
    found = state_code(country, name)
    return found if found in STATES[country] else ""


def _state_at_end(words: list[re.Match[str]], country: str) -> tuple[int, str]:
    for count in (3, 2, 1):
        state = _is_state(" ".join(word[0] for word in words[-count:]), country)
        if len(words) > count and state:
            return count, state
    return 0, ""


def _state_after(text: str, end: int, country: str) -> tuple[int, str]:
    for words in AFTER:
        found = words.match(text, end)
        if found and (state := _is_state(found[1], country)):
            return found.end(), state
    return end, ""


def _pieces(text: str) -> list[str]:
    """Return the lines that aren't empty; a single line is split at its commas."""
    lines = _clean_lines(text.split("\n"))
    return (
        lines if len(lines) > 1 else _clean_lines(re.split(r"[,;\t|]", lines[0])) if lines else []
    )


def _clean_lines(lines: list[str]) -> list[str]:
    plain = (LABEL.sub("", line.strip(" \t,;|<>")).strip(" \t,;|<>:") for line in lines)
    return [
        line
        for line in plain
        if line and normalise_name(line) and normalise_name(line) not in COUNTRIES
    ]


def _take_lines(pieces: list[str], pasted: Pasted) -> None:
    """Take the names above the street; anything below it, except a unit, stays unused."""
    useful = [piece for piece in pieces if len(piece) <= LONGEST_LINE and not NOISE.search(piece)]
    pasted.left += [piece for piece in pieces if piece not in useful]
    if useful and not any(STREET.search(piece) for piece in useful):
        useful = _unglued(useful)
    at = next(
        (n for n, piece in enumerate(useful) if STREET.search(piece) and not UNIT.match(piece)),
        None,
    )
    if at is None:
        pasted.left += useful
        return
    below = useful[at + 1 :]
    if "," in useful[at]:
        head, _, tail = useful[at].partition(",")
        unit, street = (tail, head) if UNIT.match(tail.strip()) else (head, tail)
        if UNIT.match(unit.strip()):
            useful[at] = street.strip()
            below.insert(0, unit.strip())
    pasted.parts["line1"] = useful[at]
    _take_names([piece for piece in useful[:at] if not UNIT.match(piece)], pasted)
    units = [piece for piece in [*useful[:at], *below] if UNIT.match(piece)]
    if units:
        pasted.parts["line2"] = ", ".join(units)
    pasted.left += [piece for piece in below if piece not in units]


def _unglued(pieces: list[str]) -> list[str]:
    """Split `Priya Nair 4 Sample Street`: the name ends where the number begins."""
    cut = (GLUED.match(piece) for piece in pieces)
    return [
        part
        for found, piece in zip(cut, pieces, strict=True)
        for part in (found.groups() if found else [piece])
    ]


def _take_names(pieces: list[str], pasted: Pasted) -> None:
    names = [piece for piece in pieces if IS_NAME.match(piece)]
    pasted.left += [piece for piece in pieces if piece not in names]
    firms = [piece for piece in names if COMPANY.search(piece)]
    people = [piece for piece in names if piece not in firms]
    if not firms and len(people) == 2:
        firms = [people.pop()]
    for name, found in (("name", people), ("company", firms)):
        if found:
            pasted.parts[name] = found[0]
            pasted.left += found[1:]
