"""Read the sandbox carrier's ledger."""

from tests.sandbox_carrier import SandboxCarrier


def in_the_ledger(carrier: SandboxCarrier) -> list[tuple[str, ...]]:
    """Return weight and dimensions of the parcel the carrier booked, as we sent them."""
    bodies = [line["parcel"]["body"] for line in carrier.ledger("booked")]
    return [(*body["weight"].values(), *body["dimensions"].values()) for body in bodies]
