"""Slow down guessing of passwords and of secret page addresses.

Each attempt takes one slot from every count below, and the right password returns its slots. A slot
is a cache row that only one request can add, so simultaneous attempts are counted separately.
"""

import ipaddress
from collections.abc import Iterable, Iterator

from django.core.cache import cache
from django.utils.crypto import salted_hmac

MINUTE = 60


def take_slots(email: str, address: str, *, is_known: bool) -> list[str]:
    """Return the slots that an attempt takes, or an empty list if it comes too soon after others.

    `is_known`: whether somebody has logged in to this account with this browser. If so, attempts
    from elsewhere don't count, so nobody can lock somebody else out.
    """
    slots: list[str] = []
    for key, most, seconds in _counts_of(email.lower(), _network_of(address), is_known=is_known):
        slot = _free_slot(key, most, seconds)
        if slot is None:
            give_back(slots)
            return []
        slots.append(slot)
    return slots


def give_back(slots: Iterable[str]) -> None:
    cache.delete_many(slots)


def forget_guesses(email: str, address: str) -> None:
    """Forget the guesses at an account once its owner has proved access to its email."""
    _, *of_the_account = _counts_of(email.lower(), _network_of(address), is_known=False)
    for key, most, _ in of_the_account:
        give_back(_slot_names(key, most))


def may_guess(what: str, address: str) -> bool:
    """Return whether a network may still try addresses of this kind this minute."""
    slots = _slot_names(*_guesses_of(what, address))
    return len(cache.get_many(slots)) < len(slots)


def count_guess(what: str, address: str) -> None:
    _free_slot(*_guesses_of(what, address), MINUTE)


def _guesses_of(what: str, address: str) -> tuple[str, int]:
    """Return what to count, and how many wrong guesses to allow per minute."""
    return f"{what} address {_network_of(address)}", 60


def _counts_of(email: str, network: str, *, is_known: bool) -> Iterator[tuple[str, int, int]]:
    """Yield what to count, how many attempts to allow, and in how many seconds."""
    yield f"address {network}", 60, MINUTE
    yield f"account {email} address {network}", 5, 5 * MINUTE
    if not is_known:
        yield f"account {email}", 20, 5 * MINUTE


def _free_slot(key: str, most: int, seconds: int) -> str | None:
    slots = _slot_names(key, most)
    taken = cache.get_many(slots)
    return next((slot for slot in slots if slot not in taken and cache.add(slot, 1, seconds)), None)


def _slot_names(key: str, most: int) -> list[str]:
    """Return the names of a count's slots, hashed: the cache table must hold no address."""
    name = salted_hmac("guess", key).hexdigest()[:32]
    return [f"guess:{name}:{number}" for number in range(most)]


def _network_of(address: str) -> str:
    """Return the address, or the /64 of an IPv6 one: one household has that many addresses.

    Anything that isn't an address is used as it is: a server behind a Unix socket has none, and
    some proxies add a port.
    """
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    return str(
        ipaddress.ip_network(f"{address}/64", strict=False) if parsed.version == 6 else parsed
    )
