"""SGLang's own /generate: `meta_info` with every chunk, cumulative; the prompt includes its cached
part."""

from typing import Any

import msgspec

from collector.formats.heard import Heard
from collector.formats.usage import NOTHING, Usage, count, name, numbers, part


class _Part(msgspec.Struct):
    text: Any = None
    output_ids: Any = None
    meta_info: Any = None
    error: Any = None


_PART = msgspec.json.Decoder(_Part)


def hear(document: bytes) -> Heard:
    """An answer, or a chunk of one. Raises msgspec.DecodeError, UnicodeError."""
    told = _PART.decode(document)
    meta = told.meta_info if isinstance(told.meta_info, dict) else {}
    finish = meta.get("finish_reason")
    return Heard(
        usage=_usage(meta),
        response_id=name(meta.get("id")),
        finish_reason=name(part(finish, "type")) or name(finish),
        token=bool(told.text or told.output_ids),
        failed=bool(told.error),
    )


def _usage(told: dict[str, Any]) -> Usage:
    whole, output = count(told.get("prompt_tokens")), count(told.get("completion_tokens"))
    if whole is None and output is None:
        return NOTHING
    return Usage(
        input_tokens=whole,
        cache_read_tokens=count(told.get("cached_tokens")),
        output_tokens=output,
        reasoning_tokens=count(told.get("reasoning_tokens")),
        draft_tokens=count(told.get("spec_num_proposed_drafts")),
        draft_accepted_tokens=count(told.get("spec_num_correct_drafts")),
        source="engine",
        raw={"meta_info": numbers(told)},
    )
