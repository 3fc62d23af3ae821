"""An opened request's decision and misses, as people read them; nothing is computed here."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from dashboard import words
from dashboard.request_charts import short
from dashboard.routing_charts import CAUSES
from dashboard.sentences import plain

REASONS = {
    "home": "as the deepest part of this prompt was believed to be cached there",
    "spill": "past the card that had most of this prompt cached, as others would be sooner",
    "cold": "as no card was believed to have more of this prompt than tools and system prompt",
    "balance": "by load alone",
    "pinned": "as something else had chosen it already",
    "health": "as the others were out or had failed it",
}


def decision(told: Mapping[str, Any]) -> str:
    """Who chose what, why, and what a second policy would have done."""
    reason = told["reason"]
    why = REASONS.get(reason or "", f"for the reason {plain(reason)}" if reason else "")
    line = (
        f"**{plain(told['policy'])}** chose **{plain(told['chosen'])}**{', ' if why else ''}{why}."
    )
    if told["shadow"] is None:
        return line
    second = plain(told["shadow_policy"] or "another policy")
    if told["shadow"] == told["chosen"]:
        return f"{line} In the shadow, {second} would have chosen the same."
    return f"{line} In the shadow, {second} would have chosen {plain(told['shadow'])}."


def candidates(told: Mapping[str, Any]) -> pl.DataFrame:
    """The engines that were weighed, as they were then."""
    chosen, shadow = told["chosen"], told["shadow"]
    return pl.DataFrame(
        [
            (
                each["engine"],
                "chosen" if each["engine"] == chosen else "shadow's" if each["engine"] == shadow
                else "",
                each["hit_tokens"],
                each["pending_tokens"],
                each["in_flight"],
                None if each["estimate_ms"] is None else each["estimate_ms"] / 1000,
            )
            for each in told["candidates"]
        ],
        schema={
            "engine": pl.String,
            "was": pl.String,
            "hit": pl.Int64,
            "pending": pl.Int64,
            "in flight": pl.Int64,
            "estimate": pl.Float64,
        },
        orient="row",
    )  # fmt: skip


def regret(ms: int | None) -> str:
    """How much later the first token came than another card was estimated to need."""
    if ms is None:
        return words.UNKNOWN
    if not ms:
        return "none"
    return f"{short(abs(ms) * 1_000_000)} {'later' if ms > 0 else 'sooner'}"


def misses(told: Mapping[str, Mapping[str, int]]) -> pl.DataFrame:
    """Why prompt tokens were computed, with what that took and cost."""
    return pl.DataFrame(
        [
            (CAUSES[cause], sums["tokens"], short(sums["ns"]), sums["nano"] / words.NANO)
            for cause, sums in told.items()
        ],
        schema={
            "why computed": pl.String,
            "tokens": pl.Int64,
            "card time": pl.String,
            "cost": pl.Float64,
        },
        orient="row",
    )
