"""Sheets from the offline data of genai-prices: its objects are read, nothing of it calculates.

A start date there is a UTC midnight. Its prices are chosen last to first, its variants first to
last; in a sheet the later override wins, so that dates become periods, variants overrides in
reverse, and tiers overrides above a length.
"""

import datetime as dt
import json
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from genai_prices.data import providers as bundled_providers
from genai_prices.types import (
    ConditionalPrice,
    ModelInfo,
    ModelPrice,
    PriceVariant,
    Provider,
    StartDateConstraint,
    TieredPrices,
    TimeOfDateConstraint,
    _providers_from_raw,
)

from analytics.prices.sheet import Override, Period, Prices, Sheet, When

_RATES = {
    "input_mtok": "input",
    "cache_read_mtok": "cache_read",
    "output_mtok": "output",
    "output_reasoning_mtok": "reasoning",
}
_WRITES = {
    "cache_write_mtok": "default",
    "cache_write_5m_mtok": "5m",
    "cache_write_1h_mtok": "1h",
}
_FEE = "requests_kcount"


class GenaiPrices:
    """The sheets of genai-prices' models, by `provider/model`; each is made when asked for."""

    def __init__(self, providers: list[Provider] | None = None) -> None:
        """Over the data of the package itself, or over newer data of the same shape."""
        found = bundled_providers if providers is None else providers
        self._providers = {provider.id: provider for provider in found}

    def names(self) -> list[str]:
        """The name of every model that is sold by the token."""
        return [
            f"{provider.id}/{model.id}"
            for provider in self._providers.values()
            for model in provider.models
            if sheet_of(provider, model) is not None
        ]

    def sheet(self, name: str) -> Sheet | None:
        """The sheet of a model's id, else of the model that knows this name as its own.

        Where a provider sells others' models at their prices, it is the others' sheet.
        """
        home, _, asked = name.partition("/")
        provider = self._providers.get(home)
        if provider is None:
            return None
        others = (self._providers.get(other) for other in provider.fallback_model_providers or ())
        for seller in (provider, *others):
            model = _model(seller, asked) if seller else None
            if seller and model:
                return sheet_of(seller, model)
        return None


def _model(provider: Provider, asked: str) -> ModelInfo | None:
    exact = next((model for model in provider.models if model.id == asked), None)
    return exact or provider.find_model(asked)


def providers_of(content: bytes) -> list[Provider]:
    """The providers that a fetched file tells of. Raises ValueError for another shape."""
    raw: Any = json.loads(content)
    if not isinstance(raw, list) or not raw:
        raise ValueError("no list of providers")
    try:
        return _providers_from_raw(raw)
    except ValueError:
        raise ValueError("no price lists of a known shape") from None


def sheet_of(provider: Provider, model: ModelInfo) -> Sheet | None:
    """The sheet of a model, or None where it is not sold by the token."""
    prices = model.prices
    entries = [ConditionalPrice(prices=prices)] if isinstance(prices, ModelPrice) else prices
    if not any({"input_mtok", "output_mtok"} & set(_named(entry.prices)) for entry in entries):
        return None
    variants = model.price_variants or []
    return Sheet(
        id=f"{provider.id}/{model.id}",
        periods=[_period(start, entries, variants) for start in _starts(entries, variants)],
        source=(provider.pricing_urls or [""])[0],
        note=model.price_comments or "",
        left_out=sorted(
            {key for entry in entries for key in _named(entry.prices)} - {*_RATES, *_WRITES, _FEE}
        ),
    )


def _named(prices: ModelPrice) -> dict[str, Decimal | TieredPrices]:
    return {key: value for key, value in vars(prices).items() if value is not None}


def _starts(entries: list[ConditionalPrice], variants: list[PriceVariant]) -> list[dt.date | None]:
    """The days on which a price or a variant begins, the open beginning first."""
    dated = [*(e.constraint for e in entries), *(v.constraint for v in variants)]
    days = {c.start_date for c in dated if isinstance(c, StartDateConstraint)}
    return [None, *sorted(days)]


