"""What a browser has to fetch for each page, read from its template: within the budget, with nothing unused."""

import gzip
import re
from collections.abc import Iterator
from pathlib import Path

from django.conf import settings
from django.contrib.staticfiles import finders

MOST_JS = 20_000
TEMPLATES = Path(settings.BASE_DIR) / "templates"
PARTS = re.compile(r"""{% (?:extends|include) ["']([^"']+)["']""")
FILES = re.compile(r"""{% static ["']([^"']+\.(?:css|js))["']""")
STYLE = re.compile(r'{% style_sheet "(?:brand|receiver)_style" %}')
HTMX = "{% htmx_script %}"
PAGES = sorted(
    str(path.relative_to(TEMPLATES))
    for path in TEMPLATES.rglob("*.html")
    if not path.name.startswith("_") and "{% extends" in path.read_text() and path.parent.name != "admin"
)


def parts(template: str) -> Iterator[str]:
    """Return the text of a template and of everything it extends or includes."""
    path = TEMPLATES / template
    if not path.exists():  # Django's own or allauth's
        return
    yield path.read_text()
    for part in PARTS.findall(path.read_text()):
        yield from parts(part)


def packed(name: str) -> int:
    return len(gzip.compress(Path(str(finders.find(name))).read_bytes()))


TEXTS = {page: "".join(parts(page)) for page in PAGES}


def test_styles_and_scripts_of_each_page_stay_small() -> None:
    weight = {}
    for page, text in TEXTS.items():
        files = {*FILES.findall(text), *(["django_htmx/htmx-2.min.js"] if HTMX in text else [])}
        weight[page] = sum(packed(name) for name in files if name.endswith(".js"))
    assert {page: size for page, size in weight.items() if size > MOST_JS} == {}
    assert [page for page, text in TEXTS.items() if not STYLE.search(text)] == []


def test_htmx_is_only_on_the_pages_that_poll() -> None:
    assert [page for page, text in TEXTS.items() if (HTMX in text) != ("hx-get" in text)] == []
