"""Links by which a partner's server logs a member in to the pages."""

import datetime as dt
from typing import Any

from django.utils import timezone

from orders import entering
from shipping_portal.accounts.access import MemberRequest
from shipping_portal.accounts.login import entry_links
from shipping_portal.accounts.models import Audit, EntryLink
from shipping_portal.api import schemas
from shipping_portal.api.operations import api_operation
from shipping_portal.api.problems import ApiProblem
from shipping_portal.api.sent import sent_form
from shipping_portal.refused import Refused


@api_operation("POST", "/entry-links", scope="enter", answer=schemas.EntryLinkOut, status=201)
def create_entry_link(request: MemberRequest, link: schemas.EntryLinkIn) -> Any:
    """Make a link that logs the member in and opens one page.

    It opens once, within a minute. Redirect the member's own browser to it, and don't log it. Only
    a partner's token can make one.
    """
    now = timezone.now()
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


def _link_to(request: MemberRequest, link: Any, now: dt.datetime) -> str:
    match link.purpose:
        case EntryLink.Purpose.NEW_PARCEL:
            values = sent_form(link.values.dict()).dict() if link.values else {}
            return entering.link_to_new_parcel(request.user, values, now=now)
        case EntryLink.Purpose.PARCEL:
            return entering.link_to_parcel(request.user, link.parcel, now=now)
    return entry_links.link_to_settings(request.user, now=now)
