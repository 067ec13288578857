"""Bill what happened during the faults, with the operator's command, which is killed once halfway through."""

import random
import time
from pathlib import Path

from django.utils import timezone

from shipping_portal.billing.models import BillingReport, Charge
from shipping_portal.billing.reports import posting
from tools.campaign.report import Report
from tools.campaign.servers import Servers

WEEK = 7 * 24 * 3600.0
PATIENCE_SECONDS = 120
ADJUSTED = 0.2  # this share of the bookings gets a later charge or refund
KINDS = ("under-declared", "oversize", "refund-delay", "refund-loss", "refund")


def read_bill(report: Report, servers: Servers) -> None:
    """Write the second report, a week after the one written during the faults; then import and post both."""
    dice = random.Random(f"bill {report.plan.seed}")
    servers.tell_carrier("settings", clock_offset_seconds=WEEK, bills_cancelled=dice.random() < 0.5)
    _adjust(servers, dice)
    servers.tell_carrier("report")
    files = sorted((servers.carriers[0].folder / "state" / "billing").glob("*.csv"))
    # in a very small campaign, the first report has no lines
    files = [file for file in files if file.read_text().count("\n") > 1]
    killed = dice.choice(files)
    report.note("import killed while its report was", _kill(servers, killed, dice.uniform(0, 0.15)))
    report.faults["the operator could post every report"] = [
        f"{file.name}: {problem}" for file in files if (problem := _import(servers, file))
    ]
    # A parcel that was cancelled, and also refunded for a delay, was refunded more than it cost.
    held = posting.decide_lines(list(Charge.objects.on_hold()), post=True, now=timezone.now())
    report.note("lines on hold that the operator counted", len(held))
    report.note("weekly reports, lines posted", f"{len(files)}, {Charge.objects.posted().count()}")


def _adjust(servers: Servers, dice: random.Random) -> None:
    """Add sizes, delays and losses of some parcels, and a line for a parcel that nobody here owns.

    Leave out those that the carrier cancelled itself: no order has their reference, so nobody owns
    their lines.
    """
    ledger = list(servers.ledger())
    booked = [line["reference"] for line in ledger if line["effect"] == "booked"]
    gone = {line["reference"] for line in ledger if line["effect"] == "cancelled" and line["by"] == "carrier"}
    for reference in booked:
        if reference not in gone and dice.random() < ADJUSTED:
            amount = f"{dice.randint(100, 3000) / 100:.2f}"
            servers.tell_carrier("charge", reference=reference, kind=dice.choice(KINDS), amount=amount)
    servers.tell_carrier("stray", reference="SSTRAY001", amount="31.40")


def _kill(servers: Servers, file: Path, after: float) -> str:
    """Kill the import of a file with -9 after some seconds; return how far the report was then."""
    command = servers.manage("billing_import", str(file), "--post")
    reports = BillingReport.objects.filter(name=file.name)
    ends_at = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < ends_at and not reports.exists():
        time.sleep(0.01)
    time.sleep(after)
    command.kill()
    command.communicate()
    servers.kills.append((time.time(), "billing_import"))
    return f"{reports.get().get_state_display().lower()}, {reports.get().read} lines read"


def _import(servers: Servers, file: Path) -> str:
    """Import files with the command; return what it couldn't do."""
    command = servers.manage("billing_import", str(file), "--post")
    said, _ = command.communicate(timeout=PATIENCE_SECONDS)
    return said[-300:] if command.returncode else ""
