"""Pages that only read, and how bytes, JSON and links are shown on them."""

from typing import Any

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

PAGE = 50


class OnlyReads:
    """Nobody adds, changes or deletes here, not even a superuser. Changes are acts with a reason (acts.py)."""

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class ReadOnlyAdmin(OnlyReads, admin.ModelAdmin):
    """A list and a page of facts. Newest first by primary key; large tables are counted once at most."""

    ordering = ["-pk"]
    show_full_result_count = False
    list_per_page = PAGE
    list_max_show_all = PAGE
    actions: Any = None


class ReadOnlyInline(OnlyReads, admin.TabularInline):
    extra = 0
    can_delete = False
    show_change_link = True
    template = "admin/read_inline.html"

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return self.fields or ()


def link_to(thing: Model | None, text: str = "") -> SafeString | str:
    """A link to the thing's own page at the desk; a dash where there is none."""
    if thing is None:
        return "–"
    url = reverse(f"admin:{thing._meta.app_label}_{thing._meta.model_name}_change", args=[thing.pk])
    return format_html('<a href="{}">{}</a>', url, text or thing)


def folded(text: str, summary: str) -> SafeString | str:
    """Long text behind a summary, escaped."""
    if not text:
        return "–"
    return format_html("<details><summary>{}</summary><pre>{}</pre></details>", summary, text)
