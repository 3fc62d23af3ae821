"""Overview: is this rig worth it. The answer first, then where the money and the day went."""

import datetime as dt
from typing import Any

import polars as pl
import streamlit as st
from analytics.overview import Overview

from collector.settings import Settings
from dashboard import charts, loaders, meanings, sentences, strips, words
from dashboard.palette import STATE_WORDS, STATES, Palette, palette
from dashboard.sentences import plain
from dashboard.views import empty


def page(settings: Settings, chosen: loaders.Period) -> None:
    """The page of one month; a running month renews itself in place."""
    every = loaders.REFRESH_S if chosen.running else None
    st.fragment(_load_and_show, run_every=every)(settings, chosen)


def _load_and_show(settings: Settings, chosen: loaders.Period) -> None:
    show(loaders.load_overview(settings, chosen), settings)


def show(told: Overview, settings: Settings) -> None:
    """Draw an overview."""
    month, colours = told.month, palette(st.context.theme.type == "dark")
    if month["tokens"]["requests"]:
        answer(told, colours)
    else:
        empty.no_requests(sentences.period(month), settings)
    empty.missing_assumptions(settings)
    money(month, colours)
    day(told, colours)
    layers(month)
    groups(month)
    quality(month)


def answer(told: Overview, colours: Palette) -> None:
    """The headline pair, the verdict in words, what was saved, and the months."""
    month, currency = told.month, told.month["currency"]
    sheet = month["compare"][0] if month["compare"] else None
    prices = month["cost_per_mtok"]
    live = " :small[:green[● live]]" if month["period"]["provisional"] else ""
    with st.container(key="answer", gap="small"):
        st.caption(f"Is this rig worth it? · {sentences.period(month)}{live}")
        own, api = st.columns(2)
        own.metric(
            f"{currency} per million output tokens",
            words.headline(prices["full"]["output"]),
            help=meanings.FULL,
        )
        if sheet is not None:
            api.metric(
                f"the same requests at {plain(sheet['name'])}, same cache hits",
                words.headline(_api_price(told, sheet["name"])),
                help=meanings.API,
            )
        st.markdown(sentences.answer(month, sheet))
    left, right = st.columns([3, 2], gap="large")
    with left:
        _figures(month, sheet)
    with right:
        _trend(told, colours)


def _figures(month: dict[str, Any], sheet: dict[str, Any] | None) -> None:
    currency, prices = month["currency"], month["cost_per_mtok"]
    rows = st.columns(2), st.columns(2), st.columns(2)
    if sheet is not None:
        rows[0][0].metric(
            f"saved against full cost, {currency}",
            words.change(sheet["savings_full_nano"]),
            help=meanings.SAVED_FULL,
        )
        rows[0][1].metric(
            f"saved against marginal cost, {currency}",
            words.change(sheet["savings_marginal_nano"]),
            help=meanings.SAVED_MARGINAL,
        )
    rows[1][0].metric(
        "active price per million",
        words.headline(prices["active"]["output"]),
        help=meanings.ACTIVE,
    )
    rows[1][1].metric(
        "marginal price per million",
        words.headline(prices["marginal"]["output"]),
        help=meanings.MARGINAL,
    )
    rows[2][0].metric("output tokens", words.count(month["tokens"]["output"]), help=meanings.OUTPUT)
    rows[2][1].metric(
        "requests", words.count(month["tokens"]["requests"]), help=meanings.GROUPS_REQUESTS
    )


def _trend(told: Overview, colours: Palette) -> None:
    names = [plain(sheet["name"]) for sheet in told.month["compare"]]
    st.markdown("**Month by month**", help=meanings.TREND)
    st.altair_chart(
        charts.trend(told.trend, told.month["currency"], colours),
        theme=None,
        width="content",
        key="trend",
        alt="Full price per million output tokens by month",
    )
    beside = f"; the marks are {' and '.join(names)}" if names else ""
    st.caption(f"Bars are this rig's full price{beside}.")


def money(month: dict[str, Any], colours: Palette) -> None:
    """The waterfall and the two parts of the cost."""
    currency, steps = month["currency"], month["waterfall_nano_per_mtok"]
    st.subheader("Where the money went", anchor=False, help=meanings.WATERFALL)
    if steps and any(step["nano_per_mtok"] for step in steps):
        st.markdown(sentences.where(steps, currency))
        st.altair_chart(
            charts.waterfall(steps, currency, colours),
            theme=None,
            key="waterfall",
            alt="Full price per million output tokens, by what the cards were doing",
        )
    st.markdown(sentences.cost(month), help=meanings.COST)
    if month["cost_nano"]["total"]:
        st.altair_chart(
            charts.cost_split(month["cost_nano"], currency, colours),
            theme=None,
            key="cost_split",
            alt="Hardware and electricity as parts of the cost",
        )


