"""A browser that skips the page's own checks, the values on the page it gets back, and a carrier that records its calls."""

import datetime as dt
import re
from decimal import Decimal
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urlencode

from django.http import HttpResponse
from django.test import Client

from shipping_portal.accounts.models import User
from shipping_portal.carrier.messages import Money, Product, Quoted, Shipment

FORM = "application/x-www-form-urlencoded"
LOG_IN = "allauth.account.auth_backends.AuthenticationBackend"


class Browser:
    """One person's browser. It opens a page, takes the token from its form, and sends whatever the test wants."""

    def __init__(self, person: User | None = None) -> None:
        self.client = Client(enforce_csrf_checks=True)
        if person:
            self.client.force_login(person, backend=LOG_IN)

    def get(self, address: str, **extra: Any) -> Any:
        return self.client.get(address, **extra)

    def token(self, address: str) -> str:
        found = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', self.get(address).content.decode())
        assert found, f"no form on {address}"
        return found[1]

    def send(self, address: str, fields: dict[str, Any], *, form_on: str = "", **extra: Any) -> Any:
        """Post the fields as a form would, from the page `form_on` or else from the address itself."""
        return self.send_raw(address, encoded({**fields, **self._token(form_on or address)}), **extra)

    def send_raw(self, address: str, body: bytes, *, content_type: str = FORM, **extra: Any) -> Any:
        return self.client.generic("POST", address, body, content_type=content_type, **extra)

    def _token(self, address: str) -> dict[str, str]:
        return {"csrfmiddlewaretoken": self.token(address)}


def encoded(fields: dict[str, Any]) -> bytes:
    """Encode fields as a form does. A list sends its field more than once; a lone surrogate is sent as three bytes."""
    return urlencode(fields, doseq=True, errors="surrogatepass").encode()


class _Controls(HTMLParser):
    """Read the value of every control on a page, by name. Unchecked ones have none."""

    def __init__(self) -> None:
        super().__init__()
        self.values: dict[str, str] = {}
        self._select = ""

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attributes}
        if tag == "select":
            self._select = found.get("name", "")
        elif tag == "option" and "selected" in found:
            self.values[self._select] = found.get("value", "")
        elif tag == "input" and (found.get("type") not in {"radio", "checkbox"} or "checked" in found):
            self.values[found.get("name", "")] = found.get("value", "")


def lost(answer: HttpResponse, typed: dict[str, Any]) -> dict[str, Any]:
    """Return the typed values that are no longer in their controls."""
    page = _Controls()
    page.feed(answer.content.decode())
    return {name: value for name, value in typed.items() if page.values.get(name, "") != value}


class ListeningCarrier:
    """A fake carrier that records its requests and quotes one service. It books nothing."""

    def __init__(self) -> None:
        self.asked: list[Shipment] = []
        self.price = Decimal("12.08")
        self.refuses: Exception | None = None

    def quote(self, shipment: Shipment) -> Quoted:
        self.asked.append(shipment)
        if self.refuses:
            raise self.refuses
        price = Money(self.price, "AUD")
        only = Product(
            code="STANDARD-PICKUP",
            name="Standard Pickup",
            first_mile="pickup",
            service="standard",
            price=price,
            breakdown=(("base", price),),
            taxes=(),
            plan="Pro",
            eta_from=None,
            eta_to=dt.date(2026, 12, 4),
            send_date=None,
            duties_paid=False,
            cover_price=None,
            raw={},
        )
        return Quoted((only,))
