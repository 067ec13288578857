"""Script a booked parcel's scans for the demo, each with a place and time."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from typing import Any

from shipping_portal.sandbox.depot import Depot, new_id
from shipping_portal.sandbox.parcels import Parcel, Scan
from shipping_portal.sandbox.paths import dig
from shipping_portal.sandbox.timeline import Timeline
from shipping_portal.sandbox.webhooks import Courier
from shipping_portal.sandbox.workdays import add_business_days


@dataclass(frozen=True)
class Step:
    """A scan ``seconds`` after the booking at speed 1; ``place`` is sender, receiver or nowhere."""

    seconds: float
    progress: str
    description: str
    place: str = "sender"


CREATED = Step(3, "", "Label created")
COLLECTED = Step(8, "collected", "Parcel picked up")
MOVING = Step(30, "in_transit", "In transit", "nowhere")
AT_DOOR = Step(55, "out_for_delivery", "On board for delivery", "receiver")
DELIVERED = Step(85, "delivered", "Parcel delivered", "receiver")
SIGNED = Step(110, "", "Signed for by the receiver", "receiver")

JOURNEYS: dict[str, tuple[Step, ...]] = {
    "none": (),
    "normal": (CREATED, COLLECTED, MOVING, AT_DOOR, DELIVERED, SIGNED),
    "missed": (
        CREATED,
        Step(
            15,
            "pickup_missed",
            "No driver could come; another pickup is planned for the next business day",
        ),
        Step(45, "collected", "Parcel picked up"),
        Step(70, "in_transit", "In transit", "nowhere"),
        Step(90, "out_for_delivery", "On board for delivery", "receiver"),
        Step(115, "delivered", "Parcel delivered", "receiver"),
    ),
    "futile": (
        CREATED,
        Step(15, "pickup_futile", "A pickup was attempted but not completed"),
        Step(45, "collected", "Parcel picked up"),
        Step(70, "in_transit", "In transit", "nowhere"),
        Step(90, "out_for_delivery", "On board for delivery", "receiver"),
        Step(115, "delivered", "Parcel delivered", "receiver"),
    ),
    "attempted": (
        CREATED,
        COLLECTED,
        MOVING,
        AT_DOOR,
        Step(70, "delivery_attempted", "Nobody was there; a card was left", "receiver"),
        Step(85, "held", "Parcel waits at the agent", "receiver"),
        Step(115, "delivered", "Parcel handed over at the agent", "receiver"),
    ),
    "lost": (CREATED, COLLECTED, MOVING, Step(60, "lost", "Parcel cannot be found", "nowhere")),
    "used-after-cancel": (
        CREATED,
        Step(30, "collected", "Parcel picked up"),
        Step(50, "in_transit", "In transit", "nowhere"),
        Step(80, "delivered", "Parcel delivered", "receiver"),
    ),
}
LEAVES = (
    "collected",
    "pickup_missed",
    "pickup_futile",
)  # the parcel leaves the sender, or should leave
PREFIXES = {f"SIM-{name.upper()}": name for name in JOURNEYS}


def chosen_journey(customer_reference: str, default: str) -> str:
    """Return the script that a customer reference such as SIM-MISSED or SIM-LOST chooses."""
    matches = [prefix for prefix in PREFIXES if customer_reference.upper().startswith(prefix)]
    return PREFIXES[max(matches, key=len)] if matches else default


def step_after(parcel: Parcel, journey: str) -> int:
    """Return where a parcel that has scans joins another script."""
    seen = {(scan.progress, scan.description) for scan in parcel.scans}
    done = [
        place
        for place, step in enumerate(JOURNEYS[journey])
        if (step.progress, step.description) in seen
    ]
    return done[-1] + 1 if done else 0


def _goes_on(parcel: Parcel, step: int) -> bool:
    """Return whether a parcel goes on: a cancelled one stops, or waits until its label is used."""
    if parcel.journey == "used-after-cancel":
        return step == 0 or parcel.cancelled_at is not None
    return parcel.cancelled_at is None


class Journeys:
    """Moves parcels along.

    At speed 0 nothing moves. After a restart, a parcel continues where it was.
    """

    def __init__(self, depot: Depot, timeline: Timeline, courier: Courier) -> None:
        self.depot, self.timeline, self.courier = depot, timeline, courier

    def resume(self) -> None:
        """Start every parcel with steps left."""
        for parcel in list(self.depot.parcels.values()):
            if not parcel.is_foreign:
                self.start(parcel)

    def start(self, parcel: Parcel) -> None:
        """Plan the parcel's next scan, if there is one and time is running."""
        speed = self.depot.settings.speed
        steps = JOURNEYS[parcel.journey]
        number = parcel.journey_step
        if speed <= 0 or number >= len(steps):
            return
        gap = steps[number].seconds - (steps[number - 1].seconds if number else 0)
        least = self.depot.config.driver_after if steps[number].progress in LEAVES else 0.0
        self.timeline.after(max(gap / speed, least), self._take(parcel, parcel.journey, number))

    def take(self, parcel: Parcel, *, missed: bool = False) -> None:
        """Collect a parcel now, by driver or drop-off, or let the driver miss it."""
        journey = "missed" if missed else "normal"
        number = next(
            place for place, step in enumerate(JOURNEYS[journey]) if step.progress in LEAVES
        )
        self.depot.record("routed", **self.depot.names(parcel), journey=journey, step=number)
        self._take(parcel, journey, number)()

    def _take(self, parcel: Parcel, journey: str, step: int) -> Callable[[], None]:
        def take() -> None:
            with self.depot.lock:
                if (parcel.journey, parcel.journey_step) != (journey, step) or not _goes_on(
                    parcel, step
                ):
                    return
                self._emit(parcel, JOURNEYS[journey][step], step)
            self.start(parcel)

        return take

    def _emit(self, parcel: Parcel, step: Step, number: int) -> None:
        progress = step.progress
        description = step.description
        if progress == "collected" and not parcel.is_pickup:
            progress, description = "dropped_off", "Parcel has been dropped off"
        self.add_scan(parcel, progress, description, self.place(parcel, step.place), step=number)

    def add_scan(
        self,
        parcel: Parcel,
        progress: str,
        description: str,
        location: dict[str, str | None] | None,
        *,
        step: int | None = None,
        **overrides: Any,
    ) -> Scan:
        """Commit a scan and send it.

        ``overrides``: event_type, event_id, scan_time, push, at_once.
        """
        now = self.depot.now().isoformat(timespec="seconds").replace("+00:00", "Z")
        scan = Scan(
            event_id=overrides.get("event_id") or new_id(),
            event_type=overrides.get("event_type") or self.depot.contract.spoken(progress),
            progress=progress,
            scan_time=overrides.get("scan_time") or now,
            description=description,
            location=location,
        )
        # Only once: a script may repeat a scan that a fault has already sent.
        is_first_use = not parcel.is_moving and progress in ("collected", "dropped_off")
        self.depot.scan(parcel, scan, step=step)
        if parcel.cancelled_at is not None and is_first_use:
            self._charge_uncancellation(parcel)
        if progress in ("pickup_missed", "pickup_futile"):
            self._move_pickup(parcel)
        if overrides.get("push", True):
            self.courier.announce(parcel, scan, at_once=bool(overrides.get("at_once")))
        return scan

    def place(self, parcel: Parcel, side: str) -> dict[str, str | None] | None:
        """Return the scan's location: an end of the trip, or only nulls in between."""
        if side == "nowhere":
            return dict.fromkeys(("suburb", "state", "postcode", "country"))
        contract = self.depot.contract
        country = parcel.origin if side == "sender" else parcel.destination
        members = {
            part: dig(parcel.body, contract[f"{side}_{part}"])
            for part in ("suburb", "state", "postcode")
        }
        return {**members, "country": country}

    def _charge_uncancellation(self, parcel: Parcel) -> None:
        names = self.depot.names(parcel)
        amount = parcel.quote["gross"]
        self.depot.record(
            "charge",
            **names,
            kind="uncancellation",
            amount=amount,
            currency=parcel.quote["currency"],
        )

    def _move_pickup(self, parcel: Parcel) -> None:
        """After a missed pickup another driver comes on the next business day (section 3)."""
        if not parcel.pickup_date:
            return
        moved = add_business_days(date.fromisoformat(parcel.pickup_date), 1, parcel.origin)
        self.depot.record("moved", **self.depot.names(parcel), pickup_date=moved.isoformat())
