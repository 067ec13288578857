"""Notifications by email: who gets what, what goes into one email, and what is never in it."""

import datetime as dt
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.conf import settings
from django.core import mail, signing
from django.test import Client
from django.utils import timezone

from shipping_portal.accounts.mail import mailing, outbox
from shipping_portal.accounts.mail.outbox import Event
from shipping_portal.accounts.models import Membership, Notification, NotificationChoice, Sender, User
from shipping_portal.accounts.teams import team
from shipping_portal.refused import Refused
from tests.pages.typed import text

pytestmark = pytest.mark.django_db

NOON = dt.datetime(2026, 11, 20, 1, tzinfo=dt.UTC)  # noon in Melbourne
LINK = re.compile(r"https?://\S+")


def fact(of: Sender, once: str = "a", *, kind: str = "pickup", **changes: Any) -> Event:
    values = {"line": f"News {once}.", "path": f"/parcels/{once}/", "happened_at": NOON, "batch_key": ""}
    return Event(sender=of, kind=kind, dedupe_key=once, **{**values, **changes})


def leave(now: dt.datetime | None = None) -> list[str]:
    """Send everything that is due. Return the emails' bodies."""
    mail.outbox.clear()
    Notification.objects.filter(sent_at=None).update(due_at=(now or timezone.now()) - dt.timedelta(seconds=1))
    for pk in Notification.objects.filter(sent_at=None).values_list("pk", flat=True):
        mailing.send_due_mail(pk)
    return [str(message.body) for message in mail.outbox]


def test_bookers_are_emailed_and_others_are_not(alice: User, ana: User, bea: User, vic: User, quill: Sender) -> None:
    outbox.notify(fact(quill), now=NOON)
    assert set(Notification.objects.values_list("user__email", flat=True)) == {alice.email, ana.email}


def test_each_person_is_notified_once(alice: User, quill: Sender) -> None:
    for _ in range(3):
        outbox.notify(fact(quill), now=NOON)
    assert Notification.objects.count() == 1


def test_notices_of_one_bundle_are_one_email_with_one_link(alice: User, quill: Sender) -> None:
    for once in "abc":
        outbox.notify(fact(quill, once, batch_key="pickup:2026-11-20:3065"), now=NOON)
    [body] = leave()
    assert all(f"- News {once}." in body for once in "abc")
    inside, unsubscribing = LINK.findall(body)
    assert inside == f"{settings.SITE_URL}/"
    assert unsubscribing.startswith(f"{settings.SITE_URL}/unsubscribe/")


@pytest.mark.parametrize(("count", "subject"), [(1, "A size charge was added"), (3, "3 size charges were added")])
def test_the_subject_counts_the_size_charges(alice: User, quill: Sender, count: int, subject: str) -> None:
    for number in range(count):
        outbox.notify(fact(quill, str(number), kind="charge", batch_key="charges:1"), now=NOON)
    leave()
    assert [message.subject for message in mail.outbox] == [subject]


def test_a_bundle_is_one_email_even_if_two_workers_each_took_a_notice(alice: User, quill: Sender) -> None:
    for once in "ab":
        outbox.notify(fact(quill, once, batch_key="b"), now=NOON)
    rows = list(Notification.objects.all())
    assert all(row.claim() for row in rows)
    for row in rows:
        mailing.send_due_mail.work(row)
    assert [message.body.count("- News") for message in mail.outbox] == [2]
    assert not Notification.objects.filter(sent_at=None).exists()


def test_a_notice_another_worker_is_sending_is_not_sent_again(
    alice: User, quill: Sender, monkeypatch: pytest.MonkeyPatch
) -> None:
    outbox.notify(fact(quill, "a", batch_key="b"), now=NOON)
    send = mailing.EmailMessage.send

    def slow(message: Any) -> None:
        monkeypatch.setattr(mailing.EmailMessage, "send", send)
        outbox.notify(fact(quill, "b", batch_key="b"), now=NOON)
        mailing.send_due_mail(Notification.objects.get(dedupe_key="b").pk)
        send(message)

    monkeypatch.setattr(mailing.EmailMessage, "send", slow)
    assert len(leave()) == 2
    assert [message.body.count("- News") for message in mail.outbox] == [1, 1]


