"""Explain a line: its kind in plain words, and its reason in one sentence.

The report's own text comes from the carrier, so it is only quoted at the end.
"""

from decimal import Decimal

from django.urls import reverse

from orders.models import Order
from shipping_portal.accounts.formatting import local_date, money, plain, weight_words
from shipping_portal.accounts.models import Sender
from shipping_portal.billing.models import Charge, ChargeKind
from shipping_portal.billing.pages import statements

# Singular and plural, for counts in a statement. The interface's names (§2.5) are below.
NAMES = {
    ChargeKind.ORDER: ("Booking", "bookings"),
    ChargeKind.COVER: ("Extra Cover", "Extra Covers"),
    ChargeKind.UNDER_DECLARED: ("Size charge", "size charges"),
    ChargeKind.OVERSIZE: ("Oversize penalty", "oversize penalties"),
    ChargeKind.UN_CANCELLATION: ("Used after cancelling", "used after cancelling"),
    ChargeKind.CANCEL_REFUND: ("Refund for cancelling", "refunds for cancelling"),
    ChargeKind.CANCEL_REFUND_LATER: ("Late refund for cancelling", "late refunds for cancelling"),
    ChargeKind.DELAY_REFUND: ("Refund for delay", "refunds for delay"),
    ChargeKind.LOSS_REFUND: ("Refund for loss", "refunds for loss"),
    ChargeKind.OTHER_REFUND: ("Other refund", "other refunds"),
    ChargeKind.CREDIT: ("Credit", "credits"),
}
INTERFACE = {
    ChargeKind.UNDER_DECLARED: "Under-declared adjustment",
    ChargeKind.UN_CANCELLATION: "Un-cancellation adjustment",
}
PLAIN = {
    ChargeKind.ORDER: "The price of the booking.",
    ChargeKind.COVER: "The Extra Cover of the booking.",
    ChargeKind.UNDER_DECLARED: (
        "The carrier found it bigger or heavier than declared. Its report gives no measures."
    ),
    ChargeKind.OVERSIZE: "It was over the service's limit.",
    ChargeKind.UN_CANCELLATION: (
        "Its label was used after it was cancelled, so the carrier charges for it again."
    ),
    ChargeKind.CANCEL_REFUND: "It was cancelled in the week it was booked.",
    ChargeKind.CANCEL_REFUND_LATER: "It was cancelled after it had been invoiced.",
    ChargeKind.DELAY_REFUND: "The carrier gave money back because it was late.",
    ChargeKind.LOSS_REFUND: "The carrier gave money back because it was lost.",
    ChargeKind.OTHER_REFUND: "The carrier gave money back.",
}
LONGEST_QUOTE = 100
CUBIC_INCHES = Decimal("61023.74")  # litres in a cubic metre
SIDES = ("length", "width", "height")
BOTH = (True, True)  # weight and volume


def page_of(charge: Charge) -> str:
    """Return the page that explains a line: its parcel's page, otherwise its statement."""
    if charge.order:
        return f"{reverse('parcel', args=[charge.order.uuid])}#charges"
    return reverse("statement", args=[statements.week_name(charge.week)])


def kind_name(kind: str) -> str:
    return NAMES[ChargeKind(kind)][0]


def count_of_kind(kind: str, count: int) -> str:
    """Return a count in words: `1 booking` or `41 size charges`."""
    one, several = NAMES[ChargeKind(kind)]
    return (
        f"{count:,} {several}"
        if count != 1
        else f"1 {one if one.startswith('Extra') else one.lower()}"
    )


def interface_name(kind: str) -> str:
    """Return the interface's name of a line's kind (§2.5)."""
    return INTERFACE.get(ChargeKind(kind), ChargeKind(kind).label)


