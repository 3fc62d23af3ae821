"""Loads for a closer look: the days of a month, a day's requests, one of them, an episode."""

import time
from typing import Any

import polars as pl
import streamlit as st

from analytics.compare import compared_alone
from analytics.episode import Episode
from analytics.episode import episode as around
from analytics.one_request import Opened, opened
from analytics.periods import Period, day_at, month_of
from analytics.read import Ledger
from analytics.requests import choices, days_with_requests, requests
from analytics.shelf import Shelf
from collector.settings import Settings
from dashboard.loaders import PAST_S, day_span

KEPT_S = 60
Choices = dict[str, list[str]]  # what each filter may be set to
Listed = tuple[pl.DataFrame, Choices]
# In all of them `key` only tells the cache when the settings have changed. All raise what reading
# a ledger may raise (`loaders.UNREADABLE`).


def days(settings: Settings, month: str) -> list[str]:
    """The days of a month with any request, the newest first."""
    return _days(repr(settings), settings, month_of(month, settings.zone))


def of_day(settings: Settings, day: str) -> Listed:
    """A local day's attempts (`requests.requests`), and what they can be filtered by."""
    _, end_ns = day_span(settings, day)
    load = _of_past_day if end_ns < time.time_ns() else _of_day
    return load(repr(settings), settings, day)


def one(
    settings: Settings, day: str, source: str, event_id: str
) -> tuple[Opened, list[dict[str, Any]]] | None:
    """An attempt that ended in a day, and its bills (`compare.compared_alone`)."""
    return _one(repr(settings), settings, day, source, event_id)


def episode(settings: Settings, pool: str, from_ns: int, to_ns: int) -> Episode:
    """What happened on the cards of a pool around a span (`episode.episode`)."""
    return _episode(repr(settings), settings, pool, from_ns, to_ns)


def _shelf(settings: Settings) -> Shelf:
    return Shelf(Ledger(settings.store_path()), settings, time.time_ns())


@st.cache_resource(ttl=KEPT_S, max_entries=4, show_spinner=False, refresh_mode="background")
def _days(key: str, _settings: Settings, period: Period) -> list[str]:
    found = days_with_requests(_shelf(_settings).days(period.from_ns, period.to_ns))
    return [day.isoformat() for day in reversed(found)]


@st.cache_resource(ttl=PAST_S, max_entries=2, show_spinner=False, refresh_mode="background")
def _of_past_day(key: str, _settings: Settings, name: str) -> Listed:
    return _requests(_settings, name)


@st.cache_resource(ttl=KEPT_S, max_entries=1, show_spinner=False, refresh_mode="background")
def _of_day(key: str, _settings: Settings, name: str) -> Listed:
    return _requests(_settings, name)


def _requests(settings: Settings, name: str) -> Listed:
    begin, end = day_span(settings, name)
    (day, *later) = _shelf(settings).days(begin, day_at(end, settings.zone).to_ns)
    rows = requests(day, later[0] if later else None)
    return rows, choices(rows)


@st.cache_resource(
    ttl=KEPT_S, max_entries=8, show_spinner="Looking it up …", refresh_mode="background"
)
def _one(
    key: str, _settings: Settings, name: str, source: str, event_id: str
) -> tuple[Opened, list[dict[str, Any]]] | None:
    shelf = _shelf(_settings)
    (day,) = shelf.days(*day_span(_settings, name))
    found = opened(shelf, day, source, event_id)
    if found is None:
        return None
    return found, compared_alone(shelf, day, source, event_id)


@st.cache_resource(
    ttl=KEPT_S, max_entries=8, show_spinner="Looking it up …", refresh_mode="background"
)
def _episode(key: str, _settings: Settings, pool: str, from_ns: int, to_ns: int) -> Episode:
    return around(_shelf(_settings), pool, from_ns, to_ns)
