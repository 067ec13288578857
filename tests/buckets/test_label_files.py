"""Labels in a bucket of an S3-compatible store: checked when served, and deleted once no row needs them."""

import datetime as dt
import hashlib
import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from orders.labels import fetching, files, moving, originals
from orders.models import BucketFile, Label, LabelBytes, Order
from shipping_portal.carrier.messages import LabelFile
from shipping_portal.db import bucket
from shipping_portal.jobs import erasing
from shipping_portal.ops import bucket_checks
from tests import factories
from tests.buckets.conftest import Store
from tests.pages.typed import text

pytestmark = pytest.mark.django_db

CONTENT = b"%PDF-1.4 a label of the bucket %%EOF"
SHA256 = hashlib.sha256(CONTENT).hexdigest()
KEY = f"labels/{SHA256}"
Visit = Callable[[Any], Client]


@pytest.fixture
def order(quill: Any, alice: Any) -> Order:
    return factories.order(quill, alice, status="booked", progress="collected", progress_at=timezone.now())


def due(order: Order, size: str = "full") -> Label:
    return Label.objects.create(order=order, size=size, due_at=timezone.now(), address="https://carrier.example/1")


def stored(label: Label, content: bytes = CONTENT) -> Label:
    fetching.store(label, LabelFile(content, hashlib.sha256(content).hexdigest()), at=timezone.now())
    label.refresh_from_db()
    return label


def sweep() -> None:
    """Process the files that are due, without waiting for their time."""
    BucketFile.objects.filter(due_at__isnull=False).update(due_at=timezone.now())
    for pk in BucketFile.objects.values_list("pk", flat=True):
        files.delete_unnamed(pk)


def address(label: Label) -> str:
    return f"/parcels/{label.order.uuid}/label/{label.size}.pdf"


# -- Stored and served ---------------------------------------------------------------------------


def test_a_label_is_stored_under_its_sha256_and_its_row_has_the_address(order: Order, store: Store) -> None:
    label = stored(due(order))
    assert store.files() == {KEY: CONTENT}
    row = LabelBytes.objects.get(label=label)
    assert (row.address, bytes(row.content)) == (KEY, b"")
    assert (label.state, label.sha256, label.length) == ("stored", SHA256, len(CONTENT))
    assert label.intact_bytes() == CONTENT


def test_without_the_setting_the_bytes_are_in_the_database(order: Order) -> None:
    label = stored(due(order))
    row = LabelBytes.objects.get(label=label)
    assert (row.address, bytes(row.content)) == ("", CONTENT)
    assert not BucketFile.objects.exists()


def test_a_label_is_served_as_it_was_stored(order: Order, alice: Any, visit: Visit, store: Store) -> None:
    label = stored(due(order))
    answer = visit(alice).get(address(label))
    assert (answer.status_code, answer.content) == (200, CONTENT)
    label.refresh_from_db()
    assert label.served_at is not None


@pytest.mark.parametrize("damage", ["changed", "cut", "missing"])
def test_a_damaged_file_is_never_served(
    order: Order, alice: Any, visit: Visit, store: Store, caplog: pytest.LogCaptureFixture, damage: str
) -> None:
    label = stored(due(order))
    store.empty()
    if damage != "missing":
        store.write(KEY, b"X" + CONTENT[1:] if damage == "changed" else CONTENT[:-1])
    with caplog.at_level(logging.ERROR):
        answer = visit(alice).get(address(label))
    assert answer.status_code == 500
    assert "This label file no longer matches the carrier's original" in text(answer)
    assert "does not match its sha256" in caplog.text


def test_the_same_bytes_written_again_change_nothing(order: Order, store: Store) -> None:
    both = [stored(due(order, size)) for size in ("full", "cropped")]
    assert store.files() == {KEY: CONTENT}
    assert [label.intact_bytes() for label in both] == [CONTENT, CONTENT]
    assert BucketFile.objects.get().due_at is None


