"""A parcel's page: what each state means, and how much each role sees."""

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from orders.models import CarrierAccount, Label, Order
from orders.models.statuses import Progress, Status
from shipping_portal.accounts.models import Sender, User
from tests import factories
from tests.pages.typed import text, title

pytestmark = pytest.mark.django_db

Visit = Callable[[User], Client]
MOST_QUERIES = 13


@pytest.fixture
def page(alice: User, visit: Visit) -> Client:
    return visit(alice)


@pytest.fixture
def order(quill: Sender, alice: User) -> Callable[..., Order]:
    return lambda **fields: factories.order(quill, alice, **{"status": "booked", **fields})


def shown(page: Client, order: Order) -> str:
    return text(page.get(f"/parcels/{order.uuid}/"))


def test_the_page_is_named_after_the_reference_and_receiver(page: Client, order: Callable[..., Order]) -> None:
    made = order()
    answer = page.get(f"/parcels/{made.uuid}/")
    assert "Noor Tamsin" in text(answer)
    assert title(answer) == f"{made} to Noor Tamsin · Shipping Portal"


@pytest.mark.parametrize(("progress", "is_expected"), [("", True), ("pickup_missed", False), ("pickup_futile", False)])
def test_no_driver_is_expected_on_the_day_of_a_failed_pickup(
    alice: User, visit: Visit, order: Callable[..., Order], progress: str, is_expected: bool, time_machine: Any
) -> None:
    time_machine.move_to(dt.datetime(2026, 12, 2, 5, 0, tzinfo=dt.UTC))
    made = order(progress=progress, progress_at=timezone.now() if progress else None, carrier_pickup_date="2026-12-02")
    said = shown(visit(alice), made)
    assert ("Expected Wed 2 Dec" in said, str(made) in said) == (is_expected, True)


def test_the_page_lists_the_items_declared_to_customs(page: Client, order: Callable[..., Order]) -> None:
    item = {"description": "Cotton <b>shirt</b>", "value": "28.00", "quantity": 2, "origin": "BD", "hs_code": "6109.10"}
    words = shown(page, order(contents=[item], contents_type="Gift"))
    assert "Declared to customs: Gift" in words
    assert "2 × Cotton <b>shirt</b> $28.00 each, from BD, HS code 6109.10" in words
    assert "Declared" not in shown(page, order())


@pytest.mark.parametrize(
    ("old", "new", "by_an_operator", "is_shown"),
    [
        ("booking", "rejected", False, True),
        ("booking", "rejected", True, False),
        ("cancelling", "booked", False, True),
        ("cancel_unconfirmed", "booked", False, True),
        ("cancelling", "booked", True, False),
        ("booking", "booked", False, False),
        ("booking", "unconfirmed", False, False),
    ],
)
def test_a_sender_reads_why_the_carrier_refused_and_no_other_reason(
    page: Client, sam: User, order: Callable[..., Order], old: str, new: str, by_an_operator: bool,
    is_shown: bool,
) -> None:  # fmt: skip
    made = order()
    by = sam if by_an_operator else None
    made.changes.create(old=old, new=new, at=timezone.now(), by=by, reason="too many kangaroos")
    assert ("Too many kangaroos" in shown(page, made)) is is_shown


SAID = {
    Status.BOOKING: "Nothing is charged until the carrier confirms.",
    Status.DRAFT: "It isn't booked and you weren't charged.",
    Status.REJECTED: "It wasn't booked and you weren't charged. Fix it and book again.",
    Status.UNCONFIRMED: "the parcel may or may not be booked. Don't book it again",
    Status.NOT_BOOKED: "It wasn't booked and you weren't charged. You can book it now.",
    Status.CONFLICT: "a person is looking at it. Don't book it again",
    Status.CANCELLING: "We're asking the carrier to cancel. Don't use the label",
    Status.CANCEL_UNCONFIRMED: "so it may or may not be cancelled. Don't use the label",
    Status.CANCEL_ASKED: "the money is pending.",
    Status.CANCELLED: "Throw away the label. If it's used, the carrier charges for it.",
    Status.BOOKED: "Print the label and stick it on before pickup on the next business day.",
}


@pytest.mark.parametrize("status", Status.values)
def test_each_status_says_what_it_means_for_parcel_and_money(
    page: Client, order: Callable[..., Order], status: str
) -> None:
    assert SAID[Status(status)] in shown(page, order(status=status))


