"""Dead letters: what the work was about, the last error, and letting it try again."""

import datetime as dt
from typing import Any

from django.contrib import admin
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from shipping_portal.accounts.adminkit.actions import ActionsAdmin, AdminAction
from shipping_portal.jobs import dead_letters
from shipping_portal.jobs.models import DeadLetter
from tracking.models import Parcel, Poll


def _try_again(letter: DeadLetter, *, now: dt.datetime, **asked: Any) -> str:
    words = str(letter)
    dead_letters.try_again(letter, now=now)
    return words


@admin.register(DeadLetter)
class DeadLetterAdmin(ActionsAdmin):
    admin_actions = (
        AdminAction(
            "try-again",
            "Try again",
            "It is due again at the next sweep, and has five tries as at first. What was already sent to the carrier "
            "is never sent again.",
            _try_again,
            needs="retry",
            audit="dead letter tried again",
            refusals=(dead_letters.NoLongerParked,),
        ),
    )
    list_display = ["name", "about", "failures", "last_error", "parked_at"]
    list_filter = ["job"]
    search_fields = ["=row"]
    search_help_text = "The number of an order, label, delivery or parcel"
    readonly_fields = ["about"]

    @admin.display(description="work", ordering="pk")
    def name(self, letter: DeadLetter) -> str:
        return str(letter)

    @admin.display(description="about")
    def about(self, letter: DeadLetter) -> SafeString | str:
        owed = dead_letters.model_of(letter)
        if owed is None:  # a letter of an older release
            return str(letter.row)
        model = Parcel if owed is Poll else owed  # a poll has its parcel's number, and no page of its own
        options = model._meta
        if not admin.site.is_registered(model):  # such as a row of an import
            return f"{options.verbose_name} {letter.row}"
        url = reverse(f"admin:{options.app_label}_{options.model_name}_change", args=[letter.row])
        return format_html('<a href="{}">{} {}</a>', url, options.verbose_name, letter.row)
