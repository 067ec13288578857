"""Store files in the bucket named by LABEL_BUCKET, in any S3-compatible store."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from django.conf import settings
from django.core.files.base import ContentFile

# A page waits for the bucket, so it must be quick or count as unreachable.
CONNECT_SECONDS, READ_SECONDS = 2, 5


class OutOfReach(Exception):
    """Raised when the bucket can't be used now. Nothing is lost, so try again later."""


def put_file(key: str, content: bytes) -> None:
    """Write a file. Writing the same bytes again changes nothing."""
    with _answering() as storage:
        storage.save(key, ContentFile(content))


def read_file(key: str) -> bytes:
    """Return a file's bytes. Raises FileNotFoundError."""
    with _answering() as storage, storage.open(key) as file:
        return file.read()


def delete_file(key: str) -> None:
    """Delete a file if it exists."""
    with _answering() as storage:
        storage.delete(key)


def list_keys(prefix: str) -> Iterator[str]:
    """Yield the keys with this prefix, in order."""
    with _answering() as storage:
        for found in storage.bucket.objects.filter(Prefix=prefix):
            yield found.key


@contextmanager
def _answering() -> Iterator[Any]:
    if not settings.LABEL_BUCKET:
        raise OutOfReach("LABEL_BUCKET is empty")
    try:
        yield _storage(
            settings.LABEL_BUCKET,
            settings.LABEL_BUCKET_URL,
            settings.LABEL_BUCKET_REGION,
            settings.LABEL_BUCKET_KEY,
            settings.LABEL_BUCKET_SECRET,
        )
    except FileNotFoundError:
        raise
    # Each of the four libraries underneath has its own errors.
    except Exception as error:
        raise OutOfReach(type(error).__name__) from error


@lru_cache(maxsize=1)
def _storage(bucket: str, url: str, region: str, key: str, secret: str) -> Any:
    """Return the client for these settings. Its packages are loaded only now."""
    from boto3.s3.transfer import TransferConfig  # noqa: PLC0415
    from botocore.config import Config  # noqa: PLC0415
    from storages.backends.s3 import S3Storage  # noqa: PLC0415

    return S3Storage(
        bucket_name=bucket,
        endpoint_url=url or None,
        region_name=region or None,
        access_key=key or None,
        secret_key=secret or None,
        transfer_config=TransferConfig(use_threads=False),
        client_config=Config(
            connect_timeout=CONNECT_SECONDS,
            read_timeout=READ_SECONDS,
            retries={"total_max_attempts": 1},
            max_pool_connections=settings.WEB_THREADS,
            # Older stores refuse newer clients' checksums. Each label has its own checksum.
            request_checksum_calculation="when_required",
            response_checksum_validation="when_required",
        ),
    )
