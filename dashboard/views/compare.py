"""Compare: what an API would have cost, and what the rig saved."""

from collections.abc import Mapping
from typing import Any

import polars as pl
import streamlit as st

from analytics.breakeven import UsedDay
from analytics.wording import BOUNDS
from collector.settings import Settings
from dashboard import (
    beside,
    compare_charts,
    compare_words,
    even_chart,
    loaders,
    meanings,
    payback_chart,
    sentences,
    words,
)
from dashboard.palette import Palette, palette
from dashboard.views import empty, scenarios
from dashboard.views.kept import kept

MARKS = {"no cache": "△", "same hits": "□", "simulated cache": "○"}


def page(settings: Settings, month: str) -> None:
    """The page of one month."""
    try:
        found, average = beside.load(settings, month)
    except loaders.UNREADABLE as error:
        empty.unreadable(settings, error)
        return
    show(found, average, settings)


def show(found: dict[str, Any], average: UsedDay | None, settings: Settings) -> None:
    """Draw a comparison, and what other hours or prices would make of its average day."""
    colours = palette(st.context.theme.type == "dark")
    if not found["sheets"]:
        empty.no_sheets()
        return
    st.caption(f"What would an API cost, what did it save? · {sentences.period(found)}")
    sheet = _chosen(found)
    if not found["tokens"]["requests"]:
        empty.no_requests(sentences.period(found), settings)
    else:
        answer(found, sheet)
        bills(found, sheet, colours)
    payback(found, sheet, colours)
    if found["tokens"]["requests"]:
        even(found, sheet, colours)
        scenarios.show(average, found, sheet, colours)
        trust(sheet)


def _chosen(found: Mapping[str, Any]) -> dict[str, Any]:
    """The sheet that the page is about, kept in the address; the first one unless chosen."""
    names = [sheet["sheet"] for sheet in found["sheets"]]
    name = names[0]
    if len(names) > 1:
        name = st.selectbox("Price sheet", names, key="sheet", bind="query-params", width=420)
    chosen: dict[str, Any] = found["sheets"][names.index(name)]
    return chosen


def answer(found: dict[str, Any], sheet: dict[str, Any]) -> None:
    """Both prices, what was saved, and both in words."""
    currency, prices = found["currency"], found["per_mtok_nano"]
    with st.container(key="answer", gap="small"):
        own, api = st.columns(2)
        own.metric(
            f"{currency} per million output tokens{_told(found, 'full')}",
            words.headline(prices["full"]),
            help=meanings.FULL,
        )
        api.metric(
            sentences.api_label(sheet),
            words.headline(sheet["headline_nano_per_mtok"]),
            help=meanings.API,
        )
        st.markdown(compare_words.answer(found, sheet))
        left_out = sentences.unpriced(sheet)
        if left_out is not None:
            st.caption(left_out)
    *saved, here = st.columns(3, vertical_alignment="bottom")
    for place, (kind, meaning) in zip(saved, meanings.SAVED.items(), strict=True):
        place.metric(*compare_words.saved_tile(sheet, kind, currency), help=meaning)
    here.metric(
        f"marginal price per million{_told(found, 'marginal')}",
        words.headline(prices["marginal"]),
        help=meanings.HERE_OR_THERE,
    )
    told = compare_words.here_or_there(sheet, currency)
    if told is not None:
        st.caption(told)


def _told(found: dict[str, Any], price: str) -> str:
    return BOUNDS[found["per_mtok_bound"][price] or "exactly"]


