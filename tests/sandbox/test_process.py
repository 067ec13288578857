import ast
import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.certificates import own_certificate
from tests.sandbox.client import Client, until

PACKAGE = Path("shipping_portal/sandbox")
COMMAND = [sys.executable, "-m", "shipping_portal.sandbox", "--port", "0", "--speed", "0"]


@pytest.fixture
def started():
    """`started("--seed", "7")` is a carrier's process and its first line of output. None outlives the test."""
    with contextlib.ExitStack() as processes:

        def start(*arguments):
            process = processes.enter_context(
                subprocess.Popen([*COMMAND, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            )
            processes.callback(process.kill)
            return process, process.stdout.readline()

        yield start


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_prints_its_address_and_ends_on_a_signal(tmp_path, number, started):
    process, line = started("--state", str(tmp_path))
    try:
        assert line.startswith("sandbox ready http://127.0.0.1:")
        assert Client(line.split()[-1]).book().status == 201
    finally:
        process.send_signal(number)
    assert process.wait(60) == 0
    assert process.stderr.read() == ""


def test_it_ends_with_its_parent(tmp_path, started):
    parent = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)  # closed by communicate
    process, _ = started("--state", str(tmp_path), "--parent", str(parent.pid))
    parent.communicate(b"\n")
    try:
        assert process.wait(60) == 0
    finally:
        process.kill()


def test_a_killed_carrier_keeps_every_order_it_confirmed(tmp_path, started):
    process, line = started("--state", str(tmp_path), "--replays", "on")
    order = Client(line.split()[-1]).book(key="k1").json
    os.kill(process.pid, signal.SIGKILL)
    process.wait(60)
    process, line = started("--state", str(tmp_path), "--replays", "on")
    try:
        again = Client(line.split()[-1]).book(key="k1").json
    finally:
        process.terminate()
        process.wait(60)
    assert again == order


def test_it_refuses_to_start_with_an_invalid_contract(tmp_path, started):
    contract = tmp_path / "contract.toml"
    contract.write_text('colour = "red"')
    process, line = started("--state", str(tmp_path), "--contract", str(contract))
    assert (process.wait(60), line) == (2, "")
    assert "unknown key: colour" in process.stderr.read()


def test_a_port_that_is_taken_is_named(tmp_path, started):
    _, line = started("--state", str(tmp_path / "first"))
    port = line.strip().rpartition(":")[2]
    process, _ = started("--state", str(tmp_path / "second"), "--port", port)
    assert process.wait(60) == 2
    assert f"port {port} is in use" in process.stderr.read()


def test_with_a_certificate_it_listens_over_tls(tmp_path, started):
    certificate = own_certificate(tmp_path)
    files = ["--certificate", str(certificate.bundle), "--key-file", str(certificate.key)]
    process, line = started("--state", str(tmp_path), *files)
    process.terminate()
    assert line.startswith("sandbox ready https://127.0.0.1:")
    assert process.wait(60) == 0


def test_it_refuses_to_start_without_the_certificates_key(tmp_path, started):
    certificate = own_certificate(tmp_path)
    process, line = started("--state", str(tmp_path), "--certificate", str(certificate.bundle))
    assert (process.wait(60), line) == (2, "")
    assert "cannot start" in process.stderr.read()


def test_a_demo_parcel_moves_within_seconds(tmp_path, started):
    process, line = started("--state", str(tmp_path), "--speed", "40")
    try:
        client = Client(line.split()[-1])
        reference = client.book().json["carrier_reference"]
        until(lambda: client.call("GET", f"/tracking/{reference}").json["tracking_events"])
    finally:
        process.terminate()
        process.wait(60)


def test_a_newcomers_first_parcel_is_billed_with_a_size_charge(tmp_path, started):
    """This uses the share that `./dev run` sets. A separate process writes the report and does nothing else."""
    process, line = started("--state", str(tmp_path), "--size-charges", "0.25")
    carrier = Client(line.split()[-1])
    reference = carrier.book().json["carrier_reference"]
    carrier.control("scan", reference=reference, event_type="Pickup")
    process.kill()
    process.wait()
    writer, path = started("--state", str(tmp_path), "--size-charges", "0.25", "--report")
    assert writer.wait(60) == 0
    assert "Adjustment: Incorrect size declared" in Path(path.strip()).read_text()


def test_it_imports_only_itself_and_the_standard_library():
    for path in PACKAGE.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            if isinstance(node, ast.ImportFrom):
                names = [node.module]
            for name in names:
                is_own = name.startswith("shipping_portal.sandbox")
                is_list = (path.name, name) == ("places.py", "zipcodes")  # where that is not there, it has fewer places
                assert is_own or is_list or name.split(".")[0] in sys.stdlib_module_names, f"{path.name} imports {name}"
