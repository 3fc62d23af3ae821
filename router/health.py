"""Which engines take requests: found by asking them, and by how their requests fare.

An engine that cannot be reached is out at once, and has lost its cache; one that fails requests is
out after a few different ones in a row: one that is sent again and again may be at fault itself. It
is in again when its health check says so. The fleet never leaves itself without any: where all are
out, all are tried.
"""

import logging
from collections.abc import Callable

import aiohttp

from collector.settings import EngineSettings
from router.forward import target

EVERY_S = 2.0
WITHIN_S = 3.0
FAILURES = 3
# An engine that computes may be slow to answer; one that never does has hung.
SILENT = 5

log = logging.getLogger("rigledger.health")


class Health:
    """What is known of each engine. `tell` hears of every change: the engine, and whether it is
    in; `gone` of each that cannot be reached, once."""

    def __init__(
        self,
        session: aiohttp.ClientSession,
        tell: Callable[[str, bool], None],
        gone: Callable[[str], None],
    ) -> None:
        """All engines are in until shown otherwise."""
        self._session = session
        self._tell = tell
        self._tell_gone = gone
        self._out: dict[str, str] = {}
        self._gone: set[str] = set()
        # The hashes of requests that failed since one did not.
        self._failures: dict[str, set[int]] = {}
        self._silent: dict[str, int] = {}

    def reason(self, engine: str) -> str | None:
        """Why an engine is out, None while it is in."""
        return self._out.get(engine)

    def unreachable(self, engine: str) -> None:
        """A request could not even be sent."""
        self._lose(engine, "it cannot be reached")

    def answered(self, engine: str, status: int, body: bytes) -> None:
        """A request of this body was answered, with this status."""
        if status < 500:
            self._failures.pop(engine, None)
            return
        failed = self._failures.setdefault(engine, set())
        if len(failed) < FAILURES:
            failed.add(hash(body))
        if len(failed) == FAILURES:
            reason = f"{FAILURES} different requests in a row failed, the last with {status}"
            self._set(engine, reason)

    async def check(self, engine: EngineSettings) -> None:
        """Ask one engine for its health. One that has no such page is well if it answers."""
        within = aiohttp.ClientTimeout(total=WITHIN_S)
        try:
            async with self._session.get(
                target(engine.url, "/health"), timeout=within, allow_redirects=False
            ) as answer:
                status = answer.status
        except TimeoutError:
            self._silent[engine.name] = self._silent.get(engine.name, 0) + 1
            if self._silent[engine.name] >= SILENT:
                self._set(engine.name, f"it left {SILENT} health checks in a row unanswered")
            return
        except (aiohttp.ClientError, OSError, ValueError) as error:  # of a name that is none, too
            self._lose(engine.name, f"its health check failed ({type(error).__name__})")
            return
        self._silent.pop(engine.name, None)
        self._set(engine.name, f"its health check says {status}" if status >= 500 else None)

    def _lose(self, engine: str, reason: str) -> None:
        if engine not in self._gone:
            self._gone.add(engine)
            self._tell_gone(engine)
        self._set(engine, reason)

    def _set(self, engine: str, out: str | None) -> None:
        was = self._out.get(engine)
        if out is None:
            self._out.pop(engine, None)
            self._failures.pop(engine, None)
            self._gone.discard(engine)
        else:
            self._out[engine] = out
        if (was is None) != (out is None):
            log.warning("engine %s is %s", engine, "in again" if out is None else f"out: {out}")
            self._tell(engine, out is None)
