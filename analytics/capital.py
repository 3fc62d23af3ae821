"""Capital: what an asset loses in value, spread over its life by elapsed time."""

import datetime as dt
from collections.abc import Sequence
from itertools import pairwise

import polars as pl

from analytics.allocate import largest_remainder
from analytics.rig import assets_of
from collector.settings import Hardware, Settings


def written_off_nano(asset: Hardware, settings: Settings, at_ns: int) -> int:
    """Straight line: value lost from the in-service instant up to `at_ns`, floored to the nano.

    Spans are differences of this, so any two that meet add up exactly.
    """
    start = settings.midnight_ns(asset.in_service)
    end = settings.midnight_ns(_anniversary(asset.in_service, asset.life_years))
    elapsed = min(max(at_ns, start), end) - start
    return (asset.price_nano - asset.residual_nano) * elapsed // (end - start)


def by_card(
    settings: Settings, capacity: pl.DataFrame, bounds: Sequence[int]
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Each asset's cost per bucket, on its cards by their capacity time in that bucket.

    `capacity` has card, bucket_ns and ns; `bounds` are the buckets' bounds, both ends included.
    Returns (line, card, bucket_ns, nano) and, for cost that met no capacity at all, the
    unassigned (line, bucket_ns, nano).
    """
    amounts = pl.concat([_AMOUNTS, *(_amounts(a, settings, bounds) for a in settings.hardware)])
    carried = pl.DataFrame(
        [
            (asset.name, card)
            for card in capacity["card"].unique()
            for asset in assets_of(settings, card)
        ],
        schema={"line": pl.String, "card": pl.String},
        orient="row",
    )
    places = carried.join(capacity.filter(pl.col("ns") > 0), on="card")
    assigned = amounts.join(places, on=["line", "bucket_ns"])
    share = largest_remainder(
        assigned, amount="nano", weight="ns", by=["line", "bucket_ns"], order=["card"]
    )
    assigned = assigned.with_columns(nano=share).select("line", "card", "bucket_ns", "nano")
    return assigned, amounts.join(places, on=["line", "bucket_ns"], how="anti")


_AMOUNTS = pl.DataFrame(schema={"line": pl.String, "bucket_ns": pl.Int64, "nano": pl.Int64})


def _amounts(asset: Hardware, settings: Settings, bounds: Sequence[int]) -> pl.DataFrame:
    lost = [written_off_nano(asset, settings, at) for at in bounds]
    amounts = [after - before for before, after in pairwise(lost)]
    rows = {"line": [asset.name] * len(amounts), "bucket_ns": list(bounds[:-1]), "nano": amounts}
    return pl.DataFrame(rows, schema=_AMOUNTS.schema).filter(pl.col("nano") != 0)


def _anniversary(day: dt.date, years: int) -> dt.date:
    """The same day `years` later; 29 February becomes 1 March where the year has none."""
    try:
        return day.replace(year=day.year + years)
    except ValueError:
        return dt.date(day.year + years, 3, 1)
