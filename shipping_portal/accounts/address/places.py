"""Look up places: published pairs, time zones and business days (interface §2.1, §8)."""

import datetime as dt
import difflib
import functools
import itertools
import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from zoneinfo import ZoneInfo

import holidays
from django.conf import settings
from django.db.models import Q, QuerySet, Subquery

from shipping_portal.accounts.address import zones
from shipping_portal.accounts.address.countries import STATES, ZONES_OF_COUNTRIES, state_code
from shipping_portal.accounts.address.text import normalise_name, normalise_text
from shipping_portal.accounts.models import Locality, LocalityAlias, LocalityList
from shipping_portal.carrier.messages import Party

MOST_SPELLINGS = 16
CANADIAN = re.compile("[A-Z][0-9][A-Z][0-9][A-Z][0-9]", re.ASCII)
AS_DIGITS, AS_LETTERS = str.maketrans("OQDILZSB", "00011258"), str.maketrans("1258", "LZSB")
DIGITS = {
    "AU": re.compile("([0-9]{4})", re.ASCII),
    "US": re.compile("([0-9]{5})(?:[0-9]{4})?", re.ASCII),
}
LOST_APOSTROPHE = re.compile(r"\b([dlo]) ?(?=\w{2})")
NEAR = 4
MOST_ALIKE = 2000
LONGEST_SEARCH = 80
# the last character before the surrogates, which no database accepts
LAST_LETTERS = "\ud7ff\U0010ffff"


@dataclass(frozen=True)
class Pair:
    """What the published list says about a typed pair.

    `place` is the published spelling if the pair is on the list; otherwise `near` holds pairs that
    may have been meant. `is_unlisted`: the country has no active list, so we can't tell.
    `other_state` is a typed state that isn't the place's. One of the two is wrong; `near` holds
    candidates.
    """

    place: Locality | None = None
    near: tuple[Locality, ...] = ()
    is_unlisted: bool = False
    other_state: str = ""

    @property
    def doubt(self) -> str:
        """Return the question about a typed state that isn't the place's, or ""."""
        place = self.place
        return (
            f"{place.postcode} is in {place.state}; you wrote {self.other_state}."
            if place and self.other_state
            else ""
        )


def postal_code(country: str, text: str) -> str:
    """Return a postcode as published: `k1p-5m7` is `K1P 5M7`, a ZIP+4 loses its suffix.

    A letter where only a digit is possible becomes the digit it looks like, and vice versa: `V6T
    IZ4` is `V6T 1Z4`.
    """
    code = "".join(normalise_text(text).upper().split())
    bare = code.replace("-", "")
    digits = bare.translate(AS_DIGITS)
    if country == "CA":
        mixed = "".join(
            digits[at] if at % 2 else c.translate(AS_LETTERS) for at, c in enumerate(bare)
        )
        return f"{mixed[:3]} {mixed[3:]}" if CANADIAN.fullmatch(mixed) else code
    found = DIGITS[country].fullmatch(digits) if country in DIGITS else None
    return found[1] if found else code


def active_places(country: str) -> QuerySet[Locality]:
    """Return the pairs of the country's active list, or none."""
    # A value, not a join: then an index that starts with the list yields its pairs in order.
    loaded = LocalityList.objects.filter(country=country, is_active=True)
    return Locality.objects.filter(list=Subquery(loaded.values("pk")))


def demo_places_note(country: str) -> str:
    """Return a note for rejections on how few places the demo knows; "" outside the demo."""
    return (
        f" This demo knows only {active_places(country).count():,} places in this country."
        if settings.DEMO
        else ""
    )


def check_pair(country: str, suburb: str, postcode: str, state: str = "") -> Pair:
    """Check a pair against the carrier's list. The state only decides between identical pairs."""
    code, listed = postal_code(country, postcode), active_places(country)
    for name, its in _suburb_readings(country, suburb, state):
        found = list(
            listed.filter(normalised__in=suburb_spellings(name), postcode=code).order_by("state")
        )
        exact = [place for place in found if place.normalised == normalise_name(name)] or found
        if len({place.normalised for place in exact}) == 1:
            wanted = state_code(country, its)
            place = next((place for place in exact if place.state == wanted), exact[0])
            other = _other_state(country, its, place)
            there = _same_name(listed.filter(state=wanted), name, code, wanted)[:1] if other else []
            return Pair(place, (place, *there), other_state=other)
        if exact:
            return Pair(near=tuple(exact[:NEAR]))
    near = _near_places(listed, suburb, code, state_code(country, state))
    return Pair(near=near, is_unlisted=not near and not listed.exists())


