"""The carrier's published suburb and postcode pairs: lists, the pairs, and other ways people write their words."""

from django.contrib import admin

from shipping_portal.accounts.models import Locality, LocalityAlias, LocalityList
from shipping_portal.desk.admin.reading import ReadOnlyAdmin


@admin.register(LocalityList)
class LocalityListAdmin(ReadOnlyAdmin):
    list_display = ["country", "source", "rows", "loaded_at", "is_active"]
    list_filter = ["country", "is_active"]


@admin.register(Locality)
class LocalityAdmin(ReadOnlyAdmin):
    list_display = ["suburb", "state", "postcode", "country", "list"]
    list_filter = ["country", "list__is_active"]
    list_select_related = ["list"]
    search_fields = ["suburb__istartswith", "=postcode"]


@admin.register(LocalityAlias)
class LocalityAliasAdmin(admin.ModelAdmin):
    """Aliases are ours, not the carrier's, so they are edited here; every change is audited."""

    list_display = ["word", "stands_for"]
    search_fields = ["word", "stands_for"]
    ordering = ["word"]
