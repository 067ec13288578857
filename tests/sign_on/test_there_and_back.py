"""To the partner's real OpenID provider and back: what an attacker may change, what may fail, and logging out."""

import datetime as dt
import re
import secrets
from collections.abc import Callable
from typing import Any

import pytest
import time_machine
from allauth.account.adapter import get_adapter
from django.conf import settings as configured
from django.core.exceptions import ValidationError
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from shipping_portal.accounts import access
from shipping_portal.accounts.login import break_glass
from shipping_portal.accounts.models import Audit, Membership, Sender, User
from shipping_portal.accounts.teams import team
from tests import factories
from tests.accounts.forms import MIA as TYPED
from tests.accounts.forms import code
from tests.sign_on.partner import CLIENT, SITE, Partner, Person, query_of, with_query

pytestmark = [pytest.mark.django_db, pytest.mark.processes, pytest.mark.xdist_group("sign on")]  # one provider
Somebody = Callable[..., Person]
COOKIE = configured.SESSION_COOKIE_NAME


@pytest.fixture
def marlow(db: None) -> Sender:
    sender: Sender = factories.sender(name="Marlow Candles", external_id="marlow")
    factories.member(sender, factories.user("owner@marlow.example"))
    factories.pickup_address(sender, email="owner@marlow.example")
    return sender


@pytest.fixture
def mia(somebody: Somebody, marlow: Sender) -> Person:
    return somebody()


def is_refused(person: Person, back: str) -> bool:
    """Return whether the portal shows its error page and logs nobody in."""
    answer = person.portal.get(back)
    assert "/accounts/sso/login/" in answer.content.decode()  # try again
    return answer.status_code == 400 and not person.is_logged_in()


# -- What only the browser that began may bring back ---------------------------------------------


def test_the_request_carries_state_nonce_and_a_challenge(mia: Person) -> None:
    asked = query_of(mia.begin())
    assert asked["redirect_uri"] == CLIENT["callback"]
    assert (asked["response_type"], asked["code_challenge_method"]) == ("code", "S256")
    assert min(len(asked[name]) for name in ("nonce", "code_challenge")) >= 32
    assert set(asked["scope"].replace("+", " ").split()) == {"openid", "profile", "email"}
    assert "secret" not in str(asked)


def test_another_state_is_refused(mia: Person) -> None:
    back = mia.go_there(mia.begin())
    assert is_refused(mia, with_query(back, state="another"))
    assert is_refused(mia, re.sub(r"&?state=[^&]*", "", back))


def test_a_reply_in_another_browser_is_refused(mia: Person, somebody: Somebody) -> None:
    """Otherwise an attacker could log somebody in to the attacker's account, or use a stolen code."""
    back = mia.go_there(mia.begin())
    assert is_refused(somebody("eve", email="eve@marlow.example"), back)


def test_a_reply_works_once(mia: Person) -> None:
    back = mia.go_there(mia.begin())
    assert mia.portal.get(back).status_code == 302
    mia.portal.post("/accounts/logout/")
    assert is_refused(mia, back)


def test_another_nonce_is_refused(mia: Person) -> None:
    assert is_refused(mia, mia.go_there(with_query(mia.begin(), nonce="a-nonce-of-another-login-0123456789")))


def test_a_code_for_another_challenge_is_refused(mia: Person) -> None:
    """The provider refuses it: the verifier proves that the code went back to the browser that asked for it."""
    stolen = with_query(mia.begin(), code_challenge="E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM")
    assert is_refused(mia, mia.go_there(stolen))


def test_a_secret_that_ended_is_nothing_the_person_can_change(mia: Person, settings: Any, caplog: Any) -> None:
    """Nor does it help to try again. The log names the cause for the operator."""
    settings.SSO_CLIENT_SECRET = "another-secret-0123456789abcdef"
    answer = mia.portal.get(mia.go_there(mia.begin()))
    assert (answer.status_code, mia.is_logged_in()) == (503, False)
    assert "SSO_CLIENT_SECRET" in caplog.text


def test_a_token_for_another_client_is_refused(mia: Person, settings: Any) -> None:
    back = mia.go_there(mia.begin())
    settings.SSO_CLIENT_ID = "another"
    assert not mia.portal.get(back).wsgi_request.user.is_authenticated
    assert not mia.is_logged_in()


