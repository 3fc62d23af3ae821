"""Whether SQLite could use all of its write-ahead log.

After a kill the log's tail may hold an unfinished transaction, which is none of our loss. But a
commit mark beyond the point up to which SQLite reads tells of a commit that damage cuts off.
The layouts are those of SQLite's file format: log header, frame headers and wal-index header.
"""

import struct
from pathlib import Path
from typing import BinaryIO, NamedTuple

HEADER_BYTES = 32
FRAME_HEADER_BYTES = 24
PAGE_BYTES = 4096
MAGIC = 0x377F0682
READ_UP_TO_AT = 16  # mxFrame in the wal-index header, in the machine's byte order
WORD = 0xFFFFFFFF


class Header(NamedTuple):
    """What the log's header says; `salt` None where it cannot be believed."""

    page_bytes: int
    salt: bytes | None
    order: str
    checksum: tuple[int, int]


def lost_commits(manifest: Path) -> int:
    """Commits of the log that SQLite cannot use; a connection must have read it just before."""
    log = manifest.with_name(f"{manifest.name}-wal")
    index = manifest.with_name(f"{manifest.name}-shm")
    if not log.exists() or not index.exists():
        return 0
    with index.open("rb") as file:
        file.seek(READ_UP_TO_AT)
        (read_up_to,) = struct.unpack("=I", file.read(4))
    with log.open("rb") as file:
        header = _header(file.read(HEADER_BYTES))
        found, last = _commits(file, header)
        lost = [frame for frame in found if frame > read_up_to]
        if lost == [last] and _is_torn(file, header, read_up_to, last):
            return 0
    return len(lost)


def _commits(file: BinaryIO, header: Header) -> tuple[list[int], int]:
    """Frames (from 1) of the log's generation that end a commit, and the generation's last."""
    found, last, frame = [], 0, 0
    salt = header.salt
    while len(head := file.read(FRAME_HEADER_BYTES)) == FRAME_HEADER_BYTES:
        frame += 1
        salt = salt or head[8:16]  # a damaged header leaves the first frame's word for it
        if head[8:16] == salt:
            last = frame
            if head[4:8] != bytes(4):
                found.append(frame)
        file.seek(header.page_bytes, 1)
    return found, last


def _is_torn(file: BinaryIO, header: Header, read_up_to: int, last: int) -> bool:
    """Whether all of the last commit but its last frame was written, as when a kill cut it off."""
    if header.salt is None:
        return False
    checksum = header.checksum
    if read_up_to:
        checksum = struct.unpack(">2I", _frame(file, header, read_up_to)[16:24])
    for frame in range(read_up_to + 1, last):
        content = _frame(file, header, frame)
        checksum = _checksum(content[:8], header.order, checksum)
        checksum = _checksum(content[FRAME_HEADER_BYTES:], header.order, checksum)
        if checksum != struct.unpack(">2I", content[16:24]):
            return False
    return True


def _frame(file: BinaryIO, header: Header, number: int) -> bytes:
    size = FRAME_HEADER_BYTES + header.page_bytes
    file.seek(HEADER_BYTES + (number - 1) * size)
    return file.read(size)


def _header(content: bytes) -> Header:
    if len(content) < HEADER_BYTES:
        return Header(PAGE_BYTES, None, "<", (0, 0))
    magic, _, page_bytes = struct.unpack(">3I", content[:12])
    order = ">" if magic & 1 else "<"
    told = struct.unpack(">2I", content[24:32])
    if magic & ~1 != MAGIC or told != _checksum(content[:24], order, (0, 0)):
        return Header(PAGE_BYTES, None, "<", (0, 0))
    return Header(page_bytes, content[16:24], order, told)


def _checksum(content: bytes, order: str, before: tuple[int, int]) -> tuple[int, int]:
    first, second = before
    words = struct.unpack(f"{order}{len(content) // 4}I", content)
    for even, odd in zip(words[::2], words[1::2], strict=True):
        first = (first + even + second) & WORD
        second = (second + odd + first) & WORD
    return first, second
