"""The way to an engine: names with several addresses, users in addresses, TLS, bodies in pieces."""

import asyncio
import contextlib
import shutil
import socket
import ssl
import subprocess

import aiohttp
import pytest
import uvloop
from multidict import CIMultiDict
from rig.ports import free_port
from rig.upstream import Upstream, answer, replay

from router import upstream
from router.passing import Limits
from router.sockets import Dialler, Place, tls

FIELDS = CIMultiDict({"X-A": "1"})


def run(scenario):
    return uvloop.run(asyncio.wait_for(scenario, 30))


async def asked(url, fields=FIELDS, body=None, limits=None, method="GET"):
    """Status and body of an answer."""
    way = upstream.Upstream(limits or Limits())
    async with await way.ask(url, method, "/v1/models", fields, body) as got:
        content = b""
        while chunk := await got.content.readany():
            content += chunk
        return got.status, content


class Named:
    """An event loop with a name service of its own: it knows two addresses of every name, after a
    while. The loop itself is compiled and cannot be patched."""

    def __init__(self, loop, seconds=0.0):
        self._loop, self._seconds = loop, seconds
        self.asked_for = []

    async def getaddrinfo(self, host, port, **_):
        self.asked_for.append(host)
        await asyncio.sleep(self._seconds)
        kind = (socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "")
        return [(*kind, ("127.0.0.9", port)), (*kind, ("127.0.0.1", port))]

    def __getattr__(self, name):
        return getattr(self._loop, name)


@contextlib.contextmanager
def named(seconds=0.0):
    names = Named(asyncio.get_running_loop(), seconds)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("router.sockets.asyncio.get_running_loop", lambda: names)
        yield names


def test_a_name_of_several_addresses_is_reached_at_the_one_that_listens():
    """The first address of two is one where nobody listens, as of a host without IPv6."""

    async def scenario():
        loop = asyncio.get_running_loop()
        async with Upstream(replay(answer(b"{}"))) as up:
            dialler, place = Dialler(), Place("engine.test", up.port)
            with named() as names:
                made = [
                    await dialler.connect(place, lambda: upstream.Answering(loop)) for _ in range(3)
                ]
            peers = [each.transport.get_extra_info("peername")[0] for each in made]
            for each in made:
                each.close()
        assert peers == ["127.0.0.1"] * 3
        assert names.asked_for == ["engine.test"]  # once within ten seconds

    run(scenario())


def test_a_slow_name_is_looked_up_once_for_all_and_for_those_who_come_later():
    async def scenario():
        dialler, place = Dialler(), Place("engine.test", 9)
        with named(0.3) as names:
            looks = [asyncio.create_task(dialler._addresses(place)) for _ in range(3)]
            await asyncio.sleep(0.05)
            looks[0].cancel()
            first, second = [await look for look in looks[1:]]
            third = await dialler._addresses(place)
        assert names.asked_for == ["engine.test"]
        begins = [infos[0][4][0] for infos in (first, second, third)]
        assert begins == ["127.0.0.9", "127.0.0.1", "127.0.0.9"]  # each in its turn

    run(scenario())


def test_a_name_that_is_resolved_too_late_for_one_request_is_known_to_the_next():
    async def scenario():
        async with Upstream(replay(answer(b"{}"))) as up:
            way = upstream.Upstream(Limits(connect_s=0.5))
            url = f"http://engine.test:{up.port}"
            with named(1.0):
                with pytest.raises(upstream.Unreached) as found:
                    await way.ask(url, "GET", "/", FIELDS, None)
                assert isinstance(found.value.__cause__, TimeoutError)
                await asyncio.sleep(1.2)
                async with await way.ask(url, "GET", "/", FIELDS, None) as got:
                    assert got.status == 200

    run(scenario())


def test_a_name_is_reached_as_well_as_an_address():
    async def scenario():
        async with Upstream(replay(answer(b"{}"))) as up:
            assert await asked(f"http://localhost:{up.port}/base/") == (200, b"{}")
            head = up.requests[0]
        assert head.start_line == b"GET /base/v1/models HTTP/1.1"
        assert head.headers[b"host"] == f"localhost:{up.port}".encode()

    run(scenario())


@pytest.mark.parametrize(
    ("fields", "shown"),
    [({}, b"Basic bWU6c2VjcmV0"), ({"authorization": "Bearer k"}, b"Bearer k")],
)
def test_a_user_in_the_address_is_shown_unless_the_client_shows_one(fields, shown):
    async def scenario():
        async with Upstream(replay(answer(b"{}"))) as up:
            url = f"http://me:secret@127.0.0.1:{up.port}"
            assert (await asked(url, CIMultiDict(fields)))[0] == 200
            head = up.requests[0]
        assert head.headers[b"authorization"] == shown
        assert b"secret" not in head.headers[b"host"]

    run(scenario())


def test_where_nobody_listens_nothing_was_sent():
    with pytest.raises(upstream.Unreached) as found:
        run(asked(f"http://127.0.0.1:{free_port()}"))
    assert isinstance(found.value.__cause__, ConnectionRefusedError)


