"""The overview's lower half: layers, bills elsewhere, groups, and how far to trust it all."""

from typing import Any

import polars as pl
import streamlit as st

from analytics.groups import called
from collector.closed import DamagedClosing
from collector.settings import Settings
from dashboard import keep, loaders, meanings, sentences, words
from dashboard.sentences import plain


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


def elsewhere(month: dict[str, Any]) -> None:
    """The bills for the same requests at the configured APIs."""
    if not month["compare"] or not month["tokens"]["requests"]:
        return
    currency = month["currency"]
    st.subheader("The same requests elsewhere", anchor=False)
    st.markdown(sentences.elsewhere(month))
    st.caption(sentences.same_requests(currency, month["compare"]))
    columns = (
        ("simulated cache", "simulated_nano", meanings.BILL_SIMULATED),
        ("same hits", "same_hits_nano", meanings.BILL_SAME_HITS),
        ("no cache", "no_cache_nano", meanings.BILL_NO_CACHE),
        ("saved, full", "savings_full_nano", meanings.SAVED_FULL),
        ("saved, marginal", "savings_marginal_nano", meanings.SAVED_MARGINAL),
        ("output only, per million", "output_only_nano_per_mtok", meanings.OUTPUT_ONLY),
    )
    frame = pl.DataFrame(
        {"API": [sheet["sheet"] for sheet in month["compare"]]}
        | {
            title: pl.Series([_amount(sheet[key]) for sheet in month["compare"]], dtype=pl.Float64)
            for title, key, _ in columns
        }
        | {"not priced": [sheet["unpriced_requests"] for sheet in month["compare"]]}
    )
    config: Any = {
        title: st.column_config.NumberColumn(title, format="%,.2f", help=meaning)
        for title, _, meaning in columns
    }
    config["not priced"] = st.column_config.NumberColumn(
        "requests not priced", format="%,d", help=meanings.UNPRICED
    )
    st.dataframe(frame, hide_index=True, column_config=config, placeholder=words.UNKNOWN)


def groups(month: dict[str, Any]) -> None:
    """Who used the rig: models, projects, sessions with tokens and money."""
    kinds = {"Models": "model", "Projects": "project", "Sessions": "session"}
    if not month["tokens"]["requests"]:
        return
    currency = month["currency"]
    st.subheader("Who used it", anchor=False)
    st.markdown("For what and whom the rig worked, and their share of what it cost.")
    kind = st.segmented_control(
        "Group by", list(kinds), default="Models", key="group", label_visibility="collapsed"
    )
    by = kinds[kind or "Models"]
    rows = month["groups"][by]
    frame = pl.DataFrame(
        {
            "name": [called(by, row["name"]) for row in rows],
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
        column_order=("name", "full", "busy", "output", "requests"),
        placeholder=words.UNKNOWN,
        height="auto" if frame.height <= 10 else 388,
        column_config={
            "name": st.column_config.TextColumn(kind or "Models"),
            "requests": number("requests", format="%,d", help=meanings.GROUPS_REQUESTS),
            "output": number("output tokens", format="%,d", help=meanings.OUTPUT),
            "busy": number(f"busy cost, {currency}", format="%,.2f", help=meanings.GROUPS_BUSY),
            "full": number(f"full cost, {currency}", format="%,.2f", help=meanings.GROUPS_FULL),
        },
    )


def quality(month: dict[str, Any]) -> None:
    """What is not known, and which figures that touches."""
    st.subheader("How far to trust this", anchor=False, help=meanings.QUALITY)
    lines = sentences.quality(month)
    st.markdown("\n".join(f"- {line}" for line in lines) if lines else sentences.NO_FLAGS)


def report(month: dict[str, Any], settings: Settings) -> None:
    """The last full month's report, or that of the month on the page, as a file to keep."""
    try:
        name = keep.month_to_keep(settings, month["period"]["name"])
    except DamagedClosing as error:
        st.subheader("The month's report", anchor=False)
        st.error(plain(f"{error}."))
        return
    if name is None:
        return
    config = loaders.config_path()
    st.subheader("The month's report", anchor=False, help=meanings.REPORT)
    st.markdown("The month on one page that opens anywhere: to keep, to send, to print.")
    st.download_button(
        f"Save the report of {words.month_name(name)} (HTML)",
        lambda: keep.as_file(config, name),
        file_name=f"report-{name}.html",
        mime="text/html",
        icon=":material/download:",
        on_click="ignore",
    )


def _amount(nano: int | None) -> float | None:
    return None if nano is None else nano / words.NANO
