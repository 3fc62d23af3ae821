"""Reading a request's body within bounds, counted after decompression, while it streams."""

import zlib
from collections.abc import AsyncIterator, Iterable, Iterator

BODY_MAX = 20 * 1024 * 1024
STEP = 256 * 1024
GZIP = 31


class TooLarge(ValueError):
    """The body is larger than is read."""


class Busy(RuntimeError):
    """Other bodies being read leave no room for this one; try again shortly."""


class BadEncoding(ValueError):
    """The body is not what its Content-Encoding says."""


class Room:
    """The memory that all bodies together may take, B."""

    def __init__(self, limit: int = 2 * BODY_MAX) -> None:
        self.free = limit

    def take(self, size: int) -> None:
        """Take a part, or raise Busy."""
        if size > self.free:
            raise Busy("too many large bodies are being read; send it again shortly")
        self.free -= size

    def give_back(self, size: int) -> None:
        """Give a part back."""
        self.free += size


class Gunzip:
    """Decompresses in bounded steps: a bomb is noticed before it fills memory."""

    def __init__(self) -> None:
        self._inner = zlib.decompressobj(GZIP)

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """The next plain bytes, at most STEP at a time until the chunk is used up."""
        try:
            while chunk:
                if self._inner.eof:
                    # gzip files may be concatenated; each member starts afresh.
                    self._inner = zlib.decompressobj(GZIP)
                yield self._inner.decompress(chunk, STEP)
                chunk = self._inner.unconsumed_tail or self._inner.unused_data
        except zlib.error as error:
            raise BadEncoding(f"the body is no gzip: {error}") from None

    def finish(self) -> Iterator[bytes]:
        """What a full step held back. Raises BadEncoding if the stream ended early."""
        yield self._inner.flush()
        if not self._inner.eof:
            raise BadEncoding("the gzip body ends early")


async def read(
    chunks: AsyncIterator[bytes], room: Room, *, gzip: bool, limit: int = BODY_MAX
) -> bytearray:
    """The plain body. The caller gives `len(body)` back to `room` when done with it.

    Raises TooLarge, Busy, BadEncoding; `room` is then as before.
    """
    body = bytearray()
    gunzip = Gunzip() if gzip else None

    def keep(parts: Iterable[bytes]) -> None:
        for part in parts:
            if len(body) + len(part) > limit:
                raise TooLarge(f"the body is larger than {limit} bytes; send smaller batches")
            room.take(len(part))
            body.extend(part)

    try:
        async for chunk in chunks:
            keep(gunzip.feed(chunk) if gunzip else (chunk,))
        if gunzip:
            keep(gunzip.finish())
    except BaseException:
        room.give_back(len(body))
        raise
    return body
