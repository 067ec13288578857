"""A carrier that uses hardly any CPU: `python -m tools.bench.carrier PORT SECONDS`; each call takes SECONDS.

It books whatever is sent, each time under a new reference, and has both labels ready at once.
"""

import asyncio
import json
import sys
import uuid

LABEL = b"%PDF-1.4\n" + b"0" * 60_000 + b"\n%%EOF\n"


def booking(order: str, host: str) -> bytes:
    """Return the order as the carrier holds it."""
    return json.dumps(
        {
            "order_id": order,
            "carrier_reference": f"SB{order[:8].upper()}",
            "state": "Ordered",
            "labels": [
                {"format": "pdf", "size": size, "url": f"http://{host}/labels/{order}/{size}.pdf"}
                for size in ("a4", "cropped")
            ],
            "price": {"gross": {"amount": 12.08, "currency": "AUD"}},
            "scheduling": {"is_cancellable": True},
        }
    ).encode()


def reply(method: str, path: str, host: str) -> bytes:
    status, kind, body = "201 Created", "application/json", b""
    if method != "POST":
        status, kind, body = "200 OK", "application/pdf", LABEL
    if not path.endswith(".pdf"):
        order = str(uuid.uuid4()) if method == "POST" else path.split("?")[0].rstrip("/").rpartition("/")[2]
        kind, body = "application/json", booking(order, host)
    return f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


async def main(port: int, seconds: float) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                line, *rest = head.decode("latin-1").split("\r\n")
                headers = dict(one.lower().split(": ", 1) for one in rest if ": " in one)
                await reader.readexactly(int(headers.get("content-length", 0)))
                await asyncio.sleep(seconds)
                writer.write(reply(*line.split()[:2], headers["host"]))
                if headers.get("connection") == "close":
                    break
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", port, backlog=500)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), float(sys.argv[2])))
