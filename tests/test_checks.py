"""What `manage.py check` says about an installation, each message by its id."""

from pathlib import Path
from typing import Any

import pytest

from shipping_portal.ops import checks, deploy_checks
from tests import factories, older

GOOD_SECRET = "carrier:b7f3c0de91a24486b1f0a35c77e2d9f8"
OTHER_SECRET = "carrier:c1e4a7720d9b4f35a86e13b5f0d2c948"


DATABASE = {
    "ENGINE": "django.db.backends.postgresql",
    "HOST": "postgres",
    "USER": "portal",
    "PASSWORD": "0a9f8b7c6d5e",
    "OPTIONS": {},
}
NAMED = 'reference = "carrier_reference"\nevent_reference = "acme_reference"\n'
LINKED = 'link = "signed"\nlink_page = "https://track.example/t/"\nlink_hosts = "track.example"\n'


@pytest.fixture
def production(settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The settings of a well configured installation."""
    file = tmp_path / "named.toml"
    file.write_text(NAMED + LINKED)
    settings.TESTING = settings.DEMO = False
    settings.CARRIER_BASE_URL = "https://carrier.example/api"
    settings.CARRIER_PARTNER_ID = "PRT-0001"
    settings.CARRIER_CONTACT = "ops@portal.example"
    settings.WEBHOOK_SECRETS = [GOOD_SECRET]
    settings.RESTORE_MARK_FILE = "/mark/stamp"
    settings.ERASED_FILE = "/mark/erased"
    settings.CARRIER_CONTRACT = str(file)
    settings.CARRIER_KEY, settings.CARRIER_ACCOUNT = "a-key", "an-account"
    settings.ALLOWED_HOSTS, settings.SITE_URL = ["portal.example"], "https://portal.example"
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.DEFAULT_FROM_EMAIL = "Portal <portal@portal.example>"
    settings.TRUSTED_PROXY_COUNT, settings.TIME_SCALE, settings.POLL_SECONDS = 1, 1.0, 3600.0
    settings.REDIS_URL = "redis://:a-password@redis:6379/0"
    settings.ENCRYPTION_KEYS = ["4d1f0c2b9a8e7f6d5c4b3a2918070605"]
    settings.METRICS_TOKEN, settings.ALERT_EMAILS = "5e1f0c2b9a8e7f6d5c4b3a2918070606", ["oncall@portal.example"]
    settings.ALERT_WEBHOOK_URL, settings.HEARTBEAT_URL = "https://1.1.1.1/a", "https://1.1.1.1/b"
    settings.ALERT_WEBHOOK_SECRET = "6f1f0c2b9a8e7f6d5c4b3a2918070607"
    settings.MAIN_DATABASE = DATABASE  # the tests' own stays as it is
    monkeypatch.setattr(deploy_checks, "default_database", lambda: settings.MAIN_DATABASE)
    return settings


@pytest.fixture
def two(production: Any) -> Any:
    """A well configured installation that still tracks an older account."""
    production.OLDER_CARRIERS = {"OLD": older.described(CONTRACT=production.CARRIER_CONTRACT)}
    return production


def messages() -> list[Any]:
    every = (
        checks.check_accounts,
        checks.check_accounts_apart,
        checks.check_second_account,
        checks.check_names_of_further_accounts,
        checks.check_settings,
        checks.check_reports_folder,
        deploy_checks.check_installation,
        deploy_checks.check_receivers_of_alerts,
        deploy_checks.check_accepted_risks,
        deploy_checks.check_alerts_reach_somebody,
        deploy_checks.check_no_demo_in_public,
    )
    seen = [message for check in every for message in check()]
    assert all(message.hint for message in seen)
    return seen


def found() -> list[str]:
    return [str(message.id) for message in messages()]


def test_a_well_configured_installation_has_no_messages(production: Any) -> None:
    assert found() == []


@pytest.mark.parametrize(
    ("setting", "value", "message"),
    [
        ("CARRIER_BASE_URL", "", "portal.E001"),
        ("CARRIER_BASE_URL", "http://carrier.example", "portal.E002"),
        ("CARRIER_BASE_URL", "https://user:pass@carrier.example", "portal.E002"),
        ("CARRIER_BASE_URL", "http://127.0.0.1:8100", "portal.E003"),
        ("CARRIER_BASE_URL", "https://localhost", "portal.E003"),
        ("CARRIER_BASE_URL", "https://127.0.0.2", "portal.E003"),
        ("CARRIER_CA_BUNDLE", "/nowhere/authority.pem", "portal.E050"),
        ("CARRIER_CA_BUNDLE", __file__, "portal.E050"),
        ("ALERT_CA_BUNDLE", "/nowhere/authority.pem", "portal.E050"),
        ("CARRIER_PROXY", "proxy.internal:3128", "portal.E051"),
        ("CARRIER_PROXY", "socks5://proxy.internal:1080", "portal.E051"),
        ("CARRIER_PARTNER_ID", "", "portal.E004"),
        ("CARRIER_CONTACT", "", "portal.W001"),
        ("CARRIER_CONTRACT", "/nowhere/contract.toml", "portal.E005"),
        ("CARRIER_CLIENT", "nowhere.Carrier", "portal.E018"),
        ("CARRIER_CLIENT", "shipping_portal.carrier.client.Contract", "portal.E018"),
        ("CARRIER_CLIENT", "shipping_portal.carrier.client.QUICK", "portal.E018"),
        ("CARRIER_CLIENT", "shipping_portal.carrier.easypost.EasyPost", "portal.E019"),
        ("WEBHOOK_SECRETS", [], "portal.E006"),
        ("RESTORE_MARK_FILE", "", "portal.W010"),
        ("ERASED_FILE", "", "portal.W011"),
        ("WEBHOOK_SECRETS", [GOOD_SECRET[:-1]], "portal.E007"),
        ("WEBHOOK_SECRETS", ["carrier:" + "a" * 36], "portal.E007"),
        ("ENCRYPTION_KEYS", [], "portal.E016"),
        ("ENCRYPTION_KEYS", ["short"], "portal.E016"),
        ("ALLOWED_HOSTS", [], "portal.E020"),
        ("ALLOWED_HOSTS", ["*"], "portal.E020"),
        ("SITE_URL", "http://portal.example", "portal.E021"),
        ("SITE_URL", "https://portal.example/shipping", "portal.E021"),
        ("EMAIL_BACKEND", "django.core.mail.backends.console.EmailBackend", "portal.E022"),
        ("EMAIL_BACKEND", "django.core.mail.backends.dummy.EmailBackend", "portal.E022"),
        ("DEFAULT_FROM_EMAIL", "Portal <portal@localhost>", "portal.E023"),
        ("CARRIER_KEY", "", "portal.E024"),
        ("CARRIER_ACCOUNT", "", "portal.E024"),
        ("TRUSTED_PROXY_COUNT", 0, "portal.E025"),
        ("TIME_SCALE", 0.1, "portal.E026"),
        ("POLL_SECONDS", 1.0, "portal.E027"),
        ("REDIS_URL", "redis://redis:6379/0", "portal.E028"),
        ("REDIS_URL", "redis://:password@redis.example:6379/0", "portal.E028"),
        ("MAIN_DATABASE", DATABASE | {"HOST": "db.example"}, "portal.E029"),
        ("MAIN_DATABASE", {"ENGINE": "django.db.backends.sqlite3"}, "portal.E030"),
        ("MAIN_DATABASE", DATABASE | {"PASSWORD": "portal"}, "portal.E031"),
        ("ACCEPTED_RISKS", ["portal.E020"], "portal.E032"),
        ("DEBUG", True, "portal.E033"),
        ("ALERT_WEBHOOK_URL", "http://alerts.example/a", "portal.E060"),
        ("ALERT_WEBHOOK_URL", "https://127.0.0.1/a", "portal.E060"),
        ("ALERT_WEBHOOK_URL", "https://2130706433/a", "portal.E060"),
        ("HEARTBEAT_URL", "alerts.example/b", "portal.E060"),
        ("HEARTBEAT_URL", "https://10.0.0.7/b", "portal.E060"),
        ("ALERT_WEBHOOK_SECRET", "", "portal.E061"),
        ("METRICS_TOKEN", "metrics", "portal.E062"),
        ("HEARTBEAT_URL", "", "portal.W030"),
        ("WEBHOOK_SECRETS", [GOOD_SECRET, "nothing-but-a-very-long-secret-0123456789"], "portal.E007"),
    ],
)
def test_each_problem_is_named(production: Any, setting: str, value: Any, message: str) -> None:
    setattr(production, setting, value)
    assert found() == [message]


def test_alerts_without_a_recipient_are_reported_and_one_way_is_enough(production: Any) -> None:
    production.ALERT_WEBHOOK_URL = ""
    assert found() == []
    production.ALERT_EMAILS = []
    assert found() == ["portal.W030"]
    assert "No one is alerted" in messages()[0].msg
    production.ALERT_WEBHOOK_URL = "https://1.1.1.1/a"
    assert found() == []


@pytest.mark.parametrize(
    ("setting", "value", "risk"),
    [
        ("TRUSTED_PROXY_COUNT", 0, "portal.E025"),
        ("MAIN_DATABASE", DATABASE | {"HOST": "db.example"}, "portal.E029"),
        ("MAIN_DATABASE", {"ENGINE": "django.db.backends.sqlite3"}, "portal.E030"),
    ],
)
def test_an_accepted_risk_has_its_own_message(production: Any, setting: str, value: Any, risk: str) -> None:
    setattr(production, setting, value)
    assert "ACCEPTED_RISKS" in messages()[0].hint
    production.ACCEPTED_RISKS = [risk]
    assert found() == []


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("REDIS_URL", "rediss://:password@redis.example:6379/0"),
        ("MAIN_DATABASE", DATABASE | {"HOST": "db.example", "OPTIONS": {"sslmode": "verify-full"}}),
        ("MAIN_DATABASE", DATABASE | {"HOST": "127.0.0.1"}),
    ],
)
def test_connections_over_tls_or_on_this_machine_are_fine(production: Any, setting: str, value: Any) -> None:
    setattr(production, setting, value)
    assert found() == []


@pytest.mark.parametrize("flag", ["DEMO", "TESTING", "DEBUG"])
def test_the_demo_is_refused_at_an_address_for_people_by_every_command(production: Any, flag: str) -> None:
    setattr(production, flag, True)
    assert [seen.id for seen in deploy_checks.check_no_demo_in_public()] == ["portal.E033"]
    production.SITE_URL = "http://127.0.0.1:8000"
    assert list(deploy_checks.check_no_demo_in_public()) == []


def test_a_broker_that_does_not_answer_is_a_warning(production: Any) -> None:
    production.REDIS_URL = "redis://:a-password@127.0.0.1:1/0"
    assert [seen.id for seen in deploy_checks.check_broker_answers()] == ["portal.W020"]


@pytest.mark.django_db
def test_keys_that_read_no_second_factor_stop_the_migration(settings: Any) -> None:
    def ids() -> list[str]:
        return [str(message.id) for message in deploy_checks.check_encryption_keys_fit(databases=["default"])]

    factories.second_factor(factories.user("oz@operator.example"))
    assert ids() == []
    settings.ENCRYPTION_KEYS = ["another key than before, long enough"]
    assert ids() == ["portal.E017"]


def test_an_installation_with_an_older_account_has_no_messages(two: Any) -> None:
    assert found() == []


@pytest.mark.parametrize(
    ("part", "value", "message", "setting"),
    [
        ("BASE_URL", "", "portal.E001", "CARRIER_OLD_BASE_URL"),
        ("BASE_URL", "http://older.example", "portal.E002", "CARRIER_OLD_BASE_URL"),
        ("BASE_URL", "http://127.0.0.1:8100", "portal.E003", "CARRIER_OLD_BASE_URL"),
        ("PARTNER_ID", "", "portal.E004", "CARRIER_OLD_PARTNER_ID"),
        ("CONTRACT", "/nowhere/contract.toml", "portal.E005", "CARRIER_OLD_CONTRACT"),
        ("CLIENT", "nowhere.Carrier", "portal.E018", "CARRIER_OLD_CLIENT"),
        ("WEBHOOK_SECRETS", [], "portal.E006", "CARRIER_OLD_WEBHOOK_SECRETS"),
        ("WEBHOOK_SECRETS", ["carrier:short"], "portal.E007", "CARRIER_OLD_WEBHOOK_SECRETS"),
    ],
)
def test_a_problem_with_an_older_account_names_its_own_setting(
    two: Any, part: str, value: Any, message: str, setting: str
) -> None:
    two.OLDER_CARRIERS["OLD"][part] = value
    (seen,) = messages()
    assert seen.id == message
    assert setting in f"{seen.msg} {seen.hint}"


def test_an_older_account_is_closed_by_removing_only_its_key_and_secrets(two: Any) -> None:
    two.OLDER_CARRIERS["OLD"] |= {"KEY": "", "LINK_KEY": "", "WEBHOOK_SECRETS": []}
    assert found() == []
    two.OLDER_CARRIERS["OLD"] |= {"BASE_URL": "", "CONTRACT": "/nowhere/contract.toml"}
    assert found() == ["portal.E001", "portal.E005"]


def test_an_older_contract_is_checked_like_the_new_one(two: Any, tmp_path: Path) -> None:
    file = tmp_path / "older.toml"
    file.write_text("")
    two.OLDER_CARRIERS["OLD"]["CONTRACT"] = str(file)
    assert found() == ["portal.W002", "portal.E012"]
    assert all("CARRIER_OLD_CONTRACT" in f"{seen.msg} {seen.hint}" for seen in messages())


def test_a_carrier_class_may_need_no_contract_file_but_a_webhook_key(production: Any) -> None:
    production.CARRIER_CLIENT, production.CARRIER_CONTRACT = "shipping_portal.carrier.easypost.EasyPost", ""
    assert "portal.E012" not in found()
    assert "portal.E019" in found()
    production.CARRIER_WEBHOOK_KEY = GOOD_SECRET.partition(":")[2]
    assert "portal.E019" not in found()


@pytest.mark.parametrize("address", ["https://carrier.example/api", "https://carrier.example/api/"])
def test_two_accounts_with_the_same_address_and_id_are_refused(two: Any, address: str) -> None:
    two.OLDER_CARRIERS["OLD"] |= {"BASE_URL": address, "ACCOUNT": "another"}
    assert found() == []
    two.OLDER_CARRIERS["OLD"]["ACCOUNT"] = two.CARRIER_ACCOUNT
    (seen,) = messages()
    assert seen.id == "portal.E013"
    assert "CARRIER_OLD_" in seen.msg


@pytest.mark.parametrize("user", ["carrier", "older"])
def test_a_webhook_secret_shared_by_two_accounts_is_refused_without_showing_it(two: Any, user: str) -> None:
    """The URL with the secret in its path has no user, so a different user wouldn't tell their deliveries apart."""
    two.OLDER_CARRIERS["OLD"]["WEBHOOK_SECRETS"] = [f"{user}:{GOOD_SECRET.partition(':')[2]}"]
    (seen,) = messages()
    assert seen.id == "portal.E014"
    assert "CARRIER_OLD_WEBHOOK_SECRETS and WEBHOOK_SECRETS" in seen.msg
    assert GOOD_SECRET.partition(":")[2] not in f"{seen.msg} {seen.hint}"


@pytest.mark.parametrize("name", ["old", "OLD-1", "OLD CARRIER", "ÄLT", "LINK"])
def test_an_older_account_whose_settings_cannot_be_its_own_is_refused(two: Any, name: str) -> None:
    """CARRIER_LINK_KEY is already the key that signs links, so no account can be called LINK."""
    two.OLDER_CARRIERS = {name: two.OLDER_CARRIERS["OLD"]}
    (seen,) = messages()
    assert seen.id == "portal.E015"
    assert name in seen.msg


@pytest.fixture
def second(production: Any) -> Any:
    """A well configured installation with two accounts that take new orders."""
    production.SECOND_CARRIER = {"TWO": older.described(CONTRACT=production.CARRIER_CONTRACT)}
    return production


def test_two_accounts_may_take_new_orders(second: Any) -> None:
    assert found() == []


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"KEY": ""}, "portal.E067"),
        ({"ACCOUNT": ""}, "portal.E067"),
        ({"TITLE": "an-account"}, "portal.E068"),
        ({"TITLE": "long" * 16}, "portal.E068"),
        ({"WEBHOOK_SECRETS": []}, "portal.E006"),
    ],
)
def test_a_problem_with_the_second_account_is_refused(second: Any, parts: Any, message: str) -> None:
    second.SECOND_CARRIER["TWO"] |= parts
    assert found() == [message]