def test_a_parked_notice_does_not_hold_up_others(alice: User, quill: Sender) -> None:
    for once in "ab":
        outbox.notify(fact(quill, once, batch_key="b"), now=NOON)
    Notification.objects.filter(dedupe_key="a").update(parked_at=NOON)
    [body] = leave()
    assert ("News a." in body, "News b." in body) == (False, True)


def test_a_single_notice_links_to_its_page(alice: User, quill: Sender) -> None:
    outbox.notify(fact(quill), now=NOON)
    [body] = leave()
    assert f"{settings.SITE_URL}/parcels/a/" in body


def test_pickups_of_two_days_are_two_emails(alice: User, quill: Sender) -> None:
    outbox.notify(fact(quill, "a", batch_key="pickup:2026-11-20:3065"), now=NOON)
    outbox.notify(fact(quill, "b", batch_key="pickup:2026-11-21:3065"), now=NOON)
    assert len(leave()) == 2


def test_running_it_again_sends_no_more_email(alice: User, quill: Sender) -> None:
    outbox.notify(fact(quill), now=NOON)
    assert len(leave()) == 1
    mail.outbox.clear()
    mailing.send_due_mail(Notification.objects.get().pk)
    assert mail.outbox == []


def test_an_email_that_cannot_be_sent_is_tried_later(
    alice: User, quill: Sender, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_: Any) -> None:
        raise OSError("no route")

    outbox.notify(fact(quill), now=NOON)
    with monkeypatch.context() as broken:
        broken.setattr(mailing.EmailMessage, "send", fails)
        assert leave() == []
    row = Notification.objects.get()
    assert (row.sent_at, row.tries) == (None, 1)
    assert row.due_at
    assert row.due_at > timezone.now()
    assert len(leave()) == 1


def test_nobody_with_a_disabled_login_gets_email(alice: User, quill: Sender) -> None:
    outbox.notify(fact(quill), now=NOON)
    User.objects.filter(pk=alice.pk).update(is_active=False)
    assert leave() == []


