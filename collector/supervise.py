"""A small process tree: starts children, restarts the ones that die, stops all of it at once."""

import contextlib
import ctypes
import logging
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
# From its third death in a row on a child keeps dying; that is told once.
DEATHS_TOLD = 3
# A stop that takes longer is explained.
PATIENCE_S = 2.0
LAST_WORDS_S = 1.0
LAST_WORDS_MAX = 300
_PR_SET_PDEATHSIG = 1


class StartError(RuntimeError):
    """A child did not come up; the message names it and `code` is what it exited with."""

    def __init__(self, message: str, code: int = 1) -> None:
        super().__init__(message)
        self.code = code


@dataclass
class Child:
    """One process of the tree.

    `healthy` tells whether it does its work; `own_terminal` lets it inherit the terminal instead
    of having its lines prefixed with its name. `grace_s` is its own time to stop. A line that
    holds `at_work` tells that it is still getting ready.
    """

    name: str
    command: Sequence[str]
    healthy: Callable[[], bool]
    env: dict[str, str] = field(default_factory=dict)
    pass_fds: tuple[int, ...] = ()
    own_terminal: bool = False
    grace_s: float | None = None
    at_work: str | None = None
    at_work_s: float = 0.0
    last_words: str = ""
    relay: threading.Thread | None = None
    process: subprocess.Popen[bytes] | None = None
    started_s: float = 0.0
    deaths: int = 0
    restart_at_s: float | None = None


class Tree:
    """Children of this process. Use from the main thread: a child dies with its thread.

    The first child is the one that the others rely on: it is stopped last. `level` is a level of
    `logging`; lines below it are not printed.
    """

    def __init__(
        self,
        stop: threading.Event,
        *,
        grace_s: float = GRACE_S,
        back_off_s: Sequence[float] = BACK_OFF_S,
        level: int = logging.INFO,
    ) -> None:
        self._stop = stop
        self._grace_s = grace_s
        self._back_off_s = back_off_s
        self._level = level
        self._children: list[Child] = []
        self.killed = False

    def start(self, child: Child, within_s: float) -> bool:
        """Start a child and wait until it is healthy; False when told to stop meanwhile.

        Raises StartError when it exits, or stays unhealthy for `within_s` without a line that
        tells that it is at work.
        """
        self._children.append(child)
        _spawn(child)
        while not child.healthy():
            self._keep([other for other in self._children if other is not child])
            code = child.process.poll() if child.process else None
            if code is not None:
                raise StartError(f"{child.name} ended while starting (exit {code})", code)
            if time.monotonic() > max(child.started_s, child.at_work_s) + within_s:
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
        self._end(self._children[1:])
        self._end(self._children[:1])

    def kill(self) -> None:
        """End every child at once, also from a signal handler while `close` waits."""
        self.killed = True
        for child in self._children:
            _signal(child, signal.SIGKILL)

    def _end(self, children: Sequence[Child]) -> None:
        for child in reversed(children):
            _signal(child, signal.SIGKILL if self.killed else signal.SIGTERM)
        began_s = time.monotonic()
        for child in reversed(children):
            if child.process is None:
                continue
            grace_s = self._grace_s if child.grace_s is None else child.grace_s
            if not _gone(child, began_s + min(PATIENCE_S, grace_s)) and grace_s > PATIENCE_S:
                self._say(
                    logging.INFO, f"waiting for {child.name} to finish; Ctrl-C again ends it now"
                )
            if not _gone(child, began_s + grace_s):
                self._say(
                    logging.WARNING, f"{child.name} did not stop in {grace_s:g} s and is killed"
                )
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
                self._bury(child, now_s)
            elif child.deaths and now_s - child.started_s > STEADY_S:
                if child.deaths >= DEATHS_TOLD:
                    self._say(logging.INFO, f"{child.name} runs steadily again")
                child.deaths = 0

    def _bury(self, child: Child, now_s: float) -> None:
        """Plan its next life; a death is told twice at most, however often it dies."""
        if child.relay is not None:
            child.relay.join(LAST_WORDS_S)
        code = child.process.returncode if child.process else None
        pause_s = self._back_off_s[min(child.deaths, len(self._back_off_s) - 1)]
        child.deaths += 1
        child.restart_at_s = now_s + pause_s
        level, text = logging.DEBUG, f"{child.name} ended (exit {code})"
        if child.deaths == 1:
            level, text = logging.WARNING, f"{text}; starting it again in {pause_s:g} s"
        elif child.deaths == DEATHS_TOLD:
            words = f", saying: {child.last_words}" if child.last_words else ""
            level, text = (
                logging.ERROR,
                f"{child.name} keeps ending (exit {code}{words}); it is started again after ever"
                f" longer pauses, up to {self._back_off_s[-1]:g} s",
            )
        self._say(level, text)

    def _say(self, level: int, text: str) -> None:
        if level >= self._level:
            _tell("rigledger", f"{logging.getLevelName(level)}: {text}")


def _gone(child: Child, until_s: float) -> bool:
    """Whether the child has ended by then; waits for it."""
    if child.process is None:
        return True
    try:
        child.process.wait(max(0.0, until_s - time.monotonic()))
    except subprocess.TimeoutExpired:
        return False
    return True


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
        child.last_words = ""
        child.relay = threading.Thread(
            target=_relay, args=(child, child.process.stdout), daemon=True
        )
        child.relay.start()


def _relay(child: Child, lines: IO[bytes]) -> None:
    with lines:
        for line in lines:
            text = line.decode("utf-8", "replace").rstrip()
            if text:
                if child.at_work is not None and child.at_work in text:
                    child.at_work_s = time.monotonic()
                child.last_words = text[:LAST_WORDS_MAX]
                _tell(child.name, text)


def _signal(child: Child, number: signal.Signals) -> None:
    """To the child's whole group: what it started goes with it."""
    if child.process is not None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child.process.pid, number)


def _tell(name: str, text: str) -> None:
    print(f"{name:>9} | {text}", file=sys.stderr, flush=True)
