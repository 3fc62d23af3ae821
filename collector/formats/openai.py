"""OpenAI's chat, completions, embeddings: `usage` objects, and which chunks carry tokens.

`prompt_tokens` contains the cached ones. Engines leave the details out unless told to give them
(vLLM, SGLang), so an absent detail is unknown. Usage on several chunks is cumulative: the last
one counts. SGLang puts `reasoning_tokens` at the top level.
"""

from typing import Any

import msgspec

from collector.formats.emitted import says, text_bytes
from collector.formats.usage import NOTHING, Usage, count, known, numbers, part, within

_NO_FIGURES = (None,) * 5
# Whichever of these is not empty in a delta means that the engine emitted something.
_DELTA_FIELDS = (
    "content",
    "reasoning_content",
    "reasoning",
    "tool_calls",
    "function_call",
    "refusal",
)


# Nothing in these can lead back to themselves, and they are gone with their chunk: gc=False.
class Choice(msgspec.Struct, gc=False):
    """One choice of an answer, or what a chunk adds to it."""

    index: Any = 0
    delta: Any = None
    text: Any = None
    finish_reason: Any = None


class Part(msgspec.Struct, gc=False):
    """A whole answer or one chunk of it; fields not named here are never even decoded.

    OpenAI's form, with what llama.cpp, vLLM and SGLang add to it.
    """

    id: Any = None
    model: Any = None
    choices: list[Choice] | None = None
    usage: Any = None
    timings: Any = None
    prompt_progress: Any = None
    metrics: Any = None
    sglext: Any = None
    error: Any = None
    content: Any = None
    index: Any = 0
    stop: Any = None
    stop_type: Any = None
    tokens_evaluated: Any = None
    tokens_predicted: Any = None


# An answer, or a chunk of one. Raises msgspec.DecodeError, UnicodeError.
read = msgspec.json.Decoder(Part).decode


def usage(told: Any) -> Usage:
    """A `usage` object as Usage; anything else is `missing`."""
    if not isinstance(told, dict):
        return NOTHING
    prompt, completion = count(told.get("prompt_tokens")), count(told.get("completion_tokens"))
    of_prompt = within(told, "prompt_tokens_details")
    reasoning = count(within(told, "completion_tokens_details").get("reasoning_tokens"))
    figures = (
        prompt,
        count(of_prompt.get("cached_tokens")),
        known(
            count(of_prompt.get("created_cache_tokens")), count(of_prompt.get("cache_write_tokens"))
        ),
        _rest(told, prompt) if completion is None else completion,
        count(told.get("reasoning_tokens")) if reasoning is None else reasoning,
    )
    if figures == _NO_FIGURES:
        return NOTHING
    return Usage(*figures, source="engine", raw={"usage": numbers(told)})


def drafts(sglext: Any) -> Usage:
    """SGLang's extension: the tokens that it drafted for this answer."""
    told = part(sglext, "spec_tokens_details")
    return Usage(
        draft_tokens=count(part(told, "spec_num_proposed_drafts")),
        draft_accepted_tokens=count(part(told, "spec_num_correct_drafts")),
    )


def emitted_bytes(told: Part) -> int | None:
    """Bytes of the text that a chunk emits, all choices together; None if it carries no token."""
    carries, found = False, 0
    if told.content and isinstance(told.content, str):
        carries, found = True, text_bytes(told.content)
    for choice in told.choices or ():
        delta, text = choice.delta, choice.text
        if delta:
            carries = carries or says(delta, _DELTA_FIELDS)
            found += text_bytes(delta)
        if text:
            carries = carries or isinstance(text, str)
            found += text_bytes(text)
    return found if carries else None


def index(told: Part) -> int:
    """The choice that a part is of; the prompt of a batch, in llama.cpp's own form."""
    told_of = told.choices[0].index if told.choices else told.index
    return (count(told_of) or 0) if told_of else 0


def _rest(told: dict[str, Any], prompt: int | None) -> int | None:
    """Embeddings tell no completion tokens; their total says that there were none."""
    total = count(told.get("total_tokens"))
    if total is None or prompt is None or total < prompt:
        return None
    return total - prompt
