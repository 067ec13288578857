"""The demo's people. Their passwords are public, so they are refused wherever DEMO is not set."""

from typing import Any

from django.db import connection

from shipping_portal.accounts.models import User

DOMAIN = "demo.example"
SENDER_EMAIL = f"sender@{DOMAIN}"
OPERATOR_EMAIL = f"operator@{DOMAIN}"
SENDER_PASSWORD = "demo-sender-parcel"  # noqa: S105  (public on purpose)
OPERATOR_PASSWORD = "demo-operator-desk"  # noqa: S105


def is_of_the_demo(user: Any) -> bool:
    return str(user.email).endswith(f"@{DOMAIN}")


def people_left_behind() -> bool:
    """Are there people of the demo in this database? An empty database, not yet migrated, has none."""
    is_migrated = User._meta.db_table in connection.introspection.table_names()
    return is_migrated and User.objects.filter(email__endswith=f"@{DOMAIN}").exists()
