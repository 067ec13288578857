"""The portal works as a role that may only read and write rows. A check reports any other right."""

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import DatabaseError, connection, transaction
from django.utils import timezone

from shipping_portal.accounts.models import Audit
from shipping_portal.db import roles
from shipping_portal.ops import deploy_checks

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.postgres,
    pytest.mark.skipif("sqlite" in settings.DATABASES["default"]["ENGINE"], reason="SQLite has no roles"),
]


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE accounts_audit SET reason = ''",
        "DELETE FROM accounts_audit",
        "TRUNCATE accounts_audit",
        "TRUNCATE orders_order CASCADE",
        "DROP TABLE accounts_audit",
        "ALTER TABLE accounts_audit DISABLE TRIGGER ALL",
        "ALTER TABLE accounts_audit OWNER TO CURRENT_USER",
        "DROP TRIGGER audit_append_only ON accounts_audit",
        "DROP FUNCTION audit_append_only CASCADE",
        "CREATE OR REPLACE FUNCTION audit_append_only() RETURNS trigger LANGUAGE sql AS ''",
        "CREATE TRIGGER mine BEFORE INSERT ON orders_order EXECUTE FUNCTION audit_append_only()",
        "CREATE RULE mine AS ON INSERT TO accounts_audit DO INSTEAD NOTHING",
        "CREATE TABLE mine (a int)",
        "CREATE FUNCTION mine() RETURNS int LANGUAGE sql AS 'SELECT 1'",
        "CREATE SCHEMA mine",
        "CREATE INDEX ON orders_order (status)",
        "ALTER TABLE orders_order ADD COLUMN mine int",
        "INSERT INTO django_migrations (app, name, applied) VALUES ('orders', '0009', now())",
        "DELETE FROM django_migrations",
        "SELECT setval('orders_order_id_seq', 1)",
        "SET session_replication_role = replica",
        "SET ROLE portal",
        "ALTER ROLE CURRENT_USER SUPERUSER",
        "CREATE ROLE mine",
        "COPY accounts_audit TO PROGRAM 'cat'",
        "SELECT pg_read_file('postgresql.conf')",
    ],
)
def test_the_portals_role_is_refused(statement: str) -> None:
    with pytest.raises(DatabaseError, match=r"permission denied|must be owner"), transaction.atomic():
        connection.cursor().execute(statement)


def test_the_portals_role_has_no_excessive_right_and_can_add_to_the_audit_log() -> None:
    assert roles.too_many() == []
    assert list(deploy_checks.check_database_role(databases=["default"])) == []
    Audit.write("database restored", "nothing", by=None, at=timezone.now())


def test_owner_only_commands_say_so() -> None:
    with pytest.raises(CommandError, match="Run it as the owner: MIGRATE_DATABASE_URL"):
        call_command("after_restore", f"--backup-at={timezone.now().isoformat()}")
