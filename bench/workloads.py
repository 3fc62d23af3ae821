"""What agents ask for: conversations that branch, with their times of arrival.

A `Turn` waits for the one before it, or for the instant at which it is due. Texts are made up;
their lengths and how they continue each other are what counts.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

TRACES = Path(__file__).parents[2] / "shared" / "data" / "kv-cache-tester-claude-code" / "sample"
BLOCK_CHARS = 64 * 4


@dataclass(frozen=True)
class Turn:
    """One request: its messages, how many tokens it answers, and the pause before it, s."""

    messages: list[dict[str, Any]]
    output: int
    pause_s: float = 0.0


@dataclass(frozen=True)
class Talk:
    """Turns one after the other, from an instant on, s."""

    at_s: float
    turns: list[Turn]


def branches(
    seed: int,
    *,
    talks: int = 12,
    turns: int = 3,
    every_s: float = 0.4,
    scale: float = 1.0,
    output: int = 24,
) -> list[Talk]:
    """So many branches of one task that share a system prompt of 19,000 characters; all texts are
    as much longer as `scale` says."""
    random = Random(seed)  # noqa: S311
    system = {"role": "system", "content": _text(random, round(19_000 * scale))}
    found = []
    for talk in range(talks):
        said = [system]
        asked = []
        for _ in range(turns):
            said = [*said, {"role": "user", "content": _text(random, round(1600 * scale))}]
            asked.append(Turn(said, output))
            said = [*said, {"role": "assistant", "content": _text(random, round(96 * scale))}]
        found.append(Talk(talk * every_s, asked))
    return found


def trees(seed: int, *, tasks: int = 10, every_s: float = 6.0) -> list[Talk]:
    """Tasks that come by chance: each a root, then three to six branches of two to six turns, all
    behind one system prompt of 12,000 tokens."""
    random = Random(seed)  # noqa: S311
    system = {"role": "system", "content": _text(random, 48_000)}
    found, at_s = [], 0.0
    for _ in range(tasks):
        root = [system, {"role": "user", "content": _text(random, 8000)}]
        found.append(Talk(at_s, [Turn(root, 48)]))
        answer = {"role": "assistant", "content": _text(random, 192)}
        for branch in range(random.randint(3, 6)):
            said, asked = [*root, answer], []
            for _ in range(random.randint(2, 6)):
                said = [
                    *said,
                    {"role": "user", "content": _text(random, random.randint(800, 6000))},
                ]
                asked.append(Turn(said, random.randint(24, 96), random.uniform(0.1, 1.5)))
                said = [*said, {"role": "assistant", "content": _text(random, 256)}]
            found.append(Talk(at_s + 3.0 + 0.2 * branch, asked))
        at_s += random.expovariate(1 / every_s)
    return found


def claude_code(seed: int, *, scale: float = 0.25, turns: int = 14) -> list[Talk] | None:
    """The public sample of Claude Code sessions, prompts and answers scaled down; None where it is
    not at hand."""
    if not TRACES.is_dir():
        return None
    random = Random(seed)  # noqa: S311
    found = []
    for file in sorted(TRACES.glob("*.json")):
        told = json.loads(file.read_text(encoding="utf-8"))
        at_s = random.uniform(0, 8)
        for name, requests in _talks(told):
            found.append(Talk(at_s, list(_session(name, requests[:turns], scale))))
            at_s += random.uniform(0, 4)
    return found


def _talks(told: dict[str, Any]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """A session's own requests, and those of each agent that it had work for it."""
    name = str(told["id"])
    yield name, [asked for asked in told["requests"] if "hash_ids" in asked]
    for asked in told["requests"]:
        if "requests" in asked:
            yield f"{name}-{asked['agent_id']}", asked["requests"]


def _session(name: str, requests: list[dict[str, Any]], scale: float) -> Iterator[Turn]:
    """A block of 64 tokens becomes text of its own; what a request adds is one message."""
    before: list[int] = []
    said: list[dict[str, Any]] = []
    chars = round(BLOCK_CHARS * scale)
    for number, asked in enumerate(requests):
        blocks = asked["hash_ids"]
        same = next((n for n, (a, b) in enumerate(zip(before, blocks, strict=False)) if a != b),
                    min(len(before), len(blocks)))  # fmt: skip
        if same < len(before):  # the history was rewritten: keep whole messages up to there
            said, same = _kept(said, same)
        role = "user" if number else "system"
        text = "".join(_block(name, block, chars) for block in blocks[same:])
        said = [*said, {"role": role, "content": text or "go on", "_blocks": len(blocks)}]
        before = blocks
        messages = [{"role": m["role"], "content": m["content"]} for m in said]
        output = max(4, min(128, round(asked["out"] * scale)))
        yield Turn(messages, output, min(2.0, float(asked.get("think_time") or 0.0)))


def _kept(said: list[dict[str, Any]], same: int) -> tuple[list[dict[str, Any]], int]:
    kept = [message for message in said if message["_blocks"] <= same]
    return kept, kept[-1]["_blocks"] if kept else 0


def _block(trace: str, block: int, chars: int) -> str:
    return f"{trace}-{block} ".ljust(chars, "x")[:chars]


def _text(random: Random, chars: int) -> str:
    words = [f"{random.getrandbits(32):08x}" for _ in range(chars // 9 + 1)]
    return " ".join(words)[:chars]
