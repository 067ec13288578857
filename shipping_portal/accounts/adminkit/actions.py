"""Define admin actions: each is a named change to one object, made on a page that asks why."""

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
from shipping_portal.accounts.models import Audit, Sender
from shipping_portal.accounts.models.audit import subject_of
from shipping_portal.http.forms import posted_data, refusals_at
from shipping_portal.refused import Refused

SHORTEST_REASON = 10


class ReasonForm(forms.Form):
    """Asks for the reason that every action needs. The audit log keeps it."""

    reason = forms.CharField(
        label="Reason",
        min_length=SHORTEST_REASON,
        max_length=500,
        widget=forms.Textarea(attrs={"rows": 3, "class": "vLargeTextField"}),
        help_text=(
            "At least ten characters. Recorded permanently in the audit log under your name, so"
            " name no one else."
        ),
    )

    def clean_reason(self) -> str:
        """Reject links and emails.

        The audit log is permanent; a link may be signed, and people may have to be erased.
        """
        reason: str = self.cleaned_data["reason"]
        if re.search(r"\S@\S", reason):
            raise forms.ValidationError(
                "Remove the email address: no one can be erased from the audit log."
            )
        if "://" in reason:
            raise forms.ValidationError(
                "Remove the link: the audit log keeps none. Name the parcel instead."
            )
        return reason


@dataclass(frozen=True)
class AdminAction:
    """One named change.

    `do` is called with the object, and by keyword with `by` (the operator), `now` and the form's
    answers. It raises one of `refusals`, with a message for the operator, if it no longer applies.
    With an `audit` text the audit row is written here, in the same transaction: any words that `do`
    returned, then the reason. Without one, `do` writes it. `needs` is a name in permissions.py;
    other groups see no button, and get a 403 at its address.
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
    # a table of what changes; its first row is the heading
    preview: Callable[[Any], list[list[str]]] = lambda thing: []
    refusals: tuple[type[Exception], ...] = (Refused,)

    def run(self, thing: Any, answers: dict[str, Any], by: Any, now: dt.datetime) -> None:
        """Run the action and write its audit row. Raises one of `refusals`."""
        if self.audit:
            audited(self.audit, self.do, thing, by=by, now=now, **answers)
        else:
            self.do(thing, by=by, now=now, **answers)


@transaction.atomic
def audited(
    action: str,
    do: Callable[..., str | None],
    thing: Model,
    *,
    by: Any,
    now: dt.datetime,
    **answers: Any,
) -> None:
    """Act on an object and write the audit row in one transaction.

    The row holds what `do` returns, then the reason.
    """
    subject = subject_of(thing)  # taken now, because `do` may delete the object
    words = do(thing, by=by, now=now, **answers)
    reason = f"{words}: {answers['reason']}" if words else answers["reason"]
    Audit.write(action, subject, by=by, sender=_sender_of(thing), reason=reason, at=now)


def _sender_of(thing: Any) -> Sender | None:
    if isinstance(thing, Sender):
        return thing
    return getattr(thing, "sender", None) or getattr(getattr(thing, "order", None), "sender", None)


class ActionsAdmin(ReadOnlyAdmin):
    """Show facts, a button for each action that applies, and the page behind each button."""

    admin_actions: tuple[AdminAction, ...] = ()

    def get_urls(self) -> list[URLPattern]:
        pattern = path(
            "<int:pk>/acts/<slug:name>/",
            self.admin_site.admin_view(self.action_view),
            name=self._url_name(),
        )
        return [pattern, *super().get_urls()]

    def open_actions(self, request: HttpRequest, thing: Any) -> list[tuple[str, str]]:
        """Return the label and address of each action and page that is permitted now.

        An action returns to the list from which its page was opened.
        """
        url, kept = f"admin:{self._url_name()}", self.get_preserved_filters(request)
        actions = [
            (action.label, reverse(url, args=[thing.pk, action.name]) + (kept and f"?{kept}"))
            for action in self.admin_actions
            if permissions.may(request.user, action.needs) and action.applies(thing)
        ]
        first = {page.label for page in self.admin_pages if page.is_first}
        pages = super().open_actions(request, thing)
        before = [button for button in pages if button[0] in first]
        return [*before, *actions, *(button for button in pages if button not in before)]

    def action_view(self, request: HttpRequest, pk: int, name: str) -> HttpResponse:
        """Show one action's page: what it does, whether it applies now, and its form."""
        action = next((action for action in self.admin_actions if action.name == name), None)
        thing = self.get_object(request, str(pk))
        if action is None or thing is None:
            raise Http404
        permissions.require_permission(request.user, action.needs)
        if not action.applies(thing):
            return self._action_page(request, action, thing, None, status=409)
        form = action.form(posted_data(request), initial=action.initial(thing))
        if request.method == "POST" and form.is_valid():
            with refusals_at(form, kinds=action.refusals):
                action.run(thing, form.cleaned_data, request.user, timezone.now())
                messages.success(request, f"{action.label}: done for {thing}.")
                return self.response_post_save_change(request, thing)
        return self._action_page(request, action, thing, form)

    def _action_page(
        self,
        request: HttpRequest,
        action: AdminAction,
        thing: Model,
        form: forms.Form | None,
        *,
        status: int = 200,
    ) -> HttpResponse:
        title = f"{action.label}: {thing}"
        preview = action.preview(thing) if form else []
        whose = None if isinstance(thing, Sender) else _sender_of(thing)
        context = self.page_context(
            request,
            title=title,
            act=action,
            original=thing,
            form=form,
            preview=preview,
            whose=whose,
        )
        return TemplateResponse(request, "admin/act.html", context, status=status)

    def _url_name(self) -> str:
        return f"{self.opts.app_label}_{self.opts.model_name}_act"
