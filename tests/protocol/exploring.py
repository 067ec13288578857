"""Explore a model completely: every reachable world, the worlds after restoring a backup, and the ones that get stuck."""

from collections import defaultdict
from collections.abc import Iterable

from tests.protocol.model import IDLE, Rows, Step, Worker, World, die, fence, steps

Worlds = dict[World, list[Step]]
RESTING = {"draft", "rejected", "not_booked", "booked", "cancelled"}


def explore(starts: Iterable[World], *, with_misled: bool) -> Worlds:
    """Return every world reachable from these, each with its possible next steps."""
    waiting = [tidy(world) for world in starts]
    known = {world: world for world in waiting}  # each is stored once, however many paths lead to it
    found: Worlds = {}

    def only(world: World) -> World:
        """Return the stored world that equals this one. If there is none, store it, to be explored."""
        if world not in known:
            known[world] = world
            waiting.append(world)
        return known[world]

    while waiting:
        world = waiting.pop()
        following = [step for step in steps(world) if with_misled or not step[2].is_misled]
        found[world] = [(who, what, only(tidy(after))) for who, what, after in following]
    return found


def restored(found: Worlds) -> set[World]:
    """Return the worlds that follow from restoring every backup made on the way to each world."""
    number: dict[Rows, int] = {}
    made_before = {world: 1 << number.setdefault(world.rows, len(number)) for world in found}  # one bit for each backup
    waiting = list(found)
    while waiting:
        world = waiting.pop()
        for _, _, after in found[world]:
            if made_before[world] & ~made_before[after]:
                made_before[after] |= made_before[world]
                waiting.append(after)
    backups: dict[World, int] = defaultdict(int)
    for world, those in made_before.items():
        for place in range(len(world.workers)):
            world = die(world, place)
        backups[tidy(world._replace(rows=Rows()))] |= those
    return {
        tidy(world._replace(rows=fence(rows), old_key=rows.key))
        for world, those in backups.items()
        for rows, place in number.items()
        if those >> place & 1
    }


def stuck(found: Worlds) -> list[World]:
    """Return the worlds where an order can't finish without a step of "trouble"."""
    before = defaultdict(list)
    for world, following in found.items():
        for who, _, after in following:
            if who != "trouble":
                before[after].append(world)
    resting = [world for world in found if is_at_rest(world)]
    reached = set(resting)
    while resting:
        for world in before[resting.pop()]:
            if world not in reached:
                reached.add(world)
                resting.append(world)
    return [world for world in found if world not in reached]


def is_at_rest(world: World) -> bool:
    rows, is_idle = world.rows, all(worker == IDLE for worker in world.workers)
    return rows.status in RESTING and not rows.due and not rows.is_paused and is_idle and not world.late


def story(found: Worlds, starts: Iterable[World], end: World) -> str:
    """Return one of the shortest paths to this world, a line for each step."""
    ways = {tidy(start): f"\n{start.rows}" for start in starts}
    waiting = list(ways)
    for world in waiting:
        for who, what, after in found[world]:
            if after not in ways:
                ways[after] = f"{ways[world]}\n{who}: {what}"
                waiting.append(after)
    return ways[end]


def tidy(world: World) -> World:
    """Drop what no longer matters: unused keys, requests the carrier has had, and workers that are too late."""
    rows, late, made = world.rows, world.late, world.made
    if late:
        late = frozenset(one for one in late if world.state(one[1]) == ("live" if one[0] == "cancel" else ""))
    tidied = [one if one is IDLE else IDLE if _is_spent(one, rows) else _plain(one) for one in world.workers]
    workers = tuple(sorted(tidied))
    if made:
        named = {rows.key, rows.reference, *[key for _, key in late], *[one.key for one in workers]}
        made = frozenset([one for one in made if one[1] == "live" or one[0] in named])
    is_tidy = (workers, made, late) == (world.workers, world.made, world.late)
    return world if is_tidy else world._replace(workers=workers, made=made, late=late)


def _plain(worker: Worker) -> Worker:
    """Drop whether a worker is in time once it has sent its request."""
    return worker._replace(is_in_time=False) if worker.is_in_time and worker.at in {"waiting", "answered"} else worker


def _is_spent(worker: Worker, rows: Rows) -> bool:
    """Return whether nothing this worker can still do would change anything."""
    if worker.at in {"idle", "sending", "waiting"} or worker.has_lease or worker.has_cancel:
        return False
    if worker.at in {"claimed", "prepared"} or worker.answer not in {"yes", "gone", "anothers", "rejected"}:
        return worker.job != "book" or (rows.key, rows.attempt) != (worker.key, "in_flight")
    if worker.job in {"cancel", "look"}:
        return worker.answer == "rejected" or rows.status == "cancelled"
    return worker.answer == "rejected" and worker.key != rows.key
