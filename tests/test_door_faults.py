"""Whatever goes wrong on either side of the door: one row with the right outcome, nothing left."""

import asyncio
import json
import resource
import socket
from collections.abc import Callable

import pytest
import uvloop
from rig.doored import doored, fleet
from rig.tapped import body_of, exchange, request
from rig.upstream import Upstream, Wire, answer, stream_head

from router import health, sockets
from router.passing import Limits

CHUNK = b'data: {"id": "c", "choices": [{"index": 0, "delta": {"content": "hi"}}]}\n\n'
STREAMED = json.dumps(
    {"model": "tiny", "stream": True, "messages": [{"role": "user", "content": "hi"}]}
).encode()
HASTY = Limits(idle_s=0.3)
MIB = 1 << 20
TCP_REPAIR = 19


def run(scenario):
    return uvloop.run(asyncio.wait_for(scenario, 60))


async def hang(wire: Wire) -> None:
    await wire.gone.wait()


async def reset(wire: Wire) -> None:
    wire.reset()


async def close(wire: Wire) -> None:
    wire.writer.close()


def after(*pieces: bytes, then: Callable = reset) -> Callable:
    """A script that sends these bytes and then does something else."""

    async def play(wire: Wire) -> None:
        for piece in pieces:
            await wire.send(piece)
            await asyncio.sleep(0.02)
        await then(wire)

    return play


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


