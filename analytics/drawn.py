"""The energy that a period drew: at the cards, beyond them and at the wall, and its emissions."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

import polars as pl

from analytics.day import Day
from collector.settings import Settings


def drawn(
    cells: pl.DataFrame, days: list[Day], counted: Mapping[str, Any], settings: Settings
) -> dict[str, Any]:
    """µJ at the cards and beyond them, behind the power supply, and as metered at the wall; what
    of them is `billed`; and the time without a reading of the card. The cards' energy, and their
    `idle_draw` of the time without work, is None where they were up and none told any; the host's,
    of which `unassigned` was drawn while no card was in service, where nothing ever told it, the
    wall's where no meter did."""
    quiet = cells.filter(pl.col("state").is_in(["stranded", "headroom", "idle"]))
    walls = [day.facts["wall_uj"] for day in days if day.facts["wall_uj"] is not None]
    left = _left(days, "uj")
    tells_host = _tells_host(cells, days, counted)
    return {
        "cards": _cards(cells),
        "host": int(cells["host_uj"].sum()) + left if tells_host else None,
        "unassigned": left if tells_host else None,
        "wall": sum(walls) if walls else None,
        "metered": _metered(cells, days) if walls else None,
        "billed": round(billed_uj(days, settings)),
        "idle_draw": _cards(quiet),
        "unknown_ns": counted["energy_unknown_ns"],
    }


def billed_uj(days: Sequence[Day], settings: Settings) -> Fraction:
    """What is paid for since the first tariff, µJ: drawn at the wall, with its overhead; as far as
    it is known. Tariffs change at local midnights, as days do."""
    dated = sorted(settings.electricity, key=lambda entry: entry.from_)
    starts = [settings.midnight_ns(entry.from_) for entry in dated]
    found = Fraction(0)
    for entry, (start, end) in zip(dated, pairwise([*starts, 2**63 - 1]), strict=True):
        priced = [day for day in days if start <= day.from_ns < end]
        uj = sum(int(day.cells[name].sum()) for day in priced for name in ("energy_uj", "host_uj"))
        uj += sum(day.facts["unassigned"]["uj"] for day in priced)
        found += Fraction(uj * entry.overhead_e4, entry.psu_efficiency_e4)
    return found


def _cards(cells: pl.DataFrame) -> int | None:
    """What the cards told that they drew."""
    untold = _were_up(cells) and not cells["known_ns"].sum()
    return None if untold else int(cells["energy_uj"].sum())


def _were_up(cells: pl.DataFrame) -> bool:
    return bool((cells["ns"] - cells["host_off_ns"]).sum())


def _metered(cells: pl.DataFrame, days: list[Day]) -> dict[str, int]:
    """While the wall was metered, µJ: what the power supply gave, and whose it was."""
    return {
        "supplied": sum(day.facts["supplied_uj"] for day in days),
        "cards": sum(day.facts["wall_cards_uj"] for day in days),
        "host": int(cells["host_metered_uj"].sum()),
        "unassigned": _left(days, "metered_uj"),
    }


def _left(days: list[Day], figure: str) -> int:
    """A figure of the energy that was drawn while no card was in service."""
    return sum(int(day.facts["unassigned"][figure]) for day in days)


def _tells_host(cells: pl.DataFrame, days: list[Day], counted: Mapping[str, Any]) -> bool:
    missing = counted["host_undeclared_ns"] + counted["wall_silent_ns"]
    return not missing or int(cells["host_known_ns"].sum()) + _left(days, "known_ns") > 0


def carbon_ug(cells: pl.DataFrame, days: list[Day]) -> int | None:
    """Emissions of the energy that is known, µg; None unless declared for all of it, or where none
    is known though cards were up."""
    told_ns = int(cells["known_ns"].sum()) + int(cells["host_known_ns"].sum())
    if _were_up(cells) and not told_ns + _left(days, "known_ns"):
        return None
    found = cells.filter((pl.col("energy_uj") != 0) | (pl.col("host_uj") != 0))
    left = [day.facts["unassigned"]["carbon_ug"] for day in days]
    if found["carbon_ug"].has_nulls() or None in left:
        return None
    return int(found["carbon_ug"].sum()) + int(sum(left))
