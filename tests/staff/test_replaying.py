"""Replaying stored webhooks: first the diff, without writing; then the change, once, with a reason."""

import datetime as dt
import json
import re
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth.models import Group
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from time_machine import TimeMachineFixture

from shipping_portal.accounts.adminkit import permissions
from shipping_portal.accounts.models import Audit, Sender, User
from tests import factories
from tests.staff.conftest import REASON
from tracking.models import EventWord, Parcel, TrackingEvent, WebhookDelivery
from tracking.receiving import replaying
from tracking.scanning import reading

URL = "/admin/tracking/webhookdelivery/replay/"
LIST = "/admin/tracking/webhookdelivery/"


def body(reference: str = "SREPLAY001", kind: str = "Pickup", **changes: Any) -> bytes:
    event = {
        "carrier_reference": reference,
        "event_id": str(uuid.uuid4()),
        "event_type": kind,
        "scan_time": "2026-11-18T21:21:05Z",
        "description": f"{kind} scan",
    }
    return json.dumps(event | changes).encode()


def kept(raw: bytes, *, state: str = "quarantined", reason: str = "another form", **fields: Any) -> WebhookDelivery:
    """A body that couldn't be read when it arrived."""
    return factories.delivery(body=raw, state=state, reason=reason, **fields)


def everything() -> dict[str, list[dict[str, Any]]]:
    """Return all rows that reading a webhook can change."""
    touched = ["tracking.parcel", "tracking.trackingevent", "tracking.webhookdelivery", "tracking.eventword",
               "orders.order", "accounts.audit"]  # fmt: skip
    return {label: list(apps.get_model(label).objects.order_by("pk").values()) for label in touched}


def chosen_on(page: Any) -> dict[str, str]:
    found = re.search(r'name="chosen" value="([\d,]*)"', page.content.decode())
    return {"chosen": found.group(1) if found else "", "reason": REASON}


@pytest.mark.parametrize("seen", ["2026-11-19T08:21:05+1100", " 2026-11-18T21:21:05Z ", "2026-11-19 08:21:05 +11"])
def test_a_time_that_was_once_unreadable_is_read_now(seen: str, db: None, sam: User) -> None:
    old = kept(body(scan_time=seen), reason="the scan time is not an RFC 3339 instant")
    done = replaying.replay_deliveries([old.pk], by=sam, reason=REASON, now=timezone.now())
    assert (done.read, done.changed) == (1, 1)
    assert TrackingEvent.objects.get().scan_time == dt.datetime(2026, 11, 18, 21, 21, 5, tzinfo=dt.UTC)


@pytest.fixture(autouse=True)
def november(time_machine: TimeMachineFixture) -> None:
    """Days after the scans: scans from long before a booking change nothing."""
    time_machine.move_to(dt.datetime(2026, 11, 29, 2, tzinfo=dt.UTC))


@pytest.fixture
def waiting(quill: Sender, alice: User) -> Parcel:
    """A collected parcel; two bodies about it and one about an unknown reference can be replayed, one is hopeless."""
    parcel = factories.parcel(factories.order(quill, alice, status="booked"))
    factories.deliver(body(parcel.reference))
    kept(body(parcel.reference, "In Transit", scan_time="2026-11-19T03:00:00Z"))
    kept(body(parcel.reference, "Delivered", scan_time="2026-11-19T09:00:00Z"))
    kept(body("SNOBODY001", "Teleported"))
    factories.deliver(b"junk")
    return parcel


# -- The diff --------------------------------------------------------------------------------------


def test_the_page_shows_what_would_change_and_writes_nothing(staff: Client, waiting: Parcel) -> None:
    before = everything()
    page = staff.get(URL, {"state": "any"})
    assert everything() == before
    found = page.context["preview"]
    assert [reading.words for reading in found.changing] == ["New scan"] * 3
    assert len(found.readings) == 5
    assert [(str(m.parcel), m.before, m.after) for m in found.moves] == [(waiting.reference, "Picked up", "Delivered")]
    text = " ".join(page.content.decode().split())
    assert "5 selected: 3 new scans, 3 webhooks and 1 parcel would change. Nothing has changed yet." in text


