"""Two carrier accounts at once: what is tracked for one is never sent to the other, and is read by its own contract."""

import datetime as dt
import json
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.utils import timezone

from orders.booking import bookings
from orders.calling import gateway
from orders.calling.contract import current_contract, has_parcel_tools
from orders.cancelling import cancels
from orders.labels import fetching
from orders.models import CarrierAccount, Order
from orders.quoting import asking
from orders.status import references
from shipping_portal.accounts.models import Sender, User
from shipping_portal.billing.charges import matching
from shipping_portal.billing.models import Charge
from shipping_portal.billing.reports import checking, posting, uploads
from shipping_portal.carrier.scans import read_scan
from shipping_portal.exporting import rows
from shipping_portal.refused import Refused
from shipping_portal.staff.resolution import unowned
from shipping_portal.staff.resolution.verifying import confirm_reference
from tests import factories, older
from tests.catalogue.pushing import basic, event, last, push, wire
from tests.recording import improper
from tests.sandbox_carrier import SandboxCarrier
from tracking import pages, polling, timeline, watching
from tracking.models import EventWord, Parcel, Poll, TrackingEvent, WebhookDelivery
from tracking.receiving import replaying, webhook_health
from tracking.scanning import projecting, reading, scans, vocabulary

pytestmark = pytest.mark.django_db

OLD, NEW = f"carrier:{'o' * 40}", f"carrier:{'n' * 40}"
FAST = "tracking_per_second = 1000.0\nrequests_per_second = 1000.0\n"
SIGNED = 'link = "signed"\nlink_page = "https://old.example/t/"\nlink_hosts = "old.example"\n'
Moved = Callable[..., CarrierAccount]  # `moved('link = "none"')`
Reread = Callable[[str], None]
Contract = Callable[[str], None]


@pytest.fixture
def old(carrier: SandboxCarrier, contract: Contract) -> SandboxCarrier:
    """The carrier of the account that takes new orders, until `moved()` is called."""
    contract(FAST)
    return carrier


@pytest.fixture
def new(tmp_path: Path, settings: Any) -> Iterator[SandboxCarrier]:
    with SandboxCarrier(tmp_path / "new", key=settings.CARRIER_KEY) as it:
        yield it
        assert improper(it.requests()) == []


@pytest.fixture
def old_contract(tmp_path: Path, settings: Any) -> Reread:
    """`old_contract(toml)` becomes the older account's contract file."""

    def use(toml: str) -> None:
        path = tmp_path / f"old-{abs(hash(toml))}.toml"
        path.write_text(toml if "per_second" in toml else FAST + toml)
        settings.OLDER_CARRIERS["OLD"]["CONTRACT"] = str(path)

    return use


@pytest.fixture
def moved(old: SandboxCarrier, new: SandboxCarrier, old_contract: Reread, settings: Any) -> Moved:
    """`moved()` lets another carrier's account take new orders. It returns the old one, which is only tracked from then on."""

    def move(toml: str = "") -> CarrierAccount:
        before = gateway.current_account()
        parts = {name: getattr(settings, f"CARRIER_{name}") for name in settings.OF_A_CARRIER}
        settings.OLDER_CARRIERS = {"OLD": parts | {"WEBHOOK_SECRETS": [OLD]}}
        settings.CARRIER_BASE_URL, settings.WEBHOOK_SECRETS = new.url, [NEW]
        old_contract(toml)
        assert gateway.current_account() != before
        return before

    return move


def other() -> CarrierAccount:
    """An account without settings."""
    return CarrierAccount.objects.create(fingerprint="f" * 64, name="of last year")


def recorded(secret: str, reference: str, word: str = "Pickup", **changes: Any) -> WebhookDelivery:
    """Push one scan, made now, with the carrier's own secret."""
    facts = {"event_id": str(uuid.uuid4()), "scan_time": timezone.now().isoformat(), **changes}
    body = wire(carrier_reference=reference, event_type=word, **facts)
    assert push(body, HTTP_AUTHORIZATION=basic(secret)).status_code == 200
    return last()


