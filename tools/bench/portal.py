"""One measured portal: reads [who, path, times] lines, answers with seconds and the number of queries."""

import json
import sys
import time

from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext, setup_test_environment

from tools.bench import filling
from tools.bench.pages import BACKEND

LONGEST = 2.0  # seconds of one page in one round, however slow it is


def main(rows: int, accounts: int) -> None:
    """Answer until there are no more lines."""
    setup_test_environment()
    call_command("migrate", verbosity=0)
    cast = filling.fill(rows, accounts)
    clients = {who: Client() for who in cast.people}
    for who, client in clients.items():
        client.force_login(cast.people[who], backend=BACKEND)
    for line in sys.stdin:
        who, path, times = json.loads(line)
        print(json.dumps(_measure(clients[who], path.format(**vars(cast)), times)), flush=True)


def _measure(client: Client, path: str, times: int) -> dict[str, object]:
    with CaptureQueriesContext(connection) as queries:
        _get(client, path)
        count = len(queries)
    seconds = [_get(client, path)]
    while len(seconds) < times and sum(seconds) < LONGEST:
        seconds.append(_get(client, path))
    return {"seconds": seconds, "queries": count}


def _get(client: Client, path: str) -> float:
    began_at = time.perf_counter()
    answer = client.get(path, secure=True)
    _ = list(answer) if answer.streaming else answer.content
    if answer.status_code != 200:
        raise SystemExit(f"{path} answered {answer.status_code}")
    return time.perf_counter() - began_at
