"""Keep the orders' search texts, in pieces, in a separate table: docs/decisions/0056."""

from typing import Any

from django.db import models
from django.db.models import Exists, OuterRef, Q, Subquery

from orders.models.order import Order
from shipping_portal.concurrent_indexes import TrigramIndex


class OrderSearch(models.Model):
    """One piece of an order's `search`. Triggers write it; no code does.

    Text that is added later, such as the carrier's reference, is a separate piece.
    """

    pk = models.CompositePrimaryKey("order_id", "start")
    # No constraints: the triggers see every row of orders come and go.
    order = models.ForeignKey(
        Order, on_delete=models.DO_NOTHING, related_name="+", db_index=False, db_constraint=False
    )
    start = models.PositiveIntegerField()  # where the piece begins in the text
    sender = models.ForeignKey(
        "accounts.Sender",
        on_delete=models.DO_NOTHING,
        related_name="+",
        db_index=False,
        db_constraint=False,
    )
    text = models.TextField()

    class Meta:
        indexes = [TrigramIndex(fields=["text"], name="pieces_by_part_of_a_word")]

    def __str__(self) -> str:
        return f"search text of order {self.order_id}"


class Keys(Subquery):
    empty_result_set_value = NotImplemented  # with none, the condition matches nothing


class IsAmong(models.Func):
    """Match a key among those of a query, which PostgreSQL runs once, before the rest."""

    template, arg_joiner = "%(expressions)s", " IN "
    output_field = models.BooleanField()

    def as_postgresql(self, compiler: Any, connection: Any) -> Any:
        return self.as_sql(
            compiler, connection, template="%(expressions)s)", arg_joiner=" = ANY (ARRAY"
        )


def of_sender(word: str) -> Exists:
    """Match orders whose text contains the word, where the query names their sender."""
    same = {"order": OuterRef("pk"), "sender": OuterRef("sender")}
    return Exists(OrderSearch.objects.filter(**same, text__icontains=word))


def of_anybody(where: Q) -> Q:
    """Match orders with such a piece, even along with other conditions."""
    return Q(IsAmong(models.F("pk"), Keys(OrderSearch.objects.filter(where).values("order"))))
