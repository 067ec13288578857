"""People sign on at the partner's real OpenID provider: who gets in, in which role, and who doesn't."""

from collections.abc import Callable
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from allauth.socialaccount.models import SocialAccount, SocialToken
from django.utils import timezone

from shipping_portal.accounts.models import Audit, Membership, Sender, Session, User
from shipping_portal.accounts.teams import team
from tests import factories
from tests.sign_on.partner import MIA, Partner, Person

pytestmark = [pytest.mark.django_db, pytest.mark.processes, pytest.mark.xdist_group("sign on")]  # one provider
Somebody = Callable[..., Person]


@pytest.fixture
def marlow(db: None) -> Sender:
    sender: Sender = factories.sender(name="Marlow Candles", external_id="marlow")
    factories.member(sender, factories.user("owner@marlow.example"))
    factories.pickup_address(sender, email="owner@marlow.example")
    return sender


def audited() -> list[str]:
    return list(Audit.objects.order_by("pk").values_list("action", flat=True))


def roles(sender: Sender) -> dict[str, str]:
    return dict(sender.memberships.values_list("user__email", "role"))


# -- The first time, and the next ----------------------------------------------------------------


def test_the_first_sign_on_creates_the_person_and_the_membership(somebody: Somebody, marlow: Sender) -> None:
    mia = somebody()
    answer = mia.sign_on()
    assert (answer.status_code, answer["Location"]) == (302, "/today/")
    person = User.objects.get(email="mia@marlow.example")
    assert (person.name, person.is_staff, roles(marlow)[person.email]) == ("Mia Marlow", False, "owner")
    assert EmailAddress.objects.filter(user=person, verified=True, primary=True).count() == 1
    assert mia.page("/today/").status_code == 200
    assert audited()[-3:] == ["joined by sign-on", "person made by sign-on", "logged in"]


def test_only_a_digest_of_the_issuers_reply_is_kept(somebody: Somebody, marlow: Sender) -> None:
    somebody().sign_on()
    account = SocialAccount.objects.get()
    assert (len(account.uid), account.extra_data, SocialToken.objects.count()) == (64, {}, 0)
    kept = str([row.get_decoded() for row in Session.objects.all()])
    assert "eyJ" not in kept
    assert "mia" not in account.uid


def test_the_second_sign_on_is_the_same_person_and_changes_nothing(somebody: Somebody, marlow: Sender) -> None:
    mia = somebody()
    mia.sign_on()
    before = [list(model.objects.values()) for model in (Membership, EmailAddress)]
    again = Person(mia.partner)
    assert again.sign_on()["Location"] == "/today/"
    assert [list(model.objects.values()) for model in (Membership, EmailAddress)] == before
    assert SocialAccount.objects.count() == 1


def test_the_same_subject_at_another_issuer_is_somebody_else(somebody: Somebody, marlow: Sender, settings: Any) -> None:
    somebody().sign_on()
    SocialAccount.objects.update(uid="0" * 64)  # as if it came from another one
    answer = somebody().sign_on()
    assert answer.status_code == 403
    assert "belongs to another login" in answer.content.decode()


def test_the_requested_page_is_opened(somebody: Somebody, marlow: Sender) -> None:
    assert somebody().sign_on("/accounts/sso/login/?next=/parcels/")["Location"] == "/parcels/"


@pytest.mark.parametrize(
    "wanted", ["https://evil.example/", "//evil.example/", "/\\evil.example", "javascript:alert(1)", "/a" * 400]
)
def test_another_site_is_never_opened(somebody: Somebody, marlow: Sender, wanted: str) -> None:
    mia = somebody()
    answer = mia.portal.get("/accounts/sso/login/", {"next": wanted})
    assert mia.portal.get(mia.go_there(answer["Location"]))["Location"] == "/today/"


# -- Whose address it is -------------------------------------------------------------------------


@pytest.mark.parametrize("said", [False, "false", None, 0, "yes"])
def test_an_unverified_address_is_refused_and_the_page_says_what_to_do(
    somebody: Somebody, marlow: Sender, said: Any
) -> None:
    mia = somebody(email_verified=said)
    answer = mia.sign_on()
    assert answer.status_code == 403
    assert "Saltbush hasn't confirmed that mia@marlow.example is yours" in answer.content.decode().replace(
        "&#x27;", "'"
    )
    assert not User.objects.filter(email="mia@marlow.example").exists()
    assert not mia.is_logged_in()


def test_a_setting_can_trust_an_issuer_that_does_not_verify_addresses(
    somebody: Somebody, marlow: Sender, settings: Any
) -> None:
    settings.SSO_TRUSTS_EMAILS = True
    assert somebody("ann", email="ann@marlow.example", email_verified=None).sign_on().status_code == 302
    assert somebody("bea", email="bea@marlow.example", email_verified=False).sign_on().status_code == 403


