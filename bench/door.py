"""What a router adds to a stream's first byte at 64 paced streams, and how many whole answers it
passes on in a second."""

import asyncio
import contextlib
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import cast

import uvloop

from bench import peers
from bench.children import NotStarted, cpu_seconds, free_address, rigledger, running
from bench.engine import MODEL
from bench.result import Result, figure, quantile

DIRECT, OURS = "direct", "rigledger"
PEERS = {
    "sglang-router": ["--policy", "round_robin"],
    "SMG": ["--policy", "round_robin"],
    "LiteLLM": [],
}
LITELLM = Path(__file__).parent.parent / "build" / "litellm" / "bin" / "litellm"
PROMPT = "word " * 400
STREAMS = 64
ROUNDS = 12
WHOLE_S, WHOLE_ROUNDS = 3.0, 5
CONNECTIONS = 32


def measure_p50(work: Path) -> Result:
    """Milliseconds added at the median."""
    return _added(work, "router_first_byte_added_p50_ms", 0.5)


def measure_p99(work: Path) -> Result:
    """Milliseconds added to the slowest hundredth."""
    return _added(work, "router_first_byte_added_p99_ms", 0.99)


def measure_json(work: Path) -> Result:
    """Whole answers per second of one core of the router's own processor time."""
    found: dict[str, float] = {}
    seen: dict[str, float] = {}
    notes: list[str] = []
    for way in (OURS, *PEERS):
        try:
            with _way(work, way) as (address, process):
                uvloop.run(_whole(address))  # warm: connections are kept, rates are learned
                rounds = [_rates(address, process) for _ in range(WHOLE_ROUNDS)]
        except NotStarted as error:
            notes.append(f"{way} did not start ({str(error)[-100:]})")
            continue
        found[way], seen[way] = (median(each) for each in zip(*rounds, strict=True))
    value = found.pop(OURS)
    return Result(
        "router_json_per_s",
        value,
        "1/s",
        found,
        f"median of {WHOLE_ROUNDS} rounds of {WHOLE_S:g} s once warm: whole answers to prompts of"
        f" {len(PROMPT):,} B over {CONNECTIONS} kept connections, per second of the router's"
        " own processor time; by the clock, with client and engine on the other core,"
        f" {', '.join(f'{way} {figure(rate)}/s' for way, rate in seen.items())}"
        + "".join(f"; {note}" for note in notes),
    )


def _rates(address: str, process: subprocess.Popen[bytes] | None) -> tuple[float, float]:
    """Whole answers per second of the router's own processor time, and by the clock."""
    before = cpu_seconds(process) if process else 0.0
    answers = uvloop.run(_whole(address))
    used = cpu_seconds(process) - before if process else 0.0
    return answers / used, answers / WHOLE_S


def _added(work: Path, name: str, share: float) -> Result:
    took: dict[str, list[float]] = {}
    notes: list[str] = []
    for way in (DIRECT, OURS, *PEERS):
        try:
            with _way(work, way) as (address, _):
                took[way] = uvloop.run(_paced(address))
        except NotStarted as error:
            notes.append(f"{way} did not start ({str(error)[-100:]})")
    base = quantile(took[DIRECT], share)
    added = {way: (quantile(each, share) - base) * 1e3 for way, each in took.items()}
    value = added.pop(OURS)
    return Result(
        name,
        value,
        "ms",
        added,
        f"{STREAMS} streams at a time, an event each 50 ms, {STREAMS * ROUNDS} streams a way;"
        f" direct {figure(base * 1e3)} ms; medians"
        f" {', '.join(f'{way} {figure(median(each) * 1e3)}' for way, each in took.items())} ms"
        + "".join(f"; {note}" for note in notes),
    )


@contextlib.contextmanager
def _way(work: Path, way: str) -> Iterator[tuple[str, subprocess.Popen[bytes] | None]]:
    """An address that leads to an engine, and the process between, if any. Raises NotStarted."""
    folder = work.resolve() / "door"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    engine, listen = free_address(), free_address()
    port = engine.rpartition(":")[2]
    with running(
        [sys.executable, "-m", "bench.engine", port], f"http://{engine}", folder / "engine.log"
    ):
        if way == DIRECT:
            yield engine, None
            return
        command, health = _command(folder, way, listen, engine)
        with running(command, f"http://{listen}{health}", folder / "router.log") as process:
            time.sleep(1.0)
            yield listen, process


