"""Server-sent events from bytes cut anywhere: `data` payloads out, in bounded memory."""

LIMIT_BYTES = 2 * 1024 * 1024
_BOM = b"\xef\xbb\xbf"
_CR = 0x0D


class Reader:
    """Gathers the `data` of each event; knows nothing of what the payloads mean.

    Lines end in LF, CRLF or CR. Comments and other fields are passed over. An event with a line,
    or with all its `data` together, beyond `limit_bytes` is dropped and counted in `skipped`.
    """

    def __init__(self, limit_bytes: int = LIMIT_BYTES) -> None:
        """A reader that never holds more than `limit_bytes` of one event and one line."""
        self.skipped = 0
        self._limit_bytes = limit_bytes
        self._line = bytearray()
        self._data: list[bytes] = []
        self._data_bytes = 0
        self._damaged = False
        self._after_cr = False
        self._at_start = True

    def feed(self, chunk: bytes) -> list[bytes]:
        """The payloads that this chunk completes, each event's `data` lines joined by LF."""
        if self._after_cr and chunk:
            self._after_cr = False
            chunk = chunk.removeprefix(b"\n")
        if _CR in chunk:
            self._after_cr = chunk.endswith(b"\r")
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        lines = chunk.split(b"\n")
        rest = lines.pop()
        if lines and (self._line or self._at_start):
            lines[0] = self._ended(lines[0])
        payloads: list[bytes] = []
        for line in lines:
            if line:
                self._take(line)
            elif self._data or self._damaged:
                self._end_event(payloads)
        if rest:
            self._hold(rest)
        return payloads

    def close(self) -> list[bytes]:
        """The payload of an event that the stream's end left without its empty line, if any."""
        payloads: list[bytes] = []
        self._take(self._ended(b""))
        self._end_event(payloads)
        return payloads

    def _hold(self, part: bytes) -> None:
        """Keep what has come of a line; of one that is too long, a comment in its place."""
        if len(self._line) + len(part) > self._limit_bytes:
            self._damaged = True
            self._line[:] = b":"
        else:
            self._line += part

    def _ended(self, end: bytes) -> bytes:
        """The line that earlier chunks began, or the first of the stream, now that it is whole."""
        self._hold(end)
        line = bytes(self._line)
        self._line.clear()
        if self._at_start:
            self._at_start = False
            line = line.removeprefix(_BOM)
        return line

    def _take(self, line: bytes) -> None:
        if len(line) > self._limit_bytes:
            self._damaged = True
            return
        value = line.removeprefix(b"data: ")
        if len(value) == len(line):
            field, _, value = line.partition(b":")
            if field != b"data":
                return
        self._data_bytes += len(value) + 1
        if self._data_bytes > self._limit_bytes + 1:
            self._damaged = True
            self._data.clear()
        elif not self._damaged:
            self._data.append(value)

    def _end_event(self, payloads: list[bytes]) -> None:
        if self._damaged:
            self.skipped += 1
        elif self._data:
            payloads.append(b"\n".join(self._data))
        self._data.clear()
        self._data_bytes = 0
        self._damaged = False
