"""A page of one month: read, drawn, and renewed in place while the month runs."""

from collections.abc import Callable
from typing import Any

import streamlit as st

from analytics.overview import Overview
from collector.settings import Settings
from dashboard import loaders
from dashboard.views import empty

Show = Callable[[Overview, list[dict[str, Any]], Settings], None]


def page(show: Show) -> Callable[[Settings, str], None]:
    """The page that `show` draws from a month and the months before it."""

    def load_and_show(settings: Settings, month: str) -> None:
        try:
            told, trend = loaders.load_month(settings, month)
        except loaders.UNREADABLE as error:
            empty.unreadable(settings, error)
            return
        show(told, trend, settings)

    def run(settings: Settings, month: str) -> None:
        every = loaders.REFRESH_S if loaders.is_running(settings, month) else None
        st.fragment(load_and_show, run_every=every)(settings, month)

    return run


def mark(month: dict[str, Any]) -> str:
    """What stands behind the name of a month that renews itself."""
    return " :small[:green[● live]]" if month["period"]["provisional"] else ""
