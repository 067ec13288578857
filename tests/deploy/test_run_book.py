"""The run-book names only things that exist: commands, settings, services, and each queue by name and in order."""

import datetime as dt
import re

import pytest
from django.contrib import admin
from django.core.management import get_commands
from django.utils import timezone

from shipping_portal.accounts.adminkit.queues import AT_ONCE, DAY, NOW, WEEK
from shipping_portal.staff import queues
from tests.deploy.compose import FILE, ROOT

RUN_BOOK = (ROOT / "deploy/README.md").read_text()
DAILY = RUN_BOOK.partition("## Every day")[2].partition("\n## ")[0]


TERMS = {
    "now": NOW,
    "at once": AT_ONCE,
    "1 hour": dt.timedelta(hours=1),
    "2 hours": dt.timedelta(hours=2),
    "4 hours": dt.timedelta(hours=4),
    "today": DAY,
    "this week": WEEK,
    "37 days after it was asked": dt.timedelta(days=37),
}


@pytest.mark.django_db
def test_each_queue_is_named_in_the_admins_order_with_its_time_limit() -> None:
    """The time limit is the one after which the queue is overdue and alerts."""
    rows = re.findall(r"^\| ([^|]+) \| [^|]+ \| [^|]+ \| ([^|]+) \|$", DAILY, re.MULTILINE)[2:]
    seen = [(title, TERMS[re.split("[:,]", soon)[0]]) for title, soon in rows]
    assert seen == [(queue.title, queue.term) for queue in queues.waiting_queues(timezone.now())]


def test_each_other_alert_is_named_with_its_severity() -> None:
    source = (ROOT / "shipping_portal/staff/alerts/conditions.py").read_text()
    sent = re.findall(r'Condition\(\s*"([\w-]+)",.*?Severity\.(\w+)', source, re.DOTALL)
    sent += re.findall(r'\("(certificate[\w-]*)", Severity\.(\w+)', source)
    table = RUN_BOOK.partition("## Alerts")[2].partition("\n## ")[0]
    seen = re.findall(r"^\| `([\w-]+)` \| [^|]+ \| `(\w+)` \|$", table, re.MULTILINE)
    assert sorted(seen) == sorted((name, severity.lower()) for name, severity in sent)


def test_every_command_in_it_exists() -> None:
    found = re.findall(r"(?:`|^    )portal ([a-z]\w+)|manage\.py ([a-z]\w+)", RUN_BOOK, re.MULTILINE)
    given = {one or other for one, other in found}
    assert {"after_restore", "backup_taken", "check", "createsuperuser", "sendtestemail", "trace"} <= given
    assert given <= get_commands().keys()
    for script in re.findall(r"deploy/[\w-]+\.sh", RUN_BOOK):
        assert (ROOT / script).stat().st_mode & 0o100, script
    assert "./dev" not in RUN_BOOK


def test_every_setting_in_it_is_explained() -> None:
    files = [ROOT / ".env.example", ROOT / "deploy/compose.yaml", *(ROOT / "deploy").glob("*.sh")]
    explained = "".join(file.read_text() for file in files)
    for name in set(re.findall(r"`([A-Z]+(?:_[A-Z]+)+)\b", RUN_BOOK)):
        assert re.search(rf"\b{name}\b", explained), name


def test_every_name_in_italics_is_on_a_page_or_is_a_heading() -> None:
    """At night nobody guesses which button is meant: queues, buttons and states have exactly these names."""
    text = re.sub(r"^    .*$|`[^`]*`", "", RUN_BOOK, flags=re.MULTILINE)
    named = {" ".join(name.split()) for name in re.findall(r"(?<![\w*])\*([^*\n]+)\*(?![\w*])", text)}
    documents = [RUN_BOOK, *(file.read_text() for file in (ROOT / "CHANGELOG.md", ROOT / "docs/carriers.md"))]
    headings = set(re.findall(r"^(?:#+ |\*\*)([^*\n]+)", "\n".join(documents), re.MULTILINE))
    files = (file for room in ("orders", "shipping_portal", "tracking") for file in (ROOT / room).rglob("*.py"))
    words = {word.partition(";")[0] for file in files for word in re.findall(r'"([^"\n]+)"', file.read_text())}
    shown = "".join(file.read_text() for file in (ROOT / "templates").rglob("*.html"))
    words |= set(re.findall(r">([^<>{}\n]+)<", shown))
    pages = admin.site._registry.items()
    actions = {action.label for _, page in pages for action in getattr(page, "admin_actions", ())}
    lists = {str(model._meta.verbose_name_plural).capitalize() for model, _ in pages}
    assert named - headings - words - actions - lists - TERMS.keys() == set()


def test_every_service_in_it_is_in_the_compose_file() -> None:
    used = re.findall(r"compose (?:exec|restart|stop|logs)((?: (?!--)[\w-]+)+)", RUN_BOOK)
    named = {used_words.split()[0] for used_words in used} | {"web-a", "web-b", "worker", "sweeper"}
    assert named <= FILE["services"].keys()
    options = r"(?:run --rm(?: --no-deps)?(?:\s+--volume \S+)?|up --detach --no-deps --wait)"
    for name in re.findall(rf"compose {options} ([a-z][\w-]*)", RUN_BOOK):
        assert name in FILE["services"]
