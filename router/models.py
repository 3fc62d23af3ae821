"""Which models the engines serve: asked of them, merged into one list."""

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any

import aiohttp
import msgspec

from collector.settings import EngineSettings
from router.engine_ask import ask


class Models:
    """The engines' own lists, as they last told them."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        """`session` reaches the engines; nothing is asked before `refresh`."""
        self._session = session
        self._told: dict[str, list[dict[str, Any]]] = {}

    async def refresh(
        self, engines: Iterable[EngineSettings], headers: Mapping[str, str] | None = None
    ) -> None:
        """Ask these engines; one that does not answer keeps what it told before."""
        asked = list(engines)
        bodies = await asyncio.gather(
            *(ask(self._session, engine, "/v1/models", headers) for engine in asked)
        )
        for engine, body in zip(asked, bodies, strict=True):
            found = None if body is None else _models(body)
            if found is not None:
                self._told[engine.name] = found

    def names(self, engine: EngineSettings) -> frozenset[str]:
        """What an engine calls its models: as declared, and as it told."""
        told = {str(model["id"]) for model in self._told.get(engine.name, ())}
        return frozenset(told | ({engine.model} if engine.model else set()))

    def merged(self, engines: Iterable[EngineSettings]) -> bytes:
        """One list of these engines' models in OpenAI's form, each model once."""
        found: dict[str, dict[str, Any]] = {}
        for engine in engines:
            told = self._told.get(engine.name)
            if not told and engine.model:
                told = [{"id": engine.model, "object": "model", "owned_by": engine.name}]
            for model in told or ():
                found.setdefault(str(model["id"]), model)
        return msgspec.json.encode({"object": "list", "data": list(found.values())})


def _models(body: bytes) -> list[dict[str, Any]] | None:
    try:
        told = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
    data = told.get("data") if isinstance(told, dict) else None
    if not isinstance(data, list):
        return None
    return [each for each in data if isinstance(each, dict) and isinstance(each.get("id"), str)]
