"""Break the portal in thirteen ways, each in a line or two; the campaign must notice, or it proves nothing."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SEEDS = (7, 8, 9, 10)  # the first seed that fails ends the trial; if none does, the sabotage wasn't noticed
SIZE = ("--orders=120",)
PATIENCE_SECONDS = 900


@dataclass(frozen=True)
class Sabotage:
    """A change to the code that the campaign must notice.

    `changes` are (file, text that is there exactly once, its replacement). `takes_a_day`: only the simulation runs long
    enough to notice.
    """

    name: str
    changes: tuple[tuple[str, str, str], ...]
    options: tuple[str, ...] = SIZE
    takes_a_day: bool = False


SABOTAGES = (
    Sabotage(
        "retry on a read timeout",
        (
            (
                "shipping_portal/carrier/connection.py",
                "        and request.may_repeat\n        and deadline.is_reused\n        and not deadline.over\n",
                "",
            ),
        ),
        (*SIZE, "--replays=off"),
    ),
    Sabotage(
        "resend an unknown with a fresh key",
        (
            (
                "orders/booking/resolving.py",
                "book(bytes(attempt.body), key=str(attempt.key), not_after=not_after)",
                "book(bytes(attempt.body), key=str(__import__('uuid').uuid4()), not_after=not_after)",
            ),
        ),
    ),
    Sabotage(
        "drop the partial unique index",
        (
            (
                "orders/migrations/0001_initial.py",
                "models.UniqueConstraint(condition=models.Q(('state__in', ['in_flight', "
                "'unknown', 'accepted'])), fields=('order',), name='one_live_attempt_per_order')",
                "models.UniqueConstraint(condition=models.Q(('state__in', ['in_flight', "
                "'unknown', 'accepted'])), fields=('order', 'generation'), name='one_live_attempt_per_order')",
            ),
        ),
    ),
    Sabotage(
        "set due_at after publishing, in a second transaction",
        (
            (
                "orders/status/transitions.py",
                '"submitted_at": at, "due_at": at}',
                '"submitted_at": at, "due_at": None}',
            ),
            (
                "orders/booking/bookings.py",
                "    return orders[0]\n\n\ndef confirm(",
                "    Order.objects.filter(pk__in=[one.pk for one in orders]).update(due_at=now)\n"
                "    return orders[0]\n\n\ndef confirm(",
            ),
        ),
    ),
    Sabotage(
        "ignore the fence when storing a result",
        (
            (
                "orders/booking/recording.py",
                "return update_row(attempt, where, changes)",
                "return update_row(attempt, {}, changes)",
            ),
        ),
    ),
    Sabotage(
        "acknowledge a webhook before storing it",
        (
            (
                "tracking/views.py",
                "    intake.receive_delivery(body, configured, now=timezone.now())\n",
                "    __import__('threading').Thread("
                "target=lambda: intake.receive_delivery(body, configured, now=timezone.now())).start()\n",
            ),
        ),
    ),
    Sabotage(
        "project by arrival order",
        (
            (
                "orders/status/progress.py",
                "known, latest = set(steps), None\n    for step in _in_order(known):\n",
                "known, latest = list(steps), None\n    for step in known:\n",
            ),
        ),
    ),
    Sabotage(
        "serve a label without the owner filter",
        (
            (
                "orders/views/labels.py",
                "        order__sender__memberships__user=request.user, order__status=Status.BOOKED\n",
                "        order__status=Status.BOOKED\n",
            ),
        ),
    ),
    Sabotage(
        "follow redirects",
        (
            (
                "shipping_portal/carrier/connection.py",
                "response = adapter.send(",
                "response = (lambda s: (s.mount('http://', adapter), s)[1])(requests.Session()).send(",
            ),
        ),
    ),
    Sabotage(
        "log the full URL",
        (("shipping_portal/carrier/client.py", '"label", LABEL_PATH, request', '"label", url, request'),),
    ),
    Sabotage(
        "leave the refunds out when a report is posted",
        (
            (
                "shipping_portal/billing/reports/posting.py",
                'is_repeat=False, held="", line__gte=first',
                "is_repeat=False, amount__gt=0, line__gte=first",
            ),
        ),
    ),
    Sabotage(
        "count a pause of over a day as time to send in",
        (
            (
                "orders/booking/verdict.py",
                "now - max([order.submitted_at, *filter(None, ends)]) > GIVE_UP_AFTER",
                "now - order.submitted_at > GIVE_UP_AFTER",
            ),
        ),
        takes_a_day=True,
    ),
    Sabotage(
        "buy another shipment after a lost reply",
        (
            (
                "orders/booking/resolving.py",
                "can_look = gateway.can_find(order.account) or bool(pending_id)",
                "can_look = bool(pending_id)",
            ),
            (
                "orders/booking/resolving.py",
                "book(bytes(attempt.body), key=str(attempt.key), not_after=not_after)",
                "book(client.prepare(__import__('orders.booking.preparing', fromlist=['_'])"
                ".shipment_of(order)).body, key='')",
            ),
        ),
        ("--carrier=easypost", "--orders=20"),
    ),
)
IN_A_CAMPAIGN = [sabotage for sabotage in SABOTAGES if not sabotage.takes_a_day]


@dataclass(frozen=True)
class Verdict:
    """The campaign's result for a sabotaged copy, and the seed it took."""

    name: str
    seed: int
    broken: tuple[str, ...]
    text: str

    @property
    def is_caught(self) -> bool:
        return bool(self.broken)


