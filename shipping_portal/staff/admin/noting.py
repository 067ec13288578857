"""Save a note about a sender or one of its orders."""

from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils import timezone

from orders.masking import SafeText
from orders.models import Order
from shipping_portal.accounts.adminkit import permissions
from shipping_portal.accounts.adminkit.facts import Context
from shipping_portal.accounts.models import Sender
from shipping_portal.http.forms import posted_data
from shipping_portal.staff import casework

PAGE = {"label": "Add note", "explains": "Visible to operators only, never to senders."}


class NoteForm(forms.Form):
    """A note for the other operators."""

    text = SafeText(label="Note", max_length=2000)


def page(request: HttpRequest, about: Order | Sender, context: Context) -> HttpResponse:
    """Save a note and return to its subject; on an error, keep what was typed."""
    form = NoteForm(posted_data(request))
    if not form.is_valid():
        shown = {
            **context,
            "title": f"Add a note: {about}",
            "act": PAGE,
            "original": about,
            "form": form,
        }
        return TemplateResponse(request, "admin/act.html", shown)
    by: Any = request.user
    order, sender = (about, about.sender) if isinstance(about, Order) else (None, about)
    casework.add_note(sender, form.cleaned_data["text"], by=by, now=timezone.now(), order=order)
    messages.success(request, "Note added.")
    return redirect(f"admin:{about._meta.app_label}_{about._meta.model_name}_change", about.pk)


def shown(about: Order | Sender, by: Any) -> Context:
    """Return what `admin/_notes.html` needs on the page of an order or a sender."""
    may_work = permissions.may(by, "cases")
    return {"notes": casework.notes_about(about), "may_work": may_work, "note_form": NoteForm()}