def test_a_third_account_for_new_orders_is_refused(second: Any) -> None:
    parts = {"CONTRACT": second.CARRIER_CONTRACT, "ACCOUNT": "third", "WEBHOOK_SECRETS": [OTHER_SECRET]}
    second.SECOND_CARRIER["THREE"] = older.described(**parts)
    assert found() == ["portal.E066"]


def test_an_account_that_takes_new_orders_cannot_be_an_older_one(second: Any) -> None:
    second.OLDER_CARRIERS = dict(second.SECOND_CARRIER)
    assert "portal.E013" in found()
    second.OLDER_CARRIERS = {"OLD": second.SECOND_CARRIER["TWO"] | {"WEBHOOK_SECRETS": [OTHER_SECRET]}}
    assert found() == ["portal.E013"]


def test_a_contract_file_with_a_key_we_do_not_know_is_refused(production: Any, tmp_path: Path) -> None:
    file = tmp_path / "contract.toml"
    file.write_text('colour = "blue"\n')
    production.CARRIER_CONTRACT = str(file)
    assert found() == ["portal.E005"]


@pytest.mark.parametrize("said", ["", 'reference = "acme_reference"', 'event_reference = "acme_reference"'])
def test_a_contract_that_leaves_the_interfaces_placeholder_is_refused_outside_the_demo(
    production: Any, tmp_path: Path, said: str
) -> None:
    file = tmp_path / "contract.toml"
    file.write_text(f"{said}\n{LINKED}")
    production.CARRIER_CONTRACT = str(file)
    assert found() == ["portal.E012"]
    production.DEMO, production.SITE_URL = True, "http://127.0.0.1:8000"
    assert found() == []


def test_a_carrier_without_a_page_of_parcel_tools_is_a_warning(production: Any, tmp_path: Path) -> None:
    file = tmp_path / "contract.toml"
    file.write_text(NAMED)
    production.CARRIER_CONTRACT = str(file)
    assert found() == ["portal.W002"]


def test_a_carrier_on_this_machine_is_fine_in_the_demo(production: Any) -> None:
    production.SITE_URL, production.ACCEPTED_RISKS = "http://127.0.0.1:8000", []
    production.CARRIER_BASE_URL = "http://127.0.0.1:8100"
    production.DEMO = True
    assert found() == []


@pytest.mark.django_db
def test_demo_users_are_refused_outside_the_demo(production: Any) -> None:
    def ids() -> list[str]:
        return [str(message.id) for message in checks.check_demo_people(databases=["default"])]

    assert ids() == []
    factories.user("x@demo.example")  # a sign-up must not affect the start
    person = factories.user("operator@demo.example")
    assert ids() == []
    person.set_password("demo-operator-desk")
    person.save()
    assert ids() == ["portal.E008"]
    production.DEMO = True
    assert ids() == []