def test_a_name_without_an_address_is_not_reached():
    with pytest.raises(upstream.Unreached):
        run(asked("http://no-such-engine.invalid:1"))


def test_a_body_in_pieces_goes_in_chunks_and_its_failure_ends_the_request():
    async def pieces(fail):
        yield b"one"
        yield b"two"
        if fail:
            raise RuntimeError("the client broke off")

    async def scenario():
        async with Upstream(replay(answer(b"{}"))) as up:
            assert (await asked(up.url, FIELDS, pieces(False), method="POST"))[0] == 200
            assert up.requests[0].body == b"onetwo"
            assert up.requests[0].headers[b"transfer-encoding"] == b"chunked"
            with pytest.raises(aiohttp.ClientConnectionError):
                await asked(up.url, FIELDS, pieces(True), method="POST")

    run(scenario())


@pytest.mark.parametrize(
    ("method", "length"), [("GET", None), ("HEAD", None), ("POST", b"0"), ("DELETE", b"0")]
)
def test_no_body_has_a_length_where_a_server_may_wait_for_one(method, length):
    async def scenario():
        async with Upstream(replay(answer(b""))) as up:
            await asked(up.url, method=method)
            assert up.requests[0].headers.get(b"content-length") == length

    run(scenario())


def test_an_engine_is_not_silent_while_it_still_reads_a_large_body():
    """It takes 24 MB in a second; silent for half of it is too long."""

    async def slow(reader, writer):
        with contextlib.suppress(ConnectionError):
            await reader.readuntil(b"\r\n\r\n")
            for _ in range(20):
                await reader.readexactly(size // 20)
                await asyncio.sleep(0.05)
            writer.write(answer(b"{}"))
            await writer.drain()
        writer.close()

    size = 24_000_000

    async def scenario():
        server = await asyncio.start_server(slow, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        fields = CIMultiDict({"Content-Length": str(size)})
        async with server:
            got = await asked(url, fields, bytes(size), Limits(idle_s=0.5), "POST")
        assert got == (200, b"{}")

    run(scenario())


def test_an_answer_that_has_come_whole_is_not_late():
    """The engine leaves its connection open; its reader takes longer than all may take."""

    async def scenario():
        async def play(wire):
            await wire.send(answer(b"x" * 100_000))
            await wire.gone.wait()

        async with Upstream(play) as up:
            way = upstream.Upstream(Limits(total_s=0.3))
            async with await way.ask(up.url, "GET", "/", FIELDS, None) as got:
                await asyncio.sleep(0.6)
                content = b""
                while chunk := await got.content.readany():
                    content += chunk
            assert len(content) == 100_000

    run(scenario())


def test_all_that_a_request_may_take_holds_for_connecting_as_well():
    """A listener whose backlog is full takes no connection."""

    async def scenario():
        with socket.create_server(("127.0.0.1", 0), backlog=0) as full:
            address = full.getsockname()
            held = []
            for _ in range(8):
                one = socket.socket()
                one.setblocking(False)
                one.connect_ex(address)
                held.append(one)
            with pytest.raises((upstream.Unreached, TimeoutError)):
                await asked(f"http://127.0.0.1:{address[1]}", limits=Limits(3600.0, None, 0.3))
            for one in held:
                one.close()

    run(scenario())


def test_a_body_without_a_length_that_is_cut_has_not_come_whole():
    async def cut(wire):
        await wire.send(b"HTTP/1.1 200 OK\r\n\r\nhalf")
        await asyncio.sleep(0.05)
        wire.reset()

    async def scenario():
        async with Upstream(cut) as up:
            with pytest.raises(aiohttp.ClientPayloadError):
                await asked(up.url)
        async with Upstream(replay(b"HTTP/1.1 200 OK\r\n\r\nwhole")) as up:
            assert await asked(up.url) == (200, b"whole")

    run(scenario())


def test_informational_answers_are_passed_over():
    async def scenario():
        early = b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
        async with Upstream(replay(early + answer(b"{}"))) as up:
            assert await asked(up.url) == (200, b"{}")

    run(scenario())


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificate")
def test_an_engine_behind_tls_is_reached_if_its_certificate_is_trusted(tmp_path, monkeypatch):
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
            "-keyout", "key.pem", "-out", "cert.pem", "-subj", "/CN=localhost",
            "-addext", "subjectAltName=DNS:localhost"]  # fmt: skip
    subprocess.run(made, cwd=tmp_path, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "cert.pem", tmp_path / "key.pem")

    async def serve(reader, writer):
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(answer(b"{}"))
            await writer.drain()
        writer.close()

    async def scenario():
        server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
        port = server.sockets[0].getsockname()[1]
        async with server:
            with pytest.raises(upstream.Unreached) as found:
                await asked(f"https://localhost:{port}")
            assert isinstance(found.value.__cause__, ssl.SSLCertVerificationError)
            tls.cache_clear()
            monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "cert.pem"))
            assert await asked(f"https://localhost:{port}") == (200, b"{}")

    run(scenario())
    tls.cache_clear()
