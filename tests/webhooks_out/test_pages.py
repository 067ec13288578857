"""The settings page for webhooks: an owner adds an endpoint, sees its secret once, and reads the outcome of events."""

import datetime as dt
from collections.abc import Callable

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from shipping_portal.accounts.login.encryption import decrypt
from shipping_portal.accounts.models import Audit, Sender, User, WebhookEndpoint, WebhookEvent
from shipping_portal.accounts.webhooks.endpoints import MOST
from tests import factories
from tests.pages.typed import dead_links, value_of

pytestmark = pytest.mark.django_db
Visit = Callable[[User], Client]
PAGE = "/settings/webhooks/"


def browser(visit: Visit, person: User) -> Client:
    return factories.gave_password(visit(person), person)  # type: ignore[no-any-return]


@pytest.fixture
def owner(visit: Visit, alice: User) -> Client:
    return browser(visit, alice)


@pytest.fixture
def endpoint(quill: Sender, alice: User) -> WebhookEndpoint:
    return factories.webhook_endpoint(quill, alice)


def typed(**changes: object) -> dict[str, object]:
    return {"url": "https://shop.example/hooks?key=s3cr3t", "kinds": ["order", "label"], **changes}


def test_an_endpoints_secret_is_shown_once_and_stored_encrypted(owner: Client, alice: User, quill: Sender) -> None:
    page = owner.post(PAGE, typed(), follow=True)
    secret, made = page.context["secret"], WebhookEndpoint.objects.get()
    assert secret.startswith("whsec_")
    assert page.redirect_chain == [(PAGE, 302)]
    assert page.content.decode().count(secret) == 1
    for later in (PAGE, f"{PAGE}{made.pk}/"):
        assert secret not in owner.get(later).content.decode()
    assert secret not in str(list(WebhookEndpoint.objects.values()) + list(Audit.objects.values()))
    assert decrypt(made.secret) == secret
    assert (made.sender, made.made_by, made.kinds) == (quill, alice, ["order", "label"])
    quill.refresh_from_db()
    assert quill.has_webhooks
    row = Audit.objects.get(action="webhook endpoint added")
    assert (row.actor, row.sender, row.reason) == (alice, quill, "order, label")
    assert page["Cache-Control"] == "private, no-store"


def test_an_input_error_is_shown_at_its_field_and_the_input_is_kept(owner: Client) -> None:
    page = owner.post(PAGE, {"url": "http://shop.example/", "kinds": "everything"})
    assert page.status_code == 422
    assert page.context["form"].errors == {
        "url": ["Enter an address that starts with https://, in plain letters, without a user name, a space or a #."],
        "kinds": ["Choose one from the page."],
    }
    assert 'value="http://shop.example/"' in page.content.decode()
    assert owner.post(PAGE, {"url": ""}).context["form"].errors == {
        "url": ["Enter the address of your program."],
        "kinds": ["Choose what to send."],
    }
    assert not WebhookEndpoint.objects.exists()


def test_a_business_has_at_most_five_endpoints(owner: Client, quill: Sender, alice: User) -> None:
    for _ in range(MOST):
        factories.webhook_endpoint(quill, alice)
    page = owner.post(PAGE, typed())
    assert page.context["form"].non_field_errors() == ["You have 5 endpoints. Remove one first."]
    assert WebhookEndpoint.objects.count() == MOST == 5


def test_a_new_secret_is_shown_once_and_the_old_one_ends_a_day_later(owner: Client, endpoint: WebhookEndpoint) -> None:
    page = owner.post(f"{PAGE}{endpoint.pk}/secret/", follow=True)
    secret = page.context["secret"]
    assert page.redirect_chain == [(f"{PAGE}{endpoint.pk}/", 302)]
    assert page.content.decode().count(secret) == 1
    assert "The old one ends" in page.content.decode()
    endpoint.refresh_from_db()
    assert decrypt(endpoint.secret) == secret
    assert decrypt(endpoint.old_secret) == endpoint.text
    assert dt.timedelta(hours=23) < endpoint.old_secret_ends_at - timezone.now() <= dt.timedelta(hours=24)
    assert Audit.objects.filter(action="webhook secret rotated").count() == 1


