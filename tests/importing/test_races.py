"""Two people act on one file at the same instant, on PostgreSQL, where races are real."""

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest
from django.conf import settings
from django.db import connections
from django.utils import timezone

from shipping_portal.accounts.models import Sender, User
from shipping_portal.importing import booking, checking, keeping, submitting
from shipping_portal.importing.models import Import, ImportRow
from tests import factories

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.postgres,
    pytest.mark.skipif("sqlite" in settings.DATABASES["default"]["ENGINE"], reason="SQLite lets one writer in"),
]


@pytest.fixture
def beside(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that starts `act` in another connection as soon as a function has returned."""
    pool = ThreadPoolExecutor(1)

    def start(module: Any, name: str, act: Callable[[], Any]) -> list[Future[Any]]:
        begun, real = list[Future[Any]](), getattr(module, name)

        def run() -> Any:
            try:
                return act()
            finally:
                connections.close_all()

        def slowed(*args: Any, **named: Any) -> Any:
            answer = real(*args, **named)
            if not begun:
                begun.append(pool.submit(run))
                time.sleep(0.3)  # it ends by then, unless it waits for a lock
            return answer

        monkeypatch.setattr(module, name, slowed)
        return begun

    yield start
    pool.shutdown()


def test_a_file_removed_while_a_colleague_books_its_rows_for_the_next_day_books_none(
    beside: Any, quill: Sender, alice: User
) -> None:
    row = factories.import_row(
        quill, alice, state="failed", problems={"pickup_date": ["Passed."]}, quote=factories.quote(quill, alice)
    )
    file = row.file
    booked = beside(keeping, "may_delete", lambda: booking.book_next_day(file, by=alice, now=timezone.now()))
    assert keeping.delete_or_archive(file, timezone.now())
    assert booked[0].result() == 0


def test_columns_matched_again_while_the_file_is_booked_stay_as_they_are(
    beside: Any, quill: Sender, alice: User
) -> None:
    quote = factories.quote(quill, alice)
    row = factories.import_row(quill, alice, state="ready", problems={}, quote=quote)
    file = Import.objects.get(pk=row.file_id)
    matched = beside(submitting, "_make_due", lambda: checking.begin(file, file.columns, {}, timezone.now()))
    assert submitting.begin(row.file, submitting.Press("cheapest", alice, timezone.now())) == 1
    assert matched[0].result() is False
    assert ImportRow.objects.get().state == "owed"
