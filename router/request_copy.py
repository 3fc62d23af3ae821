"""What a request asks for: its operation by path, its model and stream flag from a copy."""

import zlib
from collections.abc import Callable
from typing import Any, Literal

import msgspec

from collector.formats.answer import Form
from collector.formats.usage import name, part

Operation = Literal["chat", "completion", "embedding", "rerank", "other"]
COPY_BYTES = 4 * 1024 * 1024

_OPERATIONS: dict[str, Operation] = {
    "/chat/completions": "chat",
    "/messages": "chat",
    "/responses": "chat",
    "/api/chat": "chat",
    "/completions": "completion",
    "/completion": "completion",
    "/infill": "completion",
    "/generate": "completion",
    "/api/generate": "completion",
    "/embeddings": "embedding",
    "/embedding": "embedding",
    "/api/embed": "embedding",
    "/api/embeddings": "embedding",
    "/pooling": "embedding",
    "/rerank": "rerank",
    "/reranking": "rerank",
    "/score": "rerank",
    "/audio/transcriptions": "other",
    "/audio/translations": "other",
}
# Endpoints with a wire format of their own; all others speak OpenAI's.
_FORMS: dict[str, Form] = {
    "/messages": "anthropic",
    "/responses": "responses",
    "/api/chat": "ollama",
    "/api/generate": "ollama",
    "/api/embed": "ollama",
    "/api/embeddings": "ollama",
    "/generate": "sglang",
}
# Endpoints whose stream comes in chunks that can be counted as tokens.
_COUNTED = frozenset(
    {"/chat/completions", "/completions", "/completion", "/infill", "/messages", "/responses"}
    | {"/api/chat", "/api/generate"}
)


def operation(method: str, path: str) -> Operation | None:
    """What a request asks of an engine, or None if it asks for no tokens (health, models, …)."""
    return _OPERATIONS.get(_endpoint(path)) if method == "POST" else None


def counts_chunks(path: str) -> bool:
    """Whether each content chunk of a stream on this path stands for output."""
    return _endpoint(path) in _COUNTED


def form(path: str) -> Form:
    """The wire format of the answers on this path."""
    return _FORMS.get(_endpoint(path), "openai")


def _endpoint(path: str) -> str:
    bare = path.partition("?")[0].rstrip("/")
    for version in ("/v1", "/v2"):
        if bare.startswith(version + "/"):
            return bare.removeprefix(version)
    return bare


class _Asked(msgspec.Struct):
    """The only fields that are decoded; messages and prompts are skipped over."""

    model: Any = None
    stream: Any = None
    user: Any = None
    metadata: Any = None


class _Sent(_Asked):
    prompt: msgspec.Raw = msgspec.Raw(b"null")


_SENT = msgspec.json.Decoder(_Sent)


class RequestCopy:
    """A bounded copy of a request's body, dropped as soon as it has been read."""

    def __init__(self, coding: str = "") -> None:
        """`coding`: the body's Content-Encoding; only gzip and deflate can be read."""
        self.model: str | None = None
        self.stream = False
        self.user: str | None = None
        # Of a completion; None until the body has been read.
        self.prompts: int | None = None
        # All of it came at once, and may be read once it has gone on.
        self.is_whole = False
        self._coding = coding.strip().lower()
        self._body: bytearray | None = bytearray()

    def add(self, chunk: bytes) -> None:
        """Take the next bytes; a body beyond the limit is forgotten."""
        if self._body is not None:
            self._body += chunk
            if len(self._body) > COPY_BYTES:
                self._body = None

    def read(self) -> None:
        """Read model, stream flag and user, and forget the rest; unreadable bodies tell nothing."""
        self._read(_SENT.decode)

    def document(self) -> dict[str, Any]:
        """As `read`, and the whole request, for who must look into it; {} where that is none."""
        whole = self._read(msgspec.json.decode)
        return whole if isinstance(whole, dict) else {}

    def _read(self, decode: Callable[[bytes], Any]) -> Any:
        body, self._body = self._body, None
        if not body:
            return None
        try:
            plain = self._plain(bytes(body))
            whole = decode(plain)
            asked = whole if isinstance(whole, _Asked) else msgspec.convert(whole, _Asked)
        except (msgspec.DecodeError, msgspec.ValidationError, UnicodeError, RecursionError):
            return None
        except zlib.error:
            return None
        self.model = name(asked.model)
        self.stream = asked.stream is True
        # Anthropic's clients name the conversation there, OpenAI's the user.
        self.user = name(part(asked.metadata, "user_id")) or name(asked.user)
        self.prompts = _prompts(asked.prompt if isinstance(asked, _Sent) else part(whole, "prompt"))
        return whole

    def _plain(self, body: bytes) -> bytes:
        if self._coding in ("", "identity"):
            return body
        if self._coding in ("gzip", "x-gzip", "deflate"):
            return zlib.decompressobj(wbits=zlib.MAX_WBITS | 32).decompress(body, COPY_BYTES)
        return b""


def _prompts(told: Any) -> int:
    """How many prompts a completion asks at once: a list of anything but token ids is a batch."""
    if isinstance(told, msgspec.Raw):
        told = msgspec.json.decode(told) if bytes(told).startswith(b"[") else None
    is_batch = isinstance(told, list) and all(isinstance(each, str | list | dict) for each in told)
    return max(1, len(told)) if is_batch else 1
