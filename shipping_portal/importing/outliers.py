"""Find rows that look wrong: too light or heavy for their size, or far dearer than others.

A wrong unit does this to a whole file and multiplies its price. Such rows are neither booked nor
totalled until the sender confirms exactly the rows, services and prices shown. Prices are compared
in one currency.
"""

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from statistics import median

from django.db import transaction
from django.db.models.fields.json import KT

from orders.drafting.parcel_details import density_of, is_likely, odd_weight
from orders.models.statuses import Status
from orders.quoting.choosing import Choice
from shipping_portal.accounts.formatting import money, money_in
from shipping_portal.importing import units
from shipping_portal.importing.models import Import, ImportRow

TIMES = 5
FEWEST, LAST = 20, 100  # how many booked parcels make a history, and how many of the newest count
UNLIKELY = {"light": "Very light for their size", "heavy": "Very heavy for their size"}
# a volume is a length cubed
ASKED = (("length", "measures", -3), (units.WEIGHT, "weights", 1))
CHECK = "Check their weights and measures."
DEAR = "More than {times} times the middle price of {what}, {middle}"


LEFT_OUT = {"": ["You left this row out."]}
LOOKS_RIGHT = "looks_right"  # key in a row's corrections: confirmed by its sender


@dataclass(frozen=True)
class Doubt:
    """Rows that look wrong for one reason, in file order, with the question for their sender.

    `units` are those in which the first row would be plausible, such as ("size_unit", "mm").
    """

    reason: str
    choices: list[Choice]
    question: str
    units: list[tuple[str, str]]

    @property
    def token(self) -> str:
        """Return a token of what was shown, which a confirmation must match."""
        return hashlib.sha256(
            json.dumps([_key(choice) for choice in self.choices]).encode()
        ).hexdigest()


def find_outliers(file: Import, choices: Sequence[Choice]) -> list[Doubt]:
    """Return what looks wrong about the rows to be booked, in at most five queries."""
    limits, wrong = _limits(file, choices), defaultdict(list)
    for choice in choices:
        if reason := _reason(choice, limits):
            wrong[reason].append(choice)
    if not wrong:
        return []
    confirmed = dict(
        file.rows.filter(corrected__has_key=LOOKS_RIGHT).values_list(
            "pk", KT(f"corrected__{LOOKS_RIGHT}")
        )
    )
    doubted = {
        reason: rows
        for reason, some in wrong.items()
        if (rows := [one for one in some if confirmed.get(one.row.pk) != _key(one)])
    }
    return [
        Doubt(reason, rows, *_question(file, reason, rows[0])) for reason, rows in doubted.items()
    ]


def without_outliers(choices: Sequence[Choice], doubts: Sequence[Doubt]) -> list[Choice]:
    """Return the rows that Book will book: all except those that look wrong."""
    doubted = {choice.row.pk for doubt in doubts for choice in doubt.choices}
    return [choice for choice in choices if choice.row.pk not in doubted]


def doubts_token(doubts: Sequence[Doubt]) -> str:
    """Return a token for all doubts: Book is valid only with the doubts that its page showed."""
    return (
        hashlib.sha256("".join(doubt.token for doubt in doubts).encode()).hexdigest()
        if doubts
        else ""
    )


@transaction.atomic
def confirm_outliers(file: Import, doubts: Sequence[Doubt], token: str) -> int:
    """Mark the flagged rows as confirmed; return how many, or 0 if they have changed."""
    right = {
        choice.row.pk: _key(choice)
        for doubt in doubts
        if doubt.token == token
        for choice in doubt.choices
    }
    rows = list(file.rows.select_for_update(of=("self",)).filter(state__in=ImportRow.READY))
    mine = [row for row in rows if row.pk in right]
    for row in mine:
        row.corrected = {**row.corrected, LOOKS_RIGHT: right[row.pk]}
    return ImportRow.objects.bulk_update(mine, ["corrected"], batch_size=500)


def skip_outliers(file: Import, doubts: Sequence[Doubt], token: str) -> int:
    """Leave out the flagged rows; return how many, or 0 if they have changed."""
    wrong = {choice.row.pk for doubt in doubts if doubt.token == token for choice in doubt.choices}
    rows = file.rows.filter(pk__in=wrong, state__in=ImportRow.READY)
    return rows.update(state=ImportRow.State.SKIPPED, problems=LEFT_OUT)


def _key(choice: Choice) -> str:
    return f"{choice.row.quote}:{choice.code}:{choice.price}"


def _reason(choice: Choice, limits: Mapping[str, Mapping[str, Decimal]]) -> str:
    if unlikely := odd_weight(choice.row.measures):
        return UNLIKELY[unlikely]
    known = limits[choice.offer["currency"]] if choice.offer else {}
    return next((reason for reason, most in known.items() if choice.price > most), "")


def _limits(file: Import, choices: Sequence[Choice]) -> dict[str, dict[str, Decimal]]:
    """Return the highest plausible price by currency, with the message for a higher one."""
    offered = _by_currency(
        (choice.offer["currency"], choice.price) for choice in choices if choice.offer
    )
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


def _question(file: Import, reason: str, first: Choice) -> tuple[str, list[tuple[str, str]]]:
    """Return the question, and the units in which the first of these rows would be plausible."""
    if reason not in UNLIKELY.values():
        return CHECK, []
    row, found, questions = file.rows.get(pk=first.row.pk), density_of(first.row.measures), []
    choosable: list[tuple[str, str]] = []
    for name, words, power in ASKED:
        table = units.TABLES[units.MEASURES[name]]
        read = table.get(units.of_cell(name, row, file))
        likely = [
            unit
            for unit, size in table.items()
            if read and is_likely(found * (size / read) ** power)
        ]
        named = ["inches" if unit == "in" else unit for unit in likely]
        questions += [f"the {words} in {' or '.join(named)}"] if named else []
        kind = units.MEASURES[name]
        choosable += [(kind, unit) for unit in likely if kind not in file.columns]
    return (f"Are {', or '.join(questions)}?" if questions else CHECK), choosable
