"""The carrier's words for the lines of its reports, and what an operator decided they mean. Undecided ones first."""

import datetime as dt
from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from shipping_portal.accounts.models import User
from shipping_portal.billing.models import ChargeWord
from shipping_portal.staff import accounting, billing, money
from shipping_portal.staff.admin.acts import Act, ActsAdmin, ReasonForm


class MeaningForm(ReasonForm):
    meaning = forms.ChoiceField(label="It means", choices=[("", "Choose"), *ChargeWord.MEANINGS])
    field_order = ["meaning", "reason"]


def _decide(word: ChargeWord, cleaned: dict[str, Any], by: User, now: dt.datetime) -> None:
    accounting.give_meaning(word, cleaned["meaning"], by=by, reason=cleaned["reason"], now=now)


class DecidedFilter(admin.SimpleListFilter):
    """The same rule as the queue on the first page."""

    title = "decided"
    parameter_name = "decided"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("no", "No"), ("yes", "Yes")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[ChargeWord]) -> QuerySet[ChargeWord]:
        match self.value():
            case "no":
                return queryset.filter(money.WORD_UNDECIDED)
            case "yes":
                return queryset.exclude(money.WORD_UNDECIDED)
        return queryset


@admin.register(ChargeWord)
class ChargeWordAdmin(ActsAdmin):
    """Words come from reports; an operator says what they mean, nobody adds or deletes them."""

    acts = (
        Act(
            "decide",
            "Decide what it means",
            "Reports that have the word and are not posted are read again with it. What is posted stays as it is.",
            _decide,
            needs="billing",
            form=MeaningForm,
            initial=lambda word: {"meaning": word.meaning},
        ),
    )
    list_display = ["word", "means", "waiting", "first_seen_at"]
    list_filter = [DecidedFilter, "meaning"]
    search_fields = ["word"]
    ordering = ["meaning", "word"]
    fields = ["word", "means", "lines_waiting", "first_seen_at"]
    readonly_fields = ["means", "lines_waiting"]

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        """The words of the page with their lines counted, in one query."""
        shown: Any = super().get_changelist_instance(request)
        shown.result_list = billing.with_waiting(list(shown.result_list))
        return shown

    @admin.display(description="means", ordering="meaning")
    def means(self, word: ChargeWord) -> str:
        return word.get_meaning_display() or "Not decided"

    @admin.display(description="lines waiting")
    def waiting(self, word: Any) -> int:
        return int(word.waiting)

    @admin.display(description="lines waiting")
    def lines_waiting(self, word: ChargeWord) -> int:
        [counted] = billing.with_waiting([word])
        return self.waiting(counted)
