"""T1: texts for people are calm, plain and in our own words: templates, emails, sentences in the code, and documents."""

import re
from collections.abc import Iterable

from tests.product_files import ROOT, named
from tests.test_names import DOCUMENTS
from tools.texts import files, sentences_of

TEMPLATES = sorted(path for path in (ROOT / "templates").rglob("*") if path.suffix in {".html", ".txt"})
SCRIPTS = sorted((ROOT / "static").glob("*.js"))
CALM = re.compile(
    r"\boops\b|\binvalid\b|error occurred|something went wrong|unexpected error|\bplease try again\b|try again later|"
    r"\billegal\b|\bfatal\b|\bfailed to\b|\bunable to\b|!",
    re.IGNORECASE,
)
BRANDS = re.compile(
    r"\b(Australia Post|AusPost|StarTrack|Sendle|DHL|FedEx|UPS|USPS|Aramex|TNT|Toll|Canada Post|Purolator|Royal Mail|"
    r"Pirate Ship|ShipStation|Shippit|Starshipit|Shippo|EasyPost|Sendcloud)\b"
)
LONGEST = 32  # words in one sentence
HARDEST = 8.0  # years at school


def years(said: Iterable[str]) -> float:
    """Return the Flesch-Kincaid grade of sentences of at least five words, counting groups of vowels as syllables."""
    lines = [words for line in said if len(words := re.findall(r"[A-Za-z'’]+", line)) >= 5]
    words = [word for line in lines for word in line]
    syllables = sum(
        max(1, len(re.findall(r"[aeiouy]+", re.sub(r"(?<!l)e$|es$|ed$", "", word.lower())))) for word in words
    )
    return 0.39 * len(words) / len(lines) + 11.8 * syllables / len(words) - 15.59


def test_t1_a_template_is_calm_and_names_no_other_carrier() -> None:
    said = [(named(path), line) for path in TEMPLATES for line in sentences_of(path)]
    assert [one for one in said if CALM.search(one[1]) or BRANDS.search(one[1])] == []
    assert [one for one in said if len(one[1].split()) > LONGEST] == []


def test_t1_sentences_in_the_code_and_scripts_are_calm_too() -> None:
    code = [path for path in files() if path.suffix in {".py", ".js"}]
    said = [(named(path), line) for path in code for line in sentences_of(path)]
    assert len(said) > 1000
    assert [one for one in said if CALM.search(one[1]) or BRANDS.search(one[1])] == []
    assert [one for one in said if len(one[1].split()) > LONGEST] == []


def test_an_apostrophe_is_straight_everywhere() -> None:
    """Both kinds were on one page."""
    said = [(named(path), line) for path in (*files(), *DOCUMENTS) for line in sentences_of(path)]
    assert [one for one in said if re.search(r"[^\W\d]’", one[1])] == []


def test_texts_need_at_most_eight_years_of_school() -> None:
    assert years(line for path in files() for line in sentences_of(path)) <= HARDEST


def test_t1_each_help_article_is_easy_to_read() -> None:
    articles = {named(path): years(sentences_of(path)) for path in (ROOT / "templates/help/articles").glob("*.html")}
    assert len(articles) > 10
    assert {name: grade for name, grade in articles.items() if grade > HARDEST} == {}


def sentences(page: str) -> list[str]:
    """Return the sentences of a Markdown page: of its paragraphs, list items and cells, without its code."""
    bare = re.sub(r"```.*?```|`[^`]*`|!?\[([^\]]*)\]\([^)]*\)", r" \1", page, flags=re.DOTALL)
    parts = re.split(r"\n\s*\n|^\s*(?:-|\d+\.) |\|", re.sub(r"[*_#>]", " ", bare), flags=re.MULTILINE)
    return [one for part in parts for one in re.split(r"(?<=[.?:;!])\s", " ".join(part.split()))]


PAGES = [path for path in [*DOCUMENTS, ROOT / "CHANGELOG.md"] if path.stat().st_size]


def test_each_document_is_easy_to_read() -> None:
    for path in PAGES:
        said = sentences(path.read_text())
        assert [line for line in said if len(line.split()) > LONGEST] == [], path
        assert years(said) <= HARDEST, path


# Phrases that a reader stumbled over and that must not come back.
RETIRED = re.compile(
    r"\be-mails?\b|\blog-ins?\b|something to put right|unwanted mail|has run out|needs a look|half-typed|"
    r"nothing of these|take away\b|nobody is found|read the rows|as the carrier sent it|where it has been|"
    r"what happened to the booking|parcel tools|don't use it any more|before it says yes|say yes or leave it|"
    r"take it anyway|^leave out$|goes? out twice|is meant to go twice|\bnet \$|send to the operator|"
    r"with the operator since|there are none before|10 % were|whose planned day is over|stays that|"
    r"is logged out at once|everybody's own choice|require it of everybody|single keys do something|"
    r"a person closes it|belongs to no business|open too long|stands at the top|is in no file|links that act for you|"
    r"began anew|that it arrived whole|news of your bookings|is remembered by itself|within United States|"
    r"by ignoring this|end all others|nobody decided|looked after by|nobody owns|what came back|goes on reading|"
    r"whose (?:it|they) (?:is|are)\b|"
    r"for want of time|"
    r"no operator any more|take the stop away|gave no scan|half-written down|somebody else changed|"
    r"not known whether booked|put in order|choose parcels, then|fault of ours|to put right\b|"
    r"sign (?:it )?out\b",
    re.IGNORECASE,
)


def test_no_retired_phrase_is_back() -> None:
    assert [(named(path), line) for path in files() for line in sentences_of(path) if RETIRED.search(line)] == []
