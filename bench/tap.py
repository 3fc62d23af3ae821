"""What a tap adds to the time until a stream's first byte."""

import contextlib
import json
import shutil
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from bench import peers
from bench.children import NotStarted, free_address, rigledger, running
from bench.engine import MODEL
from bench.result import Result, figure, quantile

PROMPT = "word " * 400
DIRECT, TAP, ROUTER = "direct", "tap", "sglang-router"


def measure(work: Path, *, requests: int = 1500, warm: int = 100) -> Result:
    """Milliseconds added at the median, requests to all ways taking turns."""
    folder = work.resolve() / "tap"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    engine, collector, tap, router = (free_address() for _ in range(4))
    config = _settings(folder, engine, collector, tap)
    with contextlib.ExitStack() as stack:

        def start(name: str, command: list[str], health: str) -> None:
            stack.enter_context(running(command, f"http://{health}", folder / f"{name}.log"))

        port = engine.rpartition(":")[2]
        start("engine", [sys.executable, "-m", "bench.engine", port], engine)
        watch = ["collect", "--no-sources", "--log-level", "warning"]
        start("collector", rigledger(config, *watch), f"{collector}/healthz")
        start("tap", rigledger(config, "route"), f"{tap}/health")
        ways = {DIRECT: engine, TAP: tap}
        missing = _start_router(start, router, engine)
        if not missing:
            ways[ROUTER] = router
        took = _take_turns(ways, requests, warm)
    shutil.rmtree(folder)
    base = median(took[DIRECT])
    added = {way: (median(each) - base) * 1e3 for way, each in took.items()}
    tail = {way: quantile(each, 0.99) * 1e3 for way, each in took.items()}
    return Result(
        "tap_first_byte_added_p50_ms",
        added[TAP],
        "ms",
        {way: value for way, value in added.items() if way != TAP},
        f"{requests:,} streams each, one at a time, kept-alive client connections, a prompt of"
        f" {len(PROMPT):,} B, collector running; direct {figure(base * 1e3)} ms at the median;"
        f" 99 % within {', '.join(f'{way} {figure(value)}' for way, value in tail.items())} ms"
        + (f"; {missing}" if missing else ""),
    )


def _start_router(start: Callable[[str, list[str], str], None], listen: str, engine: str) -> str:
    """Start the peer; why it is missing, else nothing."""
    command = peers.sglang_router(listen, f"http://{engine}")
    if command is None:
        return f"{ROUTER} is not installed (make bench installs it) and was skipped"
    try:
        start("router", command, f"{listen}/health")
    except NotStarted as error:
        return f"{ROUTER} did not start and was skipped ({str(error)[-200:]})"
    return ""


def _settings(folder: Path, engine: str, collector: str, tap: str) -> Path:
    config = folder / "rigledger.toml"
    config.write_text(
        f"[store]\npath = {json.dumps(str(folder / 'ledger'))}\n"
        f'[collector]\nlisten = "{collector}"\n'
        f'[[engines]]\nname = "card0"\nurl = "http://{engine}"\ngpus = ["GPU-0"]\n'
        f'[[taps]]\nengine = "card0"\nlisten = "{tap}"\n'
    )
    return config


def _take_turns(ways: dict[str, str], requests: int, warm: int) -> dict[str, list[float]]:
    """Seconds to the first byte by way."""
    clients = {way: Client(address) for way, address in ways.items()}
    took: dict[str, list[float]] = {way: [] for way in ways}
    try:
        for number in range(warm + requests):
            for way, client in clients.items():
                seconds = client.stream()
                if number >= warm:
                    took[way].append(seconds)
    finally:
        for client in clients.values():
            client.close()
    return took


class Client:
    """One kept-alive connection that asks for a stream and notes when its first event comes."""

    def __init__(self, address: str) -> None:
        host, _, port = address.rpartition(":")
        self._socket = socket.create_connection((host, int(port)), timeout=30)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        messages = [{"role": "user", "content": PROMPT}]
        body = json.dumps({"model": MODEL, "stream": True, "messages": messages}).encode()
        self._request = (
            f"POST /v1/chat/completions HTTP/1.1\r\nHost: {address}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        ).encode() + body

    def stream(self) -> float:
        """Seconds from the request's sending to the first byte of its stream."""
        start = time.perf_counter()
        self._socket.sendall(self._request)
        received = b""
        while b"data:" not in received:
            received += self._receive(received)
        seconds = time.perf_counter() - start
        if not received.startswith(b"HTTP/1.1 200"):
            raise RuntimeError(f"not a stream: {received[:300]!r}")
        while not received.endswith(b"\r\n0\r\n\r\n"):
            received += self._receive(received)
        return seconds

    def _receive(self, received: bytes) -> bytes:
        # Without it, a server that leaves Nagle's algorithm on waits 40 ms for a late receipt.
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
        data = self._socket.recv(65536)
        if not data:
            raise RuntimeError(f"the connection was closed after {received[:300]!r}")
        return data

    def close(self) -> None:
        """Give the connection up."""
        self._socket.close()