def _command(folder: Path, way: str, listen: str, engine: str) -> tuple[list[str], str]:
    if way == OURS:
        config = folder / "rigledger.toml"
        config.write_text(
            f"[store]\npath = {json.dumps(str(folder / 'ledger'))}\n"
            f'[collector]\nlisten = "{free_address()}"\n[router]\nlisten = "{listen}"\n'
            f'[[engines]]\nname = "card0"\nurl = "http://{engine}"\ngpus = ["GPU-0"]\nslots = 64\n'
        )
        return rigledger(config, "route", "--log-level", "error"), "/health"
    if way == "LiteLLM":
        if not LITELLM.exists():
            raise NotStarted("it is not installed: make litellm")
        config = folder / "litellm.yaml"
        config.write_text(
            f"model_list:\n  - model_name: {MODEL}\n    litellm_params: {{model: openai/{MODEL},"
            f" api_base: 'http://{engine}/v1', api_key: none}}\n"
        )
        port = listen.rpartition(":")[2]
        start = ["env", "LITELLM_LOCAL_MODEL_COST_MAP=True",
                 "LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY=true"]  # fmt: skip
        command = [*start, str(LITELLM), "--config", str(config), "--host", "127.0.0.1"]
        return [*command, "--port", port], "/health/liveliness"
    found = peers.command(way, listen, [f"http://{engine}"], PEERS[way])
    if found is None:
        raise NotStarted("it is not installed: make peers")
    return found, "/health"


class Client(asyncio.Protocol):
    """One kept-alive connection."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._received = b""
        self._head: asyncio.Future[None] | None = None
        self._end: asyncio.Future[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the way out."""
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Gather an answer."""
        self._received += data
        if self._head is not None and not self._head.done() and b"{" in self._received:
            self._head.set_result(None)
        if self._end is not None and not self._end.done() and _complete(self._received):
            self._end.set_result(None)

    def connection_lost(self, _: Exception | None) -> None:
        """Whoever waits learns of it."""
        for waiting in (self._head, self._end):
            if waiting is not None and not waiting.done():
                waiting.set_exception(ConnectionError(f"closed after {self._received[:200]!r}"))

    async def ask(self, *, stream: bool) -> float:
        """Seconds to the first event, or to the whole answer; the answer is read to its end."""
        loop = asyncio.get_running_loop()
        self._received = b""
        self._head, self._end = loop.create_future(), loop.create_future()
        start = time.perf_counter()
        self._transport.write(_request(self._address, stream))
        await self._head
        seconds = time.perf_counter() - start
        await self._end
        if not self._received.startswith(b"HTTP/1.1 200"):
            raise RuntimeError(f"not answered: {self._received[:300]!r}")
        return seconds


def _complete(received: bytes) -> bool:
    head, found, body = received.partition(b"\r\n\r\n")
    if not found:
        return False
    if b"chunked" in head.lower():
        return received.endswith(b"0\r\n\r\n")
    _, _, value = head.lower().partition(b"content-length:")
    return len(body) >= int(value.split(b"\r\n", 1)[0])


def _request(address: str, stream: bool) -> bytes:
    body = json.dumps(
        {
            "model": MODEL,
            "stream": stream,
            "max_tokens": 20,
            "messages": [{"role": "user", "content": PROMPT}],
        }
    ).encode()
    return (
        f"POST /v1/chat/completions HTTP/1.1\r\nHost: {address}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    ).encode() + body


async def _connected(address: str, count: int) -> list[Client]:
    loop = asyncio.get_running_loop()
    host, _, port = address.rpartition(":")
    made = [loop.create_connection(lambda: Client(address), host, int(port)) for _ in range(count)]
    return [client for _, client in await asyncio.gather(*made)]


async def _paced(address: str) -> list[float]:
    """Each connection asks again as soon as its stream has ended, begun one after the other."""
    clients = await _connected(address, STREAMS)

    async def one(number: int, client: Client) -> list[float]:
        await asyncio.sleep(number / STREAMS)
        await client.ask(stream=True)  # warm
        return [await client.ask(stream=True) for _ in range(ROUNDS)]

    found = await asyncio.gather(*(one(n, client) for n, client in enumerate(clients)))
    return [seconds for each in found for seconds in each]


async def _whole(address: str) -> int:
    """Answers within the time of the measurement."""
    clients = await _connected(address, CONNECTIONS)
    until = time.perf_counter() + WHOLE_S

    async def one(client: Client) -> int:
        count = 0
        while time.perf_counter() < until:
            await client.ask(stream=False)
            count += 1
        return count

    return sum(await asyncio.gather(*(one(client) for client in clients)))
