"""Simulated engines for the routing policies: slots, prefill, decode by batch, a prefix cache.

A card computes one prompt at a time and decodes all others meanwhile. Its cache forgets what was
least recently used. What a request finds there is settled when it gets its slot; its prompt is
kept once computed, its answer at its end. Times in seconds, as floats; nothing reads a clock.
"""

from collections import OrderedDict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from router.prefix import Prefix

PREFILL_PER_S = 3000.0
DECODE_PER_S = (120.0, 95.0, 80.0, 70.0)  # tokens/s of each, by how many decode at once
DONE = 1e-6  # tokens; what floats leave over


@dataclass(eq=False)
class Job:
    """One request on its way through a card; `answer` is the key of its prompt with its answer."""

    prefix: Prefix
    answer: str
    output_tokens: int
    sent_s: float
    hit_tokens: int = 0
    left: float = 0.0  # tokens of its prompt, then of its answer


@dataclass
class SimCard:
    """One engine. `advance` moves it on and tells what has happened by then."""

    slots: int
    cache_tokens: int
    now_s: float = 0.0
    cached_tokens: int = 0
    _queue: deque[Job] = field(default_factory=deque)
    _prefilling: deque[Job] = field(default_factory=deque)
    _decoding: list[Job] = field(default_factory=list)
    _cache: OrderedDict[str, int] = field(default_factory=OrderedDict)

    def send(self, job: Job) -> None:
        """A request arrives, now."""
        self._queue.append(job)
        self._admit()

    def next_s(self) -> float | None:
        """When something happens here next; None while nothing runs."""
        left_s = [job.left / PREFILL_PER_S for job in self._head()]
        left_s += [job.left / self._decode_per_s() for job in self._decoding]
        return self.now_s + min(left_s) if left_s else None

    def advance(self, to_s: float) -> tuple[list[Job], list[Job]]:
        """Move on, no further than `next_s`: (those at their first token, those at their end)."""
        elapsed_s, self.now_s = to_s - self.now_s, to_s
        decoded = elapsed_s * self._decode_per_s() if self._decoding else 0.0
        for job in self._decoding:
            job.left -= decoded
        for job in self._head():
            job.left -= elapsed_s * PREFILL_PER_S
        ended = [job for job in self._decoding if job.left <= DONE]
        self._decoding = [job for job in self._decoding if job.left > DONE]
        for job in ended:
            whole = job.prefix.input_tokens + job.output_tokens
            self._keep((*job.prefix.keys, job.answer), (*job.prefix.tokens, whole))
        first = [job for job in self._head() if job.left <= DONE]
        for job in first:
            self._prefilling.popleft()
            self._decoding.append(job)
            job.left = float(job.output_tokens)
            self._keep(job.prefix.keys, job.prefix.tokens)
        self._admit()
        return first, ended

    def _head(self) -> list[Job]:
        return [self._prefilling[0]] if self._prefilling else []

    def _admit(self) -> None:
        while self._queue and len(self._prefilling) + len(self._decoding) < self.slots:
            job = self._queue.popleft()
            job.hit_tokens = self._hit_tokens(job.prefix)
            job.left = float(max(1, job.prefix.input_tokens - job.hit_tokens))
            self._prefilling.append(job)

    def _decode_per_s(self) -> float:
        return DECODE_PER_S[min(len(self._decoding), len(DECODE_PER_S)) - 1]

    def _hit_tokens(self, prefix: Prefix) -> int:
        hit_tokens = 0
        for key, tokens in zip(prefix.keys, prefix.tokens, strict=True):
            if key not in self._cache:
                break
            hit_tokens = tokens
        return hit_tokens

    def _keep(self, keys: Sequence[str], tokens: Sequence[int]) -> None:
        """The deepest first, so that what others continue is forgotten last."""
        for place in range(len(keys) - 1, -1, -1):
            own_tokens = tokens[place] - (tokens[place - 1] if place else 0)
            self.cached_tokens += own_tokens - self._cache.pop(keys[place], 0)
            self._cache[keys[place]] = own_tokens
        while self.cached_tokens > self.cache_tokens:
            self.cached_tokens -= self._cache.popitem(last=False)[1]
