"""Links to the Authorised Tracking Page."""

import base64
import hashlib
import hmac
import json
from datetime import UTC, datetime
from urllib.parse import parse_qs, urlsplit

import pytest

from shipping_portal.carrier.errors import LinkOff, OutcomeUnknown, Rejected

from .conftest import ORDER_ID, order, reply

NOW = datetime(2026, 3, 2, 23, 0, tzinfo=UTC)
SIGNED = {"link": "signed", "link_page": "https://track.carrier.example/tracking"}


def ask(carrier):
    return carrier.tracking_page_link(ORDER_ID, "SQ7K2M", now=NOW)


def unpacked(part):
    return json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))


def test_no_links_by_default(client):
    with pytest.raises(LinkOff):
        ask(client())


def test_a_link_signed_here_is_for_the_sender_and_expires_in_15_minutes(client, far_side):
    url = ask(client(SIGNED, link_key="signing-key"))
    parts = urlsplit(url)
    assert f"{parts.scheme}://{parts.netloc}{parts.path}" == SIGNED["link_page"]
    query = parse_qs(parts.query)
    head, claims, signature = query["token"][0].split(".")
    assert query["ref"] == ["SQ7K2M"]
    assert unpacked(head) == {"alg": "HS256", "typ": "JWT"}
    assert unpacked(claims) == {
        "sub": "SQ7K2M",
        "role": "sender",
        "iss": "PRT-0001",
        "aud": "track.carrier.example",
        "iat": 1772492400,
        "exp": 1772493300,
    }
    digest = hmac.new(b"signing-key", f"{head}.{claims}".encode(), hashlib.sha256).digest()
    assert signature == base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
    assert far_side.asked == []


def test_without_a_key_there_is_no_link(client):
    with pytest.raises(LinkOff):
        ask(client(SIGNED))


def test_a_link_in_the_reply_is_fetched_each_time(client, far_side):
    url = f"{far_side.url}/page?ref=SQ7K2M&token=abc"
    far_side.answers(reply(200, order(authorised_tracking_url=url)))
    assert ask(client({"link": "response"})) == url
    assert far_side.asked[0].target == f"/api/orders/{ORDER_ID}"


def test_a_reply_may_spell_the_reference_in_another_case(client, far_side):
    url = f"{far_side.url}/page?ref=Sq7k2m&token=abc"
    far_side.answers(reply(200, order(carrier_reference="Sq7k2m", authorised_tracking_url=url)))
    assert ask(client({"link": "response"})) == url


def test_a_link_to_a_host_in_the_contract_is_allowed(client, far_side):
    url = "https://track.carrier.example/?token=abc"
    far_side.answers(reply(200, order(authorised_tracking_url=url)))
    assert ask(client({"link": "response", "link_hosts": "track.carrier.example"})) == url


@pytest.mark.parametrize("url", ["https://evil.example/?token=abc", "javascript:alert(1)", 7, {"a": 1}])
def test_a_link_to_any_other_host_is_refused(client, far_side, url):
    far_side.answers(reply(200, order(authorised_tracking_url=url)))
    with pytest.raises(Rejected) as raised:
        ask(client({"link": "response", "link_hosts": "track.carrier.example"}))
    assert raised.value.code == "unsafe_link"


def test_a_reply_without_a_link_is_a_refusal(client, far_side):
    far_side.answers(reply(200, order()))
    with pytest.raises(Rejected) as raised:
        ask(client({"link": "response"}))
    assert raised.value.code == "no_link"


def test_a_reply_about_another_parcel_is_a_conflict(client, far_side):
    url = f"{far_side.url}/?token=abc"
    far_side.answers(reply(200, order(carrier_reference="SOTHER1", authorised_tracking_url=url)))
    with pytest.raises(OutcomeUnknown) as raised:
        ask(client({"link": "response"}))
    assert raised.value.conflict


@pytest.mark.parametrize(
    ("template", "url"),
    [
        ("https://track.carrier.example/tracking?ref={reference}", "https://track.carrier.example/tracking?ref=SQ7K2M"),
        ("", ""),
    ],
)
def test_the_contract_gives_the_public_tracking_page(client, template, url):
    assert client({"public_tracking": template}).public_tracking_url("SQ7K2M") == url
