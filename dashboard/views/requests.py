"""Requests: what happened to this one. A day's requests as a table, and one of them opened."""

from functools import partial
from typing import Any

import polars as pl
import streamlit as st

from analytics.groups import NONE, called
from analytics.requests import ORDERS, Wanted, chosen, first, totals
from collector.settings import Settings
from dashboard import loaders, lookups, meanings, request_words, words
from dashboard.palette import palette
from dashboard.routing_charts import NOWHERE
from dashboard.views import empty, one_request
from dashboard.views.places import four_places

ROWS = 200
OPENED, LISTED = "request", "listed"


def page(settings: Settings, month: str) -> None:
    """The page of one month: a day of it, its requests, and the one that is opened."""
    try:
        days = lookups.days(settings, month)
        if not days:
            empty.no_requests(words.month_name(month), settings)
            return
        st.caption("What happened to this one?")
        with st.container(horizontal=True):
            day = _day(days)
            hours = st.slider("Hours", 0, 24, (0, 24), key="hours", bind="query-params", width=260)
        show(settings, day, *lookups.of_day(settings, day), hours)
    except loaders.UNREADABLE as error:
        empty.unreadable(settings, error)


def _day(days: list[str]) -> str:
    chosen = st.selectbox("Day", days, key="day", bind="query-params", width=170, on_change=_close)
    return chosen or days[0]


def show(
    settings: Settings,
    day: str,
    rows: pl.DataFrame,
    choices: lookups.Choices,
    hours: tuple[int, int],
) -> None:
    """Filters, sums and table of a day, and the opened request."""
    currency, cards = settings.rig.currency, _cards(settings, choices)
    looked_at = chosen(rows, _wanted(choices, cards, hours), settings.zone)
    sums = totals(looked_at)
    st.markdown(f"**{words.day_name(day)}**")
    figures = (
        ("requests", words.count(sums["requests"]), meanings.DAY_REQUESTS),
        ("output tokens", words.count(sums["output_tokens"]), meanings.OUTPUT),
        (f"{currency} that day", words.headline(sums["nano"]), meanings.DAY_COST),
    )
    for place, (label, figure, meaning) in zip(four_places(), figures, strict=False):
        place.metric(label, figure, help=meaning)
    order = st.segmented_control(
        "First", ORDERS, default=ORDERS[0], key="first", bind="query-params"
    )
    listed = first(looked_at, order or ORDERS[0], ROWS)
    if listed.is_empty():
        st.markdown("No request of this day is what the filters ask for; clear one of them.")
    else:
        _table(listed, cards, settings)
    left = request_words.rest(len(listed), len(looked_at))
    if left is not None:
        st.caption(left)
    _opened(settings, day, cards)


def _cards(settings: Settings, choices: lookups.Choices) -> dict[str, str]:
    told = [engine_card for engine in settings.engines for engine_card in engine.gpus]
    found = [card for card in choices["card"] if card != NONE]
    return loaders.card_names(settings, dict.fromkeys([*told, *found]))


def _wanted(choices: lookups.Choices, cards: dict[str, str], hours: tuple[int, int]) -> Wanted:
    """The filters, kept in the address."""
    asked: dict[str, Any] = {}
    named = {"card": {**cards, NONE: NOWHERE}, "status": request_words.STATUS}
    with st.container(horizontal=True):
        for label, options in choices.items():
            asked[label] = st.selectbox(
                label.capitalize(),
                options,
                index=None,
                format_func=partial(_shown, named.get(label, {NONE: called(label, NONE)})),
                placeholder="any",
                key=label,
                bind="query-params",
                width=170,
            )
    begin, end = hours
    return Wanted(**asked, from_hour=begin, to_hour=end)


def _shown(names: dict[str, str], value: str) -> str:
    return names.get(value, value)


def _table(listed: pl.DataFrame, cards: dict[str, str], settings: Settings) -> None:
    st.session_state[LISTED] = [request_words.name_of(row) if not row["ends_later"] else None
                                for row in listed.iter_rows(named=True)]  # fmt: skip
    number, currency = st.column_config.NumberColumn, settings.rig.currency
    st.caption(
        "What each request took and cost. Tick a row to open it; by keyboard, Shift and Space "
        "tick it."
    )
    st.dataframe(
        request_words.table(listed, cards, settings.zone),
        hide_index=True,
        height="auto" if len(listed) <= 10 else 388,
        key="table",
        on_select=_open,
        selection_mode="single-row",
        placeholder=words.UNKNOWN,
        column_config={
            "took": number("took, s", format="%,.1f", help=meanings.TOOK),
            "input": number("input tokens", format="%,d"),
            "cached": number("of it cached", format="%,d", help=meanings.CACHED),
            "output": number("output tokens", format="%,d", help=meanings.GENERATED),
            "cost": number(f"cost, {currency}", format="%,.5f", help=meanings.REQUEST_COST),
        },
    )


def _open() -> None:
    """A row was ticked."""
    rows = st.session_state["table"].selection.rows
    name = st.session_state[LISTED][rows[0]] if rows else None
    if name is not None:
        st.session_state[OPENED] = name


def _close() -> None:
    st.session_state[OPENED] = ""


def _opened(settings: Settings, day: str, cards: dict[str, str]) -> None:
    """The request that was ticked or that the address names; its name is kept in the address."""
    asked = st.query_params.get(OPENED, "")
    name = st.session_state.setdefault(OPENED, asked)
    if not name:
        st.query_params.pop(OPENED, None)
        return
    if name != asked:
        st.query_params[OPENED] = name
    source, _, event_id = name.partition("/")
    found = lookups.one(settings, day, source, event_id)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.subheader("One request", anchor=False, width="stretch")
        st.button("Close", key="close", on_click=_close)
    if found is None:
        st.markdown("No request of this name ended on this day; choose its day, or close it.")
        return
    opened, bills = found
    one_request.show(opened, bills, settings, cards, palette(st.context.theme.type == "dark"))
