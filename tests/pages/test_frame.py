"""What every page shares: its frame, its words and its error pages."""

import re
import uuid
from collections.abc import Callable

import pytest
from django.template.loader import render_to_string
from django.test import Client
from django.utils import timezone

from shipping_portal.accounts.models import Membership, ParcelSize, Sender, User
from tests import factories
from tests.pages.typed import text, title

Visit = Callable[[User], Client]


@pytest.fixture
def addresses(quill: Sender, alice: User) -> list[str]:
    booked = factories.order(quill, alice, status="booked")
    watch = factories.watch(quill, alice)
    return [
        "/parcels/",
        "/parcels/new/",
        factories.prices_of(booked.quote),
        f"/parcels/{booked.uuid}/",
        f"/parcels/{booked.uuid}/cancel/",
        f"/parcels/{booked.uuid}/cancel/?need=not_sending",
        f"/parcels/{factories.order(quill, alice, status='booking').uuid}/booking/",
        "/watch/",
        f"/watch/{watch.uuid}/",
        f"/orders/{booked.uuid}/tracking-page/",
        "/nowhere/",
    ]


def test_each_page_has_one_heading_its_own_title_a_language_and_a_skip_link(
    addresses: list[str], alice: User, visit: Visit
) -> None:
    page = visit(alice)
    titles = []
    for address in addresses:
        answer = page.get(address)
        body = answer.content.decode()
        assert body.count("<h1") == 1, address
        assert re.search(r'<html lang="en(-AU)?"', body), address
        assert '<a class="skip" href="#main">' in body, address
        assert title(answer).endswith((" – Shipping Portal", " · Shipping Portal")), address
        titles.append(title(answer))
    assert len(set(titles)) == len([a for a in addresses if "?" not in a])  # a step of cancelling keeps its title


def test_help_is_in_the_same_order_on_each_page(addresses: list[str], alice: User, visit: Visit) -> None:
    page = visit(alice)
    in_order = ["Help", "Contact us", "Accessibility", "Dangerous goods", "Terms"]
    for address in addresses:
        footer = page.get(address).content.decode().split("<footer")[1]
        assert re.findall(r">([A-Z][^<]+)</a>", footer) == in_order, address


def test_ids_are_unique_and_labels_point_at_controls(addresses: list[str], alice: User, visit: Visit) -> None:
    page = visit(alice)
    for address in addresses:
        body = page.get(address).content.decode()
        ids = re.findall(r'\sid="([^"]+)"', body)
        assert len(ids) == len(set(ids)), address
        for pointed in re.findall(r'\s(?:for|aria-labelledby)="([^"]+)"', body):
            assert set(pointed.split()) <= set(ids), (address, pointed)


def test_logging_out_is_a_button_and_never_a_link(alice: User, visit: Visit) -> None:
    body = visit(alice).get("/parcels/").content.decode()
    assert '<form action="/accounts/logout/" method="post">' in body
    assert 'href="/accounts/logout/"' not in body


def test_a_suspension_shows_on_every_page_with_reason_and_number(
    addresses: list[str], alice: User, quill: Sender, sam: User, visit: Visit
) -> None:
    quill.suspend(by=sam, category="dangerous_goods", text="Batteries.", note="never shown", now=timezone.now())
    page = visit(alice)
    for address in addresses:
        words = text(page.get(address))
        assert "Reason: dangerous goods. Batteries. Your parcels on the way are still tracked." in words, address
        assert f"quote {quill.number}" in words
        assert "never shown" not in words


def test_viewers_get_no_button_that_books(alice: User, bea: User, visit: Visit) -> None:
    assert 'href="/parcels/new/"' not in visit(bea).get("/parcels/").content.decode()


@pytest.mark.parametrize("template", ["400.html", "403_csrf.html", "500.html"])
def test_error_pages_need_nothing_else(template: str) -> None:
    body = render_to_string(template)  # no request, no session, no database
    assert body.count("<h1") == 1
    assert "Start page" in body


def test_a_forged_post_gets_a_page_in_our_words(alice: User, db: None) -> None:
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(alice, backend="allauth.account.auth_backends.AuthenticationBackend")
    answer = browser.post("/watch/", {"reference": "S7K2QX9"})
    assert answer.status_code == 403
    assert "Nothing was booked or changed" in text(answer)


