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
        self._entries: OrderedDict[str, tuple[int, int]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._entries)

    def depth(self, keys: Sequence[str]) -> int:
        """How many of a prompt's leading keys are there."""
        entries = self._entries
        depth = 0
        for key in keys:
            if key not in entries:
                break
            depth += 1
        return depth

    def last_use(self, key: str) -> int:
        """The number of the use that a key was part of last; 0 for one that is not there."""
        entry = self._entries.get(key)
        return 0 if entry is None else entry[1]

    def used_since(self, use: int) -> int:
        """Tokens of all that was used after that use, and is still there.

        What a least recently used cache must hold for a prefix to be found again.
        """
        return sum(own for own, last in self._entries.values() if last > use)

    def use(self, keys: Sequence[str], tokens: Sequence[int]) -> None:
        """A prompt goes to the card; `tokens` are cumulative. What no longer fits is forgotten."""
        entries = self._entries
        self._uses += 1
        for place in range(len(keys) - 1, -1, -1):
            key = keys[place]
            entry = entries.get(key)
            if entry is None:
                before = tokens[place - 1] if place else 0
                own = max(ENTRY_TOKENS_MIN, tokens[place] - before)
                self.tokens += own
            else:
                own = entry[0]
                entries.move_to_end(key)
            entries[key] = (own, self._uses)
        self._trim()

    def drop(self, keys: Sequence[str]) -> None:
        """These are not there after all."""
        for key in keys:
            entry = self._entries.pop(key, None)
            if entry is not None:
                self.tokens -= entry[0]

    def clear(self) -> None:
        """The engine starts anew."""
        self._entries.clear()
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
            _, (own, _) = self._entries.popitem(last=False)
            self.tokens -= own