def opened(order: Order) -> Parcel:
    Order.objects.filter(pk=order.pk).update(due_at=timezone.now())
    polling.open_parcel(order.pk)
    return Parcel.objects.get(order=order)


def polled(parcel: Parcel) -> Parcel:
    Poll.objects.filter(parcel=parcel).update(due_at=timezone.now())
    polling.poll_due_parcel(parcel.pk)
    parcel.refresh_from_db()
    return parcel


def asked(carrier: SandboxCarrier) -> str:
    """Return everything ever sent to this carrier."""
    return json.dumps(carrier.requests())


# -- A change of carriers ----------------------------------------------------------------------------


def test_a_change_of_carrier_with_100_parcels_on_their_way_loses_no_scan(
    old: SandboxCarrier, new: SandboxCarrier, moved: Moved, quill: Sender, alice: User
) -> None:
    before = gateway.current_account()
    made = factories.order(quill, alice, status="booked")
    copies = [factories.copy_of(made, number) for number in range(99)]
    orders = [made, *Order.objects.bulk_create(copies)]
    names = [str(order.carrier_reference) for order in orders]
    parcels = Parcel.objects.bulk_create(
        Parcel(reference=order.carrier_reference, order=order, account=before, created_at=timezone.now())
        for order in orders
    )
    Poll.objects.bulk_create(Poll(parcel=parcel, due_at=timezone.now()) for parcel in parcels)
    moved()

    for name in names[:30]:
        old.foreign(name)
        old.scan(name, "In Transit", push=False)
    begun = timezone.now()
    for parcel in parcels[:40]:
        polling.poll_due_parcel(parcel.pk)
    for name in names[30:]:
        recorded(OLD, name, "Out for Delivery")
    for name in names[::10]:
        recorded(NEW, name, "Delivered")  # the new carrier gave these references to its own parcels

    progress = dict(Parcel.objects.filter(account=before).values_list("reference", "progress"))
    assert progress == dict.fromkeys(names[:30], "in_transit") | dict.fromkeys(names[30:], "out_for_delivery")
    assert Order.objects.filter(progress="").count() == 0
    assert Parcel.objects.exclude(account=before).filter(progress="delivered").count() == 10
    assert TrackingEvent.objects.count() == 30 + 70 + 10
    assert Poll.objects.filter(due_at__gt=begun).count() == 40
    heard = asked(new)
    assert [name for name in names if name in heard] == []
    assert set(WebhookDelivery.objects.values_list("state", flat=True)) == {"stored"}


def test_an_older_accounts_order_gets_its_labels_links_cancellation_and_bill_there(
    old: SandboxCarrier, new: SandboxCarrier, moved: Moved, quill: Sender, alice: User
) -> None:
    kept, order = booked(quill, alice), booked(quill, alice)
    before = moved(SIGNED)

    order.labels.update(is_spare=False)  # both are wanted
    for label in order.labels.all():
        fetching.fetch_due_label(label.pk)
    assert [bool(label.intact_bytes()) for label in order.labels.all()] == [True, True]
    assert pages.tracking_page_link(order, by=alice, now=timezone.now()).startswith("https://old.example/t/")
    polled(opened(order))
    cancels.ask_to_cancel(order, by=alice, why="not sending it", now=timezone.now())
    cancels.process_cancel(order.pk)
    order.refresh_from_db()
    assert (order.status, order.account) == ("cancelled", before)
    assert str(order.carrier_reference) not in asked(new)

    second = booked(quill, alice)
    assert (second.account, len(new.ledger("booked")), len(old.ledger("booked"))) == (gateway.current_account(), 1, 2)
    report = uploads.store_report(before, *old.report(), by=None, now=timezone.now())
    while report.state == "reading":
        checking.read_due_report(report.pk)
        report.refresh_from_db()
    posting.post_report(report, by=None, now=timezone.now())
    assert set(Charge.objects.values_list("order", "account")) == {(kept.pk, before.pk)}


def booked(sender: Sender, by: User) -> Order:
    now = timezone.now()
    quote = asking.ask_for_prices(sender, factories.details(sender), by=by, now=now)
    order = bookings.submit(
        quote=quote, code="STANDARD-PICKUP", form_token=uuid.uuid4(), by=by, pickup_date=None, now=now
    )
    bookings.process_booking(order.pk)
    order.refresh_from_db()
    assert order.status == "booked", order.problem
    return order


