"""Own cost beside API bills, in words: a section of the report, and an answer of its own."""

from collections.abc import Iterable, Iterator
from typing import Any

from analytics.bounds import turned
from analytics.render import break_even
from analytics.render.parts import Block, Note, Part, Row, as_lines
from analytics.wording import BOUNDS, counted, covered, standing, told_tokens

SCENARIOS = {
    "simulated_nano": "simulated cache",
    "same_hits_nano": "same hits",
    "no_cache_nano": "no cache",
}
OWN = {"full": "all cost", "marginal": "electricity beyond idle"}
PLACES = {"here": "cheaper here", "there": "cheaper there", "level": "the same"}


def section(month: dict[str, Any]) -> Iterator[Part]:
    """The report's: the bills of each sheet, what was saved, and where the two would meet."""
    if not month["compare"] or not month["tokens"]["requests"]:
        return
    yield f"The same requests at API prices, in {month['currency']}"
    for entry in month["compare"]:
        yield from _bill(entry)
        yield from _even(entry)
        yield from _unpriced(entry)


def as_text(found: dict[str, Any]) -> str:
    """A comparison (`comparison.comparison`) as plain text: own cost, each sheet, the payback."""
    blocks = [list(_own(found))]
    blocks += [list(_sheet(entry, found["currency"])) for entry in found["sheets"]]
    blocks += [list(_payback(each, found["currency"])) for each in found["since_purchase"]]
    return as_lines([block for block in blocks if block])


def _own(found: dict[str, Any]) -> Iterable[Part]:
    period, tokens, cost = found["period"], found["tokens"], found["cost_nano"]
    yield f"{found['rig']} · {period['name']} · {period['time_zone']}{standing(period)}"
    told = told_tokens(tokens, found["missing_cached"])
    yield f"{counted(tokens['requests'], 'request')} · {told}"
    yield f"Cost here in {found['currency']}"
    for name, meaning in OWN.items():
        least = ", at least" if found["at_least"][name] else ""
        price = found["per_mtok_nano"][name]
        bound = BOUNDS[found["per_mtok_bound"][name] or "exactly"]
        told = f"{(price or 0) / 1e9:,.4f} per million output tokens{bound}"
        beside = () if price is None else (told,)
        yield Row(f"{name} ({meaning}){least}", (_cents(cost[name]), *beside))


def _sheet(entry: dict[str, Any], currency: str) -> Block:
    """All that is known of one sheet."""
    told: Block = [f"At {entry['sheet']}, in {currency}"]
    price = entry["headline_nano_per_mtok"]
    if price is not None:
        of = (f"of {covered(entry)}",) if entry["unpriced_requests"] else ()
        told.append(_row("per million output tokens", f"{price / 1e9:,.4f}", *of))
    told += [Row(label, values) for _, label, values in bills(entry)]
    told += [Row(label, values) for label, values in _saved(entry)]
    told += _here_or_there(entry)
    if entry["break_even"] is not None:
        told.append("Even, with everything else as measured")
        told += [_row(*each) for each in break_even.rows(entry["break_even"])]
    told += _notes(entry)
    return told if len(told) > 1 else [*told, Note("nothing was asked of it in this period")]


def bills(entry: dict[str, Any]) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """The bills of a sheet that are known, the headline first: figure, label, what is printed."""
    for figure, label in SCENARIOS.items():
        if entry[figure] is not None:
            untold = figure == "same_hits_nano" and entry["same_hits_untold"]
            least = untold or entry["unpriced_requests"]
            yield figure, f"{label}, at least" if least else label, (_cents(entry[figure]),)


def _saved(entry: dict[str, Any]) -> Iterator[tuple[str, tuple[str, ...]]]:
    for name in OWN:
        saved, bound = entry[f"savings_{name}_nano"], entry[f"savings_{name}_bound"]
        if saved is not None and saved < 0:
            yield f"lost, {name}{BOUNDS[turned(bound)]}", (_cents(-saved),)
        elif saved is not None:
            yield f"saved, {name}{BOUNDS[bound]}", (_cents(saved),)


