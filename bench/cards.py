"""Engines that compute by script: prompt and output speed, slots, a prefix cache of bounded size.

`python -m bench.cards SPEED SLOTS CACHE_TOKENS PORT…` serves one on each port. All times are
divided by SPEED. A prompt is computed alone on its card, answers share it; the cache forgets what
was used longest ago. It reports usage as vLLM does, and tells how many requests it has had at
`/figures`.
"""

import asyncio
import sys
import time
from collections import OrderedDict
from hashlib import blake2b
from typing import Any

import msgspec
import uvloop
from aiohttp import web

MODEL = "bench"
PREFILL_PER_S = 3200.0
# Output tokens per second of each request, by how many run at once.
DECODE_PER_S = (120.0, 95.0, 80.0, 70.0, 60.0, 52.0, 46.0, 40.0)
CHARS_PER_TOKEN = 4
MESSAGE_TOKENS = 4


class Cache:
    """The prefixes of prompts at message boundaries, each with its own tokens."""

    def __init__(self, tokens_max: int) -> None:
        self._tokens_max = tokens_max
        self._tokens = 0
        self._kept: OrderedDict[bytes, int] = OrderedDict()

    def use(self, parts: list[tuple[bytes, int]]) -> int:
        """Tokens of the longest known prefix; all of the prompt is known from now on."""
        hit, known = 0, True
        for key, tokens in parts:
            known = known and key in self._kept
            hit += tokens if known else 0
        for key, tokens in reversed(parts):  # what continues a prefix is forgotten before it
            if key not in self._kept:
                self._kept[key] = tokens
                self._tokens += tokens
            self._kept.move_to_end(key)
        while self._tokens > self._tokens_max:
            self._tokens -= self._kept.popitem(last=False)[1]
        return hit


class Card:
    """One engine."""

    def __init__(self, speed: float, slots: int, cache_tokens: int) -> None:
        self._speed = speed
        self._slots = asyncio.Semaphore(slots)
        self._prefill = asyncio.Lock()
        self._cache = Cache(cache_tokens)
        self._running = 0
        self.figures = {"requests": 0}

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """A chat, streamed or whole."""
        asked = msgspec.json.decode(await request.read())
        parts = _parts(asked.get("messages") or [])
        output = int(asked.get("max_tokens") or asked.get("max_completion_tokens") or 16)
        async with self._slots:
            hit, whole = await self._compute(parts)
            usage = {
                "prompt_tokens": whole,
                "completion_tokens": output,
                "total_tokens": whole + output,
                "prompt_tokens_details": {"cached_tokens": hit},
            }
            if asked.get("stream"):
                return await self._stream(request, output, usage)
            await self._decode(output)
            return web.json_response(
                {
                    "id": "chatcmpl-1",
                    "object": "chat.completion",
                    "created": 1,
                    "model": MODEL,
                    "choices": [_choice("message", {"role": "assistant", "content": "w"}, "stop")],
                    "usage": usage,
                }
            )

    async def _compute(self, parts: list[tuple[bytes, int]]) -> tuple[int, int]:
        async with self._prefill:
            hit, whole = self._cache.use(parts), sum(tokens for _, tokens in parts)
            self.figures["requests"] += 1
            await asyncio.sleep(max(1, whole - hit) / PREFILL_PER_S / self._speed)
        return hit, whole

    async def _stream(
        self, request: web.Request, output: int, usage: dict[str, Any]
    ) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        self._running += 1
        try:
            due = time.monotonic()
            for number in range(output):
                await response.write(_event([_choice("delta", {"content": f"w{number} "}, None)]))
                due += 1 / self._rate() / self._speed
                await asyncio.sleep(max(0.0, due - time.monotonic()))
        finally:
            self._running -= 1
        await response.write(_event([_choice("delta", {}, "stop")]))
        await response.write(_event([], usage=usage) + b"data: [DONE]\n\n")
        return response

    async def _decode(self, output: int) -> None:
        self._running += 1
        try:
            for _ in range(output):
                await asyncio.sleep(1 / self._rate() / self._speed)
        finally:
            self._running -= 1

    def _rate(self) -> float:
        return DECODE_PER_S[min(self._running, len(DECODE_PER_S)) - 1]


def _parts(messages: list[Any]) -> list[tuple[bytes, int]]:
    """Each message as the key of the prompt up to it, and its own tokens."""
    running = blake2b(digest_size=12)
    found = []
    for message in messages:
        content = message.get("content")
        if isinstance(content, list):  # some routers part the text
            content = "".join(str(part.get("text", "")) for part in content)
        text = f"{message.get('role')}\0{content}\0".encode()
        running.update(text)
        tokens = len(text) // CHARS_PER_TOKEN + MESSAGE_TOKENS
        found.append((running.copy().digest(), tokens))
    return found


def _choice(name: str, value: Any, finish: str | None) -> dict[str, Any]:
    return {"index": 0, name: value, "finish_reason": finish}


def _event(choices: list[Any], **more: Any) -> bytes:
    told = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": MODEL}
    return b"data: " + msgspec.json.encode({**told, "choices": choices, **more}) + b"\n\n"


async def _serve(card: Card, port: int) -> None:
    async def models(_: web.Request) -> web.Response:
        return web.json_response({"object": "list", "data": [{"id": MODEL, "object": "model"}]})

    async def health(_: web.Request) -> web.Response:
        return web.json_response({"status": "ok"})

    async def figures(_: web.Request) -> web.Response:
        return web.json_response(card.figures)

    app = web.Application(client_max_size=1 << 28)
    app.router.add_post("/v1/chat/completions", card.answer)
    app.router.add_get("/v1/models", models)
    app.router.add_get("/health", health)
    app.router.add_get("/figures", figures)
    runner = web.AppRunner(app, access_log=None, handler_cancellation=True)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()


async def _main(speed: float, slots: int, cache_tokens: int, ports: list[int]) -> None:
    for port in ports:
        await _serve(Card(speed, slots, cache_tokens), port)
    await asyncio.Event().wait()


if __name__ == "__main__":
    words = sys.argv[1:]
    uvloop.run(_main(float(words[0]), int(words[1]), int(words[2]), [int(w) for w in words[3:]]))