# -- References: one per account, in any case ----------------------------------------------------


def test_one_reference_at_two_accounts_is_two_parcels(quill: Sender, alice: User) -> None:
    earlier = factories.parcel(reference="STWICE0001", account=other())
    order = factories.order(quill, alice, status="booked", carrier_reference="STWICE0001")
    parcel = opened(order)
    assert (parcel == earlier, parcel.account) == (False, order.account)


@pytest.mark.parametrize("named", ["Sab12cD", "SAB12CD", "Sab12cd"])
def test_one_reference_at_one_account_is_one_parcel_in_any_case(quill: Sender, alice: User, named: str) -> None:
    """It keeps the carrier's spelling even if somebody typed it differently, and its scans stay the same."""
    watched = watching.follow_reference(quill, "sab12cd", name="", by=alice, now=timezone.now()).parcel
    facts = {"event_type": "Pickup", "scan_time": "2026-11-20T01:00:00Z"}
    scan = read_scan({**facts, "carrier_reference": named}, current_contract())
    scans.store_scans(
        [scans.Arrival(watched.pk, scan, "poll", b"{}", timezone.now())], scans.lock_parcels([watched.pk])
    )
    order = factories.order(quill, alice, status="booked", carrier_reference="Sab12cD")
    parcel = opened(order)
    factories.deliver(wire(carrier_reference="Sab12cD", **facts), at=order.account)
    assert (parcel, parcel.reference) == (watched, "Sab12cD")
    assert parcel.events.count() == 1
    assert watching.follow_reference(quill, named, name="", by=alice, now=timezone.now()).parcel.reference == "Sab12cD"
    assert references.with_reference(quill.orders.all(), named).get() == order


@pytest.mark.parametrize("make", [
    lambda of, by, account: factories.order(of, by, status="booked", carrier_reference="sab12CD", account=account),
    lambda of, by, account: factories.parcel(reference="sab12CD", account=account),
])  # fmt: skip
def test_the_database_separates_references_only_by_account(
    quill: Sender, alice: User, make: Callable[[Sender, User, CarrierAccount], Any]
) -> None:
    own = factories.order(quill, alice, status="booked", carrier_reference="SAB12CD")
    factories.parcel(own)
    make(quill, alice, other())
    with pytest.raises(IntegrityError), transaction.atomic():
        make(quill, alice, own.account)


def test_a_reference_used_by_an_order_of_another_account_can_be_adopted(
    quill: Sender, alice: User, carrier: SandboxCarrier, contract: Contract
) -> None:
    contract('view = ""')
    carrier.foreign("STAKEN0001")
    order = factories.order(quill, alice, status="unconfirmed")
    factories.order(quill, alice, status="booked", carrier_reference="staken0001", account=other())
    assert confirm_reference(order, "STAKEN0001").reference == "STAKEN0001"
    factories.order(quill, alice, status="booked", carrier_reference="staken0001", account=order.account)
    with pytest.raises(Refused, match="Another order already has this reference"):
        confirm_reference(order, "STAKEN0001")


@pytest.mark.parametrize("rows_of", [
    lambda: Parcel.objects.filter(account=1, reference__upper="SAB12CD"),
    lambda: Parcel.objects.filter(reference__upper="SAB12CD"),
    lambda: Order.objects.filter(account=1, carrier_reference__upper="SAB12CD"),
    lambda: Order.objects.filter(account=1, carrier_reference__upper__in=["SAB12CD", "SX"]),
    lambda: references.with_reference(Order.objects.all(), "sab12cd").order_by(),
    lambda: references.with_reference(Order.objects.filter(sender=1), "sab12cd")[:1],
    lambda: references.with_reference(Order.objects.for_user(User(pk=1)), "sab12cd")[:1],
    lambda: Charge.objects.unmatched().filter(account=1, reference__upper="SAB12CD"),
])  # fmt: skip
@pytest.mark.skipif(
    "sqlite" not in settings.DATABASES["default"]["ENGINE"],
    reason="on few rows PostgreSQL reads the table whatever it has",
)
def test_looking_a_reference_up_never_reads_the_whole_table(rows_of: Callable[[], QuerySet[Any]]) -> None:
    plan = rows_of().explain()
    assert "<expr>=?" in plan, plan
    assert "SCAN" not in plan, plan
    assert "(sender_id=?)" not in plan, plan  # all orders of one sender are many too


