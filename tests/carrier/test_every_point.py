"""Rename or turn off each contract point: the portal and the sandbox still agree, or the contract is refused.

The two share no code. A journey is a ping; quotes at home, abroad and with cover; their bookings; a lookup; the labels;
a polled scan and a pushed one; a cancellation; and the billing report. Every step must work when both read the same file.
"""

import dataclasses
import json
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from shipping_portal.carrier import validators
from shipping_portal.carrier.client import Carrier
from shipping_portal.carrier.contract import Contract, ContractError
from shipping_portal.carrier.errors import OperationOff
from shipping_portal.carrier.messages import Party
from shipping_portal.carrier.scans import read_event
from shipping_portal.sandbox.workdays import add_business_days
from tests.sandbox_carrier import SandboxCarrier

from .conftest import SHIRTS, shipment

ABROAD = {
    "receiver": Party(
        name="Avery Lund", email="avery.lund@example.org", phone="+1 503 555 0142", line1="500 SW Placeholder Ave",
        suburb="Portland", state="OR", postcode="97205", country="US",
    ),
    "contents": (SHIRTS,),
    "contents_type": "Merchandise",
}  # fmt: skip
COVERED = {"cover": Decimal(200)}
DAY = add_business_days(datetime.now(UTC).date(), 5, "AU")
PATHS, NAMES = (validators.path, validators.needed_path), (validators.name, validators.needed_name)
OPERATIONS = (validators.operation, validators.optional_operation)
OPTIONAL = {"ping", "view", "track", "cancel", "subscribe"}
RULES = (validators.needed_path, validators.needed_name, validators.operation)
NEEDED = {point.name for point in dataclasses.fields(Contract) if point.metadata["check"] in RULES}
NEEDED |= {
    "auth",
    "cover_number",
    "numbers",
    "reference_shape",
    "label_fetch",
    "link",
    "units",
    "cover_amount",
    "webhook_means",
}
OTHER = {  # another value of a point that is no path, name or operation
    "auth": "bearer", "version_header": "X-Api-Version: 3", "replay_hours": 5, "reference_shape": "Z[0-9]{9}",
    "refused_statuses": [400, 404, 422], "stopped_statuses": [401, 403], "cancel_refused_statuses": [410],
    "cancelled_statuses": [200], "destinations": ["US", "NZ"], "export_origins": ["AU", "CA"], "longest_name": 60,
    "longest_instructions": 90, "contents_types": ["Merchandise", "Loan"], "hs_code_shortest": 4, "hs_code_longest": 12,
    "hs_code_duties_paid": 8, "duties_paid_word": "PAID", "pickup_suffix": "-COLLECT", "dropoff_suffix": "-COUNTER",
    "cover_number": "string", "cover_limit": 900.0, "cover_origins": ["AU", "US"], "numbers": "number",
    "packaging_word": "carton", "full_page_sizes": ["page"], "cropped_sizes": ["small"], "cancelled_word": "void",
    "asked_word": "Asked", "cancel_refused_states": ["Denied"],
    "test_word": "test", "refused_states": ["Declined"], "pending_states": ["Queued"],
    "most_tracking_pages": 3, "label_fetch": "get", "label_hosts": "files.example", "link": "response",
    "link_page": "https://track.example/{reference}", "link_seconds": 60, "link_hosts": "track.example",
    "webhook_means": "look", "tracking_per_second": 9.0, "requests_per_second": 9.0, "units": "metric",
    "public_tracking": "https://track.example/{reference}", "words": {"Handed Over": "collected"},
}  # fmt: skip


# Each point alone needs a carrier of its own, so most run each night. A landing has every path, name and operation
# renamed at once, each point that may not be off, and each operation that may.
ALONE = pytest.mark.nightly


def cases() -> list[tuple[str, str, Any]]:
    found: list[tuple[str, str, Any]] = []
    for point in dataclasses.fields(Contract):
        rule, name = point.metadata["check"], point.name
        default = getattr(Contract(), name)
        if isinstance(default, bool):
            found.append((name, "the other", not default))
        elif rule in PATHS:
            found.append((name, "renamed", f"renamed.{name}"))
        elif rule in NAMES:
            found.append((name, "renamed", f"renamed-{name}"))
        elif rule in OPERATIONS:
            found.append((name, "renamed", default.replace(" /", " /renamed/")))
        else:
            found.append((name, "another", OTHER[name]))
        if isinstance(default, str):
            found.append((name, "off", ""))
    return found


def written(name: str, value: Any) -> str:
    if isinstance(value, dict):
        return "[words]\n" + "\n".join(f'"{word}" = "{progress}"' for word, progress in value.items())
    return f"{name} = {json.dumps(value)}\n"


