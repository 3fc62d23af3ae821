"""Loads for the compare page: own cost of a month beside price sheets, and what it rests on."""

import time
from typing import Any

import streamlit as st

from analytics.breakeven import UsedDay
from analytics.compare import named
from analytics.comparison import comparison
from analytics.periods import Period, month_of
from analytics.read import Ledger
from analytics.shelf import Shelf
from analytics.what_if import average_day
from collector.settings import Settings

KEPT_S = 60


def load(settings: Settings, month: str) -> tuple[dict[str, Any], UsedDay | None]:
    """The month's comparison on the sheets of the settings, as `rigledger compare --json` has it,
    and its average day (`what_if.average_day`).

    Raises what reading a ledger may raise (`loaders.UNREADABLE`).
    """
    return _comparison(repr(settings), settings, month_of(month, settings.zone))


# `key` only tells the cache when the settings have changed.
@st.cache_resource(
    ttl=KEPT_S, max_entries=12, show_spinner="Comparing …", refresh_mode="background"
)
def _comparison(
    key: str, _settings: Settings, period: Period
) -> tuple[dict[str, Any], UsedDay | None]:
    shelf = Shelf(Ledger(_settings.store_path()), _settings, time.time_ns())
    found = comparison(shelf, period, list(dict.fromkeys(named(_settings))))
    return found, average_day(shelf, period)
