"""A month of ten million requests, written as sealed files at once: the same every time.

The files come from the store's own sealing (`collector.seal`) and are listed as it lists them, with
their hours as news. What is left out is what no report reads: the rows were never hot, and have
no idempotency keys. Day by day: three cards read each second, heartbeats each ten seconds, and
requests of six models, six projects and sessions of 500 requests, sixty of them at a time.
"""

import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from collector.clock import SECOND_NS
from collector.columns import schema, time_column
from collector.manifest import open_manifest, transaction
from collector.seal import enlist, write_segments
from collector.store import Store
from collector.touched import HOUR_NS

START_NS = 1_790_838_000_000_000_000  # 2026-10-01T00:00:00-07:00
DAYS = 31
REQUESTS_A_DAY = 330_000
DAY_S = 86_400
SAMPLE_S, HEARTBEAT_S = 1, 10
CARDS = ("GPU-crowd-0", "GPU-crowd-1", "GPU-crowd-2")
ENGINES = ("card0", "card1", "card2")
KINDS_OF_WORK = 6  # models, and projects
SESSION_REQUESTS, SESSIONS_AT_ONCE = 500, 60
FILE_ROWS = 200_000  # as compaction leaves them
Columns = dict[str, Any]


def build(folder: Path, requests_a_day: int = REQUESTS_A_DAY, days: int = DAYS) -> Path:
    """Write the ledger and its settings, unless they are there; returns the settings' file."""
    config = folder / "rigledger.toml"
    if config.exists():
        return config
    ledger = folder / "ledger"
    ledger.mkdir(parents=True)
    Store(ledger).close()
    manifest = open_manifest(ledger)
    for day in range(days):
        print(f"\r   writing day {day + 1} of {days} ", end="", file=sys.stderr, flush=True)
        with transaction(manifest) as db:
            for kind, table in _day(day, requests_a_day):
                for start in range(0, table.num_rows, FILE_ROWS):
                    enlist(db, write_segments(ledger, kind, table.slice(start, FILE_ROWS)))
                touched = [(kind, hour) for hour in _hours(kind, table)]
                db.executemany("INSERT OR REPLACE INTO touched_hour VALUES (?, ?, 1)", touched)
    print(file=sys.stderr)
    manifest.close()
    config.write_text(_settings(ledger), encoding="utf-8")
    return config


def _day(day: int, requests_a_day: int) -> Iterator[tuple[str, pa.Table]]:
    if day == 0:
        yield "engine", _engines()
    seconds = np.arange(day * DAY_S, (day + 1) * DAY_S, dtype=np.int64)
    yield "heartbeat", _heartbeats(seconds[::HEARTBEAT_S])
    yield "sample", pa.concat_tables(_samples(card, seconds[::SAMPLE_S]) for card in range(3))
    yield "attempt", _attempts(np.arange(requests_a_day, dtype=np.int64), day, requests_a_day)


def _engines() -> pa.Table:
    known = {"engine": pa.array(ENGINES), "state": "up", "slots": 8, "at_ns": START_NS}
    return _table("engine", np.arange(3), known)


def _heartbeats(seconds: np.ndarray) -> pa.Table:
    covers = _lists(ENGINES, len(seconds))
    at_ns = START_NS + seconds * SECOND_NS
    return _table("heartbeat", seconds, {"witness": "tap", "covers": covers, "at_ns": at_ns})


