"""A whole portal of real processes on its own ports and folders. Each can be killed, stopped and restarted."""

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
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import redis

from tests.pooler import start_pgbouncer
from tests.ports import free_port
from tests.template import fill
from tools.campaign.carriers import INTERFACE, Kind
from tools.dev.ports import is_healthy
from tools.dev.processes import ChildProcesses
from tools.dev.programs import GUNICORN, manage_py, module
from tools.dev.sandboxes import Sandbox
from tools.dev.servers import app_role_url, start_postgres, start_valkey

ROOT = Path(__file__).resolve().parents[2]
TIME_SCALE = 0.15
DEADLINE_SECONDS = 20 * TIME_SCALE
LEASE_SECONDS = 30 * TIME_SCALE
CANARIES = ("key", "link", "hook", "sign", "app")
SPEED = 10.0  # the carrier delivers a parcel in eleven seconds
CELERY = "celery -A shipping_portal.celery worker --without-gossip --without-mingle --loglevel=INFO"


class Servers:
    """`with Servers(...) as servers:` has everything running; `kill`, `stop_for` and `start` take a name."""

    def __init__(
        self, folder: Path, *, seed: int, replays: bool, carriers: tuple[Kind, ...] = (INTERFACE,), pooled: bool = False
    ) -> None:
        self.folder, self.seed, self.pooled = folder, seed, pooled
        self.children = ChildProcesses(folder / "logs")
        self.children.env.pop("TESTING", None)  # this is a portal as people use it
        self.recipes: dict[str, tuple[list[str], dict[str, Any]]] = {}
        self.kills: list[tuple[float, str]] = []
        self._stopped: list[threading.Timer] = []
        self._canaries = {name: f"canary-{name}-{secrets.token_urlsafe(18)}" for name in CANARIES}
        self.web = free_port()
        self.url = f"http://127.0.0.1:{self.web}"
        self.carriers = [Carrier(kind, free_port(), folder / kind.name) for kind in carriers]
        self.writes_bills = all(kind.is_interface for kind in carriers)
        for carrier in self.carriers:
            carrier.folder.mkdir()
            lines = ["tracking_per_second = 200.0", "requests_per_second = 200.0"]
            if carrier.kind.is_interface:
                lines += [f"replays = {str(replays).lower()}", 'link = "signed"', f'link_page = "{carrier.url}/t/"']
            carrier.contract.write_text("\n".join(lines) + "\n")

    @property
    def secrets(self) -> list[str]:
        """Return what must be found nowhere afterwards."""
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
        # Run by the tests, a campaign begins with the template that they have migrated.
        for command in ["database_roles"] if fill(owner) else ["migrate", "database_roles"]:
            as_owner = self.children.env | {"MIGRATE_DATABASE_URL": owner}
            self.children.check_output(command, manage_py(command), env=as_owner)
        if self.pooled:
            self.env["DATABASE_URL"] = start_pgbouncer(self.children, database)
            self.children.env |= self.env
        self.children.check_output("demo", manage_py("demo"))
        for name, command in self._commands().items():
            self.start(name, command)
        for carrier in self.carriers:
            self.wait_for(carrier.process, lambda carrier=carrier: "sandbox ready" in self.tail(carrier.process))
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
            "IMPORTS_AN_HOUR": "1000",  # as many orders in minutes as usually in a day
            "SECRET_KEY": self._canaries["app"],
            "DATABASE_URL": database,
            "MIGRATE_DATABASE_URL": "",
            "REDIS_URL": redis_url,
            "SITE_URL": self.url,
            "EMAIL_URL": f"filemail:///{self.folder / 'mail'}",
            "CARRIER_CONTACT": "operator@portal.example",
            **self._accounts(),
            "TIME_SCALE": str(TIME_SCALE),
            "DAILY_MONEY_LIMIT": "1000000000",
            "SWEEP_SECONDS": "0.5",
            "POLL_SECONDS": "900",
            "PYTHONUNBUFFERED": "1",
            "DJANGO_SETTINGS_MODULE": "shipping_portal.settings",
        }

    def _accounts(self) -> dict[str, str]:
        """Return the settings of the carriers' accounts: the first is the default one, the next the second."""
        found = {}
        for number, carrier in enumerate(self.carriers):
            prefix, hook = ("CARRIER_TWO", "CARRIER_TWO_") if number else ("CARRIER", "")
            account = carrier.sandbox.account_settings(carrier.port) | {"CONTRACT": str(carrier.contract)}
            account |= {"KEY": self._canaries["key"], "LINK_KEY": self._canaries["link"]}
            account |= {"WEBHOOK_KEY": self._canaries["sign"]} if carrier.sandbox.signs else {}
            found |= {f"{prefix}_{name}": value for name, value in account.items()}
            found[f"{hook}WEBHOOK_SECRETS"] = f"{carrier.kind.name}:{self._canaries['hook']}{number}"
        return found | ({"SECOND_CARRIER": "TWO"} if len(self.carriers) > 1 else {})

    def _sandbox(self, number: int, carrier: "Carrier") -> list[str]:
        """Return the command of one sandbox carrier."""
        options = {
            "port": carrier.port, "state": carrier.folder / "state", "key": self._canaries["key"], "speed": SPEED,
            "seed": self.seed, "trouble": carrier.kind.background(), **carrier.kind.options,
        }  # fmt: skip
        if carrier.kind.is_interface:
            options |= {"contract": carrier.contract, "link-key": self._canaries["link"]}
        if carrier.sandbox.signs:
            options["webhook-secret"] = self._canaries["sign"]
        if not carrier.sandbox.has_own_keys:  # which this portal isn't given
            secret = f"{carrier.kind.name}:{self._canaries['hook']}{number}"
            options["listener"] = f"http://{secret}@127.0.0.1:{self.web}/webhooks/tracking/"
        return [*module(carrier.sandbox.module), *(f"--{name}={value}" for name, value in options.items())]

    def _commands(self) -> dict[str, list[str]]:
        web = f"gunicorn shipping_portal.wsgi --bind=127.0.0.1:{self.web} --access-logfile=- {GUNICORN}"
        return {
            **{one.process: self._sandbox(number, one) for number, one in enumerate(self.carriers)},
            "web": module(web),
            "worker-a": module(f"{CELERY} --pool=threads --concurrency=6 --hostname=a@%h"),
            "worker-b": module(f"{CELERY} --pool=prefork --concurrency=2 --hostname=b@%h"),
            "sweeper": manage_py("sweep"),
        }

    def manage(self, *words: str) -> "subprocess.Popen[str]":
        """Run a management command of this installation, alongside its processes."""
        command = [*manage_py(""), *words]
        return subprocess.Popen(
            command, cwd=ROOT, env=self.children.env, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )

    # -- One process at a time -----------------------------------------------------------------

    def start(self, name: str, command: Sequence[str] | None = None) -> None:
        """Start a process, or start it again as it was; its log continues."""
        if command is not None:
            self.recipes[name] = (list(command), {})
        argv, how = self.recipes[name]
        self.children.start(name, argv, **how)

    def kill(self, name: str) -> None:
        """Kill the whole process group with -9."""
        process = self.children.running.pop(name)
        self.kills.append((time.time(), name))
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        self.children.forget(process)

    def kill_child(self, name: str) -> None:
        """Kill one child of the process with -9; the process starts another by itself."""
        parent = self.children.running[name].pid
        children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
        if children:
            self.kills.append((time.time(), f"{name} child"))
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(children[-1]), signal.SIGKILL)

    def restart_at_once(self, name: str) -> None:
        """Shut PostgreSQL down immediately, without a checkpoint; open transactions are lost, then it recovers."""
        process = self.children.running.pop(name)
        self._resume(process)
        process.send_signal(signal.SIGQUIT)
        process.wait(20)
        self.children.forget(process)
        self.start(name)

    def flush_broker(self) -> None:
        """Delete every message, including those in progress."""
        with contextlib.suppress(redis.RedisError):
            redis.Redis.from_url(self.env["REDIS_URL"], socket_timeout=2).flushall()

    def broker_text(self) -> str:
        """Return everything that the broker holds right now, as text."""
        broker = redis.Redis.from_url(self.env["REDIS_URL"], socket_timeout=10)
        return " ".join(f"{key!r} {broker.dump(key)!r}" for key in broker.scan_iter())

    def stop_for(self, name: str, seconds: float) -> None:
        """Send SIGSTOP now and SIGCONT later; other processes continue."""
        process = self.children.running[name]
        self._signal(name, signal.SIGSTOP)
        timer = threading.Timer(seconds, self._resume, (process,))
        timer.start()
        self._stopped.append(timer)

    def everything_runs(self) -> None:
        """Continue stopped processes, and start missing ones again."""
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

    # -- The carriers --------------------------------------------------------------------------

    def tell_carrier(self, name: str, **body: Any) -> None:
        """Use one of the sandboxes' own switches, in all of them."""
        for carrier in self.carriers:
            carrier.tell(name, body)

    def ask_carrier(self, name: str) -> Any:
        """Return what the sandboxes store under this name, in one list."""
        return [row for carrier in self.carriers for row in carrier.ask(name)]

    def ledger(self) -> list[dict[str, Any]]:
        """Return what really happened: every effect the carriers wrote to their disks, in one form."""
        return [line for carrier in self.carriers for line in carrier.ledger()]


