"""What puts an engine out, and what of its cache is believed afterwards."""

import asyncio
import json

import uvloop
from rig.doored import Doored, doored, fleet
from rig.tapped import exchange, request
from rig.upstream import Upstream, Wire, answer

from router.health import FAILURES

JSON = b"Content-Type: application/json"
USAGE = {"prompt_tokens": 5000, "prompt_tokens_details": {"cached_tokens": 0}}
WHOLE = json.dumps({"id": "c", "choices": [], "usage": USAGE | {"completion_tokens": 2}}).encode()
LONG = "a long text " * 2000
FAILED = answer(b'{"error": {}}', JSON, status=b"500 Internal Server Error")


def run(scenario):
    return uvloop.run(asyncio.wait_for(scenario, 60))


def chat(*texts: str) -> bytes:
    messages = [{"role": "user", "content": text} for text in texts]
    return json.dumps({"model": "m", "messages": messages}).encode()


async def play(wire: Wire) -> None:
    """Well by its own word; a request whose last message is bad fails."""
    if wire.received.start_line.startswith(b"GET"):
        await wire.send(answer(b"{}", JSON))
        return
    last = json.loads(wire.received.body)["messages"][-1]["content"]
    await wire.send(FAILED if last.startswith("bad") else answer(WHOLE, JSON))


async def next_hit(front: Doored) -> int:
    """What is predicted to be cached of the conversation's next turn."""
    await exchange(front.port, request(chat(LONG, "go on")))
    return front.events[-1].route.hit_tokens


def test_one_request_that_fails_again_and_again_puts_nobody_out():
    async def scenario():
        async with Upstream(play) as one, doored(fleet(one.url)) as front:
            await exchange(front.port, request(chat(LONG)))
            for _ in range(3 * FAILURES):
                raw = await exchange(front.port, request(chat("bad")))
                assert raw.startswith(b"HTTP/1.1 500")
            assert front.door.health.reason("card0") is None
            assert await next_hit(front) > 5000

    run(scenario())


def test_different_requests_that_fail_in_a_row_put_an_engine_out_and_its_cache_stays():
    async def scenario():
        async with Upstream(play) as one, doored(fleet(one.url)) as front:
            await exchange(front.port, request(chat(LONG)))
            for number in range(FAILURES):
                assert front.door.health.reason("card0") is None
                await exchange(front.port, request(chat(f"bad {number}")))
            assert "3 different requests" in front.door.health.reason("card0")
            assert not front.chooser.card("card0").up
            await front.door.check_health()
            assert front.chooser.card("card0").up
            assert await next_hit(front) > 5000

    run(scenario())


def test_requests_that_fail_between_others_that_do_not_put_nobody_out():
    async def scenario():
        async with Upstream(play) as one, doored(fleet(one.url)) as front:
            for number in range(2 * FAILURES):
                await exchange(front.port, request(chat(f"bad {number}")))
                await exchange(front.port, request(chat(f"good {number}")))
            assert front.door.health.reason("card0") is None

    run(scenario())


def test_an_engine_that_cannot_be_reached_has_lost_its_cache_though_it_was_out_before():
    async def scenario():
        async with Upstream(play) as one, doored(fleet(one.url)) as front:
            await exchange(front.port, request(chat(LONG)))
            for number in range(FAILURES):
                await exchange(front.port, request(chat(f"bad {number}")))
            card = front.chooser.card("card0")
            assert (card.up, card.index.tokens > 5000) == (False, True)
            one._server.close()
            await front.door.check_health()
            assert (card.up, card.index.tokens) == (False, 0)

    run(scenario())
