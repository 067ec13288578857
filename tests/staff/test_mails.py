"""R17: every notification email is plain text with one link into the portal: no label, no carrier link, no address."""

import datetime as dt
import re

import pytest
from django.conf import settings
from django.core import mail
from django.core.mail import EmailMessage
from django.utils import timezone

from orders.status.transitions import advance, move_to
from shipping_portal.accounts.mail import mailing
from shipping_portal.accounts.mail.outbox import KINDS
from shipping_portal.accounts.models import Notification, NotificationChoice, Sender, User
from tests import factories

pytestmark = pytest.mark.django_db

PROGRESS = ("pickup_missed", "pickup_futile", "damaged", "held", "delivered")


def sent() -> list[EmailMessage]:
    Notification.objects.update(due_at=timezone.now() - dt.timedelta(seconds=1))
    for pk in Notification.objects.values_list("pk", flat=True):
        mailing.send_due_mail(pk)
    return list(mail.outbox)


def scanned(of: Sender, by: User, progress: str) -> None:
    order = factories.order(of, by, status="booked", public_tracking_url="https://carrier.example/t/S1?token=secret")
    factories.stored_label(order)
    advance(order, progress, at=timezone.now())


def test_r17_each_email_is_text_with_one_link_into_the_portal(quill: Sender, alice: User) -> None:
    for kind in KINDS:
        NotificationChoice.objects.create(user=alice, kind=kind, when="now")
    for progress in PROGRESS:
        scanned(quill, alice, progress)
    failed = factories.order(quill, alice, status="booking")
    move_to(failed, "rejected", reason="-", at=timezone.now())
    found = sent()
    assert {message.subject for message in found} == {
        KINDS[kind].subject for kind in ("booking", "pickup", "delivery", "delivered")
    }
    for message in found:
        body = str(message.body)
        assert message.content_subtype == "plain"
        assert message.attachments == []
        links = re.findall(r"https?://\S+", body)
        inside = [link for link in links if "/unsubscribe/" not in link]
        assert len(inside) == 1, body
        assert inside[0].startswith(settings.SITE_URL + "/")
        for private in ("token=", "carrier.example", ".pdf", "Sample Street", "noor.tamsin", "Noor Tamsin"):
            assert private not in body + message.subject


def test_r17_one_missed_pickup_is_one_email_however_many_parcels_were_waiting(quill: Sender, alice: User) -> None:
    for _ in range(3):
        scanned(quill, alice, "pickup_missed")
    [message] = sent()
    assert len(set(re.findall(r"\bS[A-Z]*\d+\b", str(message.body)))) == 3
