"""The requests page's sentences and tables, from a day's attempts; nothing is computed here."""

import datetime as dt
from collections.abc import Mapping
from typing import Any

import polars as pl

from analytics.requests import NAME
from dashboard import words
from dashboard.request_charts import second, short
from dashboard.sentences import plain

STATUS = {
    "ok": "ok",
    "client_abort": "client left",
    "upstream_error": "engine failed",
    "timeout": "timed out",
}
KINDS = {
    "new": "new input",
    "recomputed": "recomputed input",
    "output": "output",
    "unsplit": "not told apart",
}


def name_of(row: Mapping[str, Any]) -> str:
    """An attempt's name in the address: `source/event_id`."""
    return "/".join(str(row[part]) for part in NAME)


def table(rows: pl.DataFrame, cards: Mapping[str, str], zone: dt.tzinfo) -> pl.DataFrame:
    """The attempts as people read them."""
    return pl.DataFrame(
        [
            (
                second(row["received_ns"], zone) if row["received_ns"] is not None else None,
                _units(row["took_ns"]),
                STATUS.get(row["status"], row["status"]) if not row["ends_later"] else "goes on",
                row["model"],
                row["project"],
                row["session"],
                cards.get(row["card"], row["card"]),
                row["input_tokens"],
                row["cache_read_tokens"],
                row["output_tokens"],
                _units(row["nano"]),
            )
            for row in rows.iter_rows(named=True)
        ],
        schema={
            "arrived": pl.String,
            "took": pl.Float64,
            "status": pl.String,
            "model": pl.String,
            "project": pl.String,
            "session": pl.String,
            "card": pl.String,
            "input": pl.Int64,
            "cached": pl.Int64,
            "output": pl.Int64,
            "cost": pl.Float64,
        },
        orient="row",
    )


def rest(shown: int, every: int) -> str | None:
    """What the table leaves out."""
    if shown >= every:
        return None
    return (
        f"The first {words.count(shown)} of {words.count(every, 'row')} are shown, and all are "
        "counted above. Narrow the filters to see the others."
    )


def what(attempt: Mapping[str, Any], cards: Mapping[str, str], zone: dt.tzinfo) -> str:
    """What it was, in a sentence."""
    names = " and ".join(cards.get(card, card) for card in attempt["cards"])
    place = f"on {plain(names)}" if names else "on no card that the books know"
    ended = {
        "ok": "and was answered",
        "client_abort": "and its client left",
        "upstream_error": "and the engine failed",
        "timeout": "and timed out",
    }.get(attempt["status"], "")
    of = [f"{label} {plain(attempt[label])}" for label in ("model", "project", "session")
          if attempt[label]]  # fmt: skip
    told = f"It arrived at {second(attempt['received_ns'], zone)}, ran {place} {ended}".strip()
    again = "" if attempt["is_request"] else " Another try of the same request is the one counted."
    return f"{told}. {', '.join(of)[:1].upper()}{', '.join(of)[1:]}.{again}"


def money(attempt: Mapping[str, Any], currency: str) -> str:
    """What it cost and of what that is made."""
    if attempt["nano"] is None:
        return "What it cost is unknown: no card of the rig is known to have worked on it."
    decimals = words.decimals_for(attempt["nano"])
    used, drawn, paid = words.parts(
        [attempt[f"{category}_nano"] for category in ("capital", "energy", "other")], decimals
    )
    other = f", {paid} other costs" if attempt["other_nano"] else ""
    whole = f"{words.cents(attempt['nano'], decimals)} {currency}"
    return f"It cost **{whole}**: {used} hardware, {drawn} electricity{other}."


def kinds(attempt: Mapping[str, Any]) -> pl.DataFrame:
    """Card time and money by kind, without those that took none."""
    return pl.DataFrame(
        [
            (label, short(attempt[f"{kind}_ns"]), attempt[f"{kind}_nano"] / words.NANO)
            for kind, label in KINDS.items()
            if attempt[f"{kind}_ns"] or attempt[f"{kind}_nano"]
        ],
        schema={"for": pl.String, "card time": pl.String, "cost": pl.Float64},
        orient="row",
    )


def neighbours(left_out: int) -> str | None:
    """Which neighbours are not drawn."""
    if not left_out:
        return None
    return f"{words.count(left_out, 'neighbour')} further away are not drawn."


def _units(nano: int | None) -> float | None:
    """Nano-units, of time or money, as a number for a table."""
    return None if nano is None else nano / words.NANO
