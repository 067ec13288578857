"""Read successful replies into dataclasses. What can't be trusted raises OutcomeUnknown."""

from collections.abc import Iterable
from contextlib import suppress
from datetime import date, timedelta
from typing import Any

from shipping_portal.carrier.connection import Reply
from shipping_portal.carrier.contract import Contract
from shipping_portal.carrier.errors import OutcomeUnknown
from shipping_portal.carrier.hosts import Origin
from shipping_portal.carrier.messages import (
    Amounts,
    Booked,
    Cancelled,
    FirstMile,
    LabelLink,
    Money,
    Product,
    Quoted,
    Scan,
    Tracked,
)
from shipping_portal.carrier.outcomes import rejected, require_success, unknown_outcome
from shipping_portal.carrier.scans import BadScan, read_scan
from shipping_portal.carrier.scrubbing import has_signed_link, scrub_body, scrub_value
from shipping_portal.carrier.values import (
    ORDER_ID,
    currency_code,
    load_json,
    match_text,
    normalise_word,
    read_day,
    read_flag,
    read_identifier,
    read_money,
    read_number,
    read_price,
    read_text,
    value_at,
    weekdays_after,
)

MOST_PRODUCTS = 50
MOST_SCANS = 1000
MOST_UNREADABLE = 100
MOST_LABELS = 10
ANY_ZONE = timedelta(days=1)  # somewhere on Earth it is still yesterday in UTC


def read_products(reply: Reply, contract: Contract, *, today: date) -> Quoted:
    """Return a quote's products, and the faults of its rows.

    A fault is an unreadable code or price, or an impossible estimate.

    `today` is the day in UTC.
    """
    require_success(reply, contract)
    document = reply.document
    rows = value_at(document, contract.products) if contract.products else document
    if not isinstance(rows, list):
        raise unknown_outcome(reply, contract, "the quote is not a list of products")
    products = []
    unreadable: list[str] = []
    for row in rows:
        if product := _read_product(row, contract, today):
            products.append(product)
        elif len(unreadable) < MOST_UNREADABLE:
            unreadable.append(_product_fault(row, contract))
        if len(products) == MOST_PRODUCTS:
            break
    return Quoted(tuple(products), tuple(unreadable))


def _product_fault(row: Any, contract: Contract) -> str:
    """Return what couldn't be read in an omitted product, for an operator."""
    code, amount = value_at(row, contract.quoted_code), value_at(row, contract.quoted_price)
    currency = value_at(row, contract.quoted_currency)
    if not match_text(ORDER_ID, code):
        return f"code {_show_value(code)}"
    if read_price(amount, "AUD") is None:
        return f"price {_show_value(amount)}"
    return (
        f"currency {_show_value(currency)}"
        if read_price(amount, currency) is None
        else "days that cannot be"
    )


def _show_value(value: object) -> str:
    return "missing" if value is None else read_text(repr(value), 40)


def _read_product(row: Any, contract: Contract, today: date) -> Product | None:
    code = match_text(ORDER_ID, value_at(row, contract.quoted_code))
    cost = read_price(value_at(row, contract.quoted_price), value_at(row, contract.quoted_currency))
    sent = read_day(value_at(row, contract.eta_send_date))
    expected = _read_expected_days(row, contract, sent, today)
    if not code or cost is None or expected is None:
        return None
    return Product(
        code=code,
        name=read_text(value_at(row, contract.quoted_name), 100) or code,
        first_mile=_first_mile(value_at(row, contract.quoted_first_mile), code, contract),
        service=read_text(value_at(row, contract.quoted_service), 100),
        price=cost,
        breakdown=_read_amounts(value_at(row, contract.breakdown), cost.currency),
        taxes=_read_amounts(value_at(row, contract.taxes), cost.currency),
        plan=read_text(value_at(row, contract.plan), 100),
        eta_from=expected[0],
        eta_to=expected[1],
        send_date=sent,
        duties_paid=contract.pays_duties(code),
        cover_price=_cover_price(row, contract, cost.currency),
        raw=scrub_value(row, contract),
    )


def _first_mile(word: object, code: str, contract: Contract) -> FirstMile:
    words = normalise_word(word).replace("-", " ")
    if words == "pickup" or (not words and contract.ends_with(code, "pickup_suffix")):
        return "pickup"
    if words in ("drop off", "dropoff") or (
        not words and contract.ends_with(code, "dropoff_suffix")
    ):
        return "drop-off"
    return "unknown"


def _read_expected_days(
    row: Any, contract: Contract, sent: date | None, today: date
) -> tuple[date | None, date | None] | None:
    """Return the first and last expected day: (None, None) if missing, None if impossible."""
    dates = _as_list(value_at(row, contract.eta_dates))
    counts = [read_number(count) for count in _as_list(value_at(row, contract.eta_days))]
    if any(count is None or not 0 <= count <= 365 for count in counts):
        return None
    days = [read_day(value) for value in dates]
    if not days and sent and counts:
        days = [weekdays_after(sent, int(count)) for count in counts if count is not None]
    if not days or days[0] is None or days[-1] is None:
        return None, None
    soonest = max(days[0], sent or days[0], today - ANY_ZONE)
    return (days[0], days[-1]) if soonest <= days[-1] else None


