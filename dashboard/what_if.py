"""Loads for the settings page: the file, what a change would do, and how the sources are."""

import time
from collections.abc import Iterator

import streamlit as st

from analytics import preview
from analytics.periods import day_at, month_at, month_of
from analytics.preview import Effect, value_lost_nano
from analytics.read import Ledger
from analytics.shelf import Progress
from collector.probe import Health, ask
from collector.settings import Settings
from collector.settings_file import DEFAULT
from collector.settings_history import History, Record
from collector.settings_save import Version, read_version
from dashboard.loaders import config_path, has_ledger

SHOWN_MONTHS = 2


def version() -> Version:
    """The settings file as it stands now. Raises SettingsError."""
    return read_version(config_path() or DEFAULT)


def months(settings: Settings, now_ns: int) -> list[str]:
    """The newest months that a change is shown on, oldest first; none without a ledger."""
    if not has_ledger(settings):
        return []
    running = month_at(now_ns, settings.zone).name
    sealed = {
        folder.name.removeprefix("month=") for folder in settings.store_path().glob("month=*")
    }
    return sorted({running} | {month for month in sealed if month < running})[-SHOWN_MONTHS:]


def effects(before: Settings, after: Settings, progress: Progress) -> Iterator[Effect]:
    """Each month that a change is shown on, under both settings. Nothing is written.

    Raises what reading a ledger may raise (`loaders.UNREADABLE`).
    """
    now_ns = time.time_ns()
    periods = [month_of(name, before.zone) for name in months(before, now_ns)]
    if periods:
        ledger = Ledger(before.store_path())
        yield from preview.effects(ledger, before, after, periods, now_ns, progress=progress)


def value_lost_today_nano(settings: Settings) -> int:
    """What the rig loses in value on the present local day, nano-units."""
    today = day_at(time.time_ns(), settings.zone)
    return value_lost_nano(settings, today.from_ns, today.to_ns)


def changes(version: Version) -> tuple[list[Record], Record | None]:
    """The kept changes, newest first, and the one that an undo would take back."""
    history = History(version.path)
    return history.records()[::-1], history.undoable(version.text)


@st.cache_data(ttl=2, max_entries=2, show_spinner=False)
def health(listen: str, _settings: Settings) -> Health:
    """How the collector and its sources are; `listen` tells the cache collectors apart."""
    return ask(_settings)
