"""Filters of the site's lists: a table of values, each with its words and its rule."""

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
    """Return what a rule says now."""
    return rule if isinstance(rule, Q) else rule(now)


class SenderFilter(admin.SimpleListFilter):
    """The rows of one sender, by the A-number it quotes: typed, or followed as a link from its page."""

    title, parameter_name, template = "sender", "sender", "admin/sender_filter.html"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return []

    def has_output(self) -> bool:
        return True

    def choices(self, changelist: Any) -> Any:
        """Return what the form keeps of the address beside the sender."""
        kept = {name: value for name, value in changelist.params.items() if name not in {"sender", "p"}}
        return [{"kept": kept | ({"q": changelist.query} if changelist.query else {}), "value": self.value() or ""}]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(sender=Sender.pk_of(self.value() or "")) if self.value() else queryset


def choices(title: str, parameter: str, options: Mapping[str, tuple[str, Rule]]) -> type[admin.SimpleListFilter]:
    """Return a filter class: `options` leads from the value in the address to its words and its rule.

    A rule that depends on the time, or that asks the database, is a function of now. Any other value filters nothing.
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
