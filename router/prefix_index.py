"""What a card is believed to have in its prefix cache: the latest prefixes sent to it, bounded."""

from collections import OrderedDict
from collections.abc import Sequence

ENTRY_TOKENS_MIN = 8  # an empty message takes room, too; this bounds the number of entries


class PrefixIndex:
    """Prefix keys, least recently used first. `budget_tokens` is the believed size of the cache.

    A prefix is always used after whatever continues it, hence forgotten after that.
    """

    def __init__(self, budget_tokens: int) -> None:
        """Empty, and never to grow beyond `budget_tokens`."""
        self.budget_max_tokens = budget_tokens
        self.budget_tokens = budget_tokens
        self.tokens = 0
        self._uses = 0
        # By key: its tokens beyond the prefix before it, and the number of its last use.
        self._own_tokens: OrderedDict[str, int] = OrderedDict()
        self._last_use: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._own_tokens)

    def depth(self, keys: Sequence[str]) -> int:
        """How many of a prompt's leading keys are there."""
        there = self._last_use
        depth = 0
        for key in keys:
            if key not in there:
                break
            depth += 1
        return depth

    def last_use(self, key: str) -> int:
        """The number of the use that a key was part of last; 0 for one that is not there."""
        return self._last_use.get(key, 0)

    def used_since(self, use: int) -> int:
        """Tokens of all that was used after that use, and is still there.

        What a least recently used cache must hold for a prefix to be found again.
        """
        return sum(own for key, own in self._own_tokens.items() if self._last_use[key] > use)

    def use(self, keys: Sequence[str], tokens: Sequence[int]) -> None:
        """A prompt goes to the card; `tokens` are cumulative. What no longer fits is forgotten."""
        own_tokens, last_use = self._own_tokens, self._last_use
        self._uses += 1
        for place in range(len(keys) - 1, -1, -1):
            key = keys[place]
            if key in last_use:
                own_tokens.move_to_end(key)
            else:
                before = tokens[place - 1] if place else 0
                own_tokens[key] = own = max(ENTRY_TOKENS_MIN, tokens[place] - before)
                self.tokens += own
            last_use[key] = self._uses
        self._trim()

    def drop(self, keys: Sequence[str]) -> None:
        """These are not there after all."""
        for key in keys:
            if key in self._last_use:
                self.tokens -= self._own_tokens.pop(key)
                del self._last_use[key]

    def clear(self) -> None:
        """The engine starts anew."""
        self._own_tokens.clear()
        self._last_use.clear()
        self.tokens = 0

    def shrink(self, to_tokens: int) -> None:
        """The cache is smaller than was believed."""
        self.budget_tokens = max(0, min(self.budget_tokens, to_tokens))
        self._trim()

    def grow(self, by_tokens: int) -> None:
        """The cache held what was believed, or more."""
        self.budget_tokens = min(self.budget_max_tokens, self.budget_tokens + by_tokens)

    def _trim(self) -> None:
        while self.tokens > self.budget_tokens:
            key, own = self._own_tokens.popitem(last=False)
            self.tokens -= own
            del self._last_use[key]
