"""The front door before engines by script: chosen, passed through, booked; nothing is left over."""

import asyncio
import json

import pytest
import uvloop
from hypothesis import given, settings
from hypothesis import strategies as st
from rig.doored import doored, fleet
from rig.ports import free_port
from rig.tapped import body_of, exchange, request
from rig.upstream import Upstream, Wire, answer, replay, stream_head

from collector.settings import EngineSettings, Settings
from router.passing import Limits
from router.receipt import Receipt

USAGE = {
    "prompt_tokens": 45,
    "completion_tokens": 3,
    "prompt_tokens_details": {"cached_tokens": 44},
}
WHOLE = json.dumps({"id": "chatcmpl-1", "model": "tiny", "choices": [], "usage": USAGE}).encode()
OK = answer(WHOLE, b"Content-Type: application/json")
BUSY = answer(b"{}", b"Content-Type: application/json", status=b"503 Service Unavailable")


def chat(text="hi", **more):
    return json.dumps(
        {"model": "tiny", "messages": [{"role": "user", "content": text}], **more}
    ).encode()


def event(**document):
    return b"data: " + json.dumps(document).encode() + b"\n\n"


EVENTS = [
    event(id="chatcmpl-2", choices=[{"delta": {"content": "Grü"}}]),
    event(id="chatcmpl-2", choices=[{"delta": {"content": "ße"}, "finish_reason": "stop"}]),
    event(choices=[], usage=USAGE),
    b"data: [DONE]\n\n",
]


async def stream(wire: Wire):
    await wire.send(stream_head())
    for piece in [*EVENTS, b""]:
        await wire.send_chunk(piece)


def run(scenario):
    return uvloop.run(asyncio.wait_for(scenario, 30))


def dead_url():
    """An address that nobody listens on."""
    return f"http://127.0.0.1:{free_port()}"


def told(raw: bytes) -> tuple[int, dict[str, str]]:
    head = raw.partition(b"\r\n\r\n")[0].decode().split("\r\n")
    fields = (line.partition(": ") for line in head[1:])
    return int(head[0].split()[1]), {name.lower(): value for name, _, value in fields}


@pytest.mark.parametrize(
    "policy",
    ["estimated_wait", "round_robin", "least_requests", "longest_prefix", "sglang_cache_aware",
     "two_candidates", "load_aware", "power_of_two"],
)  # fmt: skip
def test_a_request_goes_through_as_it_is_and_its_decision_is_booked(policy):
    async def scenario():
        body = chat("Grüße", unknown=[1, None])
        async with (
            Upstream(replay(OK)) as one,
            Upstream(replay(OK)) as two,
            doored(fleet(one.url, two.url, policy=policy)) as front,
        ):
            raw = await exchange(front.port, request(body, b"X-Session-ID: s1"))
            (booked,) = await front.booked()
            (received,) = one.requests + two.requests
            chosen = "card0" if one.requests else "card1"
            assert received.body == body
            assert body_of(raw) == WHOLE
            assert told(raw)[1]["x-rigledger-engine"] == chosen
            assert (booked.engine, booked.gpus) == (chosen, [f"GPU-{chosen[-1]}"])
            assert (booked.source, booked.attempt_no, booked.status) == ("router", 1, "ok")
            assert (booked.input_tokens, booked.cache_read_tokens, booked.output_tokens) == (
                45,
                44,
                3,
            )
            assert booked.route.policy == policy
            assert booked.route.chosen == chosen
            assert [each.engine for each in booked.route.candidates] == ["card0", "card1"]
            assert booked.route.actual_hit_tokens == 44
            assert len(booked.prefix) == len(booked.prefix_tokens) == 1
            assert "Grü" not in repr(booked)
            assert front.idle()

    run(scenario())


def test_a_stream_is_passed_on_and_counts_until_its_first_token():
    async def scenario():
        go = asyncio.Event()

        async def play(wire):
            await wire.send(stream_head())
            await wire.send_chunk(EVENTS[0])
            await go.wait()
            for piece in [*EVENTS[1:], b""]:
                await wire.send_chunk(piece)

        async with Upstream(play) as one, doored(fleet(one.url)) as front:
            reader, writer = await asyncio.open_connection("127.0.0.1", front.port)
            writer.write(request(chat(stream=True)))
            raw = await reader.readuntil(EVENTS[0])
            card = front.chooser.card("card0")
            assert (card.in_flight, card.pending_tokens) == (1, 0)
            go.set()
            raw += await reader.read()
            writer.close()
            (booked,) = await front.booked()
            assert body_of(raw) == b"".join(EVENTS)
            assert booked.ttft_ns is not None
            assert front.idle()

    run(scenario())


