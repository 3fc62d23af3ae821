"""OpenRouter's `/models` as sheets: dollars per token as text, with conditional overrides.

Its overrides are read as it reads them: all conditions must hold, later ones win key by key, and
what one does not name is inherited. A window is half open, in UTC, and may pass midnight.
"""

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from analytics.prices.per_token import MTOK, mtok
from analytics.prices.sheet import DAYS, Override, Period, Prices, Sheet, When

Entry = Mapping[str, Any]
Left = tuple[str, str]

_RATES = {
    "prompt": "input",
    "completion": "output",
    "internal_reasoning": "reasoning",
    "input_cache_read": "cache_read",
}
_WRITES = {"input_cache_write": "default", "input_cache_write_1h": "1h"}
_CONDITIONS = {"min_prompt_tokens", "utc_start", "utc_end", "utc_days"}
_CLOCK = re.compile(r"(\d{1,2}):?(\d\d)")


def sheets(data: Any) -> tuple[list[Sheet], list[Left]]:
    """A sheet for each model with a price of its own, and what is left out of them."""
    models = data.get("data") if isinstance(data, dict) else None
    if not isinstance(models, list):
        raise ValueError('no OpenRouter price list: it is an object with a list of models, "data"')
    found: list[Sheet] = []
    left: list[Left] = []
    for model in models:
        pricing = model.get("pricing") if isinstance(model, dict) else None
        if not isinstance(pricing, dict) or not isinstance(model.get("id"), str):
            continue
        name = f"openrouter/{model['id']}"
        if mtok(pricing.get("prompt")) is None or mtok(pricing.get("completion")) is None:
            left.append((name, "its price varies with the model that answers"))
            continue
        found.append(Sheet(id=name, periods=[_period(name, pricing, left)]))
    return found, left


def _period(name: str, pricing: Entry, left: list[Left]) -> Period:
    keep = 1 - Decimal(str(pricing.get("discount") or 0))
    base = _prices(name, pricing, keep, left, {"overrides", "discount"})
    overrides = []
    for number, entry in enumerate(pricing.get("overrides") or []):
        when = _when(entry) if isinstance(entry, dict) else None
        if when is None:
            left.append((name, f"override {number + 1}: {_told(entry)}"))
            continue
        prices = _prices(name, entry, keep, left, _CONDITIONS)
        if prices:
            overrides.append(Override(name=_name(when), when=when, set=Prices(**prices)))
    return Period(**base, overrides=overrides)


def _told(entry: Any) -> str:
    if not isinstance(entry, dict):
        return "not an object"
    return "conditions " + ", ".join(sorted(key for key in entry if key not in _priced()))


def _priced() -> set[str]:
    return {*_RATES, *_WRITES, "request"}


def _name(when: When) -> str:
    long = [f"above {when.input_tokens_above}"] if when.input_tokens_above is not None else []
    return " ".join([*when.days, *when.windows, *long])


def _prices(
    name: str, entry: Entry, keep: Decimal, left: list[Left], skip: set[str]
) -> dict[str, Any]:
    prices: dict[str, Any] = {}
    for key, value in entry.items():
        if key in skip or value is None or _is_zero(key, value):
            continue
        price = mtok(value) if key in _priced() else None
        if price is None:
            left.append((name, key))
            continue
        kept = f"{(Decimal(price) * keep).normalize():f}"
        if key in _WRITES:
            prices.setdefault("cache_write", {})[_WRITES[key]] = kept
        elif key == "request":
            prices["per_request"] = f"{(Decimal(kept) / MTOK).normalize():f}"
        else:
            prices[_RATES[key]] = kept
    return prices


def _is_zero(key: str, value: Any) -> bool:
    """What costs nothing beside the tokens needs no word; reasoning at 0 is part of output."""
    return key not in {"prompt", "completion", *_WRITES} and str(value).strip("0.") == ""


def _when(entry: Entry) -> When | None:
    """The conditions; None where there is none, or one that is not known here."""
    if not _CONDITIONS & set(entry) or _unknown(entry):
        return None
    start, end = (_clock(entry.get(key)) for key in ("utc_start", "utc_end"))
    windows = []
    if "utc_start" in entry or "utc_end" in entry:
        if start is None or end is None or start == end:
            return None
        windows = [f"{start}-{'24:00' if end == '00:00' else end}"]
    days = [_day(day) for day in entry.get("utc_days") or []]
    above = entry.get("min_prompt_tokens")
    if None in days or not (above is None or (isinstance(above, int) and above >= 0)):
        return None
    return When(
        input_tokens_above=above, windows=windows, days=[day for day in DAYS if day in days]
    )


def _unknown(entry: Entry) -> bool:
    """Whether a key may be a condition: no price's name, and no text of digits."""
    known = {*_CONDITIONS, *_priced()}
    return any(key not in known and mtok(value) is None for key, value in entry.items())


def _clock(told: Any) -> str | None:
    """A time of day, told as 1630, "1630" or "16:30"."""
    if isinstance(told, int) and not isinstance(told, bool):
        told = f"{told:04d}"
    match = _CLOCK.fullmatch(told) if isinstance(told, str) else None
    if match is None or int(match[1]) > 23 or int(match[2]) > 59:
        return None
    return f"{int(match[1]):02d}:{match[2]}"


def _day(told: Any) -> str | None:
    """A weekday by its English name; a number could count from Sunday or from Monday."""
    name = told[:3].lower() if isinstance(told, str) else ""
    return name if name in DAYS else None
