"""Group commit: whatever waits is kept together, by one thread and one durable write."""

import logging
import threading
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass

from collector.events import Event
from collector.parcel import Parcel, joined, pack
from collector.store import Receipt, Store, StoreUnavailable

log = logging.getLogger(__name__)
GROUP_EVENTS = 20_000
Observer = Callable[[Parcel, Receipt], None]


class QueueFull(RuntimeError):
    """More waits to be written than memory should hold; try again shortly."""


@dataclass(frozen=True)
class _Job:
    parcel: Parcel
    done: Future[Receipt]


class Committer:
    """The writer thread. `observe` is told, on that thread, of every job that was kept, and
    `failed` is called after a group could not be written.

    `failure` is the sentence of the last write if that failed, else None.
    """

    def __init__(
        self,
        store: Store,
        *,
        max_events: int = 100_000,
        observe: Observer | None = None,
        failed: Callable[[], None] = lambda: None,
    ) -> None:
        self._store = store
        self._max_events = max_events
        self._observe = observe
        self._failed = failed
        self._jobs: deque[_Job] = deque()
        self._waiting = 0
        self._closing = False
        self.failure: str | None = None
        self._wake = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="committer")
        self._thread.start()

    def submit(self, parcel: Parcel) -> Future[Receipt]:
        """Queue events; the future's Receipt comes once they are durable.

        The future raises StoreUnavailable as `Store.keep` does. Raises QueueFull when too much
        waits or the committer is closing.
        """
        job = _Job(parcel, Future())
        with self._wake:
            if self._closing or (self._jobs and self._waiting + len(parcel) > self._max_events):
                raise QueueFull(f"{self._waiting} events wait to be written; send it again shortly")
            self._jobs.append(job)
            self._waiting += len(parcel)
            self._wake.notify()
        return job.done

    def close(self) -> None:
        """Write what waits, then stop."""
        with self._wake:
            self._closing = True
            self._wake.notify()
        self._thread.join()

    def _run(self) -> None:
        while jobs := self._take():
            try:
                self._commit(jobs)
            except BaseException as error:
                # The thread must outlive any fault of one group, and nobody may wait for ever.
                log.exception("a group of events could not be written")
                for job in jobs:
                    if not job.done.done():
                        job.done.set_exception(StoreUnavailable(f"unexpected: {error!r}"))

    def _take(self) -> list[_Job]:
        with self._wake:
            self._wake.wait_for(lambda: self._jobs or self._closing)
            group: list[_Job] = []
            size = 0
            while self._jobs and (not group or size + len(self._jobs[0].parcel) <= GROUP_EVENTS):
                group.append(self._jobs.popleft())
                size += len(group[-1].parcel)
            self._waiting -= size
            return group

    def _commit(self, jobs: list[_Job]) -> None:
        try:
            receipt = self._store.keep(joined([job.parcel for job in jobs]))
        except StoreUnavailable as error:
            self.failure = str(error)
            for job in jobs:
                job.done.set_exception(error)
            self._failed()
            return
        self.failure = None
        for job, part in zip(jobs, split(receipt, [len(job.parcel) for job in jobs]), strict=True):
            if self._observe is not None:
                self._observe(job.parcel, part)
            job.done.set_result(part)


def split(receipt: Receipt, sizes: Sequence[int]) -> list[Receipt]:
    """The receipt of a group as one receipt per job, indexes counted within each job."""
    starts = [sum(sizes[:n]) for n in range(len(sizes))]
    duplicate_at: list[list[int]] = [[] for _ in sizes]
    conflicts: list[list[int]] = [[] for _ in sizes]
    for told, parts in ((receipt.duplicate_at, duplicate_at), (receipt.conflicts, conflicts)):
        for index in told:
            job = bisect_right(starts, index) - 1
            parts[job].append(index - starts[job])
    return [
        Receipt(size - len(same) - len(other), same, other)
        for size, same, other in zip(sizes, duplicate_at, conflicts, strict=True)
    ]


class Feed:
    """The way in for sources of this process: keeps what could not be written, and retries."""

    def __init__(self, committer: Committer, *, kept: int = 20_000) -> None:
        self._committer = committer
        self._lock = threading.Lock()
        self._backlog: deque[Event] = deque(maxlen=kept)

    def deliver(self, events: list[Event]) -> None:
        """Write the events and what is left from before; never raises for a full disk."""
        with self._lock:
            lost = len(self._backlog) + len(events) - (self._backlog.maxlen or 0)
            if lost > 0:
                log.error("%d events of own sources were lost: the ledger cannot be written", lost)
            self._backlog.extend(events)
            try:
                self._committer.submit(pack(list(self._backlog))).result()
            except (StoreUnavailable, QueueFull) as error:
                log.warning("%d events of own sources wait: %s", len(self._backlog), error)
                return
            except ValueError:
                log.exception("events of own sources cannot be stored")
            self._backlog.clear()
