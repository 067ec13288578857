"""Run the sweeper, which finds due rows and has them processed. It is safe to run several."""

import signal
from threading import Event
from types import FrameType
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from shipping_portal.jobs.sweep import Sweep
from shipping_portal.ops import metrics_port
from shipping_portal.ops.starting import begin_work, end_if_restored
from tracking.receiving.webhook_health import Heartbeat


class Command(BaseCommand):
    help = "Finds due work every SWEEP_SECONDS, hands it to the workers, and does what they miss."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--once", action="store_true", help="Sweep once, print what was found, and stop."
        )

    def handle(self, *args: Any, once: bool, **options: Any) -> None:
        begin_work()
        if once:
            for line, count in sorted(Sweep().once().items()):
                self.stdout.write(f"{line}: {count}")
            return
        sweep = Sweep(_stopped_by_signals(), before=end_if_restored)
        metrics_port.serve_metrics(sweep.is_alive)
        with Heartbeat("sweep"):
            sweep.run()


def _stopped_by_signals() -> Event:
    """Return an event set by SIGTERM and SIGINT; the current row is finished first."""
    stop = Event()

    def asked_to_stop(number: int, frame: FrameType | None) -> None:
        stop.set()

    signal.signal(signal.SIGTERM, asked_to_stop)
    signal.signal(signal.SIGINT, asked_to_stop)
    return stop
