"""A JSON body kept in bounded memory, for what it tells of usage at its end."""

import contextlib

import msgspec

BODY_BYTES = 8 * 1024 * 1024
TAIL_BYTES = 64 * 1024


class Body:
    """A body that is no stream: whole up to a limit, beyond it only its tail."""

    def __init__(self) -> None:
        """An empty body."""
        self._kept = bytearray()
        self._cut = False

    def add(self, chunk: bytes) -> None:
        """Take the next bytes of it."""
        self._kept += chunk
        if len(self._kept) > BODY_BYTES:
            self._cut = True
        if self._cut and len(self._kept) > 2 * TAIL_BYTES:
            del self._kept[:-TAIL_BYTES]

    def documents(self) -> list[bytes]:
        """The JSON to read: the body, or each part of one that is a list, as llama.cpp answers a
        batch; of a long one, what its tail tells of usage and timings.

        A quote inside a JSON string is escaped, so a bare `"usage":` can only be a key.
        """
        if not self._cut:
            return _parts(bytes(self._kept.strip()))
        starts = [self._kept.rfind(b'"%b":' % key) for key in (b"usage", b"timings")]
        return [_object_at(bytes(self._kept[start:])) for start in starts if start >= 0]


def _parts(body: bytes) -> list[bytes]:
    if body.startswith(b"["):
        with contextlib.suppress(msgspec.DecodeError):
            return [bytes(part) for part in msgspec.json.decode(body, type=list[msgspec.Raw])]
    return [body] if body else []


def _object_at(tail: bytes) -> bytes:
    """`{"key":{…}}` out of a tail that begins at the key."""
    depth = 0
    for place, sign in enumerate(tail):
        depth += (sign == 0x7B) - (sign == 0x7D)
        if depth == 0 and sign == 0x7D:
            return b"{" + tail[: place + 1] + b"}"
    return b"{}"
