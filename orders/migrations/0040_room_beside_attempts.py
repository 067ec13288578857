"""Leave room on an attempt's page for its version with the carrier's answer.

PostgreSQL then logs only what differs, and not the whole request again. Only new pages change.
"""

from typing import Any

from django.db import migrations


def leave_room(_apps: Any, schema_editor: Any) -> None:
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute("ALTER TABLE orders_bookingattempt SET (fillfactor = 50)")


def fill_pages(_apps: Any, schema_editor: Any) -> None:
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute("ALTER TABLE orders_bookingattempt RESET (fillfactor)")


class Migration(migrations.Migration):
    dependencies = [("orders", "0039_no_index_of_who_changed")]

    operations = [migrations.RunPython(leave_room, fill_pages)]
