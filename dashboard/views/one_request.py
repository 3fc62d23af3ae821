"""One request: its bar among its neighbours, its tokens, its money, and its bills elsewhere."""

from typing import Any

import polars as pl
import streamlit as st

from analytics.one_request import Opened
from collector.settings import Settings
from dashboard import meanings, request_charts, request_words, words
from dashboard.palette import Palette
from dashboard.routing_meanings import ESTIMATED
from dashboard.views import decision
from dashboard.views.kept import kept
from dashboard.views.places import four_places


def show(
    found: Opened,
    bills: list[dict[str, Any]],
    settings: Settings,
    cards: dict[str, str],
    colours: Palette,
) -> None:
    """Draw it."""
    attempt = found.attempt
    st.markdown(request_words.what(attempt, cards, settings.zone))
    _figures(attempt)
    if attempt["cards"]:
        _line(found, settings, cards, colours)
    _money(attempt, settings.rig.currency)
    decision.show(found, settings.rig.currency, four_places())
    _bills(bills, settings.rig.currency)


def _figures(attempt: dict[str, Any]) -> None:
    times = (
        ("took", attempt["took_ns"], meanings.TOOK),
        ("waited", attempt["wait_ns"], meanings.WAITED),
        ("to the first token", attempt["first_ns"], meanings.FIRST),
        ("card time", attempt["ns"], meanings.CARD_TIME),
    )
    for place, (label, ns, meaning) in zip(four_places(), times, strict=True):
        told = words.UNKNOWN if ns is None else request_charts.short(ns)
        place.metric(label, told, help=meaning)
    guessed = attempt["cached_is_estimated"]
    cached = ("cached, estimated", ESTIMATED) if guessed else ("cached", meanings.CACHED)
    tokens = (
        ("new input tokens", "fresh_tokens", meanings.NEW),
        ("recomputed", "recomputed_tokens", meanings.RECOMPUTED),
        (cached[0], "cache_read_tokens", cached[1]),
        ("output tokens", "output_tokens", meanings.GENERATED),
    )
    for place, (label, name, meaning) in zip(four_places(), tokens, strict=True):
        place.metric(label, words.count(attempt[name]), help=meaning)


def _line(found: Opened, settings: Settings, cards: dict[str, str], colours: Palette) -> None:
    st.markdown("**On its card's time line**", help=meanings.LINE)
    st.vega_lite_chart(
        kept(request_charts.timeline)(found, cards, settings.zone, colours),
        theme=None,
        key="timeline",
        alt="The request and its neighbours on the card's time line, and the power beneath",
    )
    st.html(_legend(found, colours))
    left = request_words.neighbours(found.left_out)
    if left is not None:
        st.caption(left)


def _legend(found: Opened, colours: Palette) -> str:
    """The phases that bars may show, each with its colour, as HTML."""
    items = [
        f'<span style="white-space:nowrap"><span style="display:inline-block;width:12px;'
        f"height:12px;border-radius:3px;border:1px solid {colours.line};background:{shade};"
        f'margin-right:6px;vertical-align:-1px"></span>{phase}</span>'
        for phase, shade in (
            *request_charts.phase_colours(colours).items(),
            ("power", colours.energy),
        )
    ]
    return (
        '<div style="display:flex;flex-wrap:wrap;gap:4px 20px;font-size:0.875rem">'
        f"{''.join(items)}</div>"
    )


def _money(attempt: dict[str, Any], currency: str) -> None:
    st.markdown(request_words.money(attempt, currency), help=meanings.REQUEST_COST)
    if attempt["nano"] is None:
        return
    kinds = request_words.kinds(attempt)
    if not kinds.is_empty():
        config = {
            "cost": st.column_config.NumberColumn(f"cost, {currency}", format="%,.6f"),
            "card time": st.column_config.TextColumn("card time", help=meanings.CARD_TIME),
        }
        st.dataframe(kinds, hide_index=True, column_config=config, width=460)


def _bills(bills: list[dict[str, Any]], currency: str) -> None:
    if not bills:
        return
    st.markdown("**The same request elsewhere**", help=meanings.REQUEST_BILLS)
    columns = (
        ("no cache", "no_cache_nano", meanings.BILL_NO_CACHE),
        ("same hits", "same_hits_nano", meanings.BILL_SAME_HITS),
        ("simulated cache", "simulated_nano", meanings.BILL_SIMULATED),
    )
    frame = pl.DataFrame(
        {"API": [bill["sheet"] for bill in bills]}
        | {
            title: pl.Series([_amount(bill[key]) for bill in bills], dtype=pl.Float64)
            for title, key, _ in columns
        }
        | {"why not": pl.Series([bill["why"] or "" for bill in bills], dtype=pl.String)}
    )
    config: Any = {
        title: st.column_config.NumberColumn(f"{title}, {currency}", format="%,.6f", help=meaning)
        for title, _, meaning in columns
    }
    if not any(bill["why"] for bill in bills):
        frame = frame.drop("why not")
    st.dataframe(frame, hide_index=True, column_config=config, placeholder=words.UNKNOWN)


def _amount(nano: int | None) -> float | None:
    return None if nano is None else nano / words.NANO