def test_a_billed_line_is_matched_to_its_accounts_order_in_upper_or_lower_case(quill: Sender, alice: User) -> None:
    line = factories.charge(None, reference="sab12CD")
    order = factories.order(quill, alice, status="booked", carrier_reference="SAB12CD", account=other())
    assert (matching.match_late(), matching.orders_of(line.account_id, ["sab12CD"])) == (0, {})
    Order.objects.filter(pk=order.pk).update(account=line.account)
    assert matching.orders_of(line.account_id, ["sab12CD"]) == {"SAB12CD": order}
    assert (matching.match_late(), Charge.objects.get().order) == (1, order)
    matching.release_lines(Order.objects.get())
    assert Charge.objects.get().order is None


def test_evidence_comes_only_from_the_orders_own_account(quill: Sender, alice: User) -> None:
    order, now = factories.order(quill, alice, status="unconfirmed"), timezone.now()
    factories.event(factories.parcel(reference="SELSE00001", account=other(), last_scan_at=now))
    factories.event(factories.parcel(reference="SMINE00001", last_scan_at=now))
    hour = dt.timedelta(hours=1)
    found = unowned.unowned_references(order.account, now - hour, now - hour, now + hour, [])
    assert [one.reference for one in found] == ["SMINE00001"]
    assert unowned.first_seen(order.account, "selse00001") == ("selse00001", None)
    assert unowned.first_seen(order.account, "smine00001")[0] == "SMINE00001"
    assert set(unowned.known_references(order.account, ["SELSE00001", "smine00001"])) == {"SMINE00001"}


def test_a_parcel_booked_elsewhere_is_the_new_accounts_unless_an_older_one_knows_it(
    moved: Moved, quill: Sender, alice: User
) -> None:
    factories.parcel(reference="SKNOWN0001")
    before = moved('subscribe = ""')
    for typed, account in (("SNEVER0001", gateway.current_account()), ("sknown0001", before)):
        parcel = watching.follow_reference(quill, typed, name="", by=alice, now=timezone.now()).parcel
        parcel.refresh_from_db()
        assert (parcel.account, parcel.subscription) == (account, "" if account == before else "wanted")
    factories.parcel(reference="SKNOWN0001", account=gateway.current_account())
    parcel = watching.follow_reference(quill, "SKNOWN0001", name="", by=alice, now=timezone.now()).parcel
    assert parcel.account == gateway.current_account()


# -- Webhooks ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("by_path", [False, True])
@pytest.mark.parametrize("secret", [OLD, NEW])
def test_a_delivery_belongs_to_the_account_whose_secret_it_used(moved: Moved, secret: str, by_path: bool) -> None:
    before = moved()
    url = f"/webhooks/tracking/{secret.partition(':')[2]}/" if by_path else "/webhooks/tracking/"
    assert push(wire(), url=url, HTTP_AUTHORIZATION="" if by_path else basic(secret)).status_code == 200
    account = before if secret == OLD else gateway.current_account()
    assert (last().account, Parcel.objects.get().account) == (account, account)


def test_the_secret_of_an_account_without_settings_is_refused(moved: Moved, settings: Any) -> None:
    moved()
    settings.OLDER_CARRIERS = {}
    assert push(wire(), HTTP_AUTHORIZATION=basic(OLD)).status_code == 404
    assert not WebhookDelivery.objects.exists()


def test_two_carriers_may_use_the_same_event_id(moved: Moved) -> None:
    before, event_id = moved(), str(uuid.uuid4())
    recorded(OLD, "SONE000001", event_id=event_id)
    assert recorded(NEW, "STWO000001", event_id=event_id).state == "stored"
    assert recorded(OLD, "STHREE0001", event_id=event_id).state == "differs"
    assert set(TrackingEvent.objects.values_list("parcel__reference", "account")) == {
        ("SONE000001", before.pk),
        ("STWO000001", gateway.current_account().pk),
    }


