"""Where the figures of the overview come from: places on the page, paths into the report's JSON."""

from places import common
from places.common import MONTHS, NANO, STEPS, Rows, Told
from rig.units import brief, cents, headline, places_for, printed, share
from rig.walk import Place


def waterfall(month: Told) -> Rows:
    """Steps with a cost, each from where the one before ended, and their sum."""
    told = [each for each in month["waterfall_nano_per_mtok"] if each["nano_per_mtok"]]
    amounts = [each["nano_per_mtok"] for each in told]
    total = sum(amounts)
    assert total == month["cost_per_mtok"]["full"]["output"]
    places = places_for(total)
    rows, at = [], 0
    for each, text in zip(told, printed(amounts, places), strict=True):
        nano = each["nano_per_mtok"]
        rows.append(
            {"step": each["step"], "label": STEPS[each["step"]], "text": text,
             "start": at / NANO, "end": (at + nano) / NANO, "of_total": share(nano / total)}
        )  # fmt: skip
        at += nano
    whole = {"step": "total", "label": "together", "start": 0, "end": total / NANO}
    return [*rows, whole | {"text": cents(total, places), "of_total": share(1)}]


def trend(month: Told) -> Rows:
    """Each month's full price, and what each sheet would have billed per million."""
    rows = []
    for each in month["months"]:
        label = {"month": MONTHS[each["period"]["name"]][0], "when": common.so_far(each)}
        prices = [("this rig, full cost", each["cost_per_mtok"]["full"]["output"])]
        prices += [(one["sheet"], one["headline_nano_per_mtok"]) for one in each["compare"]]
        rows += [
            label
            | {"who": who, "price": nano / NANO, "text": headline(nano)}
            | ({"short": brief(nano)} if who == "this rig, full cost" else {})
            for who, nano in prices
            if nano is not None
        ]
    return rows


def parts(month: Told) -> Rows:
    """What the cost is made of: hardware, then electricity, then the rest."""
    cost, at, rows = month["cost_nano"], 0, []
    of = {name: share(cost[name] / cost["total"]) for name in ("capital", "energy", "other")}
    lines = (
        ("capital", "hardware", f"hardware {of['capital']}"),
        ("energy", "electricity", f"electricity {of['energy']} · other {of['other']}"),
        ("other", "other", ""),
    )
    for part, label, line in lines:
        row = {"label": label, "line": line, "text": cents(cost[part])}
        rows.append(row | {"start": at / NANO, "end": (at + cost[part]) / NANO})
        at += cost[part]
    return rows


PLACE = Place(
    metrics={
        "USD per million output tokens, at least": "{cost_per_mtok.full.output:headline}",
        "the same requests at {compare.0.sheet} (simulated cache)":
            "{compare.0.headline_nano_per_mtok:headline}",
        "USD more than the API would have cost, at least": "{compare.0.savings_full_nano:more}",
        "USD more in electricity than the API would have cost, at least":
            "{compare.0.savings_marginal_nano:more}",
        "active price per million, at least": "{cost_per_mtok.active.output:headline}",
        "marginal price per million, at least": "{cost_per_mtok.marginal.output:headline}",
        "output tokens": "{tokens.output:count}",
        "requests": "{tokens.requests:count}",
        "Hours": "{layers.hours:share}",
        "Occupancy": "{layers.occupancy:share}",
        "Throughput": "{layers.throughput:share}",
    }.items(),
    sentences=[
        "Is this rig worth it? · October 2026",
        "At {compare.0.sheet} the same requests would have cost "
        "at least **{compare.0.savings_full_nano:more} USD less** than the rig did. Now that it is "
        "bought, running them here cost at least **{compare.0.savings_marginal_nano:more} USD too "
        "much**.",
        "Not even at 24 active hours a day would the rig be cheaper, all else as measured.",
        "Bars: this rig's full price; the marks across them: {compare.0.sheet} and "
        "{compare.1.sheet} and {compare.2.sheet}.",
        "Of {cost_per_mtok.full.output:exact} USD, {dearest_printed} "
        "({dearest_share:share}) passed without a witness.",
        "October 2026 cost **at least {cost_nano.total:cents} USD**: {printed.0} hardware, "
        "{printed.1} electricity and {printed.2} other costs.",
        "{last_day_name}: what each card did in every quarter of an hour, by share of its time.",
        "{episode_clock}, for {episode_ns:span}: requests queued on on-A while on-B stood by, "
        "{episode.cost_nano:amount} USD.",
        "Of {capacity_ns:hours} of card time: {states_ns.unknown:hours} unknown, "
        "{states_ns.idle:hours} idle.",
        "Within active hours, cards stood ready for {states_ns.headroom:hours} and stranded for "
        "{states_ns.stranded:hours}.",
        "Measured against the best 60 busy seconds, {rates.0:rate} to {rates.1:rate} tokens per "
        "second a card; fewer requests ran at once.",
        "At {compare.0.sheet} this would have been a bill of {compare.0.headline_nano:amount} USD "
        "with the API's own cache, simulated, {compare.0.no_cache_nano:amount} without any; the "
        "rig cost at least {cost_nano.total:cents}.",
        "- {flags.0}.", "- {flags.1}.", "- {flags.2}.",
    ],
    tables=[
        ("compare", {
            "API": "{sheet}",
            "simulated cache": "{simulated_nano:units}",
            "same hits": "{same_hits_nano:units}",
            "no cache": "{no_cache_nano:units}",
            "saved, full": "{savings_full_nano:units}",
            "saved, marginal": "{savings_marginal_nano:units}",
            "output only, per million": "{output_only_nano_per_mtok:units}",
            "not priced": "{unpriced_requests}",
        }),
        ("groups.model", {
            "name": "{name}", "requests": "{requests}", "output": "{output_tokens}",
            "busy": "{busy_cost_nano:units}", "full": "{full_cost_nano:units}",
        }),
    ],
    charts={
        "Full price per million output tokens by month": trend,
        "Full price per million output tokens, by what the cards were doing": waterfall,
        "Hardware, electricity and other costs as parts of the cost": parts,
        "State of each card in 15-minute cells": common.strips,
    },
)  # fmt: skip