def _suburb_readings(country: str, suburb: str, state: str) -> Iterator[tuple[str, str]]:
    """Yield the suburb as typed, then without a trailing state.

    “Washington, D.C.” is Washington.
    """
    yield suburb, state
    words = normalise_name(suburb).split()
    for count in range(min(3, len(words) - 1), 0, -1):
        tail = state_code(country, " ".join(words[-count:]))
        if tail in STATES.get(country, {}):
            yield " ".join(words[:-count]), state or tail
            return


def _other_state(country: str, typed: str, place: Locality) -> str:
    """Return the typed state if it isn't the place's, in this country or another; otherwise ""."""
    code = state_code(country, typed)
    if code in STATES.get(country, {}):
        return code if code != place.state else ""
    is_abroad = any(state_code(other, typed) in states for other, states in STATES.items())
    return " ".join(typed.split()) if is_abroad else ""


def suggest_places(country: str, text: str, limit: int = 8) -> list[Locality]:
    """Return pairs that begin with the typed text.

    A suburb, a postcode, or both in either order; the suburb may be followed by its state.
    """
    words = normalise_text(text[:LONGEST_SEARCH]).split()
    digits = [word for word in words if word.isascii() and any(c.isdigit() for c in word)]
    letters = " ".join(word for word in words if word not in digits)
    for suburb, state in _suburb_readings(country, letters, ""):
        found = _begin_with(country, suburb, digits)
        of_state = found.filter(state=state) if state else found
        if places := list(of_state[:limit]):
            return places
    return []


def _begin_with(country: str, suburb: str, digits: list[str]) -> QuerySet[Locality]:
    """Return the pairs that begin with the suburb and the postcode, or none if both are blank."""
    wanted = Q()
    if digits:
        start = postal_code(country, "".join(digits))
        # people type K1P5…, but the list has K1P 5M7
        is_split = country == "CA" and 3 < len(start) < 6
        wanted &= begins_with("postcode", f"{start[:3]} {start[3:]}" if is_split else start)
    if suburb:
        spellings = sorted(suburb_spellings(suburb))
        wanted &= functools.reduce(
            Q.__or__, (begins_with("normalised", one) for one in spellings), Q()
        )
    found = active_places(country).filter(wanted).order_by("normalised", "postcode")
    return found if wanted else found.none()


def aliases_of(words: Collection[str]) -> list[LocalityAlias]:
    """Return the aliases for these words."""
    capitals = [word.upper() for word in words]
    return list(LocalityAlias.objects.filter(Q(word__in=capitals) | Q(stands_for__in=capitals)))


def suburb_spellings(text: str, known: Collection[LocalityAlias] | None = None) -> set[str]:
    """Return the normalised text and its alias spellings: `mt eliza` is also `mount eliza`.

    `known` holds the aliases of its words, for callers with many texts.
    """
    words = normalise_name(text[:LONGEST_SEARCH].replace(".", ". ")).split()
    ways = {word: {word} for word in words}
    for alias in aliases_of(words) if known is None else known:
        one, other = alias.word.lower(), alias.stands_for.lower()
        ways.get(one, set()).add(other)
        ways.get(other, set()).add(one)
    each = itertools.product(*(sorted(ways[word], key=word.__ne__) for word in words))
    found = [" ".join(choice) for choice in itertools.islice(each, MOST_SPELLINGS)]
    return {*found, *(way for text in found for way in _with_apostrophe(text))} - {""}


def _with_apostrophe(text: str) -> Iterator[str]:
    """Yield spellings with a space or nothing instead of an apostrophe: “O Fallon” is “OFallon”."""
    for start in LOST_APOSTROPHE.finditer(text):
        gap = "" if start[0].endswith(" ") else " "
        yield f"{text[: start.start()]}{start[1]}{gap}{text[start.end() :]}"


def zone_of(country: str, state: str, postcode: str = "") -> str:
    """Return a place's IANA zone; for a split state, the zone of most of its people."""
    code = postal_code(country, postcode)
    _, of_state = STATES.get(country, {}).get(
        state_code(country, state), ("", ZONES_OF_COUNTRIES.get(country, "UTC"))
    )
    return zones.of_postcode(country, code) or of_state


