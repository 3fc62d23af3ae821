"""A tap between a raw client and an engine by script: nothing changes, everything is booked."""

import asyncio
import gzip
import json
import time

import aiohttp
import msgspec
import pytest
import uvloop
from rig.events import read
from rig.ports import free_port
from rig.tapped import MARK_OF_CARD0, body_of, exchange, request, tapped
from rig.upstream import Upstream, Wire, answer, replay, stream_head

from collector.columns import to_arrow
from collector.formats.usage import Usage
from router.passing import Limits

CHAT = json.dumps({"model": "qwen", "messages": [{"role": "user", "content": "hi"}]}).encode()
STREAMED = json.dumps({"model": "qwen", "stream": True, "messages": []}).encode()
USAGE = {
    "prompt_tokens": 45,
    "completion_tokens": 3,
    "prompt_tokens_details": {"cached_tokens": 44},
}
WHOLE = json.dumps(
    {"id": "chatcmpl-1", "model": "tiny.gguf", "choices": [], "usage": USAGE}
).encode()


def event(**document):
    return b"data: " + json.dumps(document).encode() + b"\n\n"


def delta(text, finish=None):
    return event(id="chatcmpl-2", choices=[{"delta": {"content": text}, "finish_reason": finish}])


EVENTS = [
    delta("Grü"),
    delta("ße 😀"),
    delta("!"),
    delta("", "stop"),
    event(choices=[], usage=USAGE),
]
STREAM = b"".join(EVENTS) + b"data: [DONE]\n\n"


def run(scenario):
    uvloop.run(asyncio.wait_for(scenario, 30))


async def play_stream(wire: Wire, pieces=(*EVENTS, b"data: [DONE]\n\n", b"")):
    await wire.send(stream_head())
    for piece in pieces:
        await wire.send_chunk(piece)


def test_a_whole_answer_goes_through_byte_for_byte_and_is_booked():
    async def scenario():
        headers = (b"Content-Type: application/json", b"X-Odd:  kept ", b"Set-Cookie: a=1")
        sent = answer(WHOLE, *headers, b"Set-Cookie: b=2", b"Server: engine", b"Date: now")
        async with Upstream(replay(sent)) as up, tapped(up.url) as tap:
            raw = await exchange(tap.port, request(CHAT, b"X-Request-ID: req-1", b"X-Foo: bar"))
            (attempt,) = await tap.booked()
        head, _, body = raw.partition(b"\r\n\r\n")
        assert body == WHOLE
        assert head.split(b"\r\n")[0] == b"HTTP/1.1 200 OK"
        assert sorted(head.split(b"\r\n")[1:]) == sorted(
            [
                b"Content-Length: %d" % len(WHOLE),
                b"Content-Type: application/json",
                b"X-Odd: kept",
                b"Set-Cookie: a=1",
                b"Set-Cookie: b=2",
                b"Server: engine",
                b"Date: now",
                b"Connection: close",
            ]
        )
        (received,) = up.requests
        assert received.start_line == b"POST /v1/chat/completions HTTP/1.1"
        assert received.body == CHAT
        assert received.headers == {
            b"host": f"127.0.0.1:{up.port}".encode(),
            b"content-length": b"%d" % len(CHAT),
            b"x-request-id": b"req-1",
            b"x-foo": b"bar",
            b"x-rigledger-tap": MARK_OF_CARD0,
        }
        assert (attempt.status, attempt.http_status) == ("ok", 200)
        assert attempt.request_id == "req-1"
        assert (attempt.operation, attempt.model) == ("chat", "tiny.gguf")
        assert (attempt.engine, attempt.gpus, attempt.rig) == ("card0", ["GPU-0"], "desk")
        counts = (attempt.input_tokens, attempt.cache_read_tokens, attempt.output_tokens)
        assert counts == (45, 44, 3)
        assert attempt.usage_source == "engine"
        assert attempt.ttft_ns is None
        assert 0 < attempt.dispatch_ns < attempt.duration_ns
        found, rejected = read(b"[" + msgspec.json.encode(attempt) + b"]")
        assert rejected == []
        assert found[0][1].event_id == attempt.event_id
        assert to_arrow("attempt", [attempt]).num_rows == 1

    run(scenario())


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64, 100_000])
def test_streams_are_the_same_under_all_cuts(size):
    pieces = [STREAM[i : i + size] for i in range(0, len(STREAM), size)]

    async def scenario():
        async def play(wire):
            await play_stream(wire, (*pieces, b""))

        async with Upstream(play) as up, tapped(up.url) as tap:
            raw = await exchange(tap.port, request(STREAMED))
            (attempt,) = await tap.booked()
        assert body_of(raw) == STREAM
        assert (attempt.status, attempt.finish_reason) == ("ok", "stop")
        assert (attempt.input_tokens, attempt.output_tokens) == (45, 3)
        assert attempt.response_id == "chatcmpl-2"
        assert 0 < attempt.ttft_ns <= attempt.duration_ns

    run(scenario())


