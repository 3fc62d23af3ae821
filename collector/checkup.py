"""What the ledger, the clock, the cards and the engines look like now; changes nothing."""

import ctypes
import fcntl
import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import pyarrow.parquet as pq
from pyarrow.lib import ArrowException

from collector import probe
from collector.clock import SECOND_NS, from_ns, now_ns
from collector.damage import Damage
from collector.manifest import LOCK, MANIFEST, LedgerError
from collector.migrations import SchemaTooNew, require_known
from collector.settings import EngineSettings, Settings
from collector.setup.look import Found, engine_at, system_zone
from collector.snapshot import damaged, reading, snapshot
from collector.sources.engine_health import in_force
from collector.sources.nvml_look import NoCardsSeen, look
from collector.sources.nvml_wire import Reading

STEPS_DAYS = 30
_TIME_ERROR = 5


@dataclass(frozen=True)
class LedgerFacts:
    """The ledger's folder. `error`: why it cannot be read; `newest_ns`: of each kind that it has.

    `written`: a process holds it for writing. `damaged`: things ever found so. `clock_steps`:
    those told in the last STEPS_DAYS days.
    """

    path: Path
    exists: bool = True
    writable: bool = True
    mode: int = 0o700
    free_b: int = 1 << 40
    written: bool = True
    error: str | None = None
    newest_ns: dict[str, int] = field(default_factory=dict)
    damaged: int = 0
    clock_steps: int = 0


@dataclass(frozen=True)
class CardFacts:
    """What the driver tells; `error` where it tells nothing. Readings in its own order."""

    driver: str | None = None
    readings: list[Reading] = field(default_factory=list)
    nameless: list[str] = field(default_factory=list)
    error: str | None = None


@dataclass(frozen=True)
class Facts:
    """Everything at one instant. `synchronised` None: the kernel does not tell."""

    now_ns: int
    ledger: LedgerFacts
    collector: probe.Health
    cards: CardFacts
    engines: dict[str, Found]
    system_zone: str
    synchronised: bool | None


def gather(settings: Settings) -> Facts:
    """Look at everything that these settings name. Never raises for what it finds."""
    now = now_ns()
    today = from_ns(now).astimezone(settings.zone).date()
    with ThreadPoolExecutor() as pool:
        cards = pool.submit(_cards)
        collector = pool.submit(probe.ask, settings)
        engines = _engines(pool, in_force(settings.engines, today))
        health = collector.result()
        ledger = _ledger(settings.store_path(), now, answers=health.trouble is None)
        return Facts(now, ledger, health, cards.result(), engines, system_zone(), _synchronised())


def place(url: str) -> tuple[str, int]:
    """Host and port that a URL leads to; localhost is 127.0.0.1."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    port = parts.port or (443 if parts.scheme == "https" else 80)
    return ("127.0.0.1" if host == "localhost" else host), port


def _engines(pool: ThreadPoolExecutor, engines: list[EngineSettings]) -> dict[str, Found]:
    asked = {engine.name: pool.submit(engine_at, engine.url) for engine in engines}
    return {name: found.result() for name, found in asked.items()}


def _cards() -> CardFacts:
    try:
        seen = look()
    except NoCardsSeen as error:
        return CardFacts(error=str(error))
    return CardFacts(seen.driver, seen.cards, seen.errors)


def _ledger(path: Path, now: int, *, answers: bool) -> LedgerFacts:
    if not path.is_dir():
        return LedgerFacts(path, exists=False, written=False)
    error, newest, steps = None, dict[str, int](), 0
    lost: list[Damage] = []
    try:
        newest, lost = _newest(path), damaged(path)
        steps = _clock_steps(path, now - STEPS_DAYS * 86_400 * SECOND_NS, now)
    except (LedgerError, SchemaTooNew, OSError, ArrowException) as failure:
        error = str(failure)
    return LedgerFacts(
        path=path,
        writable=os.access(path, os.W_OK | os.X_OK),
        mode=path.stat().st_mode & 0o777,
        free_b=shutil.disk_usage(path).free,
        written=answers or _held(path / LOCK),
        error=error,
        newest_ns=newest,
        damaged=len(lost),
        clock_steps=steps,
    )


def _newest(path: Path) -> dict[str, int]:
    with reading(path) as db:
        if require_known(db, path / MANIFEST) == 0:
            return {}
        both = "SELECT kind, max_ns FROM segment UNION ALL SELECT kind, max_ns FROM hot"
        return dict(db.execute(f"SELECT kind, max(max_ns) FROM ({both}) GROUP BY kind"))  # noqa: S608


def _clock_steps(path: Path, since_ns: int, now: int) -> int:
    seen = snapshot(path, "host", since_ns, now)
    columns = ["what", "at_ns"]
    tables = [seen.hot, *(pq.read_table(file, columns=columns) for file in seen.files)]
    rows = [row for table in tables for row in table.select(columns).to_pylist()]
    return sum(row["what"] == "clock_step" and row["at_ns"] >= since_ns for row in rows)


def _held(lock: Path) -> bool:
    """Whether a process holds the writer's lock."""
    try:
        descriptor = os.open(lock, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


def _synchronised() -> bool | None:
    """Whether the kernel holds the wall clock for synchronised; asks without changing anything."""
    libc = ctypes.CDLL(None)
    state = libc.adjtimex(ctypes.create_string_buffer(512))
    return None if state < 0 else state != _TIME_ERROR
