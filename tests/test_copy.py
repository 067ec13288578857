"""T1: every word that people read is calm, plain and ours: templates, mails, and the sentences in the code."""

import ast
import html
import re
from collections.abc import Iterator
from pathlib import Path

from tests.table import table
from tests.test_conventions import CODE, ROOT, named

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
SPOKEN = re.compile(r"[A-Z][^.?]*\s[^.?]+[.?]")  # a sentence, as opposed to a name or an address
LONGEST = 32  # words in one sentence
HARDEST = 8.0  # years at school


def shown(template: str) -> str:
    """What a template says, without what it is made of; the end of a paragraph ends a sentence."""
    bare = re.sub(
        r"{%\s*comment.*?endcomment\s*%}|{#.*?#}|<(script|style|code|pre)\b.*?</\1>", " ", template, flags=re.DOTALL
    )
    bare = re.sub(r"</(p|li|h\d|dt|dd|td|th|label|legend|summary|button|option|title|small|div)>|<br>", " ¶ ", bare)
    bare = re.sub(r"{%.*?%}|{{.*?}}", " x ", bare, flags=re.DOTALL)
    return html.unescape(re.sub(r"<[^>]*>", " ", bare))


def sentences(text: str) -> Iterator[str]:
    for part in re.split(r"¶|(?<=[.?:;])\s", text):
        if words := " ".join(part.replace(" x ", " ").split()):
            yield words


def spoken(path: Path) -> Iterator[str]:
    """The sentences among a module's strings; not what explains it to its readers, and not what SQL or a log says."""
    tree = ast.parse(path.read_text())
    quiet = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str) or id(node) in quiet:
            continue
        if SPOKEN.search(node.value) and "\n" not in node.value:
            yield node.value


def years(text: str) -> float:
    """The grade of Flesch and Kincaid, by counting groups of vowels."""
    lines = [line for line in sentences(text) if len(line.split()) > 2]
    words = [word for line in lines for word in re.findall(r"[A-Za-z']+", line)]
    syllables = sum(
        max(1, len(re.findall(r"[aeiouy]+", re.sub(r"(?<!l)e$|es$|ed$", "", word.lower())))) for word in words
    )
    return 0.39 * len(words) / len(lines) + 11.8 * syllables / len(words) - 15.59


@table("path", TEMPLATES, ids=named)
def test_t1_a_template_is_calm_and_names_no_other_carrier(path: Path) -> None:
    words = shown(path.read_text())
    assert not CALM.search(words)
    assert not BRANDS.search(words)
    assert [line for line in sentences(words) if len(line.split()) > LONGEST] == []


def test_t1_so_are_the_sentences_in_the_code_and_in_the_scripts() -> None:
    said = [(named(path), text) for path in CODE if "sandbox" not in path.parts for text in spoken(path)]
    for path in SCRIPTS:
        strings = re.findall(r'"([A-Z][^"\n]*\.)"|`([A-Z][^`\n]*\.)`', path.read_text())
        said += [(named(path), double or template) for double, template in strings]
    assert len(said) > 200
    assert [one for one in said if CALM.search(one[1]) or BRANDS.search(one[1])] == []
    assert [one for one in said for line in sentences(one[1]) if len(line.split()) > LONGEST] == []


@table("path", sorted((ROOT / "templates/help/articles").glob("*.html")), ids=named)
def test_t1_an_article_asks_for_eight_years_of_school(path: Path) -> None:
    assert years(shown(path.read_text())) <= HARDEST
