"""Parcels booked elsewhere and tracked here, and the only page that shows a signed link."""

from collections.abc import Callable

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from orders.models import Order
from shipping_portal.accounts.models import Audit, Sender, User
from tests import factories
from tests.pages.typed import messages_at, text
from tests.sandbox_carrier import SandboxCarrier
from tracking.models import Parcel, Watch

pytestmark = pytest.mark.django_db

Visit = Callable[[User], Client]


@pytest.fixture
def page(alice: User, visit: Visit) -> Client:
    return visit(alice)


@pytest.mark.parametrize(
    "typed", ["S7K2QX9", " s7k2qx9 ", "#S7K2QX9", "https://track.example/tracking?ref=S7K2QX9&x=1"]
)
def test_a_reference_or_its_tracking_url_is_accepted(page: Client, typed: str) -> None:
    answer = page.post("/watch/", {"reference": typed, "name": "Clay"})
    watch = Watch.objects.get()
    assert watch.parcel.reference == "S7K2QX9"
    assert answer["Location"] == f"/watch/{watch.uuid}/"
    assert "S7K2QX9" in text(page.get("/watch/"))


@pytest.mark.parametrize(
    ("typed", "given"),
    [
        ("", "Enter the reference, such as S7K2QX."),
        ("X123456", "This holds no reference. One looks like S7K2QX."),
        ("S12", "This holds no reference. One looks like S7K2QX."),
        ("S" * 501, "Enter the reference alone, such as S7K2QX."),
    ],
)
def test_an_invalid_reference_shows_an_error_at_the_field(page: Client, typed: str, given: str) -> None:
    answer = page.post("/watch/", {"reference": typed})
    assert answer.status_code == 422
    assert given in messages_at(answer, "reference")
    assert not Watch.objects.exists()


def test_the_same_reference_twice_is_one_watch(page: Client) -> None:
    for _ in range(2):
        page.post("/watch/", {"reference": "S7K2QX9"})
    assert Watch.objects.count() == 1


SAID = [
    ({"subscription": "wanted"}, "Waiting for first scan"),
    ({"subscription": "refused", "subscription_text": "Unknown reference."}, "It said: Unknown reference."),
    ({"subscription": "on"}, "The carrier has no scan for it yet."),
    ({"subscription": "on", "last_scan_at": timezone.now()}, "The carrier tells us about each new scan"),
    ({"progress": "delivered"}, "There is nothing more to follow."),
]


@pytest.mark.parametrize(("fields", "said"), SAID)
def test_each_state_says_what_it_means(
    page: Client, quill: Sender, alice: User, fields: dict[str, str], said: str
) -> None:
    watch = factories.watch(quill, alice)
    Parcel.objects.filter(pk=watch.parcel.pk).update(**fields)
    assert said in text(page.get(f"/watch/{watch.uuid}/"))


def test_a_watched_parcels_page_has_scans_but_no_label_and_no_tools(page: Client, quill: Sender, alice: User) -> None:
    watch = factories.watch(quill, alice)
    factories.event(watch.parcel)
    answer = page.get(f"/watch/{watch.uuid}/")
    assert "Picked up" in text(answer)
    for link in ("/label/", "/tracking-page/", "/cancel/"):
        assert link not in answer.content.decode()


def test_people_who_book_can_stop_watching_with_one_click(
    page: Client, quill: Sender, alice: User, vic: User, bob: User, visit: Visit
) -> None:
    watch = factories.watch(quill, alice)
    stop = f"/watch/{watch.uuid}/stop/"
    assert page.get(stop).status_code == 405
    assert visit(vic).post(stop).status_code == 404
    assert visit(bob).post(stop).status_code == 404
    assert page.post(stop)["Location"] == "/watch/"
    assert not Watch.objects.exists()


def test_a_viewer_reads_but_cannot_add(vic: User, visit: Visit) -> None:
    reader = visit(vic)
    assert "<form" not in reader.get("/watch/").content.decode().split("<main")[1]
    assert reader.post("/watch/", {"reference": "S7K2QX9"}).status_code == 404
    assert not Watch.objects.exists()


def test_a_stranger_gets_404(quill: Sender, alice: User, bob: User, visit: Visit) -> None:
    watch = factories.watch(quill, alice)
    assert visit(bob).get(f"/watch/{watch.uuid}/").status_code == 404


