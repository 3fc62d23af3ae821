"""Heads through a tap, byte by byte, between a bare client and a bare engine."""

import asyncio
import socket

import pytest
import uvloop
from rig.ports import free_port
from rig.tapped import MARK_OF_CARD0, exchange, tapped
from rig.upstream import Upstream, answer, replay

from collector import guard
from router.sockets import IDLE_S, kept_alive

MARK = b"X-Rigledger-Tap: " + MARK_OF_CARD0


def run(scenario):
    return uvloop.run(asyncio.wait_for(scenario, 30))


def lines(raw: bytes) -> list[bytes]:
    return raw.partition(b"\r\n\r\n")[0].split(b"\r\n")


async def through(answered: bytes, asked: bytes) -> tuple[list[bytes], list[bytes], bytes]:
    """The head that the engine saw, the head that the client saw, and all the client got."""
    async with Upstream(replay(answered)) as up, tapped(up.url) as tap:
        raw = await exchange(tap.port, asked)
        seen = lines(up.requests[0].head + b"\r\n") if up.requests else []
        own = f"127.0.0.1:{up.port}".encode()
    return [line.replace(own, b"ENGINE") for line in seen], lines(raw), raw


GET = b"GET /v1/models HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
BARE = answer(b"{}")


def test_an_answer_gets_no_field_that_the_engine_did_not_send():
    _, got, raw = run(through(BARE, GET + b"\r\n"))
    assert got == [b"HTTP/1.1 200 OK", b"Content-Length: 2", b"Connection: close"]
    assert raw.endswith(b"\r\n\r\n{}")


@pytest.mark.parametrize(
    "status", [b"200 OK", b"200 ", b"299 Sure enough", b"200 F\xfcr", "404 nö".encode()]
)
def test_an_answers_head_is_the_engines_own(status):
    """Order, spelling and bytes, also those that are no UTF-8."""
    fields = [
        b'ETAG: "x"',
        b"content-length: 2",
        b"X-Latin: M\xfcller",
        "x-utf: Müller".encode(),
        b"set-cookie: a=1",
        b"Set-Cookie: b=2",
        b"X-Empty: ",
    ]
    sent = b"\r\n".join([b"HTTP/1.1 " + status, *fields]) + b"\r\n\r\n{}"
    _, got, raw = run(through(sent, GET + b"\r\n"))
    assert got == [b"HTTP/1.1 " + status, *fields, b"Connection: close"]
    assert raw.endswith(b"\r\n\r\n{}")


def test_a_stream_of_an_old_engine_is_chunked_and_no_more():
    sent = b"HTTP/1.0 200 OK\r\nX-A: 1\r\n\r\nabc"
    _, got, raw = run(through(sent, GET + b"\r\n"))
    own = [b"Transfer-Encoding: chunked", b"Connection: close"]
    assert got == [b"HTTP/1.1 200 OK", b"X-A: 1", *own]
    assert raw.endswith(b"\r\n\r\n3\r\nabc\r\n0\r\n\r\n")


def test_a_length_without_a_body_is_kept():
    sent = b'HTTP/1.1 304 Not Modified\r\nContent-Length: 50\r\nETag: "x"\r\n\r\n'
    _, got, raw = run(through(sent, GET + b"\r\n"))
    assert got == [*lines(sent), b"Connection: close"]
    assert raw.endswith(b"\r\n\r\n")
    sent = b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n"
    _, got, _ = run(through(sent, GET.replace(b"GET", b"HEAD") + b"\r\n"))
    assert got == [*lines(sent), b"Connection: close"]


def test_a_request_gets_nothing_but_the_taps_mark():
    fields = b"USER-agent: x\r\nX-B: \r\n" + "x-utf: Müller\r\n".encode() + b"X-B: 2\r\n"
    seen, _, _ = run(through(BARE, GET + fields + b"Content-Length: 0\r\n\r\n"))
    own = [b"Content-Length: 0", MARK]
    told = lines(fields + b"\r\n")
    assert seen == [b"GET /v1/models HTTP/1.1", b"Host: ENGINE", *told, *own]


def test_a_request_that_cannot_be_passed_on_as_it_is_is_refused():
    seen, got, raw = run(through(BARE, GET + b"X-User: M\xfcller\r\n\r\n"))
    assert (seen, got[0]) == ([], b"HTTP/1.1 400 Bad Request")
    assert b"A header holds bytes outside UTF-8, which cannot be passed on." in raw


@pytest.mark.parametrize("path", [b"/x?", b"/?", b"/x?a=%20b&&", b"/x??", b"/%2f/../a;b", b"//"])
def test_a_target_stays_what_it_is(path):
    seen, _, _ = run(through(BARE, GET.replace(b"/v1/models", path) + b"\r\n"))
    assert seen[0] == b"GET " + path + b" HTTP/1.1"


