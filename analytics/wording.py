"""Counts, instants and lengths of time in words."""

import datetime as dt
from collections.abc import Mapping
from typing import Any
from zoneinfo import ZoneInfo


def counted(number: int | None, noun: str) -> str:
    """A count with its noun: "1 request", "1,204 requests"; "requests unknown" without one."""
    if number is None:
        return f"{noun}s unknown"
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def cached(tokens: Mapping[str, int | None]) -> str:
    """How much of the input was cached, of a month's tokens."""
    if tokens["cache_read"] is None:
        return "their cached part unknown"
    return f"{tokens['cache_read']:,} of them cached"


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
