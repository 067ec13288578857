"""`./dev run`, and the commands beside it: `./dev manage` and `./dev bill`."""

import argparse
import contextlib
import fcntl
import json
import os
import socket
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn
from urllib.parse import urlsplit

from tools.dev.demo_database import move_outdated_demo, prepare_database, prepared_people
from tools.dev.demo_settings import DEMO_FOLDER, Env, new_settings, read_settings, with_given_carrier, write_settings
from tools.dev.environment import PYTHON, ROOT, prepare
from tools.dev.ports import HOST, is_healthy, listen_on_first_free, port_of
from tools.dev.processes import PORTS, ChildProcesses
from tools.dev.programs import GUNICORN, WORKER, manage_py, module
from tools.dev.servers import start_valkey

RUN = "The whole portal with a pretend carrier, or with another where its CARRIER_... settings are in the environment."


def run(words: list[str], folder: Path = DEMO_FOLDER) -> None:
    """Run the demo of a folder until Ctrl-C, or until one of its processes stops."""
    parser = argparse.ArgumentParser(prog="./dev run", description=RUN)
    parser.add_argument("--port", type=int, help="where the browser finds it (the first free one from 8000)")
    port = parser.parse_args(words).port
    web = listen_on_first_free(port) if port is not None else None
    prepare("run")
    folder.mkdir(mode=0o700, exist_ok=True)
    with only_one_demo(folder) as lock, ChildProcesses(folder / "logs", pass_fds=[lock]) as children:
        try:
            web = web or listen_on_first_free(*range(8000, 8000 + PORTS))
            print(start_demo(folder, children, web), flush=True)
            while True:
                children.check_running()
                time.sleep(0.5)
        except KeyboardInterrupt:
            print("\nStopping.", flush=True)


@contextlib.contextmanager
def only_one_demo(folder: Path) -> Iterator[int]:
    """Lock a demo's folder. The process that ends the children has the lock, too: it opens when the last has gone."""
    lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        for is_last in [*[False] * 100, True]:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if is_last:
                    sys.exit("./dev run is running in this clone already.")
                time.sleep(0.1)
        yield lock
    finally:
        os.close(lock)


def start_demo(folder: Path, children: ChildProcesses, web: socket.socket) -> str:
    """Start everything in the order of need. Return the line that says where and as whom to log in.

    The carrier has the port of the last start, if that is free: parcels are known by its address.
    """
    move_outdated_demo(folder)
    last_port = urlsplit(read_settings(folder).get("CARRIER_BASE_URL", "")).port
    carrier = listen_on_first_free(*filter(None, [last_port]), *range(8100, 8100 + PORTS))
    redis_url = start_valkey(children, 8200)
    settings = new_settings(folder, web=port_of(web), carrier=port_of(carrier), redis_url=redis_url)
    demo = with_given_carrier(settings)
    children.env |= {**demo, "PYTHONUNBUFFERED": "1"}
    people = prepared_people(folder, demo) or prepare_database(folder, children, demo)
    if "CARRIER_BASE_URL" not in os.environ:
        start_sandbox(folder, children, demo, carrier)
    carrier.close()
    start_portal(children, web)
    children.wait_for("web", lambda: is_healthy(f"{demo['SITE_URL']}/readyz"))
    if "sandbox" in children.running:
        children.wait_for("sandbox", lambda: "sandbox ready" in children.log("sandbox"))
    write_settings(folder, settings)
    log_ins = "  ".join(f"{who}: {person['email']} / {person['password']}" for who, person in people.items())
    mail = f"  mail: {demo['SITE_URL']}/demo/mail/"
    return f"READY {demo['SITE_URL']}/  {log_ins} (code: {people['operator']['totp_command']}){mail}"


def start_portal(children: ChildProcesses, web: socket.socket) -> None:
    """Start the web server on its socket, the sweeper, and as many workers as WORKERS says."""
    bind = f"--bind=fd://{web.fileno()}"
    children.start("web", module(f"gunicorn shipping_portal.wsgi {bind} {GUNICORN}"), pass_fds=[web.fileno()])
    web.close()
    children.start("sweeper", manage_py("sweep"))
    for number in range(int(os.environ.get("WORKERS", "1"))):
        name = f"worker-{number}" if number else "worker"
        children.start(name, module(f"celery -q -A shipping_portal.celery worker {WORKER}"))


def start_sandbox(folder: Path, children: ChildProcesses, demo: Env, listener: socket.socket) -> None:
    """Start the sandbox carrier on its socket. It sends its scans to our own webhook."""
    secret = demo["WEBHOOK_SECRETS"].split(",")[0]
    options = {
        "fd": listener.fileno(),
        "state": folder / "sandbox",
        "contract": demo["CARRIER_CONTRACT"],
        "account": demo["CARRIER_ACCOUNT"],
        "size-charges": 0.25,  # a new sender's first parcel is one of them
        "driver-after": 600,  # or when the demo's bar says so; a drop-off waits as long
    }
    # In the environment: every user of the machine can read a process's arguments.
    secret_settings = {
        "SANDBOX_KEY": demo["CARRIER_KEY"],
        "SANDBOX_LINK_KEY": demo["CARRIER_LINK_KEY"],
        "SANDBOX_LISTENER": demo["SITE_URL"].replace("://", f"://{secret}@") + "/webhooks/tracking/",
    }
    arguments = [f"--{name}={value}" for name, value in options.items()]
    children.start(
        "sandbox",
        [*module("shipping_portal.sandbox"), *arguments],
        env=children.env | secret_settings,
        pass_fds=[listener.fileno()],
    )


def manage(words: list[str], folder: Path = DEMO_FOLDER) -> NoReturn:
    """Become a Django command: in the demo, or in the installation that .env describes."""
    prepare("run")
    env = dict(os.environ)
    if env.get("DEMO") == "1" or not (ROOT / ".env").exists():
        folder.mkdir(mode=0o700, exist_ok=True)
        if not read_settings(folder):
            redis_url = f"redis://{HOST}:8200/0"
            write_settings(folder, new_settings(folder, web=8000, carrier=8100, redis_url=redis_url))
        env |= with_given_carrier(read_settings(folder))
    os.execve(PYTHON, [PYTHON, str(ROOT / "manage.py"), *words], env)  # noqa: S606  (no shell is wanted)


def bill(_: list[str], folder: Path = DEMO_FOLDER) -> None:
    """Have the sandbox carrier of a running demo bill everything since its last report."""
    carrier = read_settings(folder).get("CARRIER_BASE_URL", f"http://{HOST}:8100")
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with direct.open(f"{carrier}/_sandbox/report", data=b"{}", timeout=60) as reply:
            file = json.load(reply)["path"]
    except OSError:
        sys.exit("The demo is not running. Start it with ./dev run.")
    print(f"{file}\nTake it in at Admin, Billing reports; or: ./dev manage billing_import {file} --post", flush=True)