@dataclass(frozen=True)
class Carrier:
    """One sandbox carrier of a campaign."""

    kind: Kind
    port: int
    folder: Path

    @property
    def sandbox(self) -> Sandbox:
        return self.kind.sandbox

    @property
    def process(self) -> str:
        """Return the name of its process and log."""
        return f"sandbox-{self.kind.name}"

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def contract(self) -> Path:
        return self.folder / "contract.toml"

    def tell(self, name: str, body: dict[str, Any]) -> None:
        """Use one of its own switches."""
        request = urllib.request.Request(  # noqa: S310  (loopback)
            f"{self.url}/_sandbox/{name}", data=json.dumps(body).encode(), headers={"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=20) as reply:  # noqa: S310
            reply.read()

    def ask(self, name: str) -> Any:
        """Return what it stores under this name."""
        return json.loads(self.get(f"/_sandbox/{name}"))

    def get(self, path: str) -> bytes:
        """Return what is at a path."""
        with urllib.request.urlopen(f"{self.url}{path}", timeout=60) as reply:  # noqa: S310
            found: bytes = reply.read()
        return found

    def ledger(self) -> list[dict[str, Any]]:
        """Return every effect that it wrote to its disk, and what the portal answered to its webhooks."""
        lines = (self.folder / "state" / self.kind.ledger).read_text().splitlines()
        found = list(self.kind.read(map(json.loads, lines)))
        if not (self.sandbox.has_own_keys or self.kind.is_interface):
            found += [{"effect": "delivery"} | delivery for delivery in self.ask("deliveries")]
        return found
