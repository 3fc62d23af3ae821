"""A month in words: the answer, where the money went, the layers, who used it, what to doubt.

`sections` are what the report says, in no format; `as_text` lays it out as plain text.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from analytics.groups import called
from analytics.price_bounds import bound_of
from analytics.render import change, compare, headroom, routing
from analytics.render.parts import Block, Note, Part, Row, as_lines
from analytics.render.rounding import in_units, percent
from analytics.wording import BOUNDS, counted, local, standing, told_tokens

HOUR_NS = 3_600_000_000_000
PARTS = {"capital": "hardware", "energy": "electricity", "other": "other costs"}
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
MEANINGS = {
    "full": "(all cost)",
    "active": "(busy share)",
    "marginal": "(electricity beyond idle)",
}
SHOWN_GROUPS = 10


def sections(month: dict[str, Any]) -> dict[str, Block]:
    """The report by name, in its order; money in the currency, four decimals for prices.

    The first is the title and its sentences; in the others a plain string is a heading. Parts are
    rounded so that they add up to their sum as printed; what is empty is left out.
    """
    parts = {
        "head": _head(month),
        "restated": _restated(month),
        "money": _money(month),
        "waterfall": _waterfall(month),
        "change": change.section(month),
        "states": _states(month),
        "layers": _layers(month),
        "gaps": _gaps(month),
        "headroom": headroom.section(month),
        "groups": _groups(month),
        "routing": routing.section(month),
        "compare": compare.section(month),
        "quality": _quality(month),
    }
    return {name: block for name, part in parts.items() if (block := list(part))}


def blocks(month: dict[str, Any]) -> list[Block]:
    """The report in its order, without names."""
    return list(sections(month).values())


def as_text(month: dict[str, Any]) -> str:
    """One page of plain text."""
    return as_lines(blocks(month))


def _head(month: dict[str, Any]) -> Iterable[Part]:
    period, tokens = month["period"], month["tokens"]
    stands = standing(period)
    if month.get("closed"):
        stands = f" · closed {local(month['closed']['at'], period):%Y-%m-%d}"
    yield f"{month['rig']} · {period['name']} · {period['time_zone']}{stands}"
    yield _answer(month)
    told = told_tokens(tokens, month["quality"]["missing_cached"])
    yield f"{counted(tokens['requests'], 'request')} · {told}"


def _answer(month: dict[str, Any]) -> str:
    price, reasons = month["cost_per_mtok"]["full"]["output"], month["at_least"]
    if price is None and month["tokens"]["output"] is None:
        return "What a million output tokens cost is unknown: no request told how many it put out."
    if price is None:
        return "No output tokens in this period, so a million of them has no price."
    if reasons and not price:
        return f"What a million output tokens cost is unknown: {'; '.join(reasons)}."
    told = f"{_amount(price)} {month['currency']} per million output tokens"
    why = f"({counted(month['quality']['missing_output'], 'request')} told no output)"
    return {
        "exactly": f"{told}, everything included",
        "at least": f"at least {told}",
        "at most": f"at most {told} {why}",
        "open": f"{told}, as far as cost and tokens are known {why}",
    }[bound_of(month, "full")]


def _restated(month: dict[str, Any]) -> Iterable[Part]:
    """What a closed month's books tell otherwise now: the figures that people ask for first."""
    for entry in month.get("restated", []):
        filed = ""
        if entry["number"]:
            filed = f"Restatement {entry['number']}, {local(entry['at'], month['period']):%Y-%m-%d}"
        yield filed or "The books now tell otherwise than as closed; all below is as closed"
        told = {each["figure"]: (each["old"], each["new"]) for each in entry["figures"]}
        for name, label, shown in RESTATED:
            if name in told:
                yield _row(label, shown(told[name][0]), f"→ {shown(told[name][1])}")
        more = len(told.keys() - {name for name, _, _ in RESTATED})
        if more:
            yield Note(f"and {more:,} more figures; --format json has them all")
        whys = [each["what"] for each in entry["why"]]
        yield from (Note(f"why: {why}") for why in whys or ["no input that the ledger keeps tells"])
        if not filed:
            yield Note(f"`rigledger close {month['period']['name']} --restate` files this")


