"""Assumptions and addresses: `rigledger.toml`, declared once, read strictly.

Each setting is declared here with its name, type, unit, default and help; the reader, the forms of
the settings page and `docs/settings.md` (`python -m collector.settings`) follow from that. Prices,
watts and assignments carry effective dates; dates without a time mean midnight in the rig's zone.
Every refusal names file and line.
"""

import datetime as dt
import os
import sys
from pathlib import Path
from typing import Annotated, Literal
from zoneinfo import ZoneInfo

from msgspec import Meta, field

from collector.clock import to_ns
from collector.settings_assets import Hardware, OtherCost
from collector.settings_compare import ApiPrice, CompareSettings, ExchangeRate
from collector.settings_power import Electricity, Meter
from collector.settings_router import RouterSettings, Tap
from collector.settings_types import (
    NANO,
    Address,
    SettingsError,
    Span,
    Table,
    Text,
    Url,
    doc,
    nano,
)

# What others find here, too.
__all__ = [
    "NANO",
    "ApiPrice",
    "CompareSettings",
    "Electricity",
    "Hardware",
    "Meter",
    "OtherCost",
    "RouterSettings",
    "SettingsError",
    "Tap",
    "load",
    "nano",
]


class StoreSettings(Table, kw_only=True, frozen=True):
    """Where the ledger lies."""

    path: Annotated[
        Text, doc("folder of the ledger, from this file's own; RIGLEDGER_DATA overrides it")
    ] = "data"


class CollectorSettings(Table, kw_only=True, frozen=True):
    """The collector's door and its cadence."""

    listen: Annotated[Address, doc("where events arrive")] = "127.0.0.1:8585"
    token_file: Annotated[
        Text | None, doc("file with the token that senders show; needed off this machine")
    ] = None
    sample_seconds: Annotated[
        Annotated[int, Meta(ge=1, le=60)] | None,
        doc("time between readings of a card; without it, as the card allows", "s"),
    ] = None


class DashboardSettings(Table, kw_only=True, frozen=True):
    """Where the pages are served."""

    listen: Annotated[Address, doc("where the browser finds the pages")] = "127.0.0.1:8501"


class RigSettings(Table, kw_only=True, frozen=True):
    """The host: its name, its zone and the currency of its books."""

    name: Annotated[Text, doc("what the pages call this rig")] = "rig"
    time_zone: Annotated[Text, doc("zone of its months and days, by its IANA name")] = "UTC"
    currency: Annotated[
        str,
        Meta(pattern=r"^[A-Z]{3}$", extra={"type": "three capital letters"}),
        doc("currency of every amount"),
    ] = "USD"


class UsageSettings(Table, kw_only=True, frozen=True):
    """What counts as an active hour, and declared peak rates per card."""

    active_gap: Annotated[
        Span, doc("pauses shorter than this belong to an active window; longer ones are idle")
    ] = "15m"
    peak_output_tokens_per_second: Annotated[
        dict[str, Annotated[int, Meta(ge=1)]],
        doc("declared peak rate by card UUID, in place of the measured one", "tokens/s"),
    ] = field(default_factory=dict)

    @property
    def active_gap_ns(self) -> int:
        """Gaps shorter than this belong to the active window, ns."""
        unit = {"s": 1, "m": 60, "h": 3600}[self.active_gap[-1]]
        return int(self.active_gap[:-1]) * unit * NANO


class SloSettings(Table, kw_only=True, frozen=True):
    """What the rig must hold ready for; without a target, nothing is called too much."""

    ttft_p95_seconds: Annotated[
        Annotated[float, Meta(ge=0.001, le=3600)] | None,
        doc(
            "how soon 95 of 100 requests must have their first token: the report then tells how"
            " many engines that takes",
            "s",
        ),
    ] = None

    @property
    def ttft_p95_ms(self) -> int | None:
        """The target in whole ms, None where there is none."""
        seconds = self.ttft_p95_seconds
        return None if seconds is None else round(seconds * 1000)


class EngineSettings(Table, kw_only=True, frozen=True):
    """An engine: one model copy on one or several cards, from a date on."""

    name: Annotated[Text, doc("what the pages call this engine")]
    url: Annotated[Url, doc("where it answers, without the /v1 that clients write")]
    kind: Annotated[
        Literal["ninfer", "llama_cpp", "vllm", "sglang", "ollama", "openai"],
        doc("what it runs, hence how it is asked for its health"),
    ] = "openai"
    gpus: Annotated[
        list[Text],
        Meta(min_length=1),
        doc("its cards, by UUID (`nvidia-smi -L`); several when split"),
    ]
    slots: Annotated[
        Annotated[int, Meta(ge=1, le=4096)] | None,
        doc("requests it computes at once; without it, as the engine tells"),
    ] = None
    pool: Annotated[
        Text | None, doc("engines that a router may choose between; without it, the same model's")
    ] = None
    model: Annotated[Text | None, doc("the model it serves")] = None
    from_: Annotated[dt.date, doc("first day on which this entry counts")] = field(
        name="from", default=dt.date(2000, 1, 1)
    )

    @property
    def pool_name(self) -> str:
        """The engines a router may choose between: declared, else those of the same model."""
        return self.pool or self.model or "default"


class Settings(Table, kw_only=True, frozen=True):
    """The whole file."""

    store: StoreSettings = field(default_factory=StoreSettings)
    collector: CollectorSettings = field(default_factory=CollectorSettings)
    dashboard: DashboardSettings = field(default_factory=DashboardSettings)
    rig: RigSettings = field(default_factory=RigSettings)
    hardware: list[Hardware] = field(default_factory=list)
    electricity: list[Electricity] = field(default_factory=list)
    other_costs: list[OtherCost] = field(default_factory=list)
    usage: UsageSettings = field(default_factory=UsageSettings)
    slo: SloSettings = field(default_factory=SloSettings)
    engines: list[EngineSettings] = field(default_factory=list)
    router: RouterSettings = field(default_factory=RouterSettings)
    taps: list[Tap] = field(default_factory=list)
    meters: list[Meter] = field(default_factory=list)
    compare: CompareSettings = field(default_factory=CompareSettings)
    currencies: dict[str, list[ExchangeRate]] = field(default_factory=dict)

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
        """The ledger's folder, in full; RIGLEDGER_DATA overrides the file."""
        return Path(os.environ.get("RIGLEDGER_DATA") or self.store.path).absolute()

    def sheet_folder(self) -> Path:
        """The folder of one's own price sheets and of those fetched, in full."""
        named = self.compare.sheet_folder
        return Path(named).absolute() if named else self.store_path() / "prices"


def load(path: Path | None) -> Settings:
    """Read a settings file; None means ./rigledger.toml where there is one, else the defaults.

    Files that it names start in its own folder. Without one, the ledger lies in ./data where that
    is, else among the user's data.

    Raises SettingsError with `file:line: table.key: what is wrong; remedy`.
    """
    from collector.settings_file import read  # noqa: PLC0415 (it needs the structs above)

    return read(path)


if __name__ == "__main__":
    from collector.settings_fields import document

    sys.stdout.write(document())
