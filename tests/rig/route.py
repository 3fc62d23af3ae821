"""`rigledger route` as a process, over engines at given addresses."""

import contextlib
import os
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

START_S = 30.0


class Route:
    """The process: its addresses by engine (`router`: the door's), its output in `log`."""

    def __init__(
        self,
        folder: Path,
        engines: dict[str, str],
        collector: str,
        *flags: str,
        listen: str = "",
        more: str = "",
    ) -> None:
        """`engines`: name → URL; `collector`: host:port; `more`: settings of further ports, each
        with `listen`. The ledger lies in `folder/data`."""
        self.folder = folder
        self.data = folder / "data"
        self.log = folder / "route.log"
        self.urls: dict[str, str] = {}
        config = folder / "route.toml"
        told = _settings(self.data, engines, collector, listen) + more
        config.write_text(told, encoding="utf-8")
        self._command = [sys.executable, "-m", "rigledger", "--config", str(config), "route"]
        self._command += flags
        self._ports = len(engines) + more.count("listen =")

    def start(self) -> "Route":
        """Start it (again) and wait for its addresses; RuntimeError with what it said instead."""
        environment = {k: v for k, v in os.environ.items() if k != "RIGLEDGER_DATA"}
        self._stderr = self.log.open("ab")
        self.process = subprocess.Popen(
            self._command, stdout=subprocess.PIPE, stderr=self._stderr, env=environment, bufsize=0
        )
        assert self.process.stdout is not None
        due = time.monotonic() + START_S
        while len(self.urls) < self._ports and time.monotonic() < due:
            if not select.select([self.process.stdout], [], [], START_S)[0]:
                break
            line = self.process.stdout.readline().decode()
            if not line:
                break
            name, _, url = line.removeprefix("tap for ").strip().rpartition(": ")
            self.urls[name] = url
        if len(self.urls) < self._ports:
            self.kill()
            raise RuntimeError(f"no taps:\n{self.log.read_text()}")
        return self

    def port(self, engine: str = "card0") -> int:
        """The port of an engine's tap."""
        return int(self.urls[engine].rpartition(":")[2])

    def stop(self, seconds: float = 15) -> int:
        """SIGTERM; the exit status."""
        self.process.terminate()
        return self._end(seconds)

    def kill(self) -> None:
        """SIGKILL."""
        self.process.kill()
        self._end(5)

    def _end(self, seconds: float) -> int:
        try:
            status = self.process.wait(seconds)
        finally:
            self.process.kill()
            self.process.wait()
            if self.process.stdout is not None:
                with self.log.open("ab") as log:
                    log.write(self.process.stdout.read())
                self.process.stdout.close()
            self._stderr.close()
            self.urls = {}
        return status


@contextlib.contextmanager
def routing(folder: Path, engines: dict[str, str], collector: str, *flags: str) -> Iterator[Route]:
    """A running `rigledger route`, stopped on leaving."""
    route = Route(folder, engines, collector, *flags).start()
    try:
        yield route
    finally:
        if route.process.poll() is None:
            route.stop()


def _settings(data: Path, engines: dict[str, str], collector: str, listen: str) -> str:
    lines = [f'[store]\npath = "{data}"', f'[collector]\nlisten = "{collector}"']
    lines.append('[rig]\nname = "desk"')
    for number, (name, url) in enumerate(engines.items()):
        lines.append(f'[[engines]]\nname = "{name}"\nurl = "{url}"\ngpus = ["GPU-{number}"]')
        lines.append(f'[[taps]]\nengine = "{name}"\nlisten = "{listen or "127.0.0.1:0"}"')
    return "\n".join(lines) + "\n"
