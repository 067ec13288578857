"""Work that failed again and again: what it was about, the last error, and letting it try again."""

import datetime as dt
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from orders.models import StuckWork
from shipping_portal.accounts.models import User
from shipping_portal.desk import parking, queues, sweep
from shipping_portal.desk.admin.acts import Act, ActsAdmin

MODELS = {journey.name: journey.due(timezone.now()).model for journey in sweep.JOURNEYS}


def _try_again(note: StuckWork, cleaned: dict[str, Any], by: User, now: dt.datetime) -> None:
    parking.try_again(note, reason=cleaned["reason"], by=by, now=now)


class ParkedFilter(admin.SimpleListFilter):
    """The same rule as the queue on the first page."""

    title = "state"
    parameter_name = "parked"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("yes", "Parked"), ("no", "Still tried")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[StuckWork]) -> QuerySet[StuckWork]:
        match self.value():
            case "yes":
                return queryset.filter(queues.PARKED)
            case "no":
                return queryset.exclude(queues.PARKED)
        return queryset


@admin.register(StuckWork)
class StuckWorkAdmin(ActsAdmin):
    acts = (
        Act(
            "try-again",
            "Try again",
            "It is due again at the next sweep, and has five tries as at first. What was already sent to the carrier "
            "is never sent again.",
            _try_again,
            needs="retry",
            applies=lambda note: note.parked_at is not None,
            refusals=(parking.Gone,),
        ),
    )
    list_display = ["name", "about", "failures", "last_error", "since"]
    list_filter = [ParkedFilter, "journey"]
    search_fields = ["=row"]
    search_help_text = "The number of an order, label, delivery or parcel"
    readonly_fields = ["about"]

    @admin.display(description="work", ordering="pk")
    def name(self, note: StuckWork) -> str:
        return str(note)

    @admin.display(description="failing since", ordering="first_at")
    def since(self, note: StuckWork) -> dt.datetime:
        return note.first_at

    @admin.display(description="about")
    def about(self, note: StuckWork) -> SafeString | str:
        if note.journey not in MODELS:  # a note of an older release
            return str(note.row)
        options = MODELS[note.journey]._meta
        if not admin.site.is_registered(MODELS[note.journey]):  # such as a row of an import
            return f"{options.verbose_name} {note.row}"
        url = reverse(f"admin:{options.app_label}_{options.model_name}_change", args=[note.row])
        return format_html('<a href="{}">{} {}</a>', url, options.verbose_name, note.row)