def run(sabotage: Sabotage) -> Verdict:
    """Run the campaign on a copy of this tree with the sabotage in it."""
    with broken_copy(sabotage) as copy:
        for seed in SEEDS:
            verdict = _try(sabotage, copy, seed)
            if verdict.is_caught:
                break
    return verdict


@contextmanager
def broken_copy(sabotage: Sabotage) -> Iterator[Path]:
    """Return a copy of this tree with the sabotage in it."""
    with tempfile.TemporaryDirectory(prefix="portal-sabotage-") as folder:
        copy = Path(folder)
        _copy_tree(copy)
        for file, old, new in sabotage.changes:
            _replace(copy / file, old, new)
        yield copy


def _try(sabotage: Sabotage, copy: Path, seed: int) -> Verdict:
    command = [sys.executable, "-m", "tools.campaign", f"--seed={seed}", *sabotage.options, "--forget"]
    env = {**os.environ, "PYTHONPATH": "", "TEST_TEMPLATE": ""}  # it may have broken a migration, so it runs its own
    done = subprocess.run(
        command, cwd=copy, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False, env=env
    )
    broken = re.findall(r"^  (.+?)\s+BROKEN", done.stdout, re.MULTILINE)
    return Verdict(sabotage.name, seed, tuple(broken), done.stdout + done.stderr[-2000:])


def _copy_tree(copy: Path) -> None:
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    for name in subprocess.check_output(listed, cwd=ROOT, text=True).split("\0"):
        if name and (ROOT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, copy / name)
    (copy / ".venv").symlink_to(ROOT / ".venv")


def _replace(file: Path, old: str, new: str) -> None:
    """Replace a line. Raises ValueError if it is gone: sabotages have to follow the code."""
    text = file.read_text()
    if text.count(old) != 1:
        raise ValueError(f"{file.name} holds {text.count(old)} of: {old}")
    file.write_text(text.replace(old, new))


def table(verdicts: Sequence[Verdict]) -> Iterable[str]:
    """Return the results as Markdown."""
    yield "| Sabotage | Seed | What turned red |"
    yield "|---|---|---|"
    for verdict in verdicts:
        yield f"| {verdict.name} | {verdict.seed} | {'; '.join(verdict.broken) or '**nothing**'} |"


def main() -> int:
    verdicts = []
    chosen = [sabotage for sabotage in IN_A_CAMPAIGN if not sys.argv[1:] or sabotage.name in sys.argv[1:]]
    for sabotage in chosen:
        verdicts.append(run(sabotage))
        caught = verdicts[-1].broken
        print(f"{sabotage.name}: {'red: ' + '; '.join(caught) if caught else 'NOT NOTICED'}", flush=True)
        if not caught:
            print(verdicts[-1].text)
    print("\n" + "\n".join(table(verdicts)))
    return int(not all(verdict.is_caught for verdict in verdicts))


if __name__ == "__main__":
    sys.exit(main())
