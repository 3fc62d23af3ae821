"""`rigledger route` as people run it: its errors, its stop, its death, and what it never keeps."""

import asyncio
import json
import socket
import subprocess
import sys
import time
from base64 import b64encode

import pytest
from rig.ports import free_port
from rig.receiver import Receiver
from rig.route import Route, routing
from rig.tapped import body_of, exchange, request
from rig.upstream import Upstream, Wire, answer, replay, stream_head

from router.labels import Labels, load_secret
from router.spool import Spool

CHAT = b'{"model": "qwen", "messages": []}'
USAGE = {"prompt_tokens": 45, "completion_tokens": 3}
WHOLE = json.dumps({"id": "chatcmpl-1", "choices": [], "usage": USAGE}).encode()


def run(scenario):
    return asyncio.run(asyncio.wait_for(scenario, 60))


def rigledger(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "rigledger", *arguments],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )


def attempts(receiver):
    return [event for event in receiver.events.values() if event["kind"] == "attempt"]


def test_no_taps_is_one_sentence(tmp_path):
    config = tmp_path / "rigledger.toml"
    config.write_text("")
    found = rigledger("--config", str(config), "route")
    assert found.returncode == 2
    assert "set listen in [router], or add a [[taps]] entry" in found.stderr
    assert len(found.stderr.splitlines()) == 1