def test_chunks_are_not_held_back():
    async def scenario():
        go_on = asyncio.Event()

        async def play(wire):
            await wire.send(stream_head())
            await wire.send_chunk(EVENTS[0])
            await go_on.wait()
            await play_rest(wire)

        async def play_rest(wire):
            for piece in (*EVENTS[1:], b"data: [DONE]\n\n", b""):
                await wire.send_chunk(piece)

        async with Upstream(play) as up, tapped(up.url) as tap:
            reader, writer = await asyncio.open_connection("127.0.0.1", tap.port)
            writer.write(request(STREAMED))
            await reader.readuntil(EVENTS[0])
            go_on.set()
            assert (await reader.read()).endswith(b"0\r\n\r\n")
            writer.close()
            await tap.booked()

    run(scenario())


def test_packed_answers_stay_packed_and_are_read_from_a_copy():
    async def scenario():
        packed = gzip.compress(WHOLE)
        headers = (b"Content-Encoding: gzip", b"Content-Type: application/json")
        async with Upstream(replay(answer(packed, *headers))) as up, tapped(up.url) as tap:
            raw = await exchange(tap.port, request(CHAT, b"Accept-Encoding: gzip"))
            (attempt,) = await tap.booked()
        assert body_of(raw) == packed
        assert b"Content-Encoding: gzip" in raw
        assert attempt.output_tokens == 3

    run(scenario())


def test_a_packed_request_stays_packed():
    async def scenario():
        packed = gzip.compress(CHAT)
        async with Upstream(replay(answer(b"{}"))) as up, tapped(up.url) as tap:
            await exchange(tap.port, request(packed, b"Content-Encoding: gzip"))
            (attempt,) = await tap.booked()
        assert up.requests[0].body == packed
        assert attempt.model == "qwen"

    run(scenario())


def test_a_large_body_and_a_chunked_upload_arrive_whole():
    async def scenario():
        large = json.dumps({"model": "qwen", "pad": "x" * 20_000_000}).encode()
        async with Upstream(replay(answer(WHOLE))) as up, tapped(up.url) as tap:
            await exchange(tap.port, request(large))
            chunks = [b"%x\r\n%b\r\n" % (len(part), part) for part in (CHAT[:10], CHAT[10:])]
            head = (
                b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                b"Transfer-Encoding: chunked\r\n\r\n"
            )
            await exchange(tap.port, head + b"".join(chunks) + b"0\r\n\r\n")
            first, second = await tap.booked(2)
        assert up.requests[0].body == large
        assert up.requests[1].body == CHAT
        assert up.requests[1].headers[b"transfer-encoding"] == b"chunked"
        assert (first.operation, second.operation) == ("chat", "completion")
        assert second.model == "tiny.gguf"

    run(scenario())