def test_the_file_is_written_before_the_row_says_stored(
    order: Order, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []
    put = bucket.put_file

    def watched(key: str, content: bytes) -> None:
        seen.append(Label.objects.get().state)
        put(key, content)

    monkeypatch.setattr(bucket, "put_file", watched)
    stored(due(order))
    assert seen == ["pending"]


# -- An outage -----------------------------------------------------------------------------------


def test_a_label_waits_while_the_bucket_is_away(
    order: Order, away: None, line_of: Callable[..., None], alice: Any, visit: Visit
) -> None:
    label = due(order)
    line_of(LabelFile(CONTENT, SHA256))
    fetching.fetch_due_label(label.pk)
    label.refresh_from_db()
    assert (label.state, label.problem, label.tries) == ("pending", "We couldn't store the label.", 1)
    assert label.due_at
    assert label.due_at > timezone.now()
    assert label.address == "https://carrier.example/1"  # it is fetched there again
    assert not LabelBytes.objects.exists()
    assert visit(alice).get(address(label)).status_code == 404


@pytest.fixture
def line_of(monkeypatch: pytest.MonkeyPatch) -> Callable[[LabelFile], None]:
    """`line_of(file)` makes the carrier reply with this file when a label is fetched."""

    class Answers:
        def __init__(self, file: LabelFile, contract: Any) -> None:
            self.file, self.contract = file, contract

        def label(self, link: Any) -> LabelFile:
            return self.file

    def use(file: LabelFile) -> None:
        contract = fetching.contract_of(factories.account())
        monkeypatch.setattr(fetching, "_client_for", lambda label: Answers(file, contract))

    return use


def test_a_stored_label_is_unavailable_while_the_bucket_is_down(
    order: Order, store: Store, alice: Any, visit: Visit, settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    label = stored(due(order))
    settings.LABEL_BUCKET_URL = "http://127.0.0.1:9"
    answer = visit(alice).get(address(label))
    assert answer.status_code == 503
    words = text(answer)
    assert (
        "can't be opened right now We have it, but can't read it right now. Open this page again in a moment." in words
    )
    assert "The parcel is booked; don't book it again." in words
    assert "canary-bucket-secret" not in caplog.text
    label.refresh_from_db()
    assert label.served_at is None
    settings.LABEL_BUCKET_URL = store.url
    assert visit(alice).get(address(label)).content == CONTENT


def test_an_archive_names_a_label_that_could_not_be_read(order: Order, store: Store, alice: Any, settings: Any) -> None:
    label = stored(due(order))
    settings.LABEL_BUCKET_URL = "http://127.0.0.1:9"
    contents = originals.Contents()
    assert originals.serve_label(label, order, contents, at=timezone.now()) is None
    assert "We couldn't read the file right now" in contents.missing[0]


# -- Deleted -------------------------------------------------------------------------------------


def test_retention_deletes_the_file_after_the_row(order: Order, store: Store) -> None:
    label = stored(due(order))
    long_ago = timezone.now() - dt.timedelta(days=91)
    Order.objects.update(progress="delivered", progress_at=long_ago)
    call_command("retention")
    assert not LabelBytes.objects.exists()
    assert store.files() == {KEY: CONTENT}  # somebody may be reading it
    assert BucketFile.objects.get().due_at > timezone.now()
    sweep()
    assert store.files() == {}
    assert not BucketFile.objects.exists()
    label.refresh_from_db()
    assert label.sha256 == SHA256


def test_erasing_deletes_the_file(order: Order, store: Store) -> None:
    stored(due(order))
    erasing.erase({"order": [order.pk]})
    sweep()
    assert store.files() == {}


def test_a_preview_of_erasing_deletes_nothing(order: Order, store: Store) -> None:
    label = stored(due(order))
    erasing.preview({"order": [order.pk]})
    sweep()
    assert label.intact_bytes() == CONTENT


def test_a_file_that_another_row_uses_is_kept(order: Order, store: Store) -> None:
    full, cropped = (stored(due(order, size)) for size in ("full", "cropped"))
    files.forget(LabelBytes.objects.filter(label=full))
    sweep()
    assert cropped.intact_bytes() == CONTENT
    files.forget(LabelBytes.objects.filter(label=cropped))
    sweep()
    assert store.files() == {}


def test_a_file_is_deleted_once_the_bucket_is_back(order: Order, store: Store, settings: Any) -> None:
    files.forget(LabelBytes.objects.filter(label=stored(due(order))))
    settings.LABEL_BUCKET_URL = "http://127.0.0.1:9"
    sweep()
    assert BucketFile.objects.get().tries == 1
    settings.LABEL_BUCKET_URL = store.url
    sweep()
    assert store.files() == {}


def test_a_file_whose_label_was_never_stored_is_deleted(order: Order, store: Store) -> None:
    """The worker died after writing the file, or somebody erased the parcel at that moment."""
    label = due(order)
    Label.objects.update(purged_at=timezone.now())
    stored(label)
    assert store.files() == {KEY: CONTENT}
    sweep()
    assert store.files() == {}


def test_no_label_can_refer_to_a_file_that_is_being_deleted(
    order: Order, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    uploaded = files.upload(CONTENT, SHA256)
    label, delete = due(order), bucket.delete_file

    def first(key: str) -> None:
        with pytest.raises(bucket.OutOfReach):
            files.name_file(uploaded)
        with pytest.raises(bucket.OutOfReach):
            files.upload(CONTENT, SHA256)
        delete(key)

    monkeypatch.setattr(bucket, "delete_file", first)
    sweep()
    assert not LabelBytes.objects.exists()
    with pytest.raises(bucket.OutOfReach):
        files.name_file(uploaded)
    assert stored(label).intact_bytes() == CONTENT


def test_a_late_worker_leaves_a_file_to_the_one_that_deletes_it_by_now(
    order: Order, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise a label could be stored just before the other worker deletes its file."""
    files.upload(CONTENT, SHA256)
    delete, later = bucket.delete_file, timezone.now() + dt.timedelta(hours=1)

    def claimed_meanwhile(key: str) -> None:
        delete(key)
        BucketFile.objects.update(due_at=later)

    monkeypatch.setattr(bucket, "delete_file", claimed_meanwhile)
    sweep()
    assert BucketFile.objects.values_list("is_ending", "due_at").get() == (True, later)
    with pytest.raises(bucket.OutOfReach):
        stored(due(order))


def test_a_file_that_a_label_has_just_referred_to_is_not_deleted(
    order: Order, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    uploaded = files.upload(CONTENT, SHA256)
    renew = BucketFile.renew

    def named_first(self: BucketFile, *words: Any, **changes: Any) -> bool:
        files.name_file(uploaded)
        return renew(self, *words, **changes)

    monkeypatch.setattr(BucketFile, "renew", named_first)
    sweep()
    assert store.files() == {KEY: CONTENT}
    assert BucketFile.objects.get().is_ending is False


# -- Moved ---------------------------------------------------------------------------------------


@pytest.fixture
def three(quill: Any, alice: Any, monkeypatch: pytest.MonkeyPatch) -> list[Label]:
    """Labels in the database, more than fit in one block."""
    monkeypatch.setattr(moving, "BLOCK", 2)
    orders = [factories.order(quill, alice, status="booked") for _ in range(3)]
    return [factories.stored_label(one, content=b"%%PDF-1.4 %d" % number) for number, one in enumerate(orders)]


def test_labels_move_into_the_bucket_and_back(three: list[Label], store: Store, capsys: Any) -> None:
    for _ in range(2):
        call_command("label_files", "to-bucket")
        assert len(store.files()) == 3
        assert {bytes(row.content) for row in LabelBytes.objects.all()} == {b""}
        assert [label.intact_bytes() for label in three] == [b"%%PDF-1.4 %d" % number for number in range(3)]
    assert capsys.readouterr().out.split("\n")[1:3] == ["3 moved", "Nothing to move."]
    for _ in range(2):
        call_command("label_files", "to-database")
        assert [label.intact_bytes() for label in three] == [b"%%PDF-1.4 %d" % number for number in range(3)]
    sweep()
    assert store.files() == {}
    assert not LabelBytes.objects.exclude(address="").exists()


def test_a_bucket_that_was_left_is_never_asked_again(three: list[Label], store: Store, settings: Any) -> None:
    """Its files are deleted with it. Until then each of them was tried again and again, for ever."""
    call_command("label_files", "to-bucket")
    call_command("label_files", "to-database")
    settings.LABEL_BUCKET = ""
    sweep()
    assert not BucketFile.objects.exists()
    assert [label.intact_bytes() for label in three] == [b"%%PDF-1.4 %d" % number for number in range(3)]


@pytest.mark.parametrize("what", ["to-bucket", "to-database"])
def test_a_damaged_label_stays_where_it_is(three: list[Label], store: Store, what: str) -> None:
    if what == "to-database":
        call_command("label_files", "to-bucket")
        store.write(f"labels/{three[1].sha256}", b"X")
    else:
        LabelBytes.objects.filter(label=three[1]).update(content=b"X")
    with pytest.raises(CommandError, match="1 files don't match their sha256"):
        call_command("label_files", what)
    is_moved = [bool(row.address) for row in LabelBytes.objects.order_by("pk")]
    assert is_moved == ([True, False, True] if what == "to-bucket" else [False, True, False])
    damaged = [Label.objects.get(pk=label.pk).is_damaged for label in three]
    assert damaged == [False, True, False]


def test_an_interrupted_move_resumes_where_it_stopped(
    three: list[Label], store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    put = bucket.put_file

    def twice(key: str, content: bytes) -> None:
        if len(store.files()) == 2:
            raise bucket.OutOfReach("gone")
        put(key, content)

    monkeypatch.setattr(bucket, "put_file", twice)
    with pytest.raises(CommandError, match="What was moved stays moved"):
        call_command("label_files", "to-bucket")
    monkeypatch.setattr(bucket, "put_file", put)
    call_command("label_files", "to-bucket")
    assert len(store.files()) == 3


def test_a_label_deleted_while_it_is_moved_leaves_no_file(
    three: list[Label], store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    put = bucket.put_file

    def then_gone(key: str, content: bytes) -> None:
        put(key, content)
        files.forget(LabelBytes.objects.filter(label__sha256=key.removeprefix("labels/")))

    monkeypatch.setattr(bucket, "put_file", then_gone)
    call_command("label_files", "to-bucket")
    sweep()
    assert store.files() == {}


def test_after_a_restore_unknown_files_are_deleted_and_missing_ones_counted(
    three: list[Label], store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(moving, "LISTED", 2)
    call_command("label_files", "to-bucket")
    call_command("label_files", "compare")
    store.write("labels/of-a-label-stored-since", b"%PDF")
    for label in three[:2]:
        store.client.delete_object(Bucket="labels-of-tests", Key=f"labels/{label.sha256}")
    with pytest.raises(CommandError, match="2 labels name a file that is missing"):
        call_command("label_files", "compare")
    sweep()
    assert list(store.files()) == [f"labels/{three[2].sha256}"]


def test_nothing_is_moved_without_a_bucket(three: list[Label]) -> None:
    with pytest.raises(CommandError, match="LABEL_BUCKET is empty"):
        call_command("label_files", "to-bucket")


# -- What is checked at start --------------------------------------------------------------------


def recorded(*, databases: list[str] | None = None) -> Iterator[str]:
    for check in (bucket_checks.check_bucket, bucket_checks.check_bucket_is_named, bucket_checks.check_bucket_answers):
        for message in check(databases=databases):
            assert message.hint
            yield str(message.id)


def test_a_bucket_that_replies_passes_the_check(store: Store) -> None:
    assert list(recorded(databases=["default"])) == []
    assert store.files() == {}


def test_an_unreachable_bucket_is_a_warning(away: None) -> None:
    assert list(recorded()) == ["portal.W021"]


@pytest.mark.parametrize(
    ("setting", "value", "message"),
    [
        ("LABEL_BUCKET_KEY", "", "portal.E081"),
        ("LABEL_BUCKET_SECRET", "", "portal.E081"),
        ("LABEL_BUCKET_URL", "http://store.example", "portal.E082"),
        ("LABEL_BUCKET_URL", "store.example", "portal.E082"),
        ("LABEL_BUCKET_PREFIX", "", "portal.E083"),
        ("LABEL_BUCKET_PREFIX", "/labels", "portal.E083"),
        ("LABEL_BUCKET_PREFIX", "l" * 101, "portal.E083"),
    ],
)
def test_wrong_settings_are_reported_before_anything_starts(
    bucket_settings: Any, setting: str, value: str, message: str
) -> None:
    setattr(bucket_settings, setting, value)
    assert [one.id for one in bucket_checks.check_bucket()] == [message]


@pytest.mark.parametrize("url", ["", "https://store.example", "http://minio:9000", "http://127.0.0.1:9000"])
def test_valid_addresses_are_accepted(bucket_settings: Any, url: str) -> None:
    bucket_settings.LABEL_BUCKET_URL = url
    assert list(bucket_checks.check_bucket()) == []


def test_missing_packages_are_named(bucket_settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bucket_checks, "PACKAGES", ("storages", "no_such_package"))
    assert list(recorded()) == ["portal.E080"]


def test_a_bucket_with_labels_cannot_be_left_out(order: Order, store: Store, settings: Any) -> None:
    stored(due(order))
    settings.LABEL_BUCKET = ""
    assert list(recorded(databases=["default"])) == ["portal.E084"]
