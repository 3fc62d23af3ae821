"""What goes on beside the requests, and outlives whatever befalls it."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

log = logging.getLogger("rigledger.minding")


async def mind(what: str, do: Callable[[], Awaitable[None]], every_s: float) -> None:
    """Do it every so often, until cancelled.

    A failure ends neither this nor what runs beside it. It is told by its kind alone, as its text
    may quote what was asked, and once until it has gone.
    """
    failing: str | None = None
    while True:
        found = await failure(do)
        if found is not None and found != failing:
            log.error("%s failed: %s; tried again every %g s", what, found, every_s)
        elif found is None and failing is not None:
            log.info("%s: done again", what)
        failing = found
        await asyncio.sleep(every_s)


async def failure(do: Callable[[], Awaitable[None]]) -> str | None:
    """Do it once; the kind of error that came of it, None for none."""
    try:
        await do()
    except Exception as error:
        return type(error).__name__
    return None
