"""An engine that costs next to nothing: raw bytes, a scripted stream, no computing.

`python -m bench.engine PORT` answers every POST with a short event stream, its first event at
once, and every GET with what a router wants to see of a healthy engine.
"""

import asyncio
import sys
from typing import cast

import uvloop

MODEL = "bench"
_EVENT = (
    'data: {{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"bench",'
    '"choices":[{{"index":0,"delta":{{"content":"word{0}"}},"finish_reason":null}}]}}\n\n'
)
_LAST = (
    'data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"bench",'
    '"choices":[],"usage":{"prompt_tokens":500,"completion_tokens":8,"total_tokens":508}}\n\n'
    "data: [DONE]\n\n"
)
_INFO = b'{"status":"ok","model_path":"bench","object":"list","data":[{"id":"bench"}]}'


def _chunk(text: str) -> bytes:
    return b"%x\r\n%b\r\n" % (len(text), text.encode())


FIRST = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    + _chunk(_EVENT.format(0))
)
REST = b"".join(_chunk(_EVENT.format(n)) for n in range(1, 8)) + _chunk(_LAST) + b"0\r\n\r\n"
HEALTHY = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (
    len(_INFO),
    _INFO,
)


class Engine(asyncio.Protocol):
    """One connection; requests with a Content-Length or in chunks, one after the other."""

    def __init__(self) -> None:
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the way back."""
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Answer every request that is complete."""
        self._received += data
        while (end := _end(self._received)) is not None:
            is_post = self._received.startswith(b"POST")
            self._received = self._received[end:]
            self._transport.write(FIRST if is_post else HEALTHY)
            if is_post:
                asyncio.get_running_loop().call_later(0.001, self._transport.write, REST)


def _end(received: bytes) -> int | None:
    """Where the first request ends, or None while it is not complete."""
    head = received.find(b"\r\n\r\n")
    if head < 0:
        return None
    fields = received[:head].lower()
    if b"transfer-encoding: chunked" in fields:
        end = received.find(b"0\r\n\r\n", head)
        return None if end < 0 else end + 5
    _, found, value = fields.partition(b"content-length:")
    size = int(value.split(b"\r\n", 1)[0]) if found else 0
    return head + 4 + size if len(received) >= head + 4 + size else None


async def serve(port: int) -> None:
    """Serve until killed."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Engine, "127.0.0.1", port)
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(serve(int(sys.argv[1])))
