"""Imports of senders: whose, how far, and holding one. The rows themselves are their sender's to read."""

from functools import partial
from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from orders.masking import SafeText
from shipping_portal.accounts.adminkit.actions import ActionsAdmin, AdminAction, ReasonForm
from shipping_portal.accounts.adminkit.filters import SenderFilter
from shipping_portal.importing import holding, progress
from shipping_portal.importing.models import Import

HELD = "Your import is paused while we look into something. Parcels already booked are not affected."
act = partial(AdminAction, needs="imports", refusals=(holding.HoldRefused,))


class HoldForm(ReasonForm):
    """What the sender reads while their import is held, and why it is held."""

    text = SafeText(label="Message to the sender", max_length=300)
    field_order = ["text", "reason"]


@admin.register(Import)
class ImportAdmin(ActionsAdmin):
    """Senders' imports: how far each is, and holding or releasing one."""

    admin_actions = (
        act(
            "hold",
            "Pause this import",
            "No more rows are booked, and its sender can't continue. Rows already handed over go ahead.",
            holding.hold,
            applies=lambda file: not file.hold,
            form=HoldForm,
            initial=lambda file: {"text": HELD},
        ),
        act(
            "let-go",
            "Resume this import",
            "Waiting rows are booked as their sender chose when they pressed Book.",
            holding.let_go,
            applies=lambda file: bool(file.hold) and file.restore_id is None,
        ),
        act(
            "leave-out",
            "Skip waiting rows",
            "For an import held after a restore, if the carrier already has its parcels. Its sender sees that the "
            "rows were skipped. Book the ones the carrier doesn't have under Restores.",
            holding.leave_file_out,
            needs="restore",
            applies=lambda file: file.restore_id is not None,
        ),
        act(
            "try-again",
            "Check failed rows again",
            "Checks and prices rows without an order again. Their sender decides whether to book them.",
            holding.try_again,
            applies=lambda file: progress.counts(file).retryable > 0,
        ),
    )
    list_display = ["file_name", "sender", "how_far", "all", "booked", "to_fix", "made_by", "created_at"]
    list_filter = ["state", SenderFilter]
    list_select_related = ["sender", "made_by"]
    search_fields = ["sender__name", "file_name"]
    fields = [
        *("file_name", "sender", "made_by", "created_at", "how_far", "counts", "begun_at", "finished_at"),
        *("hold", "read_as"),
    ]
    readonly_fields = ["how_far", "counts", "read_as"]

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        """Return the files of the page with their rows counted, in one query; and no other file's."""
        shown: Any = super().get_changelist_instance(request)
        keys = [file.pk for file in shown.result_list]
        counted = progress.with_counts(Import.objects.filter(pk__in=keys).select_related("sender", "made_by")).in_bulk()
        shown.result_list = [counted[key] for key in keys]
        return shown

    def notice(self, thing: Any) -> str:
        """Say that the import is held, and what its sender reads."""
        return f"Paused by an operator. Message to its sender: {thing.hold}" if thing.hold else ""

    @admin.display(description="state", ordering="state")
    def how_far(self, file: Import) -> str:
        """Show the state in a word."""
        is_booking = file.state == Import.State.BOOKING and not file.finished_at
        state = "Being booked" if is_booking else str(file.get_state_display())
        return f"{state}, paused" if file.paused_at else state

    @admin.display(description="rows")
    def all(self, file: Any) -> int:
        """Return how many parcels the file has."""
        return int(file.all_rows)

    @admin.display(description="booked")
    def booked(self, file: Any) -> int:
        """Return how many of them were handed over for booking."""
        return int(file.booked_rows)

    @admin.display(description="to fix")
    def to_fix(self, file: Any) -> int:
        """Return how many of them its sender has to put right."""
        return int(file.to_fix)

    @admin.display(description="rows by status")
    def counts(self, file: Import) -> str:
        """Show the rows by what became of them."""
        found = progress.counts(file)
        parts = {
            "to check": found.unchecked,
            "ready": found.bookable,
            "to fix": found.fix,
            "skipped": found.skipped,
            "waiting": found.waiting,
            "booked": found.booked,
            "unclear": found.unclear,
            "waiting for the sender's approval": found.needs_yes,
            "not booked": found.failed,
        }
        return f"{found.rows:,}: " + ", ".join(f"{count:,} {words}" for words, count in parts.items() if count)