def test_nobody_without_an_address_gets_in(somebody: Somebody, marlow: Sender) -> None:
    assert somebody(email=None).sign_on().status_code == 403
    assert User.objects.count() == 1


def test_a_local_account_with_the_same_verified_address_is_linked(somebody: Somebody, marlow: Sender) -> None:
    local = factories.user("mia@marlow.example")
    factories.member(marlow, local, role="viewer")
    assert somebody().sign_on()["Location"] == "/today/"
    assert SocialAccount.objects.get().user == local
    assert roles(marlow)["mia@marlow.example"] == "owner"  # as the claim says
    assert "sign-on linked" in audited()


def test_an_unconfirmed_sign_up_with_the_address_takes_nothing_over(somebody: Somebody, marlow: Sender) -> None:
    thief = User.objects.create_user("mia@marlow.example", "a password of the thief")
    EmailAddress.objects.create(user=thief, email=thief.email, verified=False, primary=True)
    assert somebody().sign_on().status_code == 302
    thief.refresh_from_db()
    assert not thief.is_active
    assert SocialAccount.objects.get().user != thief


@pytest.mark.parametrize("name", ["mi\N{KELVIN SIGN}e", "m\N{LATIN SMALL LETTER DOTLESS I}ke"], ids=ascii)
def test_an_address_with_a_letter_that_changes_with_its_case_takes_over_no_local_account(
    somebody: Somebody, marlow: Sender, name: str
) -> None:
    """The Kelvin sign in lower case is a k; and PostgreSQL finds mike for m\u0131ke, as both are MIKE."""
    factories.member(marlow, factories.user("mike@marlow.example"), role="owner")
    eve = somebody("eve", email=f"{name}@marlow.example")
    answer = eve.sign_on()
    assert (answer.status_code, eve.is_logged_in()) == (403, False)
    assert "in plain letters" in answer.content.decode()
    assert not SocialAccount.objects.exists()


def test_an_unverified_address_takes_over_no_local_account(somebody: Somebody, marlow: Sender) -> None:
    local = factories.user("mia@marlow.example")
    assert somebody(email_verified=False).sign_on().status_code == 403
    assert not SocialAccount.objects.filter(user=local).exists()


def test_a_second_person_at_the_issuer_does_not_get_the_first_ones_account(somebody: Somebody, marlow: Sender) -> None:
    somebody().sign_on()
    other = somebody("eve", email=MIA["email"])
    assert other.sign_on().status_code == 403
    assert not other.is_logged_in()


@pytest.mark.parametrize("email", ["mia@demo.example", "mia@m\N{CYRILLIC SMALL LETTER A}rlow.example", "mia"])
def test_a_shared_address_is_refused(somebody: Somebody, marlow: Sender, email: str) -> None:
    assert somebody(email=email).sign_on().status_code == 403
    assert User.objects.count() == 1


# -- Business and role ---------------------------------------------------------------------------


def test_an_unknown_business_is_refused_and_nothing_is_created(somebody: Somebody) -> None:
    answer = somebody().sign_on()
    assert answer.status_code == 403
    assert (User.objects.count(), Sender.objects.count(), SocialAccount.objects.count()) == (0, 0, 0)


def test_a_new_business_is_opened_by_its_first_owner(partner: Partner, somebody: Somebody, settings: Any) -> None:
    settings.SSO_OPENS_BUSINESSES, settings.SSO_COUNTRY = True, "AU"
    settings.SSO_BUSINESS_NAME_CLAIM = "org_name"
    packer = somebody("pat", email="pat@marlow.example", roles=["packer"])
    assert packer.sign_on().status_code == 403
    mia = somebody(org_name="Marlow Candles")
    assert mia.sign_on()["Location"] == "/start/"
    sender = Sender.objects.get()
    assert (sender.name, sender.external_id, sender.country) == ("Marlow Candles", "marlow", "AU")
    assert roles(sender) == {"mia@marlow.example": "owner"}
    assert packer.sign_on().status_code == 302
    assert roles(sender) == {"mia@marlow.example": "owner", "pat@marlow.example": "shipper"}


def test_a_new_businesss_owner_must_promise_to_send_no_dangerous_goods(somebody: Somebody, settings: Any) -> None:
    settings.SSO_OPENS_BUSINESSES, settings.SSO_COUNTRY = True, "AU"
    mia, pat = somebody(), somebody("pat", email="pat@marlow.example", roles=["packer"])
    mia.sign_on()
    pat.sign_on()
    assert mia.portal.get("/parcels/new/")["Location"] == "/promise/"
    assert mia.portal.post("/promise/", {}).status_code == 422
    pat.portal.post("/promise/", {"no_dangerous_goods": "on"})
    assert Sender.objects.get().dangerous_goods_acknowledged_at is None
    assert "An owner of marlow" in pat.portal.get("/promise/").content.decode()
    assert mia.portal.post("/promise/", {"no_dangerous_goods": "on"})["Location"] == "/start/"
    assert Sender.objects.get().dangerous_goods_acknowledged_at is not None
    assert pat.portal.get("/today/").status_code == 200
    assert audited().count("dangerous goods acknowledged") == 1


