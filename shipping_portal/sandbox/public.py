"""Show pages for people: public tracking, the Authorised Tracking Page, and a dashboard.

The dashboard is for people who work with the carrier; only this machine can see it.
"""

from html import escape
from urllib.parse import urlencode, urlsplit

from shipping_portal.sandbox import signing
from shipping_portal.sandbox.depot import Depot
from shipping_portal.sandbox.parcels import Parcel
from shipping_portal.sandbox.paths import dig
from shipping_portal.sandbox.requesting import Request
from shipping_portal.sandbox.wire import Reply

PUBLIC_PATH, OWN_LINK_PATH, DASHBOARD_PATH = "/tracking-page", "/t/", "/dashboard"
SHOWN = 50


def answer(request: Request, depot: Depot) -> Reply | None:
    """Return a page, or None when the request is for the interface."""
    if request.method != "GET":
        return None
    contract = depot.contract
    signed_path = urlsplit(contract["link_page"]).path or OWN_LINK_PATH
    has_token = contract["link_token_query"] in request.query
    if request.path == OWN_LINK_PATH or (request.path == signed_path and has_token):
        return _authorised_page(request, depot)
    if request.path == PUBLIC_PATH:
        return _public_page(request, depot)
    if request.path == DASHBOARD_PATH and request.is_local:
        return _dashboard(depot)
    return None


def authorised_link(parcel: Parcel, depot: Depot, *, base_url: str) -> str:
    """Return the sender's link to the Authorised Tracking Page.

    It is valid for the contract's link_seconds.
    """
    contract, now = depot.contract, int(depot.now().timestamp())
    claims = {
        "sub": parcel.reference,
        "role": "sender",
        "iss": parcel.partner_id,
        "iat": now,
        "exp": now + int(contract["link_seconds"]),
    }
    token = signing.mint(claims, depot.file_secret)
    query = urlencode(
        {contract["link_reference_query"]: parcel.reference, contract["link_token_query"]: token}
    )
    return f"{base_url}{OWN_LINK_PATH}?{query}"


def _authorised_page(request: Request, depot: Depot) -> Reply:
    contract = depot.contract
    reference = request.query.get(contract["link_reference_query"], "")
    token = request.query.get(contract["link_token_query"], "")
    secret = depot.config.link_key if contract["link"] == "signed" else depot.file_secret
    now = depot.now().timestamp()
    claims = signing.read(token, secret, now=now) if secret else None
    parcel = depot.parcel(reference)
    if not claims or not parcel or not _claims_fit(claims, parcel, now):
        return _page(
            403,
            "This link is not good any more",
            "<p>Ask for a new link where you booked the parcel.</p>",
        )
    role = str(claims["role"])
    rows = [_address(parcel, side, depot) for side in ("sender", "receiver")]
    tools = (
        "<p>You may move the pickup by up to three business days.</p>" if role == "sender" else ""
    )
    return _page(
        200, f"Parcel {reference}, for the {role}", "".join(rows) + tools + _scan_list(parcel)
    )


def _claims_fit(claims: dict[str, object], parcel: Parcel, now: float) -> bool:
    issued, issuer = claims.get("iat"), claims.get("iss")
    return (
        claims.get("sub") == parcel.reference
        and claims.get("role") in ("sender", "receiver")
        and bool(issuer)
        and issuer == parcel.partner_id
        and isinstance(issued, int | float)
        and issued <= now + 60
    )


def _public_page(request: Request, depot: Depot) -> Reply:
    parcel = depot.parcel(request.query.get("ref", ""))
    if not parcel:
        return _page(404, "We do not know this reference", "<p>Check the letters and digits.</p>")
    state = parcel.state(now=depot.now().timestamp(), words=depot.contract.cancel_words)
    return _page(200, f"Parcel {parcel.reference}", f"<p>{escape(state)}</p>{_scan_list(parcel)}")


def _dashboard(depot: Depot) -> Reply:
    """Return the newest orders, with the ids that the interface uses for them."""
    now, words = depot.now().timestamp(), depot.contract.cancel_words
    newest = sorted(depot.by_id.values(), key=lambda parcel: parcel.created_at, reverse=True)[
        :SHOWN
    ]
    head = ("Reference", "Order ID", "Their key", "Their number", "State")
    rows = [
        (
            one.reference,
            one.order_id,
            one.order_key,
            dig(one.body, depot.contract["customer_reference"]) or "",
            one.state(now=now, words=words),
        )
        for one in newest
    ]
    lines = ["".join(f"<td>{escape(str(cell))}</td>" for cell in row) for row in (head, *rows)]
    table = "".join(f"<tr>{line}</tr>" for line in lines)
    return _page(200, "Carrier's dashboard: the newest orders", f"<table>{table}</table>")


def _scan_list(parcel: Parcel) -> str:
    items = [
        f"<li>{escape(scan.scan_time)} {escape(scan.event_type)}</li>" for scan in parcel.scans
    ]
    return f"<ol>{''.join(items)}</ol>"


def _address(parcel: Parcel, side: str, depot: Depot) -> str:
    parts = ("name", "line1", "line2", "suburb", "state", "postcode")
    values = [str(dig(parcel.body, depot.contract[f"{side}_{part}"]) or "") for part in parts]
    return f"<p>{side.title()}: {escape(', '.join(filter(None, values)))}</p>"


def _page(status: int, title: str, inner: str) -> Reply:
    # otherwise browsers request a favicon
    head = f'<title>{escape(title)}</title><link rel="icon" href="data:,">'
    text = f'<!doctype html><html lang="en">{head}<h1>{escape(title)}</h1>{inner}</html>'
    headers = [("Cache-Control", "no-store"), ("Referrer-Policy", "no-referrer")]
    return Reply(status, text.encode(), "text/html; charset=utf-8", headers)