WHERE = {
    Progress.COLLECTED: "On the way.",
    Progress.DROPPED_OFF: "Dropped off; the carrier takes it from there.",
    Progress.PICKUP_MISSED: "Another driver is booked for the next business day. Leave the label on and don't cancel.",
    Progress.PICKUP_FUTILE: "The driver came but couldn't collect the parcel. Have it ready, then contact us",
    Progress.IN_TRANSIT: "On the way.",
    Progress.OUT_FOR_DELIVERY: "It's with the delivery driver.",
    Progress.DELIVERY_ATTEMPTED: "The driver couldn't deliver it.",
    Progress.HELD: "It's waiting for the receiver at a collection point.",
    Progress.DELIVERED: "Delivered on",
    Progress.CANNOT_DELIVER: "The carrier can't deliver it.",
    Progress.DAMAGED: "The carrier reports damage.",
    Progress.LOST: "The carrier reports it lost.",
    Progress.RETURNING: "It's coming back to you.",
    Progress.EXPIRED: "The label is too old to use",
}


@pytest.mark.parametrize("progress", [p for p in Progress.values if p])
def test_each_step_of_the_journey_says_what_comes_next(
    page: Client, order: Callable[..., Order], progress: str
) -> None:
    assert WHERE[Progress(progress)] in shown(page, order(progress=progress, progress_at=timezone.now()))


def test_a_pickup_without_a_scan_shows_as_missed(page: Client, order: Callable[..., Order]) -> None:
    made = order(carrier_pickup_date=timezone.now().date() - dt.timedelta(days=3))
    assert "Missed pickup" in shown(page, made)
    assert "The driver didn't come." in shown(page, made)


def test_the_next_drivers_day_is_shown(page: Client, order: Callable[..., Order]) -> None:
    day = timezone.now().date() + dt.timedelta(days=5)
    words = shown(page, order(progress="pickup_missed", carrier_pickup_date=day))
    assert f"Another driver is booked for {day:%a} {day.day} {day:%b}" in words


def test_a_label_used_after_cancelling_says_what_it_costs_and_what_to_do(
    page: Client, order: Callable[..., Order]
) -> None:
    made = order(status="cancelled", used_after_cancel_at=timezone.now())
    words = shown(page, made)
    assert "Label used after cancelling" in words
    assert "after cancelling, so the carrier charges for it" in words
    assert "as a rule the whole price of $12.08" in words
    assert f"throw away every copy of the label, contact us and quote {made.carrier_reference}" in words


@pytest.mark.parametrize("progress", ["pickup_missed", "pickup_futile"])
def test_a_pickup_problem_offers_parcel_tools(
    parcel_tools: None, page: Client, order: Callable[..., Order], progress: str
) -> None:
    made = order(progress=progress)
    assert f'href="/orders/{made.uuid}/tracking-page/"' in page.get(f"/parcels/{made.uuid}/").content.decode()


def test_scans_are_newest_first_in_the_senders_zone_and_unknown_words_by_description(
    page: Client, order: Callable[..., Order]
) -> None:
    made = order(progress="in_transit")
    parcel = factories.parcel(made)
    noon = dt.datetime(2026, 1, 5, 12, 0, tzinfo=dt.UTC)
    factories.event(parcel, event_type="Pickup", scan_time=noon)
    factories.event(
        parcel, event_type="Hoverlift", description="Went over the range", scan_time=noon + dt.timedelta(hours=1)
    )
    words = shown(page, made).partition("Tracking")[2]
    assert words.index("Went over the range") < words.index("Picked up")
    assert "Fitzroy VIC 3065, Australia" in words
    assert "11:00 pm" in words  # Melbourne is at +11 in January


def test_an_unchanged_page_returns_204_and_news_is_a_fragment(page: Client, order: Callable[..., Order]) -> None:
    made = order()
    parcel = factories.parcel(made)
    assert page.get(f"/parcels/{made.uuid}/?seen=booked..0.").status_code == 204
    factories.event(parcel)
    news = page.get(f"/parcels/{made.uuid}/?seen=booked..0.").content.decode()
    assert "Pickup scan" in news
    assert "<html" not in news


def test_a_label_being_made_is_polled_for_quickly_but_not_for_ever(page: Client, order: Callable[..., Order]) -> None:
    made = order()
    label = Label.objects.create(order=made, size="full")
    assert 'hx-trigger="every 500ms"' in page.get(f"/parcels/{made.uuid}/").content.decode()
    Order.objects.filter(pk=made.pk).update(booked_at=timezone.now() - dt.timedelta(seconds=11))
    assert (
        'hx-trigger="every 5s"' in page.get(f"/parcels/{made.uuid}/?seen=booked..0.full:pending.soon").content.decode()
    )
    label.delete()
    assert 'hx-trigger="every 5s"' in page.get(f"/parcels/{order().uuid}/").content.decode()


def test_the_signed_link_is_not_on_the_page(page: Client, order: Callable[..., Order]) -> None:
    assert "token=" not in page.get(f"/parcels/{order().uuid}/").content.decode()


PRIVATE = ["noor.tamsin@example.net", "0491 570 156", "4 Sample Street", "12 Example Lane", "Authority To Leave"]