def _money(month: dict[str, Any]) -> Iterable[Part]:
    cost, prices, least = month["cost_nano"], month["cost_per_mtok"], bool(month["at_least"])
    parts = month.get("parts_at_least", ("capital", "energy") if least else ())
    # Other costs are known: where none is declared there are none, and no line.
    names = ["capital", "energy", *(["other"] if cost["other"] else [])]
    yield f"Cost in {month['currency']}"
    for name, shown in zip(names, _cents([cost[name] for name in names]), strict=True):
        # A part that nobody has priced or read is not zero.
        known = name not in parts or cost[name]
        yield _row(_least(PARTS[name], name in parts and known), shown if known else "unknown")
    yield _row(_least("total", least), f"{cost['total'] / 1e9:,.2f}")
    if month.get("carbon_ug"):
        yield Note(f"its electricity emitted {month['carbon_ug'] / 1e9:,.2f} kg of CO2")
    if not month["tokens"]["output"]:
        return
    yield "Per million output tokens"
    for name, meaning in MEANINGS.items():
        price, bound = prices[name]["output"], bound_of(month, name)
        # Of a part that nobody has priced or read nothing is known.
        is_known = price is not None and (price or bound in ("exactly", "at most"))
        label = f"{name}{BOUNDS[bound]}" if is_known else name
        yield _row(f"{label} {meaning}", _amount(price if is_known else None))


def _least(label: str, at_least: object) -> str:
    return f"{label}, at least" if at_least else label


def _waterfall(month: dict[str, Any]) -> Iterable[Part]:
    steps = [step for step in month["waterfall_nano_per_mtok"] or [] if step["nano_per_mtok"]]
    if not steps:
        return
    yield "Where it went, per million output tokens"
    amounts = [step["nano_per_mtok"] for step in steps]
    for step, units in zip(steps, in_units(amounts, 100_000), strict=True):
        yield _row(STEPS[step["step"]], f"{units / 1e4:,.4f}")
    yield _row("=", _amount(sum(amounts)))


