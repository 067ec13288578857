"""Each of the four outcomes, shown by the socket event that causes it."""

from __future__ import annotations

import socket
import threading
import time

import pytest

from shipping_portal.carrier.errors import AccountStopped, NotSent, OutcomeUnknown, Rejected
from tests import certificates
from tests.carrier.tls_server import tls_server

from .conftest import ORDER_KEY, order, reply, reset, shipment


def book(carrier, **settings):
    return carrier.book(carrier.booking_body(shipment()), key="attempt-1", **settings)


class TestNotSent:
    def test_a_refused_connection_sent_nothing(self, client):
        with socket.create_server(("127.0.0.1", 0)) as gone:
            port = gone.getsockname()[1]
        with pytest.raises(NotSent, match="refused"):
            book(client(base_url=f"http://127.0.0.1:{port}/api"))

    def test_a_name_that_does_not_resolve_sent_nothing(self, client):
        with pytest.raises(NotSent, match="name was not found"):
            book(client(base_url="https://carrier.invalid/api"))

    def test_a_connection_never_accepted_sent_nothing(self, client):
        with socket.socket() as deaf:
            deaf.bind(("127.0.0.1", 0))
            deaf.listen(0)
            waiting = [socket.socket() for _ in range(4)]
            for caller in waiting:  # fill the backlog, so that the kernel drops the next knock
                caller.setblocking(False)
                caller.connect_ex(deaf.getsockname())
            with pytest.raises(NotSent, match="in time"):
                book(client(base_url=f"http://127.0.0.1:{deaf.getsockname()[1]}/api", connect_timeout=0.5))
            for caller in waiting:
                caller.close()

    def test_an_untrusted_certificate_sent_nothing(self, client, own_certificate):
        seen = []
        with tls_server(own_certificate, seen) as port, pytest.raises(NotSent, match="certificate"):
            book(client(base_url=f"https://127.0.0.1:{port}/api"))
        assert not any(seen)

    def test_a_handshake_that_never_ends_sent_nothing(self, client):
        with socket.create_server(("127.0.0.1", 0)) as mute, pytest.raises(NotSent):
            book(client(base_url=f"https://127.0.0.1:{mute.getsockname()[1]}/api", deadline=0.4))

    def test_nothing_is_sent_once_the_lease_has_run_out(self, client, far_side):
        far_side.answers(reply(201, order()))
        with pytest.raises(NotSent, match="time to send had passed"):
            book(client(), not_after=time.monotonic() - 0.001)
        assert far_side.asked == []

    def test_a_booking_is_sent_while_the_lease_lasts(self, client, far_side):
        far_side.answers(reply(201, order()))
        assert book(client(), not_after=time.monotonic() + 5).reference == "SQ7K2M"

    def test_after_too_many_requests_the_carriers_wait_is_kept(self, client, far_side):
        far_side.answers(reply(429, {"error": "too_many_requests"}, Retry_After="7"))
        with pytest.raises(NotSent) as raised:
            book(client())
        assert raised.value.retry_after == 7

    @pytest.mark.parametrize(
        ("header", "seconds"),
        [
            ("1000000000", 3600),
            ("Wed, 01 Jan 2020 00:00:00 GMT", None),
            ("0", None),
            ("soon", None),
            ("", None),
            ("-5", None),
        ],
    )
    def test_a_wait_is_at_most_an_hour(self, client, far_side, header, seconds):
        far_side.answers(reply(429, {}, Retry_After=header))
        with pytest.raises(NotSent) as raised:
            book(client())
        assert raised.value.retry_after == seconds

    def test_too_many_requests_is_unknown_if_the_contract_says_so(self, client, far_side):
        far_side.answers(reply(429, {}))
        with pytest.raises(OutcomeUnknown):
            book(client({"too_many_requests_is_unprocessed": False}))


