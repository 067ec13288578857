"""Define filters for admin lists: a table of values, each with a label and a rule."""

import datetime as dt
from collections.abc import Callable, Mapping
from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils import timezone

from shipping_portal.accounts.models import Sender

Rule = Q | Callable[[dt.datetime], Q]


def now_of(rule: Rule, now: dt.datetime) -> Q:
    """Return a rule's condition as of now."""
    return rule if isinstance(rule, Q) else rule(now)


class TypedFilter(admin.SimpleListFilter):
    """A filter whose value is typed or comes from a link: there are too many values to list."""

    template, asks, input_type = "admin/typed_filter.html", "", "text"
    refusal, is_refused = "", False

    def rule(self, value: str) -> Q:
        """Return the rule for the value. Raises ValueError if there is none."""
        raise ValueError

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Return the rows for the value, or none and a message at the field if it is invalid."""
        if not self.value():
            return queryset
        try:
            return queryset.filter(self.rule(str(self.value())))
        except ValueError:
            self.is_refused = True
            return queryset.none()

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return []

    def has_output(self) -> bool:
        return True

    def choices(self, changelist: Any) -> Any:
        """Return the label, and the other query parameters for the form to keep."""
        name = str(self.parameter_name)
        kept = {
            other: value for other, value in changelist.params.items() if other not in {name, "p"}
        }
        kept |= {"q": changelist.query} if changelist.query else {}
        asked = {
            "name": name,
            "asks": self.asks,
            "type": self.input_type,
            "kept": kept,
            "value": self.value() or "",
        }
        return [{**asked, "refusal": self.refusal if self.is_refused else ""}]


class SenderFilter(TypedFilter):
    """Filter by a sender's A-number."""

    title, parameter_name, asks = "sender", "sender", "A-number"
    refusal = "Enter an A-number, like A-1007."

    def rule(self, value: str) -> Q:
        number = Sender.pk_of(value.strip())
        if number is None:
            raise ValueError(value)
        return Q(sender=number)


def by_day(title: str, parameter: str, of: Callable[[dt.date], Q]) -> type[TypedFilter]:
    """Return a filter class for one day."""

    class Day(TypedFilter):
        asks, input_type = "Day", "date"
        refusal = "Enter a date, like 2026-11-24."

        def rule(self, value: str) -> Q:
            return of(dt.date.fromisoformat(value))

    Day.title, Day.parameter_name = title, parameter
    return Day


def on_day(column: str) -> Callable[[dt.date], Q]:
    """Return the rule for times on a day in the operators' zone, written to use an index.

    Raises ValueError for a day that UTC can't express.
    """

    def rule(day: dt.date) -> Q:
        zone = timezone.get_default_timezone()
        # If the clocks go back at the end of a day, its last hour occurs twice.
        times = (dt.time.min, dt.time.max.replace(fold=1))
        try:
            first, last = (
                dt.datetime.combine(day, time, zone).astimezone(dt.UTC) for time in times
            )
        except OverflowError as error:
            raise ValueError(day) from error
        return Q(**{f"{column}__gte": first, f"{column}__lte": last})

    return rule


def choices(
    title: str, parameter: str, options: Mapping[str, tuple[str, Rule]]
) -> type[admin.SimpleListFilter]:
    """Return a filter class; `options` maps each value in the address to a label and a rule.

    A rule that depends on the time or the database is a function of now. An unknown value has no
    effect.
    """

    class Choices(admin.SimpleListFilter):
        def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
            return [(value, words) for value, (words, _) in options.items()]

        def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
            if self.value() not in options:
                return queryset
            return queryset.filter(now_of(options[str(self.value())][1], timezone.now()))

    Choices.title, Choices.parameter_name = title, parameter
    return Choices
