"""Check a label's addresses, and that the reply is one whole PDF."""

import codecs
import hashlib
from urllib.parse import urljoin

from shipping_portal.carrier.connection import Reply
from shipping_portal.carrier.contract import Contract
from shipping_portal.carrier.errors import OutcomeUnknown, Rejected
from shipping_portal.carrier.hosts import Origin, is_permitted
from shipping_portal.carrier.messages import LabelFile
from shipping_portal.carrier.outcomes import outcome_of, require_success, unknown_outcome

LARGEST = 10 * 1024 * 1024
BEGINS_WITHIN = 1024  # bytes; as in Acrobat, because printers and gateways add lines before it
# bytes before the padding; some carriers write a few lines after a PDF's last marker
ENDS_WITHIN = 2048
PADDING = b"\0 \t\r\n\f"
OTHER_LANGUAGES = (b"<", b"{", b"[", b'"')  # HTML, XML and JSON, which may quote a whole PDF
HOPS = (301, 302, 303, 307, 308)
ASK_WITH_GET = (200, 404, 405, 501)


def require_safe(url: str, base: Origin, contract: Contract) -> None:
    """Raise Rejected(code="unsafe_link") unless the host is the carrier's or in the contract."""
    if not is_permitted(url, base, contract.label_hosts):
        raise Rejected(0, "unsafe_link", "The label's address is not one of the carrier's.")


def next_address(reply: Reply, contract: Contract, *, url: str, base: Origin) -> str:
    """Return a redirect's target, or "" for any other reply.

    Raises Rejected for an unsafe address.
    """
    location = reply.headers.get("location", "")
    if reply.fault or reply.status not in HOPS or not location:
        return ""
    target = urljoin(url, location)
    require_safe(target, base, contract)
    return target


def label_address(reply: Reply, contract: Contract, *, url: str, base: Origin) -> str:
    """Return the signed address from HEAD, or "" if GET returns the label.

    Raises for other replies.
    """
    if not reply.fault and reply.status in ASK_WITH_GET:
        return ""
    target = next_address(reply, contract, url=url, base=base)
    if not target:
        raise outcome_of(reply, contract)
    return target


def label_or_hop(reply: Reply, contract: Contract, *, url: str, base: Origin) -> LabelFile | str:
    """Return the label, or the signed address from which to fetch it."""
    return next_address(reply, contract, url=url, base=base) or read_label(reply, contract)


def read_signed(reply: Reply, contract: Contract) -> LabelFile:
    """Return the label from a signed address.

    A 403 there means an expired link, not our account.
    """
    if reply.status in contract.stopped_statuses:
        raise unknown_outcome(reply, contract, "the label's signed address was not accepted")
    return read_label(reply, contract)


def read_label(reply: Reply, contract: Contract) -> LabelFile:
    """Return the label's bytes unchanged.

    Raises OutcomeUnknown (retry) unless they are a whole PDF.

    The bytes decide (docs/decisions/0036): the length and the markers at the start and the end are
    checked; nothing is parsed. Without the end marker, a file truncated by the carrier, with a
    matching length, would be stored for good. The content type matters only if it says that this is
    a page or a response.
    """
    require_success(reply, contract)
    kind = reply.headers.get("content-type", "").partition(";")[0].strip().lower()
    if reply.status != 200 or kind == "text/html" or kind.endswith("json"):
        raise OutcomeUnknown("the label is not a PDF", reply.status)
    if not reply.framed:
        raise OutcomeUnknown("the reply doesn't say how long the label is", reply.status)
    before, mark, _ = reply.body[:BEGINS_WITHIN].partition(b"%PDF-")
    if not mark or before.removeprefix(codecs.BOM_UTF8).lstrip(PADDING).startswith(OTHER_LANGUAGES):
        raise OutcomeUnknown("the label does not begin like a PDF", reply.status)
    if b"%%EOF" not in reply.body.rstrip(PADDING)[-ENDS_WITHIN:]:
        raise OutcomeUnknown("the label is cut short", reply.status)
    return LabelFile(reply.body, hashlib.sha256(reply.body).hexdigest())
