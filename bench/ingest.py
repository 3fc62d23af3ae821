"""How many full events a second become durable over HTTP, with millions of keys present."""

import http.client
import json
import os
import shutil
import sqlite3
import threading
import time
from contextlib import closing
from pathlib import Path
from statistics import median

from bench import ingest_peers
from bench.attempts import START_NS, batches, encode
from bench.children import cpu_seconds, free_address, rigledger, running
from bench.result import Result, spread
from collector.store import Store

SENDERS = 2  # one body is read while another is written
FILL_STEP = 100_000
FILL = """
INSERT INTO event_key (key, digest, revision, month, kind)
WITH RECURSIVE n(i) AS (SELECT ?1 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?2)
SELECT CAST(printf('%08x-%03x', (?3 + i / 20) >> 16, ((?3 + i / 20) >> 4) & 4095)
    || randomblob(12) AS BLOB), randomblob(16), 0, 202609, 'attempt' FROM n ORDER BY 1
"""


def measure(
    work: Path,
    *,
    keys: int = 10_000_000,
    rounds: int = 7,
    batches_each: int = 20,
    batch: int = 1000,
) -> Result:
    """Events a second; the median round, each of `batches_each` bodies of `batch` events."""
    folder = work.resolve() / "ingest"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    fill(folder / "ledger", keys)
    config, address = _settings(folder)
    watch = ["collect", "--no-sources", "--log-level", "warning"]
    rates: list[float] = []
    busy: list[float] = []
    fresh = batches(f"bench-{time.time_ns()}", batch)
    command = rigledger(config, *watch)
    with running(command, f"http://{address}/healthz", folder / "collector.log") as collector:
        for _ in range(rounds + 1):
            bodies = [encode(next(fresh)) for _ in range(batches_each)]
            before, start = cpu_seconds(collector), time.perf_counter()
            _send(address, bodies, batch)
            rates.append(batch * batches_each / (time.perf_counter() - start))
            busy.append((cpu_seconds(collector) - before) / (batch * batches_each))
    _check(folder / "ledger", batch * batches_each * (rounds + 1))
    peers = ingest_peers.measure(folder, rounds=rounds, batches_each=batches_each, batch=batch)
    shutil.rmtree(folder)
    return Result(
        "ingest_events_per_s",
        median(rates[1:]),
        "1/s",
        peers,
        f"{spread(rates[1:])} of {batch * batches_each:,} events in bodies of {batch:,}"
        f" ({len(bodies[0]) // batch:,} B an event) by {SENDERS} senders, {keys:,} keys present,"
        f" seals included; {median(busy[1:]) * 1e6:.0f} µs of the collector's processor time an"
        f" event, {os.cpu_count()} cores for both; the peers store ready rows without HTTP,"
        " checks or idempotency",
    )


def fill(ledger: Path, keys: int) -> None:
    """A ledger that knows `keys` events of the time before those that will be sent."""
    Store(ledger).close()
    first_ms = START_NS // 1_000_000 - keys // 20 - 1
    with closing(sqlite3.connect(ledger / "manifest.sqlite")) as db:
        db.execute("PRAGMA synchronous = OFF")
        for start in range(0, keys, FILL_STEP):
            db.execute(FILL, (start, min(start + FILL_STEP, keys), first_ms))
            db.commit()
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    os.sync()


def _settings(folder: Path) -> tuple[Path, str]:
    address = free_address()
    config = folder / "rigledger.toml"
    store = json.dumps(str(folder / "ledger"))
    config.write_text(f'[store]\npath = {store}\n[collector]\nlisten = "{address}"\n')
    return config, address


def _send(address: str, bodies: list[bytes], batch: int) -> None:
    """Send the bodies, each sender the next one once its last is acknowledged as durable."""
    waiting = list(reversed(bodies))
    failed: list[str] = []

    def sender() -> None:
        connection = http.client.HTTPConnection(address, timeout=60)
        try:
            while not failed and (body := _pop(waiting)):
                headers = {"Content-Type": "application/json"}
                connection.request("POST", "/v1/events", body, headers)
                answer = connection.getresponse()
                text = answer.read()
                if answer.status != 202 or json.loads(text)["accepted"] != batch:
                    failed.append(f"HTTP {answer.status}: {text[:300]!r}")
        except OSError as error:
            failed.append(repr(error))
        finally:
            connection.close()

    threads = [threading.Thread(target=sender) for _ in range(SENDERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise RuntimeError(f"the collector did not keep a body: {failed[0]}")


def _pop(waiting: list[bytes]) -> bytes | None:
    try:
        return waiting.pop()
    except IndexError:
        return None


def _check(ledger: Path, sent: int) -> None:
    """Everything acknowledged must be there."""
    with closing(sqlite3.connect(ledger / "manifest.sqlite")) as db:
        query = "SELECT (SELECT coalesce(sum(rows), 0) FROM hot), sum(rows) FROM segment"
        hot, sealed = db.execute(query).fetchone()
    if hot + (sealed or 0) != sent:
        raise RuntimeError(f"{sent} events were acknowledged, {hot + (sealed or 0)} are there")
