"""A real `rigledger up` in a folder of its own, and a look at what it leaves behind."""

import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from pathlib import Path

PYTHON = (sys.executable, "-P")
LIMIT_S = 300.0


def until(true: Callable[[], bool], what: str) -> None:
    """Wait for something that is bound to happen soon."""
    end = time.monotonic() + LIMIT_S
    while not true():
        assert time.monotonic() < end, f"waited in vain until {what}"
        time.sleep(0.1)


def answers(url: str) -> bool:
    """Whether a GET brings 200."""
    try:
        with urllib.request.urlopen(url, timeout=2) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def running(token: str) -> dict[int, str]:
    """Processes, by id, whose command line or folder names the token; zombies excluded."""
    found = {}
    for proc in Path("/proc").glob("[0-9]*"):
        try:
            command = (proc / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            folder = str((proc / "cwd").readlink())
        except OSError:
            continue
        if command and (token in command or folder == token):
            found[int(proc.name)] = command
    return found


class Up:
    """`rigledger up` as a process; its words collect in `log`."""

    def __init__(self, folder: Path, arguments: Sequence[str] = ()) -> None:
        self.folder = folder
        self._log = folder / "up.log"
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                [*PYTHON, "-m", "rigledger", *arguments],
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={key: value for key, value in os.environ.items() if key != "RIGLEDGER_DATA"},
                start_new_session=True,
            )

    @property
    def log(self) -> str:
        """All that it has said."""
        return self._log.read_text(encoding="utf-8")

    def said(self, text: str) -> Callable[[], bool]:
        """A condition for `until`: it has said this, or fails the test if it has ended."""

        def check() -> bool:
            if text in self.log:
                return True
            assert self.process.poll() is None, self.log
            return False

        return check

    def interrupt(self) -> int:
        """Ctrl-C; returns the exit code."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(LIMIT_S)

    def left(self) -> dict[int, str]:
        """What of the tree still runs."""
        return running(str(self.folder))

    def destroy(self) -> None:
        """Let a failed test leave nothing behind."""
        for pid in self.left():
            if pid != os.getpid():
                os.kill(pid, signal.SIGKILL)
        self.process.wait(LIMIT_S)