def _as_list(value: object) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _read_amounts(members: object, currency: str) -> Amounts:
    """Return every part of a breakdown, known or not.

    A number without a currency is in the price's currency.
    """
    if not isinstance(members, dict):
        return ()
    found = []
    for name, member in members.items():
        amount = member.get("amount") if isinstance(member, dict) else member
        value = member.get("currency") if isinstance(member, dict) else currency
        read = read_money(amount, value or currency)
        if read and read_text(name, 100):
            found.append((read_text(name, 100), read))
    return tuple(found[:MOST_PRODUCTS])


def _cover_price(row: Any, contract: Contract, currency: str) -> Money | None:
    value = (
        value_at(row, ".".join([*contract.quoted_cover.split(".")[:-1], "currency"]))
        if contract.quoted_cover
        else None
    )
    return read_price(value_at(row, contract.quoted_cover), currency_code(value) or currency)


def read_booked(
    reply: Reply, contract: Contract, *, order_key: str = "", order_id: str = ""
) -> Booked:
    """Return a booking's order.

    It is a conflict if the order is cancelled, or the order key or id isn't ours.
    """
    _require_decided(reply, contract)
    booked = _read_order(reply, contract)
    if order_id not in ("", booked.order_id):
        raise _conflicting_booking(reply, contract, booked, "the reply is about another order")
    if read_cancel_state(booked.state, contract) in ("cancelled", "asked"):
        raise _conflicting_booking(reply, contract, booked, "the order came back cancelled")
    if order_key and value_at(reply.document, contract.order_key) not in (None, "", order_key):
        raise _conflicting_booking(
            reply, contract, booked, "the reply is about another order of ours"
        )
    return booked


def _require_decided(reply: Reply, contract: Contract) -> None:
    """Raise if the state in a successful reply is a refusal or "not yet"."""
    require_success(reply, contract)
    document = reply.document
    state = _read_state(document, contract)
    if _is_among(state, contract.refused_states):
        raise rejected(reply, document, contract)
    if _is_among(state, contract.pending_states):
        raise unknown_outcome(reply, contract, "the carrier has not decided yet", pending=True)


def pending_order_id(body: bytes, contract: Contract) -> str:
    """Return the order id from a stored reply whose state is pending, otherwise ""."""
    if contract.pending_states:
        with suppress(ValueError):
            document = load_json(body, strict=False)
            if _is_among(_read_state(document, contract), contract.pending_states):
                return read_identifier(ORDER_ID, value_at(document, contract.order_id))
    return ""


def _is_among(state: str, states: tuple[str, ...]) -> bool:
    return normalise_word(state) in map(normalise_word, states)


def _read_state(document: Any, contract: Contract) -> str:
    return _read_word(value_at(document, contract.state))


def _read_word(value: object) -> str:
    """Return a word such as a state; true and false count as words too."""
    return str(value).lower() if isinstance(value, bool) else read_text(value, 100)


def read_viewed(reply: Reply, contract: Contract, *, order_id: str) -> Booked:
    """Return the requested order, cancelled or not."""
    viewed = _read_order(reply, contract)
    if viewed.order_id != order_id:
        raise _conflicting_booking(reply, contract, viewed, "the reply is about another order")
    return viewed


def _conflicting_booking(
    reply: Reply, contract: Contract, booked: Booked, reason: str
) -> OutcomeUnknown:
    return unknown_outcome(reply, contract, reason, reference=booked.reference, conflict=True)


def _read_order(reply: Reply, contract: Contract) -> Booked:
    require_success(reply, contract)
    document = reply.document
    reference = contract.reference_in(value_at(document, contract.reference))
    order_id = read_identifier(ORDER_ID, value_at(document, contract.order_id))
    if not isinstance(document, dict) or not reference or not order_id:
        raise unknown_outcome(
            reply, contract, "the reply names no order we can read", reference=reference
        )
    cost = read_price(
        value_at(document, contract.booked_price), value_at(document, contract.booked_currency)
    )
    return Booked(
        order_id=order_id,
        reference=reference,
        state=_read_state(document, contract),
        labels=_read_labels(value_at(document, contract.labels), contract),
        pickup_date=read_day(value_at(document, contract.booked_pickup_date)),
        price=cost,
        breakdown=_read_amounts(
            value_at(document, contract.booked_breakdown), cost.currency if cost else ""
        ),
        tracking_url=_public_page(value_at(document, contract.tracking_url), contract),
        order_key=read_text(value_at(document, contract.order_key), 200),
        status=reply.status,
        body=scrub_body(reply.body, contract),
        eta_from=read_day(value_at(document, contract.booked_eta_from)),
        eta_to=read_day(value_at(document, contract.booked_eta_to)),
        is_cancellable=read_flag(value_at(document, contract.is_cancellable)),
        is_test=_is_among(
            _read_word(value_at(document, contract.test_field)), (contract.test_word or "true",)
        ),
    )


