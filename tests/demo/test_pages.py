"""The demo's bar and mail: only in the demo and only for this machine. The bar controls only the carrier."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core import mail
from django.test import Client

from shipping_portal.accounts.demo import operator_code
from shipping_portal.accounts.models import User
from shipping_portal.billing.models import BillingReport
from tests.sandbox_carrier import SandboxCarrier

pytestmark = pytest.mark.django_db
ACTS = ("driver-comes", "driver-misses", "drop-off", "lose-the-reply", "bill-the-week")
Visit = Callable[[User], Client]


@pytest.fixture
def demo(settings: Any, tmp_path: Path) -> None:
    settings.DEMO = settings.DEMO_BAR = True
    settings.EMAIL_BACKEND = "django.core.mail.backends.filebased.EmailBackend"
    settings.EMAIL_FILE_PATH = str(tmp_path / "mail")


def test_outside_the_demo_there_is_no_bar_and_no_mail(alice: User, visit: Visit) -> None:
    page = visit(alice)
    assert page.get("/demo/mail/").status_code == 404
    assert [page.post(f"/demo/{name}/").status_code for name in ACTS] == [404] * len(ACTS)
    assert "Driver comes" not in page.get("/today/").content.decode()


def test_in_the_demo_only_this_machine_has_the_bar_and_the_mail(demo: None) -> None:
    assert Client().get("/demo/mail/").status_code == 200
    assert Client(REMOTE_ADDR="192.0.2.7").get("/demo/mail/").status_code == 404
    assert Client(REMOTE_ADDR="192.0.2.7").post("/demo/driver-comes/").status_code == 404
    assert Client(enforce_csrf_checks=True).post("/demo/driver-comes/").status_code == 403


def log_in_page(**more: str) -> str:
    return Client(**more).get("/accounts/login/").content.decode()  # type: ignore[arg-type]


def test_the_demos_login_page_offers_its_accounts_only_to_this_machine(demo: None, settings: Any) -> None:
    assert log_in_page().count("Log in as ") == 2
    assert "Log in as " not in log_in_page(REMOTE_ADDR="192.0.2.7")
    settings.DEMO = False
    assert "Log in as " not in log_in_page()


def test_one_click_logs_in_to_each_account(demo: None, people: None, settings: Any) -> None:
    found = re.findall(
        r'name="login" value="(.+?)">\s*<input type="hidden" name="password" value="(.+?)"', log_in_page()
    )
    sender, operator = [Client(), Client()]
    for client, (email, password) in zip((sender, operator), found, strict=True):
        assert client.post("/accounts/login/", {"login": email, "password": password}).status_code == 302
    assert sender.get("/today/").status_code == 200
    assert f"<strong>{operator_code()}</strong>" in operator.get("/accounts/2fa/authenticate/").content.decode()
    settings.DEMO = False
    assert "code right now" not in operator.get("/accounts/2fa/authenticate/").content.decode()


def test_mail_is_shown_as_text_with_its_links_and_the_newest_first(demo: None) -> None:
    for number in (1, 2):
        mail.send_mail(f"Mail {number}", f"Open http://testserver/go/{number}/ <b>now</b>", None, ["zoe@example.com"])
    shown = Client().get("/demo/mail/").content.decode()
    assert shown.index("Mail 2") < shown.index("Mail 1")
    assert 'href="http://testserver/go/2/">' in shown
    assert "&lt;b&gt;now" in shown


def test_the_bar_moves_the_carrier_and_leads_back(demo: None, loaded: Path, settings: Any, visit: Visit) -> None:
    page = visit(User.objects.get(email="mia@demo.example"))
    with SandboxCarrier(loaded, key=settings.CARRIER_KEY) as carrier:
        settings.CARRIER_BASE_URL = carrier.url
        assert "Driver comes" in page.get("/today/").content.decode()
        before = len(carrier.ledger("scan"))
        waiting = carrier.running.app.depot.by_id.values()
        count = sum(one.is_pickup and one.is_cancellable for one in waiting)
        assert page.post("/demo/driver-misses/", {"back": "/parcels/"})["Location"] == "/parcels/"
        assert page.post("/demo/driver-comes/", {"back": "https://elsewhere.example/"})["Location"] == "/"
        seen = [line["scan"]["progress"] for line in carrier.ledger("scan")[before:]]
        assert seen == ["pickup_missed"] * count + ["collected"] * count
        assert count
        before = len(carrier.ledger("scan"))
        page.post("/demo/drop-off/")
        assert [line["scan"]["progress"] for line in carrier.ledger("scan")[before:]] == ["dropped_off"]
        page.post("/demo/lose-the-reply/")
        assert carrier.running.app.troubles.pick("book") is not None
        page.post("/demo/bill-the-week/")
        assert BillingReport.objects.filter(state="posted").count() == 5
