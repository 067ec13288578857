"""Show a summary of one sender above its columns, and let operators see its pages."""

import datetime as dt
from typing import Any

from django.contrib import messages
from django.db.models import F
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST

from orders.booking import limit_words
from orders.status.status_labels import status_label
from shipping_portal.accounts.adminkit.actions import ReasonForm
from shipping_portal.accounts.adminkit.facts import Context
from shipping_portal.accounts.login import seeing_as
from shipping_portal.accounts.models import Notification, Sender
from shipping_portal.billing.models import Charge, Dispute, WeekSum, week_of
from shipping_portal.http.forms import posted_data
from shipping_portal.staff.admin import noting

LAST_PARCELS, LAST_MAILS, MOST = 20, 10, 50
WEEKS = 5
SEE_AS = {
    "label": "See as this sender",
    "explains": (
        "You can view this sender's pages for 30 minutes, without labels, carrier links, files or"
        " settings. Nothing you press changes anything. The audit log records that you looked, and"
        " why."
    ),
}


def context(sender: Sender, by: Any) -> Context:
    """Return the page's content, in the same number of queries however much the sender ships."""
    now = timezone.now()
    orders = sender.orders.select_related("account").order_by("-pk")[:LAST_PARCELS]
    sees_people = by.has_perm("accounts.view_membership")
    return {
        "title": str(sender),
        "subtitle": None,
        "orders": [{"order": order, "status": status_label(order, now)[1]} for order in orders],
        "lists": _lists(sender),
        "weeks": _weeks(sender, now),
        "credits": (
            Charge.objects.posted()
            .filter(sender=sender, report=None)
            .order_by("-week", "-pk")[:LAST_MAILS]
        ),
        "disputes": (
            Dispute.objects.open()
            .filter(sender=sender)
            .select_related("charge")
            .order_by("made_at")[:MOST]
        ),
        "people": (
            sender.memberships.select_related("user").order_by("pk")[:MOST] if sees_people else None
        ),
        "links_people": by.has_perm("accounts.view_user"),
        "addresses": sender.pickup_addresses.order_by("-is_default", "pk")[:LAST_MAILS],
        "limits": limit_words.usage(sender, now),
        "mails": (
            Notification.objects.filter(sender=sender)
            .select_related("user")
            .order_by("-pk")[:LAST_MAILS]
        ),
        **noting.shown(sender, by),
    }


def _lists(sender: Sender) -> list[tuple[str, str]]:
    """Return the lists of everything that belongs to this sender, each with its address."""
    lists = {
        "All parcels": "orders_order",
        "All charges and credits": "billing_charge",
        "Imports": "importing_import",
        "Disputes": "billing_dispute",
        "Audit": "accounts_audit",
    }
    return [
        (words, f"{reverse(f'admin:{name}_changelist')}?sender={sender.number}")
        for words, name in lists.items()
    ]


def _weeks(sender: Sender, now: dt.datetime) -> list[Any]:
    """Return the totals of the last weeks' statements, by week and currency."""
    since = week_of(now.date()) - dt.timedelta(weeks=WEEKS)
    sums = WeekSum.objects.filter(sender=sender, week__gte=since, kind="")
    return list(sums.order_by("-week", "currency").values("week", "currency", net=F("amount")))


def see_as_page(request: HttpRequest, sender: Sender, context: Context) -> HttpResponse:
    """Ask why; then redirect to the sender's first page."""
    form = None if sender.erased_at else ReasonForm(posted_data(request))
    if form and form.is_valid():
        seeing_as.begin_seeing_as(
            request, sender, reason=form.cleaned_data["reason"], now=timezone.now()
        )
        return redirect("today")
    shown = {
        **context,
        "title": f"See as {sender}",
        "act": SEE_AS,
        "original": sender,
        "form": form,
    }
    return TemplateResponse(request, "admin/act.html", shown, status=200 if form else 409)


@require_POST
def stop_seeing(request: HttpRequest, context: Context) -> HttpResponse:
    """Stop seeing the sender's pages, and return to its admin page."""
    sender = seeing_as.stop_seeing_as(request, now=timezone.now())
    if sender is None:
        return redirect("admin:accounts_sender_changelist")
    messages.success(request, f"You no longer see as {sender}.")
    return redirect("admin:accounts_sender_change", sender.pk)
