"""Conversations played through a router: when their answers began, and what a cache served."""

import asyncio
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean
from typing import Any

import aiohttp

from bench.result import quantile
from bench.workloads import Talk, Turn


@dataclass(frozen=True)
class Answer:
    """When its first token came, s, and its prompt's tokens: all, and those found in a cache."""

    ttft_s: float
    input_tokens: int
    hit_tokens: int


@dataclass(frozen=True)
class Outcome:
    """One run of a workload through one router; times in s of the engines' own pace."""

    answers: list[Answer]
    makespan_s: float
    split: list[int]

    @property
    def mean_s(self) -> float:
        """Mean time to the first token."""
        return mean(answer.ttft_s for answer in self.answers)

    @property
    def hit_ratio(self) -> float:
        """Share of the prompts' tokens that the engines say a cache served."""
        whole = sum(answer.input_tokens for answer in self.answers)
        return sum(answer.hit_tokens for answer in self.answers) / max(1, whole)

    def at(self, share: float) -> float:
        """A quantile of the times to the first token."""
        return quantile([answer.ttft_s for answer in self.answers], share)


async def play(
    url: str, model: str, talks: Sequence[Talk], speed: float
) -> tuple[list[Answer], float]:
    """Every answer, and how long all took, s, where engines run `speed` times as fast as they
    claim. Raises RuntimeError for an answer that is none, or tells no usage."""
    timeout = aiohttp.ClientTimeout(total=None)
    # Engines close idle connections when they like, and the next turn would fail on one.
    connector = aiohttp.TCPConnector(limit=0, force_close=True)
    async with aiohttp.ClientSession(timeout=timeout, connector=connector) as session:
        start = time.perf_counter()
        talked = await asyncio.gather(*(_talk(session, url, model, talk, speed) for talk in talks))
        makespan_s = (time.perf_counter() - start) * speed
    return [answer for each in talked for answer in each], makespan_s


async def _talk(
    session: aiohttp.ClientSession, url: str, model: str, talk: Talk, speed: float
) -> list[Answer]:
    await asyncio.sleep(talk.at_s / speed)
    found = []
    for turn in talk.turns:
        await asyncio.sleep(turn.pause_s / speed)
        found.append(await _ask(session, url, model, turn, speed))
    return found


async def _ask(
    session: aiohttp.ClientSession, url: str, model: str, turn: Turn, speed: float
) -> Answer:
    """A stream that is read to its end, where the engine tells its usage."""
    body = {"model": model, "stream": True, "max_tokens": turn.output, "messages": turn.messages}
    body["stream_options"] = {"include_usage": True}
    start = time.perf_counter()
    first, last = None, b""
    async with session.post(f"{url}/v1/chat/completions", json=body) as answer:
        if answer.status != 200:
            raise RuntimeError(f"{answer.status}: {(await answer.text())[:200]}")
        async for line in answer.content:
            if first is None and _has_token(line):
                first = time.perf_counter()
            last = line if b'"usage":{' in line else last
    if first is None:
        raise RuntimeError("a stream without a token")
    usage = _usage(last)
    return Answer(
        ttft_s=(first - start) * speed,
        input_tokens=usage["prompt_tokens"],
        hit_tokens=usage["prompt_tokens_details"]["cached_tokens"],
    )


def _has_token(line: bytes) -> bool:
    """llama.cpp begins with a delta that names the role and whose content is null."""
    return b'"content":"' in line


def _usage(line: bytes) -> dict[str, Any]:
    if not line:
        raise RuntimeError("a stream that tells no usage")
    found: dict[str, Any] = json.loads(line.removeprefix(b"data:"))["usage"]
    return found
