"""A host whose clocks do what the test says, and the records that its system keeps."""

import struct
from dataclasses import dataclass, field
from pathlib import Path

from collector.clock import SECOND_NS, Placed
from collector.sources.host import Machine

RECORD = struct.Struct("<hxxi32s4s32s256shhiii4i20x")


@dataclass
class Clocks:
    """Wall, boot and awake clock, ns; the wall clock shows `wall_ns` when the others begin."""

    wall_ns: int
    boot_ns: int = 0
    awake_ns: int = 0
    placed: Placed = field(init=False)

    def __post_init__(self) -> None:
        self.placed = Placed(lambda: self.wall_ns, lambda: self.boot_ns)

    def run(self, seconds: float) -> None:
        """Time passes."""
        for name in ("wall_ns", "boot_ns", "awake_ns"):
            setattr(self, name, getattr(self, name) + round(seconds * SECOND_NS))

    def suspend(self, seconds: float) -> None:
        """The host sleeps."""
        self.wall_ns += round(seconds * SECOND_NS)
        self.boot_ns += round(seconds * SECOND_NS)

    def set(self, seconds: float) -> None:
        """Somebody sets the wall clock, relative to what it shows."""
        self.wall_ns += round(seconds * SECOND_NS)


def machine(folder: Path, clocks: Clocks, boot_id: str, *, going_down: bool = False) -> Machine:
    """The host as the source sees it; its records lie in `folder`."""
    kernel = folder / "proc/sys/kernel/random"
    kernel.mkdir(parents=True, exist_ok=True)
    (kernel / "boot_id").write_text(f"{boot_id}\n")
    return Machine(
        placed=clocks.placed,
        boot=lambda: clocks.boot_ns,
        awake=lambda: clocks.awake_ns,
        proc=folder / "proc",
        wtmp=folder / "wtmp",
        going_down=lambda: going_down,
    )


def wtmp(file: Path, *records: tuple[str, int]) -> None:
    """Write login records: (`boot`, `shutdown`, `runlevel` or `login`, ns since the epoch)."""
    kinds = {"boot": (2, b"reboot"), "shutdown": (1, b"shutdown"), "runlevel": (1, b"runlevel")}
    told = b""
    for what, at_ns in records:
        kind, user = kinds.get(what, (7, b"somebody"))
        seconds, rest = divmod(at_ns, SECOND_NS)
        told += RECORD.pack(
            *(kind, 0, b"~", b"~~", user, b"6.12.0", 0, 0, 0, seconds, rest // 1000),
            *(0, 0, 0, 0),
        )
    file.write_bytes(told)