HEAD = stream_head()
# What the engine does; then what the client sees (None: an answer that is cut), and the row's
# status, HTTP status, output tokens and whether it came to a first token.
FAULTS = {
    "reset before the head": (reset, 502, "upstream_error", None, 0, False),
    "closed before the head": (close, 502, "upstream_error", None, 0, False),
    "reset in the head": (after(HEAD[:30]), 502, "upstream_error", None, 0, False),
    "reset after the head": (after(HEAD), None, "upstream_error", 200, 0, False),
    "reset in mid-stream": (after(HEAD, chunk(CHUNK)), None, "upstream_error", 200, 1, True),
    "closed in mid-stream": (
        after(HEAD, chunk(CHUNK), then=close), None, "upstream_error", 200, 1, True,
    ),
    "reset in an event": (
        after(HEAD, chunk(CHUNK), chunk(CHUNK[:20])), None, "upstream_error", 200, 1, True,
    ),
    "takes the request, never answers": (hang, 504, "timeout", None, 0, False),
    "stalls in the head": (after(HEAD[:30], then=hang), 504, "timeout", None, 0, False),
    "stalls before the first token": (after(HEAD, then=hang), None, "timeout", 200, 0, False),
    "stalls in mid-stream": (
        after(HEAD, chunk(CHUNK), then=hang), None, "timeout", 200, 1, True,
    ),
    "no HTTP": (
        after(b"\x16\x03\x01\x00\xf4" * 40, then=close), 502, "upstream_error", None, 0, False,
    ),
    "another protocol's greeting": (
        after(b"SSH-2.0-OpenSSH_9.6\r\n", then=close), 502, "upstream_error", None, 0, False,
    ),
    "an impossible length": (
        after(b"HTTP/1.1 200 OK\r\nContent-Length: few\r\n\r\n", then=close),
        502, "upstream_error", None, 0, False,
    ),
    "garbage for chunks": (
        after(HEAD, chunk(CHUNK), b"no size\r\n", then=close), None, "upstream_error", 200, 1, True,
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_an_engines_fault_is_one_row(fault):
    play, seen, status, http_status, output, began = FAULTS[fault]

    async def scenario():
        limits = HASTY if status == "timeout" else None
        async with Upstream(play) as one, doored(fleet(one.url), limits=limits) as front:
            raw = await exchange(front.port, request(STREAMED))
            (row,) = await front.booked()
            assert front.idle()
            assert len(one.wires) == 1
        if seen is None:
            assert raw.startswith(b"HTTP/1.1 200")
            with pytest.raises(ValueError, match="cut"):
                body_of(raw)
        else:
            assert raw.startswith(b"HTTP/1.1 %d" % seen)
            assert b"The engine card0" in body_of(raw)
        assert (row.status, row.http_status) == (status, http_status)
        assert row.output_tokens == output
        assert (row.ttft_ns is not None) == began
        assert (row.engine, row.route.chosen) == ("card0", "card0")

    run(scenario())


GARBAGE = [bytes(range(256)) * 40, b"data: no JSON\n\n" * 30, b"\x00" * 5000]


@pytest.mark.parametrize("body", GARBAGE)
def test_garbage_in_place_of_events_goes_through_and_tells_no_tokens(body):
    async def scenario():
        play = after(HEAD, chunk(body), chunk(b""), then=close)
        async with Upstream(play) as one, doored(fleet(one.url)) as front:
            raw = await exchange(front.port, request(STREAMED))
            (row,) = await front.booked()
            assert front.idle()
        assert body_of(raw) == body
        assert (row.http_status, row.input_tokens, row.ttft_ns) == (200, None, None)
        # What has no end of its own was cut; what cannot be read may have had one.
        assert row.status == ("ok" if b"data:" in body else "upstream_error")
        if b"data:" in body:  # what cannot be read is not known to be nothing
            assert (row.output_tokens, row.usage_source) == (None, "missing")

    run(scenario())


def test_an_engine_that_takes_requests_and_never_answers_is_out(monkeypatch):
    monkeypatch.setattr(health, "WITHIN_S", 0.05)

    async def scenario():
        async with Upstream(hang) as one, doored(fleet(one.url, one.url)) as front:
            engine = front.chooser.engines()[0]
            for number in range(health.SILENT):
                assert front.door.health.reason("card0") is None, number
                await front.door.health.check(engine)
            assert "unanswered" in front.door.health.reason("card0")
            assert not front.chooser.card("card0").up
            assert front.chooser.card("card1").up

    run(scenario())


def test_a_client_that_is_silently_gone_frees_the_engine(monkeypatch):
    """No FIN and no reset, as when its host lost power: the kernel's probes find it."""
    monkeypatch.setattr(sockets, "IDLE_S", 1)
    monkeypatch.setattr(sockets, "PROBE_S", 1)

    async def scenario():
        async with Upstream(hang) as one, doored(fleet(one.url)) as front:
            client = socket.create_connection(("127.0.0.1", front.port))
            client.sendall(request(STREAMED))
            await one.seen(1)
            try:
                client.setsockopt(socket.IPPROTO_TCP, TCP_REPAIR, 1)
            except OSError:
                client.close()
                pytest.skip("only root may take a connection away without a word")
            client.close()
            await asyncio.wait_for(one.wires[0].gone.wait(), 10)
            (row,) = await front.booked()
            assert (row.status, row.output_tokens) == ("client_abort", 0)
            assert front.idle()

    run(scenario())


@pytest.mark.parametrize("streamed", [True, False])
def test_a_slow_reader_slows_the_engine_and_fills_no_memory(streamed):
    total = 256 * MIB
    piece = (b": " + b"x" * 65_533 + b"\n") if streamed else b"x" * 65_536
    sent = 0

    async def play(wire: Wire) -> None:
        nonlocal sent
        if streamed:
            await wire.send(HEAD)
        else:
            kind = b"Content-Type: application/json"
            await wire.send(answer(b"", kind).replace(b": 0\r\n", b": %d\r\n" % total, 1))
        while sent < total:
            await (wire.send_chunk if streamed else wire.send)(piece)
            sent += len(piece)
        if streamed:
            await wire.send_chunk(b"")

    async def scenario():
        async with Upstream(play) as one, doored(fleet(one.url)) as front:
            before_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            reader, writer = await asyncio.open_connection("127.0.0.1", front.port, limit=1024)
            writer.write(request(STREAMED))
            await reader.readuntil(b"\r\n\r\n")
            seen = -1
            while sent != seen:
                seen = sent
                await asyncio.sleep(0.3)
            # What is under way lies in socket buffers and two small ones of the door.
            assert sent < 24 * MIB
            read = 0
            while data := await reader.read(1 << 16):
                read += len(data)
            writer.close()
            (row,) = await front.booked()
            grown_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kb
        assert read >= total
        assert row.http_status == 200
        assert grown_kb < 48 * 1024

    run(scenario())
