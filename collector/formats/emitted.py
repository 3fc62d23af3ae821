"""How much text an answer holds, for answers that tell no usage. It is measured and forgotten."""

from typing import Any

import msgspec

from collector.formats.usage import part

# Where the endpoints put what was emitted; of these fields a text or a list of parts is one.
_TEXTS = frozenset(
    {"content", "text", "thinking", "refusal", "response", "arguments", "partial_json"}
)
_WITHIN = frozenset(
    {"choices", "message", "tool_calls", "function_call", "function", "output", "summary"}
)
_DEPTH = 6


def text_bytes(told: Any, depth: int = 0) -> int:
    """Bytes (UTF-8) of the text that a message, a delta or a whole answer emits.

    What a tool is called with counts as the JSON that was written for it.
    """
    if isinstance(told, str):
        return len(told.encode("utf-8", "surrogatepass"))
    if depth >= _DEPTH:
        return 0
    if isinstance(told, list):
        return sum(text_bytes(each, depth) for each in told if isinstance(each, dict))
    if not isinstance(told, dict):
        return 0
    # Some servers give the one under both names.
    found = text_bytes(told.get("reasoning_content") or told.get("reasoning"), depth + 1)
    for name, value in told.items():
        if name in _TEXTS or (name in _WITHIN and isinstance(value, dict | list)):
            found += text_bytes(value, depth + 1)
    if isinstance(told.get("name"), str) and ("arguments" in told or "input" in told):
        found += text_bytes(told["name"])
    if isinstance(told.get("input"), dict):  # a tool's, in Messages
        found += len(msgspec.json.encode(told["input"]))
    return found


def of_document(document: bytes) -> int:
    """Bytes of text in a whole answer, of whatever form; 0 where it cannot be read."""
    try:
        told = msgspec.json.decode(document)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return 0
    return text_bytes(told) if part(told, "error") is None else 0