def _bill(entry: dict[str, Any]) -> Iterator[Row]:
    """The bills under the sheet's name, the headline first."""
    if entry["headline_nano"] is None:
        yield _row(entry["sheet"], "unknown")
        return
    lines = [(label, *values) for _, label, values in bills(entry)]
    lines += [(label, *values) for label, values in _saved(entry)]
    for number, line in enumerate(lines):
        yield Row("" if number else entry["sheet"], line)


def _even(entry: dict[str, Any]) -> Iterator[Row]:
    """The break-even in hours, in a row."""
    meet = entry["break_even"]
    if meet is not None and meet["verdict"] is not None:
        _, figure = next(break_even.rows(meet))
        if meet["verdict"] == "at":
            figure += f" hours per day{break_even.bound(meet, 'hours_per_day')}"
        yield _row("", "even at", figure)


def _here_or_there(entry: dict[str, Any]) -> Iterator[Row]:
    told = entry["here_or_there"]
    if told["cheaper"] is not None:
        here, there = (told[f"{place}_nano_per_mtok"] / 1e9 for place in ("here", "there"))
        yield _row(
            "run it here or there, now", f"{here:,.4f}", f"{there:,.4f}", PLACES[told["cheaper"]]
        )


def _unpriced(entry: dict[str, Any]) -> Iterator[Row]:
    for each in entry["unpriced"]:
        yield _row("", f"{counted(each['requests'], 'request')} could not be priced", each["why"])


def _notes(entry: dict[str, Any]) -> Iterator[Note]:
    """What the figures rest on, and what they leave out."""
    output = entry["output_only_nano_per_mtok"]
    if output is not None:
        yield Note(
            f"output-only, as prices are quoted: {output / 1e9:,.4f} per million; the bills above"
            " are for the input, too"
        )
    if entry["scenario"] == "simulated":
        yield Note(
            f"the cache was simulated for {entry['simulated_requests']:,} of"
            f" {counted(entry['priced_requests'], 'request')}; the others told no prefixes and take"
            " the hits as here"
            if entry["simulated_requests"] < entry["priced_requests"]
            else "the cache was simulated for all requests"
        )
    if entry["tokenizer_ratio"] not in {None, "1"}:
        yield Note(f"one token here counts as {entry['tokenizer_ratio']} there")
    for rate in entry["rate"] or []:
        since = f" from {rate['from']} on" if rate["from"] else ""
        yield Note(
            f"1 {entry['sheet_currency']} is {rate['rate']} {entry['currency']}{since}, as declared"
        )
    for each in entry["noted"]:
        yield Note(f"{counted(each['requests'], 'request')}: {each['why']}")
    for each in entry["unpriced"]:
        yield Note(f"{counted(each['requests'], 'request')} could not be priced: {each['why']}")


def _payback(told: dict[str, Any], currency: str) -> Iterator[Part]:
    if not told["months"]:
        return
    yield f"Saved at {told['sheet']} since {told['months'][0]['month']}, in {currency}"
    yield _row("month", "bill", "full", "marginal", "full, so far", "marginal, so far")
    for month in told["months"]:
        amounts = ("bill", "full", "marginal", "saved_full_sum", "saved_marginal_sum")
        yield Row(month["month"], tuple(_bounded(month, name) for name in amounts))


def _bounded(month: dict[str, Any], name: str) -> str:
    nano, bound = month[f"{name}_nano"], month[f"{name}_bound"]
    return _cents(nano) if nano is None else f"{_cents(nano)}{BOUNDS[bound]}"


def _row(label: str, *values: str) -> Row:
    return Row(label, values)


def _cents(nano: int | None) -> str:
    return "unknown" if nano is None else f"{nano / 1e9:,.2f}"
