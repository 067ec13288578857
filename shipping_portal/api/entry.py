"""Links with which a partner's server logs a member in to the portal's pages."""

import datetime as dt
from typing import Any

from django.utils import timezone

from orders import entering
from orders.drafting import drafts
from shipping_portal.accounts.access import MemberRequest
from shipping_portal.accounts.login import entry_links
from shipping_portal.accounts.models import Audit, EntryLink
from shipping_portal.api import schemas
from shipping_portal.api.operations import api_operation
from shipping_portal.api.problems import ApiProblem
from shipping_portal.api.sent import needed_pickup_address, refuse_unused, sent_form
from shipping_portal.refused import Refused

# The field that each purpose takes.
FIELD_OF = {EntryLink.Purpose.NEW_PARCEL: "values", EntryLink.Purpose.PARCEL: "parcel"}
NOT_TAKEN = ["This purpose doesn't take it."]


@api_operation("POST", "/entry-links", scope="enter", answer=schemas.EntryLinkOut, status=201)
def create_entry_link(request: MemberRequest, link: schemas.EntryLinkIn) -> Any:
    """Make a link that logs the member in and opens one page.

    The link works once, within a minute. Redirect the member's own browser to it, and don't log it.
    Only a partner's token can make one.
    """
    now = timezone.now()
    _refuse_other_fields(link)
    try:
        url = _link_to(request, link, now)
    except Refused as error:
        raise ApiProblem("invalid", errors={"purpose": [str(error)]}) from error
    token = request.auth  # type: ignore[attr-defined]  # set by ninja
    why = f"{link.purpose} by the token {token.name}"
    Audit.write(
        "entry link made", request.user, by=request.user, sender=request.sender, reason=why, at=now
    )
    return {"url": url, "expires_at": now + entry_links.LONGEST}


def _refuse_other_fields(link: Any) -> None:
    """Raise a problem for a field that the purpose would ignore, or for a missing parcel."""
    own = FIELD_OF.get(link.purpose)
    sent = [name for name in FIELD_OF.values() if getattr(link, name) is not None]
    errors = {name: NOT_TAKEN for name in sent if name != own}
    if own == "parcel" and own not in sent:
        errors[own] = ["Say which parcel."]
    if errors:
        raise ApiProblem("invalid", errors=errors)


def _link_to(request: MemberRequest, link: Any, now: dt.datetime) -> str:
    match link.purpose:
        case EntryLink.Purpose.NEW_PARCEL:
            needed_pickup_address(request.sender)
            values = sent_form(link.values.dict() if link.values else {})
            refuse_unused(values, drafts.parcel_form(request.sender))
            return entering.link_to_new_parcel(request.user, values.dict(), now=now)
        case EntryLink.Purpose.PARCEL:
            return entering.link_to_parcel(request.user, link.parcel, now=now)
    return entry_links.link_to_settings(request.user, now=now)
