"""What the demo's router tells of its choices, and the prefix keys of the prompts."""

from functools import lru_cache
from hashlib import blake2b
from typing import Any

from collector.demo import rig
from collector.demo.serve import Request

POLICY, SHADOW_POLICY = "estimated_wait", "round_robin"


def route(request: Request) -> dict[str, Any]:
    """The decision behind a request, as the contract has it."""
    candidates = [
        {
            "engine": engine,
            "hit_tokens": seen.hit_tokens,
            "pending_tokens": seen.pending_tokens,
            "in_flight": seen.in_flight,
            "estimate_ms": seen.estimate_ms,
        }
        for engine, seen in zip(rig.ENGINES, request.candidates, strict=True)
    ]
    told = {
        "policy": POLICY,
        "reason": request.reason,
        "chosen": rig.ENGINES[request.card],
        "candidates": candidates,
        "hit_tokens": request.candidates[request.card].hit_tokens,
        "shadow_policy": SHADOW_POLICY,
        "shadow": rig.ENGINES[request.number % len(rig.ENGINES)],
    }
    if request.first_ns is not None:
        told["actual_hit_tokens"] = request.cache_read_tokens
        told["regret_ms"] = _regret_ms(request, request.first_ns)
    return told


def prefix(request: Request) -> list[str]:
    """A key for each of the request's `boundaries`: tools and system prompt are the project's
    own, what follows is the conversation's."""
    burst = request.burst
    keys = [_key(burst.project.name)]
    whose = f"{burst.session} {burst.at_ns} {request.branch}"
    return keys + [_key(f"{whose} {place}") for place in range(1, len(request.boundaries))]


def _regret_ms(request: Request, first_ns: int) -> int:
    """The time to the first token less the least that another card was estimated to need."""
    others = [seen for card, seen in enumerate(request.candidates) if card != request.card]
    waited_ms = (first_ns - request.received_ns) // 1_000_000
    return waited_ms - min(seen.estimate_ms for seen in others)


@lru_cache(maxsize=4096)
def _key(name: str) -> str:
    return f"k1:{blake2b(name.encode(), person=b'demo', digest_size=12).hexdigest()}"
