"""The page's sentences, from a month's figures; nothing is computed beyond their wording."""

import datetime as dt
from collections.abc import Iterable, Mapping
from typing import Any

from analytics.bounds import turned
from analytics.wording import covered
from dashboard import words

LOST = {"idle": "idle", "off": "off", "other": "in other use", "unknown": "unknown"}
BOUNDS = {"exactly": "", "at least": "at least ", "at most": "at most ", "open": "as far as known "}
NO_FLAGS = "Nothing is missing: every request told its tokens, every second has a witness."


def period(month: dict[str, Any]) -> str:
    """`November 2026, so far`."""
    name = words.month_name(month["period"]["name"])
    return f"{name} so far" if month["period"]["provisional"] else name


def answer(month: dict[str, Any], sheet: dict[str, Any] | None) -> str:
    """Is the rig worth it, in one or two sentences."""
    currency = month["currency"]
    if sheet is None:
        return (
            "No API prices are configured to compare with; "
            "`[compare]` in rigledger.toml takes price sheets."
        )
    full, marginal = sheet["savings_full_nano"], sheet["savings_marginal_nano"]
    if full is None:
        why = f": {sheet['unpriced'][0]['why']}" if sheet["unpriced"] else ""
        return (
            f"No request could be priced at {plain(sheet['sheet'])}, so there is no bill to stand"
            f" beside{plain(why)}."
        )
    way = "less" if full < 0 else "more"
    more = f"{_side(sheet, 'full')}**{words.headline(abs(full))} {currency} {way}**"
    first = f"At {plain(sheet['sheet'])} the same requests would have cost {more} than the rig did."
    if marginal is None:
        return first
    bought = "Now that it is bought," if full < 0 else "Against its electricity alone,"
    if marginal >= 0:
        saved = f"{_side(sheet, 'marginal')}**{words.headline(marginal)} {currency}**"
        second = f"running them here saved {saved}"
    else:
        lost = f"{_side(sheet, 'marginal')}**{words.headline(-marginal)} {currency} too much**"
        second = f"running them here cost {lost}"
    return f"{first} {bought} {second}."


def _side(sheet: Mapping[str, Any], kind: str) -> str:
    """What is known of an amount saved, or of one lost."""
    bound = sheet[f"savings_{kind}_bound"]
    return BOUNDS[turned(bound) if sheet[f"savings_{kind}_nano"] < 0 else bound]


def api_label(sheet: dict[str, Any]) -> str:
    """Whose price the second headline figure is, and how its cache was taken."""
    cache = " (simulated cache)" if sheet["scenario"] == "simulated" else ""
    some = sheet["unpriced_requests"] and sheet["priced_requests"]
    which = "the priced requests" if some else "the same requests"
    return f"{which} at {plain(sheet['sheet'])}{cache}"


def whose(sheet: Mapping[str, Any]) -> str:
    """The sheet as the name of a price: "an API", or "5 of 10 requests at an API"."""
    which, name = covered(sheet), str(sheet["sheet"])
    return name if which == "the same requests" else f"{which} at {name}"


def even(sheet: dict[str, Any]) -> str | None:
    """From how many hours a day on the rig is the cheaper one."""
    meet = sheet["break_even"]
    if meet is None or meet["verdict"] is None:
        return None
    # A month that was closed earlier tells no bounds.
    bound = meet.get("bounds", {}).get("hours_per_day") or "exactly"
    told = "" if bound == "exactly" else f", {BOUNDS[bound].strip()}"
    measured = f"all else as measured{told}."
    if meet["verdict"] == "never":
        return f"Not even at 24 active hours a day would the rig be cheaper, {measured}"
    if meet["verdict"] == "always":
        return f"The rig is cheaper at any number of active hours a day, {measured}"
    hours = f"{float(meet['hours_per_day']):.1f} active hours a day{told}"
    return f"Even at {hours}, all else as measured."


def unpriced(sheet: dict[str, Any]) -> str | None:
    """What the bill leaves out, and the reason of most of it; None where that is nothing."""
    if not sheet["unpriced_requests"]:
        return None
    why = f": {sheet['unpriced'][0]['why']}" if sheet["unpriced"] else ""
    return (
        f"{words.count(sheet['unpriced_requests'], 'request')} could not be priced{plain(why)}. "
        "The bill covers the others."
    )


def same_requests(currency: str, sheets: Iterable[Mapping[str, Any]]) -> str:
    """What stands over a table of bills: their currency, and what they are for."""
    some = any(sheet["unpriced_requests"] for sheet in sheets)
    less = ", less those that could not be priced" if some else ""
    return f"In {currency}; every bill is for the same requests{less}."


def elsewhere(month: dict[str, Any]) -> str:
    """How the rig's cost stands beside the first API's bill, with a cache and without."""
    sheet, currency = month["compare"][0], month["currency"]
    if sheet["headline_nano"] is None:
        return f"At {plain(sheet['sheet'])} no request could be priced."
    cache = {
        "simulated": "with the API's own cache, simulated",
        "same_hits": "with the cache hits the rig had",
    }[sheet["scenario"]]
    least, own_least = bool(sheet["unpriced_requests"]), "at least " if month["at_least"] else ""
    bill, no_cache = (
        words.known_part(sheet[f"{name}_nano"], at_least=least) for name in ("headline", "no_cache")
    )
    return (
        f"At {plain(sheet['sheet'])} this would have been a bill of {bill} {currency} {cache}, "
        f"{no_cache} without any; the rig cost "
        f"{own_least}{words.cents(month['cost_nano']['total'])}."
    )


