"""Each name, path and link in a document exists, and so does each name in a docstring."""

import ast
import functools
import re
import subprocess
from pathlib import Path

from tests.product_files import CODE, ROOT, named

DOCUMENTS = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "deploy/README.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
QUOTED = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
LINK = re.compile(r"\]\(([\w/.-]+)(?:#[\w-]+)?\)")
IDENTIFIER = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*(?:\(\))?")
ENDINGS = "py|md|html|toml|yml|yaml|sh|conf|ini|js|css|svg|json"
PLACE = re.compile(rf"([\w.-]+(?:/[\w.-]+)*(?:\.(?:{ENDINGS})|/))(?:: (\w+))?")
WORD = re.compile(r"[a-z]+")
STEP = re.compile(r"^([a-z_]+) +\((?:web|worker|admin)\)", re.MULTILINE)
DOTTED = re.compile(r"(?<![\w./`@=])([a-z_]+)\.([a-z_]+)(?![\w./])")

# Names defined by other programs: the ends of our settings' names, PgBouncer's command, CUPS, Linux and Python.
OTHERS = {"id_token_hint", "_LINK_KEY", "RECONNECT", "SO_REUSEPORT", "PreserveJobHistory", "setswitchinterval"}
# Words of Python and Django, and values, which a module can name without using them.
PLAIN = {
    *("booking", "createsuperuser", "dang", "dark", "data", "defer", "icontains", "iexact", "initial"),
    *("light", "match", "migrate", "repr", "save", "vic", "zoe"),
}


@functools.cache
def tracked() -> list[str]:
    files = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)  # noqa: S607
    return files.stdout.splitlines()


@functools.cache
def words_of_the_tree() -> frozenset[str]:
    """Return every word of the project, except those of its documents and data."""
    found: set[str] = set()
    for path in (ROOT / name for name in tracked()):
        if path.is_file() and path.suffix not in {".md", ".png", ".csv", ".json", ".jsonl", ".gz"}:
            found |= set(re.findall(r"\w+", path.read_text(errors="replace")))
    return frozenset(found)


def is_missing(quoted: str, words: frozenset[str]) -> bool:
    """Return whether a quoted path, or a name in it, or an identifier doesn't exist."""
    if found := PLACE.fullmatch(quoted):
        path, name = found[1].rstrip("/"), found[2]
        files = [one for one in tracked() if f"/{one}".endswith(f"/{path}") or f"/{path}/" in f"/{one}"]
        return not any(name is None or name in (ROOT / one).read_text() for one in files)
    parts = re.findall(r"\w+", quoted) if IDENTIFIER.fullmatch(quoted) else []
    return not words.issuperset(set(parts) - OTHERS)


def test_a_document_names_only_what_exists() -> None:
    words = words_of_the_tree()
    for path in DOCUMENTS:
        text = path.read_text()
        assert [one for one in QUOTED.findall(text) if is_missing(one, words)] == [], path
        assert [one for one in LINK.findall(text) if not (path.parent / one).exists()] == [], path


def docstrings(tree: ast.AST) -> list[str]:
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)]
    return [text for node in nodes if (text := ast.get_docstring(node, clean=False))]


def words_of(tree: ast.AST) -> frozenset[str]:
    """Return a module's words without those of its docstrings and comments."""
    explained = set(docstrings(tree))
    found: set[str] = set()
    for node in ast.walk(tree):
        for _, value in ast.iter_fields(node):
            if isinstance(value, str) and value not in explained:
                found |= set(re.findall(r"\w+", value))
    return frozenset(found)


def test_a_docstring_names_only_what_exists() -> None:
    """A word in lower case, such as a parameter, must be used in the module itself."""
    found = {named(path): missing_names(path) for path in CODE}
    assert {name: missing for name, missing in found.items() if missing} == {}


def missing_names(path: Path) -> list[str]:
    tree = ast.parse(path.read_text())
    own = words_of(tree) | PLAIN
    quoted = [one for text in docstrings(tree) for one in QUOTED.findall(text)]
    missing = [one for one in quoted if is_missing(one, own if WORD.fullmatch(one) else words_of_the_tree())]
    steps = STEP.findall(ast.get_docstring(tree) or "")
    return missing + [one for one in steps if one not in own] + missing_members(path, tree)


def missing_members(path: Path, tree: ast.AST) -> list[str]:
    """Return names such as `module.function` of our modules, quoted or not, that don't exist."""
    comments = [line for line in path.read_text().splitlines() if line.lstrip().startswith("#")]
    found = [pair for text in (*docstrings(tree), *comments) for pair in DOTTED.findall(text)]
    return [".".join(pair) for pair in found if not exists(*pair)]


def exists(module: str, name: str) -> bool:
    files = [ROOT / one for one in tracked() if one.endswith(f"/{module}.py") and not one.startswith("tests/")]
    return not files or name == "py" or any(re.search(rf"\b{name}\b", file.read_text()) for file in files)
