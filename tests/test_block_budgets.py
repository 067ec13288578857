"""With 200,000 orders no page reads more blocks than its budget: blocks don't depend on the machine."""

import json
import os
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from django.conf import settings
from django.db import connection
from django.test import Client

from orders.models import Label, Order
from shipping_portal.accounts.models import Sender, User
from tests import factories
from tracking.models import Parcel

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.postgres,
    pytest.mark.full,
    pytest.mark.timeout(600),
    pytest.mark.skipif("sqlite" in settings.DATABASES["default"]["ENGINE"], reason="it counts no blocks"),
]
MOST = 2000
# Of 200,000: 12,000 are open, the newest. 200 wait to be printed, 2,000 need a look, the others are on their way.
FILL = {
    Order: {
        "uuid": "gen_random_uuid()",
        "form_token": "gen_random_uuid()",
        "carrier_reference": "'SFILL' || n",
        "progress": "CASE WHEN n <= 188000 THEN 'delivered' WHEN n > 199800 THEN '' WHEN n % 6 = 0 THEN 'held' "
        "ELSE 'in_transit' END",
        "progress_at": "now() - (200000 - n) / 1500.0 * interval '1 day'",
        "booked_at": "now() - (1 + (200000 - n) / 1500.0) * interval '1 day'",
        "submitted_at": "now() - (1 + (200000 - n) / 1500.0) * interval '1 day'",
        "printed_at": "CASE WHEN n <= 199800 THEN now() - interval '1 hour' END",
        "eta_to": "current_date + 2",
    },
    Parcel: {"reference": "'SFILL' || n", "order_id": "{first} + n", "last_scan_at": "now() - n * interval '1 second'"},
    Label: {"order_id": "{first} + n"},
}


def fill(owner: psycopg.Connection, model: type[Any], row: Any, **keys: int) -> None:
    """Store 200,000 copies of a row in one statement, each with its own values."""
    columns = [field.column for field in model._meta.concrete_fields if not field.primary_key]
    values = [FILL[model].get(name, f'"{name}"').format(**keys) for name in columns]
    table, names = model._meta.db_table, ", ".join(f'"{name}"' for name in columns)
    # No value comes from outside of this file.
    copies = f"SELECT {', '.join(values)} FROM {table}, generate_series(1, 200000) n WHERE {table}.id = {row.pk}"  # noqa: S608
    owner.execute(f"INSERT INTO {table} ({names}) {copies}")


def blocks(client: Client, url: str) -> int:
    """Count the shared blocks that all SELECTs of a page read, as EXPLAIN runs each of them once more."""
    read: list[int] = []

    def explained(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        if sql.startswith(("SELECT", "(SELECT")):
            with connection.connection.cursor() as cursor:
                (plan,), *_ = cursor.execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {sql}", params).fetchall()
            top = (json.loads(plan) if isinstance(plan, str) else plan)[0]["Plan"]
            read.append(top["Shared Hit Blocks"] + top["Shared Read Blocks"])
        return execute(sql, params, many, context)

    assert client.get(url).status_code == 200
    with connection.execute_wrapper(explained):
        assert client.get(url).status_code == 200
    return sum(read)


def test_a_page_reads_few_blocks_of_a_large_portal(
    quill: Sender, alice: User, sam: User, visit: Callable[[User], Client], say: Callable[[str], None]
) -> None:
    order = factories.order(quill, alice, status="booked")
    parcel, label = factories.parcel(order), factories.stored_label(order)
    factories.order(quill, alice, search="zephyrine ocelot\n hobart")
    name = connection.settings_dict["NAME"]
    with psycopg.connect(os.environ["MIGRATE_DATABASE_URL"], dbname=name, autocommit=True) as owner:
        # Earlier tests leave the empty pages of rows that they deleted, in the tables and their indexes.
        owner.execute(f"VACUUM FULL {', '.join(connection.introspection.table_names())}")
        fill(owner, Order, order)
        first = Order.objects.latest("pk").pk - 200_000
        fill(owner, Parcel, parcel, first=first)
        fill(owner, Label, label, first=first)
        owner.execute("VACUUM ANALYZE")
        member, operator = visit(alice), visit(sam)
        pages = {url: blocks(member, url) for url in ("/parcels/", "/today/", "/reports/refunds/", "/parcels/new/")}
        # Words that match one parcel, nearly all, two that match nearly all, and none.
        for words in ("zephyrine", "noor", "tamsin+hobart", "nobody"):
            pages[f"searching {words}"] = blocks(member, f"/parcels/?q={words}")
        pages["/admin/"] = blocks(operator, "/admin/")
        # Few labels, all of old orders: whatever the statistics say, the number beside "Print labels" stays cheap.
        for kept in (50_000, 1_000):
            owner.execute("DELETE FROM orders_label WHERE order_id > %s", [first + kept])
            owner.execute("VACUUM ANALYZE orders_label")
            pages[f"{kept} labels"] = blocks(member, "/parcels/new/")
    say(f"Blocks a page: {pages}")
    assert not {url: count for url, count in pages.items() if count > MOST}