def test_turns_of_a_conversation_go_home_and_bear_its_label():
    async def scenario():
        async with (
            Upstream(replay(OK)) as one,
            Upstream(replay(OK)) as two,
            doored(fleet(one.url, two.url)) as front,
        ):
            turns = [{"role": "system", "content": "s" * 4000}]
            for turn in range(4):
                turns.append({"role": "user", "content": f"question {turn} " * 200})
                body = json.dumps({"model": "tiny", "messages": turns}).encode()
                await exchange(front.port, request(body))
                turns.append({"role": "assistant", "content": "yes " * 50})
            booked = await front.booked(4)
            assert len({each.engine for each in booked}) == 1
            assert len({each.session for each in booked}) == 1
            assert booked[0].session.startswith("k1:")
            assert booked[-1].route.reason == "home"
            # A first message that differs is another conversation.
            await exchange(front.port, request(chat("else")))
            assert (await front.booked(5))[-1].session != booked[0].session

    run(scenario())


def test_an_engine_that_cannot_be_reached_costs_one_try_and_is_out():
    async def scenario():
        async with Upstream(replay(OK)) as one, doored(fleet(dead_url(), one.url)) as front:
            for number in range(6):
                assert told(await exchange(front.port, request(chat(str(number)))))[0] == 200
            events = front.events
            failed = [each for each in events if each.status == "upstream_error"]
            assert len(events) == 6 + len(failed)
            assert len(failed) <= 1
            for each in failed:
                (other,) = [e for e in events if e.request_id == each.request_id and e != each]
                assert (each.attempt_no, other.attempt_no) == (1, 2)
                assert (each.engine, other.engine, other.status) == ("card0", "card1", "ok")
            assert front.idle()

    run(scenario())


def test_a_busy_engine_is_left_for_another_once():
    async def scenario():
        async with (
            Upstream(replay(BUSY)) as one,
            Upstream(replay(BUSY)) as two,
            Upstream(replay(BUSY)) as three,
            doored(fleet(one.url, two.url, three.url)) as front,
        ):
            raw = await exchange(front.port, request(chat()))
            assert told(raw)[0] == 503
            events = await front.booked(2)
            assert [each.attempt_no for each in events] == [1, 2]
            assert [each.http_status for each in events] == [503, 503]
            assert events[0].engine != events[1].engine
            assert events[0].request_id == events[1].request_id
            assert front.idle()

    run(scenario())


def test_other_failures_are_not_tried_again():
    async def scenario():
        failed = answer(b"{}", status=b"500 Internal Server Error")
        async with (
            Upstream(replay(failed)) as one,
            Upstream(replay(failed)) as two,
            doored(fleet(one.url, two.url)) as front,
        ):
            assert told(await exchange(front.port, request(chat())))[0] == 500
            assert len(await front.booked()) == len(one.wires) + len(two.wires) == 1

    run(scenario())


def test_all_engines_gone_is_told_and_booked():
    async def scenario():
        async with doored(fleet(dead_url(), dead_url())) as front:
            for _ in range(3):
                raw = await exchange(front.port, request(chat()))
                assert told(raw)[0] == 502
                assert b"cannot be reached" in raw
            assert all(each.status == "upstream_error" for each in front.events)
            assert front.idle()

    run(scenario())


def test_a_client_that_leaves_during_prefill_frees_the_engine():
    async def scenario():
        async def never(wire):
            await wire.gone.wait()

        async with Upstream(never) as one, doored(fleet(one.url)) as front:
            _, writer = await asyncio.open_connection("127.0.0.1", front.port)
            writer.write(request(chat(stream=True)))
            await one.seen(1)
            writer.close()
            await asyncio.wait_for(one.wires[0].gone.wait(), 5)
            (booked,) = await front.booked()
            assert (booked.status, booked.output_tokens) == ("client_abort", 0)
            assert front.idle()

    run(scenario())


def test_an_engine_that_dies_in_the_middle():
    async def scenario():
        async def die(wire):
            await wire.send(stream_head())
            await wire.send_chunk(EVENTS[0])
            wire.reset()

        async with (
            Upstream(die) as one,
            Upstream(die) as two,
            doored(fleet(one.url, two.url)) as front,
        ):
            raw = await exchange(front.port, request(chat(stream=True)))
            with pytest.raises(ValueError, match="cut"):
                body_of(raw)
            (booked,) = await front.booked()
            assert (booked.status, booked.output_tokens) == ("upstream_error", 1)
            assert front.idle()

    run(scenario())


