"""DATABASE_URL's TLS options work: nobody connects to a server without a trusted certificate."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings

from tests.certificates import own_certificate
from tests.ports import free_port
from tools.campaign.servers import ROOT
from tools.dev.ports import HOST, is_open
from tools.dev.processes import ChildProcesses
from tools.dev.servers import NOBODY, write_private

FOUND = sorted(Path("/usr/lib/postgresql").glob("*/bin"))  # Debian's: the one we bundle is built without TLS
pytestmark = [
    pytest.mark.processes,
    pytest.mark.xdist_group("database tls"),  # two servers for all
    pytest.mark.skipif("postgresql" not in settings.DATABASES["default"]["ENGINE"], reason="TLS is PostgreSQL's"),
    pytest.mark.skipif(
        not FOUND and os.environ.get("CI") != "true", reason="this machine has no Debian PostgreSQL: apt-get install"
    ),
]
SHOW = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()"


def start(children: ChildProcesses, name: str, *, tls: bool) -> tuple[str, str]:
    """Start Debian's server with or without its own certificate for 127.0.0.1. Return its address and certificate."""
    folder = Path(tempfile.mkdtemp(prefix="portal-tls-"))  # not pytest's: that one is closed to the server's user
    children.remove_at_end(folder)
    programs, data, port = FOUND[-1], folder / "data", free_port()
    certificate, how = own_certificate(folder), {"cwd": folder}
    secret = write_private(folder / "password", ["a-password"])
    certificate.key.chmod(0o600)
    if os.geteuid() == 0:
        how |= {"user": NOBODY, "group": NOBODY, "extra_groups": []}
        for path in (folder, secret, *certificate):
            os.chown(path, NOBODY, NOBODY)
    account = ["--username=portal", f"--pwfile={secret}", "--auth=scram-sha-256"]
    children.check_output(f"initdb-{name}", [programs / "initdb", "-D", data, "--no-sync", *account], **how)
    server = [programs / "postgres", "-D", data, "-h", HOST, "-p", port, "-k", "", "-F"]
    tls_words = ["-c", "ssl=on", "-c", f"ssl_cert_file={certificate.bundle}", "-c", f"ssl_key_file={certificate.key}"]
    children.start(f"postgres-{name}", [*server, *(tls_words if tls else [])], **how)
    children.wait_for(f"postgres-{name}", lambda: is_open(port))
    return f"postgres://portal:a-password@{HOST}:{port}/postgres", str(certificate.bundle)


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    with ChildProcesses(tmp_path_factory.mktemp("tls")) as children:
        unsafe, another_root = start(children, "open", tls=False)
        safe, root = start(children, "tls", tls=True)
        yield {"open": unsafe, "tls": safe, "root": root, "another root": another_root}


def psql(address: str) -> "subprocess.CompletedProcess[str]":
    command = [str(FOUND[-1] / "psql"), address, "--tuples-only", "--no-align", "--command", SHOW]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def portal(address: str) -> "subprocess.CompletedProcess[str]":
    code = f"from django.db import connection as c; u = c.cursor(); print('ft'[u.execute('{SHOW}').fetchone()[0]])"
    env = os.environ | {"DATABASE_URL": address, "MIGRATE_DATABASE_URL": ""}
    command = [sys.executable, "manage.py", "shell", "-v0", "-c", code]
    return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("server", "root", "host", "given"),
    [
        ("open", "root", HOST, "server does not support SSL"),
        ("tls", "another root", HOST, "certificate verify failed"),
        ("tls", "root", "localhost", "does not match host name"),
        ("tls", "root", HOST, ""),
    ],
)
def test_the_portal_and_psql_connect_only_with_a_trusted_certificate(
    servers: dict[str, str], server: str, root: str, host: str, given: str
) -> None:
    address = servers[server].replace(HOST, host) + f"?sslmode=verify-full&sslrootcert={servers[root]}"
    for done in (psql(address), portal(address)):
        assert (done.returncode == 0) == (not given), done.stderr
        assert given in done.stderr if given else done.stdout.strip() == "t"