def _samples(card: int, seconds: np.ndarray) -> pa.Table:
    """Watts that come and go over ten minutes, and the counter that adds them up."""
    watts = np.where(seconds // 600 % 3 == card, 30, 350)
    known = {
        "device": CARDS[card],
        "scope": "card",
        "at_ns": START_NS + seconds * SECOND_NS,
        "power_mw": watts * 1000,
        "energy_uj_total": (int(seconds[0]) * 350 + np.cumsum(watts)) * 1_000_000,
        "counter_epoch": "crowd",
        "util_pct": np.where(watts > 30, 95, 0),
        "foreign_processes": 0,
        "sensor": "nvml",
    }
    return _table("sample", seconds * 3 + card, known)


def _attempts(place: np.ndarray, day: int, requests_a_day: int) -> pa.Table:
    """Evenly spaced, lasting between one and six seconds, three of four prompts mostly cached."""
    number = day * requests_a_day + place
    some = number * 2_654_435_761 % 2**32  # scattered, and the same on every machine
    block = SESSION_REQUESTS * SESSIONS_AT_ONCE
    session = number // block * SESSIONS_AT_ONCE + number % SESSIONS_AT_ONCE
    work, card = session % KINDS_OF_WORK, some % 3
    prompt = 2_000 + some % 20_000
    known: Columns = {
        "operation": "chat",
        "request_id": pc.binary_join_element_wise("req", _digits(number), "-"),
        "attempt_no": 1,
        "session": pc.binary_join_element_wise("k1", _digits(session), ":"),
        "project": _named("project", work),
        "key": _named("key", session % 4),
        "engine": pa.array(ENGINES).take(pa.array(card)),
        "model": _named("model", work),
        "gpus": _each(pa.array(CARDS).take(pa.array(card))),
        "received_at_ns": START_NS + number * DAY_S * 1_000_000 // requests_a_day * 1000,
        "dispatch_ns": 200_000,
        "ttft_ns": SECOND_NS // 10 + some % SECOND_NS // 2,
        "duration_ns": SECOND_NS + some * 5 // 4,
        "input_tokens": prompt,
        "cache_read_tokens": np.where(some % 4 > 0, prompt * 9 // 10, 0),
        "output_tokens": 50 + some % 800,
        "usage_source": "engine",
        "status": "ok",
        "http_status": 200,
        "finish_reason": "stop",
    }
    return _table("attempt", number, known)


def _table(kind: str, numbers: np.ndarray, known: Columns) -> pa.Table:
    """Rows of a kind: what is known of it, its name by number, and null or nothing for the rest."""
    told = {"source": "tap", "event_id": _digits(numbers), "revision": 0, "rig": "bench", **known}
    columns = [_column(field, told.get(field.name), len(numbers)) for field in schema(kind)]
    return pa.Table.from_arrays(columns, schema=schema(kind))


def _column(field: pa.Field, value: Any, rows: int) -> pa.Array:
    if value is None:
        return (
            _lists((), rows, field.type)
            if pa.types.is_list(field.type)
            else pa.nulls(rows, field.type)
        )
    if isinstance(value, str | int):
        return pa.repeat(pa.scalar(value, field.type), rows)
    return pa.array(value).cast(field.type) if isinstance(value, np.ndarray) else value


def _lists(values: tuple[str, ...], rows: int, kind: pa.DataType | None = None) -> pa.Array:
    """The same list in every row."""
    kind = kind or pa.list_(pa.string())
    flat = pa.array(values * rows, kind.value_type)
    return pa.ListArray.from_arrays(pa.array(np.arange(rows + 1) * len(values), pa.int32()), flat)


def _each(values: pa.Array) -> pa.Array:
    """Each value as a list of its own."""
    return pa.ListArray.from_arrays(pa.array(np.arange(len(values) + 1), pa.int32()), values)


def _digits(numbers: np.ndarray) -> pa.Array:
    return pc.utf8_lpad(pa.array(numbers).cast(pa.string()), 12, "0")


def _named(what: str, numbers: np.ndarray) -> pa.Array:
    return pc.binary_join_element_wise(what, pa.array(numbers).cast(pa.string()), "-")


def _hours(kind: str, table: pa.Table) -> Iterable[int]:
    """The hours that the rows speak of."""
    at = table[time_column(kind)].to_numpy()
    ends = at + table["duration_ns"].to_numpy() if kind == "attempt" else at
    return range(int(at.min()) // HOUR_NS, int(ends.max()) // HOUR_NS + 1)


def _settings(store: Path) -> str:
    engines = "".join(
        f'[[engines]]\nname = "{name}"\nurl = "http://127.0.0.1:1"\ngpus = ["{card}"]\n'
        f'slots = 8\npool = "{pool}"\nfrom = 2026-01-01\n'
        for name, card, pool in zip(ENGINES, CARDS, ("large", "large", "small"), strict=True)
    )
    return (
        f'[store]\npath = {json.dumps(str(store))}\n[rig]\nname = "bench"\n'
        'time_zone = "America/Los_Angeles"\ncurrency = "USD"\n'
        '[[hardware]]\nname = "box"\nprice = "17000"\nin_service = 2026-01-01\nlife_years = 4\n'
        '[[electricity]]\nfrom = 2026-01-01\nprice_per_kwh = "0.20"\nhost_watts = 110\n'
        '[[compare.prices]]\nname = "an API"\ninput = "0.15"\ncache_read = "0.003"\n'
        f'output = "0.60"\n[[compare.prices]]\nname = "another API"\ninput = "1"\n'
        f'cache_read = "0.1"\noutput = "5"\n{engines}'
    )
