"""The sandbox carrier's ledger, read."""

from tests.sandbox_carrier import SandboxCarrier


def in_the_ledger(carrier: SandboxCarrier) -> list[tuple[str, ...]]:
    """Weight and dimensions of what the carrier booked, as it was told."""
    bodies = [line["parcel"]["body"] for line in carrier.ledger("booked")]
    return [(*body["weight"].values(), *body["dimensions"].values()) for body in bodies]
