"""The page that reads stored webhooks again: choose, see what would change, give a reason, press once."""

import datetime as dt
from typing import Any

from django import forms
from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils import timezone

from shipping_portal.accounts.adminkit.actions import ReasonForm
from tracking import queues, replaying
from tracking.models import WebhookDelivery

UNREAD, ANY = "unread", "any"
MINUTES = forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M")


class ChoiceForm(forms.Form):
    """Deliveries by state and by when they came."""

    state = forms.ChoiceField(
        choices=[(UNREAD, "Gave no scan"), *WebhookDelivery.State.choices, (ANY, "All of them")]
    )
    since = forms.DateTimeField(label="Received from (UTC)", required=False, widget=MINUTES)
    until = forms.DateTimeField(label="Received before (UTC)", required=False, widget=MINUTES)

    def deliveries(self, now: dt.datetime) -> QuerySet[WebhookDelivery]:
        """Oldest first. Call after is_valid."""
        state, since, until = (self.cleaned_data[name] for name in ("state", "since", "until"))
        rows = WebhookDelivery.objects.order_by("pk")
        if state == UNREAD:
            rows = rows.filter(queues.unread(now))
        elif state != ANY:
            rows = rows.filter(state=state)
        if since:
            rows = rows.filter(received_at__gte=since)
        return rows.filter(received_at__lt=until) if until else rows


class ReplayForm(ReasonForm):
    """The deliveries as they were previewed, and why they are read again."""

    chosen = forms.RegexField(
        r"^\d{1,18}(,\d{1,18})*$", widget=forms.HiddenInput, max_length=20 * replaying.MOST
    )

    def clean_chosen(self) -> list[int]:
        return [int(pk) for pk in self.cleaned_data["chosen"].split(",")][: replaying.MOST]


def page(request: HttpRequest, context: dict[str, Any]) -> HttpResponse:
    """GET previews what was chosen by state and time, or by `ids`; POST reads exactly the previewed ones again."""
    if request.method == "POST":
        form = ReplayForm(request.POST)
        if form.is_valid():
            return _replay(request, form)
        ids = form.cleaned_data.get("chosen", [])
        return shown(request, context, ids, form=form)
    if "ids" in request.GET:
        ids = [int(pk) for pk in request.GET["ids"].split(",") if pk.isdecimal()]
        return shown(request, context, ids)
    choice = ChoiceForm(request.GET or None)
    if not choice.is_valid():
        return shown(request, context | {"choice": choice}, [])
    rows = choice.deliveries(timezone.now())
    ids = list(rows.values_list("pk", flat=True)[: replaying.MOST])
    return shown(request, context | {"choice": choice, "matching": rows.count()}, ids)


def shown(
    request: HttpRequest, context: dict[str, Any], ids: list[int], *, form: ReplayForm | None = None
) -> HttpResponse:
    """The page with what reading `ids` again would change."""
    found = replaying.preview(ids) if ids else None
    chosen = ",".join(str(reading.delivery.pk) for reading in found.readings) if found else ""
    more = {
        "title": "Read webhooks again",
        "preview": found,
        "most": replaying.MOST,
        "form": form or ReplayForm(initial={"chosen": chosen}),
    }
    return TemplateResponse(request, "admin/replay.html", context | more)


def _replay(request: HttpRequest, form: ReplayForm) -> HttpResponse:
    chosen, reason = form.cleaned_data["chosen"], form.cleaned_data["reason"]
    if not WebhookDelivery.objects.filter(pk__in=chosen).exists():
        messages.warning(request, "None of these webhooks is stored any more. Nothing was read.")
        return redirect("admin:tracking_webhookdelivery_changelist")
    done = replaying.replay(chosen, by=request.user, reason=reason, now=timezone.now())
    text = f"{_webhooks(done.read)} read again: {done.changed} changed, {done.read - done.changed} did not."
    messages.success(request, text)
    if done.failed:
        text = f"{_webhooks(done.failed)} could not be read for a fault of ours; the log says which. Nothing is lost."
        messages.error(request, text)
    if done.left:
        messages.warning(request, f"{_webhooks(done.left)} are left for want of time. Choose them again.")
    return redirect("admin:tracking_webhookdelivery_changelist")


def _webhooks(count: int) -> str:
    return f"{count} webhook{'' if count == 1 else 's'}"
