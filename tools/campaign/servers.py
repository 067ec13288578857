"""A whole portal of real processes on ports and folders of its own, each killable, stoppable and startable again."""

import contextlib
import json
import os
import secrets
import signal
import subprocess
import threading
import time
import urllib.request
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import redis

from tests.pooler import start_pgbouncer
from tests.ports import free_port
from tools.dev.ports import is_healthy
from tools.dev.processes import ChildProcesses
from tools.dev.programs import GUNICORN, manage_py, module
from tools.dev.servers import app_role_url, start_postgres, start_valkey

ROOT = Path(__file__).resolve().parents[2]
TIME_SCALE = 0.15
DEADLINE_SECONDS = 20 * TIME_SCALE
LEASE_SECONDS = 30 * TIME_SCALE
SPEED = 10.0  # the carrier walks a parcel home in eleven seconds
CELERY = "celery -A shipping_portal.celery worker --without-gossip --without-mingle --loglevel=INFO"


class Servers:
    """`with Servers(...) as servers:` has everything running; `kill`, `stop_for` and `start` take a name."""

    def __init__(self, folder: Path, *, seed: int, replays: bool, trouble: str, pooled: bool = False) -> None:
        self.folder, self.seed, self.trouble_plan, self.pooled = folder, seed, trouble, pooled
        self.children = ChildProcesses(folder / "logs")
        self.children.env.pop("TESTING", None)  # this is a portal as people use it
        self.recipes: dict[str, tuple[list[str], dict[str, Any]]] = {}
        self.kills: list[tuple[float, str]] = []
        self._stopped: list[threading.Timer] = []
        self._canaries = {name: f"canary-{name}-{secrets.token_urlsafe(18)}" for name in ("key", "link", "hook", "app")}
        self.contract = folder / "contract.toml"
        self.web, self.carrier = free_port(), free_port()
        self.url, self.carrier_url = f"http://127.0.0.1:{self.web}", f"http://127.0.0.1:{self.carrier}"
        self.contract.write_text(
            f"replays = {str(replays).lower()}\n"
            f'link = "signed"\nlink_page = "{self.carrier_url}/t/"\n'
            "tracking_per_second = 200.0\nrequests_per_second = 200.0\n"
        )

    @property
    def secrets(self) -> list[str]:
        """What must be found nowhere afterwards."""
        return list(self._canaries.values())

    def __enter__(self) -> "Servers":
        self.children.__enter__()
        redis_url = start_valkey(self.children)
        owner = start_postgres(self.children, durable=True)
        for name in ("valkey", "postgres"):
            self.recipes[name] = self.children.commands[name]
        database = app_role_url(owner)
        self.env = self._env(redis_url, database)
        self.children.env |= self.env
        for command in ("migrate", "database_roles"):
            as_owner = self.children.env | {"MIGRATE_DATABASE_URL": owner}
            self.children.check_output(command, manage_py(command), env=as_owner)
        if self.pooled:
            self.env["DATABASE_URL"] = start_pgbouncer(self.children, database)
            self.children.env |= self.env
        self.children.check_output("demo", manage_py("demo"))
        for name, command in self._commands().items():
            self.start(name, command)
        self.wait_for("sandbox", lambda: "sandbox ready" in self.tail("sandbox"))
        self.wait_for("web", lambda: is_healthy(f"{self.url}/readyz"))
        return self

    def __exit__(self, *problem: object) -> None:
        for timer in self._stopped:
            timer.cancel()
        for name in list(self.children.running):
            self._signal(name, signal.SIGCONT)
        self.children.__exit__(*problem)

    def _env(self, redis_url: str, database: str) -> dict[str, str]:
        return {
            "DEMO": "1",
            "IMPORTS_AN_HOUR": "1000",  # a day of orders in minutes
            "SECRET_KEY": self._canaries["app"],
            "DATABASE_URL": database,
            "MIGRATE_DATABASE_URL": "",
            "REDIS_URL": redis_url,
            "SITE_URL": self.url,
            "EMAIL_URL": f"filemail:///{self.folder / 'mail'}",
            "CARRIER_BASE_URL": self.carrier_url,
            "CARRIER_ACCOUNT": "demo-account",
            "CARRIER_KEY": self._canaries["key"],
            "CARRIER_LINK_KEY": self._canaries["link"],
            "CARRIER_PARTNER_ID": "PRT-0001",
            "CARRIER_CONTACT": "operator@portal.example",
            "CARRIER_CONTRACT": str(self.contract),
            "WEBHOOK_SECRETS": f"carrier:{self._canaries['hook']}",
            "TIME_SCALE": str(TIME_SCALE),
            "DAILY_MONEY_LIMIT": "1000000000",
            "SWEEP_SECONDS": "0.5",
            "POLL_SECONDS": "900",
            "PYTHONUNBUFFERED": "1",
            "DJANGO_SETTINGS_MODULE": "shipping_portal.settings",
        }

    def _commands(self) -> dict[str, list[str]]:
        sandbox = [
            *module("shipping_portal.sandbox"),
            f"--port={self.carrier}", f"--state={self.folder / 'carrier'}", f"--contract={self.contract}",
            f"--key={self._canaries['key']}", f"--link-key={self._canaries['link']}", f"--speed={SPEED}",
            f"--seed={self.seed}", f"--trouble={self.trouble_plan}",
            f"--listener=http://carrier:{self._canaries['hook']}@127.0.0.1:{self.web}/webhooks/tracking/",
        ]  # fmt: skip
        web = f"gunicorn shipping_portal.wsgi --bind=127.0.0.1:{self.web} --access-logfile=- {GUNICORN}"
        return {
            "sandbox": sandbox,
            "web": module(web),
            "worker-a": module(f"{CELERY} --pool=threads --concurrency=6 --hostname=a@%h"),
            "worker-b": module(f"{CELERY} --pool=prefork --concurrency=2 --hostname=b@%h"),
            "sweeper": manage_py("sweep"),
        }

    def manage(self, *words: str) -> "subprocess.Popen[str]":
        """A command of the installation's own, beside its processes."""
        command = [*manage_py(""), *words]
        return subprocess.Popen(
            command, cwd=ROOT, env=self.children.env, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )

    # -- One process at a time -----------------------------------------------------------------

    def start(self, name: str, command: Sequence[str] | None = None) -> None:
        """Start a process, or start it again as it was; its log goes on."""
        if command is not None:
            self.recipes[name] = (list(command), {})
        argv, how = self.recipes[name]
        self.children.start(name, argv, **how)

    def kill(self, name: str) -> None:
        """kill -9 of the whole group, with no time to say goodbye."""
        process = self.children.running.pop(name)
        self.kills.append((time.time(), name))
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        self.children.forget(process)

    def kill_child(self, name: str) -> None:
        """kill -9 of one child that the process keeps; it starts another by itself."""
        parent = self.children.running[name].pid
        children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
        if children:
            self.kills.append((time.time(), f"{name} child"))
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(children[-1]), signal.SIGKILL)

    def restart_at_once(self, name: str) -> None:
        """PostgreSQL's immediate shutdown: no checkpoint, open transactions are gone; then it recovers."""
        process = self.children.running.pop(name)
        self._resume(process)
        process.send_signal(signal.SIGQUIT)
        process.wait(20)
        self.children.forget(process)
        self.start(name)

    def flush_broker(self) -> None:
        """Every message is gone, those being worked on too."""
        with contextlib.suppress(redis.RedisError):
            redis.Redis.from_url(self.env["REDIS_URL"], socket_timeout=2).flushall()

    def broker_text(self) -> str:
        """All that the broker holds right now, as text."""
        broker = redis.Redis.from_url(self.env["REDIS_URL"], socket_timeout=10)
        return " ".join(f"{key!r} {broker.dump(key)!r}" for key in broker.scan_iter())

    def stop_for(self, name: str, seconds: float) -> None:
        """SIGSTOP now, SIGCONT later; others go on meanwhile."""
        process = self.children.running[name]
        self._signal(name, signal.SIGSTOP)
        timer = threading.Timer(seconds, self._resume, (process,))
        timer.start()
        self._stopped.append(timer)

    def everything_runs(self) -> None:
        """Whatever is stopped goes on; whatever is gone is started again."""
        for timer in self._stopped:
            timer.cancel()
        for name in self.recipes:
            process = self.children.running.get(name)
            if process is None or process.poll() is not None:
                self.start(name)
            else:
                self._resume(process)
        self.wait_for("web", lambda: is_healthy(f"{self.url}/readyz"))

    def wait_for(self, what: str, ready: Callable[[], bool], *, seconds: float = 60.0) -> None:
        ends_at = time.monotonic() + seconds
        while not ready():
            if time.monotonic() > ends_at:
                raise RuntimeError(f"{what} is not ready after {seconds:g} s: {self.tail(what)}")
            time.sleep(0.1)

    def tail(self, name: str) -> str:
        file = self.children.logs / f"{name}.log"
        return file.read_text(errors="replace")[-2000:] if file.exists() else ""

    def _signal(self, name: str, which: int) -> None:
        with contextlib.suppress(OSError):
            os.killpg(self.children.running[name].pid, which)

    def _resume(self, process: "subprocess.Popen[bytes]") -> None:
        if process.poll() is None:
            with contextlib.suppress(OSError):
                os.killpg(process.pid, signal.SIGCONT)

    # -- The carrier ---------------------------------------------------------------------------

    def tell_carrier(self, name: str, **body: Any) -> None:
        """One of the sandbox's own switches."""
        request = urllib.request.Request(  # noqa: S310  (loopback)
            f"{self.carrier_url}/_sandbox/{name}",
            data=json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=20) as reply:  # noqa: S310
            reply.read()

    def ask_carrier(self, name: str) -> Any:
        with urllib.request.urlopen(f"{self.carrier_url}/_sandbox/{name}", timeout=60) as reply:  # noqa: S310
            return json.loads(reply.read())

    def ledger(self) -> list[dict[str, Any]]:
        """What really happened: every effect the carrier wrote to its disk."""
        lines = (self.folder / "carrier" / "ledger.jsonl").read_text().splitlines()
        return [json.loads(line) for line in lines]
