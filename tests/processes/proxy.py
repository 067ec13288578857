"""A real nginx with the file from deploy/. Only names, ports and paths are the test's."""

import os
import re
import shutil
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Self

import pytest

from tests.certificates import own_certificate
from tests.ports import free_port
from tests.processes.portal import ROOT, until
from tools.dev.ports import is_open

TEMPORARY = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")


class Proxy:
    """`with Proxy(folder, [port, port]) as proxy:` runs nginx in front of two web servers until the block ends."""

    def __init__(self, folder: Path, webs: list[int]) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.port, self.plain_port = folder, free_port(), free_port()
        self.url, self.plain_url = f"https://127.0.0.1:{self.port}", f"http://127.0.0.1:{self.plain_port}"
        self.certificate = own_certificate(folder)
        self.log, self.error_log = folder / "access.log", folder / "error.log"
        text = (ROOT / "deploy" / "nginx.conf").read_text()
        places = [f"{part}_temp_path {folder / part};" for part in TEMPORARY]
        for place, at_test in {
            r"web-a:8000": f"127.0.0.1:{webs[0]}",
            r"web-b:8000": f"127.0.0.1:{webs[1]}",
            r"listen 80;": f"listen 127.0.0.1:{self.plain_port};",
            r"listen 443 ssl;": f"listen 127.0.0.1:{self.port} ssl;",
            r"/run/nginx\.pid": str(folder / "nginx.pid"),
            r"/etc/nginx/tls/fullchain\.pem": str(self.certificate.bundle),
            r"/etc/nginx/tls/privkey\.pem": str(self.certificate.key),
            r"error_log stderr": f"error_log {self.error_log}",
            r"access_log /dev/stdout": f"access_log {self.log}",
            r"(?m)^http \{": "\n    ".join(["http {", *places]),
            r"(?m)^worker_processes auto;": f"worker_processes 2;{' user root;' if os.geteuid() == 0 else ''}",
        }.items():
            text, found = re.subn(place, at_test, text)
            assert found, place
        (folder / "nginx.conf").write_text(text)

    def __enter__(self) -> Self:
        nginx = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
        if not nginx and os.environ.get("CI") == "true":
            pytest.fail("CI needs nginx, and this machine has none")
        if not nginx:
            pytest.skip("SKIPPED: nothing is known of deploy/nginx.conf, because this machine has no nginx")
        command = [nginx, "-p", str(self.folder), "-c", str(self.folder / "nginx.conf"), "-e", str(self.error_log)]
        checked = subprocess.run([*command, "-t"], capture_output=True, check=False)
        assert checked.returncode == 0, checked.stderr.decode()
        assert "[warn]" not in checked.stderr.decode(), checked.stderr.decode()
        self.process = subprocess.Popen([*command, "-g", "daemon off;"], stdin=subprocess.DEVNULL)
        until(lambda: is_open(self.port), seconds=20, what="nginx listens")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.terminate()
        self.process.wait(10)
