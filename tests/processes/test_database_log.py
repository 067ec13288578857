"""PostgreSQL's own log, with the settings of deploy/compose.yaml, names nobody. The portal logs errors."""

import contextlib
import threading
from pathlib import Path

import psycopg
import pytest

from tests.deploy.compose import SERVICES
from tests.processes.servers import Servers

pytestmark = [pytest.mark.processes, pytest.mark.postgres]
ROW = ("Zora Canaryname", "zora@canary.example", "77 Canary Mews")
PREPARED = "INSERT INTO parcel VALUES (%s, %s, %s)"


def test_the_log_has_no_canary_after_races_constraint_errors_and_timeouts(tmp_path: Path) -> None:
    with Servers(tmp_path) as servers:
        url = servers.postgres()
        with psycopg.connect(url, autocommit=True) as one:
            one.execute("CREATE TABLE parcel (name text PRIMARY KEY, email text, street text CHECK (street <> ''))")
            one.execute(PREPARED, ROW)
            _race(url)
            for refused in (
                "INSERT INTO parcel VALUES ('Wanda Canaryname', 'wanda@canary.example', '')",
                "SET statement_timeout = 50; SELECT 'Zora Canaryname', pg_sleep(5)",
                "SELECT 'Zora Canaryname' FROM nowhere",
                "SELECT '{\"name\": Canaryname}'::json",
                "SELECT 'Zora Canaryname'::int",
                "SELECT 'Zora Canaryname'::timestamptz",
                "SELECT Canaryname FROM parcel",
                "SELECT 1 Zora Canaryname",
                "SELECT ('(Zora Canaryname'::int4range)",
                "DO $$ BEGIN RAISE division_by_zero USING DETAIL = 'Zora Canaryname'; END $$",
            ):
                with contextlib.suppress(psycopg.Error):
                    one.execute(refused)  # type: ignore[call-overload]
        log = (servers.children.logs / "postgres.log").read_text()
    assert "ready to accept connections" in log
    assert "ERROR:" not in log
    assert "canary" not in log.casefold()


def _race(url: str) -> None:
    def press() -> None:
        for bound in (psycopg.Cursor, psycopg.ClientCursor):  # by the server's limit, and by the portal's
            with contextlib.suppress(psycopg.Error), psycopg.connect(url, cursor_factory=bound) as connection:
                connection.execute(PREPARED, ROW)

    presses = [threading.Thread(target=press) for _ in range(4)]
    for one in presses:
        one.start()
    for one in presses:
        one.join()


def test_compose_starts_postgresql_with_these_settings(tmp_path: Path) -> None:
    with Servers(tmp_path) as servers:
        servers.postgres()
        started = servers.children.commands["postgres"][0]
    wanted = SERVICES["postgres"]["command"][1:]
    assert wanted
    assert set(wanted) <= set(started)