def test_the_page_says_why_a_body_is_still_unreadable(staff: Client, db: None) -> None:
    kept(body(event_id=None))
    [reading] = staff.get(URL, {"state": "unread"}).context["preview"].readings
    assert reading.changes
    assert reading.words == "Couldn't be read: the event id is missing"


def test_an_id_with_other_content_is_reported_before_and_after(staff: Client, db: None) -> None:
    taken = str(uuid.uuid4())
    factories.deliver(body(event_id=taken))
    other = kept(body("SOTHER0001", event_id=taken))
    [reading] = staff.get(URL, {"state": "quarantined"}).context["preview"].readings
    assert reading.words == f"Same ID, different content: event {taken} is known with other content"
    assert not reading.gives_new_scan
    staff.post(URL, {"chosen": str(other.pk), "reason": REASON})
    other.refresh_from_db()
    assert other.state == "differs"


def test_there_is_no_button_if_nothing_would_change(staff: Client, db: None) -> None:
    factories.deliver(body())
    page = staff.get(URL, {"state": "stored"})
    assert page.context["preview"].does_nothing
    assert 'name="reason"' not in page.content.decode()


# -- The replay ------------------------------------------------------------------------------------


def test_the_replay_does_what_the_diff_showed(staff: Client, waiting: Parcel, sam: User) -> None:
    page = staff.get(URL, {"state": "unread"})
    seen = {r.delivery.pk: r.after.state for r in page.context["preview"].readings}
    answer = staff.post(URL, chosen_on(page), follow=True)
    assert "4 webhooks reprocessed: 3 changed, 1 unchanged." in answer.content.decode()
    assert {d.pk: d.state for d in WebhookDelivery.objects.filter(pk__in=seen)} == seen
    waiting.refresh_from_db()
    waiting.order.refresh_from_db()
    assert waiting.progress == waiting.order.progress == "delivered"
    assert Parcel.objects.get(reference="SNOBODY001").order is None
    assert EventWord.objects.get().scans == 1


def test_the_audit_log_has_one_row_with_the_count(staff: Client, waiting: Parcel, sam: User) -> None:
    staff.post(URL, chosen_on(staff.get(URL, {"state": "unread"})))
    row = Audit.objects.get()
    assert (row.action, row.actor) == ("webhooks read again", sam)
    assert row.reason.startswith("4 webhooks, ")
    assert row.reason.endswith(REASON)


def test_pressing_twice_changes_nothing_the_second_time(staff: Client, waiting: Parcel) -> None:
    post = chosen_on(staff.get(URL, {"state": "any"}))
    staff.post(URL, post)
    once = everything()
    staff.post(URL, post)
    twice = everything()
    once.pop("accounts.audit")
    twice.pop("accounts.audit")
    assert once == twice


def test_a_stored_scan_a_duplicate_and_a_conflict_keep_their_states(db: None) -> None:
    same = body()
    for raw in (same, same, body(event_id=json.loads(same)["event_id"], description="Something else")):
        factories.deliver(raw)
    for _ in range(2):
        for delivery in WebhookDelivery.objects.all():
            reading.read_deliveries(delivery.pk)
        states = WebhookDelivery.objects.order_by("pk").values_list("state", flat=True)
        assert list(states) == ["stored", "duplicate", "differs"]
    assert TrackingEvent.objects.count() == 1


def test_a_stored_scan_stays_stored_even_if_todays_contract_reads_it_differently(
    db: None, contract: Callable[[str], None]
) -> None:
    delivery = factories.deliver(body())
    contract('event_id = "another.name"')
    reading.read_deliveries(delivery.pk)
    delivery.refresh_from_db()
    assert delivery.state == "stored"
    assert delivery.event