def test_bodies_are_bounded_in_size_and_time():
    async def scenario():
        receipt = Receipt(body_bytes=100, within_s=0.2)
        async with Upstream(replay(OK)) as one, doored(fleet(one.url), receipt=receipt) as front:
            assert told(await exchange(front.port, request(b"x" * 101)))[0] == 413
            chunked = (
                b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n"
                b"Transfer-Encoding: chunked\r\n\r\n"
            )
            raw = await exchange(front.port, chunked + b"65\r\n" + b"x" * 101 + b"\r\n0\r\n\r\n")
            assert told(raw)[0] == 413
            assert told(await exchange(front.port, chunked + b"5\r\nhello\r\n"))[0] == 408
            assert not one.wires
            assert not front.events
            assert front.idle()

    run(scenario())


def test_all_bodies_together_are_bounded():
    async def scenario():
        async def wait(wire):
            await wire.gone.wait()

        receipt = Receipt(held_bytes=300)
        async with Upstream(wait) as one, doored(fleet(one.url), receipt=receipt) as front:
            _, writer = await asyncio.open_connection("127.0.0.1", front.port)
            writer.write(request(b"x" * 200))
            await one.seen(1)
            raw = await exchange(front.port, request(b"x" * 200))
            assert told(raw)[0] == 503
            assert told(raw)[1]["retry-after"] == "1"
            writer.close()
            await front.booked()
            assert front.idle()

    run(scenario())


SMUGGLED = [
    b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
    b"Content-Length : 5\r\n\r\nhello",
    b"Content-Length: +5\r\n\r\nhello",
    b"Content-Length: 5, 5\r\n\r\nhello",
    b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    b"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
    b"X-A: b\r\n folded: c\r\nContent-Length: 0\r\n\r\n",
]


@pytest.mark.parametrize("rest", SMUGGLED)
def test_what_two_servers_could_read_differently_is_refused(rest):
    async def scenario():
        async with Upstream(replay(OK)) as one, doored(fleet(one.url)) as front:
            start = b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n"
            try:
                raw = await asyncio.wait_for(exchange(front.port, start + rest), 5)
            except ConnectionResetError:
                raw = b""
            assert not raw or told(raw)[0] == 400, raw
            assert not one.wires

    run(scenario())


def test_models_are_merged_and_requests_go_where_the_model_is():
    async def scenario():
        def serves(name):
            listed = json.dumps({"object": "list", "data": [{"id": name}, {"id": "both"}]}).encode()

            async def play(wire):
                is_list = wire.received.start_line.startswith(b"GET /v1/models")
                await wire.send(answer(listed) if is_list else OK)

            return play

        async with (
            Upstream(serves("a")) as one,
            Upstream(serves("b")) as two,
            doored(fleet(one.url, two.url)) as front,
        ):
            raw = await exchange(front.port, request(b"", method=b"GET", target=b"/v1/models"))
            names = [each["id"] for each in json.loads(body_of(raw))["data"]]
            assert names == ["a", "both", "b"]
            for _ in range(4):
                body = json.dumps({"model": "b", "messages": []}).encode()
                await exchange(front.port, request(body))
            assert {each.engine for each in await front.booked(4)} == {"card1"}

    run(scenario())


def test_a_response_goes_on_where_it_was_made():
    async def scenario():
        async def play(wire):
            number = len([w for w in one.wires + two.wires if w.received.body])
            made = {"id": f"resp_{number}", "object": "response", "status": "completed"}
            await wire.send(answer(json.dumps(made).encode(), b"Content-Type: application/json"))

        async with (
            Upstream(play) as one,
            Upstream(play) as two,
            doored(fleet(one.url, two.url, policy="round_robin")) as front,
        ):

            async def ask(**more):
                body = json.dumps({"model": "m", "input": "hi", **more}).encode()
                await exchange(front.port, request(body, target=b"/v1/responses"))
                return front.events[-1]

            first = await ask()
            for _ in range(3):
                later = await ask(previous_response_id=first.response_id)
                assert later.engine == first.engine
                assert later.route.reason == "pinned"
            get = request(b"", method=b"GET", target=f"/v1/responses/{first.response_id}".encode())
            for _ in range(2):
                await exchange(front.port, get)
            home = one if first.engine == "card0" else two
            assert sum(w.received.start_line.startswith(b"GET") for w in home.wires) == 2

    run(scenario())


def test_its_own_health_says_which_engines_are_in():
    async def scenario():
        async with Upstream(replay(OK)) as one, doored(fleet(one.url, dead_url())) as front:
            for engine in front.chooser.engines():
                await front.door.health.check(engine)
            raw = await exchange(front.port, request(b"", method=b"GET", target=b"/health"))
            assert told(raw)[0] == 200
            engines = json.loads(body_of(raw))["engines"]
            assert engines["card0"] == "in"
            assert "health check failed" in engines["card1"]
            for number in range(3):
                await exchange(front.port, request(chat(str(number))))
            assert {each.engine for each in await front.booked(3)} == {"card0"}

    run(scenario())


