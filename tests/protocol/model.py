"""The booking protocol as a model: everything that can happen to one order, small enough to explore completely.

docs/protocol.md explains its terms and what it leaves out. Tests compare it with the portal's own functions.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

ANOTHERS = 9  # the reference of another sender's booking
ONCE_MORE = 8  # that of a second booking under one key
KEYS = (1, 2)  # one, and one more after an operator was misled
JOBS = {"booking": "book", "unconfirmed": "replay", "cancelling": "cancel", "cancel_unconfirmed": "cancel"}
JOBS |= {"cancel_asked": "cancel"}
UNSIGNED = {"draft", "rejected", "not_booked"}  # whose sender read that nothing is booked


class Rows(NamedTuple):
    """The order in the database or in a backup."""

    status: str = "draft"
    key: int = 0  # of its last attempt
    attempt: str = ""  # the state of that while it is live: in_flight, unknown, accepted
    cancel: str = ""  # the state of its live cancellation: wanted, in_flight, unknown
    due: str = ""  # nothing is due, or due "now", or it is "leased"
    reference: int = 0  # the key under which the carrier made what we hold
    is_adopted: bool = False
    is_paused: bool = False  # from a restore until an operator lifts it


class Worker(NamedTuple):
    """What a worker is doing. An idle one may be dead. `has_…` is a compare-and-swap: anyone else's write clears it."""

    at: str = "idle"  # claimed, prepared, sending, waiting, answered
    job: str = ""  # book, replay, cancel, look
    key: int = 0
    answer: str = ""
    is_in_time: bool = False  # its lease is not over, whatever happened to the order
    has_lease: bool = False
    has_cancel: bool = False  # the cancellation is as this worker read or wrote it
    is_repeated: bool = False  # a cancellation that was sent before
    is_refused: bool = False  # it checks whether a cancellation refused now had worked before


class World(NamedTuple):
    replays: bool  # the contract's: a booking may be sent again under its key
    repeatable: bool  # so may a cancellation
    workers: tuple[Worker, ...]  # the sweep is one of them
    rows: Rows = Rows()
    made: frozenset[tuple[int, str]] = frozenset()  # the carrier's state of a key: live, asked, gone, refused
    late: frozenset[tuple[str, int]] = frozenset()  # requests on their way that nobody waits for: job, key
    old_key: int = -1  # of the attempt in a backup that was restored; -1 before that
    is_misled: bool = False  # an operator decided wrongly
    finds: bool = False  # the carrier can be asked about a booking
    asks: bool = False  # it notes a cancellation, and grants or refuses it later

    def live(self) -> set[int]:
        return {key for key, state in self.made if state in {"live", "asked"}}

    def state(self, key: int) -> str:
        return dict(self.made).get(key, "")


Step = tuple[str, str, World]  # who, what, the result; nobody may rely on "trouble"
IDLE = Worker()
MOVED: set[tuple[str, str]] = set()


def move(rows: Rows, *path: str, **changes: Any) -> Rows:
    MOVED.update(zip((rows.status, *path), path, strict=False))
    return rows._replace(status=path[-1], **changes)


def resolve(rows: Rows, key: int, answer: str, *, replays: bool) -> Rows:
    """Apply the reply to a booking: orders/booking/recording.py."""
    is_in_flight = (rows.key, rows.attempt) == (key, "in_flight")
    is_awaited = is_in_flight or (rows.key, rows.attempt, rows.status) == (key, "unknown", "unconfirmed")
    is_unsent = (rows.status, rows.attempt) == ("booking", "")
    if answer == "yes" and is_awaited:
        return move(rows, "booked", attempt="accepted", reference=key, due="")
    if answer == "rejected" and is_awaited:
        return move(rows, "rejected", attempt="", due="")
    if answer in {"not sent", "stopped"} and is_in_flight:
        return rows._replace(attempt="", due="now")
    if answer == "unknown" and is_in_flight:
        return move(rows, "unconfirmed", attempt="unknown", due="now" if replays else "")
    if (answer == "conflict" and is_in_flight) or (answer == "anothers" and is_awaited):
        path = ("unconfirmed", "conflict") if rows.status == "booking" else ("conflict",)
        return move(rows, *path, attempt="unknown", due="")
    is_late = answer in {"yes", "anothers"} and (is_unsent or rows.status in UNSIGNED)
    return move(rows, "conflict", due="") if is_late else rows


def store_yes(rows: Rows) -> Rows:
    """Store an accepted cancellation, from a worker or an operator: orders/cancelling/cancel_outcomes.py."""
    if rows.status == "booked":  # it refused before
        return move(rows, "cancelling", "cancel_unconfirmed", cancel="unknown", due="")
    return move(rows, "cancelled", cancel="", due="now") if JOBS.get(rows.status) == "cancel" else rows


