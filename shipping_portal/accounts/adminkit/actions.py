"""Admin actions: every change an operator makes is a named action on one thing, on a page of its own that asks why."""

import datetime as dt
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib import messages
from django.db import transaction
from django.db.models import Model
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone

from shipping_portal.accounts.adminkit import permissions
from shipping_portal.accounts.adminkit.facts import ReadOnlyAdmin
from shipping_portal.accounts.models import Audit, Sender, User
from shipping_portal.accounts.models.audit import subject_of

SHORTEST_REASON = 10


class Refused(Exception):
    """Why an action was not done; the text is for the operator."""


class ReasonForm(forms.Form):
    """What every action asks: why. Kept in the audit."""

    reason = forms.CharField(
        label="Reason",
        min_length=SHORTEST_REASON,
        max_length=500,
        widget=forms.Textarea(attrs={"rows": 3, "class": "vLargeTextField"}),
        help_text="At least ten characters. Recorded permanently in the audit log under your name, so name no one "
        "else.",
    )

    def clean_reason(self) -> str:
        """Refuse a link and an email: the audit is for good, a pasted link may be a signed one, and people are not."""
        reason: str = self.cleaned_data["reason"]
        if re.search(r"\S@\S", reason):
            raise forms.ValidationError("Remove the email address: no one can be erased from the audit log.")
        if "://" in reason:
            raise forms.ValidationError("Remove the link: the audit log keeps none. Name the parcel instead.")
        return reason


@dataclass(frozen=True)
class AdminAction:
    """One named change.

    `do` is called with the thing, and by name with `by` (the operator), `now` and all that the form asked. It raises
    one of `refusals`, with a text for the operator, when it no longer applies. With an `audit` text, the row of the
    audit is written here, in the same transaction: the reason, after the words that `do` returned, if any. Without
    one, `do` writes it itself. `needs` is a name of permissions.py; whose groups lack it sees no button, and gets 403
    at the address.
    """

    name: str  # in the page's address
    label: str  # on the button
    explains: str
    do: Callable[..., str | None]
    needs: str
    audit: str = ""
    applies: Callable[[Any], bool] = lambda thing: True
    form: type[forms.Form] = ReasonForm
    initial: Callable[[Any], dict[str, Any]] = lambda thing: {}
    preview: Callable[[Any], list[list[str]]] = lambda thing: []  # a table of what changes, its head first
    refusals: tuple[type[Exception], ...] = (Refused,)

    def run(self, thing: Any, answers: dict[str, Any], by: Any, now: dt.datetime) -> None:
        """Do it, with its row in the audit. Raises one of `refusals`."""
        if self.audit:
            audited(self.audit, self.do, thing, by=by, now=now, **answers)
        else:
            self.do(thing, by=by, now=now, **answers)


@transaction.atomic
def audited(
    action: str, do: Callable[..., str | None], thing: Model, *, by: Any, now: dt.datetime, **answers: Any
) -> None:
    """Do something to a thing and write the audit's row in one transaction: what `do` says it did, then the reason."""
    subject = subject_of(thing)  # before it may be deleted
    words = do(thing, by=by, now=now, **answers)
    reason = f"{words}: {answers['reason']}" if words else answers["reason"]
    Audit.write(action, subject, by=by, sender=_sender_of(thing), reason=reason, at=now)


def _sender_of(thing: Any) -> Sender | None:
    if isinstance(thing, Sender):
        return thing
    return getattr(thing, "sender", None) or getattr(getattr(thing, "order", None), "sender", None)


class ActionsAdmin(ReadOnlyAdmin):
    """Facts to read, with a button for each action that applies and the page behind it.

    An app above the thing's own adds its actions with `offer`.
    """

    admin_actions: tuple[AdminAction, ...] = ()
    change_form_template = "admin/with_acts.html"

    def get_urls(self) -> list[URLPattern]:
        pattern = path(
            "<int:pk>/acts/<slug:name>/", self.admin_site.admin_view(self.action_view), name=self._url_name()
        )
        return [pattern, *super().get_urls()]

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        thing = self.get_object(request, object_id)
        context = {
            "acts": self.open_actions(request, object_id),
            "notice": self.notice(thing) if thing else "",
            **(extra_context or {}),
        }
        return super().change_view(request, object_id, form_url, context)

    def notice(self, thing: Any) -> str:
        """Return what an operator must know before anything else on the page; mostly nothing."""
        return ""

    def open_actions(self, request: HttpRequest, object_id: str) -> list[tuple[str, str]]:
        """Return label and address of each action that applies now, for those who may."""
        thing = self.get_object(request, object_id)
        if thing is None:
            return []
        return [
            (action.label, reverse(f"admin:{self._url_name()}", args=[thing.pk, action.name]))
            for action in self.admin_actions
            if permissions.may(request.user, action.needs) and action.applies(thing)
        ]

    def action_view(self, request: HttpRequest, pk: int, name: str) -> HttpResponse:
        """Answer the page of one action: what it does, why it is done, and whether it applies now."""
        action = next((action for action in self.admin_actions if action.name == name), None)
        thing = self.get_object(request, str(pk))
        if action is None or thing is None:
            raise Http404
        permissions.demand(request.user, action.needs)
        if not action.applies(thing):
            return self._action_page(request, action, thing, None, status=409)
        form = action.form(request.POST if request.method == "POST" else None, initial=action.initial(thing))
        if request.method == "POST" and form.is_valid() and _done(action, thing, form, request.user):
            messages.success(request, f"{action.label}: done for {thing}.")
            return self.response_post_save_change(request, thing)
        return self._action_page(request, action, thing, form)

    def _action_page(
        self, request: HttpRequest, action: AdminAction, thing: Model, form: forms.Form | None, *, status: int = 200
    ) -> HttpResponse:
        title = f"{action.label}: {thing}"
        preview = action.preview(thing) if form else []
        context = self.page_context(request, title=title, act=action, original=thing, form=form, preview=preview)
        return TemplateResponse(request, "admin/act.html", context, status=status)

    def _url_name(self) -> str:
        return f"{self.opts.app_label}_{self.opts.model_name}_act"


def _done(action: AdminAction, thing: Model, form: forms.Form, by: User | Any) -> bool:
    try:
        action.run(thing, form.cleaned_data, by, timezone.now())
    except action.refusals as refusal:
        form.add_error(None, str(refusal))
        return False
    return True
