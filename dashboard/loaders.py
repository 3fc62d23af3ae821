"""Loads settings and the overview for the pages, cached and bounded.

A running month is read again every 30 seconds, a past one every ten minutes (late events may
still change it).
"""

import argparse
import datetime as dt
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import streamlit as st
from analytics.overview import Overview, overview

from analytics.read import Ledger
from collector.settings import Settings, load

REFRESH_S = 30
PAST_S = 600
NANO = 1_000_000_000


@dataclass(frozen=True)
class Period:
    """A calendar month in the rig's zone, as instants in ns since the epoch."""

    month: str
    from_ns: int
    to_ns: int
    running: bool


def config_path() -> Path | None:
    """The settings file: `-- --config FILE` behind the script, else RIGLEDGER_CONFIG, else none."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--config", type=Path)
    given: Path | None = parser.parse_known_args(sys.argv[1:])[0].config
    named = os.environ.get("RIGLEDGER_CONFIG")
    return given or (Path(named) if named else None)


def settings() -> Settings:
    """The settings as they stand in the file now. Raises SettingsError."""
    return load(config_path())


def has_ledger(settings: Settings) -> bool:
    """Whether a collector has ever written here."""
    return (settings.store_path() / "manifest.sqlite").is_file()


def period(settings: Settings, month: str, now_ns: int) -> Period:
    """The month `2026-11` in the rig's zone."""
    first = dt.date.fromisoformat(f"{month}-01")
    following = (first + dt.timedelta(days=32)).replace(day=1)
    from_ns, to_ns = settings.midnight_ns(first), settings.midnight_ns(following)
    return Period(month, from_ns, to_ns, running=from_ns <= now_ns < to_ns)


def this_month(settings: Settings, now_ns: int) -> str:
    """The rig's current month, as `2026-11`."""
    return f"{dt.datetime.fromtimestamp(now_ns // NANO, settings.zone):%Y-%m}"


def load_overview(settings: Settings, chosen: Period) -> Overview:
    """The overview of a month, at most REFRESH_S (running) or PAST_S (past) seconds old."""
    every = REFRESH_S if chosen.running else PAST_S
    tick = int(time.time()) // every
    return _overview(repr(settings), settings, chosen, tick)


def months(settings: Settings, now_ns: int) -> list[str]:
    """Months to choose from, newest first: those with data and the running one."""
    running = this_month(settings, now_ns)
    told = load_overview(settings, period(settings, running, now_ns)).trend
    return sorted({entry["month"] for entry in told} | {running}, reverse=True)


@st.cache_data(ttl=PAST_S, max_entries=24, show_spinner=False)
def _overview(key: str, _settings: Settings, chosen: Period, tick: int) -> Overview:
    """`key` and `tick` only tell the cache when settings or time have moved on."""
    ledger = Ledger(_settings.store_path())
    return overview(ledger, _settings, chosen.from_ns, chosen.to_ns, time.time_ns())