class TestOutcomeUnknown:
    def unknown(self, carrier, match=None):
        with pytest.raises(OutcomeUnknown, match=match) as raised:
            book(carrier)
        return raised.value

    def test_a_connection_closed_without_a_reply_is_unknown(self, client, far_side):
        far_side.answers(b"")
        self.unknown(client(), "broke before a reply")

    def test_a_connection_reset_is_unknown(self, client, far_side):
        far_side.answers(reset)
        self.unknown(client(), "broke before a reply")

    def test_no_reply_before_the_deadline_is_unknown(self, client, far_side):
        far_side.answers(lambda connection: time.sleep(60))
        started = time.monotonic()
        self.unknown(client(deadline=0.3), "in time")
        assert time.monotonic() - started < 30

    def test_a_body_sent_too_slowly_is_unknown(self, client, far_side):
        far_side.answers(drip(reply(201, order()), whole=100))
        started = time.monotonic()
        self.unknown(client(deadline=1), "too late")
        assert time.monotonic() - started < 30

    def test_headers_sent_too_slowly_are_unknown(self, client, far_side):
        far_side.answers(drip(reply(201, order()), whole=10))
        started = time.monotonic()
        self.unknown(client(deadline=0.4))
        assert time.monotonic() - started < 30

    def test_a_reply_that_ends_after_the_deadline_is_unknown(self, client, far_side):
        """The body has no length, so the closed socket looks like a normal end."""
        content = reply(201, order(), Content_Length="")

        def slow(connection):
            connection.sendall(content)
            connection.recv(1)  # until the client is gone

        far_side.answers(slow)
        assert self.unknown(client(deadline=1), "too late").status == 201

    def test_a_body_cut_short_keeps_its_status(self, client, far_side):
        far_side.answers(reply(201, order())[:-20])
        assert self.unknown(client(), "cut short").status == 201

    def test_a_chunked_body_cut_short_is_unknown(self, client, far_side):
        far_side.answers(reply(201, b"400\r\n{", Content_Length="", Transfer_Encoding="chunked"))
        self.unknown(client(), "cut short")

    def test_headers_cut_short_are_not_an_empty_success(self, client, far_side):
        far_side.answers(b"HTTP/1.1 201 Created\r\nContent-Ty")
        self.unknown(client())

    def test_headers_cut_short_are_not_an_empty_refusal(self, client, far_side):
        far_side.answers(b"HTTP/1.1 400 Bad Request\r\nContent-Ty")
        self.unknown(client())

    def test_a_reply_that_is_not_http_is_unknown(self, client, far_side):
        far_side.answers(b"SSH-2.0-OpenSSH_9.2\r\n\r\n")
        self.unknown(client())

    def test_a_reply_with_a_thousand_headers_is_unknown(self, client, far_side):
        bomb = "".join(f"X-{n}: y\r\n" for n in range(1000))
        far_side.answers(f"HTTP/1.1 201 Created\r\n{bomb}\r\n".encode())
        self.unknown(client())

    def test_a_compressed_reply_is_unknown(self, client, far_side):
        far_side.answers(reply(201, order(), Content_Encoding="gzip"))
        self.unknown(client(), "compressed")

    def test_a_reply_over_a_mebibyte_is_unknown(self, client, far_side):
        far_side.answers(reply(201, order(note="x" * 1_100_000)))
        self.unknown(client(), "too long")

    def test_a_redirect_is_not_followed(self, client, far_side):
        far_side.answers(reply(307, b"", Location=f"{far_side.url}/elsewhere"))
        self.unknown(client(), "307")
        assert len(far_side.asked) == 1

    @pytest.mark.parametrize("status", [408, 409, 410, 418, 425, 500, 502, 503, 504])
    def test_a_status_that_is_neither_yes_nor_no_is_unknown(self, client, far_side, status):
        far_side.answers(reply(status, {"error": "trouble"}))
        assert self.unknown(client()).status == status

    @pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b"null", b"{", b'{"order_id": 1, "order_id": 2}'])
    def test_a_success_that_cannot_be_read_is_unknown(self, client, far_side, body):
        far_side.answers(reply(201, body))
        self.unknown(client())

    @pytest.mark.parametrize("body", [b"<html>no</html>", b"", b'{"error":'])
    def test_a_refusal_that_cannot_be_read_is_unknown(self, client, far_side, body):
        far_side.answers(reply(422, body))
        self.unknown(client())

    def test_an_early_hint_is_not_a_reply(self, client, far_side):
        far_side.answers(b"HTTP/1.1 103 Early Hints\r\n\r\n")
        self.unknown(client())

    def test_a_connection_that_breaks_while_sending_may_have_sent_the_request(self, client, far_side, monkeypatch):
        def send_and_break(self, data):
            self.sock.sendall(data[:20])
            raise ConnectionResetError(104, "Connection reset by peer")

        monkeypatch.setattr("http.client.HTTPConnection.send", send_and_break)
        with pytest.raises(OutcomeUnknown):
            book(client(deadline=0.5))  # it waits for a reply that may still come


