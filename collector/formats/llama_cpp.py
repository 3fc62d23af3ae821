"""llama.cpp's `timings`, its native /completion and its prompt progress.

`prompt_n` counts only the tokens newly processed; the whole prompt is `cache_n + prompt_n`. The
native `tokens_evaluated` is the whole prompt, while `tokens_cached` is what stays in the slot
afterwards and says nothing of reuse. `draft_n` appears only where tokens were drafted.
"""

from collections.abc import Sequence
from typing import Any

from collector.formats.usage import NOTHING, Usage, count, numbers, part

CHOICES_MAX = 128


class Choices:
    """What each choice of one answer told of itself, by its last word.

    A stream ends each choice, or each prompt of a batch, with figures of its own; a whole answer of
    OpenAI's form has those of the first alone (`untold`: there are others).
    """

    def __init__(self) -> None:
        """Nothing told yet."""
        self.untold = False
        self._told: dict[int, Usage] = {}

    def note(self, index: int, usage: Usage) -> None:
        """The figures of one choice."""
        if index in self._told or len(self._told) < CHOICES_MAX:
            self._told[index] = usage.filled_from(self._told.get(index, NOTHING))

    def total(self, prompts: int | None) -> Usage:
        """All of them: outputs add up, the prompt counts once, and each of `prompts` where every
        choice answers one of its own. What cannot be told apart is unknown."""
        each = list(self._told.values())
        if len(each) < 2 and not self.untold:
            return each[0] if each else NOTHING
        asked = each[:1] if prompts == 1 else each if prompts == len(each) else ()
        said = () if self.untold else each
        return Usage(
            input_tokens=_sum(asked, "input_tokens"),
            cache_read_tokens=_sum(asked, "cache_read_tokens"),
            output_tokens=_sum(said, "output_tokens"),
            draft_tokens=_sum(said, "draft_tokens"),
            draft_accepted_tokens=_sum(said, "draft_accepted_tokens"),
            source="engine",
            raw={"choices": [usage.raw for usage in each]},
        )


def timings(told: dict[str, Any]) -> Usage:
    """The timings of one choice. Older servers tell no `cache_n`; then the whole prompt is
    unknown."""
    cached, new = count(told.get("cache_n")), count(told.get("prompt_n"))
    return Usage(
        input_tokens=None if cached is None or new is None else cached + new,
        cache_read_tokens=cached,
        output_tokens=count(told.get("predicted_n")),
        draft_tokens=count(told.get("draft_n")),
        draft_accepted_tokens=count(told.get("draft_n_accepted")),
        source="engine",
        raw={"timings": numbers(told)},
    )


def native(evaluated: Any, predicted: Any) -> Usage:
    """`tokens_evaluated` and `tokens_predicted` of a native answer."""
    whole, emitted = count(evaluated), count(predicted)
    if whole is None and emitted is None:
        return NOTHING
    return Usage(input_tokens=whole, output_tokens=emitted, source="engine")


def progress(told: Any) -> Usage:
    """`prompt_progress` of a stream: the whole prompt and its cached part, before any token."""
    whole, cached = count(part(told, "total")), count(part(told, "cache"))
    if whole is None:
        return NOTHING
    return Usage(input_tokens=whole, cache_read_tokens=cached, source="engine")


def generation_ns(told: Any) -> int | None:
    """Time from the first token to the last, ns; None unless the prompt's time is told as well."""
    prompt_ms, predicted_ms = part(told, "prompt_ms"), part(told, "predicted_ms")
    if _is_ms(prompt_ms) and _is_ms(predicted_ms):
        return round(float(predicted_ms) * 1_000_000)
    return None


def _is_ms(value: Any) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and 0 <= value < 1e12


def _sum(told: Sequence[Usage], field: str) -> int | None:
    counts = [getattr(usage, field) for usage in told]
    known = [each for each in counts if each is not None]
    return sum(known) if known and len(known) == len(counts) else None
