"""Page by key: fifty rows after or before a known row, so no page costs more than the first."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Q, QuerySet, Subquery, Value
from django.db.models.functions import Coalesce

PAGE = 50
MOST_COUNTED = 1000  # rows; for more a page says "1,000+"
MOST_LISTED = MOST_COUNTED + 1  # keys of a queue; one extra shows that there are more


@dataclass(frozen=True)
class Page:
    """Rows, and the keys of the neighbouring pages, or None at the end of the list."""

    rows: list[Any]
    back: str | None
    on: str | None


def count_rows(rows: QuerySet[Any]) -> int:
    """Return how many rows there are, up to MOST_COUNTED + 1.

    A long table isn't read to its end.
    """
    return rows.order_by()[: MOST_COUNTED + 1].count()


def count_together(*parts: tuple[QuerySet[Any], Mapping[str, Any]]) -> dict[str, int]:
    """Run several sets of counts, each over its own rows, in one statement.

    Each name is counted in one part; the other parts have a zero for it.
    """
    names = [name for _, counts in parts for name in counts]
    zeros = {name: Value(0) for name in names}
    first, *rest = (
        rows.order_by().values(part=Value(at)).annotate(**zeros | dict(counts)).values_list(*names)
        for at, (rows, counts) in enumerate(parts)
    )
    sums = zip(*first.union(*rest, all=True), strict=True)
    return dict(zip(names, map(sum, sums), strict=True))


def newest(rows: QuerySet[Any], most: int) -> QuerySet[Any]:
    """Return the newest rows as a condition by key, because part of a union can't be limited."""
    oldest = Subquery(rows.order_by("-pk").values("pk")[most - 1 : most])
    return rows.filter(pk__gte=Coalesce(oldest, 0))


def whole_number(text: str) -> int:
    """Return a number in plain digits. Raises ValueError for anything else, or if too large."""
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise ValueError(text)
    return int(text)


@dataclass(frozen=True)
class Keyset:
    """A sort order to page by: a column and then the row's number, or the number alone.

    A key is `1042`, or `2026-11-25.1042` with the column's value before it, which `read` reads or
    raises ValueError.
    """

    column: str = "pk"
    read: Callable[[str], Any] = whole_number
    is_descending: bool = False

    def page(self, rows: QuerySet[Any], *, on: str = "", back: str = "") -> Page:
        """Return fifty rows after the key `on` of the last one seen, or before `back` of the first.

        An invalid key gives the first page. This takes one query.
        """
        key = self.key(back)
        is_back = key is not None
        key = key or self.key(on)
        is_descending = self.is_descending != is_back
        if key:
            rows = rows.filter(self._past_key(*key, past="lt" if is_descending else "gt"))
        sign = "-" if is_descending else ""
        columns = dict.fromkeys((self.column, "pk"))
        found = list(rows.order_by(*(sign + column for column in columns))[: PAGE + 1])
        is_more, found = len(found) > PAGE, found[:PAGE]
        if is_back:
            found.reverse()
        first, last = self._key_of_row(found[:1]), self._key_of_row(found[-1:])
        return Page(
            found,
            first if (is_more if is_back else key) else None,
            last if is_back or is_more else None,
        )

    def key(self, text: str) -> tuple[Any, int] | None:
        """Return a key's value and number, or None if it is invalid."""
        value, _, number = text.rpartition(".")
        try:
            if self.column == "pk":
                return None if value else (None, whole_number(number))
            return self.read(value), whole_number(number)
        except ValueError:
            return None

    def _past_key(self, value: Any, number: int, *, past: str) -> Q:
        further = Q(**{f"pk__{past}": number})
        if self.column == "pk":
            return further
        # This is an index range, which an "or" alone isn't.
        return Q(**{f"{self.column}__{past}e": value}) & (
            Q(**{f"{self.column}__{past}": value}) | further
        )

    def _key_of_row(self, rows: list[Any]) -> str | None:
        """Return the row's key, or None without a row."""
        for row in rows:
            return str(row.pk) if self.column == "pk" else f"{getattr(row, self.column)}.{row.pk}"
        return None
