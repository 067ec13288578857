"""Show the tabs above the parcels list: every built-in view that isn't empty, with a count."""

from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import Count

from orders.list.system_views import ABOVE_THE_LIST, VIEWS, SenderScope
from orders.models.order import OPEN
from shipping_portal.accounts.formatting import up_to_thousand
from shipping_portal.db.keyset import MOST_COUNTED, count_together, newest

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

    One query counts open orders, by their index, and the newest thousand orders.
    """
    counts = _count_tabs(scope)
    is_cut = counts[ALL] > MOST_COUNTED
    listed: dict[str, int | None] = {**counts}
    counts[DRAFTS] += half_typed
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


def _count_tabs(scope: SenderScope) -> dict[str, int]:
    slugs = [slug for slug in ABOVE_THE_LIST if slug not in CLOSED]
    found = count_together(
        (newest(scope.orders, MOST_COUNTED + 1), _counts_of(scope, CLOSED)),
        (scope.orders.filter(OPEN), _counts_of(scope, slugs)),
    )
    return dict(zip((*CLOSED, *slugs), found.values(), strict=True))


def _counts_of(scope: SenderScope, slugs: Iterable[str]) -> dict[str, Count]:
    wheres = {slug.replace("-", "_"): VIEWS[slug].where(scope) for slug in slugs}
    return {f"n_{name}": Count("pk", filter=where or None) for name, where in wheres.items()}