def test_a_new_business_waits_for_approval_like_any_new_account(somebody: Somebody, settings: Any) -> None:
    settings.SSO_OPENS_BUSINESSES, settings.SSO_COUNTRY, settings.SIGN_UP = True, "AU", "approve"
    somebody().sign_on()
    assert Sender.objects.get().is_waiting


@pytest.mark.parametrize(
    ("said", "role"), [(["packer"], "shipper"), ("accounts", "bookkeeper"), (["x", "packer", "admin"], "owner")]
)
def test_the_role_is_the_strongest_in_the_claim(somebody: Somebody, marlow: Sender, said: Any, role: str) -> None:
    somebody(roles=said).sign_on()
    assert roles(marlow)["mia@marlow.example"] == role


def test_the_role_follows_the_claim_at_each_sign_on(somebody: Somebody, marlow: Sender) -> None:
    somebody().sign_on()
    somebody(roles=["accounts"]).sign_on()
    assert roles(marlow)["mia@marlow.example"] == "bookkeeper"
    assert Audit.objects.get(action="role changed").reason == "owner → bookkeeper"


def test_nobody_without_a_role_gets_in(somebody: Somebody, marlow: Sender, settings: Any) -> None:
    assert somebody(roles=["cook"]).sign_on().status_code == 403
    assert "mia@marlow.example" not in roles(marlow)
    settings.SSO_DEFAULT_ROLE = "viewer"
    assert somebody(roles=["cook"]).sign_on().status_code == 302
    assert roles(marlow)["mia@marlow.example"] == "viewer"


def test_the_last_owner_stays_one_and_reads_why(somebody: Somebody, marlow: Sender) -> None:
    somebody().sign_on()
    marlow.memberships.filter(user__email="owner@marlow.example").delete()
    answer = somebody(roles=["packer"]).sign_on()
    assert answer.status_code == 403
    assert "Let another owner log in first" in answer.content.decode()
    assert roles(marlow) == {"mia@marlow.example": "owner"}


def test_only_an_operator_moves_a_person_to_another_business(somebody: Somebody, marlow: Sender) -> None:
    bolts = factories.sender(name="Bob's Bolts", external_id="bolts")
    somebody().sign_on()
    moved = somebody(org="bolts")
    assert moved.sign_on().status_code == 403
    assert not moved.is_logged_in()
    assert roles(bolts) == {}
    assert "sign-on refused" in audited()


def test_a_suspended_account_opens_with_a_notice(somebody: Somebody, marlow: Sender) -> None:
    Sender.objects.filter(pk=marlow.pk).update(
        suspended_at=timezone.now(), suspension="terms", suspension_text="Unpaid."
    )
    mia = somebody()
    mia.sign_on()
    assert "Unpaid." in mia.page("/today/").content.decode()


def test_nobody_new_joins_a_closed_account(somebody: Somebody, marlow: Sender) -> None:
    now = timezone.now()
    Sender.objects.filter(pk=marlow.pk).update(suspended_at=now, suspension="closed", closed_at=now)
    assert somebody().sign_on().status_code == 403


def test_a_person_removed_by_an_owner_stays_out_until_invited(somebody: Somebody, marlow: Sender) -> None:
    mia = somebody()
    mia.sign_on()
    owner = User.objects.get(email="owner@marlow.example")
    team.remove_member(marlow.memberships.get(user__email="mia@marlow.example"), by=owner, now=timezone.now())
    back = Person(mia.partner)
    assert back.sign_on()["Location"] == "/help/no-account/"
    assert "mia@marlow.example" not in roles(marlow)
    assert back.portal.get("/parcels/").status_code == 404
    team.invite_person(marlow, "mia@marlow.example", "viewer", by=owner, now=timezone.now())
    assert back.portal.get("/today/").status_code == 404


def test_a_person_removed_before_their_first_sign_on_stays_out(somebody: Somebody, marlow: Sender) -> None:
    local, owner = factories.user("mia@marlow.example"), User.objects.get(email="owner@marlow.example")
    team.remove_member(factories.member(marlow, local, role="viewer"), by=owner, now=timezone.now())
    mia = somebody()
    assert mia.sign_on()["Location"] == "/help/no-account/"
    assert SocialAccount.objects.get().user == local
    assert "mia@marlow.example" not in roles(marlow)


def test_a_disabled_login_stays_disabled(somebody: Somebody, marlow: Sender) -> None:
    mia = somebody()
    mia.sign_on()
    User.objects.filter(email="mia@marlow.example").update(is_active=False)
    back = somebody(roles=["packer"])
    assert back.sign_on()["Location"] == "/accounts/inactive/"
    assert not back.is_logged_in()
    assert roles(marlow)["mia@marlow.example"] == "owner"
