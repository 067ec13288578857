"""Second factors are encrypted in the database with keys that can be changed."""

from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from cryptography.fernet import InvalidToken
from django.core.management import CommandError, call_command

from shipping_portal.accounts.login import encryption
from shipping_portal.accounts.models import User
from tests import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def codes(alice: User) -> RecoveryCodes:
    factories.second_factor(alice)
    return RecoveryCodes.activate(alice)


def test_no_seed_is_readable_in_the_database(codes: RecoveryCodes) -> None:
    for row in Authenticator.objects.all():
        for name in encryption.SECRETS:
            if stored := row.data.get(name):
                assert encryption.decrypt(stored) not in str(row.data)
    assert Authenticator.objects.count() == 2


def test_a_new_key_takes_over_and_the_old_one_can_go(codes: RecoveryCodes, settings: Any, capsys: Any) -> None:
    before = codes.get_unused_codes()
    (old,) = settings.ENCRYPTION_KEYS
    settings.ENCRYPTION_KEYS = ["a new key, long enough for anything", old]
    call_command("rotate_encryption")
    assert "2 encrypted by the first key" in capsys.readouterr().out
    settings.ENCRYPTION_KEYS = settings.ENCRYPTION_KEYS[:1]
    assert encryption.is_readable()
    assert RecoveryCodes(Authenticator.objects.get(pk=codes.instance.pk)).get_unused_codes() == before


def test_without_its_key_nothing_is_readable_and_nothing_is_rotated(codes: RecoveryCodes, settings: Any) -> None:
    settings.ENCRYPTION_KEYS = ["another key, long enough for anything"]
    assert not encryption.is_readable()
    with pytest.raises(CommandError, match="doesn't hold"):
        call_command("rotate_encryption")
    with pytest.raises(InvalidToken):
        codes.get_unused_codes()
