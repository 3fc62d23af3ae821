"""Choosing a deployment: home to the conversation, unless home is full and clearly busier."""

from __future__ import annotations

import random
import time
from collections import Counter, OrderedDict
from typing import Any

KEYS_KEPT = 50_000
FLIGHT_S = 1800.0
BUSIER = 1.5
END_CHARS = 256
PARTS_MAX = 64
DEPTH_MAX = 6


class Chooser:
    """What has been sent where, as hashes, and what is still running."""

    def __init__(self, slots: int) -> None:
        """`slots`: how many calls a card computes at once."""
        self._slots = slots
        self._homes: OrderedDict[int, tuple[str, ...]] = OrderedDict()
        self._flights: OrderedDict[tuple[str, str], float] = OrderedDict()
        self._busy: Counter[str] = Counter()

    def choose(self, deployments: list[Any], messages: Any, call: str | None) -> list[Any]:
        """The one deployment for these messages, in a list; `call` names it there until it is
        over, and one without a name is not counted as running."""
        names = [name for each in deployments if (name := _id(each)) is not None]
        if len(names) < 2 or len(names) < len(deployments):
            return deployments
        keys = _keys(messages)
        busy = self._in_flight(names)
        homes, depth = self._known(keys, names)
        chosen = self._home(homes, busy) or _least(names, busy)
        self._remember(chosen, keys[max(0, depth - 1) :])
        if call is not None:
            self.over(call, chosen)
            self._flights[call, chosen] = time.monotonic()
            self._busy[chosen] += 1
        return [deployments[names.index(chosen)]]

    def over(self, call: str, name: str) -> None:
        """A try of the call has ended at a deployment."""
        if self._flights.pop((call, name), None) is not None:
            self._busy[name] -= 1

    def _in_flight(self, names: list[str]) -> dict[str, int]:
        oldest = time.monotonic() - FLIGHT_S
        while self._flights:
            flight, since = next(iter(self._flights.items()))
            if since > oldest:
                break
            self.over(*flight)  # its end was never told
        return {name: self._busy[name] for name in names}

    def _home(self, homes: list[str], busy: dict[str, int]) -> str | None:
        """The least busy home, unless it is full and clearly busier than all others."""
        if not homes:
            return None
        home = _least(homes, busy)
        running = busy[home]
        is_full = running >= self._slots and running > BUSIER * sum(busy.values()) / len(busy)
        return None if is_full else home

    def _known(self, keys: list[int], names: list[str]) -> tuple[list[str], int]:
        """Where the longest part of a conversation that is known was sent, and how long it is."""
        for depth in range(len(keys), 0, -1):
            homes = [name for name in self._homes.get(keys[depth - 1], ()) if name in names]
            if homes:
                return homes, depth
        return [], 0

    def _remember(self, name: str, keys: list[int]) -> None:
        for key in keys:
            homes = self._homes.get(key, ())
            self._homes[key] = homes if name in homes else (*homes, name)
            self._homes.move_to_end(key)
        while len(self._homes) > KEYS_KEPT:
            self._homes.popitem(last=False)


def _least(names: list[str], busy: dict[str, int]) -> str:
    """The least busy one; any of several."""
    if len(names) == 1:
        return names[0]
    least = min([busy[name] for name in names])
    return random.choice([name for name in names if busy[name] == least])  # noqa: S311


def _keys(messages: Any) -> list[int]:
    """A chained hash at each message from the first that is no system prompt on.

    A text counts by its length and its ends: to read all of a long conversation, or of an image,
    would hold up the proxy, and two that differ in between at worst have one home. Python salts
    its hashes of texts anew in every process.
    """
    running, head = 0, True
    keys: list[int] = []
    for message in messages if isinstance(messages, list) else ():
        role = message.get("role") if isinstance(message, dict) else None
        said = message.get("content") if isinstance(message, dict) else None
        if isinstance(said, str) and len(message) == 2:  # most are, and are quickly known
            running = hash((running, str(role), len(said), said[:END_CHARS], said[-END_CHARS:]))
        else:
            running = hash((running, _ends(message)))
        head = head and role in ("system", "developer")
        if not head:
            keys.append(running)
    return keys


def _ends(value: Any, depth: int = 0) -> Any:
    """What a value is known by: of every text in it the length and the ends."""
    if isinstance(value, str):
        return len(value), value[:END_CHARS], value[-END_CHARS:]
    if depth < DEPTH_MAX and isinstance(value, dict):
        return tuple((str(name), _ends(part, depth + 1)) for name, part in value.items())
    if depth < DEPTH_MAX and isinstance(value, list | tuple):
        return len(value), *(_ends(part, depth + 1) for part in value[:PARTS_MAX])
    return value if isinstance(value, int | float | None) else type(value).__name__


def _id(deployment: Any) -> str | None:
    info = deployment.get("model_info") if isinstance(deployment, dict) else None
    name = info.get("id") if isinstance(info, dict) else None
    return name if isinstance(name, str) else None
