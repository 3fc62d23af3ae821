"""A month in words: the answer, where the money went, the layers, who used it, what to doubt.

`blocks` is what the report says, in no format; `as_text` lays it out as plain text.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

HOUR_NS = 3_600_000_000_000
STEPS = {
    "at_peak": "at peak",
    "below_peak": "below peak",
    "stranded": "stranded",
    "headroom": "headroom",
    "idle": "idle",
    "off": "off",
    "other": "other use",
    "unknown": "unknown",
    "unassigned": "no card in service",
}
SHOWN_GROUPS = 10


class Row(NamedTuple):
    """A label and its figures, already in words and with their units."""

    label: str
    values: tuple[str, ...]


class Note(str):
    """A remark that stands for itself below a block's heading."""

    __slots__ = ()


Part = str | Note | Row
Block = list[Part]


def blocks(month: dict[str, Any]) -> list[Block]:
    """The report in its order; money in the currency, four decimals for prices.

    The first block is the title and its sentences; in the others a plain string is a heading.
    """
    parts = [
        _head(month),
        _money(month),
        _waterfall(month),
        _states(month),
        _layers(month),
        _groups(month),
        _compare(month),
        _quality(month),
    ]
    return [block for block in map(list, parts) if block]


def as_text(month: dict[str, Any]) -> str:
    """One page of plain text."""
    return "\n\n".join("\n".join(map(_line, block)) for block in blocks(month))


def _line(part: Part) -> str:
    if isinstance(part, Row):
        return f"  {part.label:<30}" + "  ".join(f"{value:>16}" for value in part.values)
    return f"  {part}" if isinstance(part, Note) else part


def _head(month: dict[str, Any]) -> Iterable[Part]:
    period, tokens = month["period"], month["tokens"]
    provisional = " · provisional, still running" if period["provisional"] else ""
    yield f"{month['rig']} · {period['name']} · {period['time_zone']}{provisional}"
    price = month["cost_per_mtok"]["full"]["output"]
    if price is None:
        yield "No output tokens in this period, so a million of them has no price."
    else:
        yield f"{_amount(price)} {month['currency']} per million output tokens, everything included"
    yield (
        f"{tokens['requests']:,} requests · {tokens['output']:,} output tokens ·"
        f" {tokens['input']:,} input tokens, {tokens['cache_read']:,} of them cached"
    )


def _money(month: dict[str, Any]) -> Iterable[Part]:
    cost, prices = month["cost_nano"], month["cost_per_mtok"]
    yield f"Cost in {month['currency']}"
    for name in ("capital", "energy", "total"):
        yield _row(name, f"{cost[name] / 1e9:,.2f}")
    yield "Per million output tokens"
    labels = {
        "full": "full (all cost)",
        "active": "active (busy share)",
        "marginal": "marginal (energy above idle)",
    }
    for name, label in labels.items():
        yield _row(label, _amount(prices[name]["output"]))


def _waterfall(month: dict[str, Any]) -> Iterable[Part]:
    steps = month["waterfall_nano_per_mtok"]
    if steps is None:
        return
    yield "Where it went, per million output tokens"
    for step in steps:
        if step["nano_per_mtok"]:
            yield _row(STEPS[step["step"]], _amount(step["nano_per_mtok"]))
    yield _row("=", _amount(sum(step["nano_per_mtok"] for step in steps)))


def _states(month: dict[str, Any]) -> Iterable[Part]:
    yield f"Card-hours, and what they cost in {month['currency']}"
    cost = month["states_cost_nano"]
    for state, ns in month["states_ns"].items():
        if ns or cost[state]:
            yield _row(state, f"{ns / HOUR_NS:,.2f} h", f"{cost[state] / 1e9:,.2f}")
    yield _row("=", f"{month['capacity_ns'] / HOUR_NS:,.2f} h", f"{_total(month):,.2f}")


def _total(month: dict[str, Any]) -> float:
    nano: int = month["cost_nano"]["total"] - month["states_cost_nano"]["unassigned"]
    return nano / 1e9


def _layers(month: dict[str, Any]) -> Iterable[Part]:
    layers = month["layers"]
    yield "Layers: hours × occupancy × throughput × what the cards could do = output tokens"
    for name in ("hours", "occupancy", "throughput"):
        yield _row(name, "unknown" if layers[name] is None else f"{layers[name]:.1%}")
    for card, peak in layers["peak"].items():
        when = f", {peak['from'][:16]}" if peak["from"] else ""
        yield _row(
            f"peak of {card}", f"{peak['tokens_per_second']:,.1f} tok/s", f"{peak['source']}{when}"
        )


def _groups(month: dict[str, Any]) -> Iterable[Part]:
    yield f"By project, in {month['currency']}: busy cost, and full cost with its share of the rest"
    rows = month["groups"]["project"]
    for group in rows[:SHOWN_GROUPS]:
        yield _row(
            group["name"],
            f"{group['requests']:,} requests",
            f"{group['busy_cost_nano'] / 1e9:,.2f}",
            f"{group['full_cost_nano'] / 1e9:,.2f}",
        )
    if len(rows) > SHOWN_GROUPS:
        yield Note(f"and {len(rows) - SHOWN_GROUPS} more; --format json has them all")


def _compare(month: dict[str, Any]) -> Iterable[Part]:
    if not month["compare"]:
        return
    yield f"The same requests at an API's declared prices, in {month['currency']}"
    for entry in month["compare"]:
        yield _row(entry["name"], "same hits", f"{entry['same_hits_nano'] / 1e9:,.2f}")
        yield _row("", "no cache", f"{entry['no_cache_nano'] / 1e9:,.2f}")
        yield _row("", "saved, full", f"{entry['savings_full_nano'] / 1e9:+,.2f}")
        if entry["savings_marginal_nano"] is not None:
            yield _row("", "saved, marginal", f"{entry['savings_marginal_nano'] / 1e9:+,.2f}")
        if entry["unpriced_requests"]:
            yield _row("", f"{entry['unpriced_requests']:,} requests could not be priced")


def _quality(month: dict[str, Any]) -> Iterable[Part]:
    yield "To doubt"
    flags = month["quality"]["flags"]
    yield from (Note(flag) for flag in flags or ["nothing that the books can see"])


def _row(label: str, *values: str) -> Row:
    return Row(label, values)


def _amount(nano: int | None) -> str:
    return "unknown" if nano is None else f"{nano / 1e9:,.4f}"