def test_a_page_from_before_a_new_secret_makes_no_other_one(owner: Client, endpoint: WebhookEndpoint) -> None:
    """Otherwise a second press, or another owner's, would end the secret that the program still uses."""
    own = f"{PAGE}{endpoint.pk}/"
    pressed = {"known": ""}
    owner.post(f"{own}secret/", pressed)
    page = owner.post(f"{own}secret/", pressed, follow=True)
    endpoint.refresh_from_db()
    assert decrypt(endpoint.old_secret) == endpoint.text
    assert page.context["secret"] == decrypt(endpoint.secret)
    assert [str(message) for message in page.context["messages"]] == [
        "It has a new secret already, so nothing was changed."
    ]
    assert "Another new secret ends the old one at once." in " ".join(page.content.decode().split())


def test_a_new_secret_can_be_made_again_from_its_page(owner: Client, endpoint: WebhookEndpoint) -> None:
    own = f"{PAGE}{endpoint.pk}/"
    page = owner.post(f"{own}secret/", {"known": ""}, follow=True)
    first, known = page.context["secret"], value_of(page, "known")
    second = owner.post(f"{own}secret/", {"known": known}, follow=True).context["secret"]
    endpoint.refresh_from_db()
    assert [decrypt(one) for one in (endpoint.secret, endpoint.old_secret)] == [second, first]


def test_the_same_address_is_not_added_twice(owner: Client) -> None:
    """Otherwise a program gets each event twice, and can check only one of the two signatures."""
    owner.post(PAGE, typed())
    page = owner.post(PAGE, typed(kinds=["order"]))
    assert page.context["form"].errors == {"__all__": ["You have an endpoint with this address already."]}
    assert page.context["secret"] == decrypt(WebhookEndpoint.objects.get().secret)


def test_the_log_can_be_paged_from_the_page_with_a_new_secret(owner: Client, endpoint: WebhookEndpoint) -> None:
    for _ in range(51):
        done(endpoint)
    page = owner.post(f"{PAGE}{endpoint.pk}/secret/", follow=True)
    assert "Older" in page.content.decode()
    assert dead_links(owner, page) == []


def test_buttons_pause_resume_test_and_remove_an_endpoint(owner: Client, endpoint: WebhookEndpoint) -> None:
    own = f"{PAGE}{endpoint.pk}/"
    shown = []
    for pressed in ("pause", "resume", "test"):
        page = owner.post(f"{own}change/", {pressed: "1"}, follow=True)
        shown.append((page.context["state"], [str(message) for message in page.context["messages"]]))
    assert shown == [
        ("Paused", ["Paused. Events wait until you resume it."]),
        ("On", ["Resumed. What has waited is sent now."]),
        ("On", ["A test event is on its way."]),
    ]
    assert WebhookEvent.objects.get().type == "test.sent"
    assert owner.post(f"{own}change/", {"remove": "1"})["Location"] == PAGE
    assert not WebhookEndpoint.objects.exists()
    actions = Audit.objects.order_by("pk").values_list("action", flat=True)
    assert list(actions) == [f"webhook endpoint {word}" for word in ("paused", "resumed", "removed")]


def test_a_test_event_for_a_paused_endpoint_waits_and_the_page_says_so(
    owner: Client, endpoint: WebhookEndpoint
) -> None:
    old = done(endpoint)
    WebhookEndpoint.objects.update(paused_at=timezone.now(), off_why="it answered 410, Gone")
    own, waits = f"{PAGE}{endpoint.pk}/", "It waits until you resume the endpoint."
    shown = []
    for address, posted in ((f"{own}change/", {"test": "1"}), (f"{own}change/", {"again": str(old.pk)})):
        page = owner.post(address, posted, follow=True)
        shown.append([str(message) for message in page.context["messages"]])
    assert shown == [[waits], [waits]]


def test_a_test_event_for_a_failing_endpoint_goes_at_once(owner: Client, endpoint: WebhookEndpoint) -> None:
    """Its owner has just repaired the program, and wouldn't wait an hour to see it."""
    now = timezone.now()
    WebhookEndpoint.objects.update(failing_since=now, failures=12, held_until=now + dt.timedelta(hours=1))
    owner.post(f"{PAGE}{endpoint.pk}/change/", {"test": "1"})
    assert WebhookEvent.objects.get().due_at <= timezone.now()


def test_an_unknown_button_changes_nothing(owner: Client, endpoint: WebhookEndpoint) -> None:
    for posted in ({}, {"again": "x"}, {"again": "99999999999999999999"}, {"delete": "1"}):
        assert owner.post(f"{PAGE}{endpoint.pk}/change/", posted).status_code == 302
    assert WebhookEndpoint.objects.exists()


