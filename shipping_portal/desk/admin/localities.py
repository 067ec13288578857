"""The carrier's published suburb and postcode pairs: lists, the pairs, and other ways people write their words."""

import datetime as dt
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils import timezone

from shipping_portal.accounts.locality_lists import UnreadableList, import_list
from shipping_portal.accounts.models import Audit, Locality, LocalityAlias, LocalityList, User
from shipping_portal.desk import groups, importing
from shipping_portal.desk.admin.acts import Act, ActsAdmin
from shipping_portal.desk.admin.reading import ReadOnlyAdmin

LARGEST_FILE = 2_000_000


class UploadForm(forms.Form):
    file = forms.FileField(
        help_text="UTF-8 CSV with the columns country, suburb, state, postcode. At most 2 MB."
    )

    def clean_file(self) -> Any:
        if self.cleaned_data["file"].size > LARGEST_FILE:
            raise forms.ValidationError(
                "The file is larger than 2 MB. Import it with ./dev manage localities."
            )
        return self.cleaned_data["file"]


class CheckedForm(forms.Form):
    """The file as it was checked, brought back by the browser for the import itself."""

    content = forms.CharField(widget=forms.HiddenInput, strip=False)
    source = forms.CharField(widget=forms.HiddenInput)


def _use_again(chosen: LocalityList, cleaned: dict[str, Any], by: User, now: dt.datetime) -> None:
    importing.use_again(chosen, reason=cleaned["reason"], by=by, now=now)


@admin.register(LocalityList)
class LocalityListAdmin(ActsAdmin):
    acts = (
        Act(
            "use-again",
            "Use this list",
            "Suburbs and postcodes are checked against this list from now on, instead of the country's present one.",
            _use_again,
            needs="localities",
            applies=lambda chosen: not chosen.is_active,
            refusals=(importing.AlreadyActive,),
        ),
    )
    list_display = ["country", "source", "rows", "loaded_at", "is_active"]
    list_filter = ["country", "is_active"]
    change_list_template = "admin/locality_lists.html"

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.import_view)
        return [path("import/", view, name="accounts_localitylist_import"), *super().get_urls()]

    def import_view(self, request: HttpRequest) -> HttpResponse:
        """Upload, read what would change, then confirm. Nothing changes before the confirmation."""
        groups.demand(request.user, "localities")
        if "content" in request.POST:
            return self._import(request)
        form = UploadForm(request.POST or None, request.FILES or None)
        context: dict[str, Any] = {"form": form}
        if form.is_valid():
            context |= self._checked(request, form)
        return self._page(request, context)

    def _checked(self, request: HttpRequest, form: forms.Form) -> dict[str, Any]:
        file = form.cleaned_data["file"]
        content = file.read()
        try:
            previews = importing.preview(content, source=file.name, by=request.user, at=timezone.now())
        except UnreadableList as problem:
            form.add_error("file", str(problem))
            return {}
        carried = CheckedForm(initial={"content": content.decode("utf-8-sig"), "source": file.name})
        return {"previews": previews, "checked": carried}

    def _import(self, request: HttpRequest) -> HttpResponse:
        form = CheckedForm(request.POST)
        if not form.is_valid():
            return self._page(request, {"form": UploadForm()})
        content, source = form.cleaned_data["content"].encode(), form.cleaned_data["source"]
        for change in import_list(content, source=source, by=request.user, at=timezone.now()):
            text = f"{change.country}: {change.rows} pairs, {change.added} added, {change.removed} removed."
            messages.success(request, text)
        return redirect("admin:accounts_localitylist_changelist")

    def _page(self, request: HttpRequest, context: dict[str, Any]) -> HttpResponse:
        shown = {
            **self.admin_site.each_context(request),
            "title": "Import a locality list",
            "opts": self.opts,
        }
        return TemplateResponse(request, "admin/import_localities.html", shown | context)


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
