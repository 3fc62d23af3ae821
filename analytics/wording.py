"""Counts, bounds, instants and lengths of time in words."""

import datetime as dt
from collections.abc import Mapping
from typing import Any
from zoneinfo import ZoneInfo

# What stands after a label, by what is known of its figure.
BOUNDS = {
    "exactly": "",
    "at least": ", at least",
    "at most": ", at most",
    "open": ", as far as known",
}


def counted(number: int | None, noun: str) -> str:
    """A count with its noun: "1 request", "1,204 requests"; "requests unknown" without one."""
    if number is None:
        return f"{noun}s unknown"
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def told_tokens(tokens: Mapping[str, int | None], missing_cached: int) -> str:
    """A month's tokens in words; at least so many where some requests told none, and how many
    (`missing_cached`) did not tell what of their input was cached."""
    put_out, told = (
        ("at least " if tokens[name] and tokens.get(f"missing_{name}") else "")
        + counted(tokens[name], f"{name} token")
        for name in ("output", "input")
    )
    return f"{put_out} · {told}, {cached(tokens, missing_cached)}"


def cached(tokens: Mapping[str, int | None], missing: int) -> str:
    """How much of the input was cached, of a month's tokens; so many requests did not tell."""
    if tokens["cache_read"] is None:
        return "their cached part unknown"
    rest = f", unknown for {counted(missing, 'request')}" if missing else ""
    return f"{tokens['cache_read']:,} of them cached{rest}"


def covered(entry: Mapping[str, Any]) -> str:
    """Which requests the bill of a comparison's entry is for: "the same requests", or "5 of 10
    requests" where some could not be priced."""
    if not (entry["unpriced_requests"] and entry["priced_requests"]):
        return "the same requests"
    asked = entry["priced_requests"] + entry["unpriced_requests"]
    return f"{entry['priced_requests']:,} of {counted(asked, 'request')}"


def span(ns: int) -> str:
    """A length of time in the largest unit that it fills."""
    for unit, name in ((3_600, "h"), (60, "min")):
        if ns >= unit * 10**9:
            return f"{ns / unit / 1e9:,.1f} {name}"
    return f"{ns / 1e9:,.1f} s"


def local(instant: str, period: Mapping[str, Any]) -> dt.datetime:
    """An instant of a document, as clocks showed it where its period's days are counted."""
    return dt.datetime.fromisoformat(instant).astimezone(ZoneInfo(period["time_zone"]))


def standing(period: Mapping[str, Any]) -> str:
    """What follows a period's name where it is not over."""
    return " · provisional, still running" if period["provisional"] else ""
