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
from rig.upstream import Upstream, answer, replay

from router import upstream
from router.passing import Limits
from router.sockets import Dialler, Place

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


def test_a_name_of_several_addresses_is_reached_at_the_one_that_listens():
    """The first address of two is one where nobody listens, as of a host without IPv6."""

    async def scenario():
        loop = asyncio.get_running_loop()
        asked_for = []

        async def two(host, port, **_):
            asked_for.append(host)
            kind = (socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "")
            return [(*kind, ("127.0.0.9", port)), (*kind, ("127.0.0.1", port))]

        async with Upstream(replay(answer(b"{}"))) as up:
            dialler = Dialler()
            protocols = []
            with pytest.MonkeyPatch.context() as patch:
                # The loop is compiled and cannot be patched; the dialler asks it by this name.
                patch.setattr("router.sockets.asyncio.get_running_loop", lambda: Named(loop, two))
                for _ in range(2):
                    place = Place("engine.test", up.port)
                    protocols.append(await dialler.connect(place, lambda: upstream.Answering(loop)))
            peers = [each.transport.get_extra_info("peername")[0] for each in protocols]
            for each in protocols:
                each.close()
        assert peers == ["127.0.0.1"] * 2
        assert asked_for == ["engine.test"]  # the second within the same ten seconds

    run(scenario())


class Named:
    """An event loop with a name service of its own."""

    def __init__(self, loop, names):
        self._loop = loop
        self.getaddrinfo = names

    def __getattr__(self, name):
        return getattr(self._loop, name)


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
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(upstream.Unreached) as found:
        run(asked(f"http://127.0.0.1:{port}"))
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
            upstream.base.cache_clear()
            monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "cert.pem"))
            assert await asked(f"https://localhost:{port}") == (200, b"{}")

    run(scenario())
    upstream.base.cache_clear()
