"""Show the tabs above the parcels list: every built-in view that isn't empty, with a count."""

from dataclasses import dataclass

from django.db.models import Count

from orders.list.system_views import ABOVE_THE_LIST, VIEWS, SenderScope
from orders.models.order import OPEN
from shipping_portal.accounts.formatting import up_to_thousand
from shipping_portal.db.keyset import MOST_COUNTED

ALL, DRAFTS = "all", "drafts"
# These grow with the account's age.
CLOSED = (ALL, "delivered", "cancelled")


@dataclass(frozen=True)
class Tab:
    """One view and its count. `words` has a plus if not all rows were counted.

    `listed` is the number of orders in its list, or None if it has to be counted. Drafts aren't
    orders.
    """

    slug: str
    name: str
    count: int
    words: str
    listed: int | None


def tabs_of(scope: SenderScope, *, half_typed: int) -> dict[str, Tab]:
    """Return every tab by its slug. Drafts count unfinished forms.

    Two queries: one of open orders, by their index, and one of the newest thousand of all.
    """
    newest = _count_tabs(scope, CLOSED, MOST_COUNTED + 1)
    counts = newest | _count_tabs(scope, [slug for slug in ABOVE_THE_LIST if slug not in CLOSED])
    listed: dict[str, int | None] = {**counts}
    counts[DRAFTS] += half_typed
    is_cut = newest[ALL] > MOST_COUNTED
    words = {
        slug: (
            up_to_thousand(n) if slug == ALL else f"{n:,}{'+' if is_cut and slug in CLOSED else ''}"
        )
        for slug, n in counts.items()
    }
    if is_cut:
        listed |= dict.fromkeys(CLOSED[1:])
    slugs = (ALL, *(slug for slug in ABOVE_THE_LIST if slug != ALL))
    return {
        slug: Tab(slug, VIEWS[slug].words, counts[slug], words[slug], listed[slug])
        for slug in slugs
    }


def _count_tabs(
    scope: SenderScope, slugs: tuple[str, ...] | list[str], newest: int = 0
) -> dict[str, int]:
    orders = scope.orders.order_by("-pk")[:newest] if newest else scope.orders.filter(OPEN)
    wheres = {
        slug.replace("-", "_"): Count("pk", filter=VIEWS[slug].where(scope) or None)
        for slug in slugs
    }
    return dict(zip(slugs, orders.aggregate(**wheres).values(), strict=True))
