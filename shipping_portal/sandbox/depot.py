"""Hold the carrier's books: parcels, idempotency keys, subscriptions, rebuilt from the ledger."""

import hashlib
import re
import secrets
import string
import threading
import time
import uuid
from collections import deque
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from shipping_portal.sandbox.config import Config, Settings
from shipping_portal.sandbox.ledger import Ledger
from shipping_portal.sandbox.parcels import Parcel, Scan
from shipping_portal.sandbox.wire import Refused, Reply

REFERENCE_LETTERS = "23456789ABCDEFGHJKLMNPQRTUVWXYZ"
SEEDED_FOREIGN = ("SFOREIGN1", "SFOREIGN2")


@dataclass
class Answer:
    """The reply to an idempotency key; ``reply`` is None while the request is processed."""

    sha256: str
    at: float
    reply: Reply | None = None


class Depot:
    """All state of one carrier. Every method may be called from any thread."""

    def __init__(self, config: Config) -> None:
        self.config, self.contract = config, config.contract
        self.contract.number_ids = config.number_ids
        replays = config.contract["replays"] if config.replays is None else config.replays
        self.settings = Settings(
            replays=replays,
            error_shape=config.error_shape,
            strict=config.strict,
            speed=config.speed,
            size_charge_share=config.size_charge_share,
            files_host=config.files_host,
        )
        self.lock = threading.RLock()
        self.listener = self.previous_listener = config.listener
        self.parcels: dict[str, Parcel] = {}
        self.by_id: dict[str, Parcel] = {}
        self.subscribed: set[str] = set()
        self.withdrawn: set[str] = set()
        self.raised_percent = 0.0
        self.default_journey = "normal"
        self.requests: deque[dict[str, Any]] = deque(maxlen=20_000)
        self.deliveries: deque[dict[str, Any]] = deque(maxlen=20_000)
        self._answers: dict[str, Answer] = {}
        config.state.mkdir(parents=True, exist_ok=True)
        self.file_secret = self._kept_secret()
        self.ledger = Ledger(config.state / "ledger.jsonl", is_synced=config.syncs_ledger)
        for line in self.ledger.lines():
            self._apply(line)
        for reference in SEEDED_FOREIGN:
            if reference not in self.parcels:
                self.add_foreign(reference)

    def now(self) -> datetime:
        """Return the carrier's clock, aware, in UTC."""
        return self.config.clock().astimezone(UTC) + timedelta(
            seconds=self.settings.clock_offset_seconds
        )

    def record(self, effect: str, **facts: Any) -> None:
        """Write one effect to the ledger and to memory.

        ``t`` is the real time, ``at`` the carrier's.
        """
        with self.lock:
            line = {"t": time.time(), "at": self.now().timestamp(), "effect": effect, **facts}
            line.setdefault("account", self.config.account)
            self.ledger.write(line)
            self._apply(line)

    def new_reference(self) -> str:
        """Return a reference of the contract's shape that is new in this depot."""
        while True:
            reference = reference_of(self.contract["reference_shape"])
            if reference not in self.parcels:
                return reference

    def new_id(self) -> str:
        """Return an order id: a UUID, or digits if ids are numbers."""
        return str(secrets.randbelow(10**12)) if self.config.number_ids else new_id()

    def book(self, parcel: Parcel, *, key: str, sha256: str, reply: Reply | None) -> Parcel:
        """Commit a booking and return its parcel.

        ``reply`` is on the same ledger line, so that the key's reply survives a crash right
        afterwards.
        """
        answer = {"status": reply.status, "body": reply.body.decode()} if reply else None
        names = self.names(parcel)
        self.record(
            "booked", key=key, **names, body_sha256=sha256, parcel=parcel.as_line(), answer=answer
        )
        return self.by_id[parcel.order_id]

    def cancel(self, parcel: Parcel, *, by: str) -> None:
        """Commit a cancellation.

        ``after`` names the pickup problem that should have forbidden it.
        """
        trouble = [
            scan.progress
            for scan in parcel.scans
            if scan.progress in ("pickup_missed", "pickup_futile")
        ]
        self.record("cancelled", **self.names(parcel), by=by, after=trouble[-1] if trouble else "")

    def ask_refund(self, parcel: Parcel) -> None:
        """Record the request to cancel. The carrier decides later."""
        self.record("refund_asked", **self.names(parcel))

    def refuse_refund(self, parcel: Parcel) -> None:
        """Refuse the request: the order stays booked."""
        self.record("refund_refused", **self.names(parcel))

    def scan(self, parcel: Parcel, scan: Scan, *, step: int | None = None) -> None:
        """Commit a scan; ``step`` is its position in the parcel's script."""
        label_used = parcel.cancelled_at is not None
        self.record(
            "scan", **self.names(parcel), scan=asdict(scan), step=step, after_cancel=label_used
        )

    def names(self, parcel: Parcel) -> dict[str, str]:
        """Return a parcel's identifiers for its ledger lines."""
        return {
            "order_key": parcel.order_key,
            "reference": parcel.reference,
            "order_id": parcel.order_id,
        }

    def add_foreign(self, reference: str) -> Parcel:
        """Add a parcel that somebody else booked with this carrier."""
        with self.lock:
            if reference not in self.parcels:
                at = self.now().timestamp()
                self.record(
                    "foreign",
                    reference=reference,
                    parcel=Parcel(reference, created_at=at).as_line(),
                )
            return self.parcels[reference]

    def reserve(self, key: str, sha256: str) -> Reply | None:
        """Claim an idempotency key: return None if new, else the stored reply.

        Raises Refused 425 while the first request is processed and 422 if the parameters differ.
        """
        with self.lock:
            now = self.now().timestamp()
            answer = self._answers.get(key)
            if answer is None or now - answer.at > self.settings.replay_window_seconds:
                self._answers[key] = Answer(sha256, now)
                return None
            if answer.sha256 != sha256:
                text = "This idempotency key was used with other parameters."
                raise Refused(
                    422,
                    "idempotency_error",
                    text,
                    {"idempotency_key": ["was used with other parameters"]},
                )
            if answer.reply is None:
                raise Refused(
                    425,
                    "too_early",
                    "A request with this idempotency key is still being processed.",
                )
            return answer.reply

    def keep_reply(self, key: str, sha256: str, reply: Reply) -> None:
        """Store the reply for a reserved key. A rejected attempt uses up the key as well."""
        self.record(
            "answered", key=key, body_sha256=sha256, status=reply.status, body=reply.body.decode()
        )

    def release(self, key: str) -> None:
        """Release the key of a request that failed before its reply."""
        with self.lock:
            if key in self._answers and self._answers[key].reply is None:
                del self._answers[key]

    def parcel(self, reference: str) -> Parcel | None:
        return self.parcels.get(reference) or self.parcels.get(reference.upper())

    def hears(self, parcel: Parcel) -> bool:
        """Return whether the listener gets this parcel's scans.

        It gets scans of our own parcels and of subscribed foreign ones.
        """
        return not parcel.is_foreign or parcel.reference in self.subscribed

    def _apply(self, line: dict[str, Any]) -> None:
        apply = getattr(self, f"_apply_{line['effect']}", None)
        if apply:
            apply(line)

    def _apply_booked(self, line: dict[str, Any]) -> None:
        parcel = Parcel.from_line(line["parcel"])
        self.parcels[parcel.reference] = parcel
        self.by_id[parcel.order_id] = parcel
        if line["answer"]:
            self._keep_answer(line, line["answer"])

    def _apply_foreign(self, line: dict[str, Any]) -> None:
        self.parcels[line["reference"]] = Parcel.from_line(line["parcel"])

    def _apply_cancelled(self, line: dict[str, Any]) -> None:
        parcel = self.parcels[line["reference"]]
        parcel.cancelled_at, parcel.refund = line["at"], ""

    def _apply_refund_asked(self, line: dict[str, Any]) -> None:
        self.parcels[line["reference"]].refund = "asked"

    def _apply_refund_refused(self, line: dict[str, Any]) -> None:
        self.parcels[line["reference"]].refund = "refused"

    def _apply_scan(self, line: dict[str, Any]) -> None:
        parcel = self.parcels[line["reference"]]
        parcel.scans.append(Scan(**line["scan"]))
        if line["step"] is not None:
            parcel.journey_step = line["step"] + 1

    def _apply_moved(self, line: dict[str, Any]) -> None:
        self.parcels[line["reference"]].pickup_date = line["pickup_date"]

    def _apply_routed(self, line: dict[str, Any]) -> None:
        parcel = self.parcels[line["reference"]]
        parcel.journey, parcel.journey_step = line["journey"], line["step"]

    def _apply_subscribed(self, line: dict[str, Any]) -> None:
        self.subscribed.add(line["reference"])

    def _apply_unsubscribed(self, line: dict[str, Any]) -> None:
        self.subscribed.discard(line["reference"])

    def _apply_answered(self, line: dict[str, Any]) -> None:
        self._keep_answer(line, line)

    def _keep_answer(self, line: dict[str, Any], answer: dict[str, Any]) -> None:
        reply = Reply(answer["status"], answer["body"].encode())
        self._answers[line["key"]] = Answer(line["body_sha256"], line["at"], reply)

    def _kept_secret(self) -> str:
        path = self.config.state / "file-secret"
        if not path.exists():
            path.write_text(secrets.token_urlsafe(32), encoding="ascii")
            path.chmod(0o600)
        return path.read_text(encoding="ascii")


def reference_of(shape: str) -> str:
    """Return a reference of this shape.

    Up to seven letters or digits where their number may vary.
    """
    reference = ""
    for letters, least, most in re.findall(
        r"(\[.+?\]|.)(?:\{(\d+)(?:,(\d+))?\})?", shape.split("|")[0]
    ):
        fitting = re.findall(letters, REFERENCE_LETTERS) or re.findall(letters, string.printable)
        count = int(least or 1) if not most else min(max(int(least), 7), int(most))
        reference += "".join(secrets.choice(fitting) for _ in range(count))
    return reference


def sha256_of(body: bytes) -> str:
    """Return the digest of a request body for its ledger line."""
    return hashlib.sha256(body).hexdigest()


def new_id() -> str:
    return str(uuid.uuid4())
