"""Acts: every change an operator makes is a named act on one thing, on a page of its own which asks why."""

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from django import forms
from django.contrib import messages
from django.db.models import Model
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone

from shipping_portal.accounts.models import User
from shipping_portal.staff import groups
from shipping_portal.staff.admin.reading import ReadOnlyAdmin

SHORTEST_REASON = 10


class Refused(Exception):
    """Why an act was not done; the text is for the operator."""


class ReasonForm(forms.Form):
    """What every act asks: why. Kept in the audit."""

    reason = forms.CharField(
        label="Why",
        min_length=SHORTEST_REASON,
        max_length=500,
        widget=forms.Textarea(attrs={"rows": 3, "class": "vLargeTextField"}),
        help_text="At least ten characters. It goes to the audit with your name.",
    )

    def clean_reason(self) -> str:
        """The audit is for good, and a pasted link may be a signed one."""
        reason: str = self.cleaned_data["reason"]
        if "://" in reason:
            raise forms.ValidationError("Leave the link out: the audit keeps none. Name the parcel instead.")
        return reason


@dataclass(frozen=True)
class Act:
    """One named change. `do` raises one of `refusals` with a text for the operator when it no longer applies.

    `needs` is a name of staff/groups.py; whose groups lack it sees no button, and gets 403 at the address.
    """

    name: str  # in the page's address
    label: str  # on the button
    explains: str
    do: Callable[[Any, dict[str, Any], User, dt.datetime], None]
    needs: str
    applies: Callable[[Any], bool] = lambda thing: True
    form: type[forms.Form] = ReasonForm
    initial: Callable[[Any], dict[str, Any]] = lambda thing: {}
    refusals: tuple[type[Exception], ...] = field(default=(Refused,))


class ActsAdmin(ReadOnlyAdmin):
    """Facts to read, with a button for each act that applies and the page behind it."""

    acts: tuple[Act, ...] = ()
    change_form_template = "admin/with_acts.html"

    def get_urls(self) -> list[URLPattern]:
        pattern = path(
            "<int:pk>/acts/<slug:name>/", self.admin_site.admin_view(self.act_view), name=self._url_name()
        )
        return [pattern, *super().get_urls()]

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        thing = self.get_object(request, object_id)
        context = {
            "acts": self.open_acts(request, object_id),
            "notice": self.notice(thing) if thing else "",
            **(extra_context or {}),
        }
        return super().change_view(request, object_id, form_url, context)

    def notice(self, thing: Any) -> str:
        """What an operator must know before anything else on the page; mostly nothing."""
        return ""

    def open_acts(self, request: HttpRequest, object_id: str) -> list[tuple[str, str]]:
        """Label and address of each act that applies now, for those who may."""
        thing = self.get_object(request, object_id)
        if thing is None:
            return []
        return [
            (act.label, reverse(f"admin:{self._url_name()}", args=[thing.pk, act.name]))
            for act in self.acts
            if groups.may(request.user, act.needs) and act.applies(thing)
        ]

    def act_view(self, request: HttpRequest, pk: int, name: str) -> HttpResponse:
        act = next((act for act in self.acts if act.name == name), None)
        thing = self.get_object(request, str(pk))
        if act is None or thing is None:
            raise Http404
        groups.demand(request.user, act.needs)
        if not act.applies(thing):
            return self._act_page(request, act, thing, None, status=409)
        form = act.form(request.POST if request.method == "POST" else None, initial=act.initial(thing))
        if request.method == "POST" and form.is_valid() and _done(act, thing, form, request.user):
            messages.success(request, f"{act.label}: done for {thing}.")
            return self.response_post_save_change(request, thing)
        return self._act_page(request, act, thing, form)

    def _act_page(
        self, request: HttpRequest, act: Act, thing: Model, form: forms.Form | None, *, status: int = 200
    ) -> HttpResponse:
        context = {
            **self.admin_site.each_context(request),
            "title": f"{act.label}: {thing}",
            "opts": self.model._meta,
            "act": act,
            "original": thing,
            "form": form,
        }
        return TemplateResponse(request, "admin/act.html", context, status=status)

    def _url_name(self) -> str:
        return f"{self.model._meta.app_label}_{self.model._meta.model_name}_act"


def _done(act: Act, thing: Model, form: forms.Form, by: Any) -> bool:
    try:
        act.do(thing, form.cleaned_data, by, timezone.now())
    except act.refusals as refusal:
        form.add_error(None, str(refusal))
        return False
    return True
