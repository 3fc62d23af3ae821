"""Where the figures of the compare page come from: paths into the comparison's JSON."""

from places.common import MONTHS, NANO, Rows, Told
from rig.units import UNITS, cents, daily, headline
from rig.walk import LAYOUT, Place

BILLS = {"no_cache": "no cache", "same_hits": "same hits", "simulated": "simulated cache"}
OWN = {"full": "full cost here", "marginal": "marginal cost here"}


def bills(found: Told) -> Rows:
    """Each sheet's bills as dots on its line, and own cost across all of them."""
    rows: Rows = []
    for each in found["sheets"]:
        rows.append({"sheet": each["sheet"]})
        for name, bill in BILLS.items():
            nano = each[f"{name}_nano"]
            if nano is not None:
                dot = {"sheet": each["sheet"], "bill": bill}
                rows.append(dot | {"amount": nano / NANO, "text": cents(nano)})
    for kind, name in OWN.items():
        nano = found["cost_nano"][kind]
        row = {"amount": nano / NANO}
        rows.append(row | {"own": name, "text": cents(nano)})
        rows.append(row | {"label": f"{name} {cents(nano)}"})
    return rows


def payback(found: Told) -> Rows:
    """What was saved up to each month, and in it."""
    rows: Rows = [{"amount": 0}]
    told = UNITS["change"]
    for kind in OWN:
        for each in found["line"]["months"]:
            label, name = MONTHS[each["month"]]
            nano = each[f"saved_{kind}_sum_nano"]
            point = {"month": label, "amount": nano / NANO}
            rows.append(
                point
                | {"when": f"the end of {name}", "against": f"{kind} cost", "text": told(nano),
                   "own": told(each[f"saved_{kind}_nano"])}
            )  # fmt: skip
        rows.append(point | {"label": f"against {kind} {told(nano)}"})
    return rows


def even(found: Told) -> Rows:
    """The full price by hours a day, where the rig is on it, the bill, and where they meet."""
    curve, sheet = found["by_hours"], found["sheet"]
    rows: Rows = []
    for each in curve["points"]:
        nano = each["full_nano_per_mtok"]
        told = f"{daily(each['hours'])} h"
        row = {"hours": each["hours"], "price": nano / NANO}
        rows.append(row | {"told": told, "text": headline(nano)})
        if each["hours"] == curve["here_hours"]:
            rows.append(row | {"label": f"you are here: {told}, {headline(nano)}"})
    bill, meet = sheet["headline_nano_per_mtok"], sheet["break_even"]
    line = {"price": bill / NANO, "label": f"{sheet['sheet']} {headline(bill)}"}
    side = 0 if meet["verdict"] == "never" else 24
    rows += [line | {"text": headline(bill)}, line | {"hours": side}]
    if meet["bounds"]["hours_per_day"] == "exactly" and meet["verdict"] == "at":
        rows.append({"price": bill / NANO, "hours": float(meet["hours_per_day"])})
    return rows


def what_ifs(found: Told) -> Rows:
    """The month's price and those under what-ifs as bars, and the bill's across all of them."""
    there = found["sheet"]["headline_nano_per_mtok"]
    rows: Rows = [{"price": there / NANO, "text": headline(there), "at": found["sheet"]["sheet"]}]
    for each in found["what_ifs"]:
        nano = each["price_nano"]
        rows.append({"scenario": each["scenario"], "price": nano / NANO, "text": headline(nano)})
    return rows


TABLE = (
    "sheets",
    {
        "API": "{sheet}",
        "no cache": "{no_cache_nano:units}",
        "same hits": "{same_hits_nano:units}",
        "simulated cache": "{simulated_nano:units}",
        "saved, full": "{savings_full_nano:units}",
        "saved, marginal": "{savings_marginal_nano:units}",
        "not priced": "{unpriced_requests}",
    },
)
WHAT_IFS = (
    "what_ifs",
    {
        "scenario": "{scenario}",
        "hours": "{hours}",
        "hardware": "{hardware}",
        "kwh": "{kwh}",
        "price": "{price_nano:units}",
        "cost": "{cost_nano:units}",
        "bill": "{bill_nano:units}",
        "saved": "{saved_nano:units}",
        "even": "{even}",
    },
)
CHARTS = {
    "Bills of each price sheet without a cache, with the same hits and simulated, beside own full "
    "and marginal cost": bills,
    "Savings added up month by month since the purchase, against full and marginal cost": payback,
    "Full price per million output tokens by active hours a day, and the API's bill": even,
    "Full price per million output tokens of each scenario, and the API's as a line": what_ifs,
}
ALWAYS = {
    "USD per million output tokens, at least": "{per_mtok_nano.full:headline}",
    "marginal price per million, at least": "{per_mtok_nano.marginal:headline}",
}


