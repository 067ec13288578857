"""One word for each state: the badge, the steps, the timeline, the row in the list and the email agree."""

import re
from collections.abc import Callable

import pytest
from django.test import Client
from django.utils import timezone

from orders.models import Order
from orders.models.statuses import Progress, Status
from orders.notices import notifications
from shipping_portal.accounts.models import Sender, User
from tests import factories
from tests.pages.typed import text
from tracking.models import EventWord

pytestmark = pytest.mark.django_db

Visit = Callable[[User], Client]
ON_THE_WAY = [one for one in Progress if one]
WITHOUT_A_STEP = {"cannot_deliver", "damaged", "lost", "returning", "expired"}
AT_THE_SENDER = {"pickup_missed", "pickup_futile"}


@pytest.mark.parametrize("progress", ON_THE_WAY)
def test_each_step_of_a_parcel_has_one_word(quill: Sender, alice: User, visit: Visit, progress: Progress) -> None:
    now, word = timezone.now(), progress.label
    made = factories.order(quill, alice, status="booked", progress=progress, progress_at=now)
    EventWord.objects.create(word="sandbox word", progress=progress, first_seen_at=now)
    factories.event(factories.parcel(made), event_type="Sandbox word", description="")
    client = visit(alice)
    body = client.get(f"/parcels/{made.uuid}/").content.decode()
    assert badge(body) == word
    assert between(body, '<div class="time">', "</div>\n  </li>").count(f"<b>{shown(word)}</b>") == 1
    step = re.search(r"<li[^>]*aria-current=\"step\".*?<b>(.*?)</b>", body, re.DOTALL)
    steps = {None} if progress in WITHOUT_A_STEP else {"Booked"} if progress in AT_THE_SENDER else {shown(word)}
    assert (step and step[1]) in steps
    assert word in text(client.get("/parcels/"))
    mail = notifications.progress_event(made, str(progress), now)
    assert mail is None or word.lower() in mail.line.lower()


@pytest.mark.parametrize("status", [one for one in Status if one != Status.BOOKED])
def test_each_status_has_one_word_on_its_page_and_in_the_list(
    quill: Sender, alice: User, visit: Visit, status: Status
) -> None:
    made: Order = factories.order(quill, alice, status=status)
    client = visit(alice)
    word = badge(client.get(f"/parcels/{made.uuid}/").content.decode())
    rows = client.get("/parcels/").content.decode()
    assert word
    assert badge(between(rows, "<tbody", "</tbody>")) == word


HEADINGS = {
    "pickup_missed": "The driver comes again on",
    "pickup_futile": "The driver couldn't collect it on",
    "delivery_attempted": "Delivery attempted on",
    "held": "Waiting at the collection point since",
    "returning": "Coming back since",
    "delivered": "Delivered on",
    "in_transit": "Due",
}


@pytest.mark.parametrize(("progress", "answer"), HEADINGS.items())
def test_the_heading_gives_the_state(quill: Sender, alice: User, visit: Visit, progress: str, answer: str) -> None:
    made = factories.order(quill, alice, status="booked", progress=progress, progress_at=timezone.now())
    body = visit(alice).get(f"/parcels/{made.uuid}/").content.decode()
    heading = re.search(r'<p class="line eta">\s*<b class="big">(.*?)</b>', body, re.DOTALL)
    assert heading
    assert " ".join(heading[1].replace("&#x27;", "'").split()).startswith(answer)


def test_a_delivery_is_mentioned_once(quill: Sender, alice: User, visit: Visit) -> None:
    made = factories.order(quill, alice, status="booked", progress="delivered", progress_at=timezone.now())
    body = visit(alice).get(f"/parcels/{made.uuid}/").content.decode()
    assert body.count("Delivered on ") == 1


def badge(body: str) -> str:
    """Return the text of the first badge."""
    found = re.search(r'class="badge[^"]*"[^>]*>(.*?)</span>', body, re.DOTALL)
    return " ".join(re.sub(r"<[^>]+>", " ", found[1]).split()).replace("&#x27;", "'") if found else ""


def between(body: str, start: str, end: str) -> str:
    return body.partition(start)[2].partition(end)[0]


def shown(word: str) -> str:
    return word.replace("'", "&#x27;")
