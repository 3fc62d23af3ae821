"""Whether SQLite could use all of its write-ahead log.

After a kill the log's tail may hold an unfinished transaction, which is none of our loss. But a
commit mark beyond the point up to which SQLite reads tells of a commit that damage cuts off.
The layouts are those of SQLite's file format: log header, frame headers and wal-index header.
"""

import struct
from pathlib import Path

HEADER_BYTES = 32
FRAME_HEADER_BYTES = 24
PAGE_BYTES = 4096
MAGIC = 0x377F0682
READ_UP_TO_AT = 16  # mxFrame in the wal-index header, in the machine's byte order


def lost_commits(manifest: Path) -> int:
    """Commits of the log that SQLite cannot use; a connection must have read it just before."""
    log = manifest.with_name(f"{manifest.name}-wal")
    index = manifest.with_name(f"{manifest.name}-shm")
    if not log.exists() or not index.exists():
        return 0
    with index.open("rb") as file:
        file.seek(READ_UP_TO_AT)
        (read_up_to,) = struct.unpack("=I", file.read(4))
    return sum(frame > read_up_to for frame in commits(log))


def commits(log: Path) -> list[int]:
    """Frames (from 1) of the log's current generation that end a commit."""
    with log.open("rb") as file:
        header = file.read(HEADER_BYTES)
        page_bytes, salt = _told(header)
        found, frame = [], 0
        while len(head := file.read(FRAME_HEADER_BYTES)) == FRAME_HEADER_BYTES:
            frame += 1
            salt = salt or head[8:16]  # a damaged header leaves the first frame's word for it
            if head[8:16] == salt and head[4:8] != bytes(4):
                found.append(frame)
            file.seek(page_bytes, 1)
    return found


def _told(header: bytes) -> tuple[int, bytes | None]:
    """Page size and salt, the latter None where the header cannot be believed."""
    if len(header) < HEADER_BYTES:
        return PAGE_BYTES, None
    magic, _, page_bytes = struct.unpack(">3I", header[:12])
    order = ">" if magic & 1 else "<"
    first, second = 0, 0
    words = struct.unpack(f"{order}6I", header[:24])
    for even, odd in zip(words[::2], words[1::2], strict=True):
        first = (first + even + second) & 0xFFFFFFFF
        second = (second + odd + first) & 0xFFFFFFFF
    if magic & ~1 != MAGIC or struct.unpack(">2I", header[24:32]) != (first, second):
        return PAGE_BYTES, None
    return page_bytes, header[16:24]
