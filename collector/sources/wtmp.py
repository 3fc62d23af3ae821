"""How the boot before this one ended, from the system's record of logins, `/var/log/wtmp`.

At every start the system writes a boot record there, at every orderly end a shutdown record. Two
boot records without a shutdown between them mean a crash or a power cut.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from collector.clock import SECOND_NS

WTMP = Path("/var/log/wtmp")
# The C library's record, with 32-bit times (x86 and most others) or 64-bit times.
LAYOUTS = (
    struct.Struct("<h2xi32s4s32s256s2hi2i16s20x"),
    struct.Struct("<h2xi32s4s32s256s2hq2q16s24x"),
)
RUN_LEVEL, BOOT_TIME, TYPE_MAX = 1, 2, 9
# The record is written a little after the kernel has started.
NEAR_NS = 300 * SECOND_NS
TAIL_RECORDS = 4_000


@dataclass(frozen=True)
class Ending:
    """What stands before this boot's record: a shutdown or, where that lacks, an earlier boot.

    ns since the epoch; both None: nothing stands there.
    """

    shutdown_ns: int | None = None
    earlier_boot_ns: int | None = None


def ending(boot_ns: int, wtmp: Path = WTMP) -> Ending | None:
    """How the boot before the one that began at `boot_ns` (ns since the epoch) ended.

    None where the file cannot be read or does not tell of this boot.
    """
    marks = [*_marks(wtmp.with_name(f"{wtmp.name}.1")), *_marks(wtmp)]
    own = [n for n, (what, at) in enumerate(marks) if what == BOOT_TIME and _near(at, boot_ns)]
    if not own:
        return None
    if own[-1] == 0:
        return Ending()
    what, at = marks[own[-1] - 1]
    return Ending(shutdown_ns=at) if what == RUN_LEVEL else Ending(earlier_boot_ns=at)


def _near(at_ns: int, boot_ns: int) -> bool:
    return abs(at_ns - boot_ns) <= NEAR_NS


def _marks(file: Path) -> Iterator[tuple[int, int]]:
    """The boot and shutdown records of a file in its order: (type, ns since the epoch)."""
    try:
        data = file.read_bytes()
    except OSError:
        return
    layout = next((each for each in LAYOUTS if _fits(data, each)), None)
    if layout is None:
        return
    for kind, _, _, _, user, _, _, _, _, seconds, micros, _ in layout.iter_unpack(
        data[-TAIL_RECORDS * layout.size :]
    ):
        if kind == BOOT_TIME or (kind == RUN_LEVEL and user.rstrip(b"\0") == b"shutdown"):
            yield kind, seconds * SECOND_NS + micros * 1000


def _fits(data: bytes, layout: struct.Struct) -> bool:
    """Whether the bytes are records of this layout: whole ones, each of a known type."""
    if not data or len(data) % layout.size:
        return False
    kinds = (record[0] for record in layout.iter_unpack(data))
    return all(0 <= kind <= TYPE_MAX for kind in kinds)