def test_an_engine_below_a_path_is_asked_there():
    async def scenario():
        async with Upstream(replay(BARE)) as up, tapped(f"{up.url}/gpu/0/") as tap:
            await exchange(tap.port, GET.replace(b"/v1/models", b"/v1/x?") + b"\r\n")
        assert up.requests[0].start_line == b"GET /gpu/0/v1/x? HTTP/1.1"

    run(scenario())


def test_every_connection_field_is_honoured():
    fields = b"Connection: X-One, x-two\r\nX-One: 1\r\nX-Two: 2\r\nTE: trailers\r\nX-Three: 3\r\n"
    seen, _, _ = run(through(BARE, GET + fields + b"\r\n"))
    assert b"X-Three: 3" in seen
    assert not [line for line in seen if line.startswith((b"X-One", b"X-Two", b"TE"))]
    sent = b"HTTP/1.1 200 OK\r\nConnection: a\r\nconnection: b\r\nA: 1\r\nB: 2\r\nC: 3\r\n"
    _, got, _ = run(through(sent + b"Content-Length: 0\r\n\r\n", GET + b"\r\n"))
    assert got == [b"HTTP/1.1 200 OK", b"C: 3", b"Content-Length: 0", b"Connection: close"]


def test_a_websocket_is_refused_and_another_upgrade_passed_over():
    asked = GET.replace(b"Connection: close", b"Connection: Upgrade")
    socket_fields = b"Upgrade: WebSocket\r\nSec-WebSocket-Version: 13\r\nConnection: close\r\n\r\n"
    seen, got, raw = run(through(BARE, asked + socket_fields))
    assert (seen, got[0]) == ([], b"HTTP/1.1 501 Not Implemented")
    assert b"Requests and answers are passed on, no WebSockets." in raw
    newer = b"Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQA\r\nConnection: close\r\n\r\n"
    seen, got, _ = run(through(BARE, asked + newer))
    assert got[0] == b"HTTP/1.1 200 OK"
    assert not [line for line in seen if line.lower().startswith(b"upgrade")]


EVIL = (
    b"POST /v1/chat/completions HTTP/1.1\r\nHost: %b\r\nOrigin: http://%b\r\n"
    b"Content-Type: text/plain\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}"
)


@pytest.mark.parametrize("host", [b"evil.example", b"evil.example:9001", b"192.168.1.5", b"a@b:"])
def test_a_page_that_rebinds_its_name_reaches_no_engine(host):
    async def scenario():
        async with Upstream(replay(BARE)) as up, tapped(up.url) as tap:
            raw = await exchange(tap.port, EVIL % (host, host))
        assert lines(raw)[0] == b"HTTP/1.1 403 Forbidden"
        assert b"This Host is not served here: use localhost or a loopback address." in raw
        assert (up.requests, tap.events) == ([], [])

    run(scenario())


@pytest.mark.parametrize("host", [b"localhost", b"LOCALHOST:1", b"127.0.0.1:9001", b"[::1]:9"])
def test_whoever_calls_a_loopback_port_by_a_loopback_name_is_served(host):
    _, got, _ = run(through(BARE, EVIL % (host, b"evil.example")))
    assert got[0] == b"HTTP/1.1 200 OK"


def test_two_hosts_are_no_way_around():
    assert guard.refuse_rebound(["localhost", "evil.example"]) is not None
    assert guard.refuse_rebound([]) is None


def test_an_engine_that_is_this_tap_ends_at_once():
    async def scenario():
        port = free_port()
        async with tapped(f"http://localhost:{port}", port=port) as tap:
            raw = await exchange(tap.port, EVIL % (b"localhost", b"localhost"))
            (attempt,) = await tap.booked()
        assert lines(raw)[0] == b"HTTP/1.1 508 Loop Detected"
        assert b"The address behind card0 leads back to this port." in raw
        assert (attempt.status, attempt.http_status) == ("upstream_error", 508)

    run(scenario())


def test_the_mark_of_another_tap_is_passed_on():
    other = b"X-Rigledger-Tap: k1:other"
    seen, got, _ = run(through(BARE, GET + other + b"\r\n\r\n"))
    assert got[0] == b"HTTP/1.1 200 OK"
    assert [line for line in seen if line.startswith(b"X-Rig")] == [other, MARK]


def probed(sock: socket.socket) -> bool:
    on = sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
    return on and sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) == IDLE_S


def test_both_connections_are_probed_by_the_kernel():
    """A silent engine may take its time, a silent host is found out."""

    async def scenario():
        async with Upstream(replay(BARE)) as up, tapped(up.url) as tap:
            reader, writer = await asyncio.open_connection("127.0.0.1", tap.port)
            writer.write(GET.replace(b"close", b"keep-alive") + b"\r\n")
            await reader.readuntil(b"{}")
            (connection,) = tap.tap.server.connections
            assert probed(connection.transport.get_extra_info("socket"))
            writer.close()

    run(scenario())
    (address, *_) = socket.getaddrinfo("127.0.0.1", 1, type=socket.SOCK_STREAM)
    with kept_alive(address) as sock:
        assert probed(sock)
