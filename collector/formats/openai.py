"""OpenAI's chat, completions, embeddings: `usage` objects, and which chunks carry tokens.

`prompt_tokens` contains the cached ones. Engines leave the details out unless told to give them
(vLLM, SGLang), so an absent detail is unknown. Usage on several chunks is cumulative: the last
one counts. SGLang puts `reasoning_tokens` at the top level.
"""

from typing import Any

from collector.formats.usage import Usage, count, known, numbers, part

# Whichever of these is not empty in a delta means that the engine emitted something.
_DELTA_FIELDS = (
    "content",
    "reasoning_content",
    "reasoning",
    "tool_calls",
    "function_call",
    "refusal",
)


def usage(told: Any) -> Usage:
    """A `usage` object as Usage; anything else is `missing`."""
    if not isinstance(told, dict):
        return Usage()
    prompt, completion = count(told.get("prompt_tokens")), count(told.get("completion_tokens"))
    reasoning = count(part(told, "completion_tokens_details", "reasoning_tokens"))
    found = Usage(
        input_tokens=prompt,
        cache_read_tokens=count(part(told, "prompt_tokens_details", "cached_tokens")),
        cache_write_tokens=_either(
            part(told, "prompt_tokens_details", "created_cache_tokens"),
            part(told, "prompt_tokens_details", "cache_write_tokens"),
        ),
        output_tokens=_rest(told, prompt) if completion is None else completion,
        reasoning_tokens=count(told.get("reasoning_tokens")) if reasoning is None else reasoning,
    )
    if found == Usage():
        return found
    raw = numbers(told)
    return Usage().filled_from(found).filled_from(Usage(source="engine", raw={"usage": raw}))


def drafts(sglext: Any) -> Usage:
    """SGLang's extension: the tokens that it drafted for this answer."""
    told = part(sglext, "spec_tokens_details")
    return Usage(
        draft_tokens=count(part(told, "spec_num_proposed_drafts")),
        draft_accepted_tokens=count(part(told, "spec_num_correct_drafts")),
    )


def carries_token(delta: Any, text: Any) -> bool:
    """Whether a streamed choice emits something: a chat delta, or a completion's text."""
    if isinstance(text, str) and text:
        return True
    return isinstance(delta, dict) and any(delta.get(field) for field in _DELTA_FIELDS)


def _rest(told: dict[str, Any], prompt: int | None) -> int | None:
    """Embeddings tell no completion tokens; their total says that there were none."""
    total = count(told.get("total_tokens"))
    if total is None or prompt is None or total < prompt:
        return None
    return total - prompt


def _either(first: Any, second: Any) -> int | None:
    return known(count(first), count(second))