def test_a_replayed_scan_counts_as_received_when_its_webhook_arrived(db: None) -> None:
    came = timezone.now() - dt.timedelta(days=3)
    delivery = kept(body())
    WebhookDelivery.objects.filter(pk=delivery.pk).update(received_at=came)
    reading.read_deliveries(delivery.pk)
    event = TrackingEvent.objects.get()
    assert (event.received_at, event.pushed_at) == (came, came)


def test_an_unreadable_polled_scan_stays_a_polled_scan(db: None) -> None:
    row = json.dumps({"event_type": "Pickup", "scan_time": "2026-11-18T21:21:05Z"}).encode()
    delivery = kept(row, polled_for="SPOLLED001")
    reading.read_deliveries(delivery.pk)
    event = TrackingEvent.objects.get()
    assert (event.source, event.parcel.reference, event.pushed_at) == ("poll", "SPOLLED001", None)


def test_an_unreadable_scan_of_another_parcel_stays_set_aside(db: None) -> None:
    delivery = kept(body("SOTHER0001"), polled_for="SPOLLED001")
    reading.read_deliveries(delivery.pk)
    delivery.refresh_from_db()
    assert (delivery.state, delivery.reason) == ("quarantined", "the scan names SOTHER0001")


def test_one_failure_does_not_stop_the_rest(staff: Client, waiting: Parcel, monkeypatch: pytest.MonkeyPatch) -> None:
    first = WebhookDelivery.objects.filter(state="quarantined").order_by("pk")[0]
    post = chosen_on(staff.get(URL, {"state": "quarantined"}))
    read = reading.read_deliveries

    def breaks(pk: int) -> None:
        if pk == first.pk:
            raise ZeroDivisionError
        read(pk)

    monkeypatch.setattr(reading, "read_deliveries", breaks)
    text = staff.post(URL, post, follow=True).content.decode()
    assert "1 webhook couldn&#x27;t be read because of a bug" in text
    waiting.refresh_from_db()
    assert waiting.progress == "delivered"


def test_a_short_reason_is_refused_and_the_selection_is_kept(staff: Client, waiting: Parcel) -> None:
    post = chosen_on(staff.get(URL, {"state": "unread"}))
    page = staff.post(URL, post | {"reason": "because"})
    assert page.context["form"].errors["reason"]
    assert chosen_on(page)["chosen"] == post["chosen"]
    assert not Audit.objects.exists()
    assert WebhookDelivery.objects.filter(state="quarantined").count() == 4


@pytest.mark.parametrize("chosen", ["", "1,x", "1;2", "9" * 40, "1,,2"])
def test_a_selection_that_was_not_shown_replays_nothing(staff: Client, waiting: Parcel, chosen: str) -> None:
    assert staff.post(URL, {"chosen": chosen, "reason": REASON}).status_code == 200
    assert not Audit.objects.exists()


def test_deleted_webhooks_are_reported(staff: Client, db: None) -> None:
    text = staff.post(URL, {"chosen": "12345", "reason": REASON}, follow=True).content.decode()
    assert "Nothing was reprocessed." in text
    assert not Audit.objects.exists()


# -- Choosing --------------------------------------------------------------------------------------


def test_ticked_rows_are_previewed(staff: Client, waiting: Parcel) -> None:
    ticked = list(WebhookDelivery.objects.filter(state="quarantined").values_list("pk", flat=True)[:2])
    page = staff.post(LIST, {"action": "read_ticked_again", "_selected_action": ticked})
    assert sorted(int(pk) for pk in chosen_on(page)["chosen"].split(",")) == sorted(ticked)


def test_a_time_range_and_a_state_can_be_selected(staff: Client, db: None) -> None:
    for hours in (1, 3, 5):
        made = kept(body(f"SHOURS000{hours}"))
        came = timezone.now() - dt.timedelta(hours=hours)
        WebhookDelivery.objects.filter(pk=made.pk).update(received_at=came)
    bounds = {
        name: (timezone.now() - dt.timedelta(hours=hours)).strftime("%Y-%m-%dT%H:%M")
        for name, hours in (("since", 4), ("until", 2))
    }
    page = staff.get(URL, {"state": "quarantined", **bounds})
    assert [str(r.after.event.parcel) for r in page.context["preview"].readings] == ["SHOURS0003"]
    assert "No matching webhooks." in staff.get(URL, {"state": "stored", **bounds}).content.decode()


