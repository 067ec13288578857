"""The page a sender shares with a receiver: what it says, who may open it, and when it ends."""

import datetime as dt
import secrets
from collections.abc import Callable
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
from time_machine import TimeMachineFixture

from orders.models import Order
from orders.models.statuses import HELD, Progress, Status
from shipping_portal import brand
from shipping_portal.accounts.models import Audit, Sender, Session, User
from shipping_portal.jobs import erasing
from shipping_portal.refused import Refused
from tests import factories
from tests.log_lines import lines as lines
from tests.pages.typed import messages_at, text
from tests.queries import sql_of
from tests.test_canaries import every_row
from tracking import receiver_pages
from tracking.models import ReceiverPage

pytestmark = pytest.mark.django_db
Visit = Callable[[User], Client]
CONTACT = "help@quill.example"


@pytest.fixture
def order(quill: Sender, alice: User, localities: None) -> Order:
    made = factories.order(
        quill,
        alice,
        status="booked",
        progress="in_transit",
        progress_at=timezone.now(),
        note="for the window",
        public_tracking_url="https://track.example/SQ7K2M",
    )
    at = factories.parcel(made)
    factories.event(at, event_type="Pickup", scan_time=timezone.now() - dt.timedelta(hours=5))
    factories.event(
        at, event_type="In Transit", description="handed to Mrs Smith, 4 Sample Street", suburb="sydney", state="NSW"
    )
    return made


def share(order: Order, **more: Any) -> str:
    """Share the parcel, and return the path of its page."""
    page = receiver_pages.share_page(order, by=order.made_by, now=timezone.now(), **more)
    return receiver_pages.link_of(page).removeprefix("http://127.0.0.1:8000")


def opened(path: str) -> str:
    answer = Client().get(path)
    assert answer.status_code == 200
    return text(answer)


@pytest.fixture
def november(time_machine: TimeMachineFixture) -> None:
    """Set the clock to before the parcel is due."""
    time_machine.move_to(dt.datetime(2026, 11, 29, 2, tzinfo=dt.UTC))


@pytest.mark.usefixtures("november")
def test_the_page_says_where_the_parcel_is_when_it_arrives_and_whom_to_ask(order: Order) -> None:
    shown = opened(share(order, contact=CONTACT))
    assert "Parcel from Quill & Co" in shown
    assert "On the way" in shown
    assert "Expected Tue 1 Dec – Fri 4 Dec" in shown
    assert "Sydney NSW" in shown
    assert "Times are in the receiver's time zone" in shown
    assert "Ask Quill & Co: help@quill.example" in shown


@pytest.mark.parametrize("status", Status.values)
def test_the_page_has_no_personal_data_in_any_state(order: Order, status: str) -> None:
    path, shown = share(order, contact=CONTACT), ""
    states = {"status": status, "carrier_reference": order.carrier_reference if status in HELD else None}
    for progress in Progress.values:
        Order.objects.filter(pk=order.pk).update(progress=progress, cancelled_at=timezone.now(), **states)
        answer = Client().get(path)
        assert answer.status_code == 200
        del answer.headers["X-Request-ID"]  # random digits, which contain any postcode now and then
        shown += (answer.content.decode() + str(answer.headers)).lower()
    to, alice = order.receiver(), order.made_by
    private = [
        *(to.name, *to.name.split(), to.company, to.email, to.phone, to.line1, to.suburb, to.postcode),
        *(order.pickup["name"], order.pickup["line1"], order.pickup["email"], order.pickup["phone"]),
        *(alice.name, alice.email, order.description, order.note, order.customer_reference, to.instructions),
        *(str(order.carrier_reference), str(order.uuid), order.public_tracking_url, "Mrs Smith"),
        *("token=", path.strip("/").split("/")[1], str(order.total)),
    ]
    assert [word for word in private if word and word.lower() in shown] == []


def test_a_town_is_shown_only_if_the_published_list_has_it_and_it_is_not_the_receivers(order: Order) -> None:
    path = share(order)
    for suburb, state in (("Hobart", "TAS"), ("4 Sample Street", "NSW"), ("Mrs Smith", "NSW"), ("", "")):
        order.parcel.events.filter(event_type="In Transit").update(suburb=suburb, state=state)
        shown = opened(path)
        assert "Last scan: " in shown
        assert not suburb or suburb not in shown


