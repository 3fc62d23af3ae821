"""A child process that tells lines, and that may hang at any moment."""

import contextlib
import os
import select
import subprocess
import time

MESSAGE_BYTES = 4096
DYING_S = 1.0


class ChildEndedError(Exception):
    """The child has ended: its exit status (negative: the signal) and its last words."""

    def __init__(self, status: int | None, message: str) -> None:
        super().__init__(message or f"it ended with exit status {status}")
        self.status = status


class ChildSilentError(Exception):
    """The child runs on but has said nothing in time."""


class Child:
    """A process whose standard output is read line by line, never waiting longer than told."""

    def __init__(self, command: list[str]) -> None:
        """Start it in a session of its own: a Ctrl-C in the terminal is its parent's to handle.

        Raises OSError.
        """
        self._out, out = os.pipe()
        self._err, err = os.pipe()
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )
        except OSError:
            self._close()
            raise
        finally:
            os.close(out)
            os.close(err)
        self._rest = b""
        os.set_blocking(self._err, False)

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def line(self, timeout_s: float, wake: int) -> bytes | None:
        """Its next line, or None once the descriptor `wake` turns readable.

        Raises ChildSilentError after `timeout_s` and ChildEndedError at its end.
        """
        due = time.monotonic() + timeout_s
        while b"\n" not in self._rest:
            left = due - time.monotonic()
            ready, _, _ = select.select([self._out, wake], [], [], max(left, 0))
            if wake in ready:
                return None
            if not ready:
                raise ChildSilentError(f"it said nothing for {timeout_s:g} s")
            chunk = os.read(self._out, 65536)
            if not chunk:
                raise self._ended()
            self._rest += chunk
        line, _, self._rest = self._rest.partition(b"\n")
        return line

    def _ended(self) -> ChildEndedError:
        """Why its output has ended; a crash's last line names the exception."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(DYING_S)
        message = b""
        with contextlib.suppress(BlockingIOError):
            while chunk := os.read(self._err, MESSAGE_BYTES):
                message = (message + chunk)[-MESSAGE_BYTES:]
        last = message.decode(errors="replace").strip().rpartition("\n")[2]
        return ChildEndedError(self._process.poll(), last[:1024])

    def end(self) -> bool:
        """Kill it. False while it does not die: it then hangs inside the kernel."""
        self._process.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(DYING_S)
        if self._process.poll() is None:
            return False
        self._close()
        return True

    def _close(self) -> None:
        os.close(self._out)
        os.close(self._err)
