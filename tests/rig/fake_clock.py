"""A process whose clocks a test moves while it runs."""

import mmap
import shutil
import struct
import subprocess
from pathlib import Path

from collector.clock import SECOND_NS, now_ns

SOURCE = Path(__file__).with_name("fake_clock.c")


def build_clock(folder: Path) -> Path | None:
    """Compile the library to preload into a folder; None without a C compiler."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        return None
    target = folder / "fake_clock.so"
    flags = ["-Wall", "-Wextra", "-Werror", "-O1", "-shared", "-fPIC"]
    subprocess.run([compiler, *flags, "-o", target, SOURCE], check=True)
    return target


class FakeClock:
    """The offsets of one host; `environment` makes processes live by them."""

    def __init__(self, library: Path, folder: Path) -> None:
        file = folder / "clock"
        file.write_bytes(bytes(16))
        self.environment = {"LD_PRELOAD": str(library), "FAKE_CLOCK": str(file)}
        self.wall_ns = self.boot_ns = 0
        with file.open("r+b") as opened:
            self._map = mmap.mmap(opened.fileno(), 16)

    def now_ns(self) -> int:
        """The wall time that those processes see."""
        return now_ns() + self.wall_ns

    def suspend(self, seconds: int) -> None:
        """The host sleeps."""
        self._move(seconds, seconds)

    def set(self, seconds: int) -> None:
        """Somebody sets the wall clock, relative to what it shows."""
        self._move(seconds, 0)

    def _move(self, wall_s: int, boot_s: int) -> None:
        self.wall_ns += wall_s * SECOND_NS
        self.boot_ns += boot_s * SECOND_NS
        # One copy of 16 bytes: a process between two reads sees an interrupted look at worst.
        self._map[:] = struct.pack("=qq", self.wall_ns, self.boot_ns)