def _states(month: dict[str, Any]) -> Iterable[Part]:
    cost, ns = month["states_cost_nano"], month["states_ns"]
    names = [name for name in cost if ns.get(name) or cost[name]]
    if not names:
        return
    yield f"Card-hours, and what they cost in {month['currency']}"
    hours = in_units([ns.get(name, 0) for name in names], HOUR_NS // 100)
    money = _cents([cost[name] for name in names])
    for name, spent, amount in zip(names, hours, money, strict=True):
        yield _row(STEPS.get(name, name), f"{spent / 100:,.2f} h" if name in ns else "", amount)
    total = f"{month['cost_nano']['total'] / 1e9:,.2f}"
    yield _row("=", f"{month['capacity_ns'] / HOUR_NS:,.2f} h", total)


def _layers(month: dict[str, Any]) -> Iterable[Part]:
    layers = month["layers"]
    names = ("hours", "occupancy", "throughput")
    if not layers["peak"] and all(layers[name] is None for name in names):
        return
    yield "Layers: hours × occupancy × throughput × what the cards could do = output tokens"
    for name in names:
        yield _row(name, "unknown" if layers[name] is None else percent(layers[name]))
    for card, peak in layers["peak"].items():
        when = f", {local(peak['from'], month['period']):%Y-%m-%d %H:%M}" if peak["from"] else ""
        yield _row(
            f"peak of {card}", f"{peak['tokens_per_second']:,.1f} tok/s", f"{peak['source']}{when}"
        )


def _gaps(month: dict[str, Any]) -> Iterable[Part]:
    """What rests on the choice of the active gap; nothing where no pause is between."""
    gaps, quiet = month["active_gap"], month["states_ns"].get("headroom", 0)
    others = [gaps["half"], gaps["twice"]]
    if all(other["headroom_ns"] == quiet for other in others):
        return
    yield "With another active gap: hours, occupancy, headroom and idle"
    for other in others:
        ratios = (other["hours"], other["occupancy"])
        yield _row(
            _minutes(other["gap_ns"]),
            *("unknown" if ratio is None else percent(ratio) for ratio in ratios),
            *(f"{other[name] / HOUR_NS:,.2f} h" for name in ("headroom_ns", "idle_ns")),
        )


def _minutes(ns: int) -> str:
    return f"{ns / 60e9:g} min"


def _groups(month: dict[str, Any]) -> Iterable[Part]:
    groups = month["groups"]["project"]
    if not groups:
        return
    yield f"By project, in {month['currency']}: busy cost, and full cost with its share of the rest"
    lines = [line for line in (*_shown("project", groups), _unshared(month)) if any(line[1:])]
    busy = _cents([line.busy_nano for line in lines])
    full = _cents([line.full_nano for line in lines])
    for line, *costs in zip(lines, busy, full, strict=True):
        yield _row(line.name, counted(line.requests, "request") if line.requests else "", *costs)
    totals = month["states_cost_nano"]["busy"], month["cost_nano"]["total"]
    yield _row("=", "", *(f"{nano / 1e9:,.2f}" for nano in totals))
    if len(groups) > SHOWN_GROUPS:
        yield Note("--format json tells the dearest 1,000 one by one")


class _Line(NamedTuple):
    """What one or several groups carry."""

    name: str
    requests: int
    busy_nano: int
    full_nano: int


def _shown(label: str, groups: list[dict[str, Any]]) -> Iterator[_Line]:
    """The dearest groups of a label, and the others together."""
    for group in groups[:SHOWN_GROUPS]:
        yield _line(called(label, group["name"]), [group])
    if others := groups[SHOWN_GROUPS:]:
        yield _line(f"{sum(group['groups'] for group in others):,} more", others)


def _line(name: str, groups: list[dict[str, Any]]) -> _Line:
    figures = ("requests", "busy_cost_nano", "full_cost_nano")
    return _Line(name, *(sum(group[figure] for group in groups) for figure in figures))


def _unshared(month: dict[str, Any]) -> _Line:
    """What no request carries: busy time of none in particular, and cards without any."""
    return _Line(
        "of no request", 0, month["unattributed_cost_nano"], month["unallocated_cost_nano"]
    )


def _quality(month: dict[str, Any]) -> Iterable[Part]:
    yield "To doubt"
    flags = month["quality"]["flags"]
    yield from (Note(flag) for flag in flags or ["nothing that the books can see"])


def _row(label: str, *values: str) -> Row:
    return Row(label, values)


def _cents(amounts: Sequence[int]) -> list[str]:
    """Amounts that stand above their sum, to the cent."""
    return [f"{cents / 100:,.2f}" for cents in in_units(amounts, 10_000_000)]


def _amount(nano: int | None) -> str:
    return "unknown" if nano is None else f"{nano / 1e9:,.4f}"


def _money_or_unknown(nano: int | None) -> str:
    return "unknown" if nano is None else f"{nano / 1e9:,.2f}"


def _count(number: int | None) -> str:
    return "unknown" if number is None else f"{number:,}"


RESTATED = (
    ("cost_nano.total", "total", _money_or_unknown),
    ("cost_nano.capital", "hardware", _money_or_unknown),
    ("cost_nano.energy", "electricity", _money_or_unknown),
    ("cost_nano.other", "other costs", _money_or_unknown),
    ("cost_per_mtok.full.output", "full price per million", _amount),
    ("tokens.requests", "requests", _count),
    ("tokens.output", "output tokens", _count),
)