def store_request(world: World, place: int) -> World:
    """Store a cancellation the carrier has only noted. The order is checked until it decides."""
    worker, rows = world.workers[place], world.rows
    if not worker.has_cancel:
        return write(world, place)
    asked = rows if rows.status == "cancel_asked" else move(rows, "cancel_asked")
    return write(world, place, rows=asked, cancel="unknown", due="now" if worker.has_lease else rows.due)


def fence(backup: Rows) -> Rows:
    """Fence a restored backup before anybody works with it: staff/restores/fencing.py."""
    rows = backup._replace(is_paused=True)
    if rows.status == "booking" and rows.attempt != "in_flight":
        return move(rows, "unconfirmed", due="")
    is_wanted = (rows.status, rows.cancel) == ("cancelling", "wanted")
    return move(rows, "cancel_unconfirmed", cancel="unknown", due="now") if is_wanted else rows


def die(world: World, place: int) -> World:
    """Kill a worker. A request it had sent carries on without it."""
    at, job, key, *_ = world.workers[place]
    sent = {("cancel" if job == "cancel" else "book", key)} if at == "waiting" else set()
    return write(world, place)._replace(late=world.late | sent)


def write(world: World, place: int = -1, worker: Worker = IDLE, rows: Rows | None = None, **changes: Any) -> World:
    old, new = world.rows, rows or world.rows
    new = new._replace(**changes) if changes else new
    lost = {"has_lease": False} if (old.status, old.due) != (new.status, new.due) else {}
    lost |= {"has_cancel": False} if old.cancel != new.cancel else {}
    others = [one._replace(**lost) for one in world.workers] if lost else world.workers
    workers = tuple([worker if at == place else one for at, one in enumerate(others)])
    return World(world.replays, world.repeatable, workers, new, *world[4:])  # `_replace` takes twice as long


def act(world: World, job: str, key: int) -> World:
    """Let the carrier handle a request: once for each key, if it remembers keys."""
    if job == "cancel":
        return decide_cancel(world, key, "live", "asked" if world.asks else "gone")
    is_known = bool(world.state(key))
    made = world.made | {(ONCE_MORE if is_known else key, "live")}
    return world if is_known and world.replays else world._replace(made=made)


def decide_cancel(world: World, key: int, old: str, new: str) -> World:
    made = {(one, new if (one, state) == (key, old) else state) for one, state in world.made}
    return world._replace(made=frozenset(made))


def steps(world: World) -> Iterator[Step]:
    rows = world.rows
    yield from _decisions(world)
    if path := {"draft": ("booking",), "not_booked": ("draft", "booking")}.get("" if rows.is_paused else rows.status):
        yield "sender", "books", write(world, rows=move(rows, *path, due="now"))
    if rows.status == "booked":
        yield "sender", "cancels", write(world, rows=move(rows, "cancelling", cancel="wanted", due="now"))
    if rows.due == "now" and IDLE in world.workers:
        yield from _takes(world, world.workers.index(IDLE))
    if rows.due == "leased":
        is_held = any(worker.has_lease for worker in world.workers)
        late = world._replace(workers=tuple(worker._replace(is_in_time=False) for worker in world.workers))
        yield "trouble" if is_held else "clock", "a lease runs out", write(late, due="now")
    for request in world.late:
        gone = world._replace(late=world.late - {request})
        yield from (("clock", "a request is lost", gone), ("clock", "a request is late", act(gone, *request)))
    for key, state in world.made:
        if state == "asked":
            yield "clock", "the carrier grants it", decide_cancel(world, key, state, "gone")
            yield "clock", "the carrier refuses it", decide_cancel(world, key, state, "live")
    for place, worker in enumerate(world.workers):
        if worker.at != "idle":
            yield "trouble", "a worker dies", die(world, place)
            yield from PHASES[worker.at](world, place, worker)


