"""Places: the carrier's published suburb and postcode pairs, time zones and business days (interface §2.1, §8)."""

import datetime as dt
import difflib
import functools
import itertools
import re
from collections.abc import Collection
from dataclasses import dataclass

import holidays
from django.conf import settings
from django.db.models import Q, QuerySet, Subquery

from shipping_portal.accounts import zones
from shipping_portal.accounts.countries import STATES, ZONES_OF_COUNTRIES, state_code
from shipping_portal.accounts.models import Locality, LocalityAlias, LocalityList
from shipping_portal.accounts.text import as_seen, normalise

MOST_SPELLINGS = 16
NEAR = 4
LONGEST_SEARCH = 80


@dataclass(frozen=True)
class Pair:
    """What the published list says about a typed pair.

    `place` is the published spelling when the pair is on the list; else `near` are pairs it may have meant.
    `is_unlisted`: no list is active for the country, so nothing can be said.
    """

    place: Locality | None = None
    near: tuple[Locality, ...] = ()
    is_unlisted: bool = False


def postal_code(country: str, text: str) -> str:
    """Return a postcode as it is published: no stray spaces; Canadian `k1p5m7` is `K1P 5M7`, a ZIP+4 loses its tail."""
    code = "".join(text.upper().split())
    if country == "CA" and len(code) == 6:
        return f"{code[:3]} {code[3:]}"
    if country == "US" and re.fullmatch(r"[0-9]{5}-?[0-9]{4}", code, re.ASCII):
        return code[:5]
    return code


def active(country: str) -> QuerySet[Locality]:
    """Return the pairs of the country's active list; empty where none is loaded."""
    # A value and no join: so an index that begins with the list yields its pairs in order, and eight are soon found.
    loaded = LocalityList.objects.filter(country=country, is_active=True)
    return Locality.objects.filter(list=Subquery(loaded.values("pk")))


def few(country: str) -> str:
    """Return how many places a demo knows, to follow a refusal; "" outside a demo, whose lists are the carrier's."""
    return f" This demo knows only {active(country).count():,} places in this country." if settings.DEMO else ""


def check_pair(country: str, suburb: str, postcode: str, state: str = "") -> Pair:
    """Check whether this pair is on the carrier's list. The state only decides between pairs that share both."""
    code = postal_code(country, postcode)
    listed = active(country)
    found = list(listed.filter(normalised__in=spellings(suburb), postcode=code).order_by("state"))
    if found:
        wanted = state_code(country, state)
        return Pair(place=next((place for place in found if place.state == wanted), found[0]))
    near = _near(listed, suburb, code)
    return Pair(near=near, is_unlisted=not near and not listed.exists())


def suggest(country: str, text: str, limit: int = 8) -> list[Locality]:
    """Return pairs that begin with what is being typed: a suburb, a postcode, or both in either order."""
    words = as_seen(text[:LONGEST_SEARCH]).split()
    digits = [word for word in words if word.isascii() and any(c.isdigit() for c in word)]
    letters = " ".join(word for word in words if word not in digits)
    wanted = Q()
    if digits:
        start = postal_code(country, "".join(digits))
        is_split = country == "CA" and 3 < len(start) < 6  # K1P5… is typed; K1P 5M7 is published
        wanted &= _begins("postcode", f"{start[:3]} {start[3:]}" if is_split else start)
    if letters:
        wanted &= functools.reduce(Q.__or__, (_begins("normalised", one) for one in sorted(spellings(letters))), Q())
    if not wanted:
        return []
    return list(active(country).filter(wanted).order_by("normalised", "postcode")[:limit])


def aliases(words: Collection[str]) -> list[LocalityAlias]:
    """Return the aliases of these words."""
    capitals = [word.upper() for word in words]
    return list(LocalityAlias.objects.filter(Q(word__in=capitals) | Q(stands_for__in=capitals)))


def spellings(text: str, known: Collection[LocalityAlias] | None = None) -> set[str]:
    """Return the normalised text, and the ways the aliases let it be written: `mt eliza` is also `mount eliza`.

    `known` are the aliases of its words, for who asks for many.
    """
    words = normalise(text[:LONGEST_SEARCH]).split()
    ways = {word: {word} for word in words}
    for alias in aliases(words) if known is None else known:
        one, other = alias.word.lower(), alias.stands_for.lower()
        ways.get(one, set()).add(other)
        ways.get(other, set()).add(one)
    each = itertools.product(*(sorted(ways[word], key=word.__ne__) for word in words))
    return {" ".join(choice) for choice in itertools.islice(each, MOST_SPELLINGS)} - {""}


def zone(country: str, state: str, postcode: str = "") -> str:
    """Return the IANA zone of a place; for a split state the zone of most of its people."""
    _, of_state = STATES.get(country, {}).get(state_code(country, state), ("", ZONES_OF_COUNTRIES.get(country, "UTC")))
    return zones.of_postcode(country, postal_code(country, postcode)) or of_state


def business_days(country: str, state: str, *, after: dt.date, count: int) -> list[dt.date]:
    """Return the next `count` days that are neither a weekend nor a public holiday of the state."""
    off = _holidays(country, state_code(country, state), after.year)
    days = (after + dt.timedelta(days=ahead) for ahead in itertools.count(1))
    return list(itertools.islice((day for day in days if day.weekday() < 5 and day not in off), count))


@functools.lru_cache(maxsize=4096)  # reports ask it of every parcel that named no day
def next_business_day(country: str, state: str, *, after: dt.date) -> dt.date:
    """Return what a blank pickup date means to the carrier (interface §2.1)."""
    return business_days(country, state, after=after, count=1)[0]


@functools.lru_cache(maxsize=128)
def _holidays(country: str, state: str, year: int) -> Collection[dt.date]:
    """Return the holidays of this year and its neighbours, made at once: a set that fills itself is not thread-safe."""
    years = range(year - 1, year + 3)
    try:
        return set(holidays.country_holidays(country, subdiv=state or None, years=years))
    except NotImplementedError:  # a country or state the library does not know
        return set(holidays.country_holidays(country, years=years) if country in STATES else ())


def _near(listed: QuerySet[Locality], suburb: str, code: str) -> tuple[Locality, ...]:
    """Return the same suburb elsewhere, then what shares the postcode or nearly the name, closest name first."""
    wanted = normalise(suburb[:LONGEST_SEARCH])
    same_name = list(listed.filter(normalised__in=spellings(suburb)).order_by("postcode")[:NEAR])
    others = list(listed.filter(postcode=code)[:50]) if code else []
    if not same_name and len(wanted) >= 2:
        alike = list(listed.filter(_begins("normalised", wanted[:2]))[:2000])
        close = difflib.get_close_matches(wanted, {place.normalised for place in alike}, n=3, cutoff=0.8)
        others += [place for place in alike if place.normalised in close]
    others.sort(key=lambda place: -difflib.SequenceMatcher(a=wanted, b=place.normalised).ratio())
    unique = {place.pk: place for place in [*same_name[: NEAR // 2], *others, *same_name]}
    return tuple(unique.values())[:NEAR]


def _begins(field: str, start: str) -> Q:
    """Express `start…` as a range of the index.

    The plain comparison stays, as collations order spaces their own way.
    """
    after = start[:-1] + chr(ord(start[-1]) + 1)
    return Q(**{f"{field}__gte": start, f"{field}__lt": after, f"{field}__startswith": start})
