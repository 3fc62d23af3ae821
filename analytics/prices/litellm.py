"""LiteLLM's `model_prices_and_context_window.json` as sheets.

A key there is a price with suffixes in any order: how long what is written lives, above which
length, under which terms. Dollars per token. Its off-peak block replaces the prices of any length.
"""

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from analytics.prices.per_token import MTOK, mtok
from analytics.prices.sheet import DAYS, CachePolicy, Override, Period, Prices, Sheet, When

Entry = Mapping[str, Any]
Left = tuple[str, str]

_RATES = {
    "input_cost_per_token": "input",
    "output_cost_per_token": "output",
    "output_cost_per_reasoning_token": "reasoning",
    "cache_read_input_token_cost": "cache_read",
    "cache_creation_input_token_cost": "cache_write",
}
_TERMS = {"batches": ("processing", "batch")} | {
    name: ("service_tier", name) for name in ("flex", "priority", "ultrafast", "balanced")
}
_SUFFIX = re.compile(rf"_above_(\d+)hr|_above_(\d+)k_tokens|_({'|'.join(_TERMS)})(?=_|$)")
_HOURS = re.compile(r"(\d\d:\d\d)-(\d\d:\d\d)")
_FEE = "input_cost_per_request"
_FACTORS = {"provider_specific_entry"}  # by place or speed, under names of LiteLLM's own
# Providers whose longer price begins at the length itself, not above it.
_INCLUSIVE = {"xai"}


def sheets(data: Any) -> tuple[list[Sheet], list[Left]]:
    """A sheet for each model that is sold by the token, and what is left out of them."""
    if not isinstance(data, dict) or not data:
        raise ValueError("no LiteLLM price list: it is one object with a key for each model")
    found: list[Sheet] = []
    left: list[Left] = []
    for key, entry in data.items():
        if key == "sample_spec" or not isinstance(entry, dict):
            continue
        name = f"litellm/{key}"
        period = _period(name, entry, left)
        if period.input is None and period.output is None:
            continue
        minimum = entry.get("prompt_cache_min_tokens")
        found.append(
            Sheet(
                id=name,
                periods=[period],
                cache=CachePolicy(min_prefix_tokens=minimum) if isinstance(minimum, int) else None,
                source=str(entry.get("source") or ""),
            )
        )
    names = {sheet.id for sheet in found}
    return found, [(name, what) for name, what in left if name in names]


def _period(name: str, entry: Entry, left: list[Left]) -> Period:
    groups = _grouped(name, entry, left)
    overrides = [
        Override(name=_name(above, term), when=_when(above, term), set=Prices(**prices))
        for (above, term), prices in sorted(groups.items(), key=lambda g: (g[0][1], g[0][0]))
        if above or term
    ]
    base = groups.get((0, ""), {})
    tiers = [*_tiers(name, entry, left)]
    if tiers and tiers[0][0] == 0:
        base = {**base, **tiers.pop(0)[1]}
    overrides += [
        Override(name=_name(above, ""), when=_when(above, ""), set=Prices(**prices))
        for above, prices in tiers
    ]
    overrides += _off_peak(name, entry.get("off_peak_pricing"), left)
    return Period(**base, per_request=_fee(entry), overrides=overrides)


def _fee(entry: Entry) -> str | None:
    fee = mtok(entry.get(_FEE))
    return None if fee is None else f"{round(Decimal(fee) / MTOK, 9).normalize():f}"


def _grouped(name: str, entry: Entry, left: list[Left]) -> dict[tuple[int, str], dict[str, Any]]:
    """Prices by the length that they begin above and their term; 0 and "" where there is none."""
    groups: dict[tuple[int, str], dict[str, Any]] = {}
    inclusive = entry.get("litellm_provider") in _INCLUSIVE
    for key, value in entry.items():
        stem = _SUFFIX.sub("", key)
        if stem not in _RATES:
            if value and (key in _FACTORS or ("cost" in key and key != _FEE)):
                left.append((name, key))
            continue
        price = mtok(value)
        if price is None:
            left.append((name, key))
            continue
        ttl, above, term = "default", 0, ""
        for hours, thousands, named in _SUFFIX.findall(key):
            ttl = f"{hours}h" if hours else ttl
            above = int(thousands) * 1000 - inclusive if thousands else above
            term = named or term
        _put(groups.setdefault((above, term), {}), _RATES[stem], ttl, price)
    return groups


