"""Overview: is this rig worth it. The answer first, then where the money and the day went."""

from typing import Any
from zoneinfo import ZoneInfo

import streamlit as st

from analytics.overview import Overview
from analytics.price_bounds import bound_of
from analytics.wording import BOUNDS
from collector.settings import Settings
from dashboard import charts, compare_words, loaders, meanings, sentences, strips, words
from dashboard.palette import Palette, palette
from dashboard.sentences import plain
from dashboard.views import empty, legend, live
from dashboard.views import overview_details as details
from dashboard.views.kept import kept


def show(told: Overview, trend: list[dict[str, Any]], settings: Settings) -> None:
    """Draw an overview."""
    month, colours = told.month, palette(st.context.theme.type == "dark")
    if month["tokens"]["requests"]:
        answer(month, trend, settings, colours)
    else:
        empty.no_requests(sentences.period(month), settings)
    empty.missing_assumptions(settings)
    money(month, settings, colours)
    day(told, settings, colours)
    details.layers(month)
    details.elsewhere(month)
    details.groups(month)
    details.quality(month)
    details.report(month, settings)


def answer(
    month: dict[str, Any], trend: list[dict[str, Any]], settings: Settings, colours: Palette
) -> None:
    """The headline pair, the verdict in words, what was saved, and the months."""
    currency = month["currency"]
    sheet = month["compare"][0] if month["compare"] else None
    prices = month["cost_per_mtok"]
    with st.container(key="answer", gap="small"):
        st.caption(f"Is this rig worth it? · {sentences.period(month)}{live.mark(month)}")
        own, api = st.columns(2)
        own.metric(
            f"{currency} per million output tokens{BOUNDS[bound_of(month, 'full')]}",
            words.headline(prices["full"]["output"]),
            help=meanings.FULL,
        )
        if sheet is not None:
            api.metric(
                sentences.api_label(sheet),
                words.headline(sheet["headline_nano_per_mtok"]),
                help=meanings.API,
            )
        st.markdown(sentences.answer(month, sheet))
        if sheet is not None:
            for told in (sentences.even(sheet), sentences.unpriced(sheet)):
                if told is not None:
                    st.caption(told)
    left, right = st.columns([3, 2], gap="large")
    with left:
        _figures(month, sheet)
    with right:
        _trend(month, trend, colours)


def _figures(month: dict[str, Any], sheet: dict[str, Any] | None) -> None:
    currency, prices = month["currency"], month["cost_per_mtok"]
    rows = [st.columns(2, wrap=False, vertical_alignment="bottom") for _ in range(3)]
    if sheet is not None:
        for place, (kind, meaning) in zip(rows[0], meanings.SAVED.items(), strict=True):
            place.metric(*compare_words.saved_tile(sheet, kind, currency), help=meaning)
    rows[1][0].metric(
        f"active price per million{BOUNDS[bound_of(month, 'active')]}",
        words.headline(prices["active"]["output"]),
        help=meanings.ACTIVE,
    )
    rows[1][1].metric(
        f"marginal price per million{BOUNDS[bound_of(month, 'marginal')]}",
        words.headline(prices["marginal"]["output"]),
        help=meanings.MARGINAL,
    )
    rows[2][0].metric("output tokens", words.count(month["tokens"]["output"]), help=meanings.OUTPUT)
    rows[2][1].metric(
        "requests", words.count(month["tokens"]["requests"]), help=meanings.GROUPS_REQUESTS
    )


def _trend(month: dict[str, Any], trend: list[dict[str, Any]], colours: Palette) -> None:
    names = [plain(sheet["sheet"]) for sheet in month["compare"]]
    st.markdown("**Month by month**", help=meanings.TREND)
    st.vega_lite_chart(
        kept(charts.trend)(trend, month["period"]["name"], month["currency"], colours),
        theme=None,
        width="content",
        key="trend",
        alt="Full price per million output tokens by month",
    )
    beside = f"; the marks across them: {' and '.join(names)}" if names else ""
    st.caption(f"Bars: this rig's full price{beside}.")


def money(month: dict[str, Any], settings: Settings, colours: Palette) -> None:
    """The waterfall and the parts of the cost."""
    currency, steps = month["currency"], month["waterfall_nano_per_mtok"]
    st.subheader("Where the money went", anchor=False, help=meanings.WATERFALL)
    if steps and any(step["nano_per_mtok"] for step in steps):
        st.markdown(sentences.where(steps, currency))
        st.vega_lite_chart(
            kept(charts.waterfall)(steps, currency, colours),
            theme=None,
            key="waterfall",
            alt="Full price per million output tokens, by what the cards were doing",
        )
    hardware, electricity = bool(settings.hardware), bool(settings.electricity)
    told = sentences.cost(month, hardware=hardware, electricity=electricity)
    st.markdown(told, help=meanings.COST)
    cost = month["cost_nano"]
    if hardware and electricity and cost["total"] and min(cost.values()) >= 0:
        st.vega_lite_chart(
            kept(charts.cost_split)(cost, currency, colours),
            theme=None,
            key="cost_split",
            alt="Hardware, electricity and other costs as parts of the cost",
        )


def day(told: Overview, settings: Settings, colours: Palette) -> None:
    """The cards' day: state strips, their legend, the largest stranded episode."""
    month = told.month
    names = loaders.card_names(settings, sorted(told.strips["card"].unique()))
    span = loaders.day_span(settings, told.strips_day)
    zone = ZoneInfo(month["period"]["time_zone"])
    st.subheader("The cards' day", anchor=False, help=meanings.STRIPS)
    if told.strips.is_empty():
        st.markdown("No card has a recorded day in this period.")
        return
    st.markdown(
        f"{words.day_name(told.strips_day)}: "
        "what each card did in every quarter of an hour, by share of its time."
    )
    st.vega_lite_chart(
        kept(strips.day_strips)(told.strips, names, span, zone, colours),
        theme=None,
        key="strips",
        alt="State of each card in 15-minute cells",
    )
    st.html(legend.states(set(told.strips["state"]), colours))
    st.markdown(sentences.stranded(month, told.strips_day, names, zone), help=meanings.STRANDED)


page = live.page(show)
