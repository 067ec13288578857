"""The address book, with the same form and the same rows as on the pages."""

import uuid
from typing import Any

from orders.list.listing import LONGEST_SEARCH
from orders.views.addresses import NEWEST_FIRST, AddressForm, receiver_of
from shipping_portal.accounts.access import MemberRequest
from shipping_portal.accounts.address import receivers
from shipping_portal.accounts.models import Receiver
from shipping_portal.api import schemas
from shipping_portal.api.listed import refuse_cursor
from shipping_portal.api.operations import api_operation
from shipping_portal.api.problems import refuse_invalid
from shipping_portal.api.sent import refuse_unused, sent_form


@api_operation("GET", "/addresses", scope="addresses", answer=schemas.AddressesOut)
def list_addresses(request: MemberRequest, q: str = "", group: str = "", cursor: str = "") -> Any:
    """List receivers, newest first, fifty per page; `q` matches the start of words."""
    refuse_cursor(cursor, NEWEST_FIRST)
    found = receivers.list_receivers(request.sender, q=q[:LONGEST_SEARCH], group=group)
    page = NEWEST_FIRST.page(found, on=cursor)
    return {"addresses": page.rows, "next": page.on}


@api_operation("POST", "/addresses", scope="addresses", answer=schemas.AddressOut, status=201)
def create_address(request: MemberRequest, address: schemas.AddressIn) -> Any:
    """Add a receiver to the address book."""
    return _store(request, address, None)


@api_operation("PUT", "/addresses/{id:receiver}", scope="addresses", answer=schemas.AddressOut)
def replace_address(request: MemberRequest, receiver: uuid.UUID, address: schemas.AddressIn) -> Any:
    """Replace a receiver's details. Parcels sent to them stay as they are."""
    return _store(request, address, receiver_of(request, receiver))


@api_operation("DELETE", "/addresses/{id:receiver}", scope="addresses", status=204)
def remove_address(request: MemberRequest, receiver: uuid.UUID) -> Any:
    """Delete a receiver. Parcels sent to them stay as they are."""
    receiver_of(request, receiver).delete()


def _store(request: MemberRequest, address: Any, known: Receiver | None) -> Receiver:
    sent = sent_form(address.dict())
    form = AddressForm(sent, sender=request.sender, receiver=known)
    refuse_unused(sent, form)
    if form.is_valid():
        form.save()
    refuse_invalid(form)
    return form.known
