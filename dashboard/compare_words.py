"""The compare page's sentences and figures, from a comparison; nothing is computed here."""

from collections.abc import Mapping
from typing import Any

from analytics.bounds import Bound, turned
from analytics.wording import BOUNDS as LABELS
from dashboard import meanings, words
from dashboard.sentences import plain

SCENARIOS = {
    "simulated": "with the provider's own cache, simulated",
    "same_hits": "with the cache hits the rig had",
}
BOUNDS = {
    "exactly": "",
    "at least": " at least",
    "at most": " at most",
    "open": " as far as known",
}
MORE = {
    "full": "more than the API would have cost",
    "marginal": "more in electricity than the API would have cost",
}
AXES = {
    "hours_per_day": ("active hours a day", meanings.EVEN_HOURS),
    "utilization": ("time spent computing", meanings.EVEN_UTILIZATION),
    "tokens_per_day": ("output tokens a day", meanings.EVEN_TOKENS),
    "hardware_price": ("price of the hardware", meanings.EVEN_HARDWARE),
    "price_per_kwh": ("price of a kWh", meanings.EVEN_KWH),
    "payback_months": ("months to earn its price", meanings.EVEN_PAYBACK),
}
PRICED = ("hardware_price", "price_per_kwh")


def answer(found: Mapping[str, Any], sheet: Mapping[str, Any]) -> str:
    """What an API would have cost, and what was saved, in words."""
    currency, name = found["currency"], plain(sheet["sheet"])
    if sheet["headline_nano"] is None:
        return f"No request could be priced at {name}: there is no bill to stand beside."
    bill = words.amount(sheet["headline_nano"])
    least = "at least " if sheet["unpriced_requests"] else ""
    own_least = "at least " if found["at_least"]["full"] else ""
    told = (
        f"{name} would have billed {least}**{bill} {currency}** for the same requests "
        f"{SCENARIOS[sheet['scenario']]}. The rig cost "
        f"{own_least}**{words.cents(found['cost_nano']['full'])} {currency}**"
    )
    marginal = found["cost_nano"]["marginal"]
    if marginal is None:
        return f"{told}; what its requests drew beyond idle is unknown."
    drawn = words.known_part(marginal, at_least=found["at_least"]["marginal"])
    return f"{told}, {drawn} of it electricity that the requests drew beyond idle."


def here_or_there(sheet: Mapping[str, Any], currency: str) -> str | None:
    """Where the next million tokens cost less, now that the rig is bought."""
    told = sheet["here_or_there"]
    if told["cheaper"] is None:
        return None
    here, there = (words.headline(told[f"{place}_nano_per_mtok"]) for place in ("here", "there"))
    verdict = {
        "here": "cheaper here",
        "there": "cheaper there",
        "level": "the same in both places",
    }[told["cheaper"]]
    return (
        f"The next million output tokens cost {here} {currency} in electricity here and {there} "
        f"there, input billed too: {verdict}."
    )


def payback(months: list[dict[str, Any]], sheet: str, currency: str) -> str:
    """The payback line in words."""
    first, last = months[0], months[-1]
    full, marginal = (
        _saved(last[f"saved_{kind}_sum_nano"], last[f"saved_{kind}_sum_bound"], kind, currency)
        for kind in ("full", "marginal")
    )
    since = words.month_name(first["month"])
    told = f"Beside {plain(sheet)}, since {since}: {full}, and {marginal}."
    missing = sum(month["saved_full_nano"] is None for month in months)
    if missing:
        told += f" In {words.count(missing, 'month')} no saving is known (hollow points)."
    return told


def saved_tile(sheet: Mapping[str, Any], kind: str, currency: str) -> tuple[str, str]:
    """The label and the figure of what was saved against `full` or `marginal`; a loss is told as
    what the rig cost more."""
    nano, bound = sheet[f"savings_{kind}_nano"], sheet[f"savings_{kind}_bound"]
    if nano is not None and nano < 0:
        return f"{currency} {MORE[kind]}{LABELS[turned(bound)]}", words.headline(-nano)
    return f"{currency} saved against {kind}{LABELS[bound or 'exactly']}", words.change(nano)


