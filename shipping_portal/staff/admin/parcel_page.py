"""Show a readable summary of one parcel above its columns, with small forms."""

import datetime as dt
from dataclasses import replace
from typing import Any

from django import forms
from django.contrib import messages
from django.db.models import BooleanField, ExpressionWrapper
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils import timezone
from django.views.decorators.http import require_POST

from orders.masking import SafeText, without_emails
from orders.models import Order
from orders.quoting.offers import money_lines
from shipping_portal.accounts.address import countries
from shipping_portal.accounts.adminkit.facts import Context
from shipping_portal.accounts.adminkit.filters import now_of
from shipping_portal.accounts.adminkit.queues import Queue, queue
from shipping_portal.accounts.models import User
from shipping_portal.billing import queues as billing_queues
from shipping_portal.http.forms import posted_data
from shipping_portal.staff import casework, queues
from shipping_portal.staff.admin import noting
from shipping_portal.staff.models import SenderMail
from shipping_portal.staff.resolution import case
from tracking import timeline

MOST = 50  # rows of each kind
# Rules that read a list. The parcel's page has the first two itself.
ELSEWHERE = {"missed-twice", "second-order", "left-behind"}


class AssignForm(forms.Form):
    """The case's owner."""

    operator = forms.ModelChoiceField(
        User.objects.none(), required=False, empty_label="No one", label="Assigned to"
    )

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.fields["operator"].queryset = casework.case_operators()  # type: ignore[attr-defined]


class MailForm(forms.Form):
    """One email to one person in the sender's account."""

    to = forms.ModelChoiceField(User.objects.none(), empty_label=None)
    about = forms.ChoiceField(choices=SenderMail.About.choices, widget=forms.HiddenInput)
    text = SafeText(label="Text", max_length=4000)

    def __init__(self, *arguments: Any, order: Order, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.fields["to"].queryset = casework.mail_recipients(order)  # type: ignore[attr-defined]
        self.fields[
            "to"
        ].help_text = "An owner or a shipper. Never the receiver: the carrier emails receivers."
        self.fields[
            "text"
        ].help_text = "We add a link to the parcel. Replies go to the contact address."
        self.fields["text"].widget.attrs["rows"] = 12


def context(order: Order, by: Any) -> Context:
    """Return the page's content, in the same number of queries however long the history is."""
    now = timezone.now()
    charges = order.charges.order_by("week", "pk")
    assigned = getattr(order, "assignment", None)
    return {
        "title": f"Parcel {order}" if order.carrier_reference else str(order).capitalize(),
        "subtitle": None,
        "reads": case.sender_reading(order, now),
        "waits": _waits(order, now),
        "receiver_country": countries.country_name(order.receiver_country),
        "lines": money_lines(order.breakdown),
        "scans": [
            replace(
                scan, words=without_emails(scan.words), description=without_emails(scan.description)
            )
            for scan in timeline.for_parcel(getattr(order, "parcel", None), order.sender.tzinfo)
        ],
        "labels": order.labels.order_by("pk"),
        "charges": charges[:MOST],
        "net": charges.posted().net(),
        "changes": order.changes.select_related("by").order_by("-pk")[:MOST],
        "attempts": _if_seen(
            by, "bookingattempt", order.attempts.defer("body", "response").order_by("-pk")
        ),
        "calls": _if_seen(by, "carriercall", order.calls.order_by("-pk")[:10]),
        "cancels": order.cancels.select_related("by").defer("response").order_by("-pk")[:MOST],
        "mails": order.operator_mails.select_related("by", "to").order_by("-pk")[:MOST],
        "assigned": assigned,
        "assign_form": AssignForm(initial={"operator": assigned and assigned.operator_id}),
        **noting.shown(order, by),
    }


def _if_seen(by: Any, model: str, rows: Any) -> Any:
    return rows if by.has_perm(f"orders.view_{model}") else None


def _waits(order: Order, now: dt.datetime) -> list[Queue]:
    """Return the queues that the order is in, each with its next step, in one query."""
    waits = {**queues.ORDERS, **billing_queues.OF_ONE}
    rules = {
        name: ExpressionWrapper(now_of(wait.rule, now), BooleanField())
        for name, wait in waits.items()
        if wait.next_step and name not in ELSEWHERE
    }
    rows = Order.objects.filter(pk=order.pk)
    names = [
        name
        for found in rows.values_list(*rules.values())
        for name, is_in in zip(rules, found, strict=True)
        if is_in
    ]
    if order.missed_twice(now):
        names.append("missed-twice")
    return [queue(rows, name, waits[name], 1, None, now, f"?needs={name}") for name in names]


@require_POST
def give_case(request: HttpRequest, order: Order, context: Context) -> HttpResponseRedirect:
    """Set the case's owner from the form; "mine" means the operator."""
    by = _operator(request)
    form = AssignForm({"operator": by.pk} if "mine" in request.POST else request.POST)
    if form.is_valid():
        to = form.cleaned_data["operator"]
        casework.give_case(order, to, by=by, now=timezone.now())
        messages.success(request, f"{order} is assigned to {to or 'no one'}.")
    else:
        messages.error(request, "That person is no longer an operator. Nothing was changed.")
    return redirect("admin:orders_order_change", order.pk)


def mail_page(request: HttpRequest, order: Order, context: Context) -> HttpResponse:
    """Show a prepared text to edit, and queue the email."""
    about = request.GET.get("about", "")
    about = about if about in SenderMail.About.values else SenderMail.About.OTHER
    start = {
        "about": about,
        "text": casework.prepare_text(order, about),
        "to": _first_choice(order),
    }
    form = MailForm(posted_data(request), order=order, initial=start)
    if form.is_valid():
        mail = casework.queue_mail(
            order, **form.cleaned_data, by=_operator(request), now=timezone.now()
        )
        messages.success(request, f"Email to {mail.to} queued.")
        return redirect("admin:orders_order_change", order.pk)
    shown = {
        **context,
        "title": f"Email the sender of {order}",
        "order": order,
        "form": form,
        "about": about,
    }
    return TemplateResponse(request, "admin/mail.html", shown | {"texts": SenderMail.About.choices})


def _first_choice(order: Order) -> int | None:
    """Return who made the parcel, if they may be emailed, otherwise the account's first member."""
    keys = list(casework.mail_recipients(order).values_list("pk", flat=True))
    return order.made_by_id if order.made_by_id in keys else next(iter(keys), None)


def _operator(request: HttpRequest) -> User:
    by: Any = request.user
    return by
