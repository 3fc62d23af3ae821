"""The pages' entry: what all of them share (title, rig, month), then the chosen page."""

import time
from collections.abc import Callable
from pathlib import Path

import streamlit as st

from collector.demo.rig import RIG
from collector.settings import Settings, SettingsError
from dashboard import loaders, sentences, words
from dashboard.pages import PAGES
from dashboard.views import (
    closed,
    compare,
    cost,
    empty,
    first,
    overview,
    requests,
    routing,
    utilization,
)
from dashboard.views import settings as settings_page

MARK = Path(__file__).with_name("mark.svg")


def main() -> None:
    """Draw the header and run the chosen page."""
    st.set_page_config(page_title="rigledger", page_icon=str(MARK), layout="wide")
    first.begin()
    runs = (_overview, _cost, _utilization, _compare, _routing, _requests, _settings)
    pages = [
        st.Page(run, title=name.capitalize(), url_path=name, default=name == PAGES[0])
        for name, run in zip(PAGES, runs, strict=True)
    ]
    st.navigation(pages, position="top").run()


def _overview() -> None:
    _of_a_month(overview.page)


def _cost() -> None:
    _of_a_month(cost.page)


def _utilization() -> None:
    _of_a_month(utilization.page)


def _compare() -> None:
    _of_a_month(compare.page)


def _routing() -> None:
    _of_a_month(routing.page)


def _requests() -> None:
    _of_a_month(requests.page)


def _settings() -> None:
    settings_page.run(lambda settings: header(settings, None))


def _of_a_month(page: Callable[[Settings, str], None]) -> None:
    """A page over the chosen month, or what is in its way."""
    try:
        settings = loaders.settings()
    except SettingsError as error:
        st.error(f"{error}")
        return
    now_ns = time.time_ns()
    if not loaders.has_ledger(settings):
        header(settings, None)
        empty.no_ledger(settings)
        return
    try:
        months = _months(settings, now_ns)
    except loaders.UNREADABLE as error:
        header(settings, None)
        empty.unreadable(settings, error)
        return
    chosen = header(settings, months)
    if chosen is not None:
        above = st.container()  # filled last: the figures do not wait for it
        page(settings, chosen)
        with above:
            closed.note(settings, chosen)


def _months(settings: Settings, now_ns: int) -> list[str]:
    """The months to choose from; the first look at a ledger takes a moment and says so."""
    if st.session_state.get("seen"):
        return loaders.months(settings, now_ns)
    with st.spinner("Reading the ledger …"):
        months = loaders.months(settings, now_ns)
        loaders.load_month(settings, months[0])
    st.session_state["seen"] = True
    return months


def header(settings: Settings, months: list[str] | None) -> str | None:
    """The rig's name and, with a ledger, the choice of month, kept in the address."""
    with st.container(
        horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"
    ):
        with st.container(horizontal=True, vertical_alignment="center", width="content", key="rig"):
            st.markdown(f"**rigledger** · {sentences.plain(settings.rig.name)}", width="content")
            if settings.rig.name == RIG:
                st.badge("DEMO", color="orange", help="A made-up rig with a made-up ledger.")
        if months is None:
            return None
        # A page has an address and widgets of its own; what was chosen goes along.
        asked = st.query_params.get("month")
        meant = asked or st.session_state.get("chosen")
        chosen = st.selectbox(
            "Month",
            months,
            index=months.index(meant) if meant in months else 0,
            format_func=words.month_name,
            key="month",
            label_visibility="collapsed",
            width=190,
        )
        if chosen is not None and asked != chosen:
            st.query_params["month"] = chosen
        st.session_state["chosen"] = chosen
        return chosen


main()
