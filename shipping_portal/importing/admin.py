"""Show senders' imports and their progress, and hold them. Only the sender can read the rows."""

from functools import partial
from typing import Any

from django.contrib import admin

from orders.masking import SafeText
from shipping_portal.accounts.adminkit.actions import ActionsAdmin, AdminAction, ReasonForm
from shipping_portal.accounts.adminkit.facts import column
from shipping_portal.accounts.adminkit.filters import SenderFilter
from shipping_portal.importing import holding, progress
from shipping_portal.importing.models import Import

HELD = (
    "Your import is paused while we look into something. Parcels already booked are not affected."
)
act = partial(AdminAction, needs="imports")


class HoldForm(ReasonForm):
    """Asks for the text that the sender reads while their import is held, and for the reason."""

    text = SafeText(label="Message to the sender", max_length=300)
    field_order = ["text", "reason"]


@admin.register(Import)
class ImportAdmin(ActionsAdmin):
    """Show each import's progress, and hold or release it."""

    admin_actions = (
        act(
            "hold",
            "Pause this import",
            "No more rows are booked, and its sender can't continue. Rows already handed over go"
            " ahead.",
            holding.hold,
            applies=lambda file: not file.hold,
            form=HoldForm,
            initial=lambda file: {"text": HELD},
        ),
        act(
            "let-go",
            "Resume this import",
            "Waiting rows are booked as their sender chose when they pressed Book. If the sender"
            " had paused it before, it waits for them.",
            holding.release_import,
            applies=lambda file: bool(file.hold) and file.restore_id is None,
        ),
        act(
            "leave-out",
            "Skip waiting rows",
            "For an import held after a restore, if the carrier already has its parcels. Its sender"
            " sees that the rows were skipped. Book the ones the carrier doesn't have under"
            " Restores.",
            holding.leave_file_out,
            needs="restore",
            applies=lambda file: file.restore_id is not None,
        ),
        act(
            "try-again",
            "Check failed rows again",
            "Checks and prices rows without an order again. Their sender decides whether to book"
            " them.",
            holding.try_again,
            applies=lambda file: progress.counts(file).retryable > 0,
        ),
    )
    list_display = [
        "file_name",
        "sender",
        "how_far",
        "all",
        "booked",
        "to_fix",
        "made_by",
        "created_at",
    ]
    list_filter = ["state", SenderFilter]
    list_select_related = ["sender", "made_by"]
    search_fields = ["sender__name", "file_name"]
    fields = [
        "file_name",
        "sender",
        "made_by",
        "created_at",
        "how_far",
        "counts",
        "begun_at",
        "finished_at",
        "hold",
        "read_as",
    ]
    readonly_fields = ["how_far", "counts", "read_as"]

    def with_counts(self, rows: list[Import]) -> list[Any]:
        """Return the page's files with row counts. Other files' rows aren't counted."""
        files = Import.objects.filter(pk__in=[file.pk for file in rows]).select_related(
            "sender", "made_by"
        )
        counted = progress.with_counts(files).in_bulk()
        return [counted[file.pk] for file in rows]

    def notice(self, thing: Any) -> str:
        """Return the notice that the import is held, with the sender's text."""
        return f"Paused by an operator. Message to its sender: {thing.hold}" if thing.hold else ""

    @admin.display(description="state", ordering="state")
    def how_far(self, file: Import) -> str:
        """Show the state in one word."""
        is_booking = file.state == Import.State.BOOKING and not file.finished_at
        state = "Being booked" if is_booking else str(file.get_state_display())
        return f"{state}, paused" if file.paused_at else state

    all = column("rows", lambda file: file.all_rows)
    booked = column("booked", lambda file: file.booked_rows)
    to_fix = column("to fix", lambda file: file.to_fix)

    @admin.display(description="rows by status")
    def counts(self, file: Import) -> str:
        """Show the rows by outcome."""
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
        return f"{found.rows:,}: " + ", ".join(
            f"{count:,} {words}" for words, count in parts.items() if count
        )
