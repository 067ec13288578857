"""Words this project no longer uses, because the field has a proper term. A name or sentence with one of them fails."""

import ast
import io
import re
import tokenize
from collections.abc import Callable, Collection, Iterable
from pathlib import Path

from tests.test_names import DOCUMENTS, docstrings
from tools.texts import files, sentences_of, shown

ROOT = Path(__file__).resolve().parents[1]
CODE = [
    path
    for folder in ("shipping_portal", "orders", "tracking")
    for path in (ROOT / folder).rglob("*.py")
    if not {"migrations", "sandbox"} & set(path.parts)
]
# What was said, and what is said now.
RETIRED = {
    "nudge": "enqueue a job; a Question about goods",
    "journey": "a job; the shipments of a report",
    "stuck_work": "a dead letter",
    "noticing": "the outbox",
    "notice_choice": "a NotificationChoice",
    "fact_told": "an Event that notifies",
    "pulse": "a Heartbeat",
    "twin": "a duplicate",
    "brought": "a copy",
    "heeded": "the weight that is advised",
    "stray": "unowned",
    "reconcile": "the case of an unclear booking",
    "unadopting": "undoing an adoption",
    "folded": "normalised, of text; joined, of rows; details, of a page",
    "unfold": "separate",
    "told": "what it holds: the configured account, a summary, a header",
    "said": "what it holds: a document, a sentence, a value",
    "standing": "a status label, or the state of what is meant",
    "explaining": "the reasons of a line",
    "rewording": "the decision on a word",
    "probing": "a probe of the carrier",
    "second_order": "a duplicate booking",
    "came_to_nothing": "failed",
    "risen": "the price increased",
    "typed_again": "initial values",
    "as_typed": "initial values",
    "already_so": "an error that names what was refused",
    "acts_admin": "ActionsAdmin",
    "accounting": "an AdminAction, which writes the audit",
    "settle": "resolve, or record an outcome",
    "settled": "resolved",
    "settling": "recording",
    "unsettled": "unresolved",
    "owed": "due",
    "owe": "schedule, or make due",
    "desk": "the admin",
    "mend": "correct",
}
WORD = re.compile(f"_({'|'.join(RETIRED)})s?_")
STORED = {"DeskView"}  # its table has the name, too

# Names that several apps give.
SHARED = """
Command Confirmed addresses begin bookable decide_word delete_view is_known leave_out listed
local_time make_default merge_receivers normalise_word one_line orders_of page plain read read_day read_number
save save_view send_due_mail shown style_sheet suggest_receivers to_print try_again wait_after
"""


def parts(name: str) -> str:
    """Return the words of a name in lower case with an underscore at each end: `NoticeChoice` is `_notice_choice_`."""
    return f"_{re.sub(r'(?<=[a-z0-9])(?=[A-Z])', '_', name).lower().strip('_')}_"


def named(path: Path) -> set[str]:
    """Return every name a module defines: its own, and those of functions, classes, parameters and variables."""
    found = {path.stem}
    for node in ast.walk(ast.parse(path.read_text())):
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.arg(arg=name):
                found.add(name)
            case ast.Name(id=name, ctx=ast.Store()):
                found.add(name)
    return found


def test_no_name_brings_a_retired_word_back() -> None:
    names = [(str(path.relative_to(ROOT)), name) for path in CODE for name in named(path) - STORED]
    back = {where: RETIRED[found[1]] for where in names if (found := WORD.search(parts(where[1])))}
    assert back == {}


def app(path: Path) -> str:
    place = path.relative_to(ROOT).parts
    return place[1] if place[0] == "shipping_portal" and len(place) > 2 else place[0]


def test_no_public_name_is_used_in_two_apps_except_listed_ones() -> None:
    """Listed names are normal in any app and are read with their module: `statements.page`, `keyset.page`."""
    givers: dict[str, set[str]] = {}
    for path in CODE:
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
                givers.setdefault(node.name, set()).add(app(path))
    assert {name for name, apps in givers.items() if len(apps) > 1} == set(SHARED.split())