def day_at(pickup: Party, at: dt.datetime) -> dt.date:
    """Return the date at the pickup address, by which the carrier plans pickups (§8)."""
    return at.astimezone(_zone_at(pickup)).date()


def start_of(day: dt.date, pickup: Party) -> dt.datetime:
    """Return when a day begins at the pickup address."""
    return dt.datetime.combine(day, dt.time(), _zone_at(pickup))


def _zone_at(pickup: Party) -> ZoneInfo:
    return ZoneInfo(zone_of(pickup.country, pickup.state, pickup.postcode))


def is_day_reached(day: dt.date | None, pickup: Party, now: dt.datetime) -> bool:
    """Return whether a pickup day is today or earlier at the pickup address.

    Either is too late.
    """
    return day is not None and day <= day_at(pickup, now)


def business_days(country: str, state: str, *, after: dt.date, count: int) -> list[dt.date]:
    """Return the next `count` days that aren't a weekend or a public holiday of the state."""
    off = _holidays_around(country, state_code(country, state), after.year)
    days = (after + dt.timedelta(days=ahead) for ahead in itertools.count(1))
    return list(
        itertools.islice((day for day in days if day.weekday() < 5 and day not in off), count)
    )


# Cached, because reports call this for every parcel without a day.
@functools.lru_cache(maxsize=4096)
def next_business_day(country: str, state: str, *, after: dt.date) -> dt.date:
    """Return the day that the carrier takes a blank pickup date to mean (interface §2.1)."""
    return business_days(country, state, after=after, count=1)[0]


@functools.lru_cache(maxsize=128)
def _holidays_around(country: str, state: str, year: int) -> Collection[dt.date]:
    """Return three years of holidays, computed in advance.

    The library fills its own set lazily, which isn't thread-safe.
    """
    years = range(year - 1, year + 3)
    try:
        return set(holidays.country_holidays(country, subdiv=state or None, years=years))
    except NotImplementedError:  # a country or state that the library doesn't know
        return set(holidays.country_holidays(country, years=years) if country in STATES else ())


def _near_places(
    listed: QuerySet[Locality], suburb: str, code: str, state: str
) -> tuple[Locality, ...]:
    """Return the same suburb elsewhere, then places with the same postcode or a similar name.

    Places in the typed state come first, then the nearest postcode or the closest name.
    """
    wanted = normalise_name(suburb[:LONGEST_SEARCH])
    same_name = _same_name(listed, suburb, code, state)
    others = list(listed.filter(postcode=code)[:50]) if code else []
    if not same_name and len(wanted) >= 2:
        alike = list(listed.filter(begins_with("normalised", wanted[:2]))[:MOST_ALIKE])
        close = difflib.get_close_matches(
            wanted, {place.normalised for place in alike}, n=3, cutoff=0.8
        )
        others += sorted(
            (place for place in alike if place.normalised in close), key=_nearest_first(code, state)
        )
    others.sort(key=lambda place: -difflib.SequenceMatcher(a=wanted, b=place.normalised).ratio())
    unique = {place.pk: place for place in [*same_name[: NEAR // 2], *others, *same_name]}
    return tuple(unique.values())[:NEAR]


def _same_name(listed: QuerySet[Locality], suburb: str, code: str, state: str) -> list[Locality]:
    return sorted(
        listed.filter(normalised__in=suburb_spellings(suburb))[:MOST_ALIKE],
        key=_nearest_first(code, state),
    )


def _nearest_first(code: str, state: str) -> Callable[[Locality], tuple[bool, float]]:
    """Return a sort key: the state, then the distance to this postcode."""

    def distance(place: Locality) -> tuple[bool, float]:
        if code.isdecimal() and place.postcode.isdecimal():
            return place.state != state, abs(int(code) - int(place.postcode))
        return place.state != state, -difflib.SequenceMatcher(a=code, b=place.postcode).ratio()

    return distance


def begins_with(field: str, start: str) -> Q:
    """Express `start…` as an index range. The last possible character has no upper bound.

    The plain comparison is kept too, because collations sort spaces differently.
    """
    begins = Q(**{f"{field}__startswith": start})
    if start[-1] in LAST_LETTERS:
        return begins
    after = start[:-1] + chr(ord(start[-1]) + 1)
    return begins & Q(**{f"{field}__gte": start, f"{field}__lt": after})
