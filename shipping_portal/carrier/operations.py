"""Parse an operation of the contract: "METHOD /path/{id}?name={reference}"."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import parse_qsl, quote

from shipping_portal.carrier.errors import OperationOff

FORM = re.compile(
    r"(GET|POST|PUT|PATCH|DELETE) (/[A-Za-z0-9._~/{}-]*)(?:\?([A-Za-z0-9._~=&{}-]+))?", re.ASCII
)
NO_NAMES = {"", ".", ".."}  # each of these would change the path


@dataclass(frozen=True)
class Operation:
    """A method, a path and fixed query values, with {id} and {reference} to be filled in."""

    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()

    @classmethod
    def parse(cls, line: str) -> Operation:
        """Read the contract's notation. Raises ValueError with a message."""
        match = FORM.fullmatch(line)
        if not match:
            raise ValueError('an operation looks like "GET /orders/{id}"')
        method, path, query = match.groups()
        if set(re.findall(r"\{[^}]*\}?", line)) - {"{id}", "{reference}"}:
            raise ValueError("an operation may hold {id} and {reference} and no other braces")
        return cls(method, path, tuple(parse_qsl(query or "", keep_blank_values=True)))

    def filled(self, *, order_id: str = "", reference: str = "") -> tuple[str, dict[str, str]]:
        """Return the path and query for one order or parcel.

        A value can't change the rest of the path.

        Raises OperationOff if a value is blank or only dots: `DELETE /orders/` would be a different
        request.
        """
        line = self.path + "".join(value for _, value in self.query)
        for place, value in {"{id}": order_id, "{reference}": reference}.items():
            if place in line and value.strip() in NO_NAMES:
                raise OperationOff("The order's name at the carrier is not known.")
        path = self.path.replace("{id}", quote(order_id, safe="")).replace(
            "{reference}", quote(reference, safe="")
        )
        query = {
            name: value.replace("{id}", order_id).replace("{reference}", reference)
            for name, value in self.query
        }
        return path, query
