"""Decide which hosts we talk to: the base address's and the contract's, compared exactly.

An exact match of scheme, host and port rejects numeric addresses, look-alikes, trailing dots and
unusual ports, however disguised.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from urllib.parse import urlsplit

PORTS = {"https": 443, "http": 80}
# All IPv6 addresses on the internet are in 2000::/3. 6to4 (2002::/16, with its relays) contains an
# IPv4 address, which may be private; so does NAT64 (64:ff9b::/96), which is outside 2000::/3.
UNICAST = ip_network("2000::/3")
NOT_PUBLIC = tuple(map(ip_network, ("2002::/16", "192.88.99.0/24", "3fff::/20")))
# Only characters that RFC 3986 allows: with a backslash or a space, two parsers may see different
# hosts.
PLAIN = re.compile(r"[A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=%-]{1,2048}", re.ASCII)


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine: localhost, 127.0.0.0/8 or ::1."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def may_connect_anywhere(address: str) -> bool:
    """Accept any address: the exact match of hosts protects the carrier's calls."""
    return True


def in_public(address: str) -> bool:
    """Return whether an address is on the internet, not on this machine or a private network."""
    found = _read_address(address)
    if found.is_multicast or any(found in network for network in NOT_PUBLIC):
        return False
    return found.is_global and (found.version == 4 or found in UNICAST)


def in_public_or_our_network(address: str) -> bool:
    """Return whether an address is on the internet or a private network.

    This machine and link-local addresses, where clouds serve machine credentials, never qualify.
    """
    found = _read_address(address)
    is_nobodys = found.is_unspecified or found.is_multicast or found.is_reserved
    return in_public(address) or (
        found.is_private and not (found.is_loopback or found.is_link_local or is_nobodys)
    )


def _read_address(address: str) -> IPv4Address | IPv6Address:
    """Read an address as a socket reports it: ::ffff:127.0.0.1 is 127.0.0.1."""
    found = ip_address(address.partition("%")[0])
    return getattr(found, "ipv4_mapped", None) or found


@dataclass(frozen=True)
class Origin:
    """Scheme, host and port of an address, without path and query."""

    scheme: str
    host: str
    port: int

    @classmethod
    def of(cls, url: object) -> Origin | None:
        """Return an http(s) address's origin without userinfo, or None if it can't be trusted."""
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
        """Return whether it is this machine, for which plain http is allowed."""
        return is_loopback(self.host)

    @property
    def private(self) -> bool:
        """Return whether what we send is hidden from the network."""
        return self.scheme == "https" or self.loopback


def base_origin(base_url: str) -> Origin:
    """Return CARRIER_BASE_URL's origin. Raises ValueError unless it is https or loopback."""
    origin = Origin.of(base_url)
    if origin is None or "?" in base_url or "#" in base_url:
        raise ValueError(
            "The carrier's base address must be a plain address such as"
            " https://carrier.example/api."
        )
    if not origin.private:
        raise ValueError("The carrier's base address must start with https://.")
    return origin


@lru_cache(maxsize=64)
def spelled_alike(base_url: str) -> str:
    """Return a base address without variations: host case, trailing dot, default port, last `/`.

    An unreadable address is returned unchanged; portal.E002 reports it.
    """
    origin = Origin.of(base_url)
    if origin is None:
        return base_url.rstrip("/")
    host = origin.host.removesuffix(".")
    host = f"[{host}]" if ":" in host else host
    port = "" if origin.port == PORTS[origin.scheme] else f":{origin.port}"
    return f"{origin.scheme}://{host}{port}{urlsplit(base_url).path.rstrip('/')}"


def is_permitted(url: object, base: Origin, extra: str) -> bool:
    """Return whether we may use this address: on the base's origin, or an extra host over https.

    Extra hosts are "host[:port]". With a loopback base (the sandbox), extra loopback hosts may use
    http.
    """
    origin = Origin.of(url)
    if origin is None:
        return False
    if origin == base:
        return True
    allowed = any(Origin.of(f"{origin.scheme}://{host}") == origin for host in extra.split())
    return allowed and (origin.scheme == "https" or (origin.loopback and base.loopback))