@pytest.mark.parametrize("site", ["same-origin", "same-site", "cross-site", ""])
def test_a_form_sent_after_its_login_ended_gives_back_what_was_typed(site: str, db: None) -> None:
    typed = {
        "csrfmiddlewaretoken": "c5rf", "text": "I weighed it:\n<b>1 kg", "receiver_name": "Noor Tamsin", "name": "",
        "password": "hush-hush", "code": "123456", "draft": "3b66e5bd-f2aa-4afb-b4ab-8c82903510d2",
    }  # fmt: skip
    headers = {"Sec-Fetch-Site": site, "Referer": "http://testserver/billing/charges/wrong/?line=7"}
    answer = Client(enforce_csrf_checks=True).post("/billing/charges/wrong/?line=7", typed, headers=headers)
    page = answer.content.decode()
    given_back = re.findall(r"<textarea[^>]*>\n?([^<]*)</textarea>", page)
    # Another site could have us show its own text.
    assert given_back == (["I weighed it:\n&lt;b&gt;1 kg\nNoor Tamsin"] if site == "same-origin" else [])
    assert (answer.status_code, "hush-hush" in page) == (403, False)
    assert "no-store" in answer["Cache-Control"]
    page_before = "/billing/charges/wrong/%3Fline%3D7" if site == "same-origin" else "/parcels/%3Fview%3Ddrafts"
    assert f'href="/accounts/login/?next={page_before}"' in page


@pytest.mark.parametrize("site", ["same-origin", "cross-site"])
@pytest.mark.parametrize("gone", ["deleted", "another role"])
def test_a_form_about_something_gone_says_that_nothing_changed_and_gives_back_what_was_typed(
    ana: User, quill: Sender, visit: Visit, gone: str, site: str
) -> None:
    size = factories.size(quill)
    browser = visit(ana)
    typed = {"name": "Mug box", "description": "Two boxed mugs", "weight": "1.5"}
    ParcelSize.objects.all().delete() if gone == "deleted" else Membership.objects.update(role="viewer")
    answer = browser.post(f"/sizes/{size.uuid}/", typed, headers={"Sec-Fetch-Site": site})
    page = answer.content.decode()
    given_back = re.findall(r"<textarea[^>]*>\n?([^<]*)</textarea>", page)
    assert given_back == (["Mug box\nTwo boxed mugs\n1.5"] if site == "same-origin" else [])
    assert (answer.status_code, title(answer)) == (404, "Nothing was changed · Shipping Portal")
    assert "Nothing was saved, booked or cancelled by this." in text(answer)


@pytest.mark.parametrize("is_staff", [False, True])
def test_somebody_removed_from_the_team_reads_that_where_their_page_was(
    ana: User, visit: Visit, is_staff: bool
) -> None:
    Membership.objects.all().delete()
    User.objects.update(is_staff=is_staff)
    answer = visit(ana).get("/settings/profile/")
    assert answer.status_code == 404
    assert ("You're not part of a business account" in text(answer)) == (not is_staff)
    assert ('href="/help/no-account/"' in answer.content.decode()) == (not is_staff)


def test_a_button_about_something_gone_gives_back_no_text(alice: User, quill: Sender, visit: Visit) -> None:
    address = f"/sizes/{uuid.uuid4()}/change/"
    answer = visit(alice).post(address, {"move": "up"}, headers={"Sec-Fetch-Site": "same-origin"})
    assert "Nothing was saved" in text(answer)
    assert "<textarea" not in answer.content.decode()


def test_a_body_that_nobody_has_read_is_not_read_for_the_404(alice: User, visit: Visit) -> None:
    fields, headers = {f"f{number}": "1" for number in range(2000)}, {"Sec-Fetch-Site": "same-origin"}
    for address in ("/nowhere/", "/unsubscribe/no-such-token/"):
        assert visit(alice).post(address, fields, headers=headers).status_code == 404


def test_too_many_fields_are_refused_with_a_page(alice: User, visit: Visit) -> None:
    answer = visit(alice).post("/parcels/new/", {f"f{number}": "1" for number in range(2000)})
    assert answer.status_code == 400
    assert "nothing was done with it" in text(answer)
