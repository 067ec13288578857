"""Read tracking replies in pages: find the next page, and join them all."""

from collections.abc import Sequence
from dataclasses import replace
from urllib.parse import parse_qsl, urlencode, urljoin, urlsplit, urlunsplit

from shipping_portal.carrier.connection import Reply
from shipping_portal.carrier.contract import Contract
from shipping_portal.carrier.hosts import Origin
from shipping_portal.carrier.messages import Tracked
from shipping_portal.carrier.reading import newest_scans, read_tracked, reply_flags
from shipping_portal.carrier.values import value_at

ADDRESSES = ("https://", "http://", "/", "?")


def read_page(
    reply: Reply, contract: Contract, *, reference: str, base: Origin, visited: Sequence[str]
) -> Tracked:
    """Return one page of scans and the next page's address.

    `visited` holds the addresses so far, with this page's last. If the next page won't be
    requested, that is recorded with what was unreadable, and in the call's outcome.
    """
    page = read_tracked(reply, contract, reference=reference, must_list=True)
    value = value_at(reply.document, contract.tracking_next)
    if value in (None, "", False):
        return page
    url = _next_address(value, visited[-1], contract)
    why = _reason_to_stop(url, contract, base, visited)
    if not why:
        return replace(page, next_page=url)
    return replace(
        page, unreadable=(*page.unreadable, ({"left_out": "pages"}, why)), outcome="incomplete"
    )


def join_pages(pages: Sequence[Tracked], *, is_whole: bool) -> Tracked:
    """Return all pages' scans as one reply, or only the newest if there are very many."""
    scans = [scan for page in pages for scan in page.scans]
    unreadable = [row for page in pages for row in page.unreadable]
    day = next((page.pickup_date for page in pages if page.pickup_date), None)
    value = (*unreadable, *reply_flags(len(scans), 0)) if len(pages) > 1 else tuple(unreadable)
    return replace(
        pages[0],
        scans=newest_scans(scans),
        unreadable=value,
        pickup_date=day,
        next_page="",
        body=b"".join(page.body for page in pages),
        is_whole=is_whole,
    )


def _next_address(value: object, visited: str, contract: Contract) -> str:
    """Return the next page's address: absolute, relative to this one, or a value for the query."""
    word = str(value) if isinstance(value, str | int) else ""
    if word.startswith(ADDRESSES):
        return urljoin(visited, word)
    parts = urlsplit(visited)
    query = {
        **dict(parse_qsl(parts.query, keep_blank_values=True)),
        contract.tracking_page_query: word,
    }
    return urlunsplit(parts._replace(query=urlencode(query))) if word else ""


def _reason_to_stop(url: str, contract: Contract, base: Origin, visited: Sequence[str]) -> str:
    """Return why the next page isn't requested, or ""."""
    if Origin.of(url) != base:
        return "the next page of scans is not at the carrier's address"
    if url in visited:
        return "the next page of scans is one that was read already"
    if len(visited) >= contract.most_tracking_pages:
        return f"more than {contract.most_tracking_pages} pages of scans"
    return ""
