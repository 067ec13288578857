"""Which addresses we speak to: the carrier's base address and the hosts the contract adds, compared exactly.

An exact match of scheme, host and port is what refuses numeric addresses, look-alike and trailing-dot hosts
and unusual ports, whatever disguise they come in.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address
from urllib.parse import urlsplit

PORTS = {"https": 443, "http": 80}
# Only characters RFC 3986 allows: a backslash or a space makes two parsers see two different hosts.
PLAIN = re.compile(r"[A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=%-]{1,2048}", re.ASCII)


def is_loopback(host: str) -> bool:
    """Return whether this names the very machine: localhost, or any address of 127.0.0.0/8 and ::1."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def anywhere(address: str) -> bool:
    """Return whether an address may be connected to: any may, as the exact match of hosts is the carrier's guard."""
    return True


def in_public(address: str) -> bool:
    """Return whether an address is of the internet: not of this machine, of a private network or of nobody."""
    found = _read(address)
    return found.is_global and not found.is_multicast


def in_public_or_our_network(address: str) -> bool:
    """Return whether an address is of the internet or of a private network; never of this machine or of a link alone,
    where a cloud keeps the credentials of its machines.
    """
    found = _read(address)
    is_nobodys = found.is_unspecified or found.is_multicast or found.is_reserved
    return in_public(address) or (found.is_private and not (found.is_loopback or found.is_link_local or is_nobodys))


def _read(address: str) -> IPv4Address | IPv6Address:
    """Read an address as a socket gives it: ::ffff:127.0.0.1 is 127.0.0.1."""
    found = ip_address(address.partition("%")[0])
    return getattr(found, "ipv4_mapped", None) or found


@dataclass(frozen=True)
class Origin:
    """Scheme, host and port of an address, with its path and query cut off."""

    scheme: str
    host: str
    port: int

    @classmethod
    def of(cls, url: object) -> Origin | None:
        """Return the origin of an http(s) address without userinfo, or None when the address cannot be trusted."""
        if not (isinstance(url, str) and PLAIN.fullmatch(url)):
            return None
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError:
            return None
        if parts.scheme not in PORTS or not parts.hostname or "@" in parts.netloc:
            return None
        return cls(parts.scheme, parts.hostname, PORTS[parts.scheme] if port is None else port)

    @property
    def loopback(self) -> bool:
        """Is it this very machine, where plain http is allowed?"""
        return is_loopback(self.host)

    @property
    def private(self) -> bool:
        """Is what we send hidden from the network?"""
        return self.scheme == "https" or self.loopback


def base_origin(base_url: str) -> Origin:
    """Return the origin of CARRIER_BASE_URL. Raises ValueError unless it is https, or loopback."""
    origin = Origin.of(base_url)
    if origin is None or "?" in base_url or "#" in base_url:
        raise ValueError("The carrier's base address must be a plain address such as https://carrier.example/api.")
    if not origin.private:
        raise ValueError("The carrier's base address must start with https://.")
    return origin


@lru_cache(maxsize=64)
def spelled_alike(base_url: str) -> str:
    """The same text for each spelling of a base address: its host's case, a dot after it, the usual port, a last `/`.

    What can't be read as an address stays as it is; portal.E002 tells of it.
    """
    origin = Origin.of(base_url)
    if origin is None:
        return base_url.rstrip("/")
    host = origin.host.removesuffix(".")
    host = f"[{host}]" if ":" in host else host
    port = "" if origin.port == PORTS[origin.scheme] else f":{origin.port}"
    return f"{origin.scheme}://{host}{port}{urlsplit(base_url).path.rstrip('/')}"


def permitted(url: object, base: Origin, extra: str) -> bool:
    """Return whether we may use this address: on the base's origin, or over https on an extra host ("host[:port]").

    A loopback base (the sandbox) may also name loopback hosts over http.
    """
    origin = Origin.of(url)
    if origin is None:
        return False
    if origin == base:
        return True
    allowed = any(Origin.of(f"{origin.scheme}://{host}") == origin for host in extra.split())
    return allowed and (origin.scheme == "https" or (origin.loopback and base.loopback))
