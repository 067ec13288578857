"""Grant the portal's database role its rights, and list any that it shouldn't have.

The owner creates tables and migrates; the app's role reads and writes rows, and adds to the audit
log: docs/decisions/0022.
"""

from django.conf import settings
from django.db import ProgrammingError, connection, transaction

# what isn't granted there
KEPT = {"accounts_audit": "UPDATE, DELETE", "django_migrations": "INSERT, UPDATE, DELETE"}
GRANTS = (
    "REVOKE CREATE ON SCHEMA public FROM PUBLIC, {app}",
    "GRANT USAGE ON SCHEMA public TO {app}",
    "REVOKE ALL ON ALL TABLES IN SCHEMA public FROM PUBLIC, {app}",
    "REVOKE ALL ON ALL SEQUENCES IN SCHEMA public FROM PUBLIC, {app}",
    "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {app}",
    "GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO {app}",
    # This covers tables of later migrations from the moment they exist.
    (
        "ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES"
        " TO {app}"
    ),
    "ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT USAGE ON SEQUENCES TO {app}",
    *(f"REVOKE {rights} ON {table} FROM {{app}}" for table, rights in KEPT.items()),
)
# Before a restore, the run-book locks the role out. A pooler's connections get limits from the
# role; the portal's own connections set them.
OF_THE_ROLE = ["ALTER ROLE {app} LOGIN"] + [
    f"ALTER ROLE {{app}} SET {name} = '{value}'"
    for name, value in (limit.split("=") for limit in settings.DATABASE_LIMITS.split())
]
OUR_TABLES = "FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')"
TOO_MANY = {
    "is a superuser": "SELECT rolsuper FROM pg_roles WHERE rolname = current_user",
    "may make roles or databases": (
        "SELECT rolcreaterole OR rolcreatedb FROM pg_roles WHERE rolname = current_user"
    ),
    "owns tables": f"SELECT EXISTS (SELECT {OUR_TABLES} AND pg_has_role(relowner, 'MEMBER'))",
    "may make tables": "SELECT has_schema_privilege('public', 'CREATE')",
    "may empty tables or add triggers": (
        f"SELECT EXISTS (SELECT {OUR_TABLES} AND has_table_privilege(oid, 'TRUNCATE, TRIGGER'))"
    ),
    "may change the audit": (
        "SELECT has_any_column_privilege('accounts_audit', 'UPDATE')"
        " OR has_table_privilege('accounts_audit', 'DELETE')"
    ),
    "may read files or run programs of the server": (
        "SELECT bool_or(pg_has_role(oid, 'MEMBER')) FROM pg_roles WHERE"
        " rolname IN ('pg_read_server_files', 'pg_write_server_files', 'pg_execute_server_program')"
    ),
    "waits without a limit": (
        "SELECT '0' IN (current_setting('lock_timeout'), current_setting('statement_timeout'))"
    ),
}
# the database's own function quotes the name, as above
CREATE = "CREATE ROLE {app} LOGIN PASSWORD %s"
ALL_QUESTIONS = "SELECT " + ", ".join(f"({question})" for question in TOO_MANY.values())


@transaction.atomic
def grant_app_role(app: str, password: str) -> list[str]:
    """Create the app's role if needed, and grant exactly what it needs. The owner may repeat this.

    If the owner may not change roles, return what somebody who may has left to do.
    """
    quoted = connection.ops.quote_name(app)
    with connection.cursor() as cursor:
        cursor.execute("SELECT FROM pg_roles WHERE rolname = %s", [app])
        if not cursor.rowcount:
            # This sends only the digest, because a server may log its owner's statements.
            digest = connection.connection.pgconn.encrypt_password(
                password.encode(), app.encode(), b"scram-sha-256"
            )
            cursor.execute(CREATE.format(app=quoted), [digest.decode()])
        for statement in GRANTS:
            cursor.execute(statement.format(app=quoted))
        try:
            with transaction.atomic():
                cursor.execute("; ".join(OF_THE_ROLE).format(app=quoted))
        except ProgrammingError:
            return [statement.format(app=quoted) for statement in OF_THE_ROLE]
    return []


def too_many() -> list[str]:
    """Return the excess rights of the current role, in words.

    There are none on SQLite or before `migrate`.
    """
    if (
        connection.vendor != "postgresql"
        or "accounts_audit" not in connection.introspection.table_names()
    ):
        return []
    with connection.cursor() as cursor:
        cursor.execute(ALL_QUESTIONS)
        return [what for what, is_so in zip(TOO_MANY, cursor.fetchone(), strict=True) if is_so]
