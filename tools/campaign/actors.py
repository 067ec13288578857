"""Act as people while things go wrong: quote and book, press twice, change their minds, and sort things out."""

import random
import re
import threading
import time
import zlib
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from html import unescape
from typing import Any, Literal

import requests

from tools.campaign.browser import Browser, GaveUp, Noticed
from tools.campaign.people import Person

PARCEL = {
    "receiver_name": "Priya Nair",
    "receiver_country": "AU",
    "receiver_line1": "4 Sample Street",
    "receiver_suburb": "Brunswick",
    "receiver_state": "VIC",
    "receiver_postcode": "3056",
    "receiver_email": "priya@example.net",
    "receiver_phone": "0491 570 156",
    "delivery_choice": "none",
    "description": "Ceramic mugs",
    "weight_kg": "2.4",
    "length_cm": "32",
    "width_cm": "24",
    "height_cm": "11",
}
PRESSED_TWICE, CANCELS, REPLACES, USES_AFTER_CANCEL, LOOKS = 0.10, 0.07, 0.03, 0.01, 0.10
SENDS_BACK, SEVERAL = 0.05, 0.05
SIDES = ("weight", "length", "width", "height")
RETURN_OF = "return of"
ORDER = re.compile(r"/parcels/([0-9a-f-]{36})/")
OFFER = re.compile(r'name="form_token" value="([^"]+)">\s*<input type="hidden" name="product" value="([^"]+)"')


@dataclass
class Done:
    """What the portal promised: an order for each accepted form, each once."""

    wanted: int
    seed: int
    several: float = 0.0  # the share of orders with three parcels; only the first parcel is recorded here
    orders: dict[str, str] = field(default_factory=dict)  # order uuid → the customer reference it was booked with
    cancels: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    asked: int = 0
    pace: int = 0  # how many may be requested now, so that nobody gets ahead of the nemesis
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def next(self) -> int | None:
        """Return the next parcel's number once it may be requested, or None if there are enough."""
        while self.pace <= self.asked < self.wanted:
            time.sleep(0.02)
        with self._lock:
            if self.asked >= self.wanted:
                return None
            self.asked += 1
            return self.asked

    def returns(self) -> list[str]:
        return [order for order, name in self.orders.items() if name.startswith(RETURN_OF)]

    def accept(self, order: str, reference: str) -> None:
        with self._lock:
            if self.orders.setdefault(order, reference) != reference:
                self.faults.append(f"{order} answers for {self.orders[order]} and {reference}")


@dataclass
class Change:
    """An order about which somebody changes their mind."""

    order: str
    at: float
    what: Literal["cancel", "replace", "send back"]
    gives_up_at: float


def said(reply: requests.Response) -> str:
    """Return a page's status and its first words, to investigate a failed run."""
    words = re.sub(r"<[^>]+>", " ", reply.text.partition("<main")[2])
    return f"{reply.status_code} {' '.join(words.split())[:300]}"


def choose(offers: list[tuple[str, str]], name: str) -> tuple[str, str]:
    """Return the first offer of one carrier. Where two have offers, each gets half of the parcels, by their names."""
    is_second = bool(zlib.crc32(name.encode()) % 2)
    # The key of a second carrier's offer ends with @ and the account's key.
    return next((offer for offer in offers if ("@" in offer[1]) == is_second), offers[0])


