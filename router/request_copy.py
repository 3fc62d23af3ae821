"""What a request asks for: its operation by path, its model and stream flag from a copy."""

import json
import zlib
from codecs import BOM_UTF8
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import msgspec

from collector.formats.answer import Form
from collector.formats.usage import name, part
from router.form_field import boundary, form_field

Operation = Literal["chat", "completion", "embedding", "rerank", "other"]
COPY_BYTES = 4 * 1024 * 1024
# Beyond this a body is looked through for its few fields alone.
WHOLE_BYTES = 16 * 1024 * 1024
VALUES_MAX = 65_536

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


class Endpoint(NamedTuple):
    """What a path asks of an engine: `operation` where it asks for tokens (None for health,
    models, …), the wire format of its answers, and whether each content chunk of its streams
    stands for output."""

    operation: Operation | None
    form: Form
    counts_chunks: bool


def endpoint(method: str, path: str) -> Endpoint:
    """What a request asks for, by its method and its path with or without a query."""
    found = _endpoint(path.partition("?")[0].rstrip("/"))
    return found if method == "POST" else found._replace(operation=None)


@lru_cache(maxsize=256)
def _endpoint(bare: str) -> Endpoint:
    for version in ("/v1", "/v2"):
        if bare.startswith(version + "/"):
            bare = bare.removeprefix(version)
            break
    return Endpoint(_OPERATIONS.get(bare), _FORMS.get(bare, "openai"), bare in _COUNTED)


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
    """What a request's body tells, and a bounded copy of it until that has been read."""

    def __init__(self, coding: str = "", content_type: str = "") -> None:
        """`coding`: the body's Content-Encoding; only gzip and deflate can be read."""
        self.model: str | None = None
        self.stream = False
        self.user: str | None = None
        # Of a completion; None until the body has been read.
        self.prompts: int | None = None
        # All of it came at once, and may be read once it has gone on.
        self.is_whole = False
        self._coding = coding.strip().lower()
        self._boundary = boundary(content_type)
        self._body: bytearray | None = bytearray()

    def add(self, chunk: bytes) -> None:
        """Take the next bytes; a body beyond the limit is forgotten."""
        if self._body is not None:
            self._body += chunk
            if len(self._body) > COPY_BYTES:
                self._body = None

    def read(self) -> None:
        """Read model, stream flag and user, and forget the rest; unreadable bodies tell nothing."""
        body, self._body = self._body, None
        if body:
            self.look(bytes(body))

    def look(self, body: bytes) -> None:
        """As `read`, of a body that somebody else holds, however large it is."""
        self._told(body, whole=False)

    def document(self, body: bytes) -> dict[str, Any]:
        """As `look`, and the whole request, for who must look into it; {} where that is none, or
        where to decode it would hold up all others."""
        self._body = None
        whole = self._told(body, whole=True)
        return whole if isinstance(whole, dict) else {}

    def _told(self, body: bytes, *, whole: bool) -> Any:
        if self._boundary is not None:
            self.model = name(form_field(body, self._boundary, "model"))
            return None
        try:
            plain = self._plain(body).removeprefix(BOM_UTF8)
            found = _decoded(plain, whole=whole and _is_quick(plain))
            asked = found if isinstance(found, _Sent) else msgspec.convert(found, _Asked)
            prompt = asked.prompt if isinstance(asked, _Sent) else part(found, "prompt")
            self.prompts = _prompts(prompt)
        except (ValueError, RecursionError, zlib.error):  # ValueError: what no JSON raises
            return None
        self.model = name(asked.model)
        self.stream = asked.stream is True
        # Anthropic's clients name the conversation there, OpenAI's the user.
        self.user = name(part(asked.metadata, "user_id")) or name(asked.user)
        return found

    def _plain(self, body: bytes) -> bytes:
        if self._coding in ("", "identity"):
            return body
        if self._coding in ("gzip", "x-gzip", "deflate"):
            return zlib.decompressobj(wbits=zlib.MAX_WBITS | 32).decompress(body, WHOLE_BYTES)
        return b""


def _is_quick(plain: bytes) -> bool:
    """Whether decoding takes some 20 ms at most: what takes time is values, not a picture."""
    if len(plain) <= COPY_BYTES:
        return True
    return len(plain) <= WHOLE_BYTES and plain.count(b",") <= VALUES_MAX


def _decoded(plain: bytes, *, whole: bool) -> Any:
    """The request, or its few fields. What engines read although it is no JSON (half a surrogate
    pair, NaN, a line break in a text) is read here as well. Raises ValueError, RecursionError."""
    try:
        return msgspec.json.decode(plain) if whole else _SENT.decode(plain)
    except (msgspec.DecodeError, UnicodeError):
        if len(plain) > WHOLE_BYTES:
            raise
        return json.loads(plain.decode("utf-8", "replace"), strict=False)


def _prompts(told: Any) -> int | None:
    """How many prompts a completion asks at once: a list of anything but token ids is a batch.
    None for one so large that to look would hold up all others."""
    if isinstance(told, msgspec.Raw):
        if bytes(memoryview(told)[:1]) != b"[":
            return 1
        if not _is_quick(bytes(told)):
            return None
        told = _decoded(bytes(told), whole=True)
    is_batch = isinstance(told, list) and all(isinstance(each, str | list | dict) for each in told)
    return max(1, len(told)) if is_batch else 1
