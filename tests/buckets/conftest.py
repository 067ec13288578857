"""A real S3 server on a port of this machine, from a package."""

from collections.abc import Iterator
from typing import Any

import pytest

BUCKET = "labels-of-tests"


class Store:
    """The server's only bucket, seen through a separate client."""

    def __init__(self, url: str) -> None:
        import boto3  # noqa: PLC0415  (an optional package)

        self.url = url
        session = boto3.Session("another", "another-secret", region_name="us-east-1")
        self.client = session.client("s3", endpoint_url=url)
        self.client.create_bucket(Bucket=BUCKET)

    def files(self) -> dict[str, bytes]:
        listed = self.client.list_objects_v2(Bucket=BUCKET).get("Contents", [])
        return {one["Key"]: self.read(one["Key"]) for one in listed}

    def read(self, key: str) -> bytes:
        content: bytes = self.client.get_object(Bucket=BUCKET, Key=key)["Body"].read()
        return content

    def write(self, key: str, content: bytes) -> None:
        self.client.put_object(Bucket=BUCKET, Key=key, Body=content)

    def empty(self) -> None:
        for key in self.files():
            self.client.delete_object(Bucket=BUCKET, Key=key)


@pytest.fixture(scope="session")
def s3() -> Iterator[Store]:
    """The S3 server. Tests are skipped only if its package isn't installed."""
    server = pytest.importorskip("moto.server").ThreadedMotoServer(port=0, verbose=False)
    server.start()
    _, port = server.get_host_and_port()
    yield Store(f"http://127.0.0.1:{port}")
    server.stop()


@pytest.fixture
def bucket_settings(settings: Any) -> Any:
    """The settings of a bucket that doesn't reply, on the discard port."""
    settings.LABEL_BUCKET, settings.LABEL_BUCKET_REGION = BUCKET, "us-east-1"
    settings.LABEL_BUCKET_KEY, settings.LABEL_BUCKET_SECRET = "portal", "canary-bucket-secret"
    settings.LABEL_BUCKET_URL = "http://127.0.0.1:9"
    return settings


@pytest.fixture
def store(s3: Store, bucket_settings: Any) -> Store:
    """An empty bucket that the portal stores its labels in."""
    s3.empty()
    bucket_settings.LABEL_BUCKET_URL = s3.url
    return s3


@pytest.fixture
def away(bucket_settings: Any) -> None:
    """Take the bucket's server down: nothing listens at its port."""
