"""The carrier's published suburb and postcode pairs: lists, the pairs, and other ways people write their words."""

from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest
from django.utils import timezone

from shipping_portal.accounts.models import Audit, Locality, LocalityAlias, LocalityList
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


class AliasForm(forms.ModelForm):
    class Meta:
        model = LocalityAlias
        fields = ["word", "stands_for"]

    def clean_word(self) -> str:
        return _as_listed(self.cleaned_data["word"])

    def clean_stands_for(self) -> str:
        return _as_listed(self.cleaned_data["stands_for"])


def _as_listed(word: str) -> str:
    """The lists are in capitals, and aliases are compared with them word by word."""
    if len(word.split()) > 1:
        raise forms.ValidationError("One word only, such as MT.")
    return word.strip().upper()


@admin.register(LocalityAlias)
class LocalityAliasAdmin(admin.ModelAdmin):
    """Aliases are ours, not the carrier's, so they are edited here; every change is audited."""

    form = AliasForm
    list_display = ["word", "stands_for"]
    search_fields = ["word", "stands_for"]
    ordering = ["word"]
    actions = None  # deleting goes one by one, so that each is audited

    def save_model(self, request: HttpRequest, obj: LocalityAlias, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        Audit.write("alias saved", obj, by=request.user, reason=str(obj), at=timezone.now())

    def delete_model(self, request: HttpRequest, obj: LocalityAlias) -> None:
        Audit.write("alias deleted", obj, by=request.user, reason=str(obj), at=timezone.now())
        super().delete_model(request, obj)
