"""Three real llama.cpp servers behind real taps, booked by a real collector that dies half-way.

The client keeps its own record of what each engine told it; the engines' own counters are the
second witness.
"""

import asyncio
import contextlib
import datetime as dt
import json
import os
import random
import subprocess
import sys
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from itertools import pairwise

import aiohttp
import pyarrow.parquet as pq
import pytest
from rig.llama import llama_servers
from rig.nvml import FakeCards
from rig.ports import free_port
from rig.route import Route

from collector.snapshot import snapshot

WHOLE_REQUESTS = 180
ABORTED_REQUESTS = 20
ABORTED_TOKENS = 7000
SHOWN_CHUNKS = 3
DRAW_MW = 250_000
# What the report is told of the rig beside the settings that the taps and the collector ran with.
ASSETS = """
[[hardware]]
name = "workstation"
price = "17000"
in_service = {month}-01
life_years = 4

[[electricity]]
from = {month}-01
price_per_kwh = "0.20"

[[compare.prices]]
name = "an API"
input = "0.15"
cache_read = "0.003"
output = "0.60"
"""
TOPICS = ("the ledger of a small workshop", "a card that stands idle", "tokens by night")


@dataclass
class Seen:
    """What the client saw of one request."""

    request_id: str
    engine: str
    streamed: bool
    chunks: int = 0
    prompt: int | None = None
    cached: int | None = None
    emitted: int | None = None
    response_id: str | None = None
    finish_reason: str | None = None


class Collect:
    """`rigledger collect` as a process."""

    def __init__(self, config, port, log, environment):
        self._environment = {**os.environ, **environment}
        self._command = [sys.executable, "-m", "rigledger", "--config", str(config), "collect"]
        self._url = f"http://127.0.0.1:{port}/healthz"
        self._log = log

    def start(self):
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(
                self._command, stdout=log, stderr=log, env=self._environment
            )
        due = time.monotonic() + 30
        while time.monotonic() < due and self.process.poll() is None:
            with (
                contextlib.suppress(urllib.error.URLError, OSError),
                urllib.request.urlopen(self._url, timeout=1),
            ):
                return
            time.sleep(0.05)
        raise RuntimeError(f"the collector did not start:\n{self._log.read_text()}")

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        self.process.terminate()
        try:
            return self.process.wait(20)
        finally:
            self.process.kill()
            self.process.wait()


def prompt(number, dice):
    shared = f"You keep {TOPICS[number % len(TOPICS)]}. " * 8
    words = " ".join(dice.choice(["lamp", "coal", "ink", "rope", "salt"]) for _ in range(12))
    return [{"role": "system", "content": shared}, {"role": "user", "content": f"{number} {words}"}]


async def ask(session, url, seen, number, dice):
    body = {"model": "tiny", "messages": prompt(number, dice), "max_tokens": 4 + number % 29}
    body["cache_prompt"] = True
    if seen.streamed:
        body["stream"] = True
        if number % 4 == 1:
            body["stream_options"] = {"include_usage": True}
    headers = {"X-Request-ID": seen.request_id}
    async with session.post(f"{url}/v1/chat/completions", json=body, headers=headers) as reply:
        assert reply.status == 200
        raw = await reply.read()
    parts = documents(raw) if seen.streamed else [json.loads(raw)]
    for part in parts:
        note(seen, part)


def documents(raw):
    """The JSON of a finished stream, read as plainly as can be."""
    lines = [line for line in raw.decode().split("\n") if line.startswith("data: ")]
    assert lines[-1] == "data: [DONE]"
    return [json.loads(line.removeprefix("data: ")) for line in lines[:-1]]


def note(seen, part):
    seen.response_id = part["id"]
    for choice in part["choices"]:
        seen.finish_reason = choice["finish_reason"] or seen.finish_reason
    if part.get("timings"):
        timings = part["timings"]
        seen.prompt = timings["cache_n"] + timings["prompt_n"]
        seen.cached, seen.emitted = timings["cache_n"], timings["predicted_n"]
    if part.get("usage"):
        usage = part["usage"]
        seen.prompt, seen.emitted = usage["prompt_tokens"], usage["completion_tokens"]
        seen.cached = usage["prompt_tokens_details"]["cached_tokens"]


