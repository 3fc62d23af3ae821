"""A month of a busy rig, written through the store in large batches, the same every time."""

import json
from collections.abc import Iterator
from datetime import timedelta
from itertools import islice
from pathlib import Path

from bench.attempts import CARDS, ENGINES, START_NS
from collector.clock import SECOND_NS, from_ns
from collector.events import Attempt, Engine, Event, Heartbeat, Sample
from collector.store import Store

MONTH = "2026-10"
DAYS = 31
DAY_S = 86_400
HEARTBEAT_S = 10
SAMPLE_S = 10
BATCH = 20_000
WATTS_IDLE, WATTS_BUSY = 30, 350
START = from_ns(START_NS)


def build(folder: Path, requests_a_day: int, days: int = DAYS) -> Path:
    """Write the ledger and its settings, unless they are there; returns the settings' file."""
    config = folder / "rigledger.toml"
    if config.exists():
        return config
    folder.mkdir(parents=True)
    with Store(folder / "ledger") as store:
        events = month(requests_a_day, days)
        while batch := list(islice(events, BATCH)):
            store.append(batch)
            if store.seal_due:
                store.seal()
        store.seal()
    config.write_text(_settings(folder / "ledger"), encoding="utf-8")
    return config


def month(requests_a_day: int, days: int) -> Iterator[Event]:
    """Day by day: engines up, heartbeats, card samples and requests."""
    for number, name in enumerate(ENGINES):
        yield Engine(
            source="bench", event_id=f"up-{number}", rig="bench", engine=name, state="up",
            slots=2, at=START,
        )  # fmt: skip
    for day in range(days):
        second = day * DAY_S
        yield from (_heartbeat(at) for at in range(second, second + DAY_S, HEARTBEAT_S))
        for at in range(second, second + DAY_S, SAMPLE_S):
            yield from (_sample(card, at) for card in range(len(CARDS)))
        first = day * requests_a_day
        for number in range(first, first + requests_a_day):
            yield _request(number, requests_a_day)


def _heartbeat(second: int) -> Heartbeat:
    return Heartbeat(
        source="bench", event_id=f"beat-{second:09d}", rig="bench", witness="tap",
        covers=list(ENGINES), at=START + timedelta(seconds=second),
    )  # fmt: skip


def _sample(card: int, second: int) -> Sample:
    watts = WATTS_IDLE if second // 600 % 3 == card else WATTS_BUSY
    return Sample(
        source="bench", event_id=f"card-{card}-{second:09d}", rig="bench", device=CARDS[card],
        scope="card", at=START + timedelta(seconds=second), power_mw=watts * 1000, sensor="bench",
    )  # fmt: skip


def _request(number: int, requests_a_day: int) -> Attempt:
    """Evenly spaced, lasting between one and six seconds, three of four prompts mostly cached; a
    session is twenty of them that follow each other, of one project and one key."""
    card = number % len(CARDS)
    some = number * 2_654_435_761 % 2**32  # scattered, and the same on every machine
    prompt = 2_000 + some % 20_000
    return Attempt(
        source="bench",
        event_id=f"{number:012d}",
        rig="bench",
        session=f"k1:{number // 20:032x}",
        project=f"project-{number // 20 % 7}",
        key=f"laptop-{number // 20 % 5}",
        engine=ENGINES[card],
        model="qwen3.8-27b",
        gpus=[CARDS[card]],
        received_at=START + timedelta(microseconds=number * DAY_S * 1_000_000 // requests_a_day),
        dispatch_ns=200_000,
        ttft_ns=SECOND_NS // 10 + some % SECOND_NS // 2,
        duration_ns=SECOND_NS + some * 5 // 4,
        input_tokens=prompt,
        cache_read_tokens=prompt * 9 // 10 if some % 4 else 0,
        output_tokens=50 + some % 800,
        usage_source="engine",
        status="ok",
        http_status=200,
        finish_reason="stop",
    )


def _settings(store: Path) -> str:
    engines = "".join(
        f'[[engines]]\nname = "{name}"\nurl = "http://127.0.0.1:1"\ngpus = ["{CARDS[number]}"]\n'
        f'slots = 2\npool = "qwen"\nmodel = "qwen3.8-27b"\nfrom = 2026-01-01\n'
        for number, name in enumerate(ENGINES)
    )
    return (
        f'[store]\npath = {json.dumps(str(store))}\n[rig]\nname = "bench"\ntime_zone = "UTC"\n'
        'currency = "USD"\n[[hardware]]\nname = "box"\nprice = "17000"\nin_service = 2026-01-01\n'
        'life_years = 4\n[[electricity]]\nfrom = 2026-01-01\nprice_per_kwh = "0.20"\n'
        'host_watts = 110\n[[compare.prices]]\nname = "an API"\ninput = "0.15"\n'
        f'cache_read = "0.003"\noutput = "0.60"\n{engines}'
    )
