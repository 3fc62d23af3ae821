"""A price sheet: what one offering of a model costs, from instant to instant.

Prices are decimal texts per million tokens in the sheet's own currency. `input` is the price of
input that is neither read from nor written to a cache; a price that is not there is not offered:
cached, written and reasoning tokens then cost what other input and output costs. A period counts
from its instant to the next period's, or to its own `to`. Overrides are read in order: each whose
conditions all hold changes the prices that it names, and later ones win.
"""

import datetime as dt
from typing import Annotated, Literal

from msgspec import Meta, Struct, field

Price = Annotated[
    str, Meta(pattern=r"^\d{1,6}(\.\d{1,9})?$", extra={"type": "price per million tokens"})
]
Factor = Annotated[str, Meta(pattern=r"^\d(\.\d{1,3})?$", extra={"type": "factor"})]
Window = Annotated[str, Meta(pattern=r"^([01]\d|2[0-3]):[0-5]\d-(([01]\d|2[0-3]):[0-5]\d|24:00)$")]
Instant = Annotated[dt.datetime, Meta(tz=True)]
Day = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
DAYS: tuple[Day, ...] = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
Rate = Literal["input", "cache_read", "cache_write", "output", "reasoning", "per_request"]


class _Entry(Struct, forbid_unknown_fields=True, kw_only=True, frozen=True, omit_defaults=True):
    """A TOML table whose unknown keys are refused."""


class Prices(_Entry, kw_only=True, frozen=True, omit_defaults=True):
    """Prices per million tokens; `per_request` each, storage per million tokens and hour.

    `cache_write` has a price for each time to live that is sold, `default` where none is asked for.
    """

    input: Price | None = None
    cache_read: Price | None = None
    cache_write: dict[str, Price] = field(default_factory=dict)
    output: Price | None = None
    reasoning: Price | None = None
    per_request: Price | None = None
    storage_mtok_hour: Price | None = None


class When(_Entry, kw_only=True, frozen=True, omit_defaults=True):
    """Conditions of an override; all that are named must hold.

    `windows` are half open, in the zone `tz`, and may pass midnight. `days`, `dates` and the public
    holidays of a country are those of the zone `day_tz`, by default the same one. `terms` are what
    the buyer agreed on, such as `{processing = "batch"}`.
    """

    input_tokens_above: Annotated[int, Meta(ge=0)] | None = None
    windows: list[Window] = field(default_factory=list)
    tz: str = "UTC"
    days: list[Day] = field(default_factory=list)
    dates: list[dt.date] = field(default_factory=list)
    except_dates: list[dt.date] = field(default_factory=list)
    holidays: str | None = None
    except_holidays: str | None = None
    day_tz: str | None = None
    terms: dict[str, str] = field(default_factory=dict)

    @property
    def day_zone(self) -> str:
        """The zone whose days count."""
        return self.day_tz or self.tz


class Override(_Entry, kw_only=True, frozen=True, omit_defaults=True):
    """Other prices under conditions: `set` replaces, `multiply` scales, `"*"` all of them."""

    name: str = ""
    when: When
    set: Prices = field(default_factory=Prices)
    multiply: dict[Rate | Literal["*"], Factor] = field(default_factory=dict)


class Period(Prices, kw_only=True, frozen=True, omit_defaults=True):
    """The prices between two instants; without `from` since ever, without `to` until the next."""

    from_: Instant | None = field(name="from", default=None)
    to: Instant | None = None
    overrides: list[Override] = field(default_factory=list)


class CachePolicy(_Entry, kw_only=True, frozen=True, omit_defaults=True):
    """When a prefix computed before would have been a hit at the provider, and what is paid for.

    Tokens, seconds; `None` where the provider does not say. `boundary` is what a hit ends on:
    steps of `granularity_tokens`, a whole earlier request, or a mark that the client sets.
    """

    mode: Literal["implicit", "explicit", "none"] = "implicit"
    min_prefix_tokens: int | None = None
    granularity_tokens: int | None = None
    boundary: Literal["block", "request_unit", "breakpoint"] = "block"
    ttl_seconds: dict[str, int] = field(default_factory=dict)
    refresh_on_hit: bool = True
    hit_probability: Annotated[str, Meta(pattern=r"^(0(\.\d{1,4})?|1(\.0{1,4})?)$")] = "1"
    write_billed: bool = False
    source: str = ""


class Sheet(_Entry, kw_only=True, frozen=True, omit_defaults=True):
    """One offering of a model. `left_out` names what the source prices and a sheet cannot."""

    id: Annotated[str, Meta(min_length=1, max_length=256)]
    currency: Annotated[str, Meta(pattern=r"^[A-Z]{3}$")] = "USD"
    aliases: list[str] = field(default_factory=list)
    tokenizer_ratio: Annotated[str, Meta(pattern=r"^\d(\.\d{1,4})?$")] = "1"
    periods: Annotated[list[Period], Meta(min_length=1)]
    cache: CachePolicy | None = None
    source: str = ""
    retrieved: dt.date | None = None
    note: str = ""
    left_out: list[str] = field(default_factory=list)
