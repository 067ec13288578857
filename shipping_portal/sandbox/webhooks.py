"""Send scans to the listener: one POST per event, up to three retries (section 6)."""

import base64
import copy
import functools
import http.client
import json
import ssl
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote, urlsplit

from shipping_portal.sandbox.depot import Depot, new_id
from shipping_portal.sandbox.parcels import Parcel, Scan
from shipping_portal.sandbox.paths import dig, plant
from shipping_portal.sandbox.replies import event_document
from shipping_portal.sandbox.timeline import Timeline
from shipping_portal.sandbox.trouble import Fault, Troubles

RETRIES = 3


class Courier:
    """Sends events and logs every attempt: event, attempt, status or error."""

    def __init__(self, depot: Depot, timeline: Timeline, troubles: Troubles) -> None:
        self.depot, self.timeline, self.troubles = depot, timeline, troubles
        self._held: list[Callable[[], None]] = []

    def announce(self, parcel: Parcel, scan: Scan, *, at_once: bool = False) -> None:
        """Send ``scan`` to the listener, if any; for a foreign parcel, only if subscribed."""
        if not self.depot.listener or not self.depot.hears(parcel):
            return
        event = event_document(parcel, scan, self.depot.contract)
        fault = self.troubles.pick(
            "webhook", reference=parcel.reference, order_key=parcel.order_key
        )
        for seconds, payload, url in self._planned(event, fault):
            send = self._sender(url, parcel.reference, payload)
            if fault and fault.verb == "reorder":
                self._held.append(send)
            elif at_once:
                send()
            else:
                self.timeline.after(seconds, send)
        if not fault or fault.verb != "reorder":
            self._let_go()

    def _planned(
        self, event: dict[str, Any], fault: Fault | None
    ) -> list[tuple[float, dict[str, Any], str]]:
        """Return an event's deliveries: (seconds from now, payload, listener)."""
        url, verb = self.depot.listener, fault.verb if fault else ""
        if verb == "drop":
            return []
        if fault and verb == "dup":
            return [(0, event, url)] * int(fault.number(2))
        if fault and verb == "delay":
            return [(fault.number(5), event, url)]
        if fault and verb == "mutate":
            return [
                (
                    0,
                    event
                    | (fault.arg if isinstance(fault.arg, dict) else {"description": "x" * 4000}),
                    url,
                )
            ]
        if fault and verb == "storm":
            return [(0, self._with_new_id(event), url) for _ in range(int(fault.number(20)))]
        if verb == "old-secret":
            return [(0, event, self.depot.previous_listener)]
        return [(0, event, url)]

    def _with_new_id(self, event: dict[str, Any]) -> dict[str, Any]:
        other = copy.deepcopy(event)
        plant(other, self.depot.contract["event_id"], new_id())
        return other

    def _let_go(self) -> None:
        held, self._held = self._held, []
        for send in held:
            self.timeline.after(0.3, send)

    def _sender(self, url: str, reference: str, payload: dict[str, Any]) -> Callable[[], None]:
        body = json.dumps(payload, ensure_ascii=False).encode()
        return functools.partial(self._try, url, reference, payload, body, attempt=1)

    def _try(
        self, url: str, reference: str, payload: dict[str, Any], body: bytes, attempt: int
    ) -> None:
        status, error = post(url, body, timeout=self.depot.settings.webhook_timeout_seconds)
        facts = {
            "event_id": dig(payload, self.depot.contract["event_id"]),
            "reference": reference,
            "attempt": attempt,
            "status": status,
            "error": error,
        }
        self.depot.deliveries.append({**facts, "at": self.depot.now().timestamp(), "body": payload})
        self.depot.record("delivery", **facts)
        if (status is None or not 200 <= status < 300) and attempt <= RETRIES:
            again = functools.partial(self._try, url, reference, payload, body, attempt=attempt + 1)
            self.timeline.after(self._pause(attempt), again)

    def _pause(self, attempt: int) -> float:
        pauses = [float(word) for word in self.depot.settings.webhook_retry_seconds.split(",")]
        return pauses[min(attempt, len(pauses)) - 1] / max(self.depot.settings.speed, 1.0)


def post(
    url: str, body: bytes, *, timeout: float, signature: dict[str, str] | None = None
) -> tuple[int | None, str]:
    """POST JSON once; URL credentials go into a Basic header, redirects are not followed."""
    parts = urlsplit(url)
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "SandboxCarrier/1.0 (webhooks)",
        **(signature or {}),
    }
    if parts.username is not None:
        pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        headers["Authorization"] = "Basic " + base64.b64encode(pair.encode()).decode()
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    try:
        connection = _connection(parts.scheme, parts.hostname or "", parts.port, timeout)
        try:
            connection.request("POST", target, body, headers)
            reply = connection.getresponse()
            reply.read(65536)
            return reply.status, ""
        finally:
            connection.close()
    except (OSError, http.client.HTTPException, ValueError) as error:
        return None, f"{type(error).__name__}: {error}"


def _connection(
    scheme: str, host: str, port: int | None, timeout: float
) -> http.client.HTTPConnection:
    if scheme == "https":
        return http.client.HTTPSConnection(
            host, port, timeout=timeout, context=ssl.create_default_context()
        )
    return http.client.HTTPConnection(host, port, timeout=timeout)
