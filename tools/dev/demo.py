"""`./dev run`, and the commands that belong to it: `./dev manage` and `./dev bill`."""

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
from functools import partial
from pathlib import Path
from typing import NoReturn
from urllib.parse import urlsplit

from tools.dev.demo_database import move_outdated_demo, prepare_database, prepared_people
from tools.dev.demo_settings import (
    DEMO_FOLDER,
    PREFIXES,
    Env,
    files_host,
    hook_setting,
    new_settings,
    read_settings,
    with_given_carrier,
    write_settings,
)
from tools.dev.environment import PYTHON, ROOT, prepare
from tools.dev.ports import HOST, is_healthy, listen_on_first_free, port_of
from tools.dev.processes import PORTS, ChildProcesses
from tools.dev.programs import GUNICORN, WORKER, module
from tools.dev.sandboxes import CHOICES, Sandbox
from tools.dev.servers import start_valkey
from tools.dev.steps import begin_step, end_steps

RUN = "The whole portal with a sandbox carrier, or with another if its CARRIER_... settings are in the environment."


def run(words: list[str], folder: Path = DEMO_FOLDER) -> None:
    """Run the demo of a folder until Ctrl-C, or until one of its processes stops."""
    parser = argparse.ArgumentParser(prog="./dev run", description=RUN)
    parser.add_argument("--port", type=int, help="where the browser finds it (the first free one from 8000)")
    parser.add_argument("--carrier", choices=CHOICES, default="interface", help="whose sandbox, in a separate demo")
    options = parser.parse_args(words)
    port, folder = options.port, folder_of(options.carrier, folder)
    web = listen_on_first_free(port) if port is not None else None
    prepare("run")
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with only_one_demo(folder) as lock, ChildProcesses(folder / "logs", pass_fds=[lock]) as children:
        try:
            web = web or listen_on_first_free(*range(8000, 8000 + PORTS))
            print(start_demo(folder, children, web, options.carrier), flush=True)
            while True:
                children.check_running()
                time.sleep(0.5)
        except KeyboardInterrupt:
            print("\nStopping.", flush=True)


@contextlib.contextmanager
def only_one_demo(folder: Path) -> Iterator[int]:
    """Lock a demo's folder. The process that ends the children holds the lock too, until the last one has gone."""
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


def folder_of(carrier: str, folder: Path = DEMO_FOLDER) -> Path:
    """Return the folder of a demo with this carrier: one sandbox doesn't know the parcels of another."""
    return folder if carrier == "interface" else folder / carrier


def start_demo(folder: Path, children: ChildProcesses, web: socket.socket, carrier: str = "interface") -> str:
    """Start everything, each after what it needs. Return the line that says where and as whom to log in.

    Each sandbox carrier has the port of the last start, if that is free: parcels are known by its address.
    """
    move_outdated_demo(folder)
    sandboxes, last = CHOICES[carrier], read_settings(folder)
    listeners = []
    for prefix, _ in zip(PREFIXES, sandboxes, strict=False):
        last_port = urlsplit(last.get(f"{prefix}_BASE_URL", "")).port
        listeners.append(listen_on_first_free(*filter(None, [last_port]), *range(8100, 8100 + PORTS)))
    redis_url = start_valkey(children, 8200)
    listening = [(sandbox, port_of(listener)) for sandbox, listener in zip(sandboxes, listeners, strict=True)]
    settings = new_settings(folder, web=port_of(web), carriers=listening, redis_url=redis_url)
    for prefix, sandbox in zip(PREFIXES, sandboxes, strict=False):
        if sandbox.has_own_keys:
            command = [*module(sandbox.module), f"--state={folder / name_of(sandbox)}", "--print-keys"]
            settings[f"{prefix}_WEBHOOK_KEY"] = children.check_output(f"keys of {sandbox.name}", command).strip()
    demo = with_given_carrier(settings)
    # With a memory pool for each thread, glibc would keep the most that each of them ever needed.
    children.env |= {**demo, "PYTHONUNBUFFERED": "1", "MALLOC_ARENA_MAX": "1"}
    start_web_now = partial(start_web, children, web)
    if people := prepared_people(folder, demo):
        start_web_now()
    else:
        people = prepare_database(folder, children, demo, carrier, has_tables=start_web_now)
    begin_step("Starting the portal")
    if "CARRIER_BASE_URL" not in os.environ:
        for prefix, sandbox, listener in zip(PREFIXES, sandboxes, listeners, strict=False):
            start_sandbox(folder, children, demo, sandbox, prefix, listener)
    for listener in listeners:
        listener.close()
    start_workers(children)
    children.wait_for("web", lambda: is_healthy(f"{demo['SITE_URL']}/readyz"))
    for name in [name for name in children.running if name.startswith("sandbox")]:
        children.wait_for(name, partial(is_sandbox_ready, children, name))
    write_settings(folder, settings)
    end_steps()
    log_ins = "  ".join(f"{who}: {person['email']} / {person['password']}" for who, person in people.items())
    code = people["operator"]["totp_command"]
    code = code if carrier == "interface" else code.replace("manage", f"manage --carrier {carrier}")
    mail = f"  mail: {demo['SITE_URL']}/demo/mail/"
    api = f"  API: {demo['SITE_URL']}/api/v1/ (token: {people['sender']['token']})"
    return f"READY {demo['SITE_URL']}/  {log_ins} (code: {code}){mail}{api}"