def test_expect_continue_is_answered():
    async def scenario():
        async with Upstream(replay(answer(WHOLE))) as up, tapped(up.url) as tap:
            reader, writer = await asyncio.open_connection("127.0.0.1", tap.port)
            whole = request(CHAT, b"Expect: 100-continue")
            writer.write(whole[: -len(CHAT)])
            assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
            writer.write(CHAT)
            assert body_of(await reader.read()) == WHOLE
            writer.close()
            await tap.booked()
        assert b"expect" not in up.requests[0].headers

    run(scenario())


@pytest.mark.parametrize(
    ("method", "target"),
    [
        (b"GET", b"/health"),
        (b"GET", b"/v1/models"),
        (b"GET", b"/metrics?x=%2F..%2f&y=a+b"),
        (b"POST", b"/tokenize"),
        (b"GET", b"/v1/chat/completions"),
        (b"OPTIONS", b"/v1/chat/completions"),
        (b"GET", b"/a//b/../c/./%7Euser/%zz?q=%C3%A9&empty=&&"),
    ],
)
def test_what_asks_for_no_tokens_passes_without_an_event(method, target):
    async def scenario():
        async with Upstream(replay(answer(b"ok"))) as up, tapped(up.url) as tap:
            raw = await exchange(tap.port, request(b"", target=target, method=method))
            assert body_of(raw) == b"ok"
            assert tap.events == []
        assert up.requests[0].start_line == method + b" " + target + b" HTTP/1.1"
        assert b"x-request-id" not in up.requests[0].headers

    run(scenario())


def test_head_has_the_length_and_no_body():
    async def scenario():
        sent = b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n"
        async with Upstream(replay(sent)) as up, tapped(up.url) as tap:
            raw = await exchange(tap.port, request(b"", method=b"HEAD", target=b"/health"))
        assert b"Content-Length: 99" in raw
        assert raw.endswith(b"\r\n\r\n")

    run(scenario())


def test_a_connection_carries_several_requests():
    async def scenario():
        async with Upstream(replay(answer(WHOLE))) as up, tapped(up.url) as tap:
            reader, writer = await asyncio.open_connection("127.0.0.1", tap.port)
            for _ in range(3):
                writer.write(request(CHAT, close=False))
                await reader.readuntil(b"\r\n\r\n")
                assert await reader.readexactly(len(WHOLE)) == WHOLE
            writer.close()
            events = await tap.booked(3)
        assert len({each.event_id for each in events}) == 3
        assert [each.event_id for each in events] == sorted(each.event_id for each in events)

    run(scenario())


def test_the_tap_sets_a_request_id_where_there_is_none():
    async def scenario():
        async with Upstream(replay(answer(WHOLE))) as up, tapped(up.url) as tap:
            await exchange(tap.port, request(CHAT))
            (attempt,) = await tap.booked()
        assert up.requests[0].headers[b"x-request-id"].decode() == attempt.request_id
        assert len(attempt.request_id) > 20

    run(scenario())


def test_labels_are_keyed_hashes():
    async def scenario():
        async with Upstream(replay(answer(WHOLE))) as up, tapped(up.url) as tap:
            label = (b"X-Session-ID: alice", b"X-Project: alice")
            await exchange(tap.port, request(CHAT, *label))
            await exchange(tap.port, request(CHAT, b"X-Claude-Code-Session-ID: alice"))
            await exchange(tap.port, request(CHAT, b"X-Session-ID: bob"))
            one, same, other = await tap.booked(3)
        assert up.requests[0].headers[b"x-session-id"] == b"alice"
        assert one.session == same.session != other.session
        assert one.project != one.session
        for label in (one.session, one.project, other.session):
            assert label.startswith("k1:")
            assert len(label) == 3 + 32
        assert same.project is None

    run(scenario())


