"""The words that keep a billing report from being posted, for the operator who is to decide them."""

from collections.abc import Collection

from django.db.models import Count

from shipping_portal.billing.models import BillingReport, Charge, ChargeWord, Kind


def undecided(report: BillingReport) -> list[ChargeWord]:
    """The words that keep it from being posted, each with its `waiting` lines."""
    lines = report.lines.filter(kind=Kind.UNKNOWN).order_by().values("term").annotate(waiting=Count("pk"))
    counts = {row["term"]: row["waiting"] for row in lines}
    return _with_waiting(ChargeWord.objects.filter(pk__in=counts).order_by("word"), counts)


def with_waiting(words: Collection[ChargeWord]) -> list[ChargeWord]:
    """These words, each with its `waiting` lines: those not posted that have no other kind. One query."""
    lines = Charge.objects.filter(term__in=[word.pk for word in words], kind=Kind.UNKNOWN, posted_at=None)
    counted = lines.order_by().values("term").annotate(waiting=Count("pk"))
    return _with_waiting(words, {row["term"]: row["waiting"] for row in counted})


def _with_waiting(words: Collection[ChargeWord], counts: dict[int, int]) -> list[ChargeWord]:
    for word in words:
        word.waiting = counts.get(word.pk, 0)  # type: ignore[attr-defined]
    return list(words)
