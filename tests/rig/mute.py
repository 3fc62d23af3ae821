"""A proxy that hides what an engine reports of its tokens, and keeps it for the test to compare."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import aiohttp
from aiohttp import web

HIDDEN = ("usage", "timings", "prompt_progress")


@dataclass
class Muted:
    """A running proxy: `url`, and by request id what the engine told (its last `timings`)."""

    url: str = ""
    told: dict[str, dict[str, Any]] = field(default_factory=dict)


@contextlib.asynccontextmanager
async def muted(engine_url: str) -> AsyncIterator[Muted]:
    """Serve one on a free loopback port."""
    found = Muted()
    # A connection of its own for each request: the engine closes idle ones when it likes.
    session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(force_close=True))

    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        body = await request.read()
        name = request.headers.get("X-Request-ID", "")
        async with session.request(
            request.method, engine_url + request.raw_path, data=body
        ) as answer:
            if "event-stream" not in answer.content_type:
                told = json.loads(await answer.read() or b"{}")
                return web.json_response(_strip(told, name, found.told), status=answer.status)
            response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
            await response.prepare(request)
            async for line in answer.content:
                await response.write(_line(line, name, found.told))
            return response

    runner = web.ServerRunner(web.Server(handle), shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    found.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield found
    finally:
        await runner.cleanup()
        await session.close()
        await asyncio.sleep(0)


def _line(line: bytes, name: str, told: dict[str, dict[str, Any]]) -> bytes:
    if not line.startswith(b"data: {"):
        return line
    document = _strip(json.loads(line[6:]), name, told)
    return b"data: " + json.dumps(document, ensure_ascii=False).encode() + b"\n"


def _strip(document: Any, name: str, told: dict[str, dict[str, Any]]) -> Any:
    if isinstance(document, dict):
        if isinstance(document.get("timings"), dict):
            told[name] = document["timings"]
        for hidden in HIDDEN:
            document.pop(hidden, None)
    return document