@pytest.mark.parametrize("status", [b"400 Bad Request", b"429 Too Many", b"503 Loading"])
def test_errors_of_the_engine_pass_and_are_booked(status):
    async def scenario():
        body = b'{"error": {"message": "no"}}'
        async with Upstream(replay(answer(body, status=status))) as up, tapped(up.url) as tap:
            raw = await exchange(tap.port, request(STREAMED))
            (attempt,) = await tap.booked()
        assert raw.split(b"\r\n")[0] == b"HTTP/1.1 " + status
        assert body_of(raw) == body
        assert attempt.status == "upstream_error"
        assert attempt.http_status == int(status[:3])
        assert attempt.usage_source == "missing"

    run(scenario())


def test_an_engine_that_is_not_there_gives_one_sentence():
    async def scenario():
        port = free_port()
        async with tapped(f"http://127.0.0.1:{port}") as tap:
            raw = await exchange(tap.port, request(CHAT))
            (attempt,) = await tap.booked()
        assert raw.startswith(b"HTTP/1.1 502 ")
        assert json.loads(body_of(raw))["error"]["message"].startswith("The engine card0 cannot be")
        assert (attempt.status, attempt.http_status) == ("upstream_error", None)
        assert attempt.usage_source == "missing"
        assert attempt.model == "qwen" or attempt.model is None

    run(scenario())


def test_reset_before_the_headers():
    async def scenario():
        async def play(wire):
            wire.reset()

        async with Upstream(play) as up, tapped(up.url) as tap:
            raw = await exchange(tap.port, request(CHAT))
            (attempt,) = await tap.booked()
        assert raw.startswith(b"HTTP/1.1 502 ")
        assert (attempt.status, attempt.http_status) == ("upstream_error", None)
        assert len(up.requests) == 1

    run(scenario())


@pytest.mark.parametrize("pieces", [(), EVENTS[:2]])
def test_reset_after_the_headers_or_in_mid_stream_is_seen_by_the_client(pieces):
    async def scenario():
        passed = asyncio.Event()

        async def play(wire):
            await wire.send(stream_head())
            for piece in pieces:
                await wire.send_chunk(piece)
            await passed.wait()
            wire.reset()

        async with Upstream(play) as up, tapped(up.url) as tap:
            reader, writer = await asyncio.open_connection("127.0.0.1", tap.port)
            writer.write(request(STREAMED))
            raw = await reader.readuntil(pieces[-1] if pieces else b"\r\n\r\n")
            passed.set()
            raw += await reader.read()
            writer.close()
            (attempt,) = await tap.booked()
        with pytest.raises(ValueError, match="was cut"):
            body_of(raw)
        assert b"".join(pieces)[:40] in raw
        assert (attempt.status, attempt.http_status) == ("upstream_error", 200)
        assert (attempt.output_tokens, attempt.usage_source) == (len(pieces), "derived")
        assert attempt.input_tokens is None

    run(scenario())


def test_a_short_body_is_a_cut():
    async def scenario():
        head = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n"
        async with Upstream(replay(head + b"{")) as up, tapped(up.url) as tap:
            raw = await exchange(tap.port, request(CHAT))
            (attempt,) = await tap.booked()
        assert b"Content-Length: 100" in raw
        assert len(body_of(raw)) <= 1
        assert attempt.status == "upstream_error"

    run(scenario())


def test_a_stream_without_its_end_is_an_error_even_in_good_http():
    async def scenario():
        async def play(wire):
            await play_stream(wire, (EVENTS[0], b""))

        async with Upstream(play) as up, tapped(up.url) as tap:
            assert body_of(await exchange(tap.port, request(STREAMED))) == EVENTS[0]
            (attempt,) = await tap.booked()
        assert (attempt.status, attempt.output_tokens) == ("upstream_error", 1)

    run(scenario())