def test_a_silent_mail_server_is_not_waited_for_long(
    alice: User, quill: Sender, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    waited: list[float] = []

    def silent(*_: Any, timeout: float = 0, **__: Any) -> None:
        waited.append(timeout)
        raise TimeoutError

    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    monkeypatch.setattr("smtplib.SMTP", silent)
    monkeypatch.setattr("smtplib.SMTP_SSL", silent)
    outbox.notify(fact(quill), now=NOON)
    leave()
    assert Notification.objects.get().tries == 1
    with pytest.raises(Refused):
        team.invite_person(quill, "wren@quill.example", "viewer", by=alice, now=NOON)
    assert waited == [10, 10]


@pytest.mark.parametrize("change", [{"role": "viewer"}, {"role": "bookkeeper"}, None])
def test_those_who_left_or_no_longer_book_get_no_pending_email(
    alice: User, ana: User, quill: Sender, change: dict[str, str] | None
) -> None:
    outbox.notify(fact(quill), now=NOON)
    hers = Membership.objects.filter(user=ana)
    hers.update(**change) if change else hers.delete()
    assert len(leave()) == 1
    assert mail.outbox[0].to == [alice.email]
    assert not Notification.objects.filter(sent_at=None).exists()


def test_nobody_gets_pending_email_of_a_former_account(alice: User, bob: User, quill: Sender) -> None:
    outbox.notify(fact(quill), now=NOON)
    Membership.objects.filter(user=alice).update(sender=bob.membership.sender)
    assert leave() == []


def test_a_kind_turned_off_meanwhile_is_not_sent(alice: User, quill: Sender) -> None:
    for kind in ("pickup", "delivery"):
        outbox.choose_when(alice, kind, "daily", now=NOON)
        outbox.notify(fact(quill, kind, kind=kind), now=NOON)
    outbox.choose_when(alice, "pickup", "off", now=NOON)
    [body] = leave()
    assert "News delivery." in body
    assert "News pickup." not in body


@pytest.mark.parametrize(
    ("kind", "told_at", "due_at"),
    [
        ("pickup", "2026-11-19T19:59Z", "2026-11-19T20:00Z"),
        ("pickup", "2026-11-19T20:01Z", "2026-11-20T20:00Z"),
        # The night Melbourne's clocks go back: seven o'clock there is an hour later in UTC.
        ("pickup", "2027-04-03T12:00Z", "2027-04-03T21:00Z"),
        # Monday is 23 November 2026 in Melbourne; seven in the morning there is eight in the evening of Sunday.
        ("statement", "2026-11-22T19:59Z", "2026-11-22T20:00Z"),
        ("statement", "2026-11-22T20:01Z", "2026-11-29T20:00Z"),
        ("statement", "2026-11-25T01:00Z", "2026-11-29T20:00Z"),
    ],
)
def test_a_digest_is_sent_at_seven_sender_time_and_a_weekly_one_on_monday(
    alice: User, quill: Sender, kind: str, told_at: str, due_at: str
) -> None:
    outbox.choose_when(alice, "pickup", "daily", now=NOON)
    outbox.notify(fact(quill, kind=kind), now=dt.datetime.fromisoformat(told_at))
    assert Notification.objects.get().due_at == dt.datetime.fromisoformat(due_at)


def test_a_digest_is_one_email_with_all_kinds(alice: User, quill: Sender) -> None:
    for kind in ("pickup", "delivery"):
        outbox.choose_when(alice, kind, "daily", now=NOON)
        outbox.notify(fact(quill, kind, kind=kind), now=NOON)
    [body] = leave()
    assert "News pickup." in body
    assert "News delivery." in body


def test_a_kind_that_is_off_is_not_sent(alice: User, quill: Sender) -> None:
    outbox.choose_when(alice, "pickup", "off", now=NOON)
    outbox.notify(fact(quill), now=NOON)
    assert Notification.objects.count() == 0


def test_failed_bookings_reach_the_owner_when_everybody_turned_them_off(alice: User, ana: User, quill: Sender) -> None:
    for person in (alice, ana):
        outbox.choose_when(person, "booking", "off", now=NOON)
    outbox.notify(fact(quill, kind="booking"), now=NOON)
    assert [row.user for row in Notification.objects.all()] == [alice]


def test_a_vital_event_that_only_somebody_turned_off_wants_reaches_the_owner(
    alice: User, ana: User, quill: Sender
) -> None:
    outbox.choose_when(alice, "booking", "off", now=NOON)
    User.objects.filter(pk=ana.pk).update(is_active=False)
    outbox.notify(fact(quill, kind="booking"), now=NOON)
    assert [row.user for row in Notification.objects.all()] == [alice]


MONEY = {"charge", "answer", "statement"}


@pytest.mark.parametrize("kind", outbox.KINDS)
def test_each_role_gets_only_the_kinds_meant_for_it(
    alice: User, ana: User, bea: User, vic: User, quill: Sender, kind: str
) -> None:
    on = "weekly" if kind == "statement" else "now"
    for person in (alice, ana, bea, vic):
        outbox.choose_when(person, kind, on, now=NOON - dt.timedelta(hours=1))
    outbox.notify(fact(quill, kind=kind), now=NOON)
    leave()
    others = set() if kind in {"export", "webhook"} else {bea.email} if kind in MONEY else {ana.email}
    assert {message.to[0] for message in mail.outbox} == {alice.email} | others


@pytest.mark.parametrize(("role", "given"), [("owner", 1), ("shipper", 1), ("bookkeeper", 0), ("viewer", 0)])
def test_a_vital_notice_is_sent_even_if_turned_off_unless_its_reader_no_longer_books(
    ana: User, quill: Sender, role: str, given: int
) -> None:
    outbox.notify(fact(quill, kind="booking"), now=NOON)
    outbox.choose_when(ana, "booking", "off", now=NOON)
    Membership.objects.filter(user=ana).update(role=role)
    leave()
    assert [message.to for message in mail.outbox].count([ana.email]) == given


def test_the_page_saves_the_choices(alice: User, visit: Callable[[User], Client]) -> None:
    page = visit(alice)
    page.post("/settings/notifications/", {"pickup": "daily", "delivered": "now"})
    assert outbox.choices_of(alice) == {
        "approved": "now",
        "booking": "now",
        "prices": "now",
        "import": "now",
        "export": "now",
        "not_printed": "now",
        "pickup": "daily",
        "delivery": "now",
        "delivered": "now",
        "charge": "now",
        "answer": "now",
        "statement": "weekly",
        "webhook": "now",
    }


@pytest.mark.parametrize("sent", [{"booking": "daily"}, {"booking": "yearly"}, {"booking": ""}, {}])
def test_an_unknown_choice_saves_nothing_and_keeps_the_others_on_the_page(
    alice: User, visit: Callable[[User], Client], sent: dict[str, str]
) -> None:
    chosen = sent and {**sent, "pickup": "off"}
    answer = visit(alice).post("/settings/notifications/", chosen)
    page = answer.content.decode()
    assert (answer.status_code, "Nothing was saved." in page, "Saved." in page) == (422, True, False)
    assert outbox.choices_of(alice)["pickup"] == "now"
    on_page = dict(re.findall(r'name="(booking|pickup)" value="(\w+)"\s+checked', page))
    assert on_page == ({"pickup": "off"} if sent else {"pickup": "now", "booking": "now"})
    assert page.count('<small class="bad"> Choose one of the times shown.') == len(sent)


def test_the_link_in_an_email_stops_its_kind_with_one_click_without_logging_in(alice: User, quill: Sender) -> None:
    outbox.notify(fact(quill), now=NOON)
    [body] = leave()
    path = LINK.findall(body)[-1].removeprefix(settings.SITE_URL)
    assert mail.outbox[0].extra_headers["List-Unsubscribe"] == f"<{settings.SITE_URL}{path}>"
    browser = Client(enforce_csrf_checks=True)
    assert "Stop these emails?" in text(browser.get(path))
    assert not NotificationChoice.objects.exists()
    browser.post(path, {"List-Unsubscribe": "One-Click"})
    assert outbox.choices_of(alice)["pickup"] == "off"
    assert outbox.choices_of(alice)["booking"] == "now"


def test_the_link_in_a_digest_stops_every_kind_that_is_in_it(alice: User, quill: Sender) -> None:
    for kind in ("pickup", "delivery"):
        outbox.choose_when(alice, kind, "daily", now=NOON)
        outbox.notify(fact(quill, kind, kind=kind), now=NOON)
    [body] = leave()
    path = LINK.findall(body)[-1].removeprefix(settings.SITE_URL)
    asked, done = text(Client().get(path)), text(Client().post(path))
    for title in ("The driver didn't come, or couldn't collect", "A parcel has trouble on its way"):
        assert title in asked
        assert title in done
    chosen = outbox.choices_of(alice)
    assert [kind for kind, when in chosen.items() if when == "off"] == ["pickup", "delivery", "delivered"]


def test_a_link_we_did_not_make_is_404(alice: User) -> None:
    of_no_kind = signing.dumps([alice.pk, "no-such-kind"], salt=mailing.SALT)
    of_nothing = signing.dumps([alice.pk], salt=mailing.SALT)
    of_another_use = signing.dumps([alice.pk, "pickup"], salt="another")
    for token in ("x", "x:y:z", of_no_kind, of_nothing, of_another_use):
        assert Client().post(f"/unsubscribe/{token}/").status_code == 404


def test_the_lines_of_an_email_are_in_the_order_of_events(alice: User, quill: Sender) -> None:
    for once, hours in (("late", 2), ("early", 0), ("between", 1)):
        outbox.notify(
            fact(quill, once, batch_key="b", happened_at=NOON + dt.timedelta(hours=hours)),
            now=NOON + dt.timedelta(hours=3),
        )
    [body] = leave()
    assert re.findall(r"- News (\w+)", body) == ["early", "between", "late"]


def test_a_long_email_says_how_many_lines_it_leaves_out(
    alice: User, quill: Sender, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mailing, "MOST_LINES", 2)
    for once in "abcde":
        outbox.notify(fact(quill, once, batch_key="b"), now=NOON)
    [body] = leave()
    assert re.findall(r"^- .+", body, re.M) == ["- News a.", "- News b.", "- and 3 more"]


def test_an_email_of_one_kind_names_it_in_its_subject(alice: User, quill: Sender) -> None:
    outbox.notify(fact(quill), now=NOON)
    leave()
    assert mail.outbox[0].subject == "Your pickup"
    for kind in ("pickup", "delivery"):
        outbox.choose_when(alice, kind, "daily", now=NOON)
        outbox.notify(fact(quill, kind, kind=kind), now=NOON)
    leave()
    assert mail.outbox[0].subject == "Your parcels"


def test_every_line_of_an_unsent_email_waits_for_the_next_try(
    alice: User, quill: Sender, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_: Any) -> None:
        raise OSError("no route")

    for once in "ab":
        outbox.notify(fact(quill, once, batch_key="b"), now=NOON)
    monkeypatch.setattr(mailing.EmailMessage, "send", fails)
    Notification.objects.update(due_at=timezone.now() - dt.timedelta(seconds=1))
    mailing.send_due_mail(Notification.objects.get(dedupe_key="a").pk)
    waits = [(row.tries, row.sent_at, row.due_at > timezone.now()) for row in Notification.objects.all()]
    assert waits == [(1, None, True)] * 2


@pytest.mark.parametrize(("tries", "minutes"), [(0, 1), (1, 2), (3, 8), (8, 256), (9, 360), (40, 360)])
def test_waits_for_a_mail_server_double_each_time_up_to_six_hours(tries: int, minutes: int) -> None:
    assert mailing.wait_after(tries) == dt.timedelta(minutes=minutes)


def test_withdrawing_a_fact_withdraws_only_its_unsent_notices(alice: User, quill: Sender) -> None:
    names = ("charge:1", "charge:1:seen", "charge:12", "charge:2")
    for once in names:
        outbox.notify(fact(quill, once, kind="charge"), now=NOON)
    outbox.notify(fact(quill, "charge:1:sent", kind="charge"), now=NOON)
    Notification.objects.filter(dedupe_key="charge:1:sent").update(sent_at=NOON, due_at=None)
    outbox.retract_events("charge:1")
    left = set(Notification.objects.values_list("dedupe_key", flat=True))
    assert left == {"charge:1:sent", "charge:12", "charge:2"}


def test_turning_a_kind_on_covers_only_later_events(alice: User, quill: Sender) -> None:
    outbox.choose_when(alice, "pickup", "off", now=NOON)
    outbox.choose_when(alice, "pickup", "now", now=NOON + dt.timedelta(hours=2))
    for once, hours in (("before", 1), ("after", 3)):
        happened = NOON + dt.timedelta(hours=hours)
        outbox.notify(fact(quill, once, happened_at=happened), now=NOON + dt.timedelta(hours=4))
    assert [row.dedupe_key for row in Notification.objects.all()] == ["after"]


def test_changing_the_time_of_a_kind_keeps_its_pending_events(alice: User, quill: Sender) -> None:
    outbox.choose_when(alice, "pickup", "daily", now=NOON + dt.timedelta(hours=2))
    outbox.notify(fact(quill, happened_at=NOON), now=NOON + dt.timedelta(hours=4))
    assert Notification.objects.count() == 1


def test_later_team_members_get_nothing_from_before(alice: User, ana: User, quill: Sender) -> None:
    Membership.objects.filter(user=ana).update(created_at=NOON + dt.timedelta(hours=1))
    outbox.notify(fact(quill, happened_at=NOON), now=NOON + dt.timedelta(hours=2))
    assert [row.user for row in Notification.objects.all()] == [alice]


def test_a_notice_for_one_person_reaches_nobody_else(alice: User, ana: User, quill: Sender) -> None:
    outbox.notify(fact(quill, kind="import", only=ana.pk), now=NOON)
    assert [row.user for row in Notification.objects.all()] == [ana]


def test_a_link_that_stops_emails_stops_only_that_persons(alice: User, ana: User, quill: Sender) -> None:
    outbox.notify(fact(quill, only=ana.pk), now=NOON)
    [body] = leave()
    Client().post(LINK.findall(body)[-1].removeprefix(settings.SITE_URL))
    assert (outbox.choices_of(ana)["pickup"], outbox.choices_of(alice)["pickup"]) == ("off", "now")
