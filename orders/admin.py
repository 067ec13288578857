"""Show booking attempts, carrier calls, label files and the daily limit to operators.

The pages of an order and of a carrier account combine all apps, so they are in staff/admin/.
"""

import datetime as dt

from django.conf import settings
from django.contrib import admin
from django.db.models import Q
from django.utils.safestring import SafeString

from orders import queues
from orders.calling.contract import contract_of
from orders.labels import fetching
from orders.masking import masked_body
from orders.models import BookingAttempt, CarrierCall, DailySpend, Label
from shipping_portal.accounts.adminkit.actions import ActionsAdmin, AdminAction
from shipping_portal.accounts.adminkit.facts import ReadOnlyAdmin, column, details, link_to
from shipping_portal.accounts.adminkit.filters import choices
from shipping_portal.accounts.adminkit.queues import needs
from shipping_portal.accounts.models import User
from shipping_portal.db.bucket import OutOfReach
from shipping_portal.jobs.registry import enqueue
from shipping_portal.refused import Refused

SLOW_MILLISECONDS = 2000
OPERATIONS = (
    "quote",
    "quote_contents",
    "prepare",
    "book",
    "find",
    "view",
    "cancel",
    "label",
    "track",
    "subscribe",
    "ping",
)
KEPT = (Label.State.STORED, Label.State.WITHHELD)


@admin.register(BookingAttempt)
class BookingAttemptAdmin(ReadOnlyAdmin):
    """Show attempts to book: what was sent, masked, and what came back."""

    list_display = ["id", "order", "state", "sent_at", "done_at", "http_status", "error"]
    list_filter = ["state"]
    search_fields = ["order__carrier_reference", "=key", "=seen_reference"]
    fields = [
        "order",
        "generation",
        "key",
        "state",
        "sent_at",
        "lease_until",
        "done_at",
        "replays",
        "http_status",
        "error",
        "seen_reference",
        "body_sha256",
        "request",
        "answer",
    ]
    readonly_fields = ["key", "request", "answer"]
    related = ("order__account",)
    deferred = ("body", "response")

    @admin.display(description="request, masked")
    def request(self, attempt: BookingAttempt) -> SafeString | str:
        """Show the request body, with people and addresses masked."""
        return details(masked_body(attempt.body, contract_of(attempt.order.account)), "Request")

    @admin.display(description="answer, masked")
    def answer(self, attempt: BookingAttempt) -> SafeString | str:
        """Show the carrier's reply, with people and addresses masked."""
        response = bytes(attempt.response)
        return details(
            masked_body(response, contract_of(attempt.order.account)) if response else "", "Answer"
        )


@admin.register(CarrierCall)
class CarrierCallAdmin(ReadOnlyAdmin):
    """Show the log of calls to the carrier, stored for CALL_LOG_DAYS without bodies or queries."""

    waits = ("needs", queues.CALLS)
    linked = ("order__id__exact",)
    list_display = [
        "at",
        "operation",
        "method",
        "path",
        "status",
        "outcome",
        "unreadable",
        "milliseconds",
        "about",
    ]
    list_filter = [
        # Offer the names we know: listing those in use would mean reading the whole log.
        choices(
            "operation",
            "operation",
            {name: (name.replace("_", " ").capitalize(), Q(operation=name)) for name in OPERATIONS},
        ),
        choices(
            "answer",
            "answer",
            {
                f"{n}": (f"{n}00 to {n}99", Q(status__range=(n * 100, n * 100 + 99)))
                for n in range(2, 6)
            }
            | {"none": ("No answer", Q(status=None))},
        ),
        choices(
            "time", "time", {"slow": ("Over 2 seconds", Q(milliseconds__gt=SLOW_MILLISECONDS))}
        ),
        choices(
            "reading", "needs", {"reading": ("Partly read, last 24 hours", queues.not_read_in_full)}
        ),
        ("order", admin.EmptyFieldListFilter),
    ]
    list_select_related = ["order"]
    search_fields = ["=operation", "=outcome", "=order__carrier_reference"]
    search_help_text = "Operation, outcome or the order's reference"
    about = column("order", lambda call: link_to(call.order))


def _fetch_again(label: Label, *, reason: str, by: User, now: dt.datetime) -> str | None:
    if fetching.restore_file(label):
        return "its file is intact again"
    due = Label.objects.filter(pk=label.pk, purged_at=None).exclude(state__in=KEPT)
    afresh = {"state": Label.State.PENDING, "is_spare": False, **Label.AFRESH}
    if not due.update(due_at=now, **afresh):
        raise Refused(
            "This label is already stored, or its receiver was erased. A stored file is never"
            " replaced."
        )
    enqueue("label", label.pk)
    return None


@admin.register(Label)
class LabelAdmin(ActionsAdmin):
    """Show label files: checksum, size and state. Their bytes are never read here."""

    admin_actions = (
        AdminAction(
            "fetch-again",
            "Fetch again",
            "Asks the carrier for the file now. A stored file is never replaced, unless it is"
            " damaged.",
            _fetch_again,
            needs="retry",
            audit="label fetched again",
            applies=lambda label: label.state not in KEPT,
            refusals=(Refused, OutOfReach),
        ),
    )
    exclude = ["address"]
    waits = ("needs", queues.LABELS)
    list_display = [
        "order",
        "size",
        "state",
        "tries",
        "problem",
        "due_at",
        "stored_at",
        "purged_at",
    ]
    list_filter = [
        choices("queue", "needs", {"fetching": ("Not fetched", queues.label_missing)}),
        "state",
        "size",
    ]
    list_select_related = ["order"]
    search_fields = ["=order__carrier_reference", "=sha256"]


@admin.register(DailySpend)
class DailySpendAdmin(ReadOnlyAdmin):
    """Show what all senders spent together each day, and when the limit refused a booking."""

    list_display = ["day", "spent", "limit", "refused_at", "mended", "mended_at"]
    waits = ("needs", queues.SPENDING)
    list_filter = [needs(queues.SPENDING)]
    readonly_fields = ["limit"]
    ordering = ["-day"]
    # The limit that applies today, which may differ from the limit on that day.
    limit = column("DAILY_MONEY_LIMIT now", lambda day: f"{settings.DAILY_MONEY_LIMIT:,.2f}")
