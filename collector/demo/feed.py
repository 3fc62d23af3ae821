"""Keeps the demo ledger filled: everything up to now first, then whatever falls due."""

import queue
import sys
import threading
import time
from bisect import bisect_right
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TextIO

import pyarrow.compute as pc
import pyarrow.dataset as ds

from collector.clock import now_ns
from collector.demo import rig
from collector.demo.ledger import Due, events
from collector.demo.send import Sender, batches
from collector.snapshot import snapshot

TICK_S = 10.0
_DAY_NS = 86_400_000_000_000
_BAR = 30


def feed(address: str, store: Path, stop: threading.Event, loaded: Callable[[], None]) -> None:
    """Send the demo's events to the collector at `address` until told to stop.

    `store` is the ledger's folder, asked once for what it holds already. `loaded` is called once
    the ledger has reached the present. Raises SendError when the collector refuses an event.
    """
    began_ns = now_ns()
    since_ns = newest_ns(store, began_ns)
    first = max(rig.first_day(began_ns), rig.today(since_ns).replace(day=1))
    progress = Progress(max(since_ns, rig.local_ns(first, 0)), began_ns)
    sender = Sender(address, stop)
    reached = False
    for day in _ahead(events(first, since_ns)):
        sent = 0
        while sent < len(day) and not stop.is_set():
            fallen = bisect_right(day, now_ns(), key=lambda due: due[0])
            for batch in batches(day[sent:fallen]):
                if not sender.send(batch):
                    break
                progress.show(batch[-1][0])
            sent = max(sent, fallen)
            if sent < len(day) and not reached:
                reached = True
                progress.done()
                loaded()
            if sent < len(day):
                stop.wait(max(TICK_S, (day[sent][0] - now_ns()) / 1e9))
        if stop.is_set():
            break
    sender.close()


def newest_ns(store: Path, until_ns: int) -> int:
    """The newest heartbeat of the demo in the ledger, ns; 0 where there is none.

    Batches arrive in order and whole, so all that fell due by then has arrived too.
    """
    try:
        seen = snapshot(store, "heartbeat", until_ns - 70 * _DAY_NS, until_ns + _DAY_NS)
    except FileNotFoundError:
        return 0
    parts = [ds.dataset(seen.hot)]
    if seen.files:
        parts.append(ds.dataset([str(file) for file in seen.files]))
    mine = ds.field("source") == rig.SOURCE
    found = [pc.max(part.to_table(["at_ns"], filter=mine)["at_ns"]).as_py() for part in parts]
    return max((at_ns for at_ns in found if at_ns is not None), default=0)


def _ahead(days: Iterator[list[Due]]) -> Iterator[list[Due]]:
    """The same days, made while the collector is still busy with the one before."""
    made: queue.Queue[list[Due]] = queue.Queue(maxsize=1)

    def make() -> None:
        for day in days:
            made.put(day)

    threading.Thread(target=make, name="demo days", daemon=True).start()
    while True:
        yield made.get()


class Progress:
    """How far the ledger has been filled: a bar on a terminal, a line per quarter elsewhere."""

    def __init__(self, from_ns: int, to_ns: int, out: TextIO | None = None) -> None:
        self._from_ns, self._to_ns = from_ns, max(to_ns, from_ns + 1)
        self._out = out or sys.stderr
        self._shown = -1
        self._began = time.monotonic()

    def show(self, at_ns: int) -> None:
        """Tell that everything up to an instant is durable."""
        share = min(1.0, max(0.0, (at_ns - self._from_ns) / (self._to_ns - self._from_ns)))
        step = int(share * 100) if self._out.isatty() else int(share * 4)
        if step == self._shown or self._to_ns - self._from_ns < 3600 * 10**9:
            return
        self._shown = step
        if self._out.isatty():
            filled = int(share * _BAR)
            bar = "█" * filled + "░" * (_BAR - filled)
            self._out.write(f"\rloading the demo ledger {bar} {step:3d} %")
        else:
            self._out.write(f"loading the demo ledger: {step * 25} %\n")
        self._out.flush()

    def done(self) -> None:
        """End the line that the bar stands on."""
        if self._shown >= 0:
            took_s = time.monotonic() - self._began
            end = "\n" if self._out.isatty() else ""
            self._out.write(f"{end}the demo ledger is loaded ({took_s:.0f} s)\n")
            self._out.flush()