# In sentences: what was said, and what is said now.
PROSE = {
    "all the same": "still, or anyway",
    "anew": "again",
    "chores?": "a periodic task",
    "couriers?": "the sender of webhooks, in the sandbox",
    "crew": "the processes",
    "desk": "the admin",
    "doors?": "an entry point",
    "e-mails?": "an email",
    "haste": "load",
    "heeded": "advised",
    "in vain": "failed, or without success",
    "log-ins?": "a login",
    "looks? whether": "checks whether",
    "meanwhile": "in that time, or what happened",
    "meddlers?": "a fault",
    "mend(?:s|ed|ing)?": "correct",
    "mischief": "faults",
    "no more do": "no longer do",
    "nobody's": "without an owner",
    "owed": "due",
    "pretend": "the sandbox carrier",
    "put right": "corrected",
    "since when": "when it began, or from when on",
    "stands": "is",
    "told": "notified, recorded, or what was said",
    "twin": "a duplicate",
    "what(?:ever)? became of": "the outcome, or what happened to",
    "whoever": "the person, code or process that",
    "whomever": "anybody who",
}
# Pages say these to people.
IN_PAGES = {"stands", "told"}
TEMPLATES = sorted(path for path in (ROOT / "templates").rglob("*") if path.suffix in {".html", ".txt"})


def in_prose(text: str, allowed: Collection[str] = ()) -> list[str]:
    """Return the retired words of a text, without those in its code."""
    plain = re.sub(r"```.*?```|`[^`]*`|\]\([^)]*\)", " ", text, flags=re.DOTALL)
    retired = "|".join(word for word in PROSE if word not in allowed)
    return re.findall(rf"(?<![\w/-])(?:{retired})(?![\w/-])", plain, re.IGNORECASE)


def comments(text: str) -> list[str]:
    found = tokenize.generate_tokens(io.StringIO(text).readline)
    return [token.string for token in found if token.type == tokenize.COMMENT]


def prose_of_code(text: str) -> str:
    return "\n\n".join([*docstrings(ast.parse(text)), *comments(text)])


def test_no_document_brings_a_retired_word_back() -> None:
    paths = [*DOCUMENTS, ROOT / "CHANGELOG.md"]
    assert brought_back(paths, lambda text: text) == {}


def test_no_docstring_or_comment_brings_one_back() -> None:
    assert brought_back(CODE, prose_of_code) == {}


def test_no_page_brings_one_back() -> None:
    assert brought_back(TEMPLATES, shown, IN_PAGES) == {}


def test_no_message_email_or_title_uses_a_retired_word() -> None:
    """This covers strings in the code: pages, emails, and the output of commands and checks."""
    allowed = PROSE.keys() - {"desk"}
    said = {path: "\n".join(sentences_of(path)) for path in files()}
    assert {str(path): words for path, text in said.items() if (words := in_prose(text, allowed))} == {}


TESTS = sorted(path for path in (ROOT / "tests").rglob("*.py") if "snapshots" not in path.parts)


SCRIPTS = sorted(path for path in (ROOT / "static").iterdir() if path.suffix in {".css", ".js"})
SCRIPT_COMMENT = re.compile(r"/\*.*?\*/|(?<![:\"'])//[^\n]*", re.DOTALL)


def test_no_docstring_or_comment_of_a_test_brings_one_back() -> None:
    assert brought_back(TESTS, prose_of_code) == {}


def test_no_comment_of_a_script_or_stylesheet_brings_one_back() -> None:
    assert brought_back(SCRIPTS, lambda text: "\n".join(SCRIPT_COMMENT.findall(text))) == {}


def brought_back(
    paths: Iterable[Path], prose: Callable[[str], str], allowed: Collection[str] = ()
) -> dict[str, list[str]]:
    found = {str(path.relative_to(ROOT)): in_prose(prose(path.read_text()), allowed) for path in paths}
    return {name: words for name, words in found.items() if words}