def test_a_shipper_sees_everything(order: Callable[..., Order], ana: User, visit: Visit) -> None:
    words = shown(visit(ana), order())
    for private in PRIVATE:
        assert private in words


@pytest.mark.parametrize(
    ("who", "name", "hidden"), [("bea", "N. Tamsin", ["Noor Tamsin", "HOBART"]), ("vic", "Noor Tamsin", [])]
)
def test_viewers_see_no_contact_label_link_or_carriers_words(
    order: Callable[..., Order], request: pytest.FixtureRequest, visit: Visit, who: str, name: str, hidden: list[str]
) -> None:
    made = order()
    factories.stored_label(made)
    factories.event(factories.parcel(made), raw=b'{"secret": "raw"}')
    answer = visit(request.getfixturevalue(who)).get(f"/parcels/{made.uuid}/")
    assert f"{made} to {name}" in text(answer)
    for private in [*PRIVATE, *hidden, "secret"]:
        assert private not in text(answer)
    for link in ("/label/", "/tracking-page/", "/cancel/", "again="):
        assert link not in answer.content.decode()


def test_a_bookkeeper_reads_no_words_that_may_name_the_receiver(
    order: Callable[..., Order], bea: User, visit: Visit
) -> None:
    made = order()
    factories.event(factories.parcel(made), event_type="Delivered", description="Signed by Noor Tamsin")
    assert "Signed by" not in shown(visit(bea), made)


def test_a_reference_in_the_url_opens_only_your_own_parcel(
    page: Client, order: Callable[..., Order], bob: User, visit: Visit
) -> None:
    made = order()
    for typed in (str(made), str(made).lower()):
        assert page.get(f"/parcels/{typed}/")["Location"] == f"/parcels/{made.uuid}/"
        assert visit(bob).get(f"/parcels/{typed}/").status_code == 404


@pytest.mark.parametrize("typed", ["{uuid}", "../", "%2e%2e", "S'--", "SNOBODY1"])
def test_an_unknown_url_is_404(page: Client, typed: str) -> None:
    assert page.get(f"/parcels/{typed}/").status_code in {404, 405}


@pytest.mark.parametrize("scans", [1, 3, 300])
def test_queries_stay_few_however_many_scans(page: Client, order: Callable[..., Order], scans: int) -> None:
    made = order()
    factories.stored_label(made)
    parcel = factories.parcel(made)
    for _ in range(scans):
        factories.event(parcel)
    page.get("/parcels/")  # creates the carrier account's row
    with CaptureQueriesContext(connection) as queries:
        page.get(f"/parcels/{made.uuid}/")
    assert len(queries) <= MOST_QUERIES, [query["sql"][:90] for query in queries]


LABEL_STATES: list[tuple[dict[str, Any], str]] = [
    ({"state": "pending"}, "The carrier is making the label."),
    ({"state": "failed"}, "The carrier hasn't given us this label yet. The parcel is booked"),
    ({"state": "failed", "due_at": timezone.now()}, "The parcel is booked; we keep asking."),
    ({"state": "failed", "due_at": None}, "The parcel is booked; our team has to ask for it."),
    ({"state": "absent"}, "The carrier has no label of this size for this parcel."),
]


@pytest.mark.parametrize(("fields", "said"), LABEL_STATES)
def test_the_page_says_why_a_label_is_missing(
    page: Client, order: Callable[..., Order], fields: dict[str, Any], said: str
) -> None:
    made = order()
    made.labels.create(size="full", **fields)
    assert said in shown(page, made)
    assert page.get(f"/parcels/{made.uuid}/label/full.pdf").status_code == 404


def test_a_signed_link_in_a_scan_is_shown_nowhere(order: Callable[..., Order], alice: User, visit: Visit) -> None:
    link = "https://carrier.example/t/?token=canary-link"
    made = order()
    raw = f'{{"note": "see {link}"}}'.encode()
    factories.event(factories.parcel(made), raw=raw, description=f"Left a card, see {link}")
    answer = shown(visit(alice), made)
    assert "canary-link" not in answer
    assert "Left a card, see [cut]" in answer


def test_a_reference_typed_in_lower_case_opens_the_parcel(
    order: Callable[..., Order], alice: User, visit: Visit
) -> None:
    made = order(carrier_reference="SQ7K2M")
    assert visit(alice).get("/parcels/sq7k2m/")["Location"] == f"/parcels/{made.uuid}/"


@pytest.mark.parametrize("typed", ["Sq7K2m", "sq7k2m", "SQ7K2M"])
def test_a_reference_in_the_carriers_mixed_case_opens_the_parcel(
    order: Callable[..., Order], alice: User, visit: Visit, typed: str
) -> None:
    made = order(carrier_reference="Sq7K2m")
    assert visit(alice).get(f"/parcels/{typed}/")["Location"] == f"/parcels/{made.uuid}/"