def test_the_database_stores_an_event_id_once_per_account() -> None:
    one, two = factories.parcel(reference="SONE000001"), factories.parcel(reference="STWO000001")
    elsewhere = factories.parcel(reference="STWO000001", account=other())
    event_id = factories.event(one).event_id
    factories.event(elsewhere, event_id=event_id)
    with pytest.raises(IntegrityError), transaction.atomic():
        factories.event(two, event_id=event_id)


def test_a_delivery_is_always_read_with_its_own_accounts_contract(moved: Moved) -> None:
    before = moved('event_reference = "tracking_no"\n[words]\n"on the truck" = "out_for_delivery"\n')
    sound = event(carrier_reference=..., tracking_no="SODD000001", event_type="On the truck")
    body = json.dumps(sound).encode()
    assert factories.deliver(body).pk
    assert last().state == "quarantined"
    read = factories.deliver(body, at=before)
    assert Parcel.objects.get().progress == "out_for_delivery"
    assert replaying.preview_replay([read.pk]).does_nothing


def test_an_unreadable_polled_scan_is_kept_and_read_again_for_its_own_account(
    old: SandboxCarrier, moved: Moved, old_contract: Reread, quill: Sender, alice: User
) -> None:
    old.foreign("SFOREIGN7")
    parcel = watching.follow_reference(quill, "SFOREIGN7", name="", by=alice, now=timezone.now()).parcel
    old.scan("SFOREIGN7", "Delivered", push=False)
    before = moved('scan_time = "happened_at"')
    polled(parcel)
    kept = WebhookDelivery.objects.filter(state="quarantined")
    assert {delivery.account for delivery in kept} == {before}
    old_contract("")
    for pk in kept.values_list("pk", flat=True):
        reading.read_deliveries(pk)
    parcel.refresh_from_db()
    assert (parcel.progress, Parcel.objects.count()) == ("delivered", 1)


# -- Polls -------------------------------------------------------------------------------------------


def test_a_watched_parcel_is_polled_at_its_own_account(
    old: SandboxCarrier, new: SandboxCarrier, moved: Moved, quill: Sender, alice: User
) -> None:
    old.foreign("SFOREIGN7")
    old.scan("SFOREIGN7", "Delivered", push=False)
    parcel = watching.follow_reference(quill, "SFOREIGN7", name="", by=alice, now=timezone.now()).parcel
    moved()
    assert polled(parcel).progress == "delivered"
    assert "SFOREIGN7" not in asked(new)


def test_a_parcel_of_an_account_without_settings_rests_until_they_return(
    old: SandboxCarrier, new: SandboxCarrier, moved: Moved, quill: Sender, alice: User, settings: Any
) -> None:
    old.foreign("SFOREIGN7")
    parcel = watching.follow_reference(quill, "SFOREIGN7", name="", by=alice, now=timezone.now()).parcel
    moved()
    named, settings.OLDER_CARRIERS = settings.OLDER_CARRIERS, {}
    polled(parcel)
    rest = Poll.objects.get().due_at - timezone.now()
    assert dt.timedelta(minutes=30) < rest <= dt.timedelta(hours=6)
    assert "SFOREIGN7" not in asked(old) + asked(new)
    settings.OLDER_CARRIERS = named
    old.scan("SFOREIGN7", "Delivered", push=False)
    assert polled(parcel).progress == "delivered"


def test_polling_for_an_account_without_settings_ends_with_the_parcel(quill: Sender, alice: User) -> None:
    parcel = factories.parcel(account=other(), poll_due_at=timezone.now())
    assert polled(parcel).poll.due_at is None