def test_the_log_says_why_a_token_was_refused(mia: Person, caplog: Any) -> None:
    mia.portal.get(mia.go_there(with_query(mia.begin(), nonce="a-nonce-of-another-login-0123456789")))
    assert "the nonce is another one" in caplog.text


def test_the_page_says_if_a_login_was_cancelled(mia: Person) -> None:
    state = query_of(mia.begin())["state"]
    answer = mia.portal.get(f"/accounts/sso/callback/?error=access_denied&state={state}")
    assert (answer.status_code, "The login was cancelled" in answer.content.decode()) == (400, True)


def test_eight_tabs_begun_at_once_stay_within_a_cookie(mia: Person) -> None:
    addresses = [mia.begin("/accounts/sso/login/?next=/" + secrets.token_hex(240)) for _ in range(8)]
    assert len(mia.portal.cookies[COOKIE].value) < 3500
    assert mia.portal.get(mia.go_there(addresses[-1])).status_code == 302


def test_the_earlier_session_ends_at_login(mia: Person) -> None:
    """An attacker who planted a session in somebody's browser isn't logged in with it."""
    back = mia.go_there(mia.begin())
    planted = mia.portal.cookies[COOKIE].value
    mia.portal.get(back)
    assert mia.portal.cookies[COOKIE].value != planted
    thief = Client(headers={"cookie": f"{COOKIE}={planted}"})
    assert thief.get("/today/")["Location"].startswith("/accounts/login/")


def test_signing_on_as_somebody_else_ends_the_first_ones_session(mia: Person, somebody: Somebody) -> None:
    mia.sign_on()
    mia.portal.cookies.pop(COOKIE)
    other = somebody("pat", email="pat@marlow.example", roles=["packer"])
    other.portal = mia.portal
    other.sign_on()
    assert "pat@marlow.example" in str(User.objects.get(pk=other.portal.session["_auth_user_id"]))


# -- When the issuer is away ---------------------------------------------------------------------


@pytest.mark.usefixtures("stopped")
def test_an_unreachable_issuer_gets_an_error_page(db: None) -> None:
    for address in ("/accounts/sso/login/", "/accounts/sso/login/"):
        answer = Client().get(address)
        assert answer.status_code == 503
        assert "log in with Saltbush right now" in answer.content.decode()


def test_an_issuer_lost_before_the_code_exchange_gets_an_error_page(
    mia: Person, partner: Partner, settings: Any
) -> None:
    back = mia.go_there(mia.begin())
    settings.SSO_ISSUER = "http://127.0.0.1:9/o"
    answer = mia.portal.get(back)
    assert (answer.status_code, mia.is_logged_in()) == (503, False)


def test_without_sign_on_its_pages_do_not_exist(db: None) -> None:
    for name in ("login", "again", "callback", "leaving"):
        answer = Client().get(f"/accounts/sso/{name}/")
        assert answer.status_code == 404 or answer["Location"].startswith("/accounts/login/"), name
    assert "sso" not in Client().get("/accounts/login/").content.decode()


def test_too_many_tries_from_one_address_are_slowed_down(mia: Person, settings: Any) -> None:
    settings.ACCOUNT_RATE_LIMITS = {"login": "2/m/ip"}
    assert [Client().get("/accounts/sso/callback/").status_code for _ in range(3)] == [400, 400, 429]


# -- Logging out ---------------------------------------------------------------------------------


def test_logging_out_ends_both_logins(mia: Person) -> None:
    mia.sign_on()
    leaving = mia.portal.post("/accounts/logout/")
    assert leaving["Location"] == "/accounts/sso/leaving/"
    assert not mia.is_logged_in()
    page = mia.portal.get(leaving["Location"]).content.decode()
    address = re.search(r'content="0; url=([^"]+)"', page)[1].replace("&amp;", "&")  # type: ignore[index]
    assert query_of(address) == {"client_id": "portal", "post_logout_redirect_uri": CLIENT["logged_out"]}
    assert "eyJ" not in address
    assert mia.there.get(f"{mia.partner.url}/who/").text == "mia"
    form = dict(re.findall(r'name="(\w+)" value="([^"]*)"', mia.there.get(address).text))
    done = mia.there.post(address, {**form, "allow": "Log out"}, allow_redirects=False)
    assert done.headers["Location"] == CLIENT["logged_out"]
    assert mia.there.get(f"{mia.partner.url}/who/").text == ""
    assert "You're logged out" in mia.portal.get(done.headers["Location"].removeprefix(SITE)).content.decode()


