"""An engine that costs next to nothing: raw bytes, a scripted stream, no computing.

`python -m bench.engine PORT` answers every POST with a short event stream, its first event at
once, and every GET with what a router wants to see of a healthy engine. Where the request asks for
`max_tokens` 20 the stream is paced, an event each 50 ms; one that asks for no stream gets JSON.
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
PACED = [_chunk(_EVENT.format(n)) for n in range(1, 20)]
END = _chunk(_LAST) + b"0\r\n\r\n"
PACE_S = 0.05
_WHOLE = (
    b'{"id":"chatcmpl-1","object":"chat.completion","created":1,"model":"bench","choices":['
    b'{"index":0,"message":{"role":"assistant","content":"word"},"finish_reason":"stop"}],'
    b'"usage":{"prompt_tokens":500,"completion_tokens":1,"total_tokens":501}}'
)
REST = b"".join(_chunk(_EVENT.format(n)) for n in range(1, 8)) + _chunk(_LAST) + b"0\r\n\r\n"


def _json(body: bytes) -> bytes:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
    return head % len(body) + body


HEALTHY, WHOLE = _json(_INFO), _json(_WHOLE)


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
            asked, self._received = self._received[:end], self._received[end:]
            self._answer(asked)

    def _answer(self, asked: bytes) -> None:
        later = asyncio.get_running_loop().call_later
        if not asked.startswith(b"POST"):
            self._transport.write(HEALTHY)
        elif not _asks(asked, b'"stream":true'):
            self._transport.write(WHOLE)
        else:
            self._transport.write(FIRST)
            if _asks(asked, b'"max_tokens":20'):
                for number, event in enumerate(PACED, 1):
                    later(number * PACE_S, self._transport.write, event)
                later(20 * PACE_S, self._transport.write, END)
            else:
                later(0.001, self._transport.write, REST)


def _asks(asked: bytes, field: bytes) -> bool:
    """Whether the body holds a field, written with or without a space."""
    return field in asked or field.replace(b":", b": ") in asked


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
