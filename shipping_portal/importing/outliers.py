"""Rows that look wrong: too light or too heavy for their size, or far dearer than others of the file or the account
in the same currency.

A wrong unit does that to a whole file, at many times its price. Such a file is booked after one more yes, which holds
for the rows, services and prices it was given to and for no others.
"""

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from statistics import median

from orders.choosing import Choice
from orders.models.statuses import Status
from orders.parcel_details import density, is_likely, odd
from shipping_portal.accounts.templatetags.words import money, money_in
from shipping_portal.importing import units
from shipping_portal.importing.models import Import, ImportRow

TIMES = 5
FEWEST, LAST = 20, 100  # booked parcels that are a history, and the newest of them that count
UNLIKELY = {"light": "Very light for their size", "heavy": "Very heavy for their size"}
ASKED = (("length", "measures", -3), (units.WEIGHT, "weights", 1))  # a volume is a length to the third
CHECK = "Check their weights and measures."
DEAR = "More than {times} times the middle price of {what}, {middle}"


class Unconfirmed(Exception):
    """Rows look wrong and nobody has confirmed them; nothing is owed."""


@dataclass(frozen=True)
class Doubt:
    """Rows that look wrong for one reason, in the file's order, and the question for their sender."""

    reason: str
    choices: list[Choice]
    question: str


@dataclass(frozen=True)
class Stop:
    """Why a press of Book books nothing yet. `confirmation` names what was shown: a yes to it is a yes to that."""

    doubts: list[Doubt]
    confirmation: str


def refuse_unless_confirmed(file: Import, choices: Sequence[Choice], confirmed: str) -> None:
    """Raise Unconfirmed while rows look wrong and nobody has confirmed them."""
    stop = look(file, choices)
    if stop and stop.confirmation != confirmed:
        raise Unconfirmed


def look(file: Import, choices: Sequence[Choice]) -> Stop | None:
    """Return what looks wrong with the rows about to be booked; None where nothing does. At most four queries."""
    limits, wrong = _limits(file, choices), defaultdict(list)
    for choice in choices:
        if reason := _reason(choice, limits):
            wrong[reason].append(choice)
    doubts = [Doubt(reason, rows, _question(file, reason, rows[0])) for reason, rows in wrong.items()]
    return Stop(doubts, _confirmation(choices, doubts)) if doubts else None


def _reason(choice: Choice, limits: Mapping[str, Mapping[str, Decimal]]) -> str:
    if unlikely := odd(choice.row.measures):
        return UNLIKELY[unlikely]
    known = limits[choice.offer["currency"]] if choice.offer else {}
    return next((reason for reason, most in known.items() if choice.price > most), "")


def _limits(file: Import, choices: Sequence[Choice]) -> dict[str, dict[str, Decimal]]:
    """Return by currency the highest price that is not far too dear, by what is said of a dearer one."""
    offered = _by_currency((choice.offer["currency"], choice.price) for choice in choices if choice.offer)
    rows = file.rows.filter(state=ImportRow.State.BOOKED, order__isnull=False)
    booked = _by_currency(rows.values_list("order__currency", "order__price"))
    history = file.sender.orders.filter(status=Status.BOOKED).order_by("-pk")
    last = _by_currency(history.values_list("currency", "price")[:LAST])
    words = money_in if len(offered) > 1 else money
    limits: dict[str, dict[str, Decimal]] = {}
    for currency, prices in offered.items():
        known = {"this file": prices + booked[currency]}
        if len(past := last[currency]) >= FEWEST:
            known[f"your last {len(past)} parcels"] = past
        middles = {what: median(some) for what, some in known.items()}
        limits[currency] = {
            DEAR.format(times=TIMES, what=what, middle=words(middle, currency)): TIMES * middle
            for what, middle in middles.items()
        }
    return limits


def _by_currency(priced: Iterable[tuple[str, Decimal]]) -> defaultdict[str, list[Decimal]]:
    found = defaultdict(list)
    for currency, price in priced:
        found[currency].append(price)
    return found


def _question(file: Import, reason: str, first: Choice) -> str:
    """Ask for the units in which such rows would be likely parcels, going by the first of them."""
    if reason not in UNLIKELY.values():
        return CHECK
    row, found, questions = file.rows.get(pk=first.row.pk), density(first.row.measures), []
    for name, words, power in ASKED:
        table = units.TABLES[units.MEASURES[name]]
        read = table.get(units.of_cell(name, row, file))
        likely = [unit for unit, size in table.items() if read and is_likely(found * (size / read) ** power)]
        named = ["inches" if unit == "in" else unit for unit in likely]
        questions += [f"the {words} in {' or '.join(named)}"] if named else []
    return f"Are {', or '.join(questions)}?" if questions else CHECK


def _confirmation(choices: Sequence[Choice], doubts: Sequence[Doubt]) -> str:
    rows = sorted((choice.row.pk, choice.row.quote, choice.code, str(choice.price)) for choice in choices)
    wrong = sorted(choice.row.pk for doubt in doubts for choice in doubt.choices)
    return hashlib.sha256(json.dumps([rows, wrong]).encode()).hexdigest()
