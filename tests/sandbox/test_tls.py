import json
import ssl
import urllib.request

import pytest

from shipping_portal.sandbox.config import Config
from shipping_portal.sandbox.server import start
from tests.certificates import own_certificate


@pytest.fixture
def certificate(tmp_path):
    return own_certificate(tmp_path)


def asked(url, certificate):
    """Return the carrier's settings, requested by a client that trusts its certificate."""
    trust = ssl.create_default_context(cafile=certificate.bundle)
    with urllib.request.urlopen(f"{url}/_sandbox/settings", context=trust, timeout=5) as answer:  # noqa: S310
        return json.load(answer)


def test_with_a_certificate_only_tls_is_accepted(tmp_path, certificate):
    running = start(Config(tmp_path / "state", certificate=certificate.bundle, key_file=certificate.key))
    try:
        assert running.url.startswith("https://127.0.0.1:")
        assert asked(running.url, certificate)["strict"] is False
        with pytest.raises(OSError, match=r"reset|closed|without response"):
            urllib.request.urlopen(running.url.replace("https:", "http:"), timeout=5)  # noqa: S310
    finally:
        running.stop()


def test_a_client_that_rejects_the_certificate_is_not_reported(tmp_path, certificate, capfd):
    running = start(Config(tmp_path / "state", certificate=certificate.bundle, key_file=certificate.key))
    try:
        with pytest.raises(OSError, match="CERTIFICATE_VERIFY_FAILED"):
            urllib.request.urlopen(running.url, timeout=5)  # noqa: S310
        assert asked(running.url, certificate)
    finally:
        running.stop()
    assert capfd.readouterr().err == ""


def test_a_slow_handshake_needs_a_certificate(carrier):
    slow = {"operation": "connection", "verb": "slow-tls"}
    answer = carrier.call("POST", "/_sandbox/trouble", slow)
    assert answer.status == 400
    assert "slow-tls needs a carrier that speaks TLS." in answer.body.decode()
