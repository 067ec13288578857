"""Retry dead letters, and handle restores from a backup."""

import datetime as dt
from functools import partial
from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import Count, Q
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.timesince import timesince

from orders.models import Label, Restore
from orders.models.statuses import Status
from shipping_portal.accounts.adminkit.actions import ActionsAdmin, AdminAction, ReasonForm
from shipping_portal.accounts.adminkit.facts import column, link_to
from shipping_portal.importing.models import ImportRow
from shipping_portal.jobs import dead_letters
from shipping_portal.jobs.models import DeadLetter
from shipping_portal.staff import queues
from shipping_portal.staff.restores import restoring
from tracking.models import Parcel, Poll


class CountForm(ReasonForm):
    """A form with a typed number, so that nobody sends or drops more than they have seen."""

    count = forms.IntegerField(label="Number of parcels held", min_value=1)
    field_order = ["count", "reason"]


def _holds(restore: Restore) -> bool:
    return restoring.count_held(restore) > 0


act = partial(AdminAction, needs="restore")


@admin.register(Restore)
class RestoreAdmin(ActionsAdmin):
    """Show restores: what the gap may have lost, and what is held or can be released."""

    admin_actions = (
        act(
            "release",
            "Book held parcels",
            "Only if the carrier has none of these parcels, or it charges for each a second time."
            " First skip each import that it already has. They are booked once the gap is closed.",
            restoring.release_held,
            applies=_holds,
            form=CountForm,
        ),
        act(
            "leave-out",
            "Skip held parcels",
            "For parcels the carrier already has. Their senders see why they aren't booked.",
            restoring.leave_out,
            applies=_holds,
            form=CountForm,
        ),
        act(
            "lift",
            "Close the gap",
            "Bookings resume right away. First tell the affected senders which parcels the carrier"
            " has: anyone who can't find a parcel here will book it again. Labels we couldn't check"
            " with the carrier are shown again.",
            restoring.lift_gap,
            applies=lambda restore: restore.lifted_at is None,
        ),
    )
    list_display = ["__str__", "backup_at", "restored_at", "lifted_at", "lifted_by"]
    list_select_related = ["lifted_by"]
    fields = [
        "backup_at",
        "restored_at",
        "unknown",
        "held",
        "imports",
        "labels",
        "lifted_at",
        "lifted_by",
    ]
    readonly_fields = ["unknown", "held", "imports", "labels"]

    def notice(self, thing: Any) -> str:
        """Say that bookings are paused while the gap is open."""
        open_now = (
            "Bookings are paused. Only the carrier knows what was booked between backup and"
            " restore."
        )
        return open_now if thing.lifted_at is None else ""

    @admin.display(description="where its bookings will appear")
    def unknown(self, restore: Restore) -> SafeString:
        """Link to the scans, lines and orders where a booking from the gap may appear."""
        gap = restoring.gap_of(restore)
        return format_html(
            '<a href="{}">Scans for unknown references</a>, <a href="{}">unassigned charges</a>, '
            '<a href="{}">bookings not known</a>',
            gap.scans_url,
            gap.lines_url,
            gap.unclear_url,
        )

    held = column("held parcels", restoring.count_held)  # how many orders wait for a decision

    @admin.display(description="held imports")
    def imports(self, restore: Restore) -> SafeString | str:
        """List the held imports, with their rows."""
        now = timezone.now()
        due = Count("rows", filter=Q(rows__state=ImportRow.State.DUE))
        files = restore.imports.select_related("sender").annotate(due=due).order_by("pk")[:100]
        rows = (
            (link_to(file), file.sender, file.due, timesince(file.begun_at or now))
            for file in files
        )
        return format_html_join(", ", "{} of {} ({} rows, of {} ago)", rows) or "–"

    @admin.display(description="hidden labels")
    def labels(self, restore: Restore) -> int:
        """Return how many labels are held until the carrier confirms their parcels."""
        return Label.objects.filter(state=Label.State.WITHHELD, order__status=Status.BOOKED).count()


def _try_again(letter: DeadLetter, *, now: dt.datetime, **written: Any) -> str:
    words = str(letter)
    dead_letters.try_again(letter, now=now)
    return words


@admin.register(DeadLetter)
class DeadLetterAdmin(ActionsAdmin):
    """Show rows that failed five times in a row, and retry them."""

    admin_actions = (
        AdminAction(
            "try-again",
            "Try again",
            "Runs again at the next sweep, with five new tries. Anything already sent to the"
            " carrier is never sent again.",
            _try_again,
            needs="retry",
            audit="dead letter tried again",
        ),
    )
    list_display = ["name", "about", "failures", "last_error", "parked_at"]
    waits = ("", queues.DEAD_LETTERS)
    list_filter = ["job"]
    search_fields = ["=row"]
    search_help_text = "Number of an order, label, delivery or parcel"
    readonly_fields = ["about"]

    name = column("work", str, ordering="pk")  # the job and its row

    @admin.display(description="about")
    def about(self, letter: DeadLetter) -> SafeString | str:
        """Link to the row's subject."""
        due = dead_letters.model_of(letter)
        if due is None:  # a letter from an older release
            return str(letter.row)
        # a poll has its parcel's number, but no page
        model = Parcel if due is Poll else due
        options = model._meta
        if not admin.site.is_registered(model):  # such as a row of an import
            return f"{options.verbose_name} {letter.row}"
        url = reverse(f"admin:{options.app_label}_{options.model_name}_change", args=[letter.row])
        return format_html('<a href="{}">{} {}</a>', url, options.verbose_name, letter.row)
