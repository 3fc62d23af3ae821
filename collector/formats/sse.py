"""Server-sent events from bytes cut anywhere: `data` payloads out, in bounded memory."""

LIMIT_BYTES = 2 * 1024 * 1024
_BOM = b"\xef\xbb\xbf"


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
        self._line_too_long = False
        self._data: list[bytes] = []
        self._data_bytes = 0
        self._damaged = False
        self._after_cr = False
        self._at_start = True

    def feed(self, chunk: bytes) -> list[bytes]:
        """The payloads that this chunk completes, each event's `data` lines joined by LF."""
        if not chunk:
            return []
        if self._after_cr and chunk.startswith(b"\n"):
            self._after_cr = False
            return self.feed(chunk[1:])
        self._after_cr = chunk.endswith(b"\r")
        if b"\r" in chunk:
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        *ended, rest = chunk.split(b"\n")
        payloads: list[bytes] = []
        for part in ended:
            self._extend(part)
            self._end_line(payloads)
        self._extend(rest)
        return payloads

    def close(self) -> list[bytes]:
        """The payload of an event that the stream's end left without its empty line, if any."""
        payloads: list[bytes] = []
        self._end_line(payloads)
        self._end_event(payloads)
        return payloads

    def _extend(self, part: bytes) -> None:
        if self._line_too_long:
            return
        if len(self._line) + len(part) > self._limit_bytes:
            self._line_too_long = True
            self._line.clear()
        else:
            self._line += part

    def _end_line(self, payloads: list[bytes]) -> None:
        if self._line_too_long:
            self._line_too_long = False
            self._damaged = True
            return
        line = bytes(self._line)
        self._line.clear()
        if self._at_start:
            self._at_start = False
            line = line.removeprefix(_BOM)
        if not line:
            self._end_event(payloads)
            return
        field, _, value = line.partition(b":")
        if field == b"data":
            self._add(value.removeprefix(b" "))

    def _add(self, value: bytes) -> None:
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
