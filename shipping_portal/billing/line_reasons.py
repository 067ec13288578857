"""Why a line is there: its kind in a few plain words, and its reason in one sentence.

What a report itself says is the carrier's text: it is never more than a quotation at the end.
"""

from decimal import Decimal

from django.urls import reverse

from shipping_portal.accounts.models import Sender
from shipping_portal.accounts.templatetags.words import local_date, money, plain
from shipping_portal.billing import statements
from shipping_portal.billing.models import Charge, ChargeKind
from shipping_portal.carrier.writing import KILOGRAMS

SUBTITLES = {
    ChargeKind.ORDER: "The price of a booking",
    ChargeKind.COVER: "Cover you added to a booking",
    ChargeKind.UNDER_DECLARED: "Bigger or heavier than declared",
    ChargeKind.OVERSIZE: "Over the service's limit",
    ChargeKind.UN_CANCELLATION: "A cancelled label was used",
    ChargeKind.CANCEL_REFUND: "Cancelled in the week it was booked",
    ChargeKind.CANCEL_REFUND_LATER: "Cancelled after it was invoiced",
    ChargeKind.DELAY_REFUND: "It came late",
    ChargeKind.LOSS_REFUND: "It was lost",
    ChargeKind.OTHER_REFUND: "For another reason",
    ChargeKind.CREDIT: "From us, with the reason on each line",
}
PLAIN = {
    ChargeKind.ORDER: "The price of the booking.",
    ChargeKind.COVER: "The Extra Cover of the booking.",
    ChargeKind.UNDER_DECLARED: "The carrier found it bigger or heavier than declared; its report gives no measures.",
    ChargeKind.OVERSIZE: "It was over the service's limit.",
    ChargeKind.UN_CANCELLATION: "Its label was used after it was cancelled, so the carrier charges for it again.",
    ChargeKind.CANCEL_REFUND: "It was cancelled in the week it was booked.",
    ChargeKind.CANCEL_REFUND_LATER: "It was cancelled after it had been invoiced.",
    ChargeKind.DELAY_REFUND: "The carrier gave money back because it came late.",
    ChargeKind.LOSS_REFUND: "The carrier gave money back because it was lost.",
    ChargeKind.OTHER_REFUND: "The carrier gave money back.",
}
LONGEST_QUOTE = 100


def page_of(charge: Charge) -> str:
    """Return where it is explained: on its parcel's page, else on its statement."""
    if charge.order:
        return f"{reverse('parcel', args=[charge.order.uuid])}#charges"
    return reverse("statement", args=[statements.week_name(charge.week)])


def subtitle(kind: str) -> str:
    return SUBTITLES.get(ChargeKind(kind), "")


def reason(charge: Charge, sender: Sender) -> str:
    """Return one sentence for the sender; of the operator's own lines it is the one they wrote."""
    if charge.report_id is None:
        return _ours(charge, sender)
    kind = ChargeKind(charge.kind)
    if charge.is_size_charge and (found := measured(charge, sender)):
        return f"Over the service's limit. {found}" if kind == ChargeKind.OVERSIZE else found
    if kind == ChargeKind.COVER and charge.order and charge.order.cover_amount:
        return f"Extra Cover, up to {money(charge.order.cover_amount, 'AUD')}."
    if kind == ChargeKind.OTHER_REFUND and charge.word:
        return f"{PLAIN[kind]} In its words: “{charge.word[:LONGEST_QUOTE]}”."
    return PLAIN.get(kind, "")


def _ours(charge: Charge, sender: Sender) -> str:
    text = charge.reason or "A correction."
    if charge.reverses:
        return f"Takes back the line of {local_date(charge.reverses.week, sender)}: {text}"
    return text


def measured(charge: Charge, sender: Sender) -> str:
    """Return `You declared 1 kg; the carrier measured 1.6 kg.`; empty where the report measured nothing."""
    declared, found = declared_words(charge, sender), measured_words(charge, sender)
    if not found:
        return ""
    return f"You declared {declared}; the carrier measured {found}." if declared else f"The carrier measured {found}."


def declared_words(charge: Charge, sender: Sender) -> str:
    """Return what was declared: as the report has it, else as the parcel was booked."""
    kg = charge.declared_kg
    if kg is None and charge.order and charge.measured_kg is not None:
        kg = charge.order.weight_kg
    return _both(kg, charge.declared_m3 if charge.measured_m3 is not None else None, sender)


def measured_words(charge: Charge, sender: Sender) -> str:
    return _both(charge.measured_kg, charge.measured_m3, sender)


def _both(kg: Decimal | None, m3: Decimal | None, sender: Sender) -> str:
    return " and ".join(words for words in (_weight(kg, sender), "" if m3 is None else f"{plain(m3)} m³") if words)


def _weight(kg: Decimal | None, sender: Sender) -> str:
    """Write a weight in the units people of that country weigh in."""
    if kg is None:
        return ""
    return f"{plain(round(kg / KILOGRAMS['lb'], 2))} lb" if sender.country == "US" else f"{plain(kg)} kg"
