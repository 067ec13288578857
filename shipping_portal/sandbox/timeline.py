"""Run work later on a few threads: scripted scans, webhook deliveries and retries."""

import heapq
import itertools
import sys
import threading
import time
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor


class Timeline:
    """Runs work when it is due. ``stop`` drops what is still waiting."""

    def __init__(self, workers: int = 6) -> None:
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._order = itertools.count()
        self._wake = threading.Condition()
        self._stopped = False
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="sandbox-later")
        self._thread = threading.Thread(target=self._run, name="sandbox-timeline", daemon=True)
        self._thread.start()

    def after(self, seconds: float, work: Callable[[], None]) -> None:
        """Run ``work`` in ``seconds`` from now."""
        with self._wake:
            heapq.heappush(self._due, (time.monotonic() + seconds, next(self._order), work))
            self._wake.notify()

    def stop(self) -> None:
        """Drop what is waiting and let running work finish."""
        with self._wake:
            self._stopped = True
            self._due.clear()
            self._wake.notify()
        self._thread.join()
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _run(self) -> None:
        while work := self._next():
            self._pool.submit(_reported, work)

    def _next(self) -> Callable[[], None] | None:
        with self._wake:
            while not self._stopped:
                wait = self._due[0][0] - time.monotonic() if self._due else None
                if wait is not None and wait <= 0:
                    return heapq.heappop(self._due)[2]
                self._wake.wait(wait)
        return None


def _reported(work: Callable[[], None]) -> None:
    try:
        work()
    # Failed work must be reported, and must not end the pool.
    except Exception:  # noqa: BLE001
        traceback.print_exc(file=sys.stderr)
