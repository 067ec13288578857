"""Build the rows of a statement and its spreadsheet. They have no addresses or links."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from django.urls import reverse

from orders.calling import gateway
from orders.drafting.receivers import shown_receiver
from orders.models import Order
from shipping_portal.accounts.formatting import local_date, money, money_in
from shipping_portal.accounts.models import Sender
from shipping_portal.billing.models import Charge, ChargeKind, Dispute, week_of
from shipping_portal.billing.pages import statements
from shipping_portal.billing.pages.line_reasons import (
    count_of_kind,
    declared_words,
    interface_name,
    kind_name,
    line_reason,
    measured_words,
)
from shipping_portal.billing.pages.taxes import line_tax

Row = dict[str, Any]  # a line of a template's table

ANSWERED = {Dispute.State.ACCEPTED: "Support agreed", Dispute.State.DECLINED: "Support answered"}
# all others: ok
BADGES = {**dict.fromkeys(statements.PRICES, ""), **dict.fromkeys(statements.ADJUSTMENTS, "on")}
TONES = {**dict.fromkeys(statements.PRICES, "f1"), **dict.fromkeys(statements.ADJUSTMENTS, "f2")}


def line_rows(
    lines: Iterable[Charge], sender: Sender, role: str, *, names_currency: bool
) -> list[Row]:
    """Return a dictionary of texts per line; `names_currency` is for pages with several currencies.

    `carrier` is blank unless two carriers take new orders.
    """
    titles = gateway.carrier_titles()
    return [
        _line_row(line, sender, role, names_currency=names_currency)
        | {"carrier": titles.get(line.account_id, "")}
        for line in lines
    ]


def _line_row(line: Charge, sender: Sender, role: str, *, names_currency: bool) -> Row:
    order = line.order
    return {
        "charge": line,
        "kind": kind_name(line.kind),
        "subtitle": interface_name(line.kind),
        "tone": BADGES.get(ChargeKind(line.kind), "ok"),
        "reason": line_reason(line, sender),
        "reference": line.reference,
        "parcel": reverse("parcel", args=[order.uuid]) if order else "",
        "name": shown_receiver(order, role).name if order else "",
        "is_return": bool(order and order.returns_id),
        "place_in_order": order.place_in_order if order else "",
        "day": local_date(line.day or line.week, sender),
        "booked": _week_booked(order, sender),
        "booked_in": _booked_in(line, sender),
        "week": statements.week_name(line.week),
        "week_words": statements.week_words(line.week, sender),
        "amount": (money_in if names_currency else money)(line.amount, line.currency),
        **dispute_state(line, sender),
    }


def _week_booked(order: Order | None, sender: Sender) -> str:
    """Return the week whose statement has the order's price, by the day it was booked."""
    if order is None or order.booked_at is None:
        return ""
    return statements.week_name(week_of(sender.day_of(order.booked_at)))


def _booked_in(line: Charge, sender: Sender) -> str:
    """Return the days of the week the order was booked in, to date its price."""
    booked = statements.week_named(_week_booked(line.order, sender))
    return (
        statements.week_words(booked, sender)
        if booked and line.kind not in statements.PRICES
        else ""
    )


def dispute_state(line: Charge, sender: Sender) -> Row:
    """Return a dispute's state: its words, the answer, and whether a new one may be opened."""
    found = next(iter(line.disputes.all()), None)
    if found is None:
        return {"disputed": "", "answer": "", "may_dispute": True, "photo": None}
    if found.state == Dispute.State.OPEN:
        words = f"Being reviewed since {local_date(found.made_at, sender)}."
        return {"disputed": words, "answer": "", "may_dispute": False, "photo": found.photo_id}
    return {
        "disputed": (
            f"{ANSWERED[Dispute.State(found.state)]} on {local_date(found.answered_at, sender)}."
        ),
        "answer": found.answer,
        "may_dispute": found.state == Dispute.State.DECLINED,
        "photo": found.photo_id,
    }


def kind_groups(of: statements.Statement) -> list[Row]:
    """Return a statement's parts, each kind as a bar with its number of lines, total and width."""
    most = max((abs(row["amount"]) for row in of.groups), default=0) or 1
    return [
        {
            **row,
            "words": count_of_kind(row["kind"], row["count"]),
            "subtitle": interface_name(row["kind"]),
            "width": f"{100 * abs(row['amount']) / most:.1f}%",
            "tone": TONES.get(ChargeKind(row["kind"]), "f3"),
        }
        for row in of.groups
    ]


def statement_tabs(of: statements.Statement) -> list[tuple[str, str, int]]:
    """Return value, words and count of each tab that isn't empty."""
    found = [
        (value, words, sum(row["count"] for row in of.groups if row["kind"] in kinds))
        for value, (words, kinds) in statements.TABS.items()
    ]
    disputed = (str(statements.DISPUTED), "Disputed", sum(row["disputed"] for row in of.groups))
    return [tab for tab in (*found, disputed) if tab[2]]


@dataclass(frozen=True)
class Charged:
    """What one parcel has cost so far."""

    rows: list[Row]
    balances: list[statements.Balance]

    @property
    def names_currency(self) -> bool:
        return len(self.balances) > 1


def parcel_charges(found: Iterable[Charge], sender: Sender, role: str) -> Charged:
    """Return the lines of one parcel, and their totals."""
    lines = list(found)
    balances = statements.balances_of((line.kind, line.currency, line.amount) for line in lines)
    return Charged(line_rows(lines, sender, role, names_currency=len(balances) > 1), balances)


Cell = Callable[[Charge, Sender, str], object]


def _of_order(name: str) -> Cell:
    return lambda line, sender, role: getattr(line.order, name) if line.order else ""


CELLS: dict[str, Cell] = {
    "Week": lambda line, sender, role: statements.week_name(line.week),
    "Date": lambda line, sender, role: line.day,
    "Kind": lambda line, sender, role: kind_name(line.kind),
    "Reference": lambda line, sender, role: line.reference,
    "Your order number": _of_order("customer_reference"),
    "To": lambda line, sender, role: shown_receiver(line.order, role).name if line.order else "",
    "Return": lambda line, sender, role: "yes" if line.order and line.order.returns_id else "",
    "Parcel of order": _of_order("place_in_order"),
    "Booked in week": lambda line, sender, role: _week_booked(line.order, sender),
    "Reason": lambda line, sender, role: line_reason(line, sender),
    "Declared": lambda line, sender, role: (
        declared_words(line, sender) if line.is_size_charge else ""
    ),
    "Measured": lambda line, sender, role: measured_words(line, sender),
    "Amount": lambda line, sender, role: line.amount,
    "Tax in it": lambda line, sender, role: line_tax(line),
    "Currency": lambda line, sender, role: line.currency,
    "Disputed": lambda line, sender, role: dispute_state(line, sender)["disputed"],
}


def export_cells() -> dict[str, Cell]:
    """Return CELLS, with the carrier's name if two carriers take new orders."""
    titles = gateway.carrier_titles()
    name: Cell = lambda line, sender, role: titles.get(line.account_id, "")  # noqa: E731
    return CELLS | ({"Carrier": name} if titles else {})


def statement_rows(
    lines: Iterable[Charge], cells: dict[str, Cell], sender: Sender, role: str
) -> Iterable[list[object]]:
    """Yield rows with the headings of these cells, as the lines are read."""
    for line in lines:
        yield [cell(line, sender, role) for cell in cells.values()]
