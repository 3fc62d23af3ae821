"""Reads `rigledger.toml` strictly: every refusal names file, line, key and remedy."""

import os
from pathlib import Path

from msgspec.structs import replace

from collector.settings import Settings, SettingsError, StoreSettings
from collector.settings_check import faults
from collector.toml_read import read_toml

DEFAULT = Path("rigledger.toml")

# What to write instead, by key; keys that are not here are told by their type.
_REMEDY = {
    "meters.kind": "write one of shelly, tasmota, home_assistant",
    "kind": "write one of ninfer, llama_cpp, vllm, sglang, ollama, openai",
    "front": 'write the router\'s address in quotes, like "http://127.0.0.1:30000"',
    "listen": 'write host and port in quotes, like "127.0.0.1:8585"',
    "price": 'write a decimal amount in quotes, like "17000" or "1999.99"',
    "residual": 'write a decimal amount in quotes, like "0"',
    "proceeds": 'write a decimal amount in quotes, like "5200"',
    "amount": 'write a decimal amount in quotes, like "120"',
    "per_month": 'write a decimal amount in quotes, like "10"',
    "rate_per_hour": 'write a decimal amount per hour in quotes, like "1.20"',
    "rate_per_month": 'write a decimal amount per month in quotes, like "450"',
    "rate_per_year": 'write a share of at most 1 in quotes, like "0.4"',
    "per_year_of_capital": 'write a share of at most 1 in quotes, like "0.05"',
    "market_values": 'write dates and amounts in quotes, like { 2027-10-01 = "11000" }',
    "method": "write one of straight_line, declining_balance, market, rented",
    "billed": "write always or while_up",
    "price_per_kwh": 'write a decimal amount per kWh in quotes, like "0.20"',
    "input": 'write a price per million tokens in quotes, like "0.15"',
    "cache_read": 'write a price per million tokens in quotes, like "0.003"',
    "output": 'write a price per million tokens in quotes, like "0.60"',
    "days": 'write weekdays in quotes, like "mon-fri", "sat,sun" or "holidays"',
    "hours": 'write local time from and to in quotes, like "16-21" or "16:30-21"',
    "holidays": 'write a country, or country and region, in quotes, like "US" or "DE-BE"',
    "overhead": 'write a factor from 1 to 3 in quotes, like "1.3"',
    "psu_efficiency": 'write a share from 0.0001 to 1 in quotes, like "0.92"',
    "rate": 'write units of the second currency for one of the first in quotes, like "0.1405"',
    "sheets": 'write a list of names in quotes, like ["deepseek/deepseek-v4.1-flash"]',
    "currency": 'write the three capital letters of its code, like "USD"',
    "active_gap": 'write a number with s, m or h in quotes, like "15m"',
    "url": 'write an address with its scheme in quotes, like "http://127.0.0.1:8001"',
    "from": "write a date without quotes, like 2026-10-01",
    "until": "write a date without quotes, like 2026-10-01",
    "retired": "write a date without quotes, like 2026-10-01",
    "in_service": "write a date without quotes, like 2026-10-01",
    "gpus": 'write a list of card UUIDs in quotes, like ["GPU-…"]; `nvidia-smi -L` tells them',
    "cards": 'write a list of card UUIDs in quotes, like ["GPU-…"]; `nvidia-smi -L` tells them',
}


def read(path: Path | None) -> Settings:
    """Settings of a file, see `collector.settings.load`. Raises SettingsError."""
    if path is None:
        if not DEFAULT.exists():
            return defaults()
        path = DEFAULT
    path = path.absolute()
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise SettingsError(f"{path}: not UTF-8 text; save it as UTF-8") from None
    except OSError as error:
        reason = (error.strerror or "cannot be read").lower()
        raise SettingsError(f"{path}: {reason}; name a readable file with --config") from None
    return settings_of(text, path)


def settings_of(text: str, path: Path) -> Settings:
    """Settings of a file that holds this text, its folders told in full. Raises SettingsError."""
    return _anchored(parse(text, str(path)), path.absolute().parent)


def defaults() -> Settings:
    """What holds where there is no settings file."""
    return Settings(store=StoreSettings(path=str(_default_folder())))


def _anchored(settings: Settings, folder: Path) -> Settings:
    """The settings with full paths: relative ones start in the folder of their file."""
    store, collector, compare = settings.store, settings.collector, settings.compare
    router = settings.router

    def full(path: str | None) -> str | None:
        return path and str(folder / path)

    return replace(
        settings,
        store=replace(store, path=str(folder / store.path)),
        collector=replace(collector, token_file=full(collector.token_file)),
        router=replace(router, token_file=full(router.token_file)),
        compare=replace(compare, sheet_folder=full(compare.sheet_folder)),
        electricity=[replace(each, series=full(each.series)) for each in settings.electricity],
        meters=[replace(each, token_file=full(each.token_file)) for each in settings.meters],
    )


def _default_folder() -> Path:
    """Where the ledger lies when no file says so: here in a checkout, which always has its `data`
    folder, or where one has been made; else among the user's own data."""
    here = Path.cwd() / StoreSettings().path
    if here.is_dir():
        return here
    shared = Path(os.environ.get("XDG_DATA_HOME") or "~/.local/share").expanduser()
    return shared / "rigledger"


def parse(text: str, name: str) -> Settings:
    """Settings from TOML text; `name` stands for the file in refusals.

    Raises SettingsError: Impossible for a setting, itself for text that is no TOML.
    """
    settings, refusal = read_toml(text, name, Settings, _REMEDY)
    for fault in faults(settings):
        raise refusal(fault)
    return settings