def day(told: Overview, colours: Palette) -> None:
    """The cards' day: state strips, their legend, the largest stranded episode."""
    month = told.month
    zone = words.zone(month["period"]["time_zone"])
    st.subheader("The cards' day", anchor=False, help=meanings.STRIPS)
    if told.strips.is_empty():
        st.markdown("No card has a recorded day in this period.")
        return
    date = dt.date.fromisoformat(told.strips_day)
    start, end = (
        int(dt.datetime.combine(at, dt.time(), tzinfo=zone).timestamp()) * words.NANO
        for at in (date, date + dt.timedelta(days=1))
    )
    st.markdown(
        f"{words.day_name(told.strips_day)}: "
        "what each card did in every quarter of an hour, by share of its time."
    )
    st.altair_chart(
        strips.day_strips(told.strips, start, end, zone, colours),
        theme=None,
        key="strips",
        alt="State of each card in 15-minute cells",
    )
    st.html(legend(told.strips, colours))
    st.markdown(sentences.stranded(told.stranded, month["currency"], zone), help=meanings.STRANDED)


def legend(frame: pl.DataFrame, colours: Palette) -> str:
    """The states that the strips show, each with its colour and its meaning, as HTML."""
    shown = set(frame["state"].unique().to_list())
    items = []
    for state in STATES:
        if state not in shown:
            continue
        fill = colours.states[state]
        if state == "unknown":
            fill = (
                f"repeating-linear-gradient(135deg, {colours.hatch} 0 2px, "
                f"{colours.hatch_ground} 2px 5px)"
            )
        items.append(
            f'<span style="white-space:nowrap"><span style="display:inline-block;width:14px;'
            f"height:14px;border-radius:3px;vertical-align:-2px;border:1px solid {colours.line};"
            f'background:{fill};margin-right:6px"></span>{STATE_WORDS[state]}</span>'
            f'<span style="color:{colours.quiet}">&ensp;{meanings.STATES[state]}</span>'
        )
    cells = "".join(f"<div>{item}</div>" for item in items)
    return (
        '<div style="display:grid;grid-template-columns:repeat(auto-fill,minmax(270px,1fr));'
        f'gap:4px 20px;font-size:0.875rem">{cells}</div>'
    )


def layers(month: dict[str, Any]) -> None:
    """The three ratios between what the cards could and what they did."""
    st.subheader("What lowers the output", anchor=False)
    st.markdown(
        "Three ratios lie between what the cards could produce and what they did; "
        "each is a share of the one before."
    )
    told = (
        ("hours", "Hours", meanings.HOURS),
        ("occupancy", "Occupancy", meanings.OCCUPANCY),
        ("throughput", "Throughput", meanings.THROUGHPUT),
    )
    for column, (name, title, meaning) in zip(st.columns(3), told, strict=True):
        with column:
            st.metric(title, words.share(month["layers"][name]), help=meaning)
            st.caption(sentences.layer(name, month))


def groups(month: dict[str, Any]) -> None:
    """Who used the rig: models, projects, sessions with tokens and money."""
    kinds = {"Models": "model", "Projects": "project", "Sessions": "session"}
    if not month["tokens"]["requests"]:
        return
    currency = month["currency"]
    st.subheader("Who used it", anchor=False)
    kind = st.segmented_control(
        "Group by", list(kinds), default="Models", key="group", label_visibility="collapsed"
    )
    rows = month["groups"][kinds[kind or "Models"]]
    frame = pl.DataFrame(
        {
            "name": [row["name"] for row in rows],
            "requests": [row["requests"] for row in rows],
            "output": [row["output_tokens"] for row in rows],
            "busy": [_amount(row["busy_cost_nano"]) for row in rows],
            "full": [_amount(row["full_cost_nano"]) for row in rows],
        },
        schema={
            "name": pl.String,
            "requests": pl.Int64,
            "output": pl.Int64,
            "busy": pl.Float64,
            "full": pl.Float64,
        },
    )
    number = st.column_config.NumberColumn
    st.dataframe(
        frame,
        hide_index=True,
        height="auto" if frame.height <= 10 else 388,
        column_config={
            "name": st.column_config.TextColumn(kind or "Models"),
            "requests": number("requests", format="localized", help=meanings.GROUPS_REQUESTS),
            "output": number("output tokens", format="localized", help=meanings.OUTPUT),
            "busy": number(f"busy cost, {currency}", format="%.2f", help=meanings.GROUPS_BUSY),
            "full": number(f"full cost, {currency}", format="%.2f", help=meanings.GROUPS_FULL),
        },
    )


def quality(month: dict[str, Any]) -> None:
    """What is not known, and which figures that touches."""
    st.subheader("How far to trust this", anchor=False, help=meanings.QUALITY)
    lines = sentences.quality(month)
    st.markdown("\n".join(f"- {line}" for line in lines) if lines else sentences.NO_FLAGS)


def _api_price(told: Overview, name: str) -> int | None:
    key = sentences.month_key(told.month)
    for entry in told.trend:
        if entry["month"] == key:
            price: int | None = entry["compare"].get(name)
            return price
    return None


def _amount(nano: int | None) -> float | None:
    return None if nano is None else nano / words.NANO