def test_after_an_absence_each_account_is_polled_at_its_own_rate(moved: Moved) -> None:
    now, hour = timezone.now(), dt.timedelta(hours=1)
    before = moved("tracking_per_second = 1.0")
    for account in (before, gateway.current_account(), other()):
        for number in range(25):
            factories.parcel(reference=f"SMANY{number:05d}", account=account, poll_due_at=now + hour)
    assert webhook_health.catch_up(now) == 50
    due = {account: list(times(account, now)) for account in CarrierAccount.objects.all()}
    assert due[before] == [0.0] * 10 + [10.0] * 10 + [20.0] * 5
    assert due[gateway.current_account()] == [0.0] * 25
    assert due[CarrierAccount.objects.get(name="of last year")] == [3600.0] * 25


@pytest.mark.skipif(
    "sqlite" not in settings.DATABASES["default"]["ENGINE"],
    reason="on few rows PostgreSQL reads the table whatever it has",
)
def test_after_an_absence_only_the_polls_that_can_be_moved_are_read() -> None:
    plan = webhook_health.waiting_polls(gateway.current_account(), timezone.now())[:5].explain()
    assert "polls_owed (due_at>?)" in plan, plan
    assert "ORDER BY" not in plan, plan


def times(account: CarrierAccount, now: dt.datetime) -> Iterator[float]:
    """Return the number of seconds until its parcels are polled."""
    for poll in Poll.objects.filter(parcel__account=account).order_by("due_at"):
        yield (poll.due_at - now).total_seconds()


# -- What people read --------------------------------------------------------------------------------


def test_scans_are_shown_by_the_contract_of_their_account(moved: Moved, quill: Sender, alice: User) -> None:
    """On the timeline, in exports, in reports and in the progress. A word in neither contract goes to the operator once."""
    words = '"on the truck" = "out_for_delivery"\n"at depot" = "in_transit"'
    before = moved(f"[words]\n{words}\n")
    orders = [
        factories.order(quill, alice, status="booked", carrier_reference="SSAME00001", account=account)
        for account in (before, gateway.current_account())
    ]
    for order, secret in zip(orders, (OLD, NEW), strict=True):
        recorded(secret, "SSAME00001", "On the truck")
        opened(order)
    old, new = (timeline.for_parcel(order.parcel, quill.tzinfo) for order in orders)
    assert [details.words for details in old] == ["Out for delivery"]
    assert [details.words for details in new] == ["On the truck"]
    exported = rows.scan_rows([order.pk for order in orders], quill.tzinfo)
    assert [row["What"] for row in exported] == ["Out for delivery", "On the truck"]
    assert EventWord.objects.get().scans == 1
    known = vocabulary.meanings_everywhere()
    assert TrackingEvent.objects.get(vocabulary.means_one_of({"out_for_delivery"}, known)).account == before


@pytest.mark.postgres
@pytest.mark.parametrize(
    "spelled", [[], ["Dropped off"], ["Dropped off", "Dropped Off", "pickup", "Zugestellt", "Pickup"]]
)
def test_the_word_of_a_scan_is_found_in_any_spelling(quill: Sender, alice: User, spelled: list[str]) -> None:
    parcel = factories.parcel(factories.order(quill, alice, status="booked"))
    for word in spelled * 2:
        factories.event(parcel, event_type=word)
    known = vocabulary.meanings_everywhere()
    assert {word for account, word in known if account == parcel.account_id} == set(spelled)


@pytest.mark.parametrize("known_by", ["its parcel", "its order"])
@pytest.mark.parametrize("is_named", [True, False], ids=["named", "named no more"])
def test_tracking_a_reference_of_another_account_does_not_call_the_new_carrier(
    moved: Moved, new: SandboxCarrier, quill: Sender, alice: User, settings: Any, known_by: str, is_named: bool
) -> None:
    order = booked(quill, alice)
    reference, before = str(order.carrier_reference), moved()
    if known_by == "its parcel":
        opened(order)
    if not is_named:
        settings.OLDER_CARRIERS = {}
    watched = watching.follow_reference(quill, reference, name="", by=alice, now=timezone.now())
    polling.poll_due_parcel(watched.parcel_id)
    assert watched.parcel.account == before
    assert reference not in asked(new)


