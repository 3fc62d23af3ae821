"""The cost page's sentences, from a month's figures; nothing is computed beyond their wording."""

from typing import Any

from analytics.groups import NONE, SHOWN
from dashboard import words
from dashboard.cost_charts import three_costs
from dashboard.sentences import plain

NOUNS = {
    "card": "card",
    "model": "model",
    "project": "project",
    "session": "session",
    "key": "key",
}


def ranked(groups: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Groups by full cost, dearest first, and at the end all others together, where the document
    has them: known by their place, as a group may really be called "(others)"."""
    alone = sorted(groups[:SHOWN], key=lambda group: -three_costs(group)[0])
    return [*alone, *groups[SHOWN:]]


def months(entries: list[dict[str, Any]], currency: str) -> str:
    """What the months show: how many, the dearest and the cheapest that are over."""
    over = [entry for entry in entries if not entry["provisional"]]
    least = any(entry["at_least"] for entry in entries)
    note = " A + marks a month of which not all is known." if least else ""
    if over and len(over) < len(entries):
        note += " The paler one still runs."
    if not over:
        return f"What was paid for; the first month is still running.{note}"
    if len(over) == 1:
        only = over[0]
        return f"{words.month_name(only['month'])} cost {_total(only)} {currency}.{note}"
    high = max(over, key=lambda entry: entry["cost_nano"]["total"])
    low = min(over, key=lambda entry: entry["cost_nano"]["total"])
    return (
        f"Of {len(over)} whole months, {words.month_name(high['month'])} cost most, "
        f"{_total(high)} {currency}, and "
        f"{words.month_name(low['month'])} least, {_total(low)}.{note}"
    )


def _total(entry: dict[str, Any]) -> str:
    least = "at least " if entry["at_least"] else ""
    return f"{least}{words.cents(entry['cost_nano']['total'])}"


def energy(month: dict[str, Any]) -> str:
    """How much energy was drawn, where."""
    told = month["energy_uj"]
    host = "the host's is not known" if told["host"] is None else f"{kwh(told['host'])} the host"
    if told["unassigned"]:
        host += f", {kwh(told['unassigned'])} of it while no card was in service"
    if told["cards"] is None:
        return f"Energy: the cards' is not known, {host}."
    least = "at least " if told["unknown_ns"] else ""
    return f"Energy: {least}{kwh(told['cards'])} the cards, {host}."


def kwh(uj: int) -> str:
    """Energy as people are billed for it: 12.3 kWh."""
    value = uj / 3.6e12
    decimals = 0 if value >= 100 or not uj else 1 if value >= 10 else 2
    return f"{value:,.{decimals}f} kWh"


def who(month: dict[str, Any], by: str, groups: list[dict[str, Any]], names: dict[str, str]) -> str:
    """Who carries most, and what nobody carries."""
    currency, total = month["currency"], month["cost_nano"]["total"]
    first = groups[0]
    full, active, _ = three_costs(first)
    name = plain(names.get(first["name"], first["name"]))
    part = words.share(full / total) if total > 0 else words.UNKNOWN
    least = "at least " if month["at_least"] else ""
    carries = f"The {NOUNS[by]} {name} {'cost' if by == 'card' else 'carries'}"
    while_worked = "while it worked"
    if first["name"] == NONE:
        carries = f"Requests that told no {NOUNS[by]} carry"
        while_worked = "while they were computed"
    told = (
        f"{carries} most: {least}**{words.cents(full)} {currency}**, {part} of everything, of "
        f"which {words.cents(active)} {while_worked}."
    )
    more = len(groups) - 10
    if more > 0:
        told += f" Shown are the first ten; {words.count(more, NOUNS[by])} more in the table."
    left = month["states_cost_nano"]["unassigned"] if by == "card" else None
    if by != "card":
        left = month["unallocated_cost_nano"]
    if left:
        told += f" {words.cents(left)} {currency} belong to no {NOUNS[by]}."
    return told
