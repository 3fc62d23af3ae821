"""The machine's figures by card, by day and by hour of the day, from the cells of the books.

A group of cells has everything that the whole period has: states, cost, card time, layers and
waterfall. Its tokens are those put out in its time (`emitted`), None where nobody told any; its
requests are those that ended in it, and one on several cards counts at the first of them.
"""

from typing import Any

import polars as pl

from analytics import marginal
from analytics.calendar_groups import calendars
from analytics.day import Day, spent
from analytics.emitted import put_out
from analytics.rollup import KINDS, known_sum
from analytics.states import STATES
from analytics.utilization import Layers, Peak, layers, steps
from collector.settings import Settings

PLACES = ("card", "day", "hour")
_FIGURES = ["ns", "nano", "unattributed_ns", "untold", *(f"{kind}_ns" for kind in KINDS)]
Exact = list[tuple[str, Layers, int | None]]  # a group's name, its layers, the tokens they give


def machine_groups(
    days: list[Day], found: dict[str, Peak], settings: Settings
) -> tuple[dict[str, list[dict[str, Any]]], Exact]:
    """The groups of `PLACES` in order of their names and their calendars (`calendars`), and the
    layers of the former unrounded.

    `hour` is the local hour of the day, "00" to "23"; where a clock is set back its hour has both.
    """
    fine = pl.concat([placed(day.cells.with_columns(nano=spent()), day, settings) for day in days])
    fine = fine.group_by(*PLACES, "state").agg(
        pl.col(_FIGURES).sum(), known_sum(pl.col("emitted_tokens")), *marginal.sums()
    )
    ends = pl.concat([placed(day.ends, day, settings) for day in days])
    told: dict[str, list[dict[str, Any]]] = {}
    exact: Exact = []
    for place in PLACES:
        counts = ends.drop_nulls(place).group_by(place).agg(pl.col("requests").sum())
        requests: dict[str, int] = dict(counts.iter_rows())
        told[place] = []
        parts = {str(key[0]): part for key, part in fine.partition_by(place, as_dict=True).items()}
        # A request may have run on a card that was not in service yet.
        for name in sorted(parts | requests):
            part = parts.get(name, fine.clear())
            tokens: int | None = part.select(put_out()).item()
            ratios = layers(part.select("card", "state", "ns"), found, tokens)
            exact.append((f"{place} {name}", ratios, tokens))
            row = _row(part, ratios, tokens)
            told[place].append({"name": name, "requests": requests.get(name, 0), **row})
    return {**told, **calendars(fine)}, exact


def placed(frame: pl.DataFrame, day: Day, settings: Settings) -> pl.DataFrame:
    """A frame with bucket_ns, with its local `day` and `hour`: no bucket reaches across an hour,
    as every zone's offset is a multiple of 15 minutes."""
    at = pl.from_epoch("bucket_ns", time_unit="ns").dt.replace_time_zone("UTC")
    hour = at.dt.convert_time_zone(settings.zone.key).dt.strftime("%H")
    return frame.with_columns(day=pl.lit(day.name), hour=hour)


def _row(part: pl.DataFrame, ratios: Layers, tokens: int | None) -> dict[str, Any]:
    by_state = part.group_by("state").agg(pl.col("ns", "nano").sum())
    rows = {state: (ns, nano) for state, ns, nano in by_state.iter_rows()}
    states_ns = {state: rows.get(state, (0, 0))[0] for state in STATES}
    states_cost = {state: rows.get(state, (0, 0))[1] for state in STATES}
    run = {name: _sum(part, name) for name in marginal.MARGINAL}
    return {
        "emitted_tokens": tokens,
        "capacity_ns": sum(states_ns.values()),
        "states_ns": states_ns,
        "cost_nano": sum(states_cost.values()),
        "states_cost_nano": states_cost,
        "card_time_ns": {kind: _sum(part, f"{kind}_ns") for kind in KINDS},
        "unattributed_ns": _sum(part, "unattributed_ns"),
        **marginal.figure(run, states_ns["busy"]),
        "layers": ratios.as_floats(),
        "waterfall_nano_per_mtok": steps(states_cost, ratios.throughput, tokens),
    }


def _sum(part: pl.DataFrame, column: str) -> int:
    return int(part[column].sum())