def unmoved(saved: str, figure: str, even: str) -> list[tuple[str, str]]:
    """The figures under sliders that stand where they stood: those of the month once more."""
    return [
        ("USD per million, then", "{per_mtok_nano.full:headline}"),
        (saved, figure),
        ("even at hours a day, then", even),
    ]


# Beside the cheap sheet the rig never pays, beside the dear one from some hours a day on.
CHEAP = Place(
    metrics=[*(ALWAYS | {
        "the same requests at {sheet.sheet} (simulated cache)":
            "{sheet.headline_nano_per_mtok:headline}",
        "USD more than the API would have cost, at least": "{sheet.savings_full_nano:more}",
        "USD more in electricity than the API would have cost, at least":
            "{sheet.savings_marginal_nano:more}",
        **dict.fromkeys(
            ("active hours a day", "time spent computing", "output tokens a day",
             "price of the hardware, USD", "price of a kWh, USD", "months to earn its price"),
            "never",
        ),
    }).items(), *unmoved("USD more than the API would have cost, at least",
                         "{sheet.savings_full_nano:more}", "never")],
    sentences=[
        "What would an API cost, what did it save? · October 2026",
        "{sheet.sheet} would have billed **{sheet.headline_nano:amount} USD** for the same "
        "requests with the provider's own cache, simulated. The rig cost at least "
        "**{cost_nano.full:cents} USD**, at least {cost_nano.marginal:amount} of it electricity "
        "that the requests drew beyond idle.",
        "The next million output tokens cost {sheet.here_or_there.here_nano_per_mtok:headline} USD "
        "in electricity here and {sheet.here_or_there.there_nano_per_mtok:headline} there, input "
        "billed too: cheaper there.",
        "Beside {sheet.sheet}, since October 2026: **{last.saved_full_sum_nano:more} USD** lost "
        "against full cost as far as known, and **{last.saved_marginal_sum_nano:more} USD** lost "
        "against marginal cost as far as known.",
        "At {by_hours.here_hours:daily} active hours a day, and at any other number, {sheet.sheet} "
        "costs less.",
        "The line is the same requests at {sheet.sheet}: {sheet.headline_nano_per_mtok:headline}.",
        "- Output-only, as people quote prices: {sheet.output_only_nano_per_mtok:headline} USD per "
        "million output tokens. The bills above are for the input, too.",
        "- The cache was simulated for {sheet.simulated_requests:count} of "
        "{sheet.priced_requests:count} requests; the others told no prefixes and take the hits as "
        "here.",
    ],
    tables=[TABLE, WHAT_IFS],
    charts=CHARTS,
    layout=(*LAYOUT, "from", "to"),
)  # fmt: skip
DEAR = Place(
    metrics=[*(ALWAYS | {
        "the same requests at {sheet.sheet}": "{sheet.headline_nano_per_mtok:headline}",
        "USD saved against full, at most": "{sheet.savings_full_nano:change}",
        "USD saved against marginal, at most": "{sheet.savings_marginal_nano:change}",
        "active hours a day, at least": "{sheet.break_even.hours_per_day:one}",
        "time spent computing, at least": "{sheet.break_even.utilization:part}",
        "output tokens a day, at least": "{sheet.break_even.tokens_per_day:count}",
        "price of the hardware, USD, at most": "{sheet.break_even.hardware_price:price}",
        "price of a kWh, USD, at most": "{sheet.break_even.price_per_kwh:price}",
        "months to earn its price, at least": "{sheet.break_even.payback_months:one}",
    }).items(), *unmoved("USD saved against full, at most", "{sheet.savings_full_nano:change}",
                         "{sheet.break_even.hours_per_day:one}, at least")],
    sentences=[
        "What would an API cost, what did it save? · October 2026",
        "{sheet.sheet} would have billed **{sheet.headline_nano:cents} USD** for the same requests "
        "with the cache hits the rig had. The rig cost at least **{cost_nano.full:cents} USD**, "
        "at least {cost_nano.marginal:amount} of it electricity that the requests drew beyond "
        "idle.",
        "Beside {sheet.sheet}, since October 2026: **{last.saved_full_sum_nano:headline} USD** "
        "saved against full cost as far as known, and "
        "**{last.saved_marginal_sum_nano:headline} USD** saved against marginal cost as far as "
        "known.",
        "The rig works {by_hours.here_hours:daily} active hours a day; from "
        "at least **{sheet.break_even.hours_per_day:one}** on it would be cheaper than "
        "{sheet.sheet}.",
        "The line is the same requests at {sheet.sheet}: {sheet.headline_nano_per_mtok:headline}.",
        "- Output-only, as people quote prices: {sheet.output_only_nano_per_mtok:headline} USD per "
        "million output tokens. The bills above are for the input, too.",
    ],
    tables=[TABLE, WHAT_IFS],
    charts=CHARTS,
    layout=(*LAYOUT, "from", "to"),
)  # fmt: skip
