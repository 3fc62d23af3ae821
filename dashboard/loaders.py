"""Loads settings, overview and trend for the pages, cached and bounded.

A running month is read again with every refresh of the page, a past one every ten minutes (late
events may still change it).
"""

import argparse
import datetime as dt
import os
import sqlite3
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import duckdb
import streamlit as st

from analytics.cost_months import SHOWN_MONTHS, cost_entry, cost_months
from analytics.identities import BrokenIdentity
from analytics.overview import Overview, entry, overview, trend
from analytics.periods import Period, month_at, month_before, month_of
from analytics.publish import as_closed as as_closed_now
from analytics.read import Ledger
from collector import closed
from collector.manifest import LedgerError
from collector.migrations import SchemaTooNew
from collector.settings import Settings, SettingsError, load

# What reading a ledger may raise: books that do not add up, or files (a price series, too) that
# cannot be read.
UNREADABLE = (
    *(BrokenIdentity, LedgerError, SchemaTooNew, SettingsError),
    *(OSError, sqlite3.Error, duckdb.Error),
)
REFRESH_S = 30
# Shorter than the page's refresh, so that each one finds the value expired and renews it.
RUNNING_S = 20
PAST_S = 600


def config_path() -> Path | None:
    """The settings file: `-- --config FILE` behind the script, else RIGLEDGER_CONFIG, else none."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
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


def months(settings: Settings, now_ns: int) -> list[str]:
    """Months to choose from, newest first: those with data and the running one."""
    running = month_at(now_ns, settings.zone)
    sealed = {
        folder.name.removeprefix("month=") for folder in settings.store_path().glob("month=*")
    }
    told = {each["month"] for each in _before(settings, running)}
    return sorted((sealed | told | {running.name}) - _later(sealed, running), reverse=True)


def load_month(settings: Settings, month: str) -> tuple[Overview, list[dict[str, Any]]]:
    """A month's overview and the trend of months around it. Raises BrokenIdentity."""
    told = _told(settings, month_of(month, settings.zone))
    running = month_at(time.time_ns(), settings.zone)
    months = _trend_to(settings, running)
    if month in {each["month"] for each in months}:
        return told, months
    return told, _trend_to(settings, month_of(month, settings.zone))


def load_cost_months(settings: Settings, month: dict[str, Any]) -> list[dict[str, Any]]:
    """What the months up to the running one cost, and the shown `month`, should it lie before
    them. Raises BrokenIdentity."""
    running = month_at(time.time_ns(), settings.zone)
    months = _cost_to(settings, _told(settings, running).month)
    name = month["period"]["name"]
    return months if name in {each["month"] for each in months} else _cost_to(settings, month)


def _cost_to(settings: Settings, month: dict[str, Any]) -> list[dict[str, Any]]:
    period = month_before(month_of(month["period"]["name"], settings.zone), settings.zone)
    return [*_cost(repr(settings), settings, period), cost_entry(month)][-SHOWN_MONTHS:]


def as_closed(settings: Settings, month: str) -> dict[str, Any] | None:
    """A closed month's document (`publish.as_closed`); None for one that is open.

    Raises DamagedClosing.
    """
    if month not in closed.months(settings.store_path()):
        return None
    return _as_closed(repr(settings), settings, month)


def is_running(settings: Settings, month: str) -> bool:
    """Whether the month has not ended yet in the rig's zone."""
    return time.time_ns() < month_of(month, settings.zone).to_ns


def card_names(settings: Settings, cards: Iterable[str]) -> dict[str, str]:
    """What people call each card: its engines, else the start of its UUID; no name twice."""
    names: dict[str, str] = {}
    for card in cards:
        engines = dict.fromkeys(e.name for e in settings.engines if card in e.gpus)
        short = card.removeprefix("GPU-")[:8]
        name = " + ".join(engines) or short
        names[card] = f"{name} {short}" if name in names.values() else name
    return names


def day_span(settings: Settings, day: str) -> tuple[int, int]:
    """A local day, `2026-11-29`, as [from, to) in ns since the epoch."""
    date = dt.date.fromisoformat(day)
    return settings.midnight_ns(date), settings.midnight_ns(date + dt.timedelta(days=1))


def _told(settings: Settings, period: Period) -> Overview:
    read = _running if is_running(settings, period.name) else _past
    return read(repr(settings), settings, period)


def _trend_to(settings: Settings, period: Period) -> list[dict[str, Any]]:
    return [*_before(settings, period), entry(_told(settings, period).month)]


def _before(settings: Settings, period: Period) -> list[dict[str, Any]]:
    return _trend(repr(settings), settings, month_before(period, settings.zone))


def _later(months: set[str], running: Period) -> set[str]:
    """Folders are named in UTC: on a month's last evening the next one may exist already."""
    return {month for month in months if month > running.name}


# In all of them, `key` only tells the cache when the settings have changed. An expired value is
# shown once more while the new one is computed, so that a page never waits for its refresh.
@st.cache_resource(ttl=RUNNING_S, max_entries=4, show_spinner=False, refresh_mode="background")
def _running(key: str, _settings: Settings, period: Period) -> Overview:
    return overview(Ledger(_settings.store_path()), _settings, period, time.time_ns())


@st.cache_resource(ttl=PAST_S, max_entries=24, show_spinner=False, refresh_mode="background")
def _past(key: str, _settings: Settings, period: Period) -> Overview:
    return overview(Ledger(_settings.store_path()), _settings, period, time.time_ns())


@st.cache_resource(ttl=PAST_S, max_entries=24, show_spinner=False, refresh_mode="background")
def _trend(key: str, _settings: Settings, period: Period) -> list[dict[str, Any]]:
    return trend(Ledger(_settings.store_path()), _settings, period, time.time_ns())


@st.cache_resource(ttl=PAST_S, max_entries=24, show_spinner=False, refresh_mode="background")
def _cost(key: str, _settings: Settings, period: Period) -> list[dict[str, Any]]:
    return cost_months(Ledger(_settings.store_path()), _settings, period, time.time_ns())


@st.cache_data(ttl=PAST_S, max_entries=24, show_spinner=False, refresh_mode="background")
def _as_closed(key: str, _settings: Settings, month: str) -> dict[str, Any] | None:
    return as_closed_now(_settings, month, time.time_ns())