def test_a_reference_at_two_carrier_accounts_opens_the_newer_order(
    order: Callable[..., Order], alice: User, visit: Visit
) -> None:
    page = visit(alice)
    older = CarrierAccount.objects.create(fingerprint="f" * 64, name="of last year")
    for account in (older, factories.account()):
        made = order(carrier_reference="SQ7K2M", account=account)
        assert page.get("/parcels/SQ7K2M/")["Location"] == f"/parcels/{made.uuid}/"
    assert page.get("/parcels/SQ7K2/").status_code == 404


@pytest.mark.parametrize(
    ("fields", "main"),
    [
        ({}, "Print label"),
        ({"printed_at": timezone.now()}, "Copy tracking link"),
        ({"progress": "in_transit"}, "Copy tracking link"),
        ({"progress": "pickup_futile"}, "Change delivery or pickup"),
        ({"progress": "lost"}, "Contact us"),
        ({"progress": "delivered"}, "Send again"),
        ({"progress": "expired"}, "Send again"),
        ({"status": "rejected"}, "Fix and book"),
    ],
)
def test_each_state_has_one_primary_button_and_cancel_is_last_in_the_menu(
    parcel_tools: None, page: Client, order: Callable[..., Order], alice: User, fields: dict[str, Any], main: str
) -> None:
    who = {"printed_by": alice} if "printed_at" in fields else {}
    made = order(public_tracking_url="https://carrier.example/t/X", **fields, **who)
    if made.status == "booked":
        factories.stored_label(made)
    head = page.get(f"/parcels/{made.uuid}/").content.decode().partition('<div class="do')[2].partition("<section")[0]
    assert head.count("btn go") == 1
    assert main in head.partition("btn go")[2].partition("</a>")[0].partition("</button>")[0]
    assert head.count("data-copy") == (made.status == "booked")
    last = " ".join(head.rpartition("<li")[2].split())
    assert ("Cancel parcel" in last) is (made.status == "booked" and not made.progress)


def test_a_label_of_a_stopped_account_is_not_framed(page: Client, order: Callable[..., Order], quill: Sender) -> None:
    made = order()
    factories.stored_label(made)
    with_label = page.get(f"/parcels/{made.uuid}/").content.decode()
    assert "<iframe" in with_label
    assert f'src="/parcels/{made.uuid}/label/full.pdf#' in with_label
    assert "frame-ancestors 'self'" in page.get(f"/parcels/{made.uuid}/label/full.pdf")["Content-Security-Policy"]
    Sender.objects.filter(pk=quill.pk).update(
        suspended_at=timezone.now(), suspension="other", dispatch_stopped_at=timezone.now()
    )
    assert "<iframe" not in page.get(f"/parcels/{made.uuid}/").content.decode()


@pytest.mark.parametrize(
    ("fields", "steps"),
    [
        ({}, ["now", "", "", "", ""]),
        ({"progress": "pickup_missed"}, ["now", "", "", "", ""]),
        ({"progress": "out_for_delivery"}, ["done", "done", "done", "now", ""]),
        ({"progress": "held"}, ["done", "done", "done", "now", ""]),
        ({"progress": "delivered"}, ["done"] * 5),
        ({"progress": "lost"}, []),
        ({"progress": "returning"}, []),
        ({"status": "cancelled"}, []),
        ({"status": "rejected"}, []),
    ],
)
def test_the_progress_bar_goes_only_as_far_as_the_parcel(
    page: Client, order: Callable[..., Order], fields: dict[str, Any], steps: list[str]
) -> None:
    body = page.get(f"/parcels/{order(**fields).uuid}/").content.decode()
    bar = body.partition('<ol class="journey">')[2].partition("</ol>")[0]
    drawn = ["done" if 'class="done"' in li else "now" if 'class="now"' in li else "" for li in bar.split("<li")[1:]]
    assert drawn == steps


def test_a_scan_that_is_not_a_step_shows_its_own_text(page: Client, order: Callable[..., Order]) -> None:
    made = order(progress="delivered")
    factories.event(factories.parcel(made), event_type="Info", description="Signed for by the receiver")
    assert "<b>Signed for by the receiver</b>" in page.get(f"/parcels/{made.uuid}/").content.decode()


def test_a_cancelled_or_dropped_off_parcel_mentions_no_driver_or_day(page: Client, order: Callable[..., Order]) -> None:
    assert "Due" not in shown(page, order(status="cancelled"))
    dropped = order(first_mile="drop-off")
    assert "driver" not in shown(page, dropped) + text(page.get(f"/parcels/{dropped.uuid}/cancel/"))
    assert "drop-off points" in shown(page, dropped)