class Journey:
    """Everything the portal asks of a carrier, and which steps the contract turns off."""

    def __init__(self, sandbox: SandboxCarrier, contract: Contract) -> None:
        self.sandbox, self.contract, self.off = sandbox, contract, set[str]()
        self.carrier = Carrier(
            base_url=sandbox.url, account="demo-account", key="demo-key", partner_id="PRT-0001",
            user_agent="ShippingPortal/1.0 (ops@portal.example)", contract=contract, connect_timeout=20.0,
            deadline=40.0,  # a busy machine is slow to shake hands
        )  # fmt: skip

    def call(self, name: str, step: Callable[[], Any]) -> Any:
        try:
            return step()
        except OperationOff:
            self.off.add(name)
            return None

    def go(self) -> None:
        self.call("ping", self.carrier.ping)
        booked = [self.bought(**changes) for changes in ({}, ABROAD, COVERED)]
        assert len({one.reference for one in booked}) == 3
        self.after_the_booking(booked[0])
        assert len(self.sandbox.report()[1].splitlines()) > 3
        self.sandbox.foreign(self.contract.reference_example)
        self.sandbox.listen_at("http://127.0.0.1:9/hook")
        self.call("subscribe", lambda: self.carrier.subscribe(self.contract.reference_example))

    def bought(self, **changes: Any) -> Any:
        """Book each product as it was offered: by its code, at its price, on its day. Return the last order."""
        offered = self.carrier.quote(shipment(**changes))
        assert offered.products
        assert not offered.unreadable
        for number, product in enumerate(offered.products):
            day = DAY if not self.contract.ends_with(product.code, "dropoff_suffix") else None
            wanted = shipment(**changes, product_code=product.code, pickup_date=day)
            made = self.carrier.book(self.carrier.booking_body(wanted), key=f"{sorted(changes)} {number}")
            assert made.labels
            if "cover" in changes and not self.contract.post_quote_with_cover:
                assert made.price.amount > product.price.amount  # GET has no place for the cover: the booking tells it
                continue
            if made.price:
                assert made.price == product.price
            if made.pickup_date and day:
                assert made.pickup_date == day
            assert Decimal(self.sandbox.ledger("booked")[-1]["parcel"]["quote"]["gross"]) == product.price.amount
        return made

    def after_the_booking(self, booked: Any) -> None:
        for label in booked.labels:
            assert self.carrier.label(label).content.startswith(b"%PDF-")
        viewed = self.call("view", lambda: self.carrier.view(booked.order_id))
        assert viewed is None or viewed.reference == booked.reference
        self.sandbox.scan(booked.reference, "Info", push=False)
        tracked = self.call("track", lambda: self.carrier.track(booked.reference))
        if tracked:
            assert (len(tracked.scans), tracked.unreadable) == (1, ())
            assert read_event(json.dumps(tracked.scans[0].raw).encode(), self.contract).reference == booked.reference
        cancelled = self.call("cancel", lambda: self.carrier.cancel(booked.order_id))
        effect = "refund_asked" if cancelled and cancelled.is_asked else "cancelled"
        assert cancelled is None or len(self.sandbox.ledger(effect)) == 1


def marked(name: str, how: str, value: Any) -> Any:
    at_a_landing = how == "off" and name in NEEDED | OPTIONAL
    return pytest.param(name, how, value, id=f"{name}-{how}", marks=[] if at_a_landing else ALONE)


def test_portal_and_sandbox_agree_when_every_point_is_renamed(tmp_path) -> None:
    text = "".join(written(name, value) for name, how, value in cases() if how == "renamed")
    file = tmp_path / "contract.toml"
    file.write_text(text)
    with SandboxCarrier(tmp_path / "carrier", contract=text) as sandbox:
        journey = Journey(sandbox, Contract.load(file))
        journey.go()
    assert journey.off == set()


@pytest.mark.parametrize(("name", "how", "value"), [marked(*case) for case in cases()])
def test_portal_and_sandbox_agree_or_the_contract_is_refused(tmp_path, name: str, how: str, value: Any) -> None:
    text = written(name, value)
    file = tmp_path / "contract.toml"
    file.write_text(text)
    if how == "off" and name in NEEDED:
        with pytest.raises(ContractError, match=name):
            Contract.load(file)
        return
    contract = Contract.load(file)
    with SandboxCarrier(tmp_path / "carrier", contract=text) as sandbox:
        journey = Journey(sandbox, contract)
        journey.go()
    assert journey.off == ({name} & OPTIONAL if how == "off" else set())


def test_every_point_has_its_cases() -> None:
    assert {name for name, _, _ in cases()} == {point.name for point in dataclasses.fields(Contract)}
