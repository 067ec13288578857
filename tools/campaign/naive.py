"""What a careful beginner writes: try again on any error. The plan that cannot make this book twice proves nothing."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path
from uuid import uuid4

from shipping_portal.carrier.client import Carrier
from shipping_portal.carrier.contract import Contract
from shipping_portal.carrier.errors import CarrierError, Rejected
from shipping_portal.carrier.messages import Measures, Party, Shipment
from tests.sandbox_carrier import SandboxCarrier
from tools.campaign.plan import Plan, background

TRIES = 3
KEY = "a-naive-key"


def doubles(plan: Plan, folder: Path, *, orders: int) -> Counter[str]:
    """Order name → how often the carrier booked it, under the plan's own troubles but with nobody killed."""
    settings = {"key": KEY, "seed": plan.seed, "trouble": background()}
    with SandboxCarrier(folder / "naive", contract="replays = true", **settings) as carrier:
        client = Carrier(
            base_url=carrier.url, account="demo-account", key=KEY, partner_id="PRT-0001",
            user_agent="ShippingPortal/naive (ops@portal.example)", contract=Contract.load(None), deadline=3.0,
        )  # fmt: skip
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda number: _book(client, f"naive-{number}"), range(orders)))
        return Counter(line["order_key"] for line in carrier.ledger("booked"))


def _book(client: Carrier, name: str) -> None:
    body = client.booking_body(_shipment(name))
    for _ in range(TRIES):
        try:
            client.book(body, key=str(uuid4()))
        except Rejected:
            return
        except CarrierError:
            continue
        return


def _shipment(name: str) -> Shipment:
    here = Party(
        name="Ira Quill", company="Quill & Co", email="ira@quill.example", phone="0491 570 006",
        line1="12 Example Lane", suburb="FITZROY", state="VIC", postcode="3065", country="AU",
    )  # fmt: skip
    there = Party(
        name="Priya Nair", email="priya@example.net", phone="0491 570 156", line1="4 Sample Street",
        suburb="BRUNSWICK", state="VIC", postcode="3056", country="AU",
    )  # fmt: skip
    measures = Measures(Decimal("2.4"), "kg", Decimal(32), Decimal(24), Decimal(11), "cm")
    return Shipment(
        sender=here, receiver=there, measures=measures, description="Ceramic mugs",
        product_code="STANDARD-PICKUP", order_key=name,
    )  # fmt: skip