def _saved(nano: int | None, bound: Bound, kind: str, currency: str) -> str:
    """What was saved or lost."""
    if nano is None:
        return f"what was saved against {kind} cost is not known"
    if nano < 0:
        bound = turned(bound)
    how = "lost" if nano < 0 else "saved"
    amount = words.headline(abs(nano))
    return f"**{amount} {currency}** {how} against {kind} cost{BOUNDS[bound]}"


def even(curve: Mapping[str, Any] | None, sheet: Mapping[str, Any]) -> str:
    """The break-even in hours as a sentence."""
    meet = sheet["break_even"]
    if curve is None or meet is None or meet["verdict"] is None:
        return (
            "Where the two would meet is not known: it takes requests with output tokens, a bill, "
            "and electricity that is read and priced."
        )
    hours, name = curve["here_hours"], plain(sheet["sheet"])
    here = f"{hours:.2g}" if hours < 10 else f"{hours:.0f}"
    bound = BOUNDS[meet["bounds"]["hours_per_day"]].strip()
    if meet["verdict"] != "at":
        less = name if meet["verdict"] == "never" else "the rig"
        told = f", {bound}" if bound else ""
        return f"At {here} active hours a day, and at any other number, {less} costs less{told}."
    since = f"{bound} **{float(meet['hours_per_day']):.1f}**".strip()
    return (
        f"The rig works {here} active hours a day; from {since} on it would be cheaper than {name}."
    )


def axis_tile(meet: Mapping[str, Any], axis: str, currency: str) -> tuple[str, str, str]:
    """The label, the figure and the meaning of an axis' break-even."""
    label, meaning = AXES[axis]
    if axis in PRICED:
        label = f"{label}, {currency}"
    return f"{label}{LABELS[meet['bounds'][axis] or 'exactly']}", axis_figure(meet, axis), meaning


def axis_figure(meet: Mapping[str, Any], axis: str) -> str:
    """An axis' break-even as it is shown: a value, `never`, `always` or `unknown`."""
    verdict = meet["verdicts"][axis]
    if verdict != "at":
        return verdict or words.UNKNOWN
    value = meet[axis]
    match axis:
        case "utilization":
            return words.share(float(value))
        case "tokens_per_day":
            return words.count(value)
        case "hours_per_day" | "payback_months":
            return f"{float(value):,.{0 if float(value) >= 100 else 1}f}"
        case _:
            return words.headline(round(float(value) * words.NANO))


def rests_on(sheet: Mapping[str, Any]) -> list[str]:
    """What a sheet's figures rest on, and what they leave out."""
    currency, lines = sheet["currency"], []
    only = sheet["output_only_nano_per_mtok"]
    if only is not None:
        lines.append(
            f"Output-only, as people quote prices: {words.headline(only)} {currency} per million "
            "output tokens. The bills above are for the input, too."
        )
    priced, simulated = sheet["priced_requests"], sheet["simulated_requests"]
    if simulated:
        rest = (
            "; the others told no prefixes and take the hits as here" if simulated < priced else ""
        )
        lines.append(
            f"The cache was simulated for {words.count(simulated)} of "
            f"{words.count(priced, 'request')}{rest}."
        )
    if sheet["tokenizer_ratio"] not in {None, "1"}:
        lines.append(f"One token here counts as {sheet['tokenizer_ratio']} there, as declared.")
    for rate in sheet["rate"] or []:
        since = f" from {rate['from']} on" if rate["from"] else ""
        lines.append(f"1 {sheet['sheet_currency']} is {rate['rate']} {currency}{since}.")
    lines += [_counted(each, "") for each in sheet["noted"]]
    lines += [_counted(each, "could not be priced: ") for each in sheet["unpriced"]]
    return lines


def _counted(each: Mapping[str, Any], what: str) -> str:
    colon = "" if what else ": "
    return f"{words.count(each['requests'], 'request')}{colon} {what}{plain(each['why'])}."
