"""What goes on beside the requests outlives a clock in 1970, engines that cannot be, and itself."""

import asyncio
import logging
import time

import pytest
import uvloop
from rig.doored import doored, fleet
from rig.fake_clock import FakeClock, build_clock
from rig.route import Route
from rig.tapped import body_of, exchange, request
from rig.upstream import Upstream, answer, replay

from router.minding import mind

CHAT = b'{"model": "qwen", "messages": []}'
WHOLE = b'{"id": "chatcmpl-1", "choices": []}'
OK = answer(WHOLE, b"Content-Type: application/json")
# No name can have an empty part; the settings refuse it, and a name may come to be so by its DNS.
NO_HOST = "http://gpu..lan:8001"


def run(scenario):
    return uvloop.run(asyncio.wait_for(scenario, 60))


def wait_for_line(route: Route, word: str) -> None:
    due = time.monotonic() + 30
    while word not in route.log.read_text():
        assert route.process.poll() is None, route.log.read_text()
        assert time.monotonic() < due, route.log.read_text()
        time.sleep(0.02)


def test_a_host_whose_clock_stands_in_1970_is_served(tmp_path, monkeypatch):
    """No event can bear that time, so none is booked, and each kind of failure is told once."""
    library = build_clock(tmp_path)
    if library is None:
        pytest.skip("no C compiler")
    clock = FakeClock(library, tmp_path)
    clock.set(3600 - int(time.time()))
    for name, value in clock.environment.items():
        monkeypatch.setenv(name, value)

    async def scenario():
        async with Upstream(replay(OK)) as up:
            more = '[router]\nlisten = "127.0.0.1:0"\n'
            route = Route(tmp_path, {"card0": up.url}, "127.0.0.1:1", more=more).start()
            try:
                for witness in ("tap", "router"):
                    word = f"the heartbeat of {witness} failed: ValueError"
                    await asyncio.to_thread(wait_for_line, route, word)
                for port in ("card0", "router"):
                    assert body_of(await exchange(route.port(port), request(CHAT))) == WHOLE
            finally:
                stopped = await asyncio.to_thread(route.stop)
            return stopped, route.log.read_text()

    stopped, log = run(scenario())
    assert stopped == 0
    assert "Traceback" not in log


def test_an_engine_whose_name_cannot_be_is_out_and_the_others_serve():
    async def scenario():
        async with Upstream(replay(OK)) as two, doored(fleet(NO_HOST, two.url)) as front:
            await front.door.ask_models()
            await front.door.ask_slots()
            await front.door.check_health()
            assert "its health check failed" in front.door.health.reason("card0")
            assert front.door.health.reason("card1") is None
            assert body_of(await exchange(front.port, request(CHAT))) == WHOLE

    run(scenario())


def test_a_request_is_tried_elsewhere_where_an_engines_name_cannot_be():
    async def scenario():
        settings = fleet(NO_HOST, NO_HOST, policy="round_robin")
        async with doored(settings) as front:
            raw = await exchange(front.port, request(CHAT))
            assert raw.startswith(b"HTTP/1.1 502")
            rows = await front.booked(2)
            assert [(row.engine, row.status) for row in rows] == [
                ("card0", "upstream_error"),
                ("card1", "upstream_error"),
            ]
            assert front.idle()

    run(scenario())


def test_what_fails_is_done_again_and_told_once_by_its_kind(caplog):
    ends = [ValueError("sk-secret"), ValueError("sk-secret"), KeyError("x"), None, OSError("y")]
    done = asyncio.Event()

    async def do():
        if not ends:
            done.set()
        elif (end := ends.pop(0)) is not None:
            raise end

    async def scenario():
        task = asyncio.create_task(mind("counting", do, 0))
        await done.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with caplog.at_level(logging.INFO, "rigledger.minding"):
        run(scenario())
    assert [record.getMessage().partition(";")[0] for record in caplog.records[:4]] == [
        "counting failed: ValueError",
        "counting failed: KeyError",
        "counting: done again",
        "counting failed: OSError",
    ]
    assert "sk-secret" not in caplog.text
