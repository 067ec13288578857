"""Manage business accounts: who they are, what they may do, and stopping their bookings."""

import uuid
from decimal import Decimal
from functools import partial
from typing import Any

from django import forms
from django.contrib import admin
from django.db import IntegrityError
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from orders.masking import SafeText
from shipping_portal.accounts.address.addresses import LineField
from shipping_portal.accounts.adminkit import permissions
from shipping_portal.accounts.adminkit.actions import ActionsAdmin, AdminAction, ReasonForm
from shipping_portal.accounts.adminkit.facts import AdminPage, Context, ReadOnlyInline
from shipping_portal.accounts.adminkit.filters import choices
from shipping_portal.accounts.login import signing_up
from shipping_portal.accounts.models import Membership, PickupAddress, Sender
from shipping_portal.accounts.models.senders import CURRENCIES
from shipping_portal.accounts.teams import closing
from shipping_portal.billing.admin.charges import ToSenderForm
from shipping_portal.billing.charges import correcting
from shipping_portal.refused import Refused
from shipping_portal.staff import finding, queues
from shipping_portal.staff.admin import noting, sender_page

LIMITS = ("bookings_a_day", "money_a_day", "unbilled_limit", "quotes_a_minute", "pickup_days_ahead")


class SuspendForm(forms.Form):
    """The kind of reason why an account's bookings are stopped."""

    category = forms.ChoiceField(
        choices=[one for one in Sender.Suspension.choices if one[0] != Sender.Suspension.CLOSED]
    )
    text = SafeText(label="Message to the sender", min_length=10, max_length=1000)
    note = SafeText(
        label="Internal note",
        required=False,
        max_length=2000,
        help_text="Never shown to the sender.",
    )
    stop_dispatch = forms.BooleanField(
        label="Stop dispatch",
        required=False,
        help_text=(
            "Labels of parcels not yet picked up can no longer be opened. Cancel any that are"
            " already printed."
        ),
    )


class CreditForm(ToSenderForm):
    """A credit to an account, and its reason."""

    amount = forms.DecimalField(min_value=Decimal("0.01"), max_digits=16, decimal_places=2)
    currency = forms.ChoiceField(choices=[(code, code) for code in CURRENCIES.values()])
    token = forms.UUIDField(required=False, initial=uuid.uuid4, widget=forms.HiddenInput)
    field_order = ["amount", "currency", "reason"]


class LimitsForm(ReasonForm):
    """An account's limits for bookings a day and prices a minute."""

    bookings_a_day = forms.IntegerField(min_value=0, max_value=100_000)
    money_a_day = forms.DecimalField(
        required=False,
        min_value=0,
        max_digits=16,
        decimal_places=2,
        help_text=(
            "In the sender's currency. Amounts in another currency count as they are. Leave empty"
            " for no limit."
        ),
    )
    unbilled_limit = forms.DecimalField(
        label="Booked, not yet billed",
        required=False,
        min_value=0,
        max_digits=16,
        decimal_places=2,
        help_text="An order counts until its bill is posted. Leave empty for no limit.",
    )
    quotes_a_minute = forms.IntegerField(min_value=1, max_value=1_000)
    pickup_days_ahead = forms.IntegerField(
        label="Pickup days offered",
        min_value=1,
        max_value=10,
        help_text="Business days: three unless agreed otherwise.",
    )
    field_order = [*LIMITS, "reason"]


def _waits(sender: Sender) -> bool:
    return sender.approved_at is None and not sender.is_suspended


def _is_kept(sender: Sender) -> bool:
    return sender.erased_at is None


def _limit(sender: Sender, **written: Any) -> str:
    chosen = {name: written[name] for name in LIMITS}
    Sender.objects.filter(pk=sender.pk).update(**chosen)
    return ", ".join(
        f"{name.replace('_', ' ')} {_format_limit(value)}" for name, value in chosen.items()
    )


def _set_external_id(sender: Sender, *, external_id: str, **written: Any) -> str:
    """Set the issuer's name for this business. If empty, nobody joins by single sign-on."""
    others = Sender.objects.exclude(pk=sender.pk)
    if external_id and others.filter(external_id=external_id).exists():
        raise Refused("Another account has this external id.")
    Sender.objects.filter(pk=sender.pk).update(external_id=external_id)
    return f"external id {external_id or 'none'}"


def _credit(sender: Sender, *, amount: Decimal, currency: str, **written: Any) -> str:
    """Give a credit as an operator's own line, with a reason that the sender reads."""
    try:
        correcting.credit_sender(sender, amount, currency, **written)
    except IntegrityError:  # the button was pressed twice
        raise Refused("This credit has been given already.") from None
    return f"{amount} {currency}"


def _format_limit(limit: Any) -> str:
    return "none" if limit is None else str(limit)


class ExternalIdForm(ReasonForm):
    """The name of a business in the issuer's claim."""

    external_id = LineField(required=False, max_length=120)
    field_order = ["external_id", "reason"]


class MembershipInline(ReadOnlyInline):
    """Show the people of the account."""

    model = Membership
    fields = ["user", "role", "created_at"]
    show_change_link = False
    related = ("user",)


class PickupAddressInline(ReadOnlyInline):
    """Show the addresses where the account's parcels start."""

    model = PickupAddress
    fields = [
        "name",
        "company",
        "email",
        "phone",
        "line1",
        "line2",
        "suburb",
        "state",
        "postcode",
        "is_default",
    ]
    show_change_link = False


act = partial(AdminAction, needs="suspend")