def test_a_taken_port_is_one_sentence(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as server:
        taken = f"127.0.0.1:{server.getsockname()[1]}"
        route = Route(tmp_path, {"card0": "http://127.0.0.1:9"}, "127.0.0.1:1", listen=taken)
        found = subprocess.run(route._command, check=False, capture_output=True, text=True)
    assert found.returncode == 2
    assert f"the tap for card0 cannot listen on {taken} (Address already in use)" in found.stderr
    assert len(found.stderr.splitlines()) == 1


def test_events_and_heartbeats_reach_the_collector(tmp_path):
    async def scenario(receiver):
        async with Upstream(replay(answer(WHOLE))) as up:
            engines = {"card0": up.url, "card1": up.url}
            with routing(tmp_path, engines, f"127.0.0.1:{receiver.port}") as route:
                for engine in engines:
                    raw = await exchange(route.port(engine), request(CHAT))
                    assert body_of(raw) == WHOLE
                await asyncio.to_thread(receiver.wait_events, 3)

    with Receiver() as receiver:
        run(scenario(receiver))
    assert sorted(each["engine"] for each in attempts(receiver)) == ["card0", "card1"]
    (beat,) = [event for event in receiver.events.values() if event["kind"] == "heartbeat"]
    assert (beat["source"], beat["witness"], beat["covers"]) == ("tap", "tap", ["card0", "card1"])


def test_the_door_and_a_front_tap_are_served_beside_the_taps(tmp_path):
    """One request through each; the engine stands for the other router as well."""

    async def scenario(receiver):
        async with Upstream(replay(answer(WHOLE, b"Content-Type: application/json"))) as up:
            more = (
                '[router]\nlisten = "127.0.0.1:0"\n'
                f'[[taps]]\nfront = "{up.url.replace("//", "//me:secret@")}"\n'
                'listen = "127.0.0.1:0"\n'
            )
            route = Route(tmp_path, {"card0": up.url}, f"127.0.0.1:{receiver.port}", more=more)
            route.start()
            try:
                for name in ("card0", "router", up.url):
                    assert body_of(await exchange(route.port(name), request(CHAT))) == WHOLE
                await asyncio.to_thread(receiver.wait_events, 3 + 2)
            finally:
                await asyncio.to_thread(route.stop)
            asked = up.requests[-1].headers[b"authorization"]
            assert asked == b"Basic " + b64encode(b"me:secret")
            assert "secret" not in route.log.read_text()
            return up.port

    with Receiver() as receiver:
        port = run(scenario(receiver))
    told = attempts(receiver)
    assert [(each["source"], each["engine"]) for each in told] == [
        ("tap", "card0"),
        ("router", "card0"),
        ("front", f"behind 127.0.0.1:{port}"),
    ]
    beats = [event["covers"] for event in receiver.events.values() if event["kind"] == "heartbeat"]
    assert beats == [["card0"], ["card0"]]


def test_no_request_fails_while_the_collector_is_away(tmp_path):
    async def scenario(port):
        async with Upstream(replay(answer(WHOLE))) as up:
            with routing(tmp_path, {"card0": up.url}, f"127.0.0.1:{port}") as route:
                raws = []
                for _ in range(5):
                    asked = (exchange(route.port(), request(CHAT)) for _ in range(10))
                    raws += await asyncio.gather(*asked)
                assert {body_of(raw) for raw in raws} == {WHOLE}
                with Receiver(port) as receiver:
                    receiver.mode = "500"
                    await asyncio.to_thread(receiver.wait_posts, 1)
                    receiver.mode = "ok"
                    await asyncio.to_thread(receiver.wait_events, 51)
                    await asyncio.to_thread(route.stop)
                return receiver

    receiver = run(scenario(free_port()))
    assert len(attempts(receiver)) == 50
    assert {each["output_tokens"] for each in attempts(receiver)} == {3}


def test_a_kill_after_the_commit_loses_nothing(tmp_path):
    async def scenario(port):
        async with Upstream(replay(answer(WHOLE))) as up:
            route = Route(tmp_path, {"card0": up.url}, f"127.0.0.1:{port}").start()
            ids = [f"req-{number}" for number in range(20)]
            for each in ids:
                await exchange(route.port(), request(CHAT, b"X-Request-ID: " + each.encode()))
            await asyncio.to_thread(wait_for_bytes, route.data, ids[-1].encode())
            route.kill()
            with Receiver(port) as receiver:
                route.start()
                await asyncio.to_thread(receiver.wait_events, 22)
                assert route.stop() == 0
            return ids, receiver

    ids, receiver = run(scenario(free_port()))
    assert [each["request_id"] for each in attempts(receiver)] == ids


def wait_for_bytes(folder, wanted):
    due = time.monotonic() + 10
    while time.monotonic() < due:
        if any(wanted in file.read_bytes() for file in folder.glob("spool-*")):
            return
        time.sleep(0.02)
    raise AssertionError(f"{wanted!r} never came to the spool")


@pytest.mark.parametrize("patient", [True, False])
def test_a_stop_lets_streams_finish_up_to_the_limit(tmp_path, patient):
    data = b'data: {"choices": [{"delta": {"content": "a"}, "finish_reason": "stop"}]}\n\n'

    async def scenario(receiver):
        finish = asyncio.Event()

        async def play(wire: Wire):
            if wire.received.start_line.startswith(b"GET"):
                await wire.send(answer(b"ok"))
                return
            await wire.send(stream_head())
            await wire.send_chunk(data)
            await (finish if patient else wire.gone).wait()
            await wire.send_chunk(b"")

        async with Upstream(play) as up:
            flags = ("--drain", "20" if patient else "0.2")
            route = Route(tmp_path, {"card0": up.url}, f"127.0.0.1:{receiver.port}", *flags)
            port = route.start().port()
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(request(b'{"stream": true}'))
            raw = await reader.readuntil(data)
            idle, idle_writer = await asyncio.open_connection("127.0.0.1", port)
            idle_writer.write(request(b"", method=b"GET", target=b"/health", close=False))
            await idle.readuntil(b"\r\n\r\nok")
            stopping = asyncio.create_task(asyncio.to_thread(route.stop))
            with pytest.raises(ConnectionError):
                while True:
                    _, late = await asyncio.open_connection("127.0.0.1", port)
                    late.close()
                    await asyncio.sleep(0.02)
            assert await asyncio.wait_for(idle.read(), 5) == b""
            idle_writer.close()
            finish.set()
            raw += await reader.read()
            writer.close()
            assert await stopping == 0
            return raw

    with Receiver() as receiver:
        raw = run(scenario(receiver))
    (attempt,) = attempts(receiver)
    assert attempt["output_tokens"] == 1
    if patient:
        assert body_of(raw) == data
        assert attempt["status"] == "ok"
    else:
        with pytest.raises(ValueError, match="was cut"):
            body_of(raw)
        assert attempt["status"] == "timeout"


def test_nothing_private_is_kept_or_logged(tmp_path):
    word = "canary-7b1e"
    headers = (
        f"Authorization: Bearer sk-{word}-header".encode(),
        f"X-Api-Key: {word}-key".encode(),
        f"Cookie: {word}-cookie".encode(),
        f"X-Session-ID: {word}-session".encode(),
        f"X-Project: {word}-project".encode(),
    )
    prompt = {"model": "qwen", "user": word, "messages": [{"role": "user", "content": word}]}
    body = json.dumps(prompt | {"stream": True, "tools": [{"name": word}]}).encode()
    said = json.dumps({"choices": [{"delta": {"content": word}}], "usage": {"x": word}})
    chunk = f"data: {said}\n\n".encode()
    broken = f"data: {word} not JSON\n\n".encode()
    end = b'data: {"choices": [{"delta": {}, "finish_reason": "stop"}]}\n\ndata: [DONE]\n\n'

    async def play(wire: Wire):
        stage = wire.received.start_line.split()[1].rpartition(b"?")[2]
        if stage.startswith(b"error"):
            await wire.send(
                answer(f'{{"error": "{word}"}}'.encode(), status=b"400 Bad " + word.encode())
            )
            return
        await wire.send(stream_head(f"X-Trace: {word}".encode()))
        for piece in (chunk, broken, chunk):
            await wire.send_chunk(piece)
        if stage.startswith(b"reset"):
            wire.reset()
        elif stage.startswith(b"hang"):
            await wire.gone.wait()
        else:
            await wire.send_chunk(end)
            await wire.send_chunk(b"")

    async def ask(port, stage):
        target = f"/v1/chat/completions?{stage}{word}".encode()
        return await exchange(port, request(body, *headers, target=target))

    async def scenario(receiver):
        async with Upstream(play) as up:
            engines = {"card0": up.url, "down": f"http://127.0.0.1:{free_port()}"}
            flags = ("--idle-timeout", "0.3")
            receiver.mode = "500"
            with routing(tmp_path, engines, f"127.0.0.1:{receiver.port}", *flags) as route:
                for stage in ("whole", "error", "reset", "hang"):
                    assert word.encode() in await ask(route.port(), stage)
                assert (await ask(route.port("down"), "x")).startswith(b"HTTP/1.1 502")
                malformed = b"POST /%b HTTP/1.1\r\nHost: a\r\n%b bad header\r\n\r\n"
                await exchange(route.port(), malformed % (word.encode(), word.encode()))
                await asyncio.to_thread(wait_for_bytes, route.data, b'"engine":"down"')
                route.kill()
        return route

    with Receiver() as receiver:
        route = run(scenario(receiver))
    files = [file for file in route.data.rglob("*") if file.is_file()]
    assert {"spool-tap.sqlite", "spool-tap.sqlite-wal", "secret"} <= {file.name for file in files}
    for file in [*files, route.log]:
        assert word.encode() not in file.read_bytes(), file
    assert b"rigledger.feed" in route.log.read_bytes()
    spool = Spool(route.data / "spool-tap.sqlite")
    kept = [json.loads(event) for _, event in spool.first(100, 1 << 20)]
    spool.close()
    booked = [event for event in kept if event["kind"] == "attempt"]
    assert [event["status"] for event in booked] == [
        "ok",
        "upstream_error",
        "upstream_error",
        "timeout",
        "upstream_error",
    ]
    labels = Labels(load_secret(route.data))
    assert {event["session"] for event in booked} == {labels.keyed("session", f"{word}-session")}
    assert (route.data / "secret").stat().st_mode & 0o777 == 0o600
