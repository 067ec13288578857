"""Request one server repeatedly over a few connections: `python -m tools.bench.load PORT SECONDS CONNECTIONS [FILE]`.

Each request is one of the file's, a JSON list, in turn; without a file it is a webhook with a new
event id and one of many references. Prints how many were answered with 200, and the 50th and 99th
percentile in milliseconds.
"""

import base64
import itertools
import json
import re
import selectors
import socket
import statistics
import sys
import time
import uuid
from collections import defaultdict
from pathlib import Path

SECRET = "carrier:bench-webhook-secret-0123456789abcdef"
REFERENCES = 2000
HEADERS = {"Content-Type": "application/json", "Authorization": f"Basic {base64.b64encode(SECRET.encode()).decode()}"}
HEAD = "\r\n".join(
    ["POST /webhooks/tracking/ HTTP/1.1", "Host: 127.0.0.1", *map(": ".join, HEADERS.items()), "Content-Length: "]
)
WORDS = ("Pickup", "In Transit", "Out for Delivery", "Delivered")


def body(number: int) -> str:
    return json.dumps(
        {
            "carrier_reference": f"SB{number * 7919 % REFERENCES:07d}",
            "event_id": str(uuid.uuid4()),
            "event_type": WORDS[number % len(WORDS)],
            "scan_time": f"2026-11-18T{number % 24:02d}:{number % 60:02d}:05Z",
            "description": "Parcel scanned at the depot",
            "location_data": {"suburb": "Fitzroy", "state": "VIC", "postcode": "3065", "country": "AU"},
        }
    )


def request(number: int) -> bytes:
    content = body(number)
    return f"{HEAD}{len(content)}\r\n\r\n{content}".encode()


def is_whole(answer: bytearray) -> bool:
    """Return whether the head has arrived, and as much of a body as it announces."""
    ends = answer.find(b"\r\n\r\n")
    length = re.search(rb"content-length: (\d+)", answer[: ends + 4], re.IGNORECASE)
    return ends >= 0 and length is not None and len(answer) >= ends + 4 + int(length[1])


def main(port: int, seconds: float, connections: int, file: str = "") -> None:
    ready = selectors.DefaultSelector()
    given = [one.encode() for one in json.loads(Path(file).read_text())] if file else []
    requests = itertools.cycle(given) if given else map(request, itertools.count())
    began: dict[socket.socket, float] = {}
    answer: defaultdict[socket.socket, bytearray] = defaultdict(bytearray)
    took: list[float] = []
    for _ in range(connections):
        one = socket.create_connection(("127.0.0.1", port))
        ready.register(one, selectors.EVENT_READ)
    ends = time.perf_counter() + seconds
    for key in list(ready.get_map().values()):
        began[key.fileobj] = time.perf_counter()
        key.fileobj.sendall(next(requests))
    while time.perf_counter() < ends:
        for key, _ in ready.select(1.0):
            one = key.fileobj
            answer[one] += one.recv(262_144)
            if bytes(answer[one][:12]) not in {b"", b"HTTP/1.1 200"}:
                raise SystemExit(f"it answered {bytes(answer[one][:1000])!r}")
            if not is_whole(answer[one]):
                continue
            answer[one] = bytearray()
            now = time.perf_counter()
            took.append(now - began[one])
            began[one] = now
            one.sendall(next(requests))
    if len(took) < 2:
        raise SystemExit(f"it did not answer: {[bytes(one[:1000]) for one in answer.values()]}")
    cut = statistics.quantiles(took, n=100)
    print(json.dumps({"answered": len(took), "p50": cut[49] * 1000, "p99": cut[98] * 1000}))


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]), *sys.argv[4:])
