import time

import pytest

from shipping_portal.sandbox import signing
from tests.sandbox.client import AGENT, CREDENTIALS

SIGNED = {"link": "signed", "link_page": "https://track.carrier.example/tracking"}


def claims(order, **changes):
    now = int(time.time())
    good = {"sub": order["carrier_reference"], "role": "sender", "iss": "PRT-0001", "iat": now, "exp": now + 900}
    return good | changes


def opened(carrier, order, token):
    return carrier.call("GET", f"/tracking?ref={order['carrier_reference']}&token={token}", headers=AGENT)


def test_the_public_page_shows_scans_but_no_names(carrier):
    order = carrier.book().json
    carrier.control("scan", reference=order["carrier_reference"], event_type="Pickup", description="By N TAMSIN")
    page = carrier.call("GET", order["tracking_url"], headers=AGENT).body.decode()
    assert "Pickup" in page
    for personal in ("Noor", "Sample Street", "TAMSIN"):
        assert personal not in page


def test_a_link_in_the_reply_opens_the_senders_page(open_carrier):
    carrier = open_carrier({"link": "response"})
    link = carrier.book().json["authorised_tracking_url"]
    page = carrier.call("GET", link, headers=AGENT)
    assert page.status == 200
    assert b"Noor Tamsin" in page.body
    assert page.headers["cache-control"] == "no-store"


def test_a_link_we_sign_opens_the_page(open_carrier):
    carrier = open_carrier(SIGNED, link_key="shared")
    order = carrier.book().json
    assert "authorised_tracking_url" not in order
    assert opened(carrier, order, signing.mint(claims(order), "shared")).status == 200


@pytest.mark.parametrize(
    "changes", [{"exp": 1}, {"exp": None}, {"sub": "SOTHER1"}, {"role": "admin"}, {"iss": "someone"}, {"iat": "now"}]
)
def test_a_link_with_a_wrong_claim_is_refused(open_carrier, changes):
    carrier = open_carrier(SIGNED, link_key="shared")
    order = carrier.book().json
    assert opened(carrier, order, signing.mint(claims(order, **changes), "shared")).status == 403


def test_a_forged_token_is_refused(open_carrier):
    carrier = open_carrier(SIGNED, link_key="shared")
    order = carrier.book().json
    good = signing.mint(claims(order), "shared")
    head, body, _ = good.split(".")
    guessed = signing.mint(claims(order), "guessed")
    for token in (guessed, f"{head}.{body}.", f"{head}.{body}", "", "a.b.c", "%C3%A9.a.b"):
        assert opened(carrier, order, token).status == 403


def test_without_a_key_no_signed_link_is_accepted(open_carrier):
    carrier = open_carrier(SIGNED)
    order = carrier.book().json
    assert opened(carrier, order, signing.mint(claims(order), "")).status == 403


def test_the_lists_are_published_and_every_pair_is_distinct(carrier):
    rows = carrier.call("GET", "/_sandbox/localities.csv", headers={**AGENT, **CREDENTIALS}).body.decode().splitlines()
    assert rows[0] == "country,suburb,state,postcode"
    assert len(set(rows)) == len(rows)
    counts = {country: sum(row.startswith(country) for row in rows) for country in ("AU", "CA", "US")}
    assert all(counts[country] >= least for country, least in {"AU": 180, "CA": 60, "US": 90}.items())