def test_at_most_five_hundred_go_at_once_the_oldest_first(staff: Client, db: None) -> None:
    account = factories.account()
    WebhookDelivery.objects.bulk_create(
        WebhookDelivery(account=account, received_at=timezone.now(), body=b"{", sha256="0" * 64, state="quarantined")
        for _ in range(505)
    )
    page = staff.get(URL, {"state": "quarantined"})
    chosen = [int(pk) for pk in chosen_on(page)["chosen"].split(",")]
    assert chosen == sorted(WebhookDelivery.objects.values_list("pk", flat=True))[:500]
    assert "500 selected, the oldest of 505" in " ".join(page.content.decode().split())


def test_webhooks_left_for_lack_of_time_are_reported(
    staff: Client, waiting: Parcel, monkeypatch: pytest.MonkeyPatch
) -> None:
    post = chosen_on(staff.get(URL, {"state": "unread"}))
    monkeypatch.setattr(replaying, "SECONDS", -1.0)
    assert "4 webhooks not reprocessed: time ran out." in staff.post(URL, post, follow=True).content.decode()
    assert WebhookDelivery.objects.filter(state="quarantined").count() == 4


@pytest.mark.parametrize(
    ("listed", "leads_to"),
    [("", URL), ("?needs=reading", f"{URL}?state=unread"), ("?state__exact=differs", f"{URL}?state=differs")],
)
def test_the_list_links_to_replaying_what_it_shows(staff: Client, db: None, listed: str, leads_to: str) -> None:
    assert f'href="{leads_to}"' in staff.get(f"{LIST}{listed}").content.decode()


def test_one_webhook_links_to_replaying_it(staff: Client, db: None) -> None:
    delivery = kept(body())
    page = staff.get(reverse("admin:tracking_webhookdelivery_change", args=[delivery.pk])).content.decode()
    assert f'href="{URL}?ids={delivery.pk}"' in page
    assert chosen_on(staff.get(URL, {"ids": str(delivery.pk)}))["chosen"] == str(delivery.pk)


@pytest.mark.parametrize("more", ["9" * 19, "9" * 5000, "²", "-1", ""], ids=len)
def test_a_number_that_is_no_webhooks_is_left_out(staff: Client, db: None, more: str) -> None:
    delivery = kept(body())
    assert chosen_on(staff.get(URL, {"ids": f"{more},{delivery.pk}"}))["chosen"] == str(delivery.pk)


def test_a_webhook_without_a_scan_is_found_by_its_own_text(staff: Client, db: None) -> None:
    said = json.loads(body("Sfound0001"))
    factories.deliver(json.dumps(said | {"event_type": 7}).encode())
    factories.deliver(body("SOTHER0001"))
    for typed in ("sFOUND0001", said["event_id"], said["event_id"].upper()):
        assert staff.get(LIST, {"q": typed}).context["cl"].result_count == 1
    assert staff.get(LIST, {"q": "SFOUND0002"}).context["cl"].result_count == 0


def test_a_read_only_operator_sees_no_replay_and_is_refused(db: None, visit: Callable[[User], Client]) -> None:
    reader = factories.user("reader@portal.example", is_staff=True)
    factories.second_factor(reader)
    permissions.update_groups()
    reader.groups.add(Group.objects.get(name=permissions.READ_ONLY))
    delivery = kept(body())
    page = visit(reader)
    assert page.get(URL).status_code == page.post(URL, {"chosen": "1"}).status_code == 403
    listed = page.get(LIST).content.decode()
    assert "again" not in listed.lower()
    page.post(LIST, {"action": "read_ticked_again", "_selected_action": [delivery.pk]})
    delivery.refresh_from_db()
    assert delivery.state == "quarantined"
