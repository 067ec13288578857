"""Check the bucket for label files if LABEL_BUCKET names one."""

import uuid
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register

from shipping_portal.carrier.hosts import is_loopback
from shipping_portal.db import bucket
from shipping_portal.ops.deploy_checks import Rule, broken_rules

PACKAGES = ("storages", "boto3")
LONGEST_PREFIX = 100


def _has_odd_prefix() -> bool:
    prefix = settings.LABEL_BUCKET_PREFIX
    return not prefix or prefix != prefix.strip("/ ") or len(prefix) > LONGEST_PREFIX


def _has_open_address() -> bool:
    """Return whether labels would cross a shared network unencrypted."""
    address = urlsplit(settings.LABEL_BUCKET_URL)
    host = address.hostname or ""
    is_own = "." not in host or is_loopback(host)
    return bool(settings.LABEL_BUCKET_URL) and (
        not host or address.scheme not in ({"http", "https"} if is_own else {"https"})
    )


RULES = (
    Rule(
        "portal.E081",
        lambda: bool(settings.LABEL_BUCKET_KEY) != bool(settings.LABEL_BUCKET_SECRET),
        "LABEL_BUCKET_KEY and LABEL_BUCKET_SECRET belong together, and one is empty.",
        "Set both, or neither if the machine's own role may use the bucket.",
    ),
    Rule(
        "portal.E082",
        _has_open_address,
        "LABEL_BUCKET_URL isn't an https address, so labels would cross the network in the clear.",
        "Use https. Only a host of your own network, without a dot, may use http.",
    ),
    Rule(
        "portal.E083",
        _has_odd_prefix,
        "LABEL_BUCKET_PREFIX is empty or too long, or begins or ends with a slash or a space.",
        "Use a short name, like labels.",
    ),
)


@register(Tags.security)
def check_bucket(**options: Any) -> Iterable[CheckMessage]:
    """Refuse to start with a bucket that can't store labels."""
    if not settings.LABEL_BUCKET:
        return
    if missing := [name for name in PACKAGES if find_spec(name) is None]:
        yield Error(
            f"LABEL_BUCKET needs packages that aren't installed: {', '.join(missing)}.",
            hint=(
                "Set REQUIREMENTS=production-s3 in .env and build the image again, or install"
                " requirements/production-s3.txt."
            ),
            id="portal.E080",
        )
    yield from broken_rules(RULES)


@register(Tags.database)
def check_bucket_is_named(**options: Any) -> Iterator[CheckMessage]:
    """Refuse to start without the bucket that stored labels are in."""
    from orders.labels import moving  # noqa: PLC0415  (models load after checks)

    if options.get("databases") and not settings.LABEL_BUCKET and moving.is_any_in_the_bucket():
        yield Error(
            "Labels are in a bucket, and LABEL_BUCKET is empty, so they can't be opened.",
            hint=(
                "Set LABEL_BUCKET again. To stop using it, stop the workers and sweepers, then run"
                " `manage.py label_files to-database` first."
            ),
            id="portal.E084",
        )


@register(Tags.security, deploy=True)
def check_bucket_answers(**options: Any) -> Iterator[CheckMessage]:
    """Check that we can write, read and delete a file."""
    if not settings.LABEL_BUCKET or any(find_spec(name) is None for name in PACKAGES):
        return
    key = f"{settings.LABEL_BUCKET_PREFIX}-check/{uuid.uuid4()}"
    try:
        bucket.put_file(key, b"check")
        is_same = bucket.read_file(key) == b"check"
        bucket.delete_file(key)
    except (bucket.OutOfReach, FileNotFoundError) as error:
        is_same, why = False, str(error)
    else:
        why = "other bytes came back"
    if not is_same:
        yield Warning(
            f"LABEL_BUCKET can't be written, read and deleted from: {why}.",
            hint=(
                "Bookings still work, but no label can be printed. Check the bucket's name, the"
                " address, the region, and that the key may put, get, delete and list."
            ),
            id="portal.W021",
        )
