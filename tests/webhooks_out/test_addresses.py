"""Where events are never sent: any address that only the portal can reach, however it is spelled."""

import socket
from typing import Any

import pytest
from django.utils import timezone

from shipping_portal.accounts.models import Sender, User, WebhookEndpoint
from shipping_portal.accounts.webhooks import addresses
from shipping_portal.accounts.webhooks.forms import EndpointForm
from shipping_portal.carrier import outgoing
from shipping_portal.carrier.hosts import in_public
from shipping_portal.carrier.outgoing import Undelivered
from tests import factories
from tests.webhooks_out.conftest import send_due
from tests.webhooks_out.shop import Shop

INSIDE = [
    "127.0.0.1", "127.255.255.254", "0.0.0.0", "10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.1.1",  # noqa: S104
    "169.254.169.254", "100.64.0.1", "100.127.255.255", "192.0.0.1", "192.0.2.1", "198.18.0.1", "198.51.100.1",
    "203.0.113.1", "192.88.99.1", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255", "0.1.2.3",
    "::", "::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:0:127.0.0.1", "::127.0.0.1", "::7f00:1", "fe80::1",
    "fe80::1%eth0", "fec0::1", "fc00::1", "fd12:3456::1", "ff02::1", "ff0e::1", "64:ff9b::7f00:1", "64:ff9b::a00:1",
    "64:ff9b:1::1", "2002:7f00:1::", "2002:c0a8:101::1", "2001::1", "2001:db8::1", "100::1", "3fff::1", "5f00::1",
]  # fmt: skip
OUTSIDE = ["8.8.8.8", "1.1.1.1", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "2a00:1450::1", "::ffff:8.8.8.8"]


def test_no_private_address_counts_as_public() -> None:
    assert [address for address in INSIDE if in_public(address)] == []
    assert [address for address in OUTSIDE if not in_public(address)] == []


REFUSED = [
    "http://shop.example/", "ftp://shop.example/", "//shop.example/", "shop.example", "https://", "https:///x",
    "https://me:pw@shop.example/", "https://shop.example@127.0.0.1/", "https://shop.example\\@127.0.0.1/",
    "https://shop.example/#part", "https://shop.example/a b", "https://sh\u00f6p.example/", "https://shop.example:0/",
    "https://shop.example:80/", "https://shop.example:8443/", "https://shop.example:99999/", "https://shop.example:x/",
    "https://127.0.0.1/", "https://127.1/", "https://2130706433/", "https://0177.0.0.1/", "https://0x7f.1/",
    "https://0x7f000001/", "https://0/", "https://0.0.0.0/", "https://[::]/", "https://[::1]/",
    "https://[::ffff:127.0.0.1]/", "https://[::ffff:7f00:1]/", "https://[64:ff9b::7f00:1]/", "https://[fe80::1]/",
    "https://10.0.0.1/", "https://169.254.169.254/latest/meta-data/", "https://[fd00::1]/", "https://[::1/",
    "javascript:alert(1)", "file:///etc/passwd", "gopher://127.0.0.1/",
]  # fmt: skip
TAKEN = [
    "https://shop.example/hooks?key=1", "https://shop.example:443/", "https://SHOP.example/", "https://8.8.8.8/",
    "https://shop.example./", "https://[2606:4700::1111]/", "https://xn--shp-tna.example/",
]  # fmt: skip


@pytest.mark.parametrize("url", REFUSED)
def test_the_form_refuses_addresses_that_are_not_on_the_internet(url: str) -> None:
    form = EndpointForm({"url": url, "kinds": ["order"]})
    assert form.errors["url"]
    assert form["url"].value() == url


def test_the_form_accepts_addresses_on_the_internet() -> None:
    for url in TAKEN:
        assert EndpointForm({"url": url, "kinds": ["order"]}).is_valid(), url


def test_this_machine_is_reached_only_with_the_demos_setting(settings: Any) -> None:
    settings.WEBHOOK_OUT_LOOPBACK = True
    assert addresses.why_refused("http://127.0.0.1:8123/") == ""
    for url in (
        "http://localhost:8123/",
        "http://127.0.0.2/",
        "http://10.0.0.1/",
        "http://[::1]/",
        "http://a.example/",
    ):
        assert addresses.why_refused(url), url


def named(monkeypatch: pytest.MonkeyPatch, *found: str) -> list[str]:
    """Resolve every name to these addresses, one after the other. Return what was connected to."""
    answers, connected = [list(found)], []

    def getaddrinfo(host: str, port: Any, *args: Any, **more: Any) -> list[Any]:
        kind = [(socket.AF_INET6 if ":" in one else socket.AF_INET, one) for one in answers[0]]
        if more.get("flags") and host not in found:
            raise socket.gaierror
        if host in found:
            kind = [pair for pair in kind if pair[1] == host]
        return [(family, socket.SOCK_STREAM, 6, "", (one, port)) for family, one in kind]

    def connect(self: socket.socket, address: Any) -> None:
        connected.append(address[0])
        raise ConnectionRefusedError

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    monkeypatch.setattr(socket.socket, "connect", connect)
    return connected


def post(url: str) -> str:
    with pytest.raises(Undelivered) as caught:
        outgoing.request(url, b"{}", {}, may_reach=in_public)
    return str(caught.value)


@pytest.mark.parametrize(
    "found", [["127.0.0.1"], ["8.8.8.8", "127.0.0.1"], ["10.0.0.1", "8.8.8.8"], ["2606:4700::1", "64:ff9b::7f00:1"]]
)
def test_a_name_with_one_private_address_gets_no_connection(monkeypatch: pytest.MonkeyPatch, found: list[str]) -> None:
    connected = named(monkeypatch, *found)
    assert post("https://rebind.example/") == "the receiver is not on a public network"
    assert connected == []


def test_the_address_that_was_checked_is_the_one_that_is_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that would resolve to a private address the second time is looked up only once."""
    asked: list[str] = []
    connected = named(monkeypatch, "8.8.8.8", "1.1.1.1", "9.9.9.9")
    lookup = socket.getaddrinfo

    def once(host: str, *args: Any, **more: Any) -> Any:
        asked.append(host)
        return lookup(host, *args, **more)

    monkeypatch.setattr(socket, "getaddrinfo", once)
    assert post("https://shop.example/") == "the receiver refused the connection"
    assert connected == ["8.8.8.8", "1.1.1.1"], "two addresses are tried at most"
    assert asked.count("shop.example") == 1


@pytest.mark.django_db
def test_a_name_that_becomes_private_fails_and_says_so(
    quill: Sender, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = factories.webhook_endpoint(quill, alice, url="https://shop.example/")
    event = factories.webhook_event(made)
    assert named(monkeypatch, "192.168.0.7") == []
    send_due(made)
    event.refresh_from_db()
    assert (event.reply_status, event.reply) == (None, "the receiver is not on a public network")


@pytest.mark.django_db
def test_an_address_that_a_setting_no_longer_allows_is_sent_nothing(
    endpoint: WebhookEndpoint, shop: Shop, settings: Any
) -> None:
    event = factories.webhook_event(endpoint)
    settings.WEBHOOK_OUT_LOOPBACK = False
    send_due(endpoint)
    event.refresh_from_db()
    assert event.reply == addresses.NOT_HTTPS
    assert shop.deliveries == []
    assert event.due_at > timezone.now()
