"""Streams cut at every kind of place, through the whole door: the same bytes and the same row.

RIGLEDGER_BODIES tells how many bodies go through (300).
"""

import asyncio
import gzip
import json
import os
from dataclasses import dataclass
from itertools import pairwise
from random import Random

import uvloop
from rig.doored import Doored, doored, fleet
from rig.tapped import body_of, exchange, request
from rig.upstream import Upstream, Wire, stream_head

BODIES = int(os.environ.get("RIGLEDGER_BODIES", "300"))
AT_ONCE = 24
PIECES_MAX = 400
CHUNKS = [1, 2, 3, 7, 64, 1024, 4096, 16_384, 65_536]
EVENT_STREAM, LINES = b"Content-Type: text/event-stream", b"Content-Type: application/x-ndjson"


@dataclass(frozen=True)
class Case:
    """A stream, and the row that it must become: input, cached, output tokens, id, end."""

    target: bytes
    body: bytes
    row: tuple[int, int | None, int, str | None, str | None]
    kind: bytes = EVENT_STREAM


def data(document: object) -> bytes:
    return b"data: " + json.dumps(document, ensure_ascii=False).encode() + b"\n\n"


def delta(text: str, finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": finish}
    return data({"id": "chatcmpl-7", "model": "tiny", "choices": [choice]})


USAGE = {
    "prompt_tokens": 45,
    "completion_tokens": 9,
    "prompt_tokens_details": {"cached_tokens": 44},
}
CHAT = b"".join(
    [
        b": a comment\n\n",
        *(delta(text) for text in ("Grü", "ße ", "😀😀", "漢字", "\\u000a", "data: no", "\n\n")),
        delta("", "stop"),
        data({"id": "chatcmpl-7", "choices": [], "usage": USAGE}),
        b"data: [DONE]\n\n",
    ]
)
ODD = (
    b"\xef\xbb\xbf"
    + delta("é").replace(b"data: ", b"id: 1\nretry: 5\ndata:")
    + delta("ü").replace(b'"model"', b'\ndata: "model"')
    + data({"choices": [], "usage": USAGE})
    + b"data: [DONE]\n"
)
MESSAGES = b"".join(
    b"event: " + document["type"].encode() + b"\n" + data(document)
    for document in (
        {
            "type": "message_start",
            "message": {
                "id": "msg_7",
                "model": "tiny",
                "usage": {"input_tokens": 5, "cache_read_input_tokens": 40, "output_tokens": 1},
            },
        },
        {"type": "ping"},
        {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "Grüße 😀"}},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn"},
            "usage": {"output_tokens": 9},
        },
        {"type": "message_stop"},
    )
)
RESPONSE = {
    "id": "resp_7",
    "object": "response",
    "status": "completed",
    "usage": {
        "input_tokens": 45,
        "input_tokens_details": {"cached_tokens": 44},
        "output_tokens": 9,
    },
}
RESPONSES = b"".join(
    [
        data({"type": "response.created", "response": {"id": "resp_7", "status": "in_progress"}}),
        data({"type": "response.output_text.delta", "delta": "Grüße 😀"}),
        data({"type": "response.completed", "response": RESPONSE}),
    ]
)
OLLAMA = b"".join(
    json.dumps(line, ensure_ascii=False).encode() + b"\n"
    for line in (
        {"model": "tiny", "message": {"role": "assistant", "content": "Grüße 😀"}, "done": False},
        {
            "model": "tiny",
            "message": {"content": ""},
            "done": True,
            "done_reason": "stop",
            "prompt_eval_count": 45,
            "eval_count": 9,
        },
    )
)
LONG = delta("€" * 50_000) + delta("x" * 70_000) + CHAT
ROW = (45, 44, 9, "chatcmpl-7", "stop")
COMPLETIONS = b"/v1/chat/completions"
CASES = [
    Case(COMPLETIONS, CHAT, ROW),
    Case(COMPLETIONS, CHAT.replace(b"\n", b"\r\n"), ROW),
    Case(COMPLETIONS, CHAT.replace(b"\n", b"\r"), ROW),
    Case(COMPLETIONS, ODD, (45, 44, 9, "chatcmpl-7", None)),
    Case(COMPLETIONS, LONG, ROW),
    Case(b"/v1/messages", MESSAGES, (45, 40, 9, "msg_7", "end_turn")),
    Case(b"/v1/responses", RESPONSES, (45, 44, 9, "resp_7", "completed")),
    Case(b"/api/chat", OLLAMA, (45, None, 9, None, "stop"), LINES),
]


