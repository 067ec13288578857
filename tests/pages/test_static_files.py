"""Static files as collectstatic leaves them: brotli for browsers that accept it, gzip for most, unchanged for the rest."""

import gzip
from pathlib import Path

import brotli
import pytest
from django.conf import settings
from django.core.management import call_command
from django.http import HttpResponse
from django.test import RequestFactory, override_settings
from whitenoise.middleware import WhiteNoiseMiddleware

COLLECTED = "whitenoise.storage.CompressedManifestStaticFilesStorage"
READ = {"br": brotli.decompress, "gzip": gzip.decompress, "": bytes}


@pytest.fixture(scope="module")
def collected(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that collectstatic filled from two style sheets, as an image is built."""
    source, root = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("static-root")
    for name in ("look.css", "portal.css"):
        (source / name).write_bytes((settings.BASE_DIR / "static" / name).read_bytes())
    storages = {**settings.STORAGES, "staticfiles": {"BACKEND": COLLECTED}}
    finders = ["django.contrib.staticfiles.finders.FileSystemFinder"]
    with override_settings(STATIC_ROOT=root, STATICFILES_DIRS=[source], STORAGES=storages, STATICFILES_FINDERS=finders):
        call_command("collectstatic", "--noinput", verbosity=0)
    return root


@pytest.mark.parametrize(
    ("accepted", "encoding"),
    [("gzip, deflate, br", "br"), ("br", "br"), ("gzip, deflate", "gzip"), ("identity", ""), ("", "")],
)
def test_a_file_is_sent_in_the_best_encoding_that_the_browser_takes(
    collected: Path, accepted: str, encoding: str
) -> None:
    with override_settings(STATIC_ROOT=collected, WHITENOISE_USE_FINDERS=False, WHITENOISE_AUTOREFRESH=False):
        serve = WhiteNoiseMiddleware(lambda request: HttpResponse(status=404))
    reply = serve(RequestFactory().get("/static/portal.css", headers={"Accept-Encoding": accepted}))
    assert (reply.status_code, reply.headers.get("Content-Encoding", "")) == (200, encoding)
    assert "Accept-Encoding" in reply.headers["Vary"]
    plain = (collected / "portal.css").read_bytes()
    sent = b"".join(reply.streaming_content)  # type: ignore[attr-defined]
    reply.file_to_stream.close()  # not the response: that would end a request and its database connection
    assert READ[encoding](sent) == plain


def test_brotli_is_smaller_than_gzip(collected: Path) -> None:
    sizes = {suffix: (collected / f"portal.css{suffix}").stat().st_size for suffix in (".br", ".gz", "")}
    assert sizes[".br"] < sizes[".gz"] < sizes[""]