def test_a_suspended_sender_is_not_sent_to_a_form_that_is_not_there(page: Client, quill: Sender, sam: User) -> None:
    quill.suspend(by=sam, category="terms", text="Unpaid bill.", note="-", now=timezone.now())
    assert "Parcels can be added once booking is on again." in text(page.get("/watch/"))


def test_a_suspended_sender_adds_nothing(page: Client, quill: Sender, sam: User) -> None:
    quill.suspend(by=sam, category="terms", text="Unpaid bill.", note="-", now=timezone.now())
    assert page.post("/watch/", {"reference": "S7K2QX9"}).status_code == 403
    assert not Watch.objects.exists()


@pytest.mark.parametrize("rows", [1, 3, 30])
def test_the_list_takes_the_same_few_queries(page: Client, rows: int) -> None:
    for number in range(rows):
        page.post("/watch/", {"reference": f"SWATCH{number:03}"})
    page.get("/watch/")  # creates the carrier account's row
    with CaptureQueriesContext(connection) as queries:
        page.get("/watch/")
    assert len(queries) <= 7, [query["sql"][:90] for query in queries]


@pytest.fixture
def order(quill: Sender, alice: User) -> Order:
    return factories.order(quill, alice, status="booked")


def test_parcel_tools_show_the_link_as_a_plain_anchor_and_keep_nothing(
    carrier: SandboxCarrier, contract: Callable[[str], None], page: Client, order: Order, alice: User
) -> None:
    contract('link = "signed"\nlink_page = "https://track.example/t/"\nlink_hosts = "track.example"\n')
    answer = page.get(f"/orders/{order.uuid}/tracking-page/")
    body = answer.content.decode()
    assert 'rel="noopener noreferrer" referrerpolicy="no-referrer">' in body
    assert body.count("token=") == 1
    assert answer["Cache-Control"] == "private, no-store, no-transform"
    assert answer["Referrer-Policy"] == "no-referrer"
    # A browser would send one with "Origin: null", and the CSRF check refuses that.
    assert 'method="post"' not in body
    assert Audit.objects.get(action="link shown").actor == alice


def test_a_missing_link_is_explained(page: Client, order: Order) -> None:
    assert "The carrier gives us no link to its own page for this parcel." in text(
        page.get(f"/orders/{order.uuid}/tracking-page/")
    )


@pytest.mark.parametrize("who", ["bea", "vic", "bob", "sam"])
def test_parcel_tools_are_404_to_everybody_else(
    order: Order, request: pytest.FixtureRequest, visit: Visit, who: str
) -> None:
    answer = visit(request.getfixturevalue(who)).get(f"/orders/{order.uuid}/tracking-page/")
    assert answer.status_code == 404
    assert not Audit.objects.filter(action="link shown").exists()


def test_a_references_upper_and_lower_case_is_kept(page: Client) -> None:
    page.post("/watch/", {"reference": "Sab12cD"})
    assert Watch.objects.get().parcel.reference == "Sab12cD"


def test_another_accounts_parcel_is_tracked_without_the_carriers_free_text(
    page: Client, bob: User, quill: Sender, alice: User
) -> None:
    theirs = factories.order(bob.membership.sender, bob, status="booked", carrier_reference="SQ7K2MX")
    factories.event(factories.parcel(theirs), event_type="Delivered", description="Signed by Noor Tamsin")
    answer = page.post("/watch/", {"reference": "SQ7K2MX"}, follow=True)
    assert "Delivered" in text(answer)
    assert "Signed by" not in text(answer)


@pytest.mark.parametrize(("who", "reads"), [("alice", True), ("vic", True), ("bea", False)])
def test_bookkeepers_track_without_the_carriers_free_text(
    quill: Sender, alice: User, request: pytest.FixtureRequest, visit: Visit, who: str, reads: bool
) -> None:
    watch = factories.watch(quill, alice)
    factories.event(watch.parcel, event_type="Delivered", description="Signed by Noor Tamsin")
    words = text(visit(request.getfixturevalue(who)).get(f"/watch/{watch.uuid}/"))
    assert "Delivered" in words
    assert ("Signed by Noor Tamsin" in words) is reads


def test_your_own_parcel_is_tracked_with_the_carriers_text(page: Client, quill: Sender, alice: User) -> None:
    own = factories.order(quill, alice, status="booked", carrier_reference="SQ7K2MX")
    factories.event(factories.parcel(own), event_type="Delivered", description="Left at the door")
    assert "Left at the door" in text(page.post("/watch/", {"reference": "sq7k2mx"}, follow=True))