def done(endpoint: WebhookEndpoint, **fields: object) -> WebhookEvent:
    return factories.webhook_event(endpoint, state="delivered", done_at=timezone.now(), due_at=None, **fields)


def test_the_log_is_paged_by_key_and_shows_each_events_outcome(owner: Client, endpoint: WebhookEndpoint) -> None:
    for _ in range(60):
        done(endpoint, reply_status=204, tries=1)
    factories.webhook_event(endpoint, tries=3, reply_status=500, reply="<b>down</b>")
    own = f"{PAGE}{endpoint.pk}/"
    page = owner.get(own)
    text = page.content.decode()
    assert len(page.context["page"].rows) == 50
    assert "Answered 500." in text
    assert "&lt;b&gt;down&lt;/b&gt;" in text
    assert "3 tries" in text
    older = owner.get(f"{own}?before={page.context['page'].on}").context["page"]
    assert len(older.rows) == 11
    assert owner.get(f"{own}?before=x&after=").status_code == 200


def test_one_event_or_all_since_a_time_are_sent_again(owner: Client, endpoint: WebhookEndpoint) -> None:
    old = done(endpoint, happened_at=timezone.now() - dt.timedelta(days=3))
    new = done(endpoint)
    own = f"{PAGE}{endpoint.pk}/"
    owner.post(f"{own}change/", {"again": str(old.pk)})
    old.refresh_from_db()
    assert old.state == "waiting"
    assert old.due_at
    since = timezone.now().astimezone(endpoint.sender.tzinfo) - dt.timedelta(hours=1)
    page = owner.post(own, {"since": f"{since:%Y-%m-%dT%H:%M}"}, follow=True)
    assert [str(message) for message in page.context["messages"]][-1] == "Sent again: 1."
    new.refresh_from_db()
    assert new.state == "waiting"


def test_it_says_when_nothing_is_sent_again_or_when_it_waits(owner: Client, endpoint: WebhookEndpoint) -> None:
    own, shown = f"{PAGE}{endpoint.pk}/", []
    for is_paused in (False, True):
        if is_paused:
            done(endpoint)
            WebhookEndpoint.objects.update(paused_at=timezone.now())
        page = owner.post(own, {"since": "2026-01-01T00:00"}, follow=True)
        shown += [str(message) for message in page.context["messages"]]
    assert shown == ["There is nothing to send again since then.", "Sent again when you resume the endpoint: 1."]


@pytest.mark.parametrize("since", ["", "yesterday", "2999-01-01T00:00", "0001-01-01T00:00"])
def test_an_invalid_time_is_an_error_at_its_field(owner: Client, endpoint: WebhookEndpoint, since: str) -> None:
    page = owner.post(f"{PAGE}{endpoint.pk}/", {"since": since})
    assert page.status_code == (302 if since.startswith("0001") else 422)


def test_only_its_own_owner_sees_or_changes_an_endpoint(
    visit: Visit, endpoint: WebhookEndpoint, ana: User, bob: User
) -> None:
    for person in (ana, bob):
        client = browser(visit, person)
        for url in ("", "secret/", "change/"):
            assert client.post(f"{PAGE}{endpoint.pk}/{url}", {"remove": "1"}).status_code == 404
        assert client.get(f"{PAGE}{endpoint.pk}/").status_code == 404
    assert browser(visit, ana).get(PAGE).status_code == 404
    assert browser(visit, bob).get(PAGE).context["rows"] == []
    assert WebhookEndpoint.objects.get().secret == endpoint.secret


def test_an_operator_sees_an_endpoint_and_may_pause_it(visit: Visit, sam: User, endpoint: WebhookEndpoint) -> None:
    staff = visit(sam)
    url = f"/admin/accounts/webhookendpoint/{endpoint.pk}/"
    page = staff.get(f"{url}change/").content.decode()
    assert endpoint.url in page
    assert endpoint.secret not in page
    staff.post(
        reverse("admin:accounts_webhookendpoint_act", args=[endpoint.pk, "pause"]), {"reason": "They asked for it."}
    )
    endpoint.refresh_from_db()
    assert endpoint.paused_at
    assert staff.get("/admin/accounts/webhookendpoint/").status_code == 200