def places(body: bytes, rng: Random) -> list[int]:
    """Where to cut: in characters, line ends, field names, between events, or anywhere."""
    kind = rng.choice(["characters", "line ends", "data", "events", "anywhere", "even"])
    last = len(body)
    if kind == "characters":
        found = [n for n in range(1, last) if body[n] & 0xC0 == 0x80]
    elif kind == "line ends":
        found = [n for n in range(1, last) if body[n - 1] in b"\r\n" or body[n] in b"\r\n"]
    elif kind == "data":
        starts = [n for n in range(last) if body.startswith(b"data:", n)]
        found = [start + rng.randint(1, 6) for start in starts]
    elif kind == "events":
        found = [n + 1 for n in range(1, last) if body[n - 1 : n + 1] in (b"\n\n", b"\r\r")]
    elif kind == "anywhere":
        found = [rng.randrange(last) for _ in range(rng.choice([1, 5, 50]))]
    else:
        found = list(range(0, last, rng.choice(CHUNKS)))
    if len(found) > PIECES_MAX:
        start = rng.randrange(len(found) - PIECES_MAX)
        found = found[start : start + PIECES_MAX]
    return sorted({0, *(n for n in found if n < last), last})


def cut(body: bytes, rng: Random) -> list[bytes]:
    return [body[start:end] for start, end in pairwise(places(body, rng))]


def framed(pieces: list[bytes]) -> bytes:
    """A chunked body, one chunk for each piece."""
    return b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in [*pieces, b""])


def wire_pieces(case: Case, rng: Random) -> tuple[list[bytes], bytes]:
    """What the engine writes, write by write, and the body that it says with them."""
    head, body = stream_head(), case.body
    if rng.random() < 0.25:
        body, head = gzip.compress(body, mtime=0), stream_head(b"Content-Encoding: gzip")
    head = head.replace(EVENT_STREAM, case.kind)
    way = rng.choice(["chunks", "chunks cut again", "until it closes"])
    if way == "until it closes":
        head = head.replace(b"Transfer-Encoding: chunked", b"Connection: close")
        return [head, *cut(body, rng)], body
    chunks = cut(body, rng)
    if way == "chunks":  # each chunk a write of its own
        return [head, *(framed([piece])[: -len(b"0\r\n\r\n")] for piece in chunks),
                framed([])], body  # fmt: skip
    return cut(head + framed(chunks), rng), body


async def through(front: Doored, cases: list[tuple[bytes, Case]]) -> dict[bytes, bytes]:
    """Ask for every case, so many at once; the bodies that came back, by request id."""
    limit = asyncio.Semaphore(AT_ONCE)

    async def ask(name: bytes, case: Case) -> bytes:
        asked = json.dumps({"model": "tiny", "stream": True, "messages": []}).encode()
        async with limit:
            raw = await exchange(
                front.port, request(asked, b"X-Request-ID: " + name, target=case.target)
            )
        return body_of(raw)

    bodies = await asyncio.gather(*(ask(name, case) for name, case in cases))
    return {name: body for (name, _), body in zip(cases, bodies, strict=True)}


def test_bodies_cut_anywhere_come_through_and_make_the_same_rows():
    cases = [(b"r%d" % n, CASES[n % len(CASES)]) for n in range(BODIES)]
    written = {name: wire_pieces(case, Random(name)) for name, case in cases}

    async def play(wire: Wire) -> None:
        pieces, _ = written[wire.received.headers[b"x-request-id"]]
        for piece in pieces:
            await wire.send(piece)
            await asyncio.sleep(0)  # so that the door reads it before the next is there

    async def scenario():
        async with (
            Upstream(play) as one,
            Upstream(play) as two,
            doored(fleet(one.url, two.url)) as front,
        ):
            came = await through(front, cases)
            events = await front.booked(len(cases))
            assert front.idle()
        assert all(came[name] == body for name, (_, body) in written.items())
        rows = {each.request_id: each for each in events}
        assert len(rows) == len(cases)
        for name, case in cases:
            row = rows[name.decode()]
            assert (row.status, row.usage_source) == ("ok", "engine"), name
            told = (row.input_tokens, row.cache_read_tokens, row.output_tokens,
                    row.response_id, row.finish_reason)  # fmt: skip
            assert told == case.row, name
            assert 0 < row.ttft_ns <= row.duration_ns

    uvloop.run(asyncio.wait_for(scenario(), 30 + BODIES / 10))


def test_a_cut_of_the_engine_is_a_cut_at_the_door():
    """Else the bodies above might come whole, and show nothing."""
    pieces = [CHAT[n : n + 5] for n in range(0, len(CHAT), 5)]

    async def play(wire: Wire) -> None:
        await wire.send(stream_head())
        for piece in [*pieces, b""]:
            await wire.send_chunk(piece)
            await asyncio.sleep(0)

    async def scenario():
        async with Upstream(play) as one, doored(fleet(one.url)) as front:
            raw = await exchange(front.port, request(b'{"stream": true}'))
        assert body_of(raw) == CHAT
        # One chunk a piece where none came together.
        assert raw.count(b"\r\n5\r\n") > len(pieces) / 2

    uvloop.run(asyncio.wait_for(scenario(), 30))
