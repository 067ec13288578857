"""How a quote is read: products, prices, days, and unreadable rows."""

import datetime as dt
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from shipping_portal.carrier.reading import read_products
from tests.snapshots.carriers import OTHER, PLAIN, changed, reply
from tests.snapshots.comparing import compare
from tests.snapshots.tables import changes, outcome, text_of

TODAY = dt.date(2026, 11, 23)
ROW = {
    "product": {"code": "EXP-PICKUP", "name": "Express", "first_mile_option": "pickup", "service": "Express"},
    "quote": {"gross": {"amount": "12.30", "currency": "aud"}},
    "price_breakdown": {"base": {"amount": "10.00", "currency": "AUD"}, "fuel": 2.3},
    "tax_breakdown": {"GST": "1.12"},
    "plan": "starter",
    "eta": {"date_range": ["2026-11-24", "2026-11-26"], "for_send_date": "2026-11-23"},
    "cover": {"price": {"gross": {"amount": "3", "currency": "AUD"}}},
}  # fmt: skip
CODE, NAME, MILE = "product.code", "product.name", "product.first_mile_option"
AMOUNT, CURRENCY, COVER = "quote.gross.amount", "quote.gross.currency", "cover.price.gross"
DATES, DAYS, SENT = "eta.date_range", "eta.days_range", "eta.for_send_date"
ONES: list[tuple[tuple[str, Any], ...]] = [
    (), ((CODE, "a b"),), ((CODE, ...),), ((CODE, 5),), ((CODE, "x" * 100),), ((CODE, "x" * 101),), ((CODE, "DDP-X"),),
    ((NAME, ""),), ((NAME, "n" * 101),), ((NAME, 5),), ((AMOUNT, "-0.01"),), ((AMOUNT, 0),), ((AMOUNT, ...),),
    ((AMOUNT, "12,30"),),
    ((CURRENCY, "dollars"),), ((CURRENCY, ...),), ((CURRENCY, "nzd"), (COVER, {"amount": 3})), ((COVER,
    {"amount": -1}),),
    ((COVER, {"amount": 3, "currency": "usd"}),), ((COVER, {"amount": 3, "currency": "??"}),), ((COVER, ...),),
    ((MILE, "Drop Off"),), ((MILE, "drop-off"),), ((MILE, "DROPOFF"),), ((MILE, "pick up"),), ((MILE, ...),),
    ((MILE, ...), (CODE, "EXP-DROPOFF")), ((MILE, ...), (CODE, "EXP")), ((MILE, "depot"), (CODE, "EXP-DROPOFF")),
    ((DATES, ["2026-11-22"]), (SENT, ...)), ((DATES, ["2026-11-21", "2026-11-21"]), (SENT, ...)), ((DATES,
    "2026-11-25"),),
    ((DATES, ["2026-11-20", "2026-11-22"]), (SENT, ...)), ((DATES, ["2026-11-26", "2026-11-24"]),), ((DATES,
    ["soon"]),),
    ((DATES, ["2026-11-24", None]),), ((DATES, ["2026-11-24", "2026-11-25", "2026-11-27"]),), ((DATES, ["2026-11-22",
    "2026-11-22"]),),
    ((DATES, ["2026-11-23", "2026-11-23"]),), ((DATES, ...),), ((DATES, ...), (DAYS, [1, 3])), ((DATES, ...), (DAYS,
    0)),
    ((DATES, ...), (DAYS, [4, 5.9])), ((DATES, ...), (DAYS, [365])), ((DATES, ...), (DAYS, [366])), ((DATES, ...),
    (DAYS, [-1])),
    ((DATES, ...), (DAYS, ["two"])), ((DAYS, [366]),), ((DATES, ...), (DAYS, [3, 1])), ((DATES, ...), (DAYS, [2]),
    (SENT, ...)),
    (("price_breakdown", [1]),), (("price_breakdown", {"a": {"amount": "x"}, "b": {"amount": -1, "currency": "usd"},
    "": 1, "c": None}),),
    (("price_breakdown", {"a": {"amount": 1}, "d" * 101: {"amount": 2, "currency": "AUD"}}),), (("plan", "p" * 101),),
    (("product.service", 7),),
    (("price_breakdown", {f"part {n}": n for n in range(51)}),), (("authorised_tracking_url",
    "https://a.example/?token=1"),),
]  # fmt: skip


def shown(what: Any, result: str) -> str:
    return f"{', '.join(f'{path}={text_of(value)}' for path, value in what) or 'as it is'} -> {result}"


def rows() -> Iterator[str]:
    plain = read_products(reply([ROW]), PLAIN, today=TODAY).products[0]
    yield text_of(plain)
    for what in ONES:
        quoted = read_products(reply([changed(ROW, *what)]), PLAIN, today=TODAY)
        of = [changes(replace(product, raw={}), replace(plain, raw={})) for product in quoted.products]
        cut = [name for product in quoted.products for name in product.raw if product.raw[name] == "[cut]"]
        yield shown(what, "; ".join([*of, *quoted.unreadable, *cut]))


def quote(said: Any, contract: Any = PLAIN, **how: Any) -> str:
    def short() -> list[Any]:
        found = read_products(reply(said, **how), contract, today=TODAY)
        return [len(found.products), [one.code for one in found.products], list(found.unreadable)]

    return outcome(short)


def test_the_products_of_a_quote_are_read_as_expected() -> None:
    other = {"service": "R1", "title": "Road", "first_mile": "drop off", "total": {"amount": 5, "currency": "NZD"}}
    whole = {
        "none": quote([]), "an object": quote({"products": [ROW]}), "null": quote(None), "no JSON": quote(b"<html>"),
        "empty": quote(b""),
        "49": quote([ROW] * 49), "51": quote([ROW] * 51), "51 and faults": quote([ROW] * 50 + [5, ROW]),
        "100 faults": quote([{}] * 100),
        "101 faults": quote([{}] * 101 + [ROW]), "a row of text": quote(["x", None, 5, [], ROW]), "201": quote([ROW],
        status=201),
        "299": quote([ROW], status=299), "300": quote([ROW], status=300), "199": quote([ROW], status=199),
        "a fault": quote([ROW], fault="cut"),
        "of another carrier": quote({"services": {"offered": [other]}}, OTHER), "its list elsewhere": quote([other],
        OTHER),
        "its currency": quote({"services": {"offered": [changed(other, ("total.currency", "?"))]}}, OTHER),
    }  # fmt: skip
    compare("reads-quotes", [*rows(), *(f"{name} -> {result}" for name, result in whole.items())])
