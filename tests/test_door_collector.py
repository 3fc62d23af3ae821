"""Whatever becomes of the collector or the disk: no request at the door fails, and every event
arrives in the end, once.

RIGLEDGER_REQUESTS tells how many requests each test sends (500).
"""

import asyncio
import json
import os
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
import uvloop
from rig.doored import Doored, doored, fleet
from rig.ports import free_port
from rig.receiver import Receiver
from rig.tapped import body_of, exchange, request
from rig.upstream import Upstream, answer, replay

from router import feed as feed_module
from router.feed import Feed
from router.spool import Spool

REQUESTS = int(os.environ.get("RIGLEDGER_REQUESTS", "500"))
AT_ONCE = 32
USAGE = {"prompt_tokens": 45, "completion_tokens": 3}
WHOLE = json.dumps({"id": "chatcmpl-1", "choices": [], "usage": USAGE}).encode()
CHAT = b'{"model": "m", "messages": [{"role": "user", "content": "hi"}]}'
PATIENCE_S = 30 + REQUESTS / 50


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waits between attempts that a test can sit through."""
    monkeypatch.setattr(feed_module, "FIRST_DELAY_S", 0.01)
    monkeypatch.setattr(feed_module, "LAST_DELAY_S", 0.05)
    monkeypatch.setattr(feed_module, "POST_TIMEOUT_S", 0.5)


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 MiB of its own."""
    place = tmp_path / "small"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", str(place)]
    made = subprocess.run(mount, capture_output=True, text=True, check=False)
    if made.returncode != 0:
        pytest.skip(f"no small file system can be mounted here: {made.stderr.strip()}")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


async def ask(front: Doored, first: int, number: int) -> set[str]:
    """Send requests; each must be answered in full. Their ids."""
    limit = asyncio.Semaphore(AT_ONCE)

    async def one(name: str) -> None:
        async with limit:
            raw = await exchange(front.port, request(CHAT, f"X-Request-ID: {name}".encode()))
        assert raw.startswith(b"HTTP/1.1 200"), raw
        assert body_of(raw) == WHOLE

    names = [f"r{first + n}" for n in range(number)]
    await asyncio.gather(*(one(name) for name in names))
    return set(names)


def arrived(receiver: Receiver) -> Counter[str]:
    """How often each request is in the books of the collector."""
    return Counter(event["request_id"] for event in receiver.events.values())


def test_a_collector_that_is_away_fails_hangs_or_dies_costs_no_request(tmp_path):
    port = free_port()
    part = REQUESTS // 6

    async def scenario(feed: Feed) -> tuple[set[str], Receiver]:
        sent = set()
        sent_json = answer(WHOLE, b"Content-Type: application/json")
        async with (
            Upstream(replay(sent_json)) as one,
            Upstream(replay(sent_json)) as two,
            doored(fleet(one.url, two.url), put=feed.put) as front,
        ):
            sent |= await ask(front, 0, part)  # nobody listens
            with Receiver(port) as receiver:
                for turn, mode in enumerate(("500", "hang", "dying", "bare", "ok"), 1):
                    receiver.mode = mode
                    posts = receiver.posts
                    sent |= await ask(front, turn * part, part)
                    await asyncio.to_thread(receiver.wait_posts, posts + 1)
                await asyncio.to_thread(receiver.wait_events, len(sent), PATIENCE_S)
            assert front.idle()
            return sent, receiver

    feed = Feed(Spool(tmp_path / "spool.sqlite"), f"http://127.0.0.1:{port}")
    feed.start()
    try:
        sent, receiver = uvloop.run(asyncio.wait_for(scenario(feed), 2 * PATIENCE_S))
    finally:
        feed.close()
    assert len(sent) == 6 * part
    assert arrived(receiver) == Counter(sent)
    assert feed.lost == 0


def test_a_full_disk_costs_no_request_and_no_event(small):
    half = REQUESTS // 2

    async def scenario(feed: Feed, receiver: Receiver) -> set[str]:
        sent_json = answer(WHOLE, b"Content-Type: application/json")
        async with (
            Upstream(replay(sent_json)) as one,
            doored(fleet(one.url), put=feed.put) as front,
        ):
            ballast = small / "ballast"
            await asyncio.to_thread(fill, ballast)
            sent = await ask(front, 0, half)
            assert not receiver.events
            ballast.unlink()
            sent |= await ask(front, half, half)
            await asyncio.to_thread(receiver.wait_events, len(sent), PATIENCE_S)
            return sent

    with Receiver() as receiver:
        feed = Feed(Spool(small / "spool.sqlite"), receiver.url)
        feed.start()
        try:
            sent = uvloop.run(asyncio.wait_for(scenario(feed, receiver), 2 * PATIENCE_S))
        finally:
            feed.close()
    assert len(sent) == 2 * half
    assert arrived(receiver) == Counter(sent)
    assert feed.lost == 0


def fill(ballast: Path) -> None:
    """Something else takes all the room."""
    with ballast.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(1 << 16))
        except OSError:
            pass
        try:
            while True:
                file.write(b"x")
        except OSError:
            pass