def is_sandbox_ready(children: ChildProcesses, name: str) -> bool:
    return "sandbox ready" in children.log(name)


def start_web(children: ChildProcesses, web: socket.socket) -> None:
    """Start the web server on its socket, with one process (an installation has two)."""
    bind = f"--bind=fd://{web.fileno()} --workers=1"
    children.start("web", module(f"gunicorn shipping_portal.wsgi {bind} {GUNICORN}"), pass_fds=[web.fileno()])
    web.close()


def start_workers(children: ChildProcesses) -> None:
    """Start as many workers as WORKERS says. The first is also the sweeper."""
    for number in range(int(os.environ.get("WORKERS", "1"))):
        name = f"worker-{number}" if number else "worker"
        app = "shipping_portal.celery" if number else "tools.dev.demo_worker"
        children.start(name, module(f"celery -q -A {app} worker {WORKER}"))


def name_of(sandbox: Sandbox) -> str:
    """Return the name of a sandbox's process and folder."""
    return f"sandbox-{sandbox.name}" if sandbox.client else "sandbox"


def start_sandbox(
    folder: Path, children: ChildProcesses, demo: Env, sandbox: Sandbox, prefix: str, listener: socket.socket
) -> None:
    """Start a sandbox carrier on its socket. It sends its scans to our own webhook."""
    name = name_of(sandbox)
    options: dict[str, object] = {"fd": listener.fileno(), "state": folder / name}
    # In the environment: every user of the machine can read a process's arguments.
    secret_settings = {"SANDBOX_KEY": demo[f"{prefix}_KEY"]}
    if not sandbox.client:
        options |= {
            "contract": demo["CARRIER_CONTRACT"],
            "account": demo["CARRIER_ACCOUNT"],
            "size-charges": 0.25,  # a new sender's first parcel is one of them
            "files-host": f"http://{files_host(demo[f'{prefix}_BASE_URL'])}",
            "driver-after": 600,  # or when somebody presses it in the demo's bar; the same for a drop-off
        }
        secret_settings["SANDBOX_LINK_KEY"] = demo["CARRIER_LINK_KEY"]
    if sandbox.signs:
        secret_settings["SANDBOX_WEBHOOK_SECRET"] = demo[f"{prefix}_WEBHOOK_KEY"]
    secret = demo[hook_setting(prefix)].split(",")[0]
    secret_settings["SANDBOX_LISTENER"] = demo["SITE_URL"].replace("://", f"://{secret}@") + "/webhooks/tracking/"
    arguments = [f"--{option}={value}" for option, value in options.items()]
    children.start(
        name, [*module(sandbox.module), *arguments], env=children.env | secret_settings, pass_fds=[listener.fileno()]
    )


def manage(words: list[str], folder: Path = DEMO_FOLDER) -> NoReturn:
    """Become a Django command: in the demo, in that of --carrier NAME, or in the installation that .env describes."""
    prepare("run")
    env = dict(os.environ)
    carrier = "interface"
    if words[:1] == ["--carrier"] and words[1:2] and words[1] in CHOICES:
        carrier, words = words[1], words[2:]
    if carrier != "interface" or env.get("DEMO") == "1" or not (ROOT / ".env").exists():
        folder = folder_of(carrier, folder)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not read_settings(folder):
            carriers = [(sandbox, 8100 + number) for number, sandbox in enumerate(CHOICES[carrier])]
            redis_url = f"redis://{HOST}:8200/0"
            write_settings(folder, new_settings(folder, web=8000, carriers=carriers, redis_url=redis_url))
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
    print(
        f"{file}\nUpload it in the admin under Billing reports; or: ./dev manage billing_import {file} --post",
        flush=True,
    )