@admin.register(Sender)
class SenderAdmin(ActionsAdmin):
    """Show business accounts, and approve, limit, credit, stop or restart them."""

    admin_actions = (
        act(
            "approve",
            "Approve",
            "Lets this account book right away, without its first limit, and emails its people.",
            signing_up.approve_account,
            applies=_waits,
        ),
        act(
            "decline",
            "Decline",
            "Suspends the new account, so it can't book. Its people see your message when they log"
            " in. If you reinstate it, it waits for approval again.",
            Sender.suspend,
            applies=_waits,
            form=SuspendForm,
            initial=lambda sender: {"category": Sender.Suspension.TERMS},
        ),
        act(
            "suspend",
            "Suspend",
            "Stops all new bookings for this sender. Unclear ones are looked for, but not sent"
            " again. Tracking, billing and cancelling unsent parcels keep working, and so do labels"
            " unless you stop dispatch.",
            Sender.suspend,
            applies=lambda sender: not sender.is_suspended and not _waits(sender),
            form=SuspendForm,
        ),
        act(
            "reinstate",
            "Reinstate",
            "Turns bookings on again right away. Orders that need the sender's approval keep"
            " waiting for it.",
            Sender.reinstate,
            applies=lambda sender: sender.is_suspended and _is_kept(sender),
        ),
        AdminAction(
            "close",
            "Close",
            "At the owner's request. Stops all bookings. After CLOSED_ACCOUNT_DAYS, its receivers,"
            " files and people are erased; bills, amounts, references and dates stay. Until then,"
            " Reinstate undoes this.",
            closing.close_account,
            needs="erase",
            applies=lambda sender: sender.closed_at is None,
        ),
        AdminAction(
            "limits",
            "Set limits",
            "Sets how much this sender can book in a day and owe before billing, how often it can"
            " ask for prices, and how many pickup days it is offered. The owner's own limits stay;"
            " the lower limit applies.",
            _limit,
            needs="limits",
            audit="limits set",
            applies=_is_kept,
            form=LimitsForm,
            initial=lambda sender: {name: getattr(sender, name) for name in LIMITS},
        ),
        AdminAction(
            "external-id",
            "Set external id",
            "Whoever signs on with this value in SSO_BUSINESS_CLAIM joins this account, and its"
            " people need it from their next login on.",
            _set_external_id,
            needs="limits",
            audit="external id set",
            applies=_is_kept,
            form=ExternalIdForm,
            initial=lambda sender: {"external_id": sender.external_id},
        ),
        AdminAction(
            "credit",
            "Add credit",
            "Takes the amount off this week's statement right away. To undo it, reverse its line.",
            _credit,
            needs="billing",
            audit="credit given",
            applies=_is_kept,
            form=CreditForm,
            initial=lambda sender: {"currency": sender.currency or "AUD"},
        ),
    )
    admin_pages = (
        AdminPage("note", noting.page, needs="cases"),
        AdminPage(
            "see_as",
            sender_page.see_as_page,
            needs="see_as",
            label="See as this sender",
            applies=_is_kept,
        ),
        AdminPage("stop_seeing", sender_page.stop_seeing, is_of_list=True),
    )
    list_display = [
        "number",
        "name",
        "country",
        "zone",
        "approved_at",
        "suspended_at",
        "suspension",
        "created_at",
    ]
    list_display_links = ["number", "name"]
    waits = ("bookings", queues.SENDERS)
    list_filter = [
        choices(
            "bookings",
            "bookings",
            {
                "on": ("On", Q(suspended_at=None, approved_at__isnull=False)),
                "waiting": ("Waiting for approval", queues.SENDERS["waiting"].rule),
                "off": ("Suspended", Q(suspended_at__isnull=False)),
            },
        ),
        "country",
    ]
    search_fields = ["name"]
    search_help_text = (
        "Name, A-number, member's email or name, or a pickup address's phone, contact or suburb"
    )
    exclude = [
        "counted_on",
        "booked_today",
        "spent_today",
        "unbilled",
        "minute_began_at",
        "quotes_this_minute",
        "booked_in_all",
        "spent_in_all",
    ]
    change_form_template = "admin/sender.html"
    inlines = [MembershipInline, PickupAddressInline]

    def get_list_display(self, request: HttpRequest) -> list[Any]:
        """Show the most used action beside each sender, for users who may."""
        return [
            *super().get_list_display(request),
            *(["act"] if permissions.may(request.user, "suspend") else []),
        ]

    def thing_context(self, request: HttpRequest, thing: Sender) -> Context:
        """Show a readable summary of the sender above its columns."""
        return super().thing_context(request, thing) | sender_page.context(thing, request.user)

    @admin.display(description="parcels")
    def parcels(self, sender: Sender) -> SafeString:
        """Link to the account's parcels, newest first."""
        url = reverse("admin:orders_order_changelist")
        return format_html(
            '<a href="{}?sender={}">Every parcel of this sender</a>', url, sender.number
        )

    @admin.display(description="act")
    def act(self, sender: Sender) -> SafeString | str:
        """Link to the page that stops the account, or starts it again."""
        if not _is_kept(sender):
            return "–"
        name, label = ("reinstate", "Reinstate") if sender.is_suspended else ("suspend", "Suspend")
        name, label = ("approve", "Approve") if _waits(sender) else (name, label)
        url = reverse("admin:accounts_sender_act", args=[sender.pk, name])
        return format_html('<a href="{}">{}</a>', url, label)

    def search_rows(
        self, request: HttpRequest, rows: QuerySet[Sender], typed: str
    ) -> QuerySet[Sender]:
        finding.record_search(request.user, typed)
        return rows.filter(finding.senders_by(typed))
