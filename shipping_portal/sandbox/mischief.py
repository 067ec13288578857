"""Carry out faults: partial replies, hang-ups, wrong bodies.

``proceed`` is the correct operation with its effect.
"""

import gzip
import io
import json
import random
import socket
import struct
import time
from collections.abc import Callable
from typing import Any

from shipping_portal.sandbox.contract import Contract
from shipping_portal.sandbox.paths import plant, uproot
from shipping_portal.sandbox.requesting import Request
from shipping_portal.sandbox.trouble import STATUS_VERBS, Fault
from shipping_portal.sandbox.wire import HangUp, Reply, stock_refusal

METADATA_ADDRESS = "http://169.254.169.254/latest/meta-data/"
Proceed = Callable[[], Reply]


def play(fault: Fault, request: Request, proceed: Proceed, contract: Contract) -> Reply:
    """Answer ``request`` with the fault. Raises HangUp if the socket was handled directly."""
    if fault.verb in STATUS_VERBS:
        return _status(int(fault.verb), fault, request, proceed, contract)
    return _PLAYS[fault.verb](fault, request, proceed, contract)


def hang_up(request: Request, *, reset: bool = False) -> HangUp:
    """Close the connection without a byte.

    With ``reset`` the client sees a reset instead of an end.
    """
    if reset:
        request.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    return HangUp()


def _status(
    code: int, fault: Fault, request: Request, proceed: Proceed, contract: Contract
) -> Reply:
    usual = code in (202, 204) or (code == 429 and not contract["too_many_requests_is_unprocessed"])
    if usual if fault.commit is None else fault.commit:
        proceed()
    if code == 202:
        return Reply(202, b'{"status": "accepted"}')
    if code == 204:
        return Reply(204, content_type="")
    if code < 400:
        return Reply(
            code, headers=[("Location", _target(fault, request))], content_type="text/html"
        )
    if code == 400:
        return Reply(400, b"", "text/html; charset=utf-8")
    if code == 503:
        return Reply(
            503,
            b"<html><body>Down for maintenance</body></html>",
            "text/html",
            _retry_after(fault, ()),
        )
    if code >= 500:
        return Reply(code, f"{Reply(code).status_line}\n".encode(), "text/plain")
    reply = stock_refusal(code).reply(contract)
    reply.headers += _retry_after(fault, (429,), code)
    return reply


def _retry_after(fault: Fault, always: tuple[int, ...], code: int = 0) -> list[tuple[str, str]]:
    """Return the argument if there is one, or 1 second if the header is usual; "" leaves it out."""
    if fault.arg is None:
        return [("Retry-After", "1")] if code in always else []
    return [("Retry-After", str(fault.arg))] if fault.arg != "" else []


def _target(fault: Fault, request: Request) -> str:
    port = request.environ["SERVER_PORT"]
    here = request.base_url + request.path
    return {
        None: here,
        "self": here,
        "other": f"http://localhost:{port}/elsewhere",
        "169.254": METADATA_ADDRESS,
    }.get(fault.arg, str(fault.arg))


def _accept_close(fault: Fault, request: Request, proceed: Proceed, contract: Contract) -> Reply:
    raise hang_up(request)


def _commit_close(fault: Fault, request: Request, proceed: Proceed, contract: Contract) -> Reply:
    proceed()
    raise hang_up(request)


def _commit_rst(fault: Fault, request: Request, proceed: Proceed, contract: Contract) -> Reply:
    proceed()
    raise hang_up(request, reset=True)


def _commit_hang(fault: Fault, request: Request, proceed: Proceed, contract: Contract) -> Reply:
    proceed()
    _wait_for_client(request, fault.number(60))
    raise hang_up(request)


def _sleep_commit(fault: Fault, request: Request, proceed: Proceed, contract: Contract) -> Reply:

    def sleep() -> None:
        request.stopping.wait(fault.number(3))

    request.before_commit = sleep
    return proceed()


def _slow(fault: Fault, request: Request, proceed: Proceed, contract: Contract) -> Reply:
    reply = proceed()
    request.stopping.wait(fault.number(2))
    return reply


def _partial_headers(fault: Fault, request: Request, proceed: Proceed, contract: Contract) -> Reply:
    reply = proceed()
    _send(request, f"HTTP/1.1 {reply.status_line}\r\nContent-Type: appl".encode())
    raise hang_up(request)


