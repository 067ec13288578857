"""What every page shows for one week, as facts: the rows, amounts, days and links for each role, without words.

`UPDATE_EXPECTED=1 pytest tests/snapshots` writes the files again; read the difference like any other change.
"""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.conf import settings
from django.contrib import admin
from django.http import HttpResponse
from django.urls import reverse

from tests.snapshots import week
from tests.snapshots.comparing import compare, named, names_of_rows
from tests.snapshots.facts import by_role, facts_of
from tests.test_access import MEMBERS, ROLES, World, address, audience

ON_SQLITE = "sqlite" in settings.DATABASES["default"]["ENGINE"]
pytestmark = [
    pytest.mark.django_db,
    pytest.mark.xdist_group("snapshots"),  # one world for all
    pytest.mark.skipif(not ON_SQLITE, reason="pages show primary keys, which begin at 1 again on SQLite only"),
]

# They hold what differs from run to run, or nothing of a business.
LEFT_OUT = {"appearance", "keyboard", "security", "settings"}
PAGES = [(route, entry) for route, entry in MEMBERS if entry.name not in LEFT_OUT]
Open = Callable[[str, str], Any]


@pytest.fixture(scope="module")
def get(world: World) -> Open:
    """`get("owner", url)` is the response. A page that was opened before isn't opened again."""
    answers: dict[tuple[str, str], HttpResponse] = {}

    def open_page(role: str, url: str) -> HttpResponse:
        if (role, url) not in answers:
            answers[role, url] = world.client(role).get(url)
        return answers[role, url]

    return open_page


def opened(get: Open, world: World, route: str, entry: Any) -> dict[str, Any]:
    """Return the response to each role that may open the page."""
    about = f"?line={world.things['charge'].pk}" if entry.name == "charge_is_wrong" else ""
    return {role: get(role, address(route, world.things) + about) for role in ROLES if role in audience(entry)}


@pytest.mark.parametrize(("route", "entry"), PAGES, ids=[entry.name for _, entry in PAGES])
def test_a_page_shows_each_role_its_rows_amounts_days_and_links(
    route: str, entry: Any, world: World, get: Open
) -> None:
    shown = {role: facts_of(answer) for role, answer in opened(get, world, route, entry).items()}
    compare(f"page-{entry.name}", list(named(list(by_role(shown)))) if any(shown.values()) else [])


def test_each_url_gives_each_role_the_expected_response(world: World, get: Open) -> None:
    lines, names = [], dict(names_of_rows())  # a draft that an address makes has no name, whoever asked first
    for route, entry in PAGES:
        found: dict[str, list[str]] = {}
        for role, answer in opened(get, world, route, entry).items():
            kind = answer.get("Content-Type", "").partition(";")[0] if answer.status_code == 200 else ""
            said = f"{answer.status_code} {answer.get('Location', kind)}".strip()
            found.setdefault(said, []).append(role)
        lines += [f"{entry.name}: {said} ({', '.join(roles)})" for said, roles in found.items()]
    compare("answers", list(named(sorted(lines), names)))


@pytest.mark.parametrize("query", ["?view=moving", "?status=cancelled", "?q=noor", "?service=Express+Pickup",
                                   "?booked_from=2026-12-31", "?booked_to=2026-12-30", "?view=drafts"])  # fmt: skip
def test_the_list_shows_the_requested_rows(query: str, world: World, get: Open) -> None:
    compare("list-" + query.strip("?").replace("=", "-"), list(named(facts_of(get("owner", "/parcels/" + query)))))


@pytest.mark.parametrize("number", range(len(week.ORDERS)))
def test_each_parcels_page_shows_the_expected_facts(number: int, world: World, get: Open) -> None:
    url = reverse("parcel", args=[world.things["orders"][number].uuid])
    compare(f"parcel-{number:02d}", list(named(facts_of(get("owner", url)))))


def in_admin(model: Any) -> Iterator[str]:
    """Return the list of a model and the page of its first row."""
    name = f"admin:{model._meta.app_label}_{model._meta.model_name}"
    yield reverse(f"{name}_changelist")
    first = model._default_manager.order_by("pk").first()
    if first:
        yield reverse(f"{name}_change", args=[first.pk])


@pytest.mark.parametrize("model", admin.site._registry, ids=lambda model: model._meta.model_name)
def test_the_admin_pages_of_a_model_show_the_expected_facts(model: Any, get: Open) -> None:
    lines = [line for url in in_admin(model) for line in facts_of(get("operator", url))]
    compare(f"admin-{model._meta.model_name}", list(named(lines)))
