"""What is learned of a card's speed, from its own answers; sensible figures before there are any.

All of it is estimates for choosing between cards, never for the books.
"""

from collections import deque

KEPT = 64
PREFILL_PRIOR = 2000.0  # tokens/s
DECODE_PRIOR = 50.0  # tokens/s of one request alone
OUTPUT_PRIOR = 256.0
TOKENS_PER_BYTE_PRIOR = 0.25
PREFILL_TOKENS_MIN = 256  # below, what an answer costs beside its tokens counts for more
OUTPUT_TOKENS_MIN = 8
BATCH_COST = 0.25  # each further request of a batch slows all by a quarter of the first
SMOOTHING = 0.2
TRUSTED = 4  # samples until a median is believed


class Prefill:
    """Prompt tokens computed per second: the latest samples, judged by their 90th percentile.

    Most disturbances make a card look slower than it is, hence not the mean.
    """

    def __init__(self) -> None:
        """Nothing learned yet."""
        self.per_s = PREFILL_PRIOR
        self.median_per_s: float | None = None
        self._samples: deque[float] = deque(maxlen=KEPT)

    def learn(self, new_tokens: int, seconds: float) -> None:
        """An answer computed `new_tokens` of its prompt; too few of them tell nothing."""
        if new_tokens < PREFILL_TOKENS_MIN or seconds <= 0:
            return
        self._samples.append(new_tokens / seconds)
        ordered = sorted(self._samples)
        self.per_s = ordered[(len(ordered) * 9) // 10]
        if len(ordered) >= TRUSTED:
            self.median_per_s = ordered[len(ordered) // 2]

    def assume(self, per_s: float) -> None:
        """What a card like this one has shown, until it has shown something itself."""
        if not self._samples:
            self.per_s = per_s


class Decode:
    """Output tokens per second of one request, by how many decode at once."""

    def __init__(self) -> None:
        """Nothing learned yet."""
        self._learned = False
        self._by_batch: dict[int, float] = {}

    def per_s(self, batch: int) -> float:
        """Tokens/s of each of `batch` requests; from the nearest batch seen where it is new."""
        known = self._by_batch.get(batch)
        if known is not None:
            return known
        if not self._by_batch:
            return DECODE_PRIOR / _slowed(batch)
        nearest = min(self._by_batch, key=lambda seen: abs(seen - batch))
        return self._by_batch[nearest] * _slowed(nearest) / _slowed(batch)

    def learn(self, output_tokens: int, seconds: float, batch: int) -> None:
        """An answer's tokens after the first, and how long they took in a batch of this size."""
        if output_tokens < OUTPUT_TOKENS_MIN or seconds <= 0 or batch < 1:
            return
        self._learned = True
        seen = output_tokens / seconds
        known = self._by_batch.get(batch)
        self._by_batch[batch] = seen if known is None else known + SMOOTHING * (seen - known)

    def assume(self, peer: "Decode") -> None:
        """As `Prefill.assume`; what this card shows then moves it from there."""
        if not self._learned:
            self._by_batch = dict(peer._by_batch)


class Mean:
    """The mean of the latest samples."""

    def __init__(self, prior: float) -> None:
        """`prior`: what is assumed before the first."""
        self.value = prior
        self._samples: deque[float] = deque(maxlen=KEPT)

    def learn(self, sample: float) -> None:
        """One more; the oldest goes."""
        self._samples.append(sample)
        self.value = sum(self._samples) / len(self._samples)

    def assume(self, value: float) -> None:
        """As `Prefill.assume`."""
        if not self._samples:
            self.value = value


def _slowed(batch: int) -> float:
    return 1.0 + BATCH_COST * (batch - 1)