def line_reason(charge: Charge, sender: Sender) -> str:
    """Return one sentence for the sender; for an operator's line, the reason they wrote."""
    if charge.report_id is None:
        return _operator_reason(charge, sender)
    kind = ChargeKind(charge.kind)
    if charge.is_size_charge and (found := measured_sentence(charge, sender)):
        return f"Over the service's limit. {found}" if kind == ChargeKind.OVERSIZE else found
    if kind == ChargeKind.ORDER and charge.order:
        return f"{charge.order.product_name}, {weight_words(charge.order.weight_kg, sender)}."
    if kind == ChargeKind.COVER and charge.order and charge.order.cover_amount:
        return f"Extra Cover, up to {money(charge.order.cover_amount, 'AUD')}."
    if kind == ChargeKind.OTHER_REFUND and charge.word:
        return f"{PLAIN[kind]} In its words: “{charge.word[:LONGEST_QUOTE]}”."
    return PLAIN.get(kind, "")


def _operator_reason(charge: Charge, sender: Sender) -> str:
    text = charge.reason or "A correction."
    if charge.reverses:
        return f"Reverses the line of {local_date(charge.reverses.week, sender)}: {text}"
    return text


def measured_sentence(charge: Charge, sender: Sender) -> str:
    """Return `You declared 1 kg. The carrier measured 1.6 kg.`, or "" if nothing was measured.

    If both weight and size were measured, it names whichever was above the declared value.
    """
    is_heavier = _is_more(charge.measured_kg, _declared_kg(charge))
    is_bigger = _is_more(charge.measured_m3, charge.declared_m3)
    parts = (is_heavier, is_bigger) if is_heavier or is_bigger else BOTH
    declared, found = declared_words(charge, sender, parts), measured_words(charge, sender, parts)
    if not found:
        return ""
    return (
        f"You declared {declared}. The carrier measured {found}."
        if declared
        else f"The carrier measured {found}."
    )


def _is_more(found: Decimal | None, declared: Decimal | None) -> bool:
    return found is not None and found > (declared or 0)


def declared_words(charge: Charge, sender: Sender, parts: tuple[bool, bool] = BOTH) -> str:
    """Return what was declared: weight, volume or both, as far as it can be compared."""
    m3 = charge.declared_m3 if charge.measured_m3 is not None else None
    sides, volume = _sides_words(charge.order, m3), _volume_words(m3, sender)
    return _join_measures(
        weight_words(_declared_kg(charge), sender),
        f"{sides} ({volume})" if sides else volume,
        parts,
    )


def measured_words(charge: Charge, sender: Sender, parts: tuple[bool, bool] = BOTH) -> str:
    """Return what the carrier measured: weight, volume or both."""
    return _join_measures(
        weight_words(charge.measured_kg, sender), _volume_words(charge.measured_m3, sender), parts
    )


def _join_measures(weight: str, volume: str, parts: tuple[bool, bool]) -> str:
    return " and ".join(
        words for words, wanted in zip((weight, volume), parts, strict=True) if words and wanted
    )


def _declared_kg(charge: Charge) -> Decimal | None:
    if charge.declared_kg is None and charge.order and charge.measured_kg is not None:
        return charge.order.weight_kg
    return charge.declared_kg


def _volume_words(m3: Decimal | None, sender: Sender) -> str:
    """Format a volume in a unit people can picture, not as a fraction of a cubic metre."""
    if m3 is None:
        return ""
    return (
        f"{m3 * CUBIC_INCHES:,.0f} cu in"
        if sender.country == "US"
        else f"{plain(round(m3 * 1000, 2))} L"
    )


def _sides_words(order: Order | None, m3: Decimal | None) -> str:
    """Return `30 × 20 × 15 cm` as booked, if that is the declared volume in the report."""
    if order is None or m3 is None:
        return ""
    booked = order.length_cm * order.width_cm * order.height_cm / 1_000_000
    if abs(booked - m3) > m3 / 50:
        return ""
    entered = order.entered
    return f"{' × '.join(plain(entered[side]) for side in SIDES)} {entered['dimension_units']}"
