"""The cards' time by card and day, by weekday and hour, and by quarter hour of a day: what the
calendars and the strips show."""

import datetime as dt
from typing import Any

import polars as pl

from analytics.day import Day
from analytics.states import STATES
from collector.clock import from_ns as instant

CALENDARS = ("card_day", "weekday_hour")
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


def calendars(fine: pl.DataFrame) -> dict[str, list[dict[str, Any]]]:
    """The groups of `CALENDARS`, in order of time, from cells by card, day, hour and state.

    Each has its states' time; `busy_share` is busy ÷ the time that is not unknown, None where all
    of it is. `card_day` also has its states' cost. `weekday` counts from Monday as 1.
    """
    day = dict.fromkeys(fine["day"])
    weekdays = {name: dt.date.fromisoformat(name).isoweekday() for name in day}
    fine = fine.with_columns(weekday=pl.col("day").replace_strict(weekdays, return_dtype=pl.Int64))
    return {
        "card_day": [
            {"name": f"{card} {day}", "card": card, "day": day, **_time(part), **_cost(part)}
            for (card, day), part in _parts(fine, "card", "day")
        ],
        "weekday_hour": [
            {"name": f"{WEEKDAYS[number - 1]} {hour}", "weekday": number, "hour": hour}
            | _time(part)
            for (number, hour), part in _parts(fine, "weekday", "hour")
        ],
    }


def quarters(day: Day) -> dict[str, Any]:
    """A day's name and its quarter hours: `states_ns` has by card the states of any length."""
    found: dict[int, dict[str, dict[str, int]]] = {}
    cells = day.cells.group_by("bucket_ns", "card", "state").agg(pl.col("ns").sum())
    for at, card, state, ns in cells.filter(pl.col("ns") > 0).sort(pl.all()).iter_rows():
        found.setdefault(at, {}).setdefault(card, {})[state] = ns
    told = [{"at": instant(at).isoformat(), "states_ns": cards} for at, cards in found.items()]
    return {"name": day.name, "quarters": told}


def _parts(fine: pl.DataFrame, *by: str) -> list[tuple[Any, dict[str, tuple[int, int]]]]:
    """Time and cost by state of each group, in order of its names."""
    found: dict[Any, dict[str, tuple[int, int]]] = {}
    for *key, state, ns, nano in fine.group_by(*by, "state").agg(pl.col("ns", "nano").sum()).rows():
        found.setdefault(tuple(key), {})[state] = (ns, nano)
    return sorted(found.items())


def _time(part: dict[str, tuple[int, int]]) -> dict[str, Any]:
    states_ns = {state: part.get(state, (0, 0))[0] for state in STATES}
    capacity = sum(states_ns.values())
    known = capacity - states_ns["unknown"]
    return {
        "capacity_ns": capacity,
        "states_ns": states_ns,
        "busy_share": states_ns["busy"] / known if known else None,
    }


def _cost(part: dict[str, tuple[int, int]]) -> dict[str, Any]:
    return {"states_cost_nano": {state: part.get(state, (0, 0))[1] for state in STATES}}
