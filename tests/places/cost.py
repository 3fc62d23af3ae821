"""Where the figures of the cost page come from."""

from places.common import MONTHS, NAMES, NANO, Rows, Told, so_far
from rig.units import brief, cents
from rig.walk import Place

PARTS = {"capital": "hardware", "energy": "electricity", "other": "other costs"}


def months(month: Told) -> Rows:
    """Each month's cost by what was paid for, upon each other, and its sum above."""
    rows = []
    for each in month["months"]:
        cost, label, at = each["cost_nano"], MONTHS[each["period"]["name"]][0], 0
        least = bool(each["at_least"])
        total = "at least " * least + cents(cost["total"])
        for part, what in PARTS.items():
            if cost[part]:
                rows.append(
                    {"month": label, "when": so_far(each), "part": part, "what": what,
                     "low": at / NANO, "high": (at + cost[part]) / NANO,
                     "text": cents(cost[part]), "total": total}
                )  # fmt: skip
            at += cost[part]
        short = brief(cost["total"]) + "+" * least
        rows.append({"month": label, "top": at / NANO, "short": short})
    return rows


def costs(month: Told) -> Rows:
    """Each group's full, active and marginal cost."""
    return [
        {
            "label": each["shown"],
            "full": each["full"] / NANO,
            "active": each["active"] / NANO,
            "marginal": None if each["marginal_cost_nano"] is None
            else each["marginal_cost_nano"] / NANO,
            "full_text": cents(each["full"]),
            "active_text": cents(each["active"]),
            "marginal_text": "unknown" if each["marginal_cost_nano"] is None
            else "at least " * each["marginal_at_least"] + cents(each["marginal_cost_nano"]),
        }
        for each in month["ranked"]
    ]  # fmt: skip


def place(by: str) -> Place:
    """The page with its groups by one label."""
    tokens = "{emitted_tokens}" if by == "card" else "{output_tokens}"
    given = {} if by == "card" else {"input tokens": "{input_tokens}"}
    who = f"The {by} {{ranked.0.shown}} {'cost' if by == 'card' else 'carries'}"
    worked = "it worked"
    if by == "key":  # nobody told any
        who, worked = "Requests that told no key carry", "they were computed"
    return Place(
        metrics={
            "USD in all, at least": "{cost_nano.total:headline}",
            "busy with requests, USD, at least": "{states_cost_nano.busy:cents}",
            "electricity beyond idle, USD, at least": "{marginal_cost_nano:cents}",
            "carried by no request, USD, at least": "{unallocated_cost_nano:cents}",
        }.items(),
        sentences=[
            "What costs what? · October 2026",
            "October 2026 cost **at least {cost_nano.total:cents} USD**: {printed.0} hardware, "
            "{printed.1} electricity and {printed.2} other costs.",
            "Energy: at least {energy_uj.cards:kwh} the cards, {energy_uj.host:kwh} the host.",
            "October 2026 cost at least {cost_nano.total:cents} USD. A + marks a month of which "
            "not all is known. The paler one still runs.",
            f"{who} most: at least **{{ranked.0.full:cents}} USD**, {{ranked_share:share}} of "
            f"everything, of which {{ranked.0.active:cents}} while {worked}.",
        ],
        tables=[
            ("ranked", {
                by: "{shown}", "full": "{full:units}", "active": "{active:units}",
                "marginal": "{marginal_cost_nano:units}", "output tokens": tokens,
                "requests": "{requests}", **given, "card hours": "{card_ns:as_hours}",
            }),
        ],
        charts={
            "Cost of each month by hardware, electricity and other costs": months,
            f"Full, active and marginal cost by {by}": costs,
        },
    )  # fmt: skip


def ranked(month: Told, by: str) -> Rows:
    """The groups by one label, dearest first; cards tell their costs by state."""
    names = {**NAMES, "(none)": f"no {by} told"}
    told = [
        each | {
            "shown": names.get(each["name"], each["name"]),
            "full": each["cost_nano" if by == "card" else "full_cost_nano"],
            "active": each["states_cost_nano"]["busy"],
            "card_ns": sum(each["card_time_ns"].values()),
        }
        for each in month["groups"][by]
    ]  # fmt: skip
    return sorted(told, key=lambda each: -each["full"])