class Sender(threading.Thread):
    """Books one parcel after another through the real forms, and changes their mind about some of them."""

    patience = 60.0  # seconds for a change of mind to complete; after that we stop waiting

    def __init__(self, person: Person, url: str, noticed: Noticed, done: Done, parcel: dict[str, str] = PARCEL) -> None:
        super().__init__(name=person.email, daemon=True)
        self.parcel = parcel
        self.browser, self.done, self.person = Browser(url, noticed), done, person
        self.changes: deque[Change] = deque()
        self.presses = ThreadPoolExecutor(2)

    def run(self) -> None:
        try:
            self._work()
        except Exception as problem:  # noqa: BLE001  (if a sender stopped unnoticed, the run would prove nothing)
            self.done.faults.append(f"{self.person.email} stopped: {problem!r}")

    def _work(self) -> None:
        self.browser.log_in(self.person.email, self.person.password)
        while (number := self.done.next()) is not None:
            self._guarded(lambda number=number: self._one(number))
            self._guarded(self._change_minds)
        while self.changes:
            self._guarded(self._change_minds)
            time.sleep(0.2)
        self.presses.shutdown()

    def _guarded(self, act: Callable[[], None]) -> None:
        try:
            act()
        except GaveUp as problem:
            self.done.faults.append(f"nobody answered at {problem}")

    def _one(self, number: int) -> None:
        rng = random.Random(f"{self.done.seed}:{number}")
        draw = rng.random()
        cancels = draw < CANCELS + REPLACES + USES_AFTER_CANCEL
        journey = "SIM-USED-AFTER-CANCEL" if draw < USES_AFTER_CANCEL else "SIM-NONE" if cancels else "C"
        parcels = 3 if 0.5 < draw < 0.5 + self.done.several else 1
        order = self.book(f"{journey}-{number}", twice=rng.random() < PRESSED_TWICE, parcels=parcels)
        if order and (cancels or draw > 1 - SENDS_BACK):
            what: Any = "send back" if not cancels else "replace" if draw > CANCELS else "cancel"
            now = time.monotonic()
            self.changes.append(Change(order, now + rng.uniform(0.5, 3), what, now + self.patience))
        if order and rng.random() < LOOKS:
            self.browser.get("/parcels/")
            self.browser.get(f"/parcels/{order}/")

    def book(self, reference: str, *, twice: bool, parcels: int = 1) -> str | None:
        """Go from the form to the accepted order; return its uuid, or for several parcels the first one's."""
        further = {
            f"parcel_{number}_{name}": value
            for number in range(2, parcels + 1)
            for name, value in self.parcel.items()
            if name.startswith(SIDES)
        }
        quotes = self._prices(self.parcel | further | {"parcels": str(parcels), "customer_reference": reference})
        if quotes is None:
            return None
        chosen = self._choose(quotes, reference) | {"another": "yes"}
        presses = [self.presses.submit(self._press, quotes, chosen) for _ in range(1 + twice)]
        answers = {press.result() for press in presses}
        found = {match.group(1) for answer in answers if (match := ORDER.search(answer))}
        if len(found) != 1 or len(answers) != 1:
            self.done.faults.append(f"{reference} was answered with {answers}")
            return None
        self.done.accept(*found, reference)
        return found.pop()

    def _choose(self, quotes: str, name: str) -> dict[str, str]:
        """Return the fields that the form of one offer sends, from a page of prices."""
        token, product = choose(OFFER.findall(self.browser.get(quotes).text), name)
        return {"form_token": token, "product": unescape(product), "pickup_date": ""}

    def _press(self, quotes: str, chosen: dict[str, str]) -> str:
        reply = self.browser.post(f"{quotes}book/", chosen)
        return reply.headers.get("Location") or said(reply)

    def _prices(self, parcel: dict[str, str]) -> str | None:
        for _ in range(60):
            reply = self.browser.post("/parcels/new/", parcel)
            if reply.status_code == 302:
                return str(reply.headers["Location"])
            time.sleep(0.3)  # no prices right now; the page says so and keeps what was typed
        self.done.faults.append(f"no prices for {parcel['customer_reference']}: {said(reply)}")
        return None

    def _change_minds(self) -> None:
        now = time.monotonic()
        for _ in range(len(self.changes)):
            change = self.changes.popleft()
            act = self._sent_back if change.what == "send back" else self._cancelled
            if (change.at > now or not act(change)) and now < change.gives_up_at:
                self.changes.append(change)

    def _cancelled(self, change: Change) -> bool:
        """Ask to cancel, with or without a replacement, which is followed until the new parcel is due."""
        if change.order not in self.done.cancels:
            if not (self._asked_to_replace(change) if change.what == "replace" else self._asked_to_cancel(change)):
                return False
            self.done.cancels.append(change.order)
        return change.what == "cancel" or self._replaced(change)

    def _sent_back(self, change: Change) -> bool:
        """Send a delivered parcel back from two windows at once, which makes one return."""
        began = [self.browser.post(f"/parcels/{change.order}/return/", {}) for _ in range(2)]
        if not all(reply.is_redirect for reply in began):  # not delivered yet, or no prices right now
            return False
        windows = [
            (reply.headers["Location"], self._choose(reply.headers["Location"], change.order)) for reply in began
        ]
        answers = [press.result() for press in [self.presses.submit(self._press, *window) for window in windows]]
        found = {match.group(1) for answer in answers if (match := ORDER.search(answer))}
        if len(found) != 1:
            self.done.faults.append(f"{change.order} was sent back with {answers}")
        for order in found:
            self.done.accept(order, f"{RETURN_OF} {change.order}")
        return True

    def _asked_to_cancel(self, change: Change) -> bool:
        reply = self.browser.post(f"/parcels/{change.order}/cancel/", {"need": "not_sending"})
        return reply.status_code == 302

    def _asked_to_replace(self, change: Change) -> bool:
        """Send the corrected form, see its prices, and press the button."""
        parcel = self.parcel | {"customer_reference": f"SIM-NONE-again-{change.order[:8]}"}
        asked = self.browser.post(f"/parcels/{change.order}/replace/", parcel)
        found = OFFER.findall(self.browser.get(asked.headers["Location"]).text) if asked.is_redirect else []
        if not found:  # not booked yet, or no prices right now
            return False
        token, product = choose(found, change.order)
        chosen = {"form_token": token, "product": unescape(product), "pickup_date": ""}
        reply = self.browser.post(f"{asked.headers['Location']}book/", chosen)
        return "/replacing/" in reply.headers.get("Location", "")

    def _replaced(self, change: Change) -> bool:
        reply = self.browser.get(f"/parcels/{change.order}/replacing/")
        if "stays booked" in reply.text:
            return True
        found = ORDER.search(reply.headers.get("Location", ""))
        if not found:
            return False
        self.done.accept(found.group(1), f"SIM-NONE-again-{change.order[:8]}")
        return True


class Operator:
    """Resolves what waits for a person, in the admin's own pages, after asking the carrier."""

    def __init__(self, url: str, session: str, noticed: Noticed) -> None:
        self.browser = Browser(url, noticed)
        self.browser.session.cookies.set("session", session)

    def resolve(self, order: Any, booked: dict[str, Any] | None) -> bool:
        """Resolve a case: the carrier says that it has this booking (`booked`), or none."""
        address = f"/admin/orders/order/{order.pk}/resolve/"
        self.browser.get(address)
        data = {"decision": "not_booked", "not_booked-reason": "Asked the carrier: no such order."}
        if booked:
            data = {
                "decision": "adopt",
                "adopt-reference": booked["reference"],
                "adopt-carrier_order_id": booked["order_id"],
                "adopt-reason": "Asked the carrier: it is this one.",
            }
        return self.browser.post(address, data).status_code == 302
