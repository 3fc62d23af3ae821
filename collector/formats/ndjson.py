"""JSON objects, one a line, from bytes cut anywhere, in bounded memory."""

LIMIT_BYTES = 2 * 1024 * 1024


class Reader:
    """Gathers lines. One beyond `limit_bytes` is dropped and counted in `skipped`."""

    def __init__(self, limit_bytes: int = LIMIT_BYTES) -> None:
        """A reader that never holds more than one line and one chunk."""
        self.skipped = 0
        self._limit_bytes = limit_bytes
        self._line = bytearray()
        self._too_long = False

    def feed(self, chunk: bytes) -> list[bytes]:
        """The lines that this chunk completes; empty ones are passed over."""
        ended = chunk.split(b"\n")
        rest = ended.pop()
        lines: list[bytes] = []
        for piece in ended:
            if self._line or self._too_long or len(piece) > self._limit_bytes:
                self._extend(piece)
                lines += self.close()
            elif piece.strip():
                lines.append(piece)
        self._extend(rest)
        return lines

    def close(self) -> list[bytes]:
        """The last line, where no newline ended it."""
        line, too_long = bytes(self._line), self._too_long
        self._line.clear()
        self._too_long = False
        if too_long:
            self.skipped += 1
            return []
        return [line] if line.strip() else []

    def _extend(self, piece: bytes) -> None:
        if self._too_long or len(self._line) + len(piece) > self._limit_bytes:
            self._too_long = True
            self._line.clear()
        else:
            self._line += piece
