"""llama.cpp's `timings`, its native /completion and its prompt progress.

`prompt_n` counts only the tokens newly processed; the whole prompt is `cache_n + prompt_n`. The
native `tokens_evaluated` is the whole prompt, while `tokens_cached` is what stays in the slot
afterwards and says nothing of reuse. `draft_n` appears only where tokens were drafted.
"""

from collections.abc import Sequence
from typing import Any

from collector.formats.usage import Usage, count, numbers, part


def timings(told: Sequence[Any]) -> Usage:
    """The timings of one answer, one object per choice: the prompt counts once, outputs add up.

    Older servers tell no `cache_n`; then the whole prompt is unknown.
    """
    found = [each for each in told if isinstance(each, dict)]
    if not found:
        return Usage()
    cached, new = count(found[0].get("cache_n")), count(found[0].get("prompt_n"))
    raws = [numbers(each) for each in found]
    return Usage(
        input_tokens=None if cached is None or new is None else cached + new,
        cache_read_tokens=cached,
        output_tokens=_sum(found, "predicted_n"),
        draft_tokens=_sum(found, "draft_n"),
        draft_accepted_tokens=_sum(found, "draft_n_accepted"),
        source="engine",
        raw={"timings": raws[0] if len(raws) == 1 else raws},
    )


def native(evaluated: Any, predicted: Any) -> Usage:
    """`tokens_evaluated` and `tokens_predicted` of a native answer."""
    whole, emitted = count(evaluated), count(predicted)
    if whole is None and emitted is None:
        return Usage()
    return Usage(input_tokens=whole, output_tokens=emitted, source="engine")


def progress(told: Any) -> Usage:
    """`prompt_progress` of a stream: the whole prompt and its cached part, before any token."""
    whole, cached = count(part(told, "total")), count(part(told, "cache"))
    if whole is None:
        return Usage()
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


def _sum(found: list[dict[str, Any]], field: str) -> int | None:
    counts = [count(each.get(field)) for each in found]
    known = [each for each in counts if each is not None]
    return sum(known) if known and len(known) == len(counts) else None
