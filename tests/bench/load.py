"""A few connections that ask one server again and again: `python -m tests.bench.load PORT SECONDS CONNECTIONS`.

Each request is a webhook with an event id of its own and one of many references. Prints how many were answered with
200, and the 50th and 99th percentile in milliseconds.
"""

import base64
import itertools
import json
import selectors
import socket
import statistics
import sys
import time
import uuid
from collections import defaultdict

SECRET = "carrier:bench-webhook-secret-0123456789abcdef"
REFERENCES = 2000
HEAD = (
    "POST /webhooks/tracking/ HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    f"Authorization: Basic {base64.b64encode(SECRET.encode()).decode()}\r\nContent-Length: "
)
WORDS = ("Pickup", "In Transit", "Out for Delivery", "Delivered")


def request(number: int) -> bytes:
    body = json.dumps(
        {
            "carrier_reference": f"SB{number * 7919 % REFERENCES:07d}",
            "event_id": str(uuid.uuid4()),
            "event_type": WORDS[number % len(WORDS)],
            "scan_time": f"2026-11-18T{number % 24:02d}:{number % 60:02d}:05Z",
            "description": "Parcel scanned at the depot",
            "location_data": {"suburb": "Fitzroy", "state": "VIC", "postcode": "3065", "country": "AU"},
        }
    )
    return f"{HEAD}{len(body)}\r\n\r\n{body}".encode()


def main(port: int, seconds: float, connections: int) -> None:
    ready, numbers = selectors.DefaultSelector(), itertools.count()
    began: dict[socket.socket, float] = {}
    answer: defaultdict[socket.socket, bytes] = defaultdict(bytes)
    took: list[float] = []
    for _ in range(connections):
        one = socket.create_connection(("127.0.0.1", port))
        ready.register(one, selectors.EVENT_READ)
    ends = time.perf_counter() + seconds
    for key in list(ready.get_map().values()):
        began[key.fileobj] = time.perf_counter()
        key.fileobj.sendall(request(next(numbers)))
    while time.perf_counter() < ends:
        for key, _ in ready.select(1.0):
            one = key.fileobj
            answer[one] += one.recv(65536)
            if not answer[one].endswith(b"stored"):  # its head may come before its body
                if answer[one][:12] not in {b"", b"HTTP/1.1 200"}:
                    raise SystemExit(f"it answered {answer[one]!r}")
                continue
            answer[one] = b""
            now = time.perf_counter()
            took.append(now - began[one])
            began[one] = now
            one.sendall(request(next(numbers)))
    cut = statistics.quantiles(took, n=100)
    print(json.dumps({"answered": len(took), "p50": cut[49] * 1000, "p99": cut[98] * 1000}))


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]))