def test_an_issuer_without_a_log_out_is_named(mia: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    mia.sign_on()
    monkeypatch.setattr("shipping_portal.accounts.login.openid.logout_address", lambda: "")
    mia.portal.post("/accounts/logout/")
    page = mia.page("/accounts/sso/leaving/")
    assert "You may still be logged in at Saltbush" in page.content.decode()


def test_a_password_login_ends_only_here(mia: Person) -> None:
    person = factories.user("pw@marlow.example")
    person.set_password(factories.PASSWORD)
    person.save()
    mia.portal.post("/accounts/login/", {"login": person.email, "password": factories.PASSWORD})
    assert mia.is_logged_in()
    assert mia.portal.post("/accounts/logout/")["Location"] == "/"


# -- Operators -----------------------------------------------------------------------------------


@pytest.fixture
def groups(db: None) -> None:
    call_command("operator_groups", verbosity=0)


@pytest.mark.usefixtures("groups")
def test_an_operator_signs_on_and_sets_up_a_second_factor(somebody: Somebody) -> None:
    sam = somebody("sam", email="sam@portal.example", org=None, roles=None, staff=["helpers"])
    assert sam.sign_on()["Location"] == "/admin/"
    person = User.objects.get(email="sam@portal.example")
    assert (person.is_staff, [group.name for group in person.groups.all()]) == (True, ["Support"])
    assert sam.page("/admin/").redirect_chain[-1][0].startswith("/accounts/reauthenticate/")
    assert Audit.objects.filter(action="operator groups set").count() == 1


@pytest.mark.usefixtures("groups")
def test_our_own_second_factor_is_kept(somebody: Somebody) -> None:
    person = factories.user("sam@portal.example", is_staff=True)
    secret = factories.second_factor(person)
    sam = somebody("sam", email="sam@portal.example", org=None, roles=None, staff=["helpers"], acr="mfa")
    assert sam.sign_on()["Location"] == "/accounts/2fa/authenticate/"
    assert sam.portal.get("/admin/").status_code == 302
    assert "eyJ" not in str(sam.portal.session.load())  # no token waits with the login
    assert sam.portal.post("/accounts/2fa/authenticate/", {"code": code(secret)})["Location"] == "/admin/"
    assert sam.portal.get("/admin/").status_code == 200


@pytest.mark.usefixtures("groups")
@pytest.mark.parametrize(
    ("claims", "status"),
    [({"acr": "mfa"}, 200), ({"amr": ["pwd", "hwk"]}, 200), ({"acr": "pwd"}, 302), ({"amr": ["pwd"]}, 302), ({}, 302)],
)
def test_the_issuers_second_factor_counts_if_a_setting_names_it(
    somebody: Somebody, settings: Any, claims: Any, status: int
) -> None:
    settings.SSO_SECOND_FACTORS = ["mfa", "hwk"]
    sam = somebody("sam", email="sam@portal.example", org=None, roles=None, staff=["helpers"], **claims)
    sam.sign_on()
    assert sam.portal.get("/admin/").status_code == status
    settings.SSO_SECOND_FACTORS = []
    assert sam.portal.get("/admin/").status_code == 302


@pytest.mark.usefixtures("groups")
def test_the_issuers_second_factor_counts_only_for_that_login(somebody: Somebody, settings: Any) -> None:
    settings.SSO_SECOND_FACTORS = ["mfa"]
    claims = {"email": "sam@portal.example", "org": None, "roles": None, "staff": ["helpers"]}
    sam = somebody("sam", **claims, acr="mfa")
    sam.sign_on()
    person = User.objects.get(email="sam@portal.example")
    person.set_password(factories.PASSWORD)
    person.save()
    browser = Client()
    browser.post("/accounts/login/", {"login": person.email, "password": factories.PASSWORD})
    assert "_auth_user_id" in browser.session
    assert browser.get("/admin/").status_code == 302
    assert not access.require_second_factor(person)


@pytest.mark.usefixtures("groups")
def test_a_former_operator_loses_access_at_the_next_sign_on(somebody: Somebody) -> None:
    claims = {"email": "sam@portal.example", "org": None, "roles": None}
    somebody("sam", **claims, staff=["helpers"]).sign_on()
    somebody("sam", **claims, staff=["chiefs"]).sign_on()
    person = User.objects.get(email="sam@portal.example")
    assert [group.name for group in person.groups.all()] == ["Ops lead"]
    assert somebody("sam", **claims).sign_on()["Location"] == "/help/no-account/"
    person.refresh_from_db()
    assert (person.is_staff, person.groups.count()) == (False, 0)


@pytest.mark.usefixtures("groups")
def test_a_senders_member_does_not_become_an_operator(somebody: Somebody, mia: Person) -> None:
    mia.sign_on()
    assert somebody(staff=["helpers"]).sign_on().status_code == 403
    assert not User.objects.get(email="mia@marlow.example").is_staff


def test_no_claim_takes_over_a_superuser(somebody: Somebody, marlow: Sender) -> None:
    factories.user("root@marlow.example", is_staff=True, is_superuser=True)
    assert somebody("root", email="root@marlow.example").sign_on().status_code == 403


# -- Who it is, once more ------------------------------------------------------------------------


@pytest.mark.parametrize("change", [{"is_superuser": True, "is_staff": True}, {"is_staff": True}])
def test_a_person_who_became_an_operator_here_logs_in_here(
    somebody: Somebody, marlow: Sender, settings: Any, change: dict[str, bool]
) -> None:
    settings.SSO_STAFF_CLAIM = ""
    somebody().sign_on()
    Membership.objects.filter(user__email="mia@marlow.example").delete()
    User.objects.filter(email="mia@marlow.example").update(**change)
    again = somebody()
    answer = again.sign_on()
    assert (answer.status_code, again.is_logged_in()) == (403, False)
    assert "logs in with its own password" in answer.content.decode()


def test_sensitive_actions_ask_for_the_login_at_the_issuer(mia: Person, marlow: Sender) -> None:
    mia.sign_on()
    asked = mia.portal.post("/settings/team/", {"email": "new@marlow.example", "role": "viewer"})
    assert asked["Location"].startswith("/accounts/reauthenticate/")
    page = mia.portal.get(asked["Location"]).content.decode()
    address = re.search(r'href="(/accounts/sso/again/[^"]*)"', page)[1]  # type: ignore[index]
    there = mia.begin(address)
    assert (query_of(there)["prompt"], query_of(there)["max_age"]) == ("login", "0")
    assert not marlow.invitations.exists()
    answer = mia.portal.get(mia.go_there(there))
    assert answer["Location"] == "/settings/team/"
    assert marlow.invitations.get().email == "new@marlow.example"  # what was typed is done


def test_somebody_elses_login_at_the_issuer_proves_nothing(mia: Person, somebody: Somebody, marlow: Sender) -> None:
    mia.sign_on()
    eve = somebody("eve", email="eve@marlow.example", roles=["packer"])
    eve.sign_on()
    mia.there = eve.there
    mia.user = "eve"
    back = mia.go_there(mia.begin("/accounts/sso/again/?next=/settings/team/"))
    assert mia.portal.get(back).status_code == 400
    assert mia.portal.post("/settings/team/", {})["Location"].startswith("/accounts/reauthenticate/")


def test_an_old_login_at_the_issuer_proves_nothing(mia: Person, marlow: Sender) -> None:
    """An issuer that ignores `prompt` and doesn't ask again leaves the time of the login unchanged."""
    mia.sign_on()
    state = mia.begin("/accounts/sso/again/?next=/settings/team/")
    session = mia.portal.session
    for kept in session["socialaccount_states"].values():
        kept[0]["again"] += 3600
    session.save()
    assert mia.portal.get(mia.go_there(state)).status_code == 400


# -- Without local passwords ---------------------------------------------------------------------


@pytest.fixture
def no_passwords(partner: Partner, settings: Any) -> None:
    settings.LOCAL_PASSWORDS = False


@pytest.mark.usefixtures("no_passwords")
def test_the_log_in_page_leads_straight_to_the_issuer(mia: Person) -> None:
    page = Client().get("/accounts/login/?next=/parcels/").content.decode()
    address = "/accounts/sso/login/?next=%2Fparcels%2F"
    assert f'http-equiv="refresh" content="0; url={address}"' in page
    assert f'href="{address}"' in page
    assert 'type="password"' not in page
    assert mia.sign_on(address)["Location"] == "/parcels/"


@pytest.mark.usefixtures("no_passwords")
def test_nobody_signs_up_logs_in_or_resets_a_password_here(marlow: Sender, rf: Any) -> None:
    person = User.objects.get(email="owner@marlow.example")
    person.set_password(factories.PASSWORD)
    person.save()
    browser = Client()
    answer = browser.post("/accounts/login/", {"login": person.email, "password": factories.PASSWORD})
    assert (answer.status_code, "_auth_user_id" in browser.session) == (403, False)
    with pytest.raises(ValidationError):  # whichever page would ask
        get_adapter().authenticate(rf.post("/"), email=person.email, password=factories.PASSWORD)
    browser.post("/accounts/signup/", TYPED)
    assert not User.objects.filter(email=TYPED["email"]).exists()
    for page in ("reset/", "reset/done/", "reset/key/1-set-password/", "change/", "set/"):
        assert browser.get(f"/accounts/password/{page}").status_code in {404, 302}, page
        assert browser.post(f"/accounts/password/{page}").status_code in {404, 302}, page


@pytest.mark.usefixtures("no_passwords")
def test_an_invitation_is_accepted_after_signing_on(somebody: Somebody, marlow: Sender) -> None:
    owner, now = User.objects.get(email="owner@marlow.example"), timezone.now()
    team.invite_person(marlow, "ann@elsewhere.example", "shipper", by=owner, now=now)
    ann = somebody("ann", email="ann@elsewhere.example", org=None, roles=None)
    assert ann.sign_on()["Location"] == "/help/no-account/"


@pytest.mark.usefixtures("no_passwords")
def test_a_superuser_can_use_a_break_glass_link(capsys: pytest.CaptureFixture[str]) -> None:
    root = factories.user("root@portal.example", is_staff=True, is_superuser=True)
    secret = factories.second_factor(root)
    call_command("break_glass", "Root@portal.example")
    link = capsys.readouterr().out.strip().removeprefix(SITE)
    browser = Client()
    assert browser.get(link).status_code == 200
    assert "_auth_user_id" not in browser.session  # only the button logs in
    assert browser.post(link)["Location"] == "/accounts/2fa/authenticate/"
    browser.post("/accounts/2fa/authenticate/", {"code": code(secret)})
    assert browser.get("/admin/").status_code == 200
    assert Client().post(link).status_code == 410
    assert list(Audit.objects.order_by("pk").values_list("action", flat=True))[:2] == [
        "break-glass link made",
        "break-glass login",
    ]


def test_a_break_glass_link_is_only_for_active_superusers_and_lasts_ten_minutes(marlow: Sender) -> None:
    root = factories.user("root@portal.example", is_staff=True, is_superuser=True)
    link = break_glass.make_link(root).removeprefix(SITE)
    assert Client().get(link[:-2] + "/").status_code == 410
    for needed in ("is_superuser", "is_active"):
        User.objects.filter(pk=root.pk).update(**{needed: False})
        assert Client().get(link).status_code == 410
        User.objects.filter(pk=root.pk).update(**{needed: True})
    assert Client().get(link).status_code == 200
    with time_machine.travel(timezone.now() + dt.timedelta(seconds=601)):
        assert Client().get(link).status_code == 410


# -- What is written down ------------------------------------------------------------------------


def test_no_log_contains_a_secret_a_code_or_a_token(
    mia: Person, settings: Any, caplog: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level("DEBUG")
    back = mia.go_there(mia.begin())
    mia.portal.get(back)
    mia.portal.get(back)  # refused
    written = caplog.text + "".join(capfd.readouterr())
    for secret in (CLIENT["secret"], query_of(back)["code"], query_of(back)["state"], "eyJ", "mia@marlow"):
        assert secret not in written, secret