def bills(found: dict[str, Any], sheet: dict[str, Any], colours: Palette) -> None:
    """Every sheet's three bills beside own cost, as a picture and as a table."""
    st.subheader("The same requests elsewhere", anchor=False)
    st.markdown(
        "Each API's bill for these requests, three ways; the filled mark is the headline. The "
        "lines are what the rig cost."
    )
    if any(entry["headline_nano"] is not None for entry in found["sheets"]):
        st.vega_lite_chart(
            kept(compare_charts.bills)(found, sheet["sheet"], colours),
            theme=None,
            key="bills",
            alt="Bills of each price sheet without a cache, with the same hits and simulated, "
            "beside own full and marginal cost",
        )
        st.html(_legend(colours))
    st.caption(sentences.same_requests(found["currency"], found["sheets"]))
    columns = (
        ("no cache", "no_cache_nano", meanings.BILL_NO_CACHE),
        ("same hits", "same_hits_nano", meanings.BILL_SAME_HITS),
        ("simulated cache", "simulated_nano", meanings.BILL_SIMULATED),
        ("saved, full", "savings_full_nano", meanings.SAVED_FULL),
        ("saved, marginal", "savings_marginal_nano", meanings.SAVED_MARGINAL),
    )
    frame = pl.DataFrame(
        {"API": [entry["sheet"] for entry in found["sheets"]]}
        | {
            title: pl.Series([_amount(entry[key]) for entry in found["sheets"]], dtype=pl.Float64)
            for title, key, _ in columns
        }
        | {"not priced": [entry["unpriced_requests"] for entry in found["sheets"]]}
    )
    config: Any = {
        title: st.column_config.NumberColumn(title, format="%,.2f", help=meaning)
        for title, _, meaning in columns
    }
    config["not priced"] = st.column_config.NumberColumn(
        "requests not priced", format="%,d", help=meanings.UNPRICED
    )
    st.dataframe(frame, hide_index=True, column_config=config, placeholder=words.UNKNOWN)


def _legend(colours: Palette) -> str:
    """The marks and lines of the bills, as HTML."""
    marks = [(mark, name, colours.api) for name, mark in MARKS.items()]
    lines = [("━", "full cost here", colours.own), ("╍", "marginal cost here", colours.own)]
    items = [
        f'<span style="white-space:nowrap"><span style="color:{shade};margin-right:6px">{mark}'
        f"</span>{name}</span>"
        for mark, name, shade in (*marks, *lines)
    ]
    return (
        '<div style="display:flex;flex-wrap:wrap;gap:4px 20px;font-size:0.875rem">'
        f"{''.join(items)}</div>"
    )


def payback(found: dict[str, Any], sheet: dict[str, Any], colours: Palette) -> None:
    """What was saved since the purchase."""
    (months,) = (
        line["months"] for line in found["since_purchase"] if line["sheet"] == sheet["sheet"]
    )
    if not months:
        return
    st.subheader("Saved since the purchase", anchor=False, help=meanings.PAYBACK)
    st.markdown(compare_words.payback(months, sheet["sheet"], found["currency"]))
    st.vega_lite_chart(
        kept(payback_chart.payback)(months, found["currency"], colours),
        theme=None,
        key="payback",
        alt="Savings added up month by month since the purchase, against full and marginal cost",
    )


def even(found: dict[str, Any], sheet: dict[str, Any], colours: Palette) -> None:
    """Where own cost and the bill would meet."""
    curve, meet = found["by_hours"], sheet["break_even"]
    st.subheader("Where the two meet", anchor=False, help=meanings.EVEN)
    st.markdown(compare_words.even(curve, sheet))
    if curve is not None:
        st.vega_lite_chart(
            kept(even_chart.even)(curve, sheet, found["currency"], colours),
            theme=None,
            key="even",
            alt="Full price per million output tokens by active hours a day, and the API's bill",
        )
    if meet is None:
        return
    st.markdown("One thing changed at a time, both would cost the same at:")
    rows = [st.columns(2, wrap=False) for _ in range(3)]
    places = [place for row in rows for place in row]
    for place, axis in zip(places, compare_words.AXES, strict=True):
        label, figure, meaning = compare_words.axis_tile(meet, axis, found["currency"])
        place.metric(label, figure, help=meaning)


def trust(sheet: dict[str, Any]) -> None:
    """What the chosen sheet's figures rest on and leave out."""
    lines = compare_words.rests_on(sheet)
    if lines:
        st.subheader("What this rests on", anchor=False)
        st.markdown("\n".join(f"- {line}" for line in lines))


def _amount(nano: int | None) -> float | None:
    return None if nano is None else nano / words.NANO