def _begun(constraint: Any, day: dt.date | None) -> bool:
    """Whether an entry counts from that day on, at some hour at least."""
    if not isinstance(constraint, StartDateConstraint):
        return True
    return day is not None and constraint.start_date <= day


def _period(
    day: dt.date | None, entries: list[ConditionalPrice], variants: list[PriceVariant]
) -> Period:
    """The prices from a day on: the last entry that has begun, then those of hours after it."""
    begun = [entry for entry in entries if _begun(entry.constraint, day)] or entries[:1]
    base = max(
        (n for n, e in enumerate(begun) if not isinstance(e.constraint, TimeOfDateConstraint)),
        default=0,
    )
    flat, tiers = _flat_and_tiers(begun[base].prices)
    overrides = [*_tier_overrides(tiers, {}, "")]
    for entry in begun[base + 1 :]:
        if isinstance(entry.constraint, TimeOfDateConstraint):
            overrides += _of_hours(entry.constraint, entry.prices)
    for variant in reversed(variants):
        if _begun(variant.constraint, day):
            overrides += _of_variant(variant)
    start = None if day is None else dt.datetime.combine(day, dt.time(), tzinfo=dt.UTC)
    return Period(from_=start, **flat, overrides=overrides)


def _of_hours(hours: TimeOfDateConstraint, prices: ModelPrice) -> Iterator[Override]:
    """The prices of a daily window."""
    window = f"{_utc(hours.start_time):%H:%M}-{_utc(hours.end_time):%H:%M}"
    flat, tiers = _flat_and_tiers(prices)
    yield Override(name=window, when=When(windows=[window]), set=Prices(**flat))
    for above, longer in sorted(tiers.items()):
        when = When(windows=[window], input_tokens_above=above)
        yield Override(name=f"{window} above {above}", when=when, set=Prices(**longer))


def _utc(clock: dt.time) -> dt.time:
    if clock.tzinfo is None:
        return clock
    return dt.datetime.combine(dt.date(1970, 1, 2), clock).astimezone(dt.UTC).time()


def _of_variant(variant: PriceVariant) -> Iterator[Override]:
    flat, tiers = _flat_and_tiers(variant.prices)
    name = " ".join(f"{key}={value}" for key, value in variant.when.items())
    if flat:
        yield Override(name=name, when=When(terms=dict(variant.when)), set=Prices(**flat))
    yield from _tier_overrides(tiers, variant.when, name)


def _tier_overrides(
    tiers: Mapping[int, dict[str, Any]], terms: Mapping[str, str], name: str
) -> Iterator[Override]:
    for above, prices in sorted(tiers.items()):
        yield Override(
            name=f"{name} above {above}".strip(),
            when=When(input_tokens_above=above, terms=dict(terms)),
            set=Prices(**prices),
        )


def _flat_and_tiers(prices: ModelPrice) -> tuple[dict[str, Any], dict[int, dict[str, Any]]]:
    """Prices as those of a sheet: what holds at any length, and what above which length."""
    flat: dict[str, Any] = {}
    tiers: dict[int, dict[str, Any]] = {}
    for key, value in _named(prices).items():
        if isinstance(value, TieredPrices):
            _put(flat, key, value.base)
            for tier in value.tiers:
                _put(tiers.setdefault(tier.start, {}), key, tier.price)
        else:
            _put(flat, key, value)
    return flat, tiers


def _put(prices: dict[str, Any], key: str, price: Decimal) -> None:
    if key in _RATES:
        prices[_RATES[key]] = _text(price)
    elif key in _WRITES:
        prices.setdefault("cache_write", {})[_WRITES[key]] = _text(price)
    elif key == _FEE:
        prices["per_request"] = _text(price / 1000)


def _text(price: Decimal) -> str:
    """A price to the nano-unit per million tokens; what is finer is a trace of binary floats."""
    return f"{round(price, 9).normalize():f}"
