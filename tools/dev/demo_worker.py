"""The demo's worker, which is also the sweeper: a separate one would load all of Django again, 85 MB."""

import threading
from typing import Any

from celery.signals import worker_ready, worker_shutting_down

from shipping_portal.celery import app

__all__ = ["app"]
stop = threading.Event()


@worker_ready.connect
def start_sweeping(**_: Any) -> None:
    """Sweep in a thread until the worker stops, which waits for the row that is being processed."""
    threading.Thread(target=sweep_as_the_command_does, name="sweep").start()


@worker_shutting_down.connect
def stop_sweeping(**_: Any) -> None:
    stop.set()


def sweep_as_the_command_does() -> None:
    from shipping_portal.jobs.sweep import Sweep  # noqa: PLC0415  (models load with the worker)
    from shipping_portal.ops.starting import end_if_restored  # noqa: PLC0415
    from tracking.receiving.webhook_health import Heartbeat  # noqa: PLC0415

    with Heartbeat("sweep"):
        Sweep(stop, before=end_if_restored).run()
