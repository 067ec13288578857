"""Pages that only read, and how bytes, JSON and links are shown on them."""

from collections.abc import Callable, Mapping
from typing import Any

from django.contrib import admin
from django.core.exceptions import BadRequest
from django.core.paginator import Paginator
from django.db import DataError
from django.db.models import Model
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.functional import cached_property
from django.utils.html import format_html
from django.utils.safestring import SafeString

from shipping_portal.accounts.adminkit.queues import Wait, age_column, summary
from shipping_portal.db.keyset import MOST_COUNTED, count_rows

PAGE = 50
# What Django's filter of a column, or of a day, writes into an address.
OF_A_FILTER = {"exact", "isnull", "isempty", "gte", "lt"}
TYPED_BY_HAND = (OverflowError, ValueError, DataError)  # what a filter in an address may hold


class OnlyReads:
    """Nobody adds, changes or deletes here, not even a superuser. Changes are actions with a reason (actions.py)."""

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class FirstThousand(Paginator):
    """The pages of the first thousand rows: to count a million, or to walk to their end, takes seconds.

    What lies further is found by a search or a filter.
    """

    @cached_property
    def found(self) -> int:
        """Return how many rows there are; one more than the thousand stands for any more."""
        rows: Any = self.object_list
        return count_rows(rows)

    @cached_property
    def count(self) -> int:
        return min(self.found, MOST_COUNTED)

    @property
    def is_more(self) -> bool:
        return self.found > MOST_COUNTED


class ReadOnlyAdmin(OnlyReads, admin.ModelAdmin):
    """A list and a page of facts. Newest first by primary key; of large tables the first thousand rows are listed.

    `waits` are the parameter of the address and the queues by its value: each one's list says its term and ages.
    """

    waits: tuple[str, Mapping[str, Wait]] = ("", {})
    linked: tuple[str, ...] = ()  # what else our own pages filter the list by
    ordering = ["-pk"]
    paginator = FirstThousand
    show_full_result_count = False
    list_per_page = PAGE
    list_max_show_all = PAGE
    actions: Any = None

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        """Answer 400 where an address was typed by hand, such as a year that no calendar has."""
        try:
            title = str(self.opts.verbose_name_plural).capitalize()
            page = super().changelist_view(request, {"title": title, **(extra_context or {})})
            wait, shown = self.wait_of(request), getattr(page, "context_data", None) or {}
            if wait and "cl" in shown:  # an action answers with a page of its own
                shown["queue"] = summary(wait, shown["cl"].queryset, shown["cl"].result_count)
        except TYPED_BY_HAND as error:
            raise BadRequest(str(error)) from error
        return page

    def lookup_allowed(self, lookup: str, value: Any, request: HttpRequest | None = None) -> bool:
        """Filter by the list's own filters alone: any other would read a masked column out, letter by letter."""
        own = {one.parameter_name for one in self.list_filter if isinstance(one, type)}  # type: ignore[attr-defined]
        columns = {one if isinstance(one, str) else one[0] for one in self.list_filter if isinstance(one, str | tuple)}
        column, _, how = lookup.rpartition("__")
        return lookup in {*own, *columns, *self.linked} or (column in columns and how in OF_A_FILTER)

    def wait_of(self, request: HttpRequest) -> Wait | None:
        """Return the queue that the list is filtered to, if it is one."""
        parameter, waits = self.waits
        wait = waits.get(request.GET.get(parameter, ""))
        return wait if wait and wait.next_step else None

    def get_list_display(self, request: HttpRequest) -> Any:
        """Show in a queue's list how long each row waits."""
        shown, wait = super().get_list_display(request), self.wait_of(request)
        return [*shown, age_column(wait, timezone.now())] if wait else shown

    def get_ordering(self, request: HttpRequest) -> Any:
        """Begin a queue's list with what waits longest."""
        wait = self.wait_of(request)
        return [wait.since, "pk"] if wait else super().get_ordering(request)

    def page_context(self, request: HttpRequest, **more: Any) -> dict[str, Any]:
        """Return what a page of the site needs that is neither a list nor a form of Django's."""
        return {**self.admin_site.each_context(request), "opts": self.opts, **more}

    def own_page(self, route: str, name: str, view: Callable[..., HttpResponseBase]) -> URLPattern:
        """Return the address of a page of this model beside Django's, such as admin:orders_order_resolve."""
        full_name = f"{self.opts.app_label}_{self.opts.model_name}_{name}"
        return path(route, self.admin_site.admin_view(view), name=full_name)


class ReadOnlyInline(OnlyReads, admin.TabularInline):
    """Related rows on a page, read and never changed there."""

    extra = 0
    can_delete = False
    show_change_link = True
    template = "admin/read_inline.html"

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return self.fields or ()


def link_to(thing: Model | None, text: str = "") -> SafeString | str:
    """Return a link to the thing's own page at the desk; a dash where there is none."""
    if thing is None:
        return "–"
    url = reverse(f"admin:{thing._meta.app_label}_{thing._meta.model_name}_change", args=[thing.pk])
    return format_html('<a href="{}">{}</a>', url, text or thing)


def details(text: str, summary: str) -> SafeString | str:
    """Return long text behind a summary, escaped; a dash for none."""
    if not text:
        return "–"
    return format_html("<details><summary>{}</summary><pre>{}</pre></details>", summary, text)
