"""Clients who say nothing: cut in time, and never in the way of those who ask."""

import asyncio
import http.client
import json
import socket
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
import uvloop
from rig.door import opened
from rig.doored import doored, fleet
from rig.tapped import body_of, exchange, request, tapped
from rig.upstream import Upstream, Wire, answer, stream_head

from collector import connections
from collector.connections import Connections
from router.passing import Limits

WHOLE = b'{"id": "chatcmpl-1", "choices": []}'
OK = answer(WHOLE, b"Content-Type: application/json")
CHAT = b'{"model": "m", "messages": []}'
STREAM = b'{"model": "m", "stream": true, "messages": []}'
EVENT = b'data: {"choices": [{"delta": {"content": "a"}, "finish_reason": "stop"}]}\n\n'
HALF = b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n"
HEALTH = request(b"", method=b"GET", target=b"/health", close=False)


def run(scenario):
    return uvloop.run(asyncio.wait_for(scenario, 60))


@dataclass
class Stranger:
    """A connection on which only the beginning of a head was sent."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def ended(self) -> bool:
        """Whether the other end closes, in 10 s at most."""
        try:
            return await asyncio.wait_for(self.reader.read(), 10) == b""
        except ConnectionError:
            return True
        except TimeoutError:
            return False
        finally:
            self.writer.close()


async def half_sent(port: int, before: bytes = b"") -> Stranger:
    """A head has begun, after a whole request `before` it."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    if before:
        writer.write(before)
        await asyncio.wait_for(reader.readuntil(b"}}"), 10)
    writer.write(HALF)
    return Stranger(reader, writer)


def test_a_half_sent_head_is_cut_and_a_stream_and_an_idle_client_are_not(monkeypatch):
    monkeypatch.setattr(connections, "HEAD_S", 0.2)

    async def scenario():
        finish = asyncio.Event()

        async def play(wire: Wire):
            await wire.send(stream_head())
            await wire.send_chunk(EVENT)
            await finish.wait()
            await wire.send_chunk(b"")

        async with Upstream(play) as up, doored(fleet(up.url)) as front:
            reader, writer = await asyncio.open_connection("127.0.0.1", front.port)
            writer.write(request(STREAM))
            raw = await reader.readuntil(EVENT)
            idle, idle_writer = await asyncio.open_connection("127.0.0.1", front.port)
            idle_writer.write(HEALTH)
            await idle.readuntil(b"}}")
            assert await (await half_sent(front.port)).ended()
            assert await (await half_sent(front.port, HEALTH)).ended()
            idle_writer.write(HEALTH)
            assert b"card0" in await idle.readuntil(b"}}")
            finish.set()
            raw += await reader.read()
            assert body_of(raw) == EVENT
            for each in (writer, idle_writer):
                each.close()

    run(scenario())


@pytest.mark.parametrize("port_of", ["door", "tap"])
def test_strangers_give_way_to_a_client_and_a_running_stream_to_nobody(port_of):
    async def scenario():
        finish = asyncio.Event()

        async def play(wire: Wire):
            if b'"stream"' not in wire.received.body:
                await wire.send(OK)
                return
            await wire.send(stream_head())
            await wire.send_chunk(EVENT)
            await finish.wait()
            await wire.send_chunk(b"")

        limits = Limits(connections=Connections(8))
        async with Upstream(play) as up:
            serving = doored(fleet(up.url), limits) if port_of == "door" else tapped(up.url, limits)
            async with serving as front:
                reader, writer = await asyncio.open_connection("127.0.0.1", front.port)
                writer.write(request(STREAM))
                raw = await reader.readuntil(EVENT)
                strangers = [await half_sent(front.port) for _ in range(30)]
                assert body_of(await exchange(front.port, request(CHAT))) == WHOLE
                assert all([await each.ended() for each in strangers[:20]])
                assert len((front.door if port_of == "door" else front.tap).server.connections) <= 8
                finish.set()
                raw += await reader.read()
                for each in (writer, *(stranger.writer for stranger in strangers[20:])):
                    each.close()
                assert body_of(raw) == EVENT

    run(scenario())


def test_the_collectors_door_cuts_half_sent_heads(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(connections, "HEAD_S", 0.2)
    with opened(tmp_path) as served, socket.create_connection(("127.0.0.1", served.port)) as half:
        half.sendall(b"POST /v1/events HTTP/1.1\r\n")
        half.settimeout(10)
        assert half.recv(1) == b""


def test_the_collectors_door_stays_open_before_strangers(tmp_path: Path) -> None:
    with opened(tmp_path, connections=Connections(4)) as served:
        strangers = [socket.create_connection(("127.0.0.1", served.port)) for _ in range(12)]
        try:
            for each in strangers:
                each.sendall(b"GET /healthz HTTP/1.1\r\n")
            client = http.client.HTTPConnection("127.0.0.1", served.port, timeout=10)
            client.request("GET", "/healthz")
            assert json.load(client.getresponse()) == {"status": "ok"}
            client.close()
        finally:
            for each in strangers:
                each.close()


@pytest.mark.parametrize(("files", "clients"), [(256, 96), (1024, 384), (1 << 20, 8192)])
def test_there_is_room_for_an_engine_beside_each_client_and_for_the_process_itself(files, clients):
    """(files - the quarter or the 256 that are the process's own) / 2, and 8192 at most."""
    assert connections.most_at_once(files) == clients


def test_the_limit_of_open_files_is_raised_as_far_as_it_may_be():
    script = (
        "import resource as r\n"
        "from collector.connections import raise_limit\n"
        "hard = r.getrlimit(r.RLIMIT_NOFILE)[1]\n"
        "r.setrlimit(r.RLIMIT_NOFILE, (256, hard))\n"
        "raise_limit()\n"
        "assert r.getrlimit(r.RLIMIT_NOFILE) == (hard, hard), r.getrlimit(r.RLIMIT_NOFILE)\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
