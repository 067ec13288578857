"""Define read-only admin pages, the pages beside them, and how bytes, JSON and links are shown."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import BadRequest
from django.core.paginator import Paginator
from django.db import DataError
from django.db.models import Model, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.functional import cached_property
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import capfirst

from shipping_portal.accounts.adminkit import permissions
from shipping_portal.accounts.adminkit.queues import Wait, age_column, summary
from shipping_portal.db.keyset import MOST_COUNTED, count_rows

Context = dict[str, Any]  # the context of a page's template

PAGE = 50
MOST_TYPED = 200  # each word searched for is a condition, and a database refuses a thousand
# Parameters that Django's column and date filters write into an address.
OF_A_FILTER = {"exact", "isnull", "isempty", "gte", "lt"}
TYPED_BY_HAND = (OverflowError, ValueError, DataError)  # what a bad filter in an address may raise


@dataclass(frozen=True)
class AdminPage:
    """An extra admin page of a model, such as admin:orders_order_resolve.

    `view` is called with the request, with the row (unless the page is of the whole list), and
    with the context that every page of the site needs. `needs` is a name of permissions.py; an
    operator without it gets a 403. Without `needs`, the view itself decides. A page with a `label`
    has a button as long as it `applies` to the row.
    """

    name: str
    view: Callable[..., HttpResponseBase]
    needs: str = ""
    label: str = ""
    is_of_list: bool = False
    is_first: bool = False  # its button is placed before those of the actions
    applies: Callable[[Any], bool] = lambda thing: True


class OnlyReads:
    """Let nobody, not even a superuser, add, change or delete rows here.

    Changes are actions with a reason (actions.py).

    `related` names rows to read in the same query, `deferred` the columns not to read.
    """

    related: tuple[str, ...] = ()
    deferred: tuple[str, ...] = ()

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows: QuerySet[Any] = super().get_queryset(request)  # type: ignore[misc]
        rows = rows.select_related(*self.related) if self.related else rows
        return rows.defer(*self.deferred)

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class FirstThousand(Paginator):
    """Page through the first thousand rows: counting a million takes seconds.

    Operators search or filter for the rest.
    """

    @cached_property
    def found(self) -> int:
        """Return how many rows there are; 1,001 means more than a thousand."""
        rows: Any = self.object_list
        return count_rows(rows)

    @cached_property
    def count(self) -> int:
        return min(self.found, MOST_COUNTED)

    @property
    def is_more(self) -> bool:
        return self.found > MOST_COUNTED


class ReadOnlyAdmin(OnlyReads, admin.ModelAdmin):
    """A read-only list and page, newest first by primary key.

    It shows at most a thousand rows of a large table.

    `waits` holds the query parameter and its queues by value. A queue's list shows its response
    time and ages.
    """

    waits: tuple[str, Mapping[str, Wait]] = ("", {})
    linked: tuple[str, ...] = ()  # other keys that our own pages filter by
    admin_pages: tuple[AdminPage, ...] = ()
    ordering = ["-pk"]
    paginator = FirstThousand
    show_full_result_count = False
    list_per_page = PAGE
    list_max_show_all = PAGE
    actions: Any = None

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        """Answer 400 for a bad address typed by hand, such as a year that no calendar has."""
        try:
            title = capfirst(self.opts.verbose_name_plural)
            found = {"title": title, "acts": self.list_buttons(request)}
            page = super().changelist_view(request, {**found, **(extra_context or {})})
            wait, shown = self.wait_of(request), getattr(page, "context_data", None) or {}
            # An action returns its own page.
            if wait and "cl" in shown:
                shown["queue"] = summary(wait, shown["cl"].queryset, shown["cl"].result_count)
        except TYPED_BY_HAND as error:
            raise BadRequest(str(error)) from error
        return page

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        shown: Any = super().get_changelist_instance(request)
        shown.result_list = self.with_counts(list(shown.result_list))
        return shown

    def with_counts(self, rows: list[Any]) -> list[Any]:
        """Return the rows of one page of the list, each with its counts.

        The counts take one query.
        """
        return rows

    def lookup_allowed(self, lookup: str, value: Any, request: HttpRequest | None = None) -> bool:
        """Allow only the list's own filters.

        Others would reveal a masked column letter by letter.
        """
        own = {one.parameter_name for one in self.list_filter if isinstance(one, type)}  # type: ignore[attr-defined]
        columns = {
            one if isinstance(one, str) else one[0]
            for one in self.list_filter
            if isinstance(one, str | tuple)
        }
        column, _, how = lookup.rpartition("__")
        return lookup in {*own, *columns, *self.linked} or (
            column in columns and how in OF_A_FILTER
        )

    def wait_of(self, request: HttpRequest) -> Wait | None:
        """Return the queue that the list is filtered to, if any."""
        parameter, waits = self.waits
        wait = waits.get(request.GET.get(parameter, ""))
        return wait if wait and wait.next_step else None

    def get_list_display(self, request: HttpRequest) -> Any:
        """Show in a queue's list how long each row has waited."""
        shown, wait = super().get_list_display(request), self.wait_of(request)
        return [*shown, age_column(wait, timezone.now())] if wait else shown

    def get_ordering(self, request: HttpRequest) -> Any:
        """Show a queue's longest waiting rows first."""
        wait = self.wait_of(request)
        return [wait.since, "pk"] if wait else super().get_ordering(request)

    def search_rows(
        self, request: HttpRequest, rows: QuerySet[Any], typed: str
    ) -> QuerySet[Any] | None:
        """Return the rows that match, or None to search `search_fields` as Django does."""
        return None

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        typed = search_term.strip()
        if len(typed) > MOST_TYPED:
            messages.error(
                request,
                f"Nothing was searched. Use at most {MOST_TYPED} characters;"
                f" this has {len(typed)}.",
            )
            return queryset.none(), False
        found = self.search_rows(request, queryset, typed) if typed else queryset
        return (
            super().get_search_results(request, queryset, search_term)
            if found is None
            else (found, False)
        )

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        thing = self.get_object(request, object_id)
        is_read = thing is not None and self.has_view_permission(request, thing)
        shown = self.thing_context(request, thing) if is_read else {}
        return super().change_view(request, object_id, form_url, {**shown, **(extra_context or {})})

    def thing_context(self, request: HttpRequest, thing: Any) -> Context:
        """Return what the page of one row shows besides its columns."""
        return {"acts": self.open_actions(request, thing), "notice": self.notice(thing)}

    def notice(self, thing: Any) -> str:
        """Return what an operator must know first about the row, usually nothing."""
        return ""

    def open_actions(self, request: HttpRequest, thing: Any) -> list[tuple[str, str]]:
        """Return the label and address of each page that applies to the row and is permitted."""
        pages = [page for page in self.admin_pages if not page.is_of_list and page.applies(thing)]
        return self._buttons(request, pages, thing.pk)

    def list_buttons(self, request: HttpRequest) -> list[tuple[str, str]]:
        """Return the label and address of each permitted page of the list."""
        return self._buttons(request, [page for page in self.admin_pages if page.is_of_list])

    def _buttons(
        self, request: HttpRequest, pages: list[AdminPage], *key: Any
    ) -> list[tuple[str, str]]:
        user = request.user
        allowed = [
            page
            for page in pages
            if page.label and (not page.needs or permissions.may(user, page.needs))
        ]
        return [
            (page.label, reverse(f"admin:{self._page_name(page)}", args=key)) for page in allowed
        ]

    def get_urls(self) -> list[URLPattern]:
        """Return Django's addresses after those of our own pages."""
        own = [
            path(
                f"{page.name}/" if page.is_of_list else f"<int:pk>/{page.name}/",
                self.admin_site.admin_view(partial(self.page_view, page)),
                name=self._page_name(page),
            )
            for page in self.admin_pages
        ]
        return [*own, *super().get_urls()]

    def _page_name(self, page: AdminPage) -> str:
        return f"{self.opts.app_label}_{self.opts.model_name}_{page.name}"

    def page_view(
        self, page: AdminPage, request: HttpRequest, pk: int | None = None
    ) -> HttpResponseBase:
        """Serve one of our own pages. Raises Http404 if its row doesn't exist."""
        if page.needs:
            permissions.require_permission(request.user, page.needs)
        context = self.page_context(request)
        if page.is_of_list:
            return page.view(request, context)
        thing = self.get_object(request, str(pk))
        if thing is None:
            raise Http404
        return page.view(request, thing, context)

    def page_context(self, request: HttpRequest, **more: Any) -> Context:
        """Return the context of a page that is neither Django's list nor Django's form."""
        return {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "model_admin": self,
            **more,
        }


class ReadOnlyInline(OnlyReads, admin.TabularInline):
    """Show related rows, read-only."""

    extra = 0
    can_delete = False
    show_change_link = True
    template = "admin/read_inline.html"

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return self.fields or ()


def column(
    description: str,
    value: Callable[[Any], Any],
    *,
    ordering: str | None = None,
    boolean: bool = False,
) -> Callable[[Any, Any], Any]:
    """Return a column of a list, or a fact on a page: `value` of the row."""

    @admin.display(description=description, ordering=ordering)
    def shown(self: Any, row: Any) -> Any:
        return value(row)

    shown.boolean = boolean  # type: ignore[attr-defined]
    return shown


def link_to(thing: Model | None, text: str = "") -> SafeString | str:
    """Return a link to the object's admin page, or a dash."""
    if thing is None:
        return "–"
    url = reverse(f"admin:{thing._meta.app_label}_{thing._meta.model_name}_change", args=[thing.pk])
    return format_html('<a href="{}">{}</a>', url, text or thing)


def details(text: str, summary: str) -> SafeString | str:
    """Return long text behind a summary, escaped, or a dash."""
    if not text:
        return "–"
    return format_html("<details><summary>{}</summary><pre>{}</pre></details>", summary, text)
