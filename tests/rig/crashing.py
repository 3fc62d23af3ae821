"""A collector made to be killed, senders that never give up, and readers that never rest.

As a program: `python crashing.py collect LEDGER` forks a collector for each line on stdin (so
that a start takes no imports), tells its PID and port, and its exit status once it is dead;
`python crashing.py read LEDGER` reads until stdin closes, then tells how often it did.
"""

import asyncio
import datetime as dt
import os
import random
import select
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import duckdb
import msgspec
import requests

from collector import daemon
from collector.clock import SECOND_NS, from_ns, to_ns
from collector.columns import to_arrow
from collector.events import Attempt, Event, Sample
from collector.face import FACE
from collector.settings import CollectorSettings, Settings
from collector.snapshot import snapshot
from collector.store import Store

KINDS = ("attempt", "sample")
EVER = (0, 2**62)
MIDNIGHT_NS = to_ns(dt.datetime(2026, 11, 1, tzinfo=dt.UTC))
JSON = {"Content-Type": "application/json"}


def collect(path: Path) -> None:
    """The collector's process: as `rigledger collect`, but it seals and merges all the time."""
    settings = Settings(collector=CollectorSettings(listen="127.0.0.1:0"))
    daemon.RETIRED_NS = 5 * SECOND_NS  # files are removed under the readers' eyes

    def started(port: int) -> None:
        print(os.getpid(), port, flush=True)

    with Store(path, seal_rows=400, seal_batches=40, compact_files=3) as store:
        asyncio.run(daemon.run(settings, store, [], started=started))


def collect_again_and_again(path: Path) -> None:
    """Fork a collector per line of stdin, one at a time."""
    to_arrow("attempt", [made(0, 1)])  # pyarrow loads more on its first use
    while sys.stdin.readline():
        pid = os.fork()
        if pid == 0:
            collect(path)
            os._exit(0)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)


def made(sender: int, number: int) -> Event:
    """An event whose whole content follows from its identity."""
    content = random.Random(f"{sender}-{number}")
    at = from_ns(MIDNIGHT_NS + content.randrange(-3600, 3600) * SECOND_NS)
    if number % 4 == 0:
        return Sample(
            source=f"sender-{sender}",
            event_id=str(number),
            rig="desk",
            device="GPU-0",
            scope="card",
            at=at,
            power_mw=content.randrange(10**6),
            sensor="test",
        )
    return Attempt(
        source=f"sender-{sender}",
        event_id=str(number),
        rig="desk",
        engine="card0",
        received_at=at,
        duration_ns=content.randrange(10**12),
        input_tokens=content.choice([None, content.randrange(10**6)]),
        status="ok",
        raw_usage={"prompt_tokens": content.randrange(10**6)},
    )


@dataclass
class Sender:
    """Sends batches one after the other, each until it is acknowledged."""

    name: int
    where: Callable[[], int | None]
    acknowledged: int = 0
    sent: int = 0
    retried_duplicates: int = 0
    failure: BaseException | None = None
    stopping: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        """Send until told to stop; a batch under way is still brought home."""
        try:
            while not self.stopping.is_set():
                self._batch(random.Random(self.sent).randrange(1, 40))
        except BaseException as error:
            self.failure = error

    def one_more(self) -> bool:
        """Send a fresh event; whether it was new to the collector."""
        told = self._post([made(self.name, self.sent)])
        self.sent += 1
        return told == {"accepted": 1, "duplicates": 0, "rejected": []}

    def _batch(self, size: int) -> None:
        events = [made(self.name, self.sent + n) for n in range(size)]
        self.sent += size
        tries = 0
        answer_lost = random.Random(self.sent).random() < 0.1
        while True:
            told = self._post(events)
            tries += 1
            if told is not None and answer_lost:
                told, answer_lost = None, False  # as if the line had broken just then
            if told is None:
                threading.Event().wait(0.005)
                continue
            assert told["rejected"] == [], told
            assert told["accepted"] + told["duplicates"] == size
            # A group commits whole or not at all, and only a retry can find it there already.
            assert told["duplicates"] in ({0} if tries == 1 else {0, size})
            self.retried_duplicates += told["duplicates"]
            self.acknowledged += size
            return

    def _post(self, events: list[Event]) -> dict[str, int | list[object]] | None:  # type: ignore[return]
        port = self.where()
        if port is None:
            return None
        try:
            answer = requests.post(
                f"http://127.0.0.1:{port}/v1/events",
                data=msgspec.json.encode(events),
                headers=JSON,
                timeout=60,
            )
        except requests.RequestException:
            return None
        assert answer.status_code == 202, answer.text
        return answer.json()  # type: ignore[no-any-return]


def faced(path: Path) -> int:
    """Rows of all kinds as the ledger's face tells them; fails if any is there twice."""
    rows = 0
    with duckdb.connect(path / FACE, read_only=True, config={"threads": 1}) as con:
        for kind in KINDS:
            ((total, distinct),) = con.execute(
                f"SELECT count(*), count(DISTINCT (source, event_id)) FROM {kind}"  # noqa: S608
            ).fetchall()
            assert total == distinct, f"{total - distinct} rows of {kind} are there twice"
            rows += total
    return rows


def count(path: Path) -> int:
    """Rows of all kinds as DuckDB sees them; fails if any is there twice."""
    rows = 0
    for kind in KINDS:
        seen = snapshot(path, kind, *EVER)
        with duckdb.connect(config={"threads": 1}) as con:
            con.register("hot", seen.hot.select(["source", "event_id"]))
            query = "SELECT source, event_id FROM hot"
            if seen.files:
                con.execute("SET VARIABLE files = ?", [[str(file) for file in seen.files]])
                query += (
                    " UNION ALL SELECT source, event_id"
                    " FROM read_parquet(getvariable('files'), hive_partitioning = false)"
                )
            ((total, distinct),) = con.execute(
                f"SELECT count(*), count(DISTINCT (source, event_id)) FROM ({query})"  # noqa: S608
            ).fetchall()
        assert total == distinct, f"{total - distinct} rows of {kind} are there twice"
        rows += total
    return rows


def read_again_and_again(path: Path) -> None:
    """Read until stdin closes; nothing that was seen may vanish."""
    reads, before, shown = 0, 0, 0
    while not select.select([sys.stdin], [], [], 0)[0]:
        now = count(path)
        assert now >= before, f"{before - now} rows have vanished"
        before, reads = now, reads + 1
        if reads % 5 == 0 and (path / FACE).exists():
            now = faced(path)
            assert now >= shown, f"{shown - now} rows have vanished from the face"
            shown = now
    print(reads, flush=True)


if __name__ == "__main__":
    {"collect": collect_again_and_again, "read": read_again_and_again}[sys.argv[1]](
        Path(sys.argv[2])
    )
