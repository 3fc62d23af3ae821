"""A small process tree: starts children, restarts the ones that die, stops all of it at once."""

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import IO

GRACE_S = 8.0
POLL_S = 0.1
BACK_OFF_S = (0.5, 1.0, 2.0, 5.0, 15.0, 30.0)
# A child that ran this long has proved itself: its next death starts with the shortest pause.
STEADY_S = 60.0
_PR_SET_PDEATHSIG = 1


class StartError(RuntimeError):
    """A child did not come up; the message names it and `code` is what it exited with."""

    def __init__(self, message: str, code: int = 1) -> None:
        super().__init__(message)
        self.code = code


@dataclass
class Child:
    """One process of the tree.

    `healthy` tells whether it does its work; a quiet child inherits the terminal instead of
    having its lines prefixed with its name.
    """

    name: str
    command: Sequence[str]
    healthy: Callable[[], bool]
    env: dict[str, str] = field(default_factory=dict)
    pass_fds: tuple[int, ...] = ()
    own_terminal: bool = False
    process: subprocess.Popen[bytes] | None = None
    started_s: float = 0.0
    deaths: int = 0
    restart_at_s: float | None = None


class Tree:
    """Children of this process. Use from the main thread: a child dies with its thread."""

    def __init__(self, stop: threading.Event, *, grace_s: float = GRACE_S) -> None:
        self._stop = stop
        self._grace_s = grace_s
        self._children: list[Child] = []

    def start(self, child: Child, within_s: float) -> bool:
        """Start a child and wait until it is healthy; False when told to stop meanwhile.

        Raises StartError when it exits or stays unhealthy for `within_s`.
        """
        self._children.append(child)
        _spawn(child)
        until_s = time.monotonic() + within_s
        while not child.healthy():
            self._keep([other for other in self._children if other is not child])
            code = child.process.poll() if child.process else None
            if code is not None:
                raise StartError(f"{child.name} ended while starting (exit {code})", code)
            if time.monotonic() > until_s:
                raise StartError(f"{child.name} did not answer within {within_s:.0f} s")
            if self._stop.wait(POLL_S):
                return False
        return True

    def watch(self) -> None:
        """Keep every child running until told to stop."""
        while not self._stop.wait(POLL_S):
            self._keep(self._children)

    def close(self) -> None:
        """Stop every child, the newest first; whoever has not gone in time is killed."""
        for child in reversed(self._children):
            _signal(child, signal.SIGTERM)
        until_s = time.monotonic() + self._grace_s
        for child in reversed(self._children):
            if child.process is None:
                continue
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.process.wait(max(0.0, until_s - time.monotonic()))
            # Also for one that left politely: what it started itself may still be there.
            _signal(child, signal.SIGKILL)
            child.process.wait()

    def _keep(self, children: Sequence[Child]) -> None:
        now_s = time.monotonic()
        for child in children:
            if child.restart_at_s is not None:
                if now_s >= child.restart_at_s:
                    _spawn(child)
            elif child.process is not None and child.process.poll() is not None:
                _signal(child, signal.SIGKILL)
                if now_s - child.started_s > STEADY_S:
                    child.deaths = 0
                pause_s = BACK_OFF_S[min(child.deaths, len(BACK_OFF_S) - 1)]
                child.deaths += 1
                child.restart_at_s = now_s + pause_s
                code = child.process.returncode
                _say(f"{child.name} ended (exit {code}); starting it again in {pause_s:g} s")


def die_with_parent(parent: int) -> None:
    """Have the kernel send SIGTERM to this process when its parent ends. Linux only."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != parent:  # it was gone before we could ask
        os.kill(os.getpid(), signal.SIGTERM)


def _spawn(child: Child) -> None:
    env = {
        **os.environ,
        "PYTHONUNBUFFERED": "1",
        **child.env,
        "RIGLEDGER_PARENT": str(os.getpid()),
    }
    child.process = subprocess.Popen(
        child.command,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=None if child.own_terminal else subprocess.PIPE,
        stderr=None if child.own_terminal else subprocess.STDOUT,
        process_group=0,
        pass_fds=child.pass_fds,
    )
    child.started_s, child.restart_at_s = time.monotonic(), None
    if child.process.stdout is not None:
        lines = child.process.stdout
        threading.Thread(target=_relay, args=(child.name, lines), daemon=True).start()


def _relay(name: str, lines: IO[bytes]) -> None:
    with lines:
        for line in lines:
            text = line.decode("utf-8", "replace").rstrip()
            if text:
                print(f"{name:>9} | {text}", file=sys.stderr, flush=True)


def _signal(child: Child, number: signal.Signals) -> None:
    """To the child's whole group: what it started goes with it."""
    if child.process is not None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child.process.pid, number)


def _say(text: str) -> None:
    print(f"rigledger: {text}", file=sys.stderr, flush=True)
