"""How many requests an engine computes at once, where it can tell: llama.cpp's `/props`."""

import aiohttp
import msgspec

from collector.settings import EngineSettings
from collector.sources.engine_health import Props
from router.engine_ask import ask


async def told_slots(session: aiohttp.ClientSession, engine: EngineSettings) -> int | None:
    """What the engine says; None for one that says nothing, or whose settings say it."""
    if engine.slots is not None or engine.kind != "llama_cpp":
        return None
    body = await ask(session, engine, "/props")
    try:
        return None if body is None else msgspec.json.decode(body, type=Props).total_slots
    except (msgspec.DecodeError, UnicodeError):
        return None