def test_a_day_that_has_passed_is_called_late(order: Order) -> None:
    path, today = share(order), timezone.now().date()
    Order.objects.filter(pk=order.pk).update(eta_from=None, eta_to=today - dt.timedelta(days=3))
    assert "It's late." in opened(path)
    Order.objects.filter(pk=order.pk).update(progress="delivered")
    shown = opened(path)
    assert "It's late." not in shown
    assert "Delivered" in shown


def test_a_receiver_in_a_country_without_known_zones_sees_the_senders_time(order: Order) -> None:
    path = share(order)
    Order.objects.filter(pk=order.pk).update(receiver_country="NZ")
    assert "Times are in the sender's time zone" in opened(path)


@pytest.mark.parametrize("status", ["cancelled", "cancelling", "unconfirmed", "conflict"])
def test_a_parcel_that_is_not_booked_does_not_say_why(order: Order, status: str) -> None:
    path = share(order)
    kept = order.carrier_reference if status in {"cancelled", "cancelling"} else None
    Order.objects.filter(pk=order.pk).update(status=status, carrier_reference=kept, cancelled_at=timezone.now())
    shown = opened(path)
    assert "No updates right now" in shown
    assert "ancel" not in shown


def test_the_page_and_its_style_sheet_are_small(order: Order) -> None:
    """Sizes are before gzip. Nothing else is loaded except the logo and the tab's icon."""
    page = Client().get(share(order, contact=CONTACT)).content
    sheet = Client().get(brand.asset_address("receiver_style")).content
    assert len(page) + len(sheet) <= 15_000
    assert b"<script" not in page
    assert page.count(b'rel="stylesheet"') == 1


def test_the_style_sheet_has_every_colour_it_uses() -> None:
    sheet = brand.style_sheet("receiver_style")
    used = {word.partition(")")[0] for word in sheet.split("var(--")[1:]}
    assert {name for name in used if f"--{name}:" not in sheet} == set()
    assert ".btn" not in sheet


# -- Who opens it, and how -----------------------------------------------------------------------


