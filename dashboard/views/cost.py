"""Cost: what costs what. The sum first, then the months, then who carries it."""

from typing import Any

import polars as pl
import streamlit as st

from analytics.groups import called
from analytics.overview import Overview
from analytics.render import table
from analytics.render.report import PARTS
from collector.settings import Settings
from dashboard import cost_charts, cost_sentences, loaders, meanings, sentences, words
from dashboard.palette import Palette, palette
from dashboard.views import empty, legend, live
from dashboard.views.kept import kept

KINDS = {
    "Cards": "card",
    "Models": "model",
    "Projects": "project",
    "Sessions": "session",
    "Keys": "key",
}
FIRST = ("Models", "Projects", "Cards")
SHOWN = 10


def show(told: Overview, _trend: list[dict[str, Any]], settings: Settings) -> None:
    """Draw the page."""
    month, colours = told.month, palette(st.context.theme.type == "dark")
    answer(month, settings)
    empty.missing_assumptions(settings)
    months(month, settings, colours)
    who(month, settings, colours)


def answer(month: dict[str, Any], settings: Settings) -> None:
    """What the period cost, and what that is made of."""
    currency, cost = month["currency"], month["cost_nano"]
    least = ", at least" if month["at_least"] else ""
    with st.container(key="answer", gap="small"):
        st.caption(f"What costs what? · {sentences.period(month)}{live.mark(month)}")
        st.metric(f"{currency} in all{least}", words.headline(cost["total"]), help=meanings.COST)
        hardware, electricity = bool(settings.hardware), bool(settings.electricity)
        st.markdown(sentences.cost(month, hardware=hardware, electricity=electricity))
    beyond = ", at least" if month["marginal_at_least"] else ""
    figures = (
        ("busy with requests", month["states_cost_nano"]["busy"], least, meanings.COST_ACTIVE),
        ("electricity beyond idle", month["marginal_cost_nano"], beyond, meanings.COST_MARGINAL),
        ("carried by no request", month["unallocated_cost_nano"], least, meanings.UNALLOCATED),
    )
    for column, (label, nano, bound, meaning) in zip(st.columns(3), figures, strict=True):
        told = "" if nano is None else bound
        column.metric(f"{label}, {currency}{told}", words.cents(nano), help=meaning)
    st.caption(cost_sentences.energy(month), help=meanings.ENERGY)


def months(month: dict[str, Any], settings: Settings, colours: Palette) -> None:
    """The last months by what was paid for."""
    currency = month["currency"]
    st.subheader("Month by month", anchor=False, help=meanings.COST_MONTHS)
    with st.spinner("Adding up the months …"):
        told = loaders.load_cost_months(settings, month)
    st.markdown(cost_sentences.months(told, currency))
    st.vega_lite_chart(
        kept(cost_charts.months)(told, month["period"]["name"], currency, colours),
        theme=None,
        key="cost_months",
        alt="Cost of each month by hardware, electricity and other costs",
    )
    shades = {"capital": colours.capital, "energy": colours.energy, "other": colours.other_cost}
    parts = [
        (shades[part], name, meanings.PARTS[part])
        for part, name in PARTS.items()
        if any(entry["cost_nano"][part] for entry in told)
    ]
    st.html(legend.items(parts, colours))


def who(month: dict[str, Any], settings: Settings, colours: Palette) -> None:
    """Who carries the cost: bars, then every figure as a table."""
    st.subheader("Who carries it", anchor=False, help=meanings.THREE_COSTS)
    # A single bar tells little; where there is a choice, the first that has several.
    first = next((kind for kind in FIRST if len(month["groups"][KINDS[kind]]) > 1), FIRST[0])
    kind = st.segmented_control(
        "Group by", list(KINDS), default=first, key="cost_group", label_visibility="collapsed"
    )
    by = KINDS[kind or first]
    groups = cost_sentences.ranked(month["groups"][by])
    if not groups:
        st.markdown("No request ended in this period.")
        return
    told = [group["name"] for group in groups]
    if by == "card":
        names = loaders.card_names(settings, told)
    else:
        names = {name: called(by, name) for name in told}
    st.markdown(cost_sentences.who(month, by, groups, names))
    rows = cost_charts.price_rows(groups[:SHOWN], names)
    st.vega_lite_chart(
        kept(cost_charts.three_prices)(rows, month["currency"], colours),
        theme=None,
        key="three_prices",
        alt=f"Full, active and marginal cost by {by}",
    )
    prices = [(colours.price(name), name, meanings.PRICES[name]) for name in meanings.PRICES]
    st.html(legend.items(prices, colours))
    figures(month, by, groups, names)


def figures(
    month: dict[str, Any], by: str, groups: list[dict[str, Any]], names: dict[str, str]
) -> None:
    """Every group with its figures, and all of them as a file."""
    costs = [cost_charts.three_costs(group) for group in groups]
    tokens = "emitted_tokens" if by == "card" else "output_tokens"
    columns: dict[str, tuple[list[Any], str]] = {
        "full": ([_money(full) for full, _, _ in costs], meanings.PRICES["full"]),
        "active": ([_money(active) for _, active, _ in costs], meanings.PRICES["active"]),
        "marginal": ([_money(nano) for _, _, nano in costs], meanings.PRICES["marginal"]),
        "output tokens": ([group[tokens] for group in groups], meanings.OUTPUT),
        "requests": ([group["requests"] for group in groups], meanings.GROUPS_REQUESTS),
    }
    if by != "card":
        told = [group["input_tokens"] for group in groups]
        columns["input tokens"] = (told, meanings.INPUT)
    hours = [sum(group["card_time_ns"].values()) / words.HOUR_NS for group in groups]
    columns["card hours"] = (hours, meanings.CARD_TIME)
    money = ("full", "active", "marginal")
    frame = pl.DataFrame(
        {by: [names.get(group["name"], group["name"]) for group in groups]}
        | {
            name: pl.Series(told, dtype=_type(name, money), strict=False)
            for name, (told, _) in columns.items()
        }
    )
    config: dict[str, Any] = {by: st.column_config.TextColumn(by)}
    for name, (_, meaning) in columns.items():
        title = f"{name}, {month['currency']}" if name in money else name
        shown = "%,.2f" if frame[name].dtype == pl.Float64 else "%,d"
        config[name] = st.column_config.NumberColumn(title, format=shown, help=meaning)
    st.dataframe(
        frame,
        hide_index=True,
        column_config=config,
        placeholder=words.UNKNOWN,
        height="auto" if frame.height <= SHOWN else 388,
    )
    st.download_button(
        "Every figure as CSV",
        lambda: table.as_wide_table(groups, month["currency"]),
        file_name=f"cost-by-{by}-{month['period']['name']}.csv",
        mime="text/csv",
        on_click="ignore",
        help=meanings.CSV,
    )


def _type(name: str, money: tuple[str, ...]) -> Any:
    return pl.Float64 if name in money or name == "card hours" else pl.Int64


def _money(nano: int | None) -> float | None:
    return None if nano is None else nano / words.NANO


page = live.page(show)
