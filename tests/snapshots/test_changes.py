"""What every button does: the rows it creates and changes, the emails it sends, its message, and the next page."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib import admin
from django.test import Client
from django.urls import reverse

from tests.savepoints import undone
from tests.snapshots.comparing import compare
from tests.snapshots.forms import presses
from tests.snapshots.rows import Rows, changes, mails, numbered, written
from tests.snapshots.test_pages import PAGES
from tests.snapshots.test_pages import pytestmark as as_pages
from tests.test_access import World, address

pytestmark = [*as_pages, pytest.mark.usefixtures("carrier")]
OWNERS = [(route, entry) for route, entry in PAGES if "owner" in entry.callback.audience]


def pressed(world: World, who: str, url: str) -> Iterator[str]:
    """Press each button of a page, each time with the week as it was."""
    client = world.client(who)
    page = client.get(url)
    if page.status_code == 200 and page["Content-Type"].startswith("text/html"):
        for name, action, sent in presses(page.getvalue().decode(), url):
            with undone():
                yield f"== {action} {name}"
                yield from outcome(client, action, sent, world.things["rows"])


def outcome(client: Client, url: str, sent: dict[str, list[str]], before: Rows) -> Iterator[str]:
    with written() as tables:
        answer = client.post(url, sent)
    yield f"{answer.status_code} {answer.get('Location', '')}".strip()
    yield from (f"says: {one}" for one in answer.wsgi_request._messages._queued_messages)
    form = (answer.context or {}).get("form") if answer.status_code != 302 else None
    yield from (f"asks: {name}: {', '.join(said)}" for name, said in getattr(form, "errors", {}).items())
    yield from changes(before, tables)
    yield from mails()


@pytest.mark.parametrize(("route", "entry"), OWNERS, ids=[entry.name for _, entry in OWNERS])
def test_each_button_of_a_page_changes_what_is_expected(route: str, entry: Any, world: World) -> None:
    about = f"?line={world.things['charge'].pk}" if entry.name == "charge_is_wrong" else ""
    lines = list(numbered(list(pressed(world, "owner", address(route, world.things) + about))))
    compare(f"press-{entry.name}", lines)


@pytest.mark.parametrize("page", ["parcel", "cancel", "booking_progress", "confirm_price"])
def test_each_button_of_a_parcels_pages_changes_what_is_expected(page: str, world: World) -> None:
    lines = []
    for number, order in enumerate(world.things["orders"]):
        found = list(pressed(world, "owner", reverse(page, args=[order.uuid])))
        lines += [f"== parcel {number:02d}", *found] if found else []
    compare(f"press-each-{page}", list(numbered(lines)))


@pytest.mark.parametrize("model", admin.site._registry, ids=lambda model: model._meta.model_name)
def test_each_operator_action_writes_what_is_expected(model: Any, world: World) -> None:
    name = f"admin:{model._meta.app_label}_{model._meta.model_name}"
    lines = []
    for row in model._default_manager.order_by("pk")[:45]:
        lines += acts(world, reverse(f"{name}_change", args=[row.pk]))
    compare(f"acts-{model._meta.model_name}", list(numbered(lines)))


def acts(world: World, url: str) -> Iterator[str]:
    """Press the buttons of every page that an object's own page links to."""
    base = url.removesuffix("change/")
    page = world.client("operator").get(url).getvalue().decode()
    for path in sorted(set(re.findall(rf'href="({base}(?!change|history|delete)[^"?]+)"', page))):
        yield from pressed(world, "operator", path)
