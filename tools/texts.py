"""Print every text that people read, one per line after its file: `python -m tools.texts`.

That covers pages, emails, messages, scripts and the run-book.
"""

import ast
import functools
import html
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
APPS = ("shipping_portal", "orders", "tracking")
UNREAD = {"migrations", "sandbox"}  # folders with strings that no person reads
NO_WORDS = re.compile(
    r"{%\s*comment.*?endcomment\s*%}|{#.*?#}|<!--.*?-->|<(script|style|code|pre)\b.*?</\1>|```.*?```"
    r"|{%\s*block body_?class\s*%}.*?{%\s*endblock",
    re.DOTALL,
)
END_OF_A_TEXT = re.compile(
    r"</(?:p|li|h\d|dt|dd|td|th|label|legend|summary|button|option|title|small|div)>|<br>|\n\s*\n|\n[-#|*]|\|"
)
A_FEW_WORDS = re.compile(r"[A-Z][a-z’']+(?: [a-z’',-]+)+")  # neither a name nor an address
# What is before a full stop. Matched from its start only: a search takes seconds in a table of countries.
A_SENTENCE = re.compile(r"[^A-Z]*[A-Z].*\s.", re.DOTALL)


def files() -> list[Path]:
    """Return the files with texts: templates, scripts, modules, README and the run-book."""
    kinds = [("templates", "*.html"), ("templates", "*.txt"), ("static", "*.js"), ("deploy", "*.md")]
    found = [path for folder, kind in kinds for path in (ROOT / folder).rglob(kind)]
    found += [path for app in APPS for path in (ROOT / app).rglob("*.py") if not UNREAD & set(path.parts)]
    return sorted([*found, ROOT / "README.md"])


@functools.cache
def sentences_of(path: Path) -> tuple[str, ...]:
    """Return the sentences in a file's texts."""
    return tuple(split(texts(path)))


def texts(path: Path) -> Iterable[str]:
    """Return a file's texts without markup; inserted values are ` x `."""
    if path.suffix == ".py":
        return _of_a_module(ast.parse(path.read_text()))
    if path.suffix == ".js":
        return [
            one or other
            for one, other in re.findall(r'"([A-Z][^"\n]* [^"\n]*)"|`([A-Z][^`\n]* [^`\n]*)`', path.read_text())
        ]
    return shown(path.read_text()).split("¶")


def shown(template: str) -> str:
    """Return the text of a template or Markdown page; `¶` ends a paragraph."""
    bare = END_OF_A_TEXT.sub(" ¶ ", NO_WORDS.sub(" ", template))
    bare = re.sub(r"{%.*?%}|{{.*?}}", " x ", bare, flags=re.DOTALL)
    return html.unescape(re.sub(r"<[^>]*>", " ", bare))


def split(paragraphs: Iterable[str]) -> Iterator[str]:
    for paragraph in paragraphs:
        for part in re.split(r"(?<=[.?:;])\s", paragraph):
            if (words := " ".join(part.replace(" x ", " ").split())) and re.search(r"[A-Za-z]", words):
                yield words


def _of_a_module(tree: ast.Module) -> Iterator[str]:
    """Yield a module's strings for people, without docstrings and log events."""
    quiet = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            quiet |= {id(part) for part in node.values}
            text = "".join(str(part.value) if isinstance(part, ast.Constant) else " x " for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in quiet:
            text = node.value
        else:
            continue
        if is_spoken(text):
            yield from re.split(r"¶| {3,}", shown(text))


def is_spoken(text: str) -> bool:
    """Return whether a string holds a sentence or a few words after a capital."""
    *ended, _ = re.split("[.?]", text)
    return bool(A_FEW_WORDS.search(text)) or any(map(A_SENTENCE.match, ended))


def main() -> None:
    for path in files():
        for sentence in sentences_of(path):
            print(f"{path.relative_to(ROOT)}: {sentence}")


if __name__ == "__main__":
    main()
