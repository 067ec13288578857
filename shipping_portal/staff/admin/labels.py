"""Label files: checksum, size and state. Their bytes are never read here."""

import datetime as dt
from typing import Any

from django.contrib import admin
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest

from orders.models import Label
from shipping_portal.accounts.models import Audit, User
from shipping_portal.jobs.registry import enqueue
from shipping_portal.staff import queues
from shipping_portal.staff.admin.acts import Act, ActsAdmin, Refused

KEPT = (Label.State.STORED, Label.State.WITHHELD)


def _fetch_again(label: Label, cleaned: dict[str, Any], by: User, now: dt.datetime) -> None:
    owed = Label.objects.filter(pk=label.pk).exclude(state__in=KEPT)
    sender, reason = label.order.sender, cleaned["reason"]
    with transaction.atomic():
        if not owed.update(due_at=now, state=Label.State.PENDING, **Label.AFRESH):
            raise Refused("This label is stored already; a stored file is never replaced.")
        Audit.write("label fetched again", label, by=by, sender=sender, reason=reason, at=now)
        enqueue("label", label.pk)


FETCH_AGAIN = Act(
    name="fetch-again",
    label="Fetch again",
    explains="The file is asked of the carrier now. A file that is already stored is never replaced.",
    do=_fetch_again,
    needs="retry",
    applies=lambda label: label.state not in KEPT,
)


class NeedsFilter(admin.SimpleListFilter):
    title = "needs"
    parameter_name = "needs"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("fetching", "Not fetched")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Label]) -> QuerySet[Label]:
        return queryset.filter(queues.label_missing()) if self.value() == "fetching" else queryset


@admin.register(Label)
class LabelAdmin(ActsAdmin):
    acts = (FETCH_AGAIN,)
    exclude = ["address"]
    list_display = ["order", "size", "state", "tries", "problem", "due_at", "stored_at", "purged_at"]
    list_filter = [NeedsFilter, "state", "size"]
    list_select_related = ["order"]
    search_fields = ["=order__carrier_reference", "=sha256"]
