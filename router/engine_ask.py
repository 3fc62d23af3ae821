"""A short question to an engine on the event loop, bounded in time and size."""

from collections.abc import Mapping

import aiohttp

from collector.settings import EngineSettings
from router.forward import target

WITHIN_S = 3.0
ANSWER_BYTES = 4 * 1024 * 1024


async def ask(
    session: aiohttp.ClientSession,
    engine: EngineSettings,
    path: str,
    headers: Mapping[str, str] | None = None,
) -> bytes | None:
    """The body of a 200 to GET `path`; None for any other answer, or none within 3 s."""
    within = aiohttp.ClientTimeout(total=WITHIN_S)
    body = bytearray()
    try:
        async with session.get(
            target(engine.url, path), headers=headers, timeout=within, allow_redirects=False
        ) as answer:
            async for chunk in answer.content.iter_any():
                body += chunk
                if len(body) > ANSWER_BYTES:
                    return None
            return bytes(body) if answer.status == 200 else None
    except (aiohttp.ClientError, OSError, ValueError):  # of a name that is none, too
        return None
