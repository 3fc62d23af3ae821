"""Choosing a deployment: home to the conversation, unless home is full and clearly busier."""

from __future__ import annotations

import hashlib
import json
import os
import random
import time
from collections import OrderedDict
from typing import Any

KEYS_KEPT = 20_000
FLIGHT_S = 1800.0
BUSIER = 1.5


class Chooser:
    """What has been sent where, as hashes, and what is still running."""

    def __init__(self, slots: int) -> None:
        """`slots`: how many calls a card computes at once."""
        self._slots = slots
        self._salt = os.urandom(16)
        self._seen: dict[str, OrderedDict[bytes, None]] = {}
        self._flights: OrderedDict[str, tuple[str, float]] = OrderedDict()

    def choose(self, deployments: list[Any], messages: Any, call: str) -> list[Any]:
        """The one deployment for these messages, in a list; `call` names it until it is over."""
        names = [name for each in deployments if (name := _id(each)) is not None]
        if len(names) < 2 or len(names) < len(deployments):
            return deployments
        keys = self._keys(messages)
        busy = self._in_flight(names)
        depths = {name: self._depth(name, keys) for name in names}
        deepest = max(depths.values())
        least = min(busy.values())
        chosen = random.choice([name for name in names if busy[name] == least])  # noqa: S311
        if deepest:
            homes = [name for name in names if depths[name] == deepest]
            home = min(homes, key=lambda name: (busy[name], random.random()))  # noqa: S311
            mean = sum(busy.values()) / len(busy)
            if busy[home] < self._slots or busy[home] <= BUSIER * mean:
                chosen = home
        self._remember(chosen, keys)
        self._flights[call] = (chosen, time.monotonic())
        return [deployments[names.index(chosen)]]

    def over(self, call: str) -> None:
        """The call has ended."""
        self._flights.pop(call, None)

    def _in_flight(self, names: list[str]) -> dict[str, int]:
        oldest = time.monotonic() - FLIGHT_S
        while self._flights:
            call, (_, since) = next(iter(self._flights.items()))
            if since > oldest:
                break
            del self._flights[call]  # its end was never told
        counts = dict.fromkeys(names, 0)
        for name, _ in self._flights.values():
            if name in counts:
                counts[name] += 1
        return counts

    def _keys(self, messages: Any) -> list[bytes]:
        """A chained hash at each message from the first that is no system prompt on."""
        running = hashlib.blake2b(self._salt, digest_size=12)
        keys: list[bytes] = []
        head = True
        for message in messages if isinstance(messages, list) else ():
            running.update(json.dumps(message, sort_keys=True, default=str).encode())
            role = message.get("role") if isinstance(message, dict) else None
            head = head and role in ("system", "developer")
            if not head:
                keys.append(running.copy().digest())
        return keys

    def _depth(self, name: str, keys: list[bytes]) -> int:
        seen = self._seen.get(name, OrderedDict())
        depth = 0
        for key in keys:
            if key not in seen:
                break
            depth += 1
        return depth

    def _remember(self, name: str, keys: list[bytes]) -> None:
        seen = self._seen.setdefault(name, OrderedDict())
        for key in keys:
            seen[key] = None
            seen.move_to_end(key)
        while len(seen) > KEYS_KEPT:
            seen.popitem(last=False)


def _id(deployment: Any) -> str | None:
    info = deployment.get("model_info") if isinstance(deployment, dict) else None
    name = info.get("id") if isinstance(info, dict) else None
    return name if isinstance(name, str) else None
