"""Attempts with every field that a tap and a router can tell, and their bodies as sent.

A session is twenty requests that follow each other, of one project and one key.
"""

import uuid
from collections.abc import Iterator
from datetime import timedelta

import msgspec

from collector.clock import from_ns
from collector.events import Attempt, Candidate, Route

START_NS = 1_790_812_800_000_000_000  # 2026-10-01T00:00:00Z
CARDS = ("GPU-bench-0", "GPU-bench-1")
ENGINES = ("card0", "card1")
PREFIXES = 8


def event_id(number: int) -> str:
    """An id as the taps make them (UUID version 7), of 20 events a millisecond."""
    millisecond, count = START_NS // 1_000_000 + number // 20, number % 20
    high = millisecond << 16 | 0x7000 | count
    return str(uuid.UUID(int=high << 64 | 0b10 << 62 | number))


def attempt(number: int, source: str) -> Attempt:
    """Attempt `number` of a source: nothing left out, some 1,500 bytes as JSON."""
    card = number % len(CARDS)
    blocks = range(1, PREFIXES + 1)
    return Attempt(
        source=source,
        event_id=event_id(number),
        rig="bench",
        boot_id="53e18e75-053b-491a-9312-3f7bd04f0913",
        request_id=f"tap-01J{number:023d}",
        attempt_no=2,
        response_id=f"chatcmpl-{number:032x}",
        session=f"k1:{number // 20:032x}",
        project=f"project-{number // 20 % 7}",
        key=f"laptop-{number // 20 % 5}",
        engine=ENGINES[card],
        model="qwen3.8-27b",
        gpus=[CARDS[card]],
        received_at=from_ns(START_NS) + timedelta(microseconds=number * 1_370),
        dispatch_ns=180_000 + number % 1000,
        wait_ns=1 + number % 100_000,
        ttft_ns=310_000_000 + number,
        duration_ns=4_200_000_000 + number,
        input_tokens=20_480 + number % 1000,
        cache_read_tokens=19_968,
        cache_write_tokens=512,
        output_tokens=412,
        reasoning_tokens=100,
        draft_tokens=900,
        draft_accepted_tokens=301,
        usage_source="engine",
        status="ok",
        http_status=200,
        finish_reason="stop",
        raw_usage={
            "prompt_tokens": 20_480,
            "completion_tokens": 412,
            "prompt_tokens_details": {"cached_tokens": 19_968},
        },
        prefix=[f"k1:{number * PREFIXES + block:032x}" for block in blocks],
        prefix_tokens=[2_048 * block for block in blocks],
        route=Route(
            policy="estimated_wait",
            reason="home",
            chosen=ENGINES[card],
            candidates=[
                Candidate(
                    engine=engine,
                    hit_tokens=19_968,
                    pending_tokens=number % 4096,
                    in_flight=1,
                    estimate_ms=310,
                )
                for engine in ENGINES
            ],
        ),
    )


def batches(source: str, batch: int, first: int = 0) -> Iterator[list[Attempt]]:
    """Endless batches of new attempts."""
    while True:
        yield [attempt(number, source) for number in range(first, first + batch)]
        first += batch


def encode(events: list[Attempt]) -> bytes:
    """A batch as the taps send it."""
    return msgspec.json.encode(events)