def test_a_reference_in_the_older_accounts_format_can_be_tracked(
    moved: Moved, quill: Sender, alice: User, contract: Contract
) -> None:
    before = moved("reference_shape = 'OLD-[0-9]{6}'")
    parcel = factories.parcel(reference="OLD-123456", account=before)
    watched = watching.follow_reference(quill, "OLD-123456", name="", by=alice, now=timezone.now())
    assert watched.parcel == parcel


def test_an_account_without_a_key_is_not_called_but_its_contract_is_used(
    moved: Moved, old: SandboxCarrier, quill: Sender, alice: User, settings: Any
) -> None:
    order = booked(quill, alice)
    before = moved(f'{SIGNED}[words]\n"Handed over" = "delivered"\n')
    parcel = opened(order)
    recorded(OLD, parcel.reference, "Handed over")
    settings.OLDER_CARRIERS["OLD"] |= {"KEY": "", "LINK_KEY": "", "WEBHOOK_SECRETS": []}
    requests = len(old.requests())
    polled(parcel)
    projecting.project_parcels(parcel.pk)
    assert not gateway.is_reachable(before)
    assert not has_parcel_tools(before)
    assert len(old.requests()) == requests
    order.refresh_from_db()
    assert order.progress == "delivered"


def test_a_parcel_of_an_account_without_settings_keeps_its_progress(
    moved: Moved, quill: Sender, alice: User, settings: Any
) -> None:
    order = booked(quill, alice)
    moved('[words]\n"Handed over" = "delivered"\n')
    parcel = opened(order)
    recorded(OLD, parcel.reference, "Handed over")
    settings.OLDER_CARRIERS = {}
    projecting.project_parcels(parcel.pk)
    order.refresh_from_db()
    assert order.progress == "delivered"


def test_a_label_of_an_account_without_settings_is_fetched_once_they_return(
    moved: Moved, quill: Sender, alice: User, settings: Any
) -> None:
    order = booked(quill, alice)
    moved()
    names, settings.OLDER_CARRIERS = settings.OLDER_CARRIERS, {}
    order.labels.update(is_spare=False)  # both are wanted
    for label in order.labels.all():
        fetching.fetch_due_label(label.pk)
    label = order.labels.earliest("pk")
    assert (label.state, label.due_at > timezone.now(), label.tries) == ("failed", True, 0)
    settings.OLDER_CARRIERS = names
    order.labels.update(due_at=timezone.now())
    fetching.fetch_due_label(label.pk)
    assert set(order.labels.values_list("state", flat=True)) == {"stored"}


@pytest.mark.parametrize("reference", ["OLD-123456", "77120934", "ab_12_cd"])
def test_an_order_of_an_account_without_settings_is_found_by_its_reference(
    quill: Sender, alice: User, reference: str
) -> None:
    """The reference has a format that no contract here describes."""
    order = factories.order(quill, alice, status="booked", carrier_reference=reference, account=older.unnamed())
    assert references.with_reference(quill.orders.all(), reference.upper()).get() == order


def test_an_older_accounts_order_is_found_by_a_reference_in_its_own_format(
    moved: Moved, quill: Sender, alice: User
) -> None:
    before = moved("reference_shape = 'OLD[A-Z]{6}'")
    order = factories.order(quill, alice, status="booked", carrier_reference="OLDABCDEF", account=before)
    assert references.with_reference(quill.orders.all(), "oldabcdef").get() == order


@pytest.mark.parametrize("typed", ["", "noor", "tamsin@quill.example", "Unit 12 Main St", "2000", "1" * 101])
def test_words_that_cannot_be_a_reference_take_no_query(
    quill: Sender, typed: str, django_assert_num_queries: Any
) -> None:
    with django_assert_num_queries(0):
        assert references.with_reference(quill.orders.all(), typed).first() is None


def test_a_reference_at_two_accounts_is_tracked_at_the_one_that_takes_new_orders(
    moved: Moved, quill: Sender, alice: User
) -> None:
    before = moved()
    factories.parcel(reference="SSAME00001", account=before)
    factories.order(quill, alice, status="booked", carrier_reference="SSAME00001", account=gateway.current_account())
    watched = watching.follow_reference(quill, "SSAME00001", name="", by=alice, now=timezone.now())
    assert watched.parcel.account == gateway.current_account()
