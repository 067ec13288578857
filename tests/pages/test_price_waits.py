"""While the carrier gives no prices, a sender saves the draft, leaves, and gets one email once there are prices again."""

import datetime as dt
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from orders.models import CarrierAccount, Draft, PriceWait, Quote
from orders.quoting import asking, awaiting_prices
from shipping_portal.accounts.mail import outbox
from shipping_portal.accounts.models import Notification, Sender, User
from tests.pages.pauses import pause
from tests.pages.typed import AT_HOME, beside, text
from tests.sandbox_carrier import SandboxCarrier

pytestmark = pytest.mark.django_db
TELL = "email me when there are prices"


def ask(page: Client, **more: Any) -> Any:
    return page.post("/parcels/new/", AT_HOME, **more)


def wait(page: Client) -> PriceWait:
    page.post("/parcels/new/", {**AT_HOME, "save_draft": "tell"})
    return PriceWait.objects.get()


def asked_again(one: PriceWait, *, after: dt.timedelta = dt.timedelta(minutes=2)) -> None:
    """Act as if this much time has passed since the press."""
    now = timezone.now()
    PriceWait.objects.filter(pk=one.pk).update(asked_at=now - after, due_at=now)
    awaiting_prices.ask_for_due_prices(one.pk)


def recorded() -> list[str]:
    return list(Notification.objects.filter(kind="prices").order_by("pk").values_list("line", flat=True))


def test_when_the_carrier_gives_no_prices_waiting_is_offered(carrier: SandboxCarrier, listed: Client) -> None:
    carrier.trouble("quote", "503", count=9)
    assert TELL in text(ask(listed))
    assert TELL in text(beside(listed, AT_HOME))


def test_waiting_is_not_offered_if_it_would_not_help(carrier: SandboxCarrier, listed: Client) -> None:
    assert TELL not in text(listed.get("/parcels/new/"))
    carrier.trouble("quote", "422")
    assert TELL not in text(ask(listed))
    Sender.objects.update(quotes_a_minute=0)
    assert TELL not in text(ask(listed))


def test_the_draft_is_saved_and_the_page_says_what_happens_next(listed: Client) -> None:
    one = wait(listed)
    page = listed.get(f"/parcels/drafts/{one.draft.uuid}/")
    assert "We'll email you when the carrier gives prices again. Nothing is booked." in text(page)
    assert one.draft.values["receiver_name"] == "Priya Nair"
    assert one.due_at == one.asked_at + awaiting_prices.SHORTEST


def test_only_the_person_who_asked_gets_one_email(
    carrier: SandboxCarrier, listed: Client, ana: User, alice: User
) -> None:
    one = wait(listed)
    asked_again(one)
    [notice] = Notification.objects.filter(kind="prices")
    assert notice.user == alice
    assert notice.path == f"/parcels/drafts/{one.draft.uuid}/"
    assert recorded() == [
        "The carrier gives prices again. Your draft for P. Nair is as you left it; nothing is booked."
    ]
    awaiting_prices.ask_for_due_prices(one.pk)
    assert len(recorded()) == 1
    assert Quote.objects.exists()


def test_while_the_carrier_is_down_nobody_is_emailed_and_checks_get_rarer(
    carrier: SandboxCarrier, listed: Client
) -> None:
    carrier.trouble("quote", "503", count=99)
    one, waits = wait(listed), []
    for minutes in (1, 60, 24 * 60):
        asked_again(one, after=dt.timedelta(minutes=minutes))
        one.refresh_from_db()
        waits.append(one.due_at - timezone.now())
    assert recorded() == []
    assert waits == sorted(waits)
    assert waits[-1] <= dt.timedelta(hours=1)


def test_after_three_days_it_gives_up_and_says_so(carrier: SandboxCarrier, listed: Client) -> None:
    carrier.trouble("quote", "503", count=99)
    asked_again(wait(listed), after=dt.timedelta(days=3, minutes=1))
    assert recorded() == [
        "The carrier gave no prices for three days, so we stopped asking. Your draft for P. Nair is kept."
    ]
    assert not PriceWait.objects.exists()
    assert Draft.objects.exists()


@pytest.mark.parametrize("what", ["quotes", "bookings"])
def test_waiting_works_for_an_operators_pause_too(carrier: SandboxCarrier, listed: Client, what: str) -> None:
    pause(what)
    assert TELL in text(ask(listed))
    one = wait(listed)
    asked_again(one)
    assert recorded() == []
    CarrierAccount.objects.update(paused_at=None, quotes_paused_at=None)
    asked_again(one)
    assert len(recorded()) == 1


def test_a_refusal_ends_the_wait(carrier: SandboxCarrier, listed: Client) -> None:
    carrier.trouble("quote", "422")
    asked_again(wait(listed))
    assert len(recorded()) == 1


def test_a_draft_that_is_half_typed_by_now_ends_the_wait(carrier: SandboxCarrier, listed: Client) -> None:
    one = wait(listed)
    Draft.objects.update(values={**AT_HOME, "receiver_name": ""})
    asked_again(one)
    assert recorded() == []
    assert not PriceWait.objects.exists()


def test_a_deleted_draft_ends_the_wait(carrier: SandboxCarrier, listed: Client) -> None:
    one = wait(listed)
    listed.post(f"/parcels/drafts/{one.draft.uuid}/delete/")
    assert not PriceWait.objects.exists()


def test_a_draft_booked_while_the_carrier_replies_sends_no_email(
    carrier: SandboxCarrier, listed: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asking, "ask_for_prices", lambda *_, **__: Draft.objects.all().delete())
    asked_again(wait(listed))
    assert recorded() == []


def test_a_sender_at_the_daily_limit_keeps_waiting(carrier: SandboxCarrier, listed: Client) -> None:
    one = wait(listed)
    Sender.objects.update(bookings_a_day=0)
    asked_again(one)
    assert PriceWait.objects.get() == one


def test_an_account_awaiting_approval_can_wait_for_prices(
    carrier: SandboxCarrier, listed: Client, settings: Any
) -> None:
    settings.SIGN_UP = "approve"
    Sender.objects.update(approved_at=None)
    assert ask(listed).status_code == 302
    Quote.objects.all().delete()
    asked_again(wait(listed))
    assert len(recorded()) == 1


def test_asking_again_turns_these_emails_back_on(carrier: SandboxCarrier, listed: Client, alice: User) -> None:
    outbox.choose_when(alice, "prices", "off", now=timezone.now())
    asked_again(wait(listed))
    assert len(recorded()) == 1


def test_two_clicks_start_one_wait(listed: Client) -> None:
    one = wait(listed)
    again = {**AT_HOME, "save_draft": "tell", "draft": str(one.draft.uuid)}
    listed.post("/parcels/new/", again)
    assert PriceWait.objects.get().pk == one.pk