def _truncate(fault: Fault, request: Request, proceed: Proceed, contract: Contract) -> Reply:
    reply = proceed()
    _send(request, _head(reply) + reply.body[: len(reply.body) // 2])
    raise hang_up(request)


def _drip_head(fault: Fault, request: Request, proceed: Proceed, contract: Contract) -> Reply:
    reply = proceed()
    _drip(request, _head(reply) + reply.body, fault.number(0.5))
    raise hang_up(request)


def _drip_body(fault: Fault, request: Request, proceed: Proceed, contract: Contract) -> Reply:
    reply = proceed()
    _send(request, _head(reply))
    _drip(request, reply.body, fault.number(0.5))
    raise hang_up(request)


def _garbage(fault: Fault, request: Request, proceed: Proceed, contract: Contract) -> Reply:
    proceed()
    _send(request, random.Random(7).randbytes(512))
    raise hang_up(request)


def _html200(fault: Fault, request: Request, proceed: Proceed, contract: Contract) -> Reply:
    if fault.commit is not False:
        proceed()
    return Reply(200, b"<html><body>Welcome to the gateway</body></html>", "text/html")


def _empty201(fault: Fault, request: Request, proceed: Proceed, contract: Contract) -> Reply:
    if fault.commit is not False:
        proceed()
    return Reply(201)


def _no_ref(fault: Fault, request: Request, proceed: Proceed, contract: Contract) -> Reply:
    return _edited(proceed(), lambda document: uproot(document, contract["reference"]))


def _bad_ref(fault: Fault, request: Request, proceed: Proceed, contract: Contract) -> Reply:
    return _edited(
        proceed(), lambda document: plant(document, contract["reference"], fault.arg or "<b>77</b>")
    )


def _gzip_bomb(fault: Fault, request: Request, proceed: Proceed, contract: Contract) -> Reply:
    proceed()
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb", compresslevel=9, mtime=0) as file:
        for _ in range(int(fault.number(200))):
            file.write(bytes(1024 * 1024))
    return Reply(201, packed.getvalue(), headers=[("Content-Encoding", "gzip")])


def _fifty_megabytes(fault: Fault, request: Request, proceed: Proceed, contract: Contract) -> Reply:
    reply = proceed()
    return Reply(
        reply.status, reply.body + b" " * (50 * 1024 * 1024), reply.content_type, reply.headers
    )


_PLAYS: dict[str, Callable[[Fault, Request, Proceed, Contract], Reply]] = {
    "refuse": _accept_close,
    "accept-close": _accept_close,
    "commit-close": _commit_close,
    "commit-rst": _commit_rst,
    "commit-hang": _commit_hang,
    "sleep-commit": _sleep_commit,
    "slow": _slow,
    "partial-headers": _partial_headers,
    "truncate": _truncate,
    "drip-head": _drip_head,
    "drip-body": _drip_body,
    "garbage": _garbage,
    "html200": _html200,
    "empty201": _empty201,
    "no-ref": _no_ref,
    "bad-ref": _bad_ref,
    "gzip-bomb": _gzip_bomb,
    "50MB": _fifty_megabytes,
}


def _edited(reply: Reply, edit: Callable[[dict[str, Any]], Any]) -> Reply:
    if reply.status >= 400 or "json" not in reply.content_type:
        return reply
    document = json.loads(reply.body)
    if not isinstance(document, dict):
        return reply
    edit(document)
    return Reply(reply.status, json.dumps(document).encode())


def _head(reply: Reply) -> bytes:
    lines = [
        f"HTTP/1.1 {reply.status_line}",
        *(f"{name}: {value}" for name, value in reply.all_headers()),
    ]
    return "\r\n".join([*lines, "Connection: close", "", ""]).encode("latin-1")


def _send(request: Request, raw: bytes) -> None:
    try:
        request.socket.sendall(raw)
    except OSError:
        raise HangUp from None


def _drip(request: Request, raw: bytes, pause: float) -> None:
    for place in range(len(raw)):
        _send(request, raw[place : place + 1])
        if request.stopping.wait(pause):
            return


def _wait_for_client(request: Request, seconds: float) -> None:
    """Keep the connection open until the client gives up, time runs out or the server stops."""
    until = time.monotonic() + seconds
    request.socket.settimeout(0.1)
    while time.monotonic() < until and not request.stopping.is_set():
        try:
            if not request.socket.recv(1024):
                return
        except TimeoutError:
            continue
        except OSError:
            return
