"""Show senders' disputes next to their lines: open ones first, the longest waiting at the top."""

import datetime as dt
from decimal import Decimal
from typing import Any

from django import forms
from django.contrib import admin
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from orders.masking import SafeText
from shipping_portal.accounts.adminkit.actions import ActionsAdmin, AdminAction
from shipping_portal.accounts.adminkit.facts import AdminPage, Context, column, link_to
from shipping_portal.accounts.adminkit.filters import SenderFilter
from shipping_portal.accounts.models import Audit, Sender, User
from shipping_portal.billing import queues
from shipping_portal.billing.disputes import disputing, photos
from shipping_portal.billing.models import Charge, Dispute
from shipping_portal.refused import Refused

ACCEPT = "accept"
FACTS = {
    "quoted": ("Quoted", ""),
    "charged": ("Charged", ""),
    "declared_kg": ("Declared weight", " kg"),
    "measured_kg": ("Measured weight", " kg"),
    "declared_m3": ("Declared volume", " m³"),
    "measured_m3": ("Measured volume", " m³"),
    "service": ("Service", ""),
}


class AnswerForm(forms.Form):
    """Asks for the answer that the sender reads, which is also the reason in the audit log."""

    verdict = forms.ChoiceField(
        label="Decision",
        choices=[(ACCEPT, "Accept the dispute"), ("decline", "Decline the dispute")],
        widget=forms.RadioSelect,
    )
    credit = forms.DecimalField(
        label="Credit, if accepted",
        required=False,
        min_value=Decimal("0.01"),
        max_digits=16,
        decimal_places=2,
        help_text="In the charge's currency, on this week's statement. Leave empty for no credit.",
    )
    text = SafeText(label="Answer to the sender", min_length=10, max_length=400)


def _is_reversed(charge: Charge) -> bool:
    return hasattr(charge, "reversed_by")


@transaction.atomic
def _answer(
    dispute: Dispute, *, verdict: str, credit: Decimal | None, text: str, by: User, now: dt.datetime
) -> None:
    """Answer a dispute. The sender's text is the reason in the audit log as well."""
    accepted = verdict == ACCEPT
    credit = credit if accepted else None
    Sender.locked(dispute.sender_id)  # like a reversal
    if credit and _is_reversed(dispute.charge):
        raise Refused("The charge has been reversed, which gave it back. Leave the credit empty.")
    if credit and credit > abs(dispute.charge.amount):
        raise Refused(
            f"The charge is {dispute.charge}. To credit more than that, add a credit on the"
            " sender's page."
        )
    disputing.answer_dispute(dispute, accepted=accepted, text=text, by=by, now=now, credit=credit)
    given = f", credit {credit} {dispute.charge.currency}" if credit else ""
    words = f"{dispute.get_state_display().lower()}{given}: {text}"
    Audit.write("dispute answered", dispute, by=by, sender=dispute.sender, reason=words, at=now)


def _prefilled(dispute: Dispute) -> dict[str, Any]:
    """Return the whole amount of a line that costs something."""
    charge = dispute.charge
    return {"credit": charge.amount} if charge.amount > 0 and not _is_reversed(charge) else {}


def photo(request: HttpRequest, dispute: Dispute, context: Context) -> HttpResponse:
    """Return a dispute's photo to the operators who answer it."""
    if dispute.photo is None:
        raise Http404
    Audit.write(
        "photo of a dispute downloaded",
        dispute,
        by=request.user,
        sender=dispute.sender,
        at=timezone.now(),
    )
    return photos.photo_download(dispute.photo)


@admin.register(Dispute)
class DisputeAdmin(ActionsAdmin):
    """Senders' disputes, and operators' answers."""

    admin_actions = (
        AdminAction(
            "answer",
            "Answer",
            "The sender sees your answer next to the charge. The charge stays; a credit is added as"
            " a separate line.",
            _answer,
            needs="billing",
            applies=lambda dispute: dispute.state == Dispute.State.OPEN,
            form=AnswerForm,
            initial=_prefilled,
        ),
    )
    admin_pages = (AdminPage("photo", photo, needs="billing"),)
    list_display = ["made_at", "state", "sender", "line", "says"]
    waits = ("state__exact", queues.DISPUTES)
    list_filter = ["state", SenderFilter]
    search_fields = ["sender__name"]
    ordering = ["-state", "made_at", "pk"]  # “open” is last in the alphabet
    fieldsets = [
        (None, {"fields": ["state", "line", "parcel", "sender", ("made_at", "made_by")]}),
        ("Sender's message", {"fields": ["text", "sent_along"]}),
        ("Figures at the time", {"fields": ["compared"]}),
        ("Answer", {"fields": ["answer", ("answered_at", "answered_by"), "given"]}),
    ]
    readonly_fields = ["sent_along", "line", "parcel", "compared", "given"]

    related = ("charge__order", "sender", "made_by", "answered_by", "credit")
    line = column("line", lambda dispute: link_to(dispute.charge))
    parcel = column("parcel", lambda dispute: link_to(dispute.charge.order))
    given = column("credit", lambda dispute: link_to(dispute.credit))

    @admin.display(description="photo")
    def sent_along(self, dispute: Dispute) -> SafeString | str:
        """Link to the photo, as a download."""
        if dispute.photo_id is None:
            return "–"
        return format_html(
            '<a href="{}">Download</a>', reverse("admin:billing_dispute_photo", args=[dispute.pk])
        )

    @admin.display(description="sender's message")
    def says(self, dispute: Dispute) -> str:
        """Show the beginning of what the sender wrote."""
        return dispute.text if len(dispute.text) <= 80 else f"{dispute.text[:80]}…"

    @admin.display(description="declared, measured, quoted")
    def compared(self, dispute: Dispute) -> str:
        """Show what was declared and measured when the sender wrote."""
        facts = dispute.facts
        money = {"quoted": facts.get("quoted_currency", ""), "charged": facts.get("currency", "")}
        lines = (
            f"{title} {facts[name]}{f' {money[name]}' if name in money else unit}"
            for name, (title, unit) in FACTS.items()
            if facts.get(name)
        )
        return ". ".join(lines) or "–"
