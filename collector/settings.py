"""Assumptions and addresses: `rigledger.toml`, declared once, read strictly.

Prices, watts and assignments carry effective dates; dates without a time mean midnight in the
rig's zone. Every refusal names file and line.
"""

import datetime as dt
import os
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Annotated, Literal
from zoneinfo import ZoneInfo

import msgspec
from msgspec import Meta, field

from collector.clock import to_ns

NANO = 1_000_000_000
Text = Annotated[str, Meta(min_length=1, max_length=256)]
Money = Annotated[str, Meta(pattern=r"^\d{1,12}(\.\d{1,9})?$")]
Address = Annotated[str, Meta(pattern=r"^[\w.\-\[\]:]+:\d{1,5}$")]


class SettingsError(ValueError):
    """The settings cannot be used; the message says what, where and what to do."""


class _Table(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, frozen=True):
    """A TOML table whose unknown keys are refused."""


class StoreSettings(_Table, kw_only=True, frozen=True):
    """Where the ledger lies."""

    path: Text = "data"


class CollectorSettings(_Table, kw_only=True, frozen=True):
    """The collector's door and its cadence."""

    listen: Address = "127.0.0.1:8585"
    token_file: Text | None = None
    sample_seconds: Annotated[int, Meta(ge=1, le=60)] | None = None


class DashboardSettings(_Table, kw_only=True, frozen=True):
    """Where the pages are served."""

    listen: Address = "127.0.0.1:8501"


class RigSettings(_Table, kw_only=True, frozen=True):
    """The host: its name, its zone and the currency of its books."""

    name: Text = "rig"
    time_zone: Text = "UTC"
    currency: Annotated[str, Meta(pattern=r"^[A-Z]{3}$")] = "USD"


class Hardware(_Table, kw_only=True, frozen=True):
    """An asset: what it cost and over how many years that is spread."""

    name: Text
    price: Money
    in_service: dt.date
    life_years: Annotated[int, Meta(ge=1, le=50)]
    residual: Money = "0"
    method: Literal["straight_line"] = "straight_line"
    cards: list[Text] = field(default_factory=list)

    @property
    def price_nano(self) -> int:
        """The price in nano-units of the currency."""
        return nano(self.price)

    @property
    def residual_nano(self) -> int:
        """The value at the end of its life, nano-units."""
        return nano(self.residual)


class Electricity(_Table, kw_only=True, frozen=True):
    """A tariff and the draw that no card reports, from a date on."""

    from_: dt.date = field(name="from")
    price_per_kwh: Money
    host_watts: Annotated[int, Meta(ge=0, le=100_000)] = 0
    psu_efficiency: Annotated[str, Meta(pattern=r"^(0\.\d{1,4}|1(\.0{1,4})?)$")] = "1"

    @property
    def price_nano_per_kwh(self) -> int:
        """Price of a kWh at the wall, nano-units."""
        return nano(self.price_per_kwh)

    @property
    def psu_efficiency_e4(self) -> int:
        """PSU efficiency in ten-thousandths."""
        return int(Decimal(self.psu_efficiency) * 10_000)


class UsageSettings(_Table, kw_only=True, frozen=True):
    """What counts as an active hour, and declared peak rates per card."""

    active_gap: Annotated[str, Meta(pattern=r"^\d{1,4}[smh]$")] = "15m"
    peak_output_tokens_per_second: dict[str, Annotated[int, Meta(ge=1)]] = field(
        default_factory=dict
    )

    @property
    def active_gap_ns(self) -> int:
        """Gaps shorter than this belong to the active window, ns."""
        unit = {"s": 1, "m": 60, "h": 3600}[self.active_gap[-1]]
        return int(self.active_gap[:-1]) * unit * NANO


class EngineSettings(_Table, kw_only=True, frozen=True):
    """An engine: one model copy on one or several cards, from a date on."""

    name: Text
    url: Annotated[str, Meta(pattern=r"^https?://[^\s/]+(/.*)?$")]
    kind: Literal["ninfer", "llama_cpp", "vllm", "sglang", "ollama", "openai"] = "openai"
    gpus: Annotated[list[Text], Meta(min_length=1)]
    slots: Annotated[int, Meta(ge=1, le=4096)] | None = None
    pool: Text | None = None
    model: Text | None = None
    from_: dt.date = field(name="from", default=dt.date(2000, 1, 1))

    @property
    def pool_name(self) -> str:
        """The engines a router may choose between: declared, else those of the same model."""
        return self.pool or self.model or "default"


class Tap(_Table, kw_only=True, frozen=True):
    """One extra port that passes through to one engine and keeps the books."""

    engine: Text
    listen: Address


class ApiPrice(_Table, kw_only=True, frozen=True):
    """A flat price list of an API, as declared, per million tokens."""

    name: Text
    input: Money
    cache_read: Money
    output: Money


class CompareSettings(_Table, kw_only=True, frozen=True):
    """What the same requests would have cost elsewhere."""

    prices: list[ApiPrice] = field(default_factory=list)


class Settings(_Table, kw_only=True, frozen=True):
    """The whole file."""

    store: StoreSettings = field(default_factory=StoreSettings)
    collector: CollectorSettings = field(default_factory=CollectorSettings)
    dashboard: DashboardSettings = field(default_factory=DashboardSettings)
    rig: RigSettings = field(default_factory=RigSettings)
    hardware: list[Hardware] = field(default_factory=list)
    electricity: list[Electricity] = field(default_factory=list)
    usage: UsageSettings = field(default_factory=UsageSettings)
    engines: list[EngineSettings] = field(default_factory=list)
    taps: list[Tap] = field(default_factory=list)
    compare: CompareSettings = field(default_factory=CompareSettings)

    @property
    def zone(self) -> ZoneInfo:
        """The rig's time zone."""
        return ZoneInfo(self.rig.time_zone)

    def midnight_ns(self, day: dt.date) -> int:
        """The start of a local day as ns since the epoch.

        Where the clocks skip midnight itself, the day starts at that very instant.
        """
        return to_ns(dt.datetime.combine(day, dt.time(), tzinfo=self.zone).astimezone(dt.UTC))

    def store_path(self) -> Path:
        """The ledger's folder; RIGLEDGER_DATA overrides the file."""
        return Path(os.environ.get("RIGLEDGER_DATA") or self.store.path)


def nano(amount: str) -> int:
    """A decimal amount as an integer of nano-units, exactly. Raises SettingsError."""
    try:
        scaled = Decimal(amount) * NANO
    except InvalidOperation:
        raise SettingsError(f"{amount!r} is no decimal amount") from None
    if scaled != int(scaled):
        raise SettingsError(f"{amount!r} has more than nine decimals")
    return int(scaled)


def load(path: Path | None) -> Settings:
    """Read a settings file; None means ./rigledger.toml where there is one, else the defaults.

    Raises SettingsError with `file:line: table.key: what is wrong; remedy`.
    """
    from collector.settings_file import read  # noqa: PLC0415 (it needs the structs above)

    return read(path)
