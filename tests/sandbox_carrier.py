"""The bundled sandbox carrier for tests, served over real HTTP and controlled through its control pages."""

import json
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from shipping_portal.sandbox import places
from shipping_portal.sandbox.config import Config
from shipping_portal.sandbox.contract import Contract
from shipping_portal.sandbox.server import start


class SandboxCarrier:
    """`with SandboxCarrier(folder) as carrier:` listens on a free port until the block ends."""

    def __init__(self, state: Path, *, contract: str = "", **choices: Any) -> None:
        state.mkdir(parents=True, exist_ok=True)
        if contract:
            path = state / "contract.toml"
            path.write_text(contract)
            choices["contract"] = Contract.load(path)
        self.state = state
        # It ends with the test's process, which no test takes down with the machine.
        self._config = Config(state=state, syncs_ledger=False, **choices)

    def __enter__(self) -> Self:
        # The first ZIP code of a process is half a second of CPU, for which the first request abroad had to wait, and on a
        # busy machine longer than the client does.
        places.at_postcode("US", "10001")
        self.running = start(self._config)
        self.url = self.running.url
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.running.stop()

    def trouble(self, operation: str, verb: str, *, count: int = 1, **more: Any) -> None:
        """Make the next `count` requests of an operation fail in this way."""
        self._control("POST", "trouble", {"operation": operation, "verb": verb, "count": count, **more})

    def clear(self) -> None:
        self._control("POST", "clear", {})

    def scan(self, reference: str, event_type: str, **more: Any) -> Any:
        return self._control("POST", "scan", {"reference": reference, "event_type": event_type, **more})

    def settings(self, **changes: Any) -> None:
        self._control("POST", "settings", changes)

    def prices(self, percent: float) -> None:
        self._control("POST", "prices", {"percent": percent})

    def foreign(self, reference: str) -> None:
        self._control("POST", "foreign", {"reference": reference})

    def charge(self, reference: str, kind: str, amount: str, **more: str) -> None:
        """Put an adjustment or a refund on the next billing report."""
        self._control("POST", "charge", {"reference": reference, "kind": kind, "amount": amount, **more})

    def refund(self, reference: str, *, granted: bool) -> None:
        """Decide a cancellation that was requested."""
        self._control("POST", "refund", {"reference": reference, "granted": granted})

    def stray(self, reference: str, amount: str) -> None:
        """Put a line for an unknown parcel on the next billing report."""
        self._control("POST", "stray", {"reference": reference, "amount": amount})

    def report(self) -> tuple[str, bytes]:
        """Return the name and bytes of a billing report of everything since the last one."""
        path = Path(self._control("POST", "report", {})["path"])
        return path.name, path.read_bytes()

    def listen_at(self, url: str) -> None:
        self._control("POST", "listener", {"url": url})

    def ledger(self, effect: str = "") -> list[dict[str, Any]]:
        """Return every effect in order, or those of one kind, such as `booked`."""
        lines = self._control("GET", "ledger")
        return [line for line in lines if not effect or line["effect"] == effect]

    def deliveries(self) -> list[dict[str, Any]]:
        """Return every try to send a scan to the listener, with the reply."""
        found: list[dict[str, Any]] = self._control("GET", "deliveries")
        return found

    def requests(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._control("GET", "requests")
        return found

    def _control(self, method: str, path: str, body: Any = None) -> Any:
        request = urllib.request.Request(  # noqa: S310  (loopback)
            f"{self.url}/_sandbox/{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json", "User-Agent": "tests"},
        )
        with urllib.request.urlopen(request, timeout=60) as reply:  # noqa: S310
            text = reply.read()
        return json.loads(text) if text else None
