"""The tabs above the parcels list: every system view that holds something, with how many."""

from dataclasses import dataclass

from django.db.models import Count

from orders.list.system_views import ABOVE_THE_LIST, VIEWS, SenderScope
from orders.models.order import OPEN
from shipping_portal.accounts.templatetags.words import up_to_thousand
from shipping_portal.db.keyset import MOST_COUNTED

ALL, DRAFTS = "all", "drafts"
CLOSED = (ALL, "delivered", "cancelled")  # as many as the account is old


@dataclass(frozen=True)
class Tab:
    """One view, and how many it holds; `words` says that, with a plus where not all of a long table was counted.

    `listed` is how many orders are in its list, None where that is to be counted; half-typed drafts are no orders.
    """

    slug: str
    name: str
    count: int
    words: str
    listed: int | None


def of(scope: SenderScope, *, half_typed: int) -> dict[str, Tab]:
    """Return every tab by its slug; drafts count with what is half typed.

    Two queries: one look at what is open, by its own index, and one at the newest thousand of all.
    """
    newest = _counts(scope, CLOSED, MOST_COUNTED + 1)
    counts = newest | _counts(scope, [slug for slug in ABOVE_THE_LIST if slug not in CLOSED])
    listed: dict[str, int | None] = {**counts}
    counts[DRAFTS] += half_typed
    is_cut = newest[ALL] > MOST_COUNTED
    words = {
        slug: up_to_thousand(n) if slug == ALL else f"{n:,}{'+' if is_cut and slug in CLOSED else ''}"
        for slug, n in counts.items()
    }
    if is_cut:
        listed |= dict.fromkeys(CLOSED[1:])
    slugs = (ALL, *(slug for slug in ABOVE_THE_LIST if slug != ALL))
    return {slug: Tab(slug, VIEWS[slug].words, counts[slug], words[slug], listed[slug]) for slug in slugs}


def _counts(scope: SenderScope, slugs: tuple[str, ...] | list[str], newest: int = 0) -> dict[str, int]:
    orders = scope.orders.order_by("-pk")[:newest] if newest else scope.orders.filter(OPEN)
    wheres = {slug.replace("-", "_"): Count("pk", filter=VIEWS[slug].where(scope) or None) for slug in slugs}
    return dict(zip(slugs, orders.aggregate(**wheres).values(), strict=True))
