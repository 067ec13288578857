"""How the replies to a booking and a cancellation are read."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from shipping_portal.carrier import reading, writing
from tests.snapshots.carriers import OTHER, PLAIN, changed, reply
from tests.snapshots.comparing import compare
from tests.snapshots.tables import changes, lines, outcome, text_of

ORDER = {
    "order_id": "A-1", "carrier_reference": "S12345", "state": "Confirmed",
    "labels": [{"format": "PDF", "size": "A4", "url": "https://api.carrier.example/l/1"}],
    "scheduling": {"pickup_date": "2026-11-24", "is_cancellable": True,
    "estimated_delivery_date_minimum": "2026-11-25T00:00:00Z"},
    "price": {"gross": {"amount": "12.30", "currency": "AUD"}}, "price_breakdown": {"base": 10},
    "tracking_url": "https://track.example/S12345", "metadata": {"portal_order": "ours-1"},
}  # fmt: skip
SCHEDULING = "scheduling.is_cancellable"
MANY = [{"url": f"https://api.carrier.example/l/{n}"} for n in range(11)]
ONES: list[tuple[tuple[str, Any], ...]] = [
    (), (("order_id", 7),), (("order_id", True),), (("order_id", ...),), (("order_id", "a/b"),),
    (("carrier_reference", "T12345"),),
    (("carrier_reference", 123456),), (("carrier_reference", ...),), (("state", "CANCELLED"),), (("state",
    " Cancelled "),), (("state", 5),),
    (("state", "s" * 101),), (("metadata.portal_order", "other"),), (("metadata.portal_order", ""),), (("metadata",
    None),),
    (("metadata.portal_order", 5),), (("labels", ...),), (("labels", {"format": " Pdf",
    "url": "https://l.example"}),), (("labels", [{"url": ""}, 5, {"url": 7}]),),
    (("labels", MANY),), (("scheduling", None),), ((SCHEDULING, False),), ((SCHEDULING, "yes"),),
    (("scheduling.pickup_date", "soon"),),
    (("scheduling.estimated_delivery_date_maximum", "2026-11-28"),), (("price.gross.amount", -1),),
    (("price.gross.currency", "?"),),
    (("price", ...), ("price_breakdown", {"a": 1, "b": {"amount": 2, "currency": "AUD"}})), (("tracking_url",
    "http://track.example"),),
    (("tracking_url", "https://track.example/?token=x"),), (("tracking_url", "https://track.example/eyJhb.cd.ef"),),
    (("tracking_url", 5),),
    (("authorised_tracking_url", "https://track.example/mine"),),
]  # fmt: skip


def shown(what: Any, result: str) -> str:
    return f"{', '.join(f'{path}={text_of(value)}' for path, value in what) or 'as it is'} -> {result}"


def differing(read: Callable[..., Any], said: Any, plain: Any) -> str:
    try:
        return changes(read(reply(said)), plain)
    except Exception as error:  # noqa: BLE001 - it is written down
        return text_of(error).split(" body=")[0]


def orders() -> Iterator[str]:
    booked = partial(reading.read_booked, contract=PLAIN, order_key="ours-1")
    plain = booked(reply(ORDER))
    yield text_of(plain)
    for what in ONES:
        yield shown(what, differing(booked, changed(ORDER, *what), plain))


def test_a_reply_to_a_booking_is_read_as_expected() -> None:
    foreign = {"id": "9", "consignment": "33123456789012", "situation": "void", "charged": {"amount": 5,
    "currency": "AUD"},
               "documents": [{"kind": "pdf", "paper": "A4 sheet", "href": "https://l.example"}],
               "metadata": {"ours": "k"}}  # fmt: skip
    viewed = partial(reading.read_viewed, reply(changed(ORDER, ("state", "cancelled"))), PLAIN)
    body = b'{"metadata": {"portal_order": " key "}}'
    compare(
        "reads-orders",
        [
            *orders(),
            *lines(lambda status: reading.read_booked(reply(ORDER, status), PLAIN).state, [200, 201, 300, 500],
            "by its status"),
            *lines(lambda key: reading.read_booked(reply(ORDER), PLAIN, order_key=key).order_key, ["", "ours-1",
            "ours-2"], "our key"),
            *lines(partial(reading.read_booked, contract=OTHER), [reply(foreign), reply(changed(foreign,
            ("situation", "sent")))]),
            *lines(lambda number: viewed(order_id=number).state, ["A-1", "a-1"], "read_viewed"),
            *lines(lambda said: (writing.order_key_of(said, PLAIN), writing.order_key_of(said, OTHER)), [body, b"{}",
            b"x"], "order_key_of"),
            *lines(partial(reading.read_booked, contract=PLAIN), [reply([ORDER]), reply(b""), reply(ORDER,
            fault="cut")]),
        ],
    )  # fmt: skip


def cancelled(said: Any, status: int = 200, contract: Any = PLAIN, **how: Any) -> str:
    return outcome(lambda: reading.read_cancelled(reply(said, status, **how), contract, order_id="A-1"))


YES = {"order_id": "A-1", "state": "Cancelled", "cancellation_message": "Will be refunded."}


def test_a_reply_to_a_cancellation_is_read_as_expected() -> None:
    fields = {
        "yes": cancelled(YES), "another order": cancelled(YES | {"order_id": "A-2"}),
        "no number": cancelled(changed(YES, ("order_id", ...))),
        "a number of another kind": cancelled(YES | {"order_id": 5.5}),
        "another word": cancelled(YES | {"state": "Booked"}), "no word": cancelled({}),
        "empty 200": cancelled(b""), "empty 204": cancelled(b"", 204), "empty 202": cancelled(b"", 202),
        "empty 202 of another": cancelled(b"", 202, OTHER),
        "204 unframed": cancelled(b"", 204, framed=False), "204 with a fault": cancelled(b"", 204, fault="cut"),
        "204 with words": cancelled(YES, 204),
        "refused 409": cancelled({"messages": "Too late."}, 409),
        "409 of another": cancelled({"messages": "Too late."}, 409, OTHER),
        "gone 410 of another": cancelled({"messages": "Gone."}, 410, OTHER), "gone 410": cancelled(b"", 410),
        "422": cancelled({"state": ["no"]}, 422),
        "word of another": cancelled({"situation": "VOID", "id": "A-1"}, 200, OTHER), "402": cancelled("Pay.", 402),
        "500": cancelled(YES, 500),
    }  # fmt: skip
    compare("reads-cancellations", [f"{name} -> {result}" for name, result in fields.items()])
