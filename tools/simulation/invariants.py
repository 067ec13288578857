"""What must be true of each order right after a transaction touched it. For the end: tools/campaign/checker.py."""

import sqlite3
from typing import Any

from django.db import connection

from orders.models.statuses import BEING_CANCELLED, HELD, Status
from tools.simulation.carrier import Carrier, plain

UNSURE = {Status.UNCONFIRMED, Status.CONFLICT}
KNOWN = HELD | UNSURE
OPEN = {Status.BOOKING, *UNSURE, *BEING_CANCELLED}
TOUCHING = {"orders_order": "id", "orders_bookingattempt": "order_id", "orders_cancelattempt": "order_id"}
ORDERS = "SELECT id, uuid, status, due_at, carrier_reference FROM orders_order WHERE id IN (SELECT id FROM touched)"
ATTEMPTS = "SELECT state, key, body_sha256 FROM orders_bookingattempt WHERE order_id = ?"
GAPS = "SELECT lifted_at FROM orders_restore"
RETURNS = (
    "SELECT count(*) FROM orders_order WHERE status = 'booking'"
    " AND returns_id = (SELECT returns_id FROM orders_order WHERE id = ?)"
)
# For one press: how many orders there are, and how many there should be.
TOGETHER = (
    "SELECT count(*), max(parcel_count) FROM orders_order WHERE replaces_id IS NULL"
    " AND consignment = (SELECT consignment FROM orders_order WHERE id = ?)"
)
CANCELS = "SELECT id FROM orders_cancelattempt WHERE order_id = ? AND state IN ('wanted', 'in_flight', 'unknown')"


class Invariants:
    """Triggers record which rows are touched, in a temporary table, which is in no backup."""

    def __init__(self, carrier: Carrier) -> None:
        self.carrier = carrier
        self.database: sqlite3.Connection = connection.connection
        self.database.execute("CREATE TEMP TABLE IF NOT EXISTS touched (id INTEGER PRIMARY KEY)")
        for table, column in TOUCHING.items():
            for event in ("INSERT", "UPDATE"):
                self.database.execute(
                    f"CREATE TEMP TRIGGER IF NOT EXISTS {table}_{event} AFTER {event} ON main.{table} BEGIN "  # noqa: S608  (our own names)
                    f"INSERT OR IGNORE INTO touched VALUES (NEW.{column}); END"
                )

    def hold(self) -> None:
        """Fail unless they do."""
        for row in self._rows(ORDERS):
            if broken := self._broken(*row):
                self.carrier.world.fail(f"order {row[0]} is {row[2]}: {broken}")
        self.database.execute("DELETE FROM touched")

    def _broken(self, pk: int, uuid: str, status: str, due_at: str | None, reference: str | None) -> str:
        attempts, cancels = self._rows(ATTEMPTS, pk), self._rows(CANCELS, pk)
        live, booked = self.carrier.live(uuid), self.carrier.ledger.booked
        gaps = [lifted_at for (lifted_at,) in self._rows(GAPS)]
        is_restored, is_gap = bool(gaps), None in gaps
        is_sent = any(state == "in_flight" for state, *_ in attempts)
        sent = {(plain(key), sha256) for _, key, sha256 in attempts}
        there, pressed = self._rows(TOGETHER, pk)[0]
        promises = {
            "the carrier holds it twice": len(live) <= 1,
            "the carrier holds it, but its sender sees that it isn't booked": not live
            or is_sent
            or is_gap
            or status in KNOWN,
            f"its reference is {reference}": (reference is not None) == (status in HELD),
            f"{reference} was not booked with its bytes": not reference or booked.get(reference) in sent or is_restored,
            "it should have a job, but is never due": status not in {Status.BOOKING, Status.CANCELLING}
            or due_at is not None,
            "another return of its parcel is due, which nobody intended": self._rows(RETURNS, pk)[0][0] <= 1,
            f"{there} of {pressed} parcels of one press are there": there == (pressed or 0),
            f"{len(cancels)} cancellations are under way": len(cancels) == (status in BEING_CANCELLED),
            "there is nothing to decide by": status not in UNSURE or due_at or attempts or is_restored,
        }
        return "; ".join(promise for promise, is_kept in promises.items() if not is_kept)

    def _rows(self, sql: str, *values: Any) -> list[Any]:
        return self.database.execute(sql, values).fetchall()