class TestRejected:
    @pytest.mark.parametrize("status", [400, 404, 405, 413, 415, 422])
    def test_a_refusal_that_can_be_read_is_a_refusal(self, client, far_side, status):
        far_side.answers(reply(status, {"error": "no", "error_description": "Not today."}))
        with pytest.raises(Rejected) as raised:
            book(client())
        assert (raised.value.status, raised.value.code, raised.value.text) == (status, "no", "Not today.")

    def test_an_empty_400_is_a_refusal(self, client, far_side):
        far_side.answers(reply(400, b"", Content_Type="text/html; charset=utf-8"))
        with pytest.raises(Rejected):
            book(client())


class TestAccountStopped:
    @pytest.mark.parametrize("status", [401, 402, 403, 412])
    def test_a_status_about_our_account_stops_it(self, client, far_side, status):
        far_side.answers(reply(status, {"error": "x", "error_description": "The account has no payment method."}))
        with pytest.raises(AccountStopped) as raised:
            book(client())
        assert (raised.value.status, raised.value.text) == (status, "The account has no payment method.")

    def test_a_page_in_place_of_a_message_is_shown_without_its_links(self, client, far_side):
        link = b"https://track.carrier.example/?ref=SQ7K2M&token=l1nk-token"
        far_side.answers(reply(402, b"<p>Pay first: " + link + b"</p>"))
        with pytest.raises(AccountStopped) as raised:
            book(client())
        assert "Pay first" in raised.value.text
        assert "l1nk-token" not in raised.value.text


class TestOneAttempt:
    @pytest.mark.parametrize("behaviour", [b"", reset, reply(503, b""), reply(429, {})])
    def test_a_failed_booking_is_sent_once(self, client, far_side, behaviour):
        far_side.answers(behaviour)
        with pytest.raises((NotSent, OutcomeUnknown)):
            book(client())
        time.sleep(0.05)
        assert len(far_side.asked) == 1

    def test_no_timer_is_left_behind(self, client, far_side):
        far_side.answers(reply(200, {"ping": "pong"}))
        client(deadline=300).ping()
        for timer in [thread for thread in threading.enumerate() if isinstance(thread, threading.Timer)]:
            timer.join(60)
            assert not timer.is_alive()

    def test_proxies_in_the_environment_are_ignored(self, client, far_side, monkeypatch):
        monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
        far_side.answers(reply(201, order()))
        assert book(client()).order_key == ORDER_KEY

    def test_tls_with_our_own_authority_works(self, client, own_certificate):
        seen = []
        with tls_server(own_certificate, seen) as port:
            booked = book(client(base_url=f"https://127.0.0.1:{port}/api", ca_bundle=str(own_certificate.bundle)))
        assert booked.reference == "SQ7K2M"
        assert seen[0].target == "/api/orders"


def drip(data, *, whole):
    """Send the first `whole` bytes at once and the rest one by one."""

    def send(connection):
        connection.sendall(data[:whole])
        for byte in data[whole:]:
            time.sleep(0.05)
            connection.sendall(bytes([byte]))

    return send


@pytest.fixture(scope="session")
def own_certificate(tmp_path_factory):
    return certificates.own_certificate(tmp_path_factory.mktemp("tls"))