def _decisions(world: World) -> Iterator[Step]:
    """Let the operator decide correctly or be misled. An adoption can be undone."""
    rows, live = world.rows, world.live()
    is_quiet = not world.late and not any(worker.at == "waiting" for worker in world.workers)
    is_there = rows.reference in {*live, ANOTHERS}

    def decide(what: str, shown: Rows, *, is_so: bool) -> Step:
        after = write(world, rows=shown)
        return ("operator", what, after) if is_so else ("trouble", what, after._replace(is_misled=True))

    if rows.status in {"unconfirmed", "conflict"}:
        held = {"attempt": "accepted" if rows.key else "", "is_adopted": True, "due": "now"}
        for key in (*live, ANOTHERS):
            shown = move(rows, "booked", reference=key, **held)
            yield "operator" if key in live else "trouble", "adopts", write(world, rows=shown)
        if not any(worker.at == "sending" and worker.is_in_time for worker in world.workers):
            yield decide("says not booked", move(rows, "not_booked", attempt="", due=""), is_so=is_quiet and not live)
    if rows.status in UNSIGNED and world.is_misled and live:
        yield "operator", "opens it again", write(world, rows=move(rows, "conflict", due=""))
    if rows.status == "booked" and rows.is_adopted:
        open_again = {"attempt": rows.attempt and "unknown", "reference": 0, "is_adopted": False, "due": ""}
        for status in ("unconfirmed", "conflict"):
            yield "operator", "takes the adoption back", write(world, rows=move(rows, status, **open_again))
    if rows.status in {"cancel_unconfirmed", "cancel_asked"} and rows.cancel == "unknown":
        for status in ("cancelled", "booked"):
            is_so = is_quiet and is_there == (status == "booked")
            yield decide(f"says {status}", move(rows, status, cancel="", due="now"), is_so=is_so)
    if rows.is_paused and live and rows.status in UNSIGNED:
        gone = frozenset((key, "gone") for key, _ in world.made)
        yield "operator", "cancels at the carrier what nobody has", world._replace(made=gone)
    elif rows.is_paused and is_quiet:
        yield "operator", "lifts the pause", write(world, is_paused=False)


def _takes(world: World, place: int) -> Iterator[Step]:
    rows = world.rows
    if job := JOBS.get(rows.status):
        begun = Worker("claimed", job, is_in_time=True, has_lease=True)
        yield "worker", "takes it", write(world, place, begun, due="leased")
    elif rows.status == "booked" and world.old_key >= 0 and world.state(rows.reference) == "gone":
        shown = move(rows, "cancelling", "cancel_unconfirmed", "cancelled", due="")
        yield "worker", "finds it cancelled", write(world, rows=shown)
    elif rows.status == "booked" and world.old_key >= 0 and world.state(rows.reference) == "asked":
        shown = move(rows, "cancelling", "cancel_unconfirmed", "cancel_asked", cancel="unknown", due="now")
        yield "worker", "finds it asked for", write(world, rows=shown)
    else:
        yield "worker", "opens its parcel", write(world, due="")


def _begins(world: World, place: int, worker: Worker) -> Iterator[Step]:
    rows = world.rows
    is_repeated = rows.cancel == "unknown" or world.old_key >= 0  # or it may have been, after the backup
    asking = worker._replace(key=rows.reference, has_cancel=True, is_repeated=is_repeated)
    if worker.job == "cancel" and rows.cancel == "in_flight":  # its worker is gone
        yield from _puts_off_cancelling(world, place, asking, "unknown")
    elif rows.status == "cancel_asked" or (
        worker.job == "cancel" and rows.cancel == "unknown" and not world.repeatable
    ):
        yield _looks(world, place, asking)
    elif worker.job == "cancel":
        yield from _is_refused(world, place, asking)  # by the newest scans
        yield "worker", "writes it down", write(world, place, asking._replace(at="sending"), cancel="in_flight")
    elif worker.job == "book" and rows.attempt == "in_flight":
        shown = resolve(rows, rows.key, "unknown", replays=world.replays or world.finds)
        yield "worker", "finds it sent", write(world, place, rows=shown)
    elif worker.job == "book":
        yield "worker", "prepares it", write(world, place, worker._replace(at="prepared"))
        yield from _is_prepared(world, place, worker)
    elif rows.attempt == "unknown" and (world.replays or world.finds) and rows.key != world.old_key:
        if world.finds:
            found = worker._replace(
                at="answered", key=rows.key, answer="yes" if rows.key in world.live() else "unknown"
            )
            yield "worker", "looks for it", write(world, place, found)
        if world.replays:
            yield "worker", "sends it again", write(world, place, worker._replace(at="sending", key=rows.key))
    else:
        yield "worker", "leaves it to the operator", write(world, place, due="")


def _is_prepared(world: World, place: int, worker: Worker) -> Iterator[Step]:
    """Yield the results of a call that only prepares. It makes nothing at the carrier."""
    yield "worker", "puts it off", write(world, place, due="now")
    for status in ("draft", "rejected"):
        yield "worker", "steps aside", write(world, place, rows=move(world.rows, status, due=""))
    for key in _unused(world):
        sent = worker._replace(at="sending", key=key)
        yield "worker", "writes it down", write(world, place, sent, attempt="in_flight", key=key)


