"""The demo's users: available under DEMO=1, refused everywhere else."""

import json
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from shipping_portal.accounts import demo
from shipping_portal.accounts.address import places
from shipping_portal.accounts.models import LocalityList, Membership, User

pytestmark = pytest.mark.django_db


def test_without_demo_the_commands_refuse_and_create_nothing() -> None:
    for command in ("demo", "totp"):
        with pytest.raises(CommandError, match="DEMO=1"):
            call_command(command)
    assert not User.objects.exists()


def test_the_demo_can_be_created_repeatedly(settings: Any, capsys: Any) -> None:
    settings.DEMO = True
    call_command("demo", "--json")
    people = json.loads(capsys.readouterr().out)
    assert set(people) == {"sender", "operator"}
    User.objects.get(email=people["sender"]["email"]).set_password("changed")
    call_command("demo")
    assert User.objects.count() == 2
    assert Membership.objects.count() == 1
    assert LocalityList.objects.filter(is_active=True).count() == 3
    address = Membership.objects.get().sender.pickup_address()
    assert address is not None
    assert places.check_pair("AU", address.suburb, address.postcode).place


def test_both_people_log_in_with_what_is_printed(settings: Any, capsys: Any) -> None:
    settings.DEMO = True
    call_command("demo", "--json")
    people = json.loads(capsys.readouterr().out)
    sender, operator = Client(), Client()
    fields = {who: {"login": one["email"], "password": one["password"]} for who, one in people.items()}
    assert sender.post("/accounts/login/", fields["sender"])["Location"] == "/today/"
    operator.post("/accounts/login/", fields["operator"])
    call_command("totp")
    code = capsys.readouterr().out.strip()
    assert operator.post("/accounts/2fa/authenticate/", {"code": code})["Location"] == "/admin/"


def test_the_demo_operators_code_follows_the_clock(settings: Any) -> None:
    settings.DEMO = True
    call_command("demo")
    assert demo.operator_code(now=0) == demo.operator_code(now=29)
    assert demo.operator_code(now=0) != demo.operator_code(now=30)


def test_before_the_demo_is_made_there_is_no_code(settings: Any) -> None:
    settings.DEMO = True
    with pytest.raises(CommandError, match="no demo operator yet"):
        call_command("totp")
