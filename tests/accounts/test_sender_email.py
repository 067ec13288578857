"""Which addresses may be a sender's email (interface §2.1)."""

from typing import Any

import pytest
from allauth.account.models import EmailAddress

from shipping_portal.accounts.address import sender_email
from shipping_portal.accounts.models import Sender, User
from tests import factories


@pytest.mark.parametrize(
    ("email", "kind"),
    [
        ("no-reply@quill.example", "no_reply"),
        ("NoReply@quill.example", "no_reply"),
        ("do_not_reply@quill.example", "no_reply"),
        ("orders-noreply@quill.example", "no_reply"),
        ("x8f2@privaterelay.appleid.com", "relay"),
        ("mia@duck.com", "relay"),
        ("mia@sub.simplelogin.com", "relay"),
        ("mia@users.noreply.forge.example", "relay"),
        ("mia+100234@quill.example", "per_order"),
        ("0f8fad5b-d9cb-469f-a165-70867728950e@quill.example", "per_order"),
        ("order-100234@quill.example", "per_order"),
        ("support@quill.example", "support"),
        ("customer.service@quill.example", "support"),
        ("help@quill.example", "support"),
        ("customersupport@quill.example", "support"),
        ("supportteam@quill.example", "support"),
        ("shop-support@quill.example", "support"),
        ("support.au@quill.example", "support"),
        ("service.desk@quill.example", "support"),
        ("x8f2@marketplace.amazon.de", "relay"),
        ("x8f2@marketplace.amazon.co.uk", "relay"),
        ("x8f2@marketplace.amazon.com.au", "relay"),
        ("ticket-99@x.zendesk.com", "relay"),
        ("ticket-99@quill.example", "per_order"),
        ("reply+abc@quill.example", "relay"),
        ("mia@yopmail.com", "relay"),
        ("mia@temp-mail.org", "relay"),
        ("po12@quill.example", None),
        ("order12@quill.example", "per_order"),
        ("ticket99@quill.example", "per_order"),
        ("order1@quill.example", None),
        ("foo@members.ebay.com", "relay"),
        ("foo@members.ebay.com.au", "relay"),
        ("foo@members.ebay.co.uk", "relay"),
        ("foo@x.members.ebay.de", "relay"),
        ("abc@marketplace.ebay.com", "relay"),
        ("x@passmail.net", "relay"),
        ("x@passinbox.com", "relay"),
        ("x@relay.walmart.com", "relay"),
        ("cs@quill.example", "support"),
        ("CS@quill.example", "support"),
        ("c.s@quill.example", None),
        ("csilla@quill.example", None),
        ("mia@ebay.com.au", None),
        ("mia@members.ebay.example", None),
        ("mia@compassmail.net", None),
        ("case12@quill.example", None),
        ("reforder@quill.example", None),
        ("jo.order@quill.example", None),
        ("mia1984@quill.example", None),
        ("bookings.lund@quill.example", None),
        ("o’neil@quill.example", None),
        ("mia@amazon.de", None),
        ("reply@quill.example", None),
        ("job.lund@quill.example", None),
        ("sam@portal.example", "partner"),
        ("sam@mail.portal.example", "partner"),
        ("info@quill.example", "shared"),
        ("Orders@quill.example", "shared"),
        ("mia@quill.example", None),
        ("mia+shipping@quill.example", None),
        ("helpful.hannah@quill.example", None),
        ("infante@quill.example", None),
    ],
)
def test_an_address_is_classified_by_its_form(email: str, kind: str | None) -> None:
    assert sender_email.judge_email(email).kind == kind


def test_a_shared_mailbox_may_be_confirmed_and_every_other_kind_is_refused() -> None:
    verdicts = {kind: sender_email.Verdict(kind) for kind in sender_email.SENTENCES}
    assert {kind for kind, verdict in verdicts.items() if verdict.needs_confirmation} == {"shared"}
    assert {kind for kind, verdict in verdicts.items() if not verdict.is_refused} == {"shared"}
    assert all(verdict.sentence for verdict in verdicts.values())


def test_an_address_on_the_partners_domain_may_be_listed(settings: Any) -> None:
    settings.ALLOWED_SENDER_EMAILS = ["Depot@portal.example"]
    assert sender_email.judge_email("depot@portal.example").kind is None
    assert sender_email.judge_email("other@portal.example").kind == "partner"


def test_only_verified_addresses_of_the_accounts_people_are_usable(
    quill: Sender, alice: User, ana: User, bob: User
) -> None:
    EmailAddress.objects.create(user=alice, email="alice@home.example", verified=False)
    EmailAddress.objects.create(user=ana, email="support@quill.example", verified=True)
    assert sender_email.usable_emails(quill) == ["alice@quill.example", "ana@quill.example"]
    EmailAddress.objects.filter(user=ana).update(verified=False)
    assert sender_email.usable_emails(quill) == ["alice@quill.example"]


def test_somebody_who_may_no_longer_log_in_provides_no_address(quill: Sender, alice: User, ana: User) -> None:
    ana.is_active = False
    ana.save()
    assert sender_email.usable_emails(quill) == ["alice@quill.example"]


def test_an_owners_address_comes_first_and_each_persons_login_address_first(quill: Sender) -> None:
    for name, role in (("shipper", "shipper"), ("owner", "owner")):
        factories.member(quill, factories.user(f"{name}@quill.example"), role=role)
    for email in EmailAddress.objects.all():
        new = email.email.replace("@", ".new@")
        EmailAddress.objects.filter(pk=email.pk).update(primary=False)
        EmailAddress.objects.create(user=email.user, email=new, verified=True, primary=True)
    names = ["owner.new", "owner", "shipper.new", "shipper"]
    assert sender_email.usable_emails(quill) == [f"{name}@quill.example" for name in names]
