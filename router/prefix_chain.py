"""One running hash over a prompt, read at each boundary without ending it."""

from array import array
from collections.abc import Sequence
from typing import Any

import msgspec

from router.labels import Labels

DOMAIN = "prefix"
KEY_BYTES = 12  # by the birthday bound, a billion keys meet with a chance of 10^-11
KEYS_MAX = 1024  # the contract's limit
MESSAGE_TOKENS = 4  # what a chat template adds around a message
ATTACHMENT_TOKENS = 1024  # an image, a file: what its bytes come to is not known here


class Chain:
    """One running hash; a boundary reads it without ending it."""

    def __init__(self, labels: Labels, tokens_per_byte: float, model: Any) -> None:
        self._hash = labels.running(DOMAIN, KEY_BYTES)
        self._tokens_per_byte = tokens_per_byte
        self._text_bytes = 0
        self._extra_tokens = 0
        self._keys: list[str] = []
        self._tokens: list[int] = []
        self.shared = 0
        # Another model's cache is another cache.
        self._put(model.encode("utf-8", "surrogatepass") if isinstance(model, str) else b"")

    def text(self, text: str) -> None:
        """Text that becomes tokens."""
        data = text.encode("utf-8", "surrogatepass")
        self._text_bytes += len(data)
        self._put(data)

    def json(self, value: Any) -> None:
        """A structure whose JSON becomes tokens, or nearly so."""
        data = msgspec.json.encode(value)
        self._text_bytes += len(data)
        self._put(data)

    def attachment(self, part: Any) -> None:
        """An image or a file."""
        self._extra_tokens += ATTACHMENT_TOKENS
        self._put(msgspec.json.encode(part))

    def mark(self, name: str) -> None:
        """What sets one structure apart from another, such as a role."""
        self._extra_tokens += MESSAGE_TOKENS
        self._put(name.encode("utf-8", "surrogatepass"))

    def ids(self, ids: list[int]) -> None:
        """Tokens that the client has made itself."""
        self._extra_tokens += len(ids)
        self._put(array("q", ids).tobytes())

    def boundary(self) -> None:
        """All fed so far is one prefix."""
        self._keys.append(f"k1:{self._hash.copy().hexdigest()}")
        text_tokens = round(self._text_bytes * self._tokens_per_byte)
        self._tokens.append(text_tokens + self._extra_tokens)

    def told(self) -> tuple[tuple[str, ...], tuple[int, ...], int, int]:
        """Keys, tokens, the number shared, bytes of text; if too many, the shared keys, the first
        after them, by which a conversation is known, and the latest."""
        places: Sequence[int] = range(len(self._keys))
        shared, own = places[: self.shared], places[self.shared :]
        if len(places) > KEYS_MAX:
            shared = shared[: max(KEYS_MAX // 2, KEYS_MAX - len(own))]
            room = KEYS_MAX - len(shared)
            own = own if len(own) <= room else [*own[:1], *own[1 - room :]]
        kept = (*shared, *own)
        keys = tuple(self._keys[at] for at in kept)
        return keys, tuple(self._tokens[at] for at in kept), len(shared), self._text_bytes

    def _put(self, data: bytes) -> None:
        # With its length before it, no piece can pass for two.
        self._hash.update(len(data).to_bytes(8, "little"))
        self._hash.update(data)

    def shared_boundary(self) -> None:
        """A prefix of nothing but tools and system prompt."""
        self.boundary()
        self.shared += 1
