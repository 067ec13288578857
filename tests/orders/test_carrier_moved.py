"""The same carrier account at another address: its orders, webhooks and bills stay with it."""

from collections.abc import Callable
from typing import Any

import pytest
from django.core.checks import run_checks
from django.core.management import CommandError, call_command
from django.utils import timezone

from orders.calling import carrier_settings, gateway
from orders.models import CarrierAccount, CarrierCall, Order
from shipping_portal.accounts.models import Audit, Sender, User
from tests import factories, older
from tests.catalogue.pushing import basic, last, push, wire

pytestmark = pytest.mark.django_db
FORMER, PRESENT = "https://api.carrier.example/v1", "https://gate.carrier.example/v2"


@pytest.fixture
def row(settings: Any) -> CarrierAccount:
    """The account at its old address; from here on the settings have the new one."""
    settings.CARRIER_BASE_URL = FORMER
    row = gateway.current_account()
    settings.CARRIER_BASE_URL = PRESENT
    return row


def carrier_moved(*options: str, former: str = FORMER) -> None:
    call_command("carrier_moved", f"--from={former}", *options)


# -- What is the same address ------------------------------------------------------------------------


def fingerprint(settings: Any, address: str) -> str:
    settings.CARRIER_BASE_URL = address
    return carrier_settings.current_settings().fingerprint


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ("https://api.carrier.example/v1", "https://API.Carrier.Example/v1", True),
        ("https://api.carrier.example/v1", "HTTPS://api.carrier.example/v1", True),
        ("https://api.carrier.example/v1", "https://api.carrier.example./v1", True),
        ("https://api.carrier.example/v1", "https://api.carrier.example:443/v1", True),
        ("https://api.carrier.example/v1", "https://api.carrier.example/v1/", True),
        ("http://127.0.0.1", "http://127.0.0.1:80/", True),
        ("https://api.carrier.example/v1", "https://api.carrier.example/V1", False),
        ("https://api.carrier.example/v1", "https://api.carrier.example:8443/v1", False),
        ("https://api.carrier.example:80", "https://api.carrier.example", False),
        ("https://api.carrier.example", "http://api.carrier.example", False),
        ("http://[::1]:8080", "http://[::1:8080]", False),
        ("no address", "No Address", False),
    ],
)
def test_an_address_is_identified_by_where_it_leads_not_by_its_spelling(
    settings: Any, one: str, other: str, is_same: bool
) -> None:
    assert (fingerprint(settings, one) == fingerprint(settings, other)) == is_same


def test_one_account_spelled_two_ways_is_refused_as_a_duplicate(settings: Any) -> None:
    settings.CARRIER_BASE_URL, settings.CARRIER_ACCOUNT = "https://Older.Example:443/api/", "older-account"
    settings.OLDER_CARRIERS = {"OLD": older.described()}
    assert "portal.E013" in [problem.id for problem in run_checks(tags=["carrier"])]


# -- The command -------------------------------------------------------------------------------------


def test_orders_and_webhooks_of_an_account_that_moved_stay_with_it(
    row: CarrierAccount, quill: Sender, alice: User, settings: Any
) -> None:
    settings.CARRIER_BASE_URL = FORMER
    parcel = factories.parcel(factories.order(quill, alice, status="booked"))
    settings.CARRIER_BASE_URL = PRESENT
    carrier_moved()
    assert gateway.current_account() == row
    assert str(gateway.current_account()) == f"{settings.CARRIER_ACCOUNT} at {PRESENT}"
    secret = settings.WEBHOOK_SECRETS[0]
    assert push(wire(carrier_reference=parcel.reference), HTTP_AUTHORIZATION=basic(secret)).status_code == 200
    assert last().account == row
    assert parcel.events.count() == 1
    assert gateway.is_reachable(Order.objects.get().account)


def test_the_move_is_recorded_once_however_often_the_command_runs(
    row: CarrierAccount, settings: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    name = settings.CARRIER_ACCOUNT
    carrier_moved()
    assert f"{name} at {FORMER} is {name} at {PRESENT} now" in capsys.readouterr().out
    carrier_moved(former="https://API.carrier.example:443/v1/")
    assert "Nothing was changed" in capsys.readouterr().out
    audit = Audit.objects.get()
    assert (audit.action, audit.subject) == ("carrier account moved", f"carrier account {row.pk}")
    assert audit.reason == f"by carrier_moved: {name} at {FORMER} → {name} at {PRESENT}"


def test_an_older_account_can_be_moved_too(settings: Any) -> None:
    before = older.named(settings, BASE_URL=FORMER)
    settings.OLDER_CARRIERS = {"OLD": older.described(BASE_URL=PRESENT)}
    carrier_moved("--account=OLD")
    assert gateway.account_of(carrier_settings.settings_named("OLD")) == before


def test_an_unused_row_of_the_new_address_is_replaced(row: CarrierAccount) -> None:
    new = gateway.current_account()
    call = CarrierCall.objects.create(at=timezone.now(), account=new, operation="quote", milliseconds=1)
    carrier_moved()
    assert gateway.current_account() == row
    assert CarrierAccount.objects.count() == 1
    assert CarrierCall.objects.get(pk=call.pk).account == row


@pytest.mark.parametrize("make", [
    lambda of, by: factories.quote(of, by),
    lambda of, by: factories.order(of, by, status="booked"),
    lambda of, by: factories.parcel(),
    lambda of, by: factories.delivery(),
    lambda of, by: factories.billing_report(),
])  # fmt: skip
def test_a_used_row_of_the_new_address_stays_and_the_command_says_what_to_do(
    row: CarrierAccount, quill: Sender, alice: User, make: Callable[[Sender, User], object]
) -> None:
    new = gateway.current_account()
    make(quill, alice)
    with pytest.raises(CommandError, match=r"Nothing was changed.*OLDER_CARRIERS.*Resolve"):
        carrier_moved()
    assert gateway.current_account() == new
    row.refresh_from_db()
    assert row.name.endswith(FORMER)
    assert not Audit.objects.exists()


def test_an_unknown_address_is_refused_with_a_list_of_known_ones(row: CarrierAccount) -> None:
    with pytest.raises(CommandError, match=f"There is no .* at https://typo.example. Known accounts: {row}"):
        carrier_moved(former="https://typo.example")


@pytest.mark.parametrize("former", [PRESENT, "https://older.example/api"])
def test_an_account_still_in_the_settings_is_never_moved(row: CarrierAccount, settings: Any, former: str) -> None:
    older.named(settings, ACCOUNT=settings.CARRIER_ACCOUNT)
    before = set(CarrierAccount.objects.values_list("pk", "fingerprint"))
    with pytest.raises(CommandError, match=r"Nothing was changed. CARRIER(_OLD)?_BASE_URL is still"):
        carrier_moved(former=former)
    assert set(CarrierAccount.objects.values_list("pk", "fingerprint")) == before


def test_the_refusal_says_what_else_can_be_done(row: CarrierAccount, settings: Any) -> None:
    older.named(settings, ACCOUNT=settings.CARRIER_ACCOUNT)
    with pytest.raises(CommandError, match=r"Remove that account from the settings, or keep it there\.$"):
        carrier_moved(former=PRESENT)
