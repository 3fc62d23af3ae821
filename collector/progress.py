"""What a long start is busy with, told every few seconds: whoever waits for it then waits on."""

import logging
import threading
from pathlib import Path
from types import TracebackType
from typing import Self

log = logging.getLogger(__name__)
# It is told whatever --log-level says: `up` takes it for the sign that the child is at work.
log.setLevel(logging.INFO)
EVERY_S = 10.0


class Progress:
    """Tells on the log, each `every_s`, the last thing that `doing` was called with.

    What takes less time than that is told nobody.
    """

    def __init__(self, path: Path, every_s: float = EVERY_S) -> None:
        self._path = path
        self._every_s = every_s
        self._what = ""
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="progress", daemon=True)

    def doing(self, what: str) -> None:
        """This is being done from now on."""
        self._what = what

    def _run(self) -> None:
        while not self._over.wait(self._every_s):
            log.info("%s is being opened: %s", self._path, self._what)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over.set()
        self._thread.join()