def test_a_stall_before_the_headers_times_out():
    async def scenario():
        async def play(wire):
            await wire.gone.wait()

        async with Upstream(play) as up, tapped(up.url, Limits(idle_s=0.1)) as tap:
            raw = await exchange(tap.port, request(STREAMED))
            (attempt,) = await tap.booked()
            await asyncio.wait_for(up.wires[0].gone.wait(), 1)
        assert raw.startswith(b"HTTP/1.1 504 ")
        assert (attempt.status, attempt.http_status) == ("timeout", None)
        assert (attempt.output_tokens, attempt.usage_source) == (0, "derived")

    run(scenario())


@pytest.mark.parametrize("limits", [Limits(idle_s=0.1), Limits(total_s=0.2)])
def test_a_stall_in_mid_stream_times_out(limits):
    async def scenario():
        async def play(wire):
            await wire.send(stream_head())
            await wire.send_chunk(EVENTS[0])
            await wire.gone.wait()

        async with Upstream(play) as up, tapped(up.url, limits) as tap:
            raw = await exchange(tap.port, request(STREAMED))
            (attempt,) = await tap.booked()
        with pytest.raises(ValueError, match="was cut"):
            body_of(raw)
        assert (attempt.status, attempt.http_status) == ("timeout", 200)
        assert attempt.output_tokens == 1

    run(scenario())


@pytest.mark.parametrize("stage", ["prefill", "headers", "mid-stream"])
def test_a_client_that_leaves_frees_the_engine_within_a_second(stage):
    async def scenario():
        async def play(wire):
            if stage != "prefill":
                await wire.send(stream_head())
            if stage == "mid-stream":
                await wire.send_chunk(EVENTS[0])
                await wire.send_chunk(EVENTS[1])
            await wire.gone.wait()

        async with Upstream(play) as up, tapped(up.url) as tap:
            reader, writer = await asyncio.open_connection("127.0.0.1", tap.port)
            writer.write(request(STREAMED))
            await up.arrived.wait()
            if stage == "headers":
                await reader.readuntil(b"\r\n\r\n")
            if stage == "mid-stream":
                await reader.readuntil(EVENTS[1])
            left = time.monotonic()
            writer.transport.abort()
            await asyncio.wait_for(up.wires[0].gone.wait(), 5)
            assert up.wires[0].gone_at - left < 1
            (attempt,) = await tap.booked()
        assert attempt.status == "client_abort"
        assert attempt.http_status == (None if stage == "prefill" else 200)
        assert attempt.output_tokens == (2 if stage == "mid-stream" else 0)
        assert (attempt.input_tokens, attempt.usage_source) == (None, "derived")

    run(scenario())


def test_a_client_that_leaves_in_its_upload_is_the_one_who_left():
    async def scenario():
        async def play(wire):
            raise AssertionError("the request was never whole")

        async with Upstream(play) as up, tapped(up.url) as tap:
            reader, writer = await asyncio.open_connection("127.0.0.1", tap.port)
            writer.write(request(CHAT)[:-5])
            await up.arrived.wait()
            writer.transport.abort()
            await asyncio.wait_for(up.wires[0].gone.wait(), 1)
            (attempt,) = await tap.booked()
            del reader
        assert attempt.status == "client_abort"

    run(scenario())


def test_a_client_that_leaves_after_the_end_mark_had_it_all():
    async def scenario():
        async def play(wire):
            await play_stream(wire, (*EVENTS, b"data: [DONE]\n\n"))
            await wire.gone.wait()

        async with Upstream(play) as up, tapped(up.url) as tap:
            reader, writer = await asyncio.open_connection("127.0.0.1", tap.port)
            writer.write(request(STREAMED))
            await reader.readuntil(b"data: [DONE]\n\n")
            writer.close()
            (attempt,) = await tap.booked()
        assert (attempt.status, attempt.output_tokens) == ("ok", 3)

    run(scenario())