def _read_labels(rows: object, contract: Contract) -> tuple[LabelLink, ...]:
    """Return the available labels. It is normal to have none yet."""
    links = (
        LabelLink(
            normalise_word(value_at(row, contract.label_format)),
            normalise_word(value_at(row, contract.label_size)),
            url,
        )
        for row in _as_list(rows)
        if isinstance(url := value_at(row, contract.label_url), str) and url
    )
    return tuple(links)[:MOST_LABELS]


def _public_page(url: object, contract: Contract) -> str:
    """Return a public tracking page's web address, or "" for a signed link or anything else."""
    origin = Origin.of(url)
    safe = (
        isinstance(url, str)
        and origin is not None
        and origin.private
        and not has_signed_link(url, contract)
    )
    return str(url) if safe else ""


def read_cancelled(reply: Reply, contract: Contract, *, order_id: str) -> Cancelled:
    """Read an accepted cancellation, from its state or from a status such as an empty 204."""
    body = scrub_body(reply.body, contract)
    document = reply.document
    is_silent = not reply.body or document == {} or reply.status >= 400
    if (
        reply.status in contract.cancelled_statuses
        and is_silent
        and reply.framed
        and not reply.fault
    ):
        return Cancelled(contract.cancelled_word, "", reply.status, body)
    require_success(reply, contract, also_refused=contract.cancel_refused_statuses)
    state = _read_state(document, contract)
    if (
        read_identifier(ORDER_ID, value := value_at(document, contract.order_id)) != order_id
        and value is not None
    ):
        raise unknown_outcome(reply, contract, "the reply is about another order", conflict=True)
    meaning = read_cancel_state(state, contract)
    if meaning not in ("cancelled", "asked"):
        raise unknown_outcome(reply, contract, "the reply does not say that the order is cancelled")
    message = read_text(value_at(document, contract.cancel_message))
    return Cancelled(state, message, reply.status, body, is_asked=meaning == "asked")


def read_cancel_state(state: str, contract: Contract) -> str:
    """Return an order's cancellation state: cancelled, asked, refused, or ""."""
    meanings = {
        "cancelled": (contract.cancelled_word,),
        "asked": (contract.asked_word,) if contract.asked_word else (),
        "refused": contract.cancel_refused_states,
    }
    return next((name for name, words in meanings.items() if _is_among(state, words)), "")


def read_tracked(reply: Reply, contract: Contract, *, reference: str, must_list: bool) -> Tracked:
    """Return the scans of one reference.

    An unreadable one is kept with its reason, never dropped.
    """
    require_success(reply, contract)
    document = reply.document
    rows = _read_events(reply, contract, document, must_list=must_list)
    scans = []
    unreadable = []
    for row in rows:
        try:
            scans.append(_scan_of(row, contract, reference))
        except BadScan as problem:
            unreadable.append((scrub_value(row, contract), problem.reason))
    state = _read_state(document, contract)
    pickup = read_day(value_at(document, contract.booked_pickup_date))
    kept = (*unreadable[:MOST_UNREADABLE], *reply_flags(len(scans), len(unreadable)))
    return Tracked(
        state,
        newest_scans(scans),
        kept,
        pickup,
        scrub_body(reply.body, contract),
        is_cancellable=read_flag(value_at(document, contract.is_cancellable)),
    )


def newest_scans(scans: list[Scan]) -> tuple[Scan, ...]:
    """Return the scans as received, or only the newest if there are very many."""
    if len(scans) > MOST_SCANS:
        scans = sorted(scans, key=lambda scan: scan.scan_time)[-MOST_SCANS:]
    return tuple(scans)


def reply_flags(scans: int, unreadable: int) -> Iterable[tuple[object, str]]:
    """Return what was left out of a reply, and why, for storing with the unreadable scans."""
    if scans > MOST_SCANS:
        yield {"left_out": scans - MOST_SCANS}, f"more than {MOST_SCANS} scans in one reply"
    if unreadable > MOST_UNREADABLE:
        yield {"left_out": unreadable - MOST_UNREADABLE}, "many more scans like this in one reply"


def _read_events(reply: Reply, contract: Contract, document: Any, *, must_list: bool) -> list[Any]:
    """Return a tracking reply's rows.

    Null means none yet; a subscription may reply without a list.
    """
    holder_path, _, leaf = contract.events.rpartition(".")
    holder = value_at(document, holder_path) if holder_path else document
    if isinstance(holder, dict):
        rows = holder.get(leaf, None if not must_list else "missing")
        if rows is None or isinstance(rows, list):
            return rows or []
    elif not must_list and not reply.body:
        return []
    raise unknown_outcome(reply, contract, "the reply has no list of tracking events")


def _scan_of(row: Any, contract: Contract, reference: str) -> Scan:
    scan = read_scan(row, contract)
    if scan.reference.upper() not in ("", reference.upper()):
        raise BadScan("the scan is of another parcel")
    return scan
