"""The routing part of an opened request: what was weighed, what came of it, what a miss cost."""

from collections.abc import Iterator
from typing import Any

import streamlit as st

from analytics.one_request import Opened
from dashboard import decision_words, words
from dashboard import routing_meanings as meanings


def show(found: Opened, currency: str, places: Iterator[Any]) -> None:
    """Draw it; a request that told no decision has its misses alone."""
    if found.decision is not None:
        _decision(found.decision, places)
    if found.misses:
        _misses(found, currency)


def _decision(told: dict[str, Any], places: Iterator[Any]) -> None:
    st.markdown("**Why it ran here**", help=meanings.DECISION)
    st.markdown(decision_words.decision(told))
    number = st.column_config.NumberColumn
    if told["candidates"]:
        st.dataframe(
            decision_words.candidates(told),
            hide_index=True,
            column_config={
                "was": st.column_config.TextColumn(" "),
                "hit": number("cached, tokens", format="%,d", help=meanings.PREDICTED),
                "pending": number("pending, tokens", format="%,d", help=meanings.PENDING),
                "in flight": number("in flight", format="%,d", help=meanings.IN_FLIGHT),
                "estimate": number("first token, s", format="%,.2f", help=meanings.ESTIMATE),
            },
            placeholder=words.UNKNOWN,
        )
    actual, label, meaning = told["actual_hit_tokens"], "cached, reported", meanings.REPORTED
    if actual is None and told["estimated_hit_tokens"] is not None:
        actual = told["estimated_hit_tokens"]
        label, meaning = "cached, estimated", meanings.ESTIMATED
    figures = (
        ("cached, predicted", words.count(told["hit_tokens"]), meanings.PREDICTED),
        (label, words.count(actual), meaning),
        ("against the quickest other", decision_words.regret(told["regret_ms"]), meanings.REGRET),
    )
    for place, (name, figure, meaning) in zip(places, figures, strict=False):
        place.metric(name, figure, help=meaning)


def _misses(found: Opened, currency: str) -> None:
    st.markdown("**Why its prompt was computed**", help=meanings.MISS)
    st.dataframe(
        decision_words.misses(found.misses),
        hide_index=True,
        column_config={
            "tokens": st.column_config.NumberColumn("tokens", format="%,d"),
            "cost": st.column_config.NumberColumn(f"cost, {currency}", format="%,.6f"),
        },
        width=560,
    )
