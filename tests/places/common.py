"""What the pages of a month share: their names for things, and rows that stand on each other."""

import datetime as dt
from collections.abc import Iterable, Mapping
from typing import Any

from rig.units import UTC, share, span

Told = Mapping[str, Any]
Rows = list[dict[str, Any]]
NANO = 10**9
NAMES = {"A": "on-A", "B": "on-B"}
MONTHS = {"2026-10": ("Oct ’26", "October 2026"), "2026-11": ("Nov ’26", "November 2026")}
# Bottom to top of a strip, and what a state is called.
STATES = {"busy": "busy", "stranded": "stranded", "headroom": "headroom", "idle": "idle",
          "other": "other use", "off": "off", "unknown": "unknown"}  # fmt: skip
STEPS = {"at_peak": "at peak", "below_peak": "below peak"} | {
    state: name for state, name in STATES.items() if state != "busy"
}


def day_name(day: str) -> str:
    date = dt.date.fromisoformat(day)
    return f"{date:%A}, {date.day} {date:%B %Y}"


def so_far(month: Told) -> str:
    """A month's name where it stands alone."""
    ending = ", so far" if month["period"]["provisional"] else ""
    return MONTHS[month["period"]["name"]][1] + ending


def stacked(states_ns: Mapping[str, int], lane: float, height: float) -> Iterable[dict[str, Any]]:
    """The states of a cell, busy at the bottom of its lane, as high as their shares of its time."""
    foot, every = lane + height, sum(states_ns.values())
    for state, name in STATES.items():
        if ns := states_ns.get(state, 0):
            top = foot - height * ns / every
            yield {"key": state, "state": name, "low": top, "high": foot, "time": span(ns)}
            foot = top


def strips(month: Told) -> Rows:
    """The cards' last day by quarters of an hour, on a ground that is as long as the day."""
    height, rows = 0.78, []
    for number, (card, name) in enumerate(NAMES.items()):
        rows.append({"start": 0, "end": 24, "low": number, "high": number + height})
        for each in month["last_day"]["quarters"]:
            at = dt.datetime.fromisoformat(each["at"]).astimezone(UTC)
            start, ns = at.hour + at.minute / 60, each["states_ns"][card]
            cell = {"card": name, "clock": f"{at:%H:%M}", "start": start}
            cell["end"] = start + sum(ns.values()) / (3600 * NANO)
            rows += [cell | part for part in stacked(ns, number, height)]
    return rows


def days(month: Told) -> Rows:
    """The cards' days, each a cell of nine tenths of its place."""
    height, rows = 0.8, []
    for number, (card, name) in enumerate(NAMES.items()):
        for day in range(1, 32):
            cell = {"start": day - 0.45, "end": day + 0.45}
            rows.append(cell | {"low": number, "high": number + height})
        for each in month["groups"]["card_day"]:
            if each["card"] == card:
                day = int(each["day"][-2:])
                cell = {"card": name, "start": day - 0.45, "end": day + 0.45}
                cell["when"] = day_name(each["day"])
                rows += [
                    cell
                    | part
                    | {"share": share(each["states_ns"][part["key"]] / each["capacity_ns"])}
                    for part in stacked(each["states_ns"], number, height)
                ]
    return rows
