"""A rig of more engines than an event has room for, and what could not be booked at all."""

import asyncio
import json

import msgspec
import pytest
import uvloop
from rig.doored import doored, fleet
from rig.tapped import body_of, exchange, request
from rig.upstream import Upstream, answer, replay

from collector.events import Attempt, Route
from router.decision import Asked, Card, Decision

CHAT = b'{"model": "m", "messages": [{"role": "user", "content": "hi"}]}'
WHOLE = b'{"id": "c", "choices": [], "usage": {"prompt_tokens": 4, "completion_tokens": 2}}'


def run(scenario):
    return uvloop.run(asyncio.wait_for(scenario, 60))


@pytest.mark.parametrize("engines", [64, 65, 200])
def test_a_request_is_booked_however_many_engines_there_are(engines):
    async def scenario():
        async with (
            Upstream(replay(answer(WHOLE, b"Content-Type: application/json"))) as up,
            doored(fleet(*[up.url] * engines)) as front,
        ):
            assert body_of(await exchange(front.port, request(CHAT))) == WHOLE
            (row,) = await front.booked()
            assert len(row.route.candidates) == 64
            assert row.route.chosen in [each.engine for each in row.route.candidates]
            assert msgspec.json.decode(msgspec.json.encode(row), type=Attempt) == row

    run(scenario())


def test_of_too_many_candidates_the_soonest_are_told_beside_those_chosen():
    cards = tuple(Card(f"card{n}", 1, 0, 0, 0, 0, 1000.0 - n, 1.0, 0, -1) for n in range(100))
    decision = Decision(
        number=0, policy="round_robin", chosen="card3", reason="turn", cards=cards, asked=Asked(),
        at_ns=0, shadow_policy="least_requests", shadow="card1",
    )  # fmt: skip
    route = msgspec.convert(decision.route(), Route)
    assert [each.engine for each in route.candidates] == [
        "card1", "card3", *(f"card{n}" for n in range(38, 100)),
    ]  # fmt: skip


def test_what_cannot_be_booked_is_counted():
    """Here the books themselves fail; the answer goes its way."""
    lost = []

    def put(event):
        raise ValueError(json.dumps({"kind": event.__class__.__name__}))

    async def scenario():
        async with (
            Upstream(replay(answer(WHOLE, b"Content-Type: application/json"))) as up,
            doored(fleet(up.url), put=put, lost=lambda: lost.append(1)) as front,
        ):
            for _ in range(3):
                assert body_of(await exchange(front.port, request(CHAT))) == WHOLE
            assert front.idle()

    run(scenario())
    assert len(lost) == 3
