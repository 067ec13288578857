"""The carrier's published suburb and postcode pairs: lists, the pairs, and other ways people write their words."""

import datetime as dt
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone

from shipping_portal.accounts.locality_lists import UnreadableList, import_list
from shipping_portal.accounts.models import Audit, Locality, LocalityAlias, LocalityList, User
from shipping_portal.staff import groups, locality_upload
from shipping_portal.staff.admin.acts import Act, ActsAdmin, ReasonForm
from shipping_portal.staff.admin.reading import ReadOnlyAdmin

LARGEST_FILE = 2_000_000


class UploadForm(forms.Form):
    file = forms.FileField(
        help_text="UTF-8 CSV with the columns country, suburb, state, postcode. At most 2 MB."
    )

    def clean_file(self) -> Any:
        if self.cleaned_data["file"].size > LARGEST_FILE:
            raise forms.ValidationError("The file is larger than 2 MB. Import it with manage.py localities.")
        return self.cleaned_data["file"]


class CheckedForm(ReasonForm):
    """The file as it was checked, brought back by the browser for the import itself, and why it is used."""

    content = forms.CharField(widget=forms.HiddenInput, strip=False)
    source = forms.CharField(widget=forms.HiddenInput)


def _use_again(chosen: LocalityList, cleaned: dict[str, Any], by: User, now: dt.datetime) -> None:
    locality_upload.use_again(chosen, reason=cleaned["reason"], by=by, now=now)


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
            refusals=(locality_upload.AlreadyActive,),
        ),
    )
    list_display = ["country", "source", "rows", "loaded_at", "is_active"]
    list_filter = ["country", "is_active"]
    change_list_template = "admin/list_with_acts.html"

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        may_import = groups.may(request.user, "localities")
        acts = [("Import a list", reverse("admin:accounts_localitylist_import"))] if may_import else []
        return super().changelist_view(request, {"acts": acts, **(extra_context or {})})

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.import_view)
        return [path("import/", view, name="accounts_localitylist_import"), *super().get_urls()]

    def import_view(self, request: HttpRequest) -> HttpResponse:
        """Upload, read what would change, then confirm. Nothing changes before the confirmation."""
        groups.demand(request.user, "localities")
        if "content" in request.POST:
            return self._import(request, CheckedForm(request.POST))
        form = UploadForm(request.POST or None, request.FILES or None)
        if not form.is_valid():
            return self._page(request, {"form": form})
        file = form.cleaned_data["file"]
        content = file.read()
        try:
            previews = self._previews(request, content, file.name)
        except UnreadableList as problem:
            form.add_error("file", str(problem))
            return self._page(request, {"form": form})
        carried = CheckedForm(initial={"content": content.decode("utf-8-sig"), "source": file.name})
        return self._page(request, {"previews": previews, "checked": carried})

    def _previews(self, request: HttpRequest, content: bytes, source: str) -> list[locality_upload.Preview]:
        return locality_upload.preview(content, source=source, by=request.user, at=timezone.now())

    def _import(self, request: HttpRequest, form: CheckedForm) -> HttpResponse:
        content, source = request.POST["content"].encode(), request.POST.get("source", "")
        try:
            if not form.is_valid():
                previews = self._previews(request, content, source)
                return self._page(request, {"previews": previews, "checked": form})
            done = import_list(
                content,
                source=source,
                by=request.user,
                at=timezone.now(),
                reason=form.cleaned_data["reason"],
            )
        except UnreadableList:  # not the file that was checked
            return self._page(request, {"form": UploadForm()})
        for change in done:
            text = f"{change.country}: {change.rows} pairs, {change.added} added, {change.removed} removed."
            if change.off_list:
                text += f" {change.off_list} addresses in senders' books are not on the list."
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


class AliasForm(ReasonForm, forms.ModelForm):
    field_order = ["word", "stands_for", "reason"]

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


def _remove(alias: LocalityAlias, cleaned: dict[str, Any], by: User, now: dt.datetime) -> None:
    with transaction.atomic():
        Audit.write("alias removed", alias, by=by, reason=f"{alias}: {cleaned['reason']}", at=now)
        alias.delete()


@admin.register(LocalityAlias)
class LocalityAliasAdmin(ActsAdmin):
    """Aliases are ours, not the carrier's, so they are edited here; every change has a reason and is audited."""

    acts = (
        Act(
            "remove",
            "Remove",
            "What senders type is no longer read this way.",
            _remove,
            needs="localities",
        ),
    )
    form = AliasForm
    list_display = ["word", "stands_for"]
    search_fields = ["word", "stands_for"]
    ordering = ["word"]

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return groups.may(request.user, "localities")

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return groups.may(request.user, "localities")

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        reads_only = obj is not None and not self.has_change_permission(request, obj)
        return ["word", "stands_for", *([] if reads_only else ["reason"])]

    def save_model(self, request: HttpRequest, obj: LocalityAlias, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        reason = f"{obj}: {form.cleaned_data['reason']}"
        Audit.write("alias saved", obj, by=request.user, reason=reason, at=timezone.now())