def where(steps: list[dict[str, Any]], currency: str) -> str:
    """What the waterfall shows: its largest step, as printed there, and its share."""
    amounts = [step["nano_per_mtok"] for step in steps]
    total, at = sum(amounts), amounts.index(max(amounts))
    decimals = words.decimals_for(total)
    amount = words.parts(amounts, decimals)[at]
    part = words.share(amounts[at] / total if total else None)
    reason = {
        "at_peak": "went into work at full speed",
        "below_peak": "went into work below the speed the cards can reach",
        "stranded": "was spent while requests waited on another card",
        "headroom": "kept cards ready within active hours",
        "idle": "passed while nobody used the rig",
        "off": "passed while the rig was off",
        "other": "went into other uses of the cards",
        "unknown": "passed without a witness",
        "unassigned": "belongs to no card's time",
    }[steps[at]["step"]]
    return f"Of {words.cents(total, decimals)} {currency}, {amount} ({part}) {reason}."


def cost(month: dict[str, Any], *, hardware: bool, electricity: bool) -> str:
    """The period's cost and its parts; a part that nobody priced or read is not zero."""
    told, currency = month["cost_nano"], month["currency"]
    used, drawn, paid = words.parts([told[k] for k in ("capital", "energy", "other")], decimals=2)
    capital = f"{used} hardware" if hardware else "hardware not priced"
    energy = f"{drawn} electricity"
    if not electricity:
        energy = "electricity not priced"
    elif month["at_least"] and not told["energy"]:
        energy = "electricity unknown"
    parts = f"{capital} and {energy}"
    if told["other"]:
        parts = f"{capital}, {energy} and {paid} other costs"
    least = "at least " if month["at_least"] else ""
    total = f"{least}{words.cents(told['total'])} {currency}"
    return f"{period(month)} cost **{total}**: {parts}."


def layer(name: str, month: dict[str, Any]) -> str:
    """What lowered one of the three layers."""
    states, ratio = month["states_ns"], month["layers"][name]
    if name == "hours":
        if ratio is None:
            return "No card was in service in this period."
        lost = [
            f"{words.hours(states[state])} {LOST[state]}"
            for state in sorted(LOST, key=lambda state: -states[state])
            if states[state]
        ]
        told = ", ".join(lost) or "no time lost"
        return f"Of {words.hours(month['capacity_ns'])} of card time: {told}."
    if name == "occupancy":
        if ratio is None:
            return "No active window in this period."
        return (
            f"Within active hours, cards stood ready for {words.hours(states['headroom'])} and "
            f"stranded for {words.hours(states['stranded'])}."
        )
    return _throughput(month)


def _throughput(month: dict[str, Any]) -> str:
    layers = month["layers"]
    rates = [p["tokens_per_second"] for p in layers["peak"].values() if p["tokens_per_second"]]
    if rates and month["tokens"]["output"] is None:
        return "No request told how many tokens it put out."
    if layers["throughput"] is None or not rates:
        return "No peak rate is known yet: no card has put out a token."
    low, high = (words.rate(each) for each in (min(rates), max(rates)))
    peak = low if low == high else f"{low} to {high}"
    declared = any(p["source"] == "declared" for p in layers["peak"].values())
    how = "the declared peak" if declared else "the best 60 busy seconds"
    if layers["throughput"] > 1:
        return f"Above {how} of {peak} tokens per second a card: that peak was set too low."
    return f"Measured against {how}, {peak} tokens per second a card; fewer requests ran at once."


def stranded(month: dict[str, Any], day: str, names: dict[str, str], zone: dt.tzinfo) -> str:
    """The dearest episode that began on a local day, with its price; `names` by card."""
    herding = month["routing"]["herding"]
    episodes = [e for e in herding["episodes"] if f"{_began(e, zone):%Y-%m-%d}" == day]
    if not episodes:
        threshold = words.span(herding["threshold_ns"])
        return f"No request waited {threshold} or longer while a card of its pool stood by."
    worst = max(episodes, key=lambda each: each["cost_nano"])
    waiting, idle = (
        plain(" and ".join(names.get(card, card) for card in worst[key]))
        for key in ("queued", "stood_by")
    )
    began, ended = _began(worst, zone), dt.datetime.fromisoformat(worst["to"])
    told = (
        f"{began:%H:%M}, for {words.span(round((ended - began).total_seconds() * words.NANO))}: "
        f"requests queued on {waiting} while {idle} stood by, "
        f"{words.amount(worst['cost_nano'])} {month['currency']}."
    )
    more = len(episodes) - 1
    return told + (f" {words.count(more, 'cheaper episode')} that day." if more else "")


def _began(episode: dict[str, Any], zone: dt.tzinfo) -> dt.datetime:
    return dt.datetime.fromisoformat(episode["from"]).astimezone(zone)


def quality(month: dict[str, Any]) -> list[str]:
    """What is not known, and what that means for the figures; empty when all is."""
    told = month["quality"]
    lines = [f"{plain(flag[:1].upper() + flag[1:])}." for flag in told["flags"]]
    if told["unattributed_ns"]:
        lines.append(
            f"{words.span(told['unattributed_ns'])} of busy time belong to no request in "
            "particular: they are in the total and in no group."
        )
    return lines


def plain(text: str) -> str:
    """A name from the ledger, safe inside Markdown."""
    return "".join(f"\\{sign}" if sign in "\\`*_[]<>#|$:~" else sign for sign in text)