def test_a_token_is_asked_for_and_not_passed_on():
    async def scenario():
        async with Upstream(replay(OK)) as one, doored(fleet(one.url), token="t" * 32) as front:
            assert told(await exchange(front.port, request(chat())))[0] == 401
            wrong = request(chat(), b"Authorization: Bearer " + b"u" * 32)
            assert told(await exchange(front.port, wrong))[0] == 401
            for field in (b"Authorization: Bearer ", b"X-Api-Key: "):
                right = request(chat(), field + b"t" * 32)
                assert told(await exchange(front.port, right))[0] == 200
            assert not any(b"t" * 32 in each.head for each in one.requests)
            assert len(front.events) == 2

    run(scenario())


def test_a_drain_lets_requests_finish_and_cuts_the_rest():
    async def scenario():
        go = asyncio.Event()

        async def play(wire):
            await wire.send(stream_head())
            await wire.send_chunk(EVENTS[0])
            if len(one.wires) == 1:
                await go.wait()
                for piece in [*EVENTS[1:], b""]:
                    await wire.send_chunk(piece)
            else:
                await wire.gone.wait()

        async with Upstream(play) as one, doored(fleet(one.url)) as front:
            asked = request(chat(stream=True))
            first = asyncio.create_task(exchange(front.port, asked))
            await one.seen(1)
            second = asyncio.create_task(exchange(front.port, asked))
            await one.seen(2)
            await asyncio.sleep(0.05)
            draining = asyncio.create_task(front.door.drain(0.3))
            go.set()
            assert body_of(await first) == b"".join(EVENTS)
            await draining
            await second
            statuses = sorted(each.status for each in await front.booked(2))
            assert statuses == ["ok", "timeout"]
            assert front.idle()

    run(scenario())


def test_a_shadow_policy_is_booked_and_not_followed():
    async def scenario():
        async with (
            Upstream(replay(OK)) as one,
            Upstream(replay(OK)) as two,
            doored(fleet(one.url, two.url, policy="round_robin", shadow="longest_prefix")) as front,
        ):
            for _ in range(4):
                await exchange(front.port, request(chat("x" * 8000)))
            booked = await front.booked(4)
            assert [each.engine for each in booked].count("card0") == 2
            assert {each.route.shadow_policy for each in booked} == {"longest_prefix"}
            # After the first request one engine alone holds the prompt.
            assert booked[1].route.shadow == booked[0].engine != booked[1].engine

    run(scenario())


@settings(max_examples=15)
@given(st.lists(st.sampled_from(["ok", "stream", "busy", "error", "reset", "silent"]), max_size=12))
def test_whatever_the_engines_do_nothing_is_left_in_flight(ends):
    async def scenario():
        order = iter([*ends, *["ok"] * 40])

        async def play(wire):
            end = next(order)
            if end == "stream":
                await stream(wire)
            elif end == "reset":
                wire.reset()
            elif end == "silent":
                await wire.gone.wait()
            else:
                failed = answer(b"{}", status=b"500 Internal Server Error")
                await wire.send({"ok": OK, "busy": BUSY, "error": failed}[end])

        async with (
            Upstream(play) as one,
            Upstream(play) as two,
            doored(fleet(one.url, two.url), limits=Limits(idle_s=0.2)) as front,
        ):
            asked = [request(chat(str(n), stream=n % 2 == 0)) for n in range(len(ends))]
            await asyncio.gather(
                *(exchange(front.port, each) for each in asked), return_exceptions=True
            )
            await front.booked(len(one.wires) + len(two.wires))
            assert len({each.event_id for each in front.events}) == len(front.events)
            assert len({each.request_id for each in front.events}) == len(ends)
            assert front.idle()

    run(scenario())


@pytest.mark.parametrize(
    ("declared", "props", "slots"),
    [
        (None, b'{"total_slots": 3, "model_path": "m"}', 3),
        (2, b'{"total_slots": 3}', 2),
        (None, b'{"total_slots": 0}', 1),
        (None, b"no JSON", 1),
    ],
)
def test_slots_are_taken_from_llama_cpp_where_none_are_declared(declared, props, slots):
    async def scenario():
        async with Upstream(replay(answer(props, b"Content-Type: application/json"))) as one:
            engine = EngineSettings(
                name="card0", url=one.url, gpus=["GPU-0"], kind="llama_cpp", slots=declared
            )
            async with doored(Settings(engines=[engine])) as front:
                await front.door.ask_slots()
                assert front.chooser.card("card0").slots == slots

    run(scenario())