async def leave(port, seen, number, dice):
    """Ask for a long stream and go after a few chunks."""
    body = {"stream": True, "messages": prompt(number, dice), "max_tokens": ABORTED_TOKENS}
    body["ignore_eos"] = True
    data = json.dumps(body).encode()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    head = "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n"
    head += f"X-Request-ID: {seen.request_id}\r\n"
    head += f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
    writer.write(head.encode() + data)
    while seen.chunks < SHOWN_CHUNKS:
        line = await reader.readuntil(b"\n")
        if line.startswith(b"data: {"):
            delta = json.loads(line[6:])["choices"][0]["delta"]
            seen.chunks += bool(delta.get("content") or delta.get("reasoning_content"))
    writer.transport.abort()


def rows(data):
    """Every attempt of the ledger, as dicts."""
    found = snapshot(data, "attempt", 0, 2**62)
    assert found.superseded.num_rows == 0
    return [*found.hot.to_pylist(), *(r for f in found.files for r in pq.read_table(f).to_pylist())]


async def rows_when(data, number):
    for _ in range(600):
        with contextlib.suppress(FileNotFoundError):
            found = rows(data)
            if len(found) >= number:
                return found
        await asyncio.sleep(0.05)
    raise AssertionError(f"the ledger never had {number} attempts")


def counters(servers):
    names = ("tokens_predicted_total", "prompt_tokens_total", "prompt_tokens_cached_total")
    told = [server.metrics() for server in servers]
    return [sum(int(each[f"llamacpp:{name}"]) for each in told) for name in names]


async def whole_requests(route, collector, dice):
    """Every request answered in full, on six connections, while the collector dies and returns."""
    engines = sorted(route.urls)
    waiting = [
        Seen(f"whole-{n}", engines[n % len(engines)], streamed=n % 2 == 1)
        for n in range(WHOLE_REQUESTS)
    ]
    done = []
    queue = list(enumerate(waiting))

    async def client(session):
        while queue:
            number, seen = queue.pop(0)
            await ask(session, route.urls[seen.engine], seen, number, dice)
            done.append(seen)
            if len(done) == WHOLE_REQUESTS // 3:
                await asyncio.to_thread(collector.kill)
            if len(done) == 2 * WHOLE_REQUESTS // 3:
                await asyncio.to_thread(collector.start)

    async with aiohttp.ClientSession() as session:
        await asyncio.gather(*(client(session) for _ in range(6)))
    return done