def _put(prices: dict[str, Any], rate: str, ttl: str, price: str) -> None:
    if rate == "cache_write":
        prices.setdefault(rate, {})[ttl] = price
    else:
        prices[rate] = price


def _name(above: int, term: str) -> str:
    return " ".join([*([term] if term else []), *([f"above {above}"] if above else [])])


def _when(above: int, term: str) -> When:
    terms = dict([_TERMS[term]]) if term else {}
    return When(input_tokens_above=above or None, terms=terms)


def _tiers(name: str, entry: Entry, left: list[Left]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Lengths with their prices, the shortest first."""
    told = entry.get("tiered_pricing") or []
    entries: list[Any] = told if isinstance(told, list) else [None]
    tiers = []
    for tier in entries:
        start = _start(tier)
        if start is None:
            left.append((name, "tiered_pricing without a range of input tokens"))
            return
        tiers.append((start, _grouped(name, _without(tier, "range"), left).get((0, ""), {})))
    yield from sorted(tiers, key=lambda tier: tier[0])


def _start(tier: Any) -> int | None:
    span = tier.get("range") if isinstance(tier, dict) else None
    start = span[0] if isinstance(span, list) and span else None
    if not isinstance(start, int | Decimal) or start != int(start):
        return None
    return int(start)


def _without(entry: Entry, *keys: str) -> Entry:
    return {key: value for key, value in entry.items() if key not in keys}


def _off_peak(name: str, block: Any, left: list[Left]) -> Iterator[Override]:
    """One override for each set of days; an hour range without length is the whole day."""
    if block is None:
        return
    if not isinstance(block, dict):
        left.append((name, "off_peak_pricing"))
        return
    windows = [w for w in block.get("windows") or [] if isinstance(w, dict)]
    if block.get("hours_utc"):
        windows.append({"hours_utc": block["hours_utc"]})
    prices = _grouped(name, _prices_of(block), left).get((0, ""), {}) if windows else {}
    whens = [_hours(window, block.get("weekday_timezone")) for window in windows]
    if not prices or None in whens or not whens:
        left.append((name, "off_peak_pricing"))
        return
    for when in whens:
        if when is not None:
            yield Override(name="off-peak", when=when, set=Prices(**prices))


def _prices_of(block: Entry) -> Entry:
    return _without(block, "windows", "hours_utc", "weekday_timezone")


def _hours(window: Entry, zone: Any) -> When | None:
    """The condition of a window; None where it cannot be read."""
    told = window.get("hours_utc") or []
    hours = [_HOURS.fullmatch(str(text)) for text in ([told] if isinstance(told, str) else told)]
    days = [_day(day) for day in window.get("weekdays") or []]
    if not hours or None in hours or None in days:
        return None
    ranges = []
    for match in hours:
        start, end = match.groups() if match else ("", "")
        whole = start == end
        end = "24:00" if end == "00:00" else end
        ranges.append("00:00-24:00" if whole else f"{start}-{end}")
    return When(
        windows=ranges,
        days=[day for day in DAYS if day in days],
        day_tz=str(zone) if zone and days else None,
    )


def _day(told: Any) -> str | None:
    """A weekday by its English name or its ISO number, 1 for Monday."""
    if isinstance(told, int) and not isinstance(told, bool) and 1 <= told <= 7:
        return DAYS[told - 1]
    name = str(told)[:3].lower()
    return name if isinstance(told, str) and name in DAYS else None
