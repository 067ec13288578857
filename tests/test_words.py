"""Words this code has given up: the field has a term for each. A name that brings one back fails here."""

import ast
import re
from pathlib import Path

from tests.table import table

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
    "brought": "a Prefill",
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
}
WORD = re.compile(f"_({'|'.join(RETIRED)})s?_")

# Names that several apps give.
SHARED = """
Command accept active addresses again age begin billed bookable cell cells change choices choose confirm
counted delete find fingerprint is_known joined judge known leave_out listed look make_default matching money
move name normalise note of orders_of outcome page pause plain preview read reason release report resume rows
save scrub settle shown store stream take text to_print totals try_again try_later unknown wait_after
waiting watched work
"""


def parts(name: str) -> str:
    """The words of a name, in small letters, with a bar at each end: `NoticeChoice` is `_notice_choice_`."""
    return f"_{re.sub(r'(?<=[a-z0-9])(?=[A-Z])', '_', name).lower().strip('_')}_"


def named(path: Path) -> set[str]:
    """Every name that a module gives: its own, its functions', classes', parameters' and variables'."""
    found = {path.stem}
    for node in ast.walk(ast.parse(path.read_text())):
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.arg(arg=name):
                found.add(name)
            case ast.Name(id=name, ctx=ast.Store()):
                found.add(name)
    return found


@table("path", CODE, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_name_brings_a_retired_word_back(path: Path) -> None:
    back = {name: RETIRED[found[1]] for name in named(path) if (found := WORD.search(parts(name)))}
    assert back == {}


def app(path: Path) -> str:
    place = path.relative_to(ROOT).parts
    return place[1] if place[0] == "shipping_portal" and len(place) > 2 else place[0]


def test_no_public_name_is_given_in_two_apps_but_the_listed_ones() -> None:
    """What a module of each app has anyway, and is read with its module in front: `statements.page`, `keyset.page`."""
    givers: dict[str, set[str]] = {}
    for path in CODE:
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
                givers.setdefault(node.name, set()).add(app(path))
    assert {name for name, apps in givers.items() if len(apps) > 1} == set(SHARED.split())