async def scenario(servers, route, collector, data):
    dice = random.Random(7)
    before = await asyncio.to_thread(counters, servers)
    whole = await whole_requests(route, collector, dice)
    after = await asyncio.to_thread(counters, servers)
    engines = sorted(route.urls)
    aborted = [
        Seen(f"gone-{n}", engines[n % len(engines)], streamed=True) for n in range(ABORTED_REQUESTS)
    ]
    for number, seen in enumerate(aborted):
        await leave(route.port(seen.engine), seen, number, dice)
    found = await rows_when(data, WHOLE_REQUESTS + ABORTED_REQUESTS)
    return whole, aborted, found, [b - a for a, b in zip(before, after, strict=True)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where the story's settings, ledger and logs lie."""
    return tmp_path_factory.mktemp("real")


@pytest.fixture(scope="module")
def story(folder, nvml_library):
    port = free_port()
    cards = FakeCards(nvml_library, folder)
    for number in range(3):
        cards.add(f"GPU-{number}", power=DRAW_MW, energy=None)
    with llama_servers(3, folder, width=128, layers=3) as servers:
        engines = {f"card{n}": server.url for n, server in enumerate(servers)}
        route = Route(folder, engines, f"127.0.0.1:{port}")
        collector = Collect(folder / "route.toml", port, folder / "collect.log", cards.environment)
        collector.start()
        try:
            route.start()
            told = asyncio.run(
                asyncio.wait_for(scenario(servers, route, collector, route.data), 240)
            )
        finally:
            if route.urls:
                route.stop()
            collector.stop()
        yield (*told, rows(route.data))


def test_every_request_is_one_row(story):
    whole, aborted, found, _, final = story
    wanted = sorted(seen.request_id for seen in [*whole, *aborted])
    assert len(wanted) == 200
    assert sorted(row["request_id"] for row in found) == wanted
    assert sorted(row["request_id"] for row in final) == wanted
    assert len({row["event_id"] for row in final}) == 200


def test_tokens_are_what_the_engine_told_the_client(story):
    whole, _, found, _, _ = story
    row_of = {row["request_id"]: row for row in found}
    for seen in whole:
        row = row_of[seen.request_id]
        assert (row["input_tokens"], row["cache_read_tokens"], row["output_tokens"]) == (
            seen.prompt,
            seen.cached,
            seen.emitted,
        )
        assert (row["engine"], row["operation"]) == (seen.engine, "chat")
        assert (row["status"], row["http_status"], row["usage_source"]) == ("ok", 200, "engine")
        assert row["response_id"] == seen.response_id
        assert row["finish_reason"] == seen.finish_reason
        assert 0 < row["ttft_ns"] <= row["duration_ns"]
    assert sum(seen.cached for seen in whole) > 1000
    assert len({seen.emitted for seen in whole}) > 5


def test_the_engines_own_counters_agree(story):
    whole, _, found, (predicted, uncached, cached), _ = story
    complete = [row for row in found if row["status"] == "ok"]
    assert len(complete) == len(whole)
    assert sum(row["output_tokens"] for row in complete) == predicted
    assert sum(row["cache_read_tokens"] for row in complete) == cached
    assert sum(row["input_tokens"] - row["cache_read_tokens"] for row in complete) == uncached


def test_aborted_streams_are_counted_by_what_they_showed(story):
    _, aborted, found, _, _ = story
    row_of = {row["request_id"]: row for row in found}
    for seen in aborted:
        row = row_of[seen.request_id]
        assert (row["status"], row["usage_source"]) == ("client_abort", "derived")
        assert row["input_tokens"] is None
        assert seen.chunks <= row["output_tokens"] < ABORTED_TOKENS
        assert row["finish_reason"] is None


@pytest.fixture(scope="module")
def report(story, folder):
    """The month's report as the command prints it, after the collector has stopped."""
    last = max(row["received_at_ns"] for row in story[4])
    month = dt.datetime.fromtimestamp(last / 1e9, dt.UTC).strftime("%Y-%m")
    config = folder / "report.toml"
    config.write_text((folder / "route.toml").read_text() + ASSETS.format(month=month))
    command = [sys.executable, "-m", "rigledger", "--config", str(config)]
    done = subprocess.run(
        [*command, "report", month, "--json"], capture_output=True, check=True, text=True
    )
    return json.loads(done.stdout), folder / "data"


def test_the_report_counts_what_the_ledger_holds(story, report):
    final, (month, _) = story[4], report
    tokens = month["tokens"]
    assert tokens["requests"] == 200
    assert tokens["missing_usage"] == ABORTED_REQUESTS
    assert tokens["output"] == sum(row["output_tokens"] for row in final)
    assert tokens["input"] == sum(row["input_tokens"] or 0 for row in final)
    assert tokens["cache_read"] == sum(row["cache_read_tokens"] or 0 for row in final)
    assert sum(month["states_ns"].values()) == month["capacity_ns"]
    assert sum(month["states_cost_nano"].values()) == month["cost_nano"]["total"]


def test_the_reports_cost_is_right_by_hand(report):
    month, data = report
    elapsed_ns = month["capacity_ns"] // 3
    first = dt.datetime.fromisoformat(month["period"]["from"])
    life_ns = (first.replace(year=first.year + 4) - first) // dt.timedelta(microseconds=1) * 1000
    assert month["cost_nano"]["capital"] == 17_000 * 10**9 * elapsed_ns // life_ns

    energy_uj, intervals = 0, 0
    for card in range(3):
        times = sorted(at for at, device in samples(data) if device == f"GPU-{card}")
        steps = [b - a for a, b in pairwise(times)]
        usual = sorted(steps)[(len(steps) - 1) // 2]
        for step in steps:
            if step <= 3 * usual:
                energy_uj += DRAW_MW * step // 10**6
                intervals += 1
    assert intervals >= 3
    assert month["energy_uj"]["cards"] == energy_uj
    # Rounded once per card and quarter of an hour, so by at most half a nano for each.
    nano = energy_uj * 20 * 10**7 / 3.6e12
    assert abs(month["cost_nano"]["energy"] - nano) <= 3 * 4


def test_the_reports_api_bill_is_right_by_hand(story, report):
    whole, month = story[0], report[0]
    bill = sum(
        (seen.prompt - seen.cached) * 150 + seen.cached * 3 + seen.emitted * 600 for seen in whole
    )
    (entry,) = month["compare"]
    assert entry["same_hits_nano"] == bill
    assert entry["unpriced_requests"] == ABORTED_REQUESTS


def samples(data):
    """(instant, card) of every reading in the ledger."""
    found = snapshot(data, "sample", 0, 2**62)
    tables = [found.hot, *(pq.read_table(file) for file in found.files)]
    return [
        (row["at_ns"], row["device"])
        for table in tables
        for row in table.select(["at_ns", "device"]).to_pylist()
    ]
