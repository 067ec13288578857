"""Help is open to everybody, can be searched, and describes what the pages really do."""

import re
from pathlib import Path

import pytest
from django.test import Client

from shipping_portal.accounts.views.front import ARTICLES

ROOT = Path(__file__).resolve().parents[2]
TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))


def titles(client: Client, search: str = "") -> list[str]:
    return list(client.get("/help/", {"q": search}).context["articles"].values())


@pytest.mark.parametrize("slug", ARTICLES)
def test_every_article_opens_without_logging_in(client: Client, slug: str) -> None:
    answer = client.get(f"/help/{slug}/")
    assert f"<h1>{ARTICLES[slug]}</h1>".replace("'", "&#x27;") in answer.content.decode()


def test_the_index_lists_every_article(client: Client) -> None:
    assert titles(client) == list(ARTICLES.values())


def test_an_article_is_found_by_words_inside_it_in_any_case(client: Client) -> None:
    assert titles(client, "FIT to Page") == ["Print labels that scan"]


def test_a_search_without_results_says_so(client: Client) -> None:
    answer = client.get("/help/", {"q": "zeppelin %"})
    assert "No article has all of these words" in answer.content.decode()


def test_an_article_that_does_not_exist_is_404(client: Client) -> None:
    assert client.get("/help/zeppelins/").status_code == 404


def test_pages_link_only_to_articles_that_exist() -> None:
    linked = {
        slug for template in TEMPLATES for slug in re.findall(r"url 'help_article' '([^']+)'", template.read_text())
    }
    assert linked <= set(ARTICLES)


def test_every_file_of_an_article_is_listed() -> None:
    files = {path.stem for path in (ROOT / "templates/help/articles").glob("*.html")}
    assert files == set(ARTICLES)


# Shown by a printer's own dialog, and by a file.
NOT_OURS = {"fit to page", "Length (mm)"}


def test_an_article_names_only_buttons_and_links_that_a_page_has() -> None:
    pages = "\n".join(path.read_text() for path in TEMPLATES if "help" not in path.parts)
    pages = re.sub(r"""\{% word ["'](\w+)["'] %\}""", r"\1", pages)
    named = {
        name
        for path in (ROOT / "templates/help/articles").glob("*.html")
        for name in re.findall("“(.+?)”", path.read_text())
    }
    assert len(named) > len(NOT_OURS)
    missing = {name for name in named - NOT_OURS if not re.search(re.escape(name).replace("…", ".+"), pages)}
    assert missing == set()
