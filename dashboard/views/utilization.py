"""Utilization: what stands idle, and must it. The share first, then when, and how many at once."""

from typing import Any

import polars as pl
import streamlit as st

from analytics.overview import Overview
from analytics.render import table
from collector.settings import Settings
from dashboard import calendars, loaders, meanings, sentences, usage_charts, usage_sentences, words
from dashboard.palette import STATE_WORDS, STATES, Palette, palette
from dashboard.views import empty, legend, live
from dashboard.views.kept import kept


def show(told: Overview, _trend: list[dict[str, Any]], settings: Settings) -> None:
    """Draw the page."""
    month, colours = told.month, palette(st.context.theme.type == "dark")
    if not month["capacity_ns"]:
        st.subheader("No card in service", anchor=False)
        st.markdown(
            f"In {sentences.period(month)} no card was in service, so nothing could stand idle."
        )
        return
    answer(month)
    if not month["tokens"]["requests"]:
        empty.no_requests(sentences.period(month), settings)
    layers(month, colours)
    names = loaders.card_names(settings, [card["name"] for card in month["groups"]["card"]])
    days(month, names, colours)
    week(month, colours)
    at_once(month, colours)
    gap(month)
    cards(month, names)


def answer(month: dict[str, Any]) -> None:
    """How much of the cards was busy, and what the rest did."""
    left = {each["name"]: each["left"] for each in month["layers"]["chain"]}
    with st.container(key="answer", gap="small"):
        st.caption(f"What stands idle, and must it? · {sentences.period(month)}{live.mark(month)}")
        st.metric("of the cards busy", words.share(left["occupancy"]), help=meanings.BUSY_SHARE)
        st.markdown(f"{usage_sentences.answer(month)} {usage_sentences.dearest(month)}")


def layers(month: dict[str, Any], colours: Palette) -> None:
    """From what the cards can do to what they did, with what each loss costs."""
    st.subheader("From what they could to what they did", anchor=False, help=meanings.CHAIN)
    st.markdown(
        "Each bar is what the layer leaves of the one above; what it loses is part of the price "
        f"of a million output tokens, in {month['currency']}."
    )
    st.vega_lite_chart(
        kept(usage_charts.chain)(month["layers"]["chain"], month["currency"], colours),
        theme=None,
        key="chain",
        alt="What is left of the cards' capacity after each layer",
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


def days(month: dict[str, Any], names: dict[str, str], colours: Palette) -> None:
    """Each card's month, day by day."""
    told = month["groups"]["card_day"]
    st.subheader("Day by day", anchor=False, help=meanings.MONTH_STRIPS)
    st.markdown(usage_sentences.days(month))
    st.vega_lite_chart(
        kept(calendars.month_strips)(told, names, month["period"]["name"], colours),
        theme=None,
        key="month_strips",
        alt="State of each card by day of the month",
    )
    st.html(legend.states([s for s in STATES if month["states_ns"][s]], colours))


def week(month: dict[str, Any], colours: Palette) -> None:
    """The hours of the week by busy share."""
    hours = month["groups"]["weekday_hour"]
    st.subheader("The week", anchor=False, help=meanings.WEEK)
    st.markdown(usage_sentences.week(hours))
    st.vega_lite_chart(
        kept(calendars.week)(hours, month["period"]["time_zone"], colours),
        theme=None,
        key="week",
        alt="Busy share of the cards' time by hour and weekday",
    )
    st.caption(
        "Percent of the cards' time; the busier, the fuller the colour; hatched: nobody watched."
    )


def at_once(month: dict[str, Any], colours: Palette) -> None:
    """How many requests each pool had at once."""
    st.subheader("How many at once", anchor=False, help=meanings.AT_ONCE)
    for number, pool in enumerate(month["headroom"]["concurrency"]):
        st.markdown(usage_sentences.at_once(pool))
        if pool["worked_ns"]:
            st.vega_lite_chart(
                kept(usage_charts.at_once)(pool, colours),
                theme=None,
                key=f"at_once_{number}",
                alt="Hours by the number of requests at once",
            )
    if (slo := month["headroom"]["slo"]) is None:
        st.caption(
            "No target is declared: with `ttft_p95_seconds` under `[slo]` in the settings file "
            "this page tells how many engines it takes."
        )
        return
    for pool in month["headroom"]["needed"]:
        st.markdown(
            usage_sentences.needed(pool, slo["ttft_p95_ms"], month["currency"]),
            help=meanings.NEEDED,
        )


def gap(month: dict[str, Any]) -> None:
    """What half and twice the active gap would tell."""
    told = month["active_gap"]
    states, own = month["states_ns"], month["layers"]
    rows = [
        (told["half"], "half"),
        (
            {
                "gap_ns": told["gap_ns"],
                "headroom_ns": states["headroom"],
                "idle_ns": states["idle"],
                "hours": own["hours"],
                "occupancy": own["occupancy"],
            },
            "as set",
        ),
        (told["twice"], "twice"),
    ]
    st.subheader("What rests on the active gap", anchor=False, help=meanings.GAP)
    st.markdown(usage_sentences.gap(month))
    st.table(
        {
            "gap": [f"{words.minutes(row['gap_ns'])}, {name}" for row, name in rows],
            "headroom": [words.hours(row["headroom_ns"]) for row, _ in rows],
            "idle": [words.hours(row["idle_ns"]) for row, _ in rows],
            "hours": [words.share(row["hours"]) for row, _ in rows],
            "occupancy": [words.share(row["occupancy"]) for row, _ in rows],
        }
    )


def cards(month: dict[str, Any], names: dict[str, str]) -> None:
    """Every card's hours by state, its layers and its cost; and all figures as a file."""
    groups = month["groups"]["card"]
    st.subheader("Every card", anchor=False, help=meanings.EVERY_CARD)
    st.markdown("How each card passed its hours, what the three layers left, and what it cost.")
    shown = [state for state in STATES if month["states_ns"][state]]
    ratios = ("hours", "occupancy", "throughput")
    columns: dict[str, list[Any]] = {"card": [names[group["name"]] for group in groups]}
    for state in shown:
        columns[f"{state}_h"] = [group["states_ns"][state] / words.HOUR_NS for group in groups]
    for ratio in ratios:
        columns[ratio] = [group["layers"][ratio] for group in groups]
    columns["cost"] = [group["cost_nano"] / words.NANO for group in groups]
    number = st.column_config.NumberColumn
    config: dict[str, Any] = {
        f"{state}_h": number(
            f"{STATE_WORDS[state]}, h", format="%,.2f", help=meanings.STATES[state].capitalize()
        )
        for state in shown
    }
    helps = (meanings.HOURS, meanings.OCCUPANCY, meanings.THROUGHPUT)
    for ratio, meaning in zip(ratios, helps, strict=True):
        config[ratio] = number(ratio, format="percent", help=meaning)
    config["cost"] = number(f"cost, {month['currency']}", format="%,.2f", help=meanings.CARD_COST)
    frame = pl.DataFrame(columns, strict=False)
    st.dataframe(frame, hide_index=True, column_config=config, placeholder=words.UNKNOWN)
    st.download_button(
        "Every figure as CSV",
        lambda: table.as_wide_table(groups, month["currency"]),
        file_name=f"cards-{month['period']['name']}.csv",
        mime="text/csv",
        on_click="ignore",
        help=meanings.CSV,
    )


page = live.page(show)