def test_a_slow_reader_slows_the_engine_instead_of_filling_memory():
    async def scenario():
        sent = 0
        piece = b": " + b"x" * 65_534
        total = 64 * 1024 * 1024

        async def play(wire):
            nonlocal sent
            await wire.send(stream_head())
            while sent < total:
                await wire.send_chunk(piece)
                sent += len(piece)
            await wire.send_chunk(b"")

        async with Upstream(play) as up, tapped(up.url) as tap:
            reader, writer = await asyncio.open_connection("127.0.0.1", tap.port, limit=1024)
            writer.write(request(STREAMED))
            await reader.readuntil(b"\r\n\r\n")
            seen = -1
            while sent != seen:
                seen = sent
                await asyncio.sleep(0.3)
            # What is under way lies in socket buffers and two small ones of the tap.
            assert sent < 24 * 1024 * 1024
            writer.transport.abort()
            (attempt,) = await tap.booked()
        assert attempt.status == "client_abort"

    run(scenario())


def test_many_at_once_are_each_booked_once():
    async def scenario():
        async with Upstream(play_stream) as up, tapped(up.url) as tap:
            asked = [request(STREAMED, b"X-Request-ID: r%d" % i) for i in range(100)]
            answers = await asyncio.gather(*(exchange(tap.port, each) for each in asked))
            events = await tap.booked(100)
        assert {body_of(raw) for raw in answers} == {STREAM}
        assert {each.request_id for each in events} == {f"r{i}" for i in range(100)}
        assert {each.output_tokens for each in events} == {3}

    run(scenario())


def test_both_lengths_at_once_are_refused():
    async def scenario():
        async with Upstream(replay(answer(WHOLE))) as up, tapped(up.url) as tap:
            head = request(b"0\r\n\r\n", b"Transfer-Encoding: chunked")
            raw = await exchange(tap.port, head)
        assert raw.split(b"\r\n")[0] == b"HTTP/1.0 400 Bad Request"
        assert raw.count(b"HTTP/1.") == 1
        assert up.requests == []
        assert tap.events == []

    run(scenario())


def test_a_foreign_target_goes_nowhere():
    async def scenario():
        async with Upstream(replay(answer(WHOLE))) as up, tapped(up.url) as tap:
            raw = await exchange(tap.port, request(CHAT, target=b"http://elsewhere/v1/x"))
        assert raw.startswith(b"HTTP/1.1 400 ")
        assert up.requests == []

    run(scenario())


def test_an_ordinary_http_client_agrees():
    async def scenario():
        async with Upstream(play_stream) as up, tapped(up.url) as tap:
            async with (
                aiohttp.ClientSession() as session,
                session.post(f"{tap.url}/v1/chat/completions", data=STREAMED) as reply,
            ):
                assert await reply.read() == STREAM
            (attempt,) = await tap.booked()
        assert attempt.raw_usage == {"usage": USAGE}
        assert Usage(source="engine").source == attempt.usage_source

    run(scenario())


def test_draining_lets_requests_finish_and_cuts_the_rest():
    async def scenario():
        finish = asyncio.Event()

        async def play(wire):
            await wire.send(stream_head())
            await wire.send_chunk(EVENTS[0])
            if wire.received.headers[b"x-request-id"] == b"quick":
                await finish.wait()
                for piece in (*EVENTS[1:], b"data: [DONE]\n\n", b""):
                    await wire.send_chunk(piece)
            else:
                await wire.gone.wait()

        async with Upstream(play) as up, tapped(up.url) as tap:
            quick = asyncio.create_task(
                exchange(tap.port, request(STREAMED, b"X-Request-ID: quick"))
            )
            slow = asyncio.create_task(exchange(tap.port, request(STREAMED, b"X-Request-ID: slow")))
            await up.seen(2)
            draining = asyncio.create_task(tap.tap.drain(0.3))
            await asyncio.sleep(0)
            finish.set()
            assert body_of(await quick) == STREAM
            await draining
            await slow
            events = {each.request_id: each for each in await tap.booked(2)}
        assert events["quick"].status == "ok"
        assert events["slow"].status == "timeout"
        assert events["slow"].output_tokens == 1

    run(scenario())
