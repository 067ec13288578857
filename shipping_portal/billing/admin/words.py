"""The carrier's words for the lines of its reports, and what an operator decided they mean. Undecided ones first."""

from collections.abc import Collection
from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import Count, Q
from django.http import HttpRequest

from shipping_portal.accounts.adminkit.actions import ActionsAdmin, AdminAction, ReasonForm
from shipping_portal.accounts.adminkit.filters import choices
from shipping_portal.billing import queues
from shipping_portal.billing.models import BillingReport, Charge, ChargeKind, ChargeWord
from shipping_portal.billing.reports import checking


class ChargeWordForm(ReasonForm):
    """What one of the carrier's words means, and why it is decided so."""

    meaning = forms.ChoiceField(label="Meaning", choices=[("", "Choose"), *ChargeWord.MEANINGS])
    field_order = ["meaning", "reason"]


def _decide(word: ChargeWord, *, meaning: str, now: Any, **written: Any) -> str:
    """Read again the reports that have the word and are not posted."""
    checking.decide(word, meaning, now=now)
    return f"“{word}” means {dict(ChargeWord.MEANINGS)[meaning]}"


@admin.register(ChargeWord)
class ChargeWordAdmin(ActionsAdmin):
    """Words come from reports; an operator says what they mean, nobody adds or deletes them."""

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

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        """Return the words of the page with their lines counted, in one query."""
        shown: Any = super().get_changelist_instance(request)
        shown.result_list = with_waiting(list(shown.result_list))
        return shown

    @admin.display(description="means", ordering="meaning")
    def means(self, word: ChargeWord) -> str:
        """Show the meaning that an operator decided."""
        return word.get_meaning_display() or "Unmapped"

    @admin.display(description="lines waiting")
    def waiting(self, word: Any) -> int:
        """Return how many lines wait for this word."""
        return int(word.waiting)

    @admin.display(description="lines waiting")
    def lines_waiting(self, word: ChargeWord) -> int:
        """Return how many lines wait for this word, on its own page."""
        [counted] = with_waiting([word])
        return self.waiting(counted)


def undecided(report: BillingReport) -> list[ChargeWord]:
    """Return the words that keep it from being posted, each with its `waiting` lines."""
    lines = report.lines.filter(kind=ChargeKind.UNKNOWN).order_by().values("term").annotate(waiting=Count("pk"))
    counts = {row["term"]: row["waiting"] for row in lines}
    return _with_waiting(ChargeWord.objects.filter(pk__in=counts).order_by("word"), counts)


def with_waiting(words: Collection[ChargeWord]) -> list[ChargeWord]:
    """Return these words, each with its `waiting` lines: those not posted that have no other kind. One query."""
    lines = Charge.objects.filter(term__in=[word.pk for word in words], kind=ChargeKind.UNKNOWN, posted_at=None)
    counted = lines.order_by().values("term").annotate(waiting=Count("pk"))
    return _with_waiting(words, {row["term"]: row["waiting"] for row in counted})


def _with_waiting(words: Collection[ChargeWord], counts: dict[int, int]) -> list[ChargeWord]:
    for word in words:
        word.waiting = counts.get(word.pk, 0)  # type: ignore[attr-defined]
    return list(words)
