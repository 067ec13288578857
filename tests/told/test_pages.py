"""What every page tells of one week, word for word: who sees what, in which order, of which day, at which price.

`TELL=1 pytest tests/told` writes the files again; what changed in them is then read like any other change.
"""

from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.contrib import admin
from django.test import Client
from django.urls import reverse

from tests.test_access import MEMBERS, ROLES, World, address, audience
from tests.told import week
from tests.told.telling import compare, lines_of, named

ON_SQLITE = "sqlite" in settings.DATABASES["default"]["ENGINE"]
pytestmark = [
    pytest.mark.django_db,
    pytest.mark.xdist_group("told"),  # one world for all
    pytest.mark.skipif(not ON_SQLITE, reason="pages show primary keys, which begin at 1 again on SQLite only"),
]

HERE = Path(__file__).parent
# Their texts hold what differs from run to run, or nothing of a business.
LEFT_OUT = {"appearance", "keyboard", "security", "settings"}
PAGES = [(route, entry) for route, entry in MEMBERS if entry.name not in LEFT_OUT]


def told(client: Client, url: str) -> list[str]:
    return list(named(lines_of(client.get(url))))


def by_audience(world: World, entry: Any, url: str) -> list[str]:
    """The page of each role that may open it; roles that are told the same stand together."""
    versions: dict[tuple[str, ...], list[str]] = {}
    for role in ROLES:
        if role in audience(entry):
            versions.setdefault(tuple(told(world.client(role), url)), []).append(role)
    return [line for lines, roles in versions.items() for line in (f"== {', '.join(roles)}", *lines)]


@pytest.mark.parametrize(("route", "entry"), PAGES, ids=[entry.name for _, entry in PAGES])
def test_a_page_tells_each_role_what_it_told_before(route: str, entry: Any, world: World) -> None:
    about = f"?line={world.things['charge'].pk}" if entry.name == "charge_is_wrong" else ""
    compare(f"page-{entry.name}", by_audience(world, entry, address(route, world.things) + about))


@pytest.mark.parametrize("query", ["?view=moving", "?status=cancelled", "?q=noor", "?service=Express+Pickup",
                                   "?booked_from=2026-12-31", "?booked_to=2026-12-30", "?view=drafts"])  # fmt: skip
def test_the_list_tells_what_is_asked_of_it(query: str, world: World) -> None:
    compare("list-" + query.strip("?").replace("=", "-"), told(world.client("owner"), "/parcels/" + query))


@pytest.mark.parametrize("number", range(len(week.ORDERS)))
def test_each_parcels_page_tells_its_story(number: int, world: World) -> None:
    url = reverse("parcel", args=[world.things["orders"][number].uuid])
    compare(f"parcel-{number:02d}", told(world.client("owner"), url))


@pytest.mark.parametrize("model", admin.site._registry, ids=lambda model: model._meta.model_name)
def test_the_operators_pages_tell_what_they_told_before(model: Any, world: World) -> None:
    name = f"admin:{model._meta.app_label}_{model._meta.model_name}"
    client, first = world.client("operator"), model._default_manager.order_by("pk").first()
    lines = told(client, reverse(f"{name}_changelist"))
    if first:
        lines += told(client, reverse(f"{name}_change", args=[first.pk]))
    compare(f"desk-{model._meta.model_name}", lines)