def _unused(world: World) -> list[int]:
    sent = {key for key, _ in world.made} | {key for _, key in world.late} | {worker.key for worker in world.workers}
    return [key for key in KEYS if key not in {*sent, world.rows.key, world.rows.reference, world.old_key}][:1]


def _sends(world: World, place: int, worker: Worker) -> Iterator[Step]:
    """Send the request, unless the lease is over."""
    yield "worker", "can't send it", write(world, place, worker._replace(at="answered", answer="not sent"))
    if worker.is_in_time:
        yield "worker", "sends it", write(world, place, worker._replace(at="waiting"))


def _waits(world: World, place: int, worker: Worker) -> Iterator[Step]:
    """Yield the replies: the carrier acts or not, and says so or not. A key refused once is refused for good."""
    key, state, acted = worker.key, world.state(worker.key), act(world, worker.job, worker.key)

    def says(answer: str, after: World = world) -> World:
        return write(after, place, worker._replace(at="answered", answer=answer))

    is_cancel = worker.job == "cancel"
    is_yes = (state not in {"gone", "asked"} or world.repeatable) if is_cancel else state != "refused"
    yes = "asked" if is_cancel and acted.state(key) == "asked" else "yes"
    yield "carrier", "acts and says so", says(yes if is_yes else "rejected", acted)
    if is_cancel or not state:
        noted = world if is_cancel else world._replace(made=world.made | {(key, "refused")})
        yield "carrier", "refuses", says("rejected", noted)
    yield "trouble", "acts and can't say so", says("unknown", acted)
    yield "trouble", "does not answer", says("unknown", die(world, place))
    for answer in ("not sent", "stopped", *(() if is_cancel else ("conflict", "anothers"))):
        yield "trouble", f"says {answer}", says(answer)


def _ends(world: World, place: int, worker: Worker) -> Iterator[Step]:
    answer = worker.answer
    if worker.job == "replay" and answer not in {"yes", "anothers", "rejected"}:
        yield "worker", "asks again later", write(world, place, due="now" if worker.has_lease else world.rows.due)
    elif worker.job in {"book", "replay"}:
        rows = resolve(world.rows, worker.key, answer, replays=world.replays or world.finds)
        yield "worker", f"stores {answer}", write(world, place, rows=rows)
    elif answer in {"yes", "gone"}:
        yield "worker", "stores the yes", write(world, place, rows=store_yes(world.rows))
    elif answer == "asked":
        yield "worker", "stores the request", store_request(world, place)
    elif worker.job == "look" and world.rows.status == "cancel_asked":  # the carrier decided against it
        yield from _is_refused(world, place, worker._replace(is_refused=True))
    elif answer == "rejected" or worker.is_refused:
        yield from _is_refused(world, place, worker)
    else:
        is_sent = worker.is_repeated or answer == "unknown"
        yield from _puts_off_cancelling(world, place, worker, "unknown" if is_sent else "wanted")


def _looks(world: World, place: int, worker: Worker, *, is_refused: bool = False) -> Step:
    reference = world.rows.reference
    answer = "live" if reference in {*world.live(), ANOTHERS} else "gone"
    answer = "asked" if world.state(reference) == "asked" else answer
    seen = worker._replace(at="answered", job="look", answer=answer, is_refused=is_refused)
    return "worker", "looks at the order", write(world, place, seen)


def _is_refused(world: World, place: int, worker: Worker) -> Iterator[Step]:
    """Yield what follows a refusal. For a repeated request it proves nothing, so the order is checked."""
    if worker.is_repeated and not worker.is_refused and worker.has_lease:
        yield _looks(world, place, worker, is_refused=True)
    else:
        is_mine = worker.has_cancel and worker.is_refused >= worker.is_repeated
        rows = move(world.rows, "booked", cancel="", due="now") if is_mine else world.rows
        yield "worker", "stores the refusal", write(world, place, rows=rows)


def _puts_off_cancelling(world: World, place: int, worker: Worker, state: str) -> Iterator[Step]:
    """Try again later, or leave it to the operator, if the cancellation is still this worker's."""
    rows, has = world.rows, worker.has_cancel
    if has and state == "unknown" and rows.status == "cancelling":
        rows = move(rows, "cancel_unconfirmed")
    rows = rows._replace(cancel=state if has else rows.cancel, due="now" if has and worker.has_lease else rows.due)
    yield "worker", "tries later", write(world, place, rows=rows)
    if rows.due == "now" and rows.status == "cancel_unconfirmed":
        yield "worker", "leaves it to the operator", write(world, place, rows=rows, due="")


PHASES = {"claimed": _begins, "prepared": _is_prepared, "sending": _sends, "waiting": _waits, "answered": _ends}