def test_the_page_is_not_cached_or_indexed_and_sends_no_referrer(order: Order) -> None:
    path = share(order)
    for address in (path, "/follow/no-such-page/"):
        answer = Client().get(address)
        assert answer["Cache-Control"] == "private, no-store"
        assert answer["Referrer-Policy"] == "no-referrer"
        assert "noindex" in answer["X-Robots-Tag"]
        policy = answer["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "script-src" not in policy
        assert "form-action 'none'" in policy
    assert Client().post(path).status_code == 405


def test_the_page_reads_no_session_and_does_not_touch_a_login(order: Order, visit: Visit, bob: User) -> None:
    path, browser = share(order), visit(bob)
    before = list(Session.objects.values())
    for address in (path, "/follow/no-such-page/", "/follow/no/such/page/"):
        with CaptureQueriesContext(connection) as asked:
            answer = browser.get(address)
        assert not [sql for sql in sql_of(asked) if "accounts_session" in sql or "accounts_user" in sql]
        assert answer.cookies == {}
        assert "Bolts" not in answer.content.decode()
    browser.handler.enforce_csrf_checks = True
    refused = browser.post(path)
    assert (refused.status_code, refused.cookies) == (403, {})
    assert list(Session.objects.values()) == before
    assert browser.get("/parcels/").status_code == 200


def test_guesses_find_nothing_and_each_costs_the_same(order: Order) -> None:
    """A thousand guesses, each from a different network. docs/decisions/0048 has the arithmetic for a million."""
    token = share(order).strip("/").split("/")[1]
    near = [token[:-1], token + "A", token.swapcase(), token[::-1], ReceiverPage.objects.get().token_hash]
    guesses = [*near, *(secrets.token_urlsafe(20) for _ in range(995))]
    costs, answers = set(), set()
    for number, guess in enumerate(guesses):
        browser = Client(REMOTE_ADDR=f"198.51.{number // 250}.{number % 250}")
        with CaptureQueriesContext(connection) as asked:
            answer = browser.get(f"/follow/{guess}/")
        costs.add(len([sql for sql in sql_of(asked) if "tracking_receiverpage" in sql]))
        answers.add((answer.status_code, len(answer.content)))
    assert costs == {1}
    assert len(answers) == 1
    assert answers.pop()[0] == 404


def test_a_network_that_guesses_is_slowed_down_and_others_are_not(order: Order) -> None:
    path, guesser = share(order), Client(REMOTE_ADDR="198.51.100.7")
    found = [guesser.get(f"/follow/guess-{number}/").status_code for number in range(62)]
    assert found == [404] * 60 + [429] * 2
    with CaptureQueriesContext(connection) as asked:
        late = guesser.get(path)
    assert (late.status_code, late["Retry-After"]) == (429, "60")
    assert not [sql for sql in sql_of(asked) if "tracking_receiverpage" in sql]
    assert Client(REMOTE_ADDR="198.51.100.8").get(path).status_code == 200


def test_opening_it_often_does_not_count_as_guessing(order: Order) -> None:
    path, reader = share(order), Client(REMOTE_ADDR="198.51.100.9")
    assert {reader.get(path).status_code for _ in range(70)} == {200}


def test_the_url_is_in_no_row_and_no_log_line(order: Order, lines: Callable[[], list[str]]) -> None:
    path = share(order, contact=CONTACT)
    token = path.strip("/").split("/")[1]
    Client().get(path)
    Client().get(path.rstrip("/"))
    Client().get(path + "more/")
    receiver_pages.stop_sharing(order, by=order.made_by, now=timezone.now())
    Client().get(path)
    written = "\n".join(lines())
    assert "/follow/[cut]" in written
    assert token not in written + every_row()


def test_the_url_has_more_than_128_random_bits_from_the_secret_key(order: Order, settings: Any) -> None:
    path = share(order)
    assert len(path.strip("/").split("/")[1]) * 6 >= 160
    page = ReceiverPage.objects.get()
    former, settings.SECRET_KEY = settings.SECRET_KEY, "another-key"
    assert receiver_pages.link_of(page) == ""
    assert Client().get(path).status_code == 200  # it still opens: it is found by its hash
    settings.SECRET_KEY_FALLBACKS = [former]
    assert receiver_pages.link_of(page).endswith(path)


# -- The sender's side ---------------------------------------------------------------------------


def test_a_sender_starts_sharing_sees_it_is_on_and_stops(order: Order, alice: User, visit: Visit) -> None:
    browser, url = visit(alice), reverse("receiver_page", args=[order.uuid])
    parcel = reverse("parcel", args=[order.uuid])
    assert "Share with the receiver" in text(browser.get(parcel))
    browser.post(url, {"need": "share", "contact": CONTACT})
    shown = browser.get(url)
    path = receiver_pages.link_of(ReceiverPage.objects.get()).removeprefix("http://127.0.0.1:8000")
    assert path in shown.content.decode()
    assert "no-transform" in shown["Cache-Control"]
    page = browser.get(parcel).content.decode()
    assert "Shared" in page
    assert path not in page
    browser.post(url, {"need": "stop"})
    assert Client().get(path).status_code == 404
    assert share(order) != path
    assert Client().get(path).status_code == 404
    actions = Audit.objects.filter(subject=f"order {order.pk}").order_by("pk").values_list("action", "actor")
    assert list(actions) == [
        ("receiver's page shared", alice.pk),
        ("receiver's page stopped", alice.pk),
        ("receiver's page shared", alice.pk),
    ]


def test_sharing_twice_keeps_the_url(order: Order) -> None:
    assert share(order, contact=CONTACT) == share(order)
    assert ReceiverPage.objects.get().contact == CONTACT
    assert share(order, contact="03 5550 1234") == share(order)
    assert ReceiverPage.objects.get().contact == "03 5550 1234"
    assert Audit.objects.filter(action="receiver's page shared").count() == 1


def test_the_last_stated_contact_is_filled_in(order: Order, alice: User, visit: Visit) -> None:
    share(order, contact=CONTACT)
    other = factories.order(order.sender, alice, status="booked")
    form = visit(alice).get(reverse("receiver_page", args=[other.uuid])).content.decode()
    assert f'value="{CONTACT}"' in form


@pytest.mark.parametrize("typed", ["Ask Jenny", "a@b", "12 Sample St", "<b>0401</b>", "javascript:alert(1)"])
def test_whom_to_ask_is_an_email_or_a_phone_number(order: Order, alice: User, visit: Visit, typed: str) -> None:
    url = reverse("receiver_page", args=[order.uuid])
    answer = visit(alice).post(url, {"need": "share", "contact": typed})
    assert answer.status_code == 422
    assert "Enter an email or a phone number." in messages_at(answer, "contact")
    assert not ReceiverPage.objects.exists()


@pytest.mark.parametrize("who", ["bea", "vic"])
def test_those_who_may_not_change_a_parcel_see_no_sharing(order: Order, who: str, visit: Visit, request: Any) -> None:
    share(order)
    browser = visit(request.getfixturevalue(who))
    assert browser.get(reverse("receiver_page", args=[order.uuid])).status_code == 404
    page = browser.get(reverse("parcel", args=[order.uuid])).content.decode()
    assert "/share/" not in page
    assert "/follow/" not in page


@pytest.mark.parametrize("progress", ["delivered", "lost"])
def test_a_parcel_whose_journey_has_ended_is_no_longer_shared(order: Order, progress: str) -> None:
    order.progress = progress
    with pytest.raises(Refused):
        share(order)


def test_sharing_can_be_turned_off_by_a_setting(order: Order, alice: User, visit: Visit, settings: Any) -> None:
    path, browser = share(order), visit(alice)
    settings.RECEIVER_PAGES = False
    assert Client().get(path).status_code == 404
    assert browser.get(reverse("receiver_page", args=[order.uuid])).status_code == 404
    assert "/share/" not in browser.get(reverse("parcel", args=[order.uuid])).content.decode()
    with pytest.raises(Refused):
        share(order)
    settings.RECEIVER_PAGES = True
    assert Client().get(path).status_code == 200


# -- When it ends --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "opens"),
    [
        ({"progress": "delivered", "progress_at": 29}, True),
        ({"progress": "delivered", "progress_at": 31}, False),
        ({"progress": "in_transit", "progress_at": 59}, True),
        ({"progress": "in_transit", "progress_at": 61}, False),
        ({"progress": "", "progress_at": None, "booked_at": 61}, False),
        ({"status": "cancelled", "progress": "", "progress_at": None, "booked_at": 31, "cancelled_at": 1}, False),
        ({"status": "cancelled", "progress": "", "progress_at": None, "booked_at": 29, "cancelled_at": 1}, True),
        ({"progress": "delivered", "progress_at": 1, "erased_at": 0}, False),  # shared at the same moment
    ],
)
def test_sharing_ends_some_time_after_the_last_news(order: Order, fields: dict[str, Any], opens: bool) -> None:
    path, now = share(order), timezone.now()
    ago = {name: now - dt.timedelta(days=days) for name, days in fields.items() if isinstance(days, int)}
    Order.objects.filter(pk=order.pk).update(**fields | ago)
    assert Client().get(path).status_code == (200 if opens else 404)
    call_command("retention")
    assert ReceiverPage.objects.exists() is opens


def test_erasing_the_receiver_ends_sharing(order: Order) -> None:
    path = share(order)
    Order.objects.filter(pk=order.pk).update(progress="delivered", progress_at=timezone.now())
    erasing.erase({"order": [order.pk]})
    assert Client().get(path).status_code == 404
    assert not ReceiverPage.objects.exists()


def test_a_suspended_account_shares_nothing_new_but_existing_pages_still_work(order: Order, alice: User) -> None:
    path = share(order)
    alice.membership.sender.suspend(by=alice, category="terms", text="Unpaid.", note="", now=timezone.now())
    order.refresh_from_db()
    assert "On the way" in opened(path)
    assert "Unpaid" not in opened(path)
    other = factories.order(alice.membership.sender, alice, status="booked")
    with pytest.raises(Refused):
        share(other)


def test_a_parcel_whose_dispatch_was_stopped_shows_no_news(order: Order, alice: User) -> None:
    path = share(order)
    Order.objects.filter(pk=order.pk).update(progress="", progress_at=None)
    alice.membership.sender.suspend(
        by=alice, category="terms", text="Unpaid.", note="", now=timezone.now(), stop_dispatch=True
    )
    shown = opened(path)
    assert "No updates right now" in shown
    assert "Expected" not in shown
