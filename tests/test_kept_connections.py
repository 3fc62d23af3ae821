"""Connections that serve one request after another, and those that must not."""

import asyncio
from collections.abc import Callable

import pytest
import uvloop
from multidict import CIMultiDict

from router import kept
from router.passing import Limits
from router.upstream import Upstream

FIELDS = CIMultiDict({"Content-Type": "application/json"})
WHOLE = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"


@pytest.fixture(autouse=True)
def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second is long for a test."""
    monkeypatch.setattr(kept, "IDLE_S", 0.2)


def run(scenario):
    return uvloop.run(asyncio.wait_for(scenario, 30))


class Engine:
    """A server that answers every request on a connection with its number, until told otherwise.

    `heads`: of each connection its requests; `ended`: released once for each connection that its
    client has ended.
    """

    def __init__(
        self,
        answer: bytes = WHOLE,
        then: Callable[[asyncio.StreamWriter], None] = lambda _: None,
        ends_s: float | None = None,
        *,
        numbered: bool = True,
        early: bool = False,
    ) -> None:
        """`then` is called after each answer; `ends_s` after its first one a connection ends.
        Without `numbered`, `answer` is all of it; an `early` one comes before the body is read."""
        self.heads: list[list[bytes]] = []
        self.ended = asyncio.Semaphore(0)
        self._answer = answer
        self._then = then
        self._ends_s = ends_s
        self._numbered = numbered
        self._early = early
        self._serving: set[asyncio.Task[None] | None] = set()

    async def __aenter__(self) -> "Engine":
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        await asyncio.gather(*filter(None, self._serving))  # its clients have gone by now

    @property
    def asked(self) -> int:
        return sum(len(heads) for heads in self.heads)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        mine: list[bytes] = []
        self.heads.append(mine)
        self._serving.add(asyncio.current_task())
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                number = self.asked
                mine.append(head)
                has_body = self._numbered and not head.startswith(b"HEAD")
                told = self._answer + (b"%02d" % number if has_body else b"")
                if self._early:
                    writer.write(told)
                if not head.startswith((b"GET", b"HEAD")):
                    await reader.readexactly(2)
                if not self._early:
                    writer.write(told)
                self._then(writer)
                if self._ends_s is not None:
                    await asyncio.sleep(self._ends_s)
                    break
        except (asyncio.IncompleteReadError, ConnectionError):
            self.ended.release()
        finally:
            writer.close()


async def ask(way: Upstream, engine: Engine, method: str = "POST") -> bytes:
    body = b"{}" if method == "POST" else None
    async with await way.ask(engine.url, method, "/v1/models", FIELDS, body) as got:
        content = b""
        while chunk := await got.content.readany():
            content += chunk
    return content


async def ask_many(way: Upstream, engine: Engine, count: int = 20, pause_s: float = 0.01):
    """Each answer is that of its own request."""
    for _ in range(count):
        number = engine.asked
        assert await ask(way, engine) == b"%02d" % number
        await asyncio.sleep(pause_s)


def test_a_connection_that_stays_open_serves_the_next_request():
    async def scenario():
        way = Upstream(Limits())
        async with Engine() as engine:
            await ask_many(way, engine, count=60)
            assert len(engine.heads) <= 45  # those before the first had proved itself
            assert max(len(heads) for heads in engine.heads) >= 10
            way.close()

    run(scenario())


@pytest.mark.parametrize(("ends_s", "pause_s"), [(0.0, 0.0), (0.0, 0.03), (0.005, 0.0)])
def test_an_engine_that_ends_each_connection_without_a_word_fails_no_request(
    ends_s: float, pause_s: float
):
    async def scenario():
        way = Upstream(Limits())
        async with Engine(ends_s=ends_s) as engine:
            await ask_many(way, engine, pause_s=pause_s)
            assert len(engine.heads) == 20
            way.close()

    run(scenario())


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nKeep-Alive: timeout=5, max=100\r\nContent-Length: 2\r\n\r\n",
    ],
)
def test_what_is_not_to_be_kept_serves_once(answer: bytes):
    async def scenario():
        way = Upstream(Limits())
        async with Engine(answer) as engine:
            await ask_many(way, engine, count=5, pause_s=0.03)
            assert len(engine.heads) == 5
            threaded = b"Keep-Alive" in answer
            closing = [b"Connection: close" in head for (head,) in engine.heads]
            assert closing == [False] + [threaded] * 4
            way.close()

    run(scenario())


def test_what_an_engine_says_unasked_answers_nobody():
    """It comes while the connection is idle: the next request must not take it for its own."""

    async def scenario():
        loop = asyncio.get_running_loop()
        way = Upstream(Limits())

        def again(writer: asyncio.StreamWriter) -> None:
            if engine.asked % 5 == 0:
                loop.call_later(0.005, writer.write, WHOLE + b"xx")

        async with Engine(then=again) as engine:
            await ask_many(way, engine, count=40)
            assert len(engine.heads) < 40
            way.close()

    run(scenario())


@pytest.mark.parametrize("later_s", [None, 0.002])
@pytest.mark.parametrize("stray", [b"HTTP/1.1 503 Busy\r\nX-Stray: ", b"HT", b"HTTP/1.1 20"])
def test_what_begins_unasked_is_no_part_of_the_next_answer(stray: bytes, later_s: float | None):
    """In one piece with the answer before it, or while the connection is idle."""

    async def scenario():
        loop = asyncio.get_running_loop()
        way = Upstream(Limits())

        def again(writer: asyncio.StreamWriter) -> None:
            if engine.asked % 5 == 0:
                if later_s is None:
                    writer.write(stray)
                else:
                    loop.call_later(later_s, writer.write, stray)

        async with Engine(then=again) as engine:
            for _ in range(80):
                number = engine.asked
                async with await way.ask(engine.url, "POST", "/", FIELDS, b"{}") as got:
                    assert (got.status, dict(got.headers)) == (200, {"Content-Length": "2"})
                    assert await got.content.readany() == b"%02d" % number
                await asyncio.sleep(0.01)
            assert len(engine.heads) < 80
            way.close()

    run(scenario())


def test_an_answer_that_was_held_up_holds_up_no_other():
    """So many chunks, unread, that the parser stops just as the last of them comes."""

    async def scenario():
        way = Upstream(Limits())
        chunks = b"1\r\nx\r\n" * 16_385
        many = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\n\r\n"
        async with Engine(many, numbered=False) as engine:
            for _ in range(8):
                async with await way.ask(engine.url, "GET", "/", FIELDS, None) as got:
                    await asyncio.sleep(0.1)
                    size = 0
                    while chunk := await asyncio.wait_for(got.content.readany(), 5):
                        size += len(chunk)
                    assert size == 16_385
            way.close()

    run(scenario())


def test_an_engine_that_answers_what_it_has_not_read_gets_the_next_request_anew():
    async def pieces():
        yield b"{"
        await asyncio.sleep(0.03)
        yield b"}"

    async def scenario():
        way = Upstream(Limits())
        fields = CIMultiDict({"Content-Length": "2"})
        async with Engine(early=True) as engine:
            for number in range(10):
                async with await way.ask(engine.url, "POST", "/", fields, pieces()) as got:
                    assert await got.content.readany() == b"%02d" % number
                    await asyncio.sleep(0.05)
            assert len(engine.heads) == 10
            way.close()

    run(scenario())


def test_what_is_given_up_after_its_port_is_kept_no_more():
    async def scenario():
        way = Upstream(Limits())
        async with Engine() as engine:
            async with await way.ask(engine.url, "POST", "/", FIELDS, b"{}") as got:
                way.close()
                assert await got.content.readany() == b"00"
            await engine.ended.acquire()

    run(scenario())


def test_an_answer_that_was_not_read_to_its_end_ends_its_connection():
    async def scenario():
        way = Upstream(Limits())
        answer = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n"
        async with Engine(answer) as engine:
            async with await way.ask(engine.url, "POST", "/", FIELDS, b"{}") as got:
                assert await got.content.readany() == b"00"
            await engine.ended.acquire()

    run(scenario())


def test_a_head_without_its_body_and_a_body_take_turns():
    async def scenario():
        way = Upstream(Limits())
        async with Engine() as engine:
            await ask_many(way, engine, count=40)
            before = len(engine.heads)
            for _ in range(5):
                assert await ask(way, engine, "HEAD") == b""
                number = engine.asked
                assert await ask(way, engine, "GET") == b"%02d" % number
            assert len(engine.heads) <= before + 2
            way.close()

    run(scenario())


def test_an_idle_connection_is_ended_after_a_while_or_with_its_port():
    async def scenario():
        way = Upstream(Limits())
        async with Engine() as engine:
            await ask(way, engine)
            await engine.ended.acquire()
            await ask(way, engine)
            way.close()
            await engine.ended.acquire()

    run(scenario())
