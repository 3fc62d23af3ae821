"""How much text an answer holds, for answers that tell no usage. It is measured and forgotten."""

from typing import Any

import msgspec

from collector.formats.usage import part

# Where the endpoints put what was emitted; of these fields a text or a list of parts is one.
_TEXTS = frozenset(
    {"content", "text", "reasoning_content", "thinking", "refusal", "response"}
    | {"arguments", "partial_json"}
)
_WITHIN = frozenset(
    {"choices", "message", "tool_calls", "function_call", "function", "output", "summary"}
)
_DEPTH = 6


def text_bytes(told: Any, depth: int = 0) -> int:
    """Bytes (UTF-8) of the text that a message, a delta or a whole answer emits.

    What a tool is called with counts as the JSON that was written for it.
    """
    if not isinstance(told, dict):
        return _bare_bytes(told, depth)
    if depth >= _DEPTH:
        return 0
    found, depth = 0, depth + 1
    for name, value in told.items():
        if value is None:
            continue
        if name in _TEXTS:
            plain = isinstance(value, str) and value.isascii()  # a byte a character
            found += len(value) if plain else text_bytes(value, depth)
        elif name in _WITHIN and isinstance(value, dict | list):
            found += text_bytes(value, depth)
        elif name == "reasoning" and not told.get("reasoning_content"):
            found += text_bytes(value, depth)  # some servers give the one under both names
        elif name == "name" and isinstance(value, str):
            found += text_bytes(value) if "arguments" in told or "input" in told else 0
        elif name == "input" and isinstance(value, dict):  # a tool's, in Messages
            found += len(msgspec.json.encode(value))
    return found


def says(told: Any, fields: tuple[str, ...]) -> bool:
    """Whether an object holds something under any of these fields."""
    if isinstance(told, dict):
        for field in fields:
            if told.get(field):
                return True
    return False


def _bare_bytes(told: Any, depth: int) -> int:
    """Of a text by itself, or of a list of parts."""
    if isinstance(told, str):
        return len(told) if told.isascii() else len(told.encode("utf-8", "surrogatepass"))
    if isinstance(told, list) and depth < _DEPTH:
        return sum(text_bytes(each, depth) for each in told if isinstance(each, dict))
    return 0


def of_document(document: bytes) -> int:
    """Bytes of text in a whole answer, of whatever form; 0 where it cannot be read."""
    try:
        told = msgspec.json.decode(document)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return 0
    return text_bytes(told) if part(told, "error") is None else 0
