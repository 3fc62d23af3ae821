"""What comes before what at a tap: uploads beside answers, faults after heads, sendings."""

import asyncio

import uvloop
from rig.ports import free_port
from rig.tapped import exchange, request, tapped
from rig.upstream import Upstream, answer, replay

CHAT = b'{"model":"m","stream":true,"messages":[{"role":"user","content":"hello"}]}'


def run(scenario):
    return uvloop.run(asyncio.wait_for(scenario, 30))


def test_a_request_whose_answer_begins_before_its_end_is_known_all_the_same():
    async def scenario():
        async def serve(reader, writer):
            await reader.readuntil(b"\r\n\r\n")
            head = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n"
            writer.write(head + b"hi")
            await reader.readuntil(b"}]}")
            writer.write(b"ho")
            await writer.drain()
            writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        async with server, tapped(url) as tap:
            reader, writer = await asyncio.open_connection("127.0.0.1", tap.port)
            whole = request(CHAT)
            writer.write(whole[:-20])
            await reader.readuntil(b"hi")
            writer.write(whole[-20:])
            assert (await reader.read()).endswith(b"ho")
            writer.close()
            (attempt,) = await tap.booked()
        assert (attempt.model, attempt.status) == ("m", "ok")

    run(scenario())


def test_a_fault_after_the_head_never_becomes_a_second_answer():
    async def scenario():
        async with Upstream(replay(answer(b"{}"))) as up, tapped(up.url) as tap:

            def fault(_):
                raise RuntimeError("a fault in the books")

            tap.tap._settle = fault
            raw = await exchange(tap.port, request(CHAT))
        assert raw.count(b"HTTP/1.1") == 1
        assert raw.startswith(b"HTTP/1.1 200 OK")

    run(scenario())


def test_what_was_never_sent_has_no_instant_of_sending():
    port = free_port()

    async def scenario():
        async with tapped(f"http://127.0.0.1:{port}") as tap:
            raw = await exchange(tap.port, request(CHAT))
            (attempt,) = await tap.booked()
        assert raw.startswith(b"HTTP/1.1 502")
        assert (attempt.status, attempt.dispatch_ns) == ("upstream_error", None)

    run(scenario())
