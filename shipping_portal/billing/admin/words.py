"""Map the terms in the carrier's reports. Undecided terms are listed first."""

from collections.abc import Collection
from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import Count, Q, QuerySet

from shipping_portal.accounts.adminkit.actions import ActionsAdmin, AdminAction, ReasonForm
from shipping_portal.accounts.adminkit.facts import column
from shipping_portal.accounts.adminkit.filters import choices
from shipping_portal.billing import queues
from shipping_portal.billing.models import BillingReport, Charge, ChargeKind, ChargeWord
from shipping_portal.billing.reports import checking


class ChargeWordForm(ReasonForm):
    """Asks for a term's meaning, and the reason."""

    meaning = forms.ChoiceField(label="Meaning", choices=[("", "Choose"), *ChargeWord.MEANINGS])
    field_order = ["meaning", "reason"]


def _decide(word: ChargeWord, *, meaning: str, now: Any, **written: Any) -> str:
    """Read the unposted reports with the term again."""
    checking.decide_word(word, meaning, now=now)
    return f"“{word}” means {dict(ChargeWord.MEANINGS)[meaning]}"


@admin.register(ChargeWord)
class ChargeWordAdmin(ActionsAdmin):
    """Let operators map the terms found in reports. Nobody adds or deletes terms."""

    admin_actions = (
        AdminAction(
            "decide",
            "Map this term",
            "Reprocesses the unposted reports that use this term. Posted reports don't change.",
            _decide,
            needs="billing",
            audit="charge word decided",
            form=ChargeWordForm,
            initial=lambda word: {"meaning": word.meaning},
        ),
    )
    list_display = ["word", "means", "waiting", "first_seen_at"]
    waits = ("decided", queues.WORDS)
    list_filter = [
        choices("mapped", "decided", {"no": ("No", Q(meaning="")), "yes": ("Yes", ~Q(meaning=""))}),
        "meaning",
    ]
    search_fields = ["word"]
    ordering = ["meaning", "word"]
    fields = ["word", "means", "lines_waiting", "first_seen_at"]
    readonly_fields = ["means", "lines_waiting"]

    means = column(
        "means", lambda word: word.get_meaning_display() or "Unmapped", ordering="meaning"
    )
    waiting = column("lines waiting", lambda word: word.waiting)
    lines_waiting = column("lines waiting", lambda word: with_waiting([word])[0].waiting)

    def with_counts(self, rows: list[ChargeWord]) -> list[Any]:
        return with_waiting(rows)


def undecided(report: BillingReport) -> list[ChargeWord]:
    """Return the terms that prevent posting, each with its `waiting` lines."""
    lines = report.lines.filter(kind=ChargeKind.UNKNOWN)
    words = ChargeWord.objects.filter(pk__in=lines.values("term")).order_by("word")
    return _with_waiting(words, lines)


def with_waiting(words: Collection[ChargeWord]) -> list[Any]:
    """Return these terms with their `waiting` lines (unposted and without a kind), in one query."""
    keys = [word.pk for word in words]
    lines = Charge.objects.filter(term__in=keys, posted_at=None, kind=ChargeKind.UNKNOWN)
    return _with_waiting(words, lines)


def _with_waiting(words: Collection[ChargeWord], lines: QuerySet[Charge]) -> list[ChargeWord]:
    counts = dict(lines.order_by().values_list("term").annotate(waiting=Count("pk")))
    for word in words:
        word.waiting = counts.get(word.pk, 0)  # type: ignore[attr-defined]
    return list(words)
