"""The worked day of docs/definitions.md: every figure on the page is what its books tell."""

import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from rig.ledger import START
from rig.worked_day import shelf_of

from analytics.month import account
from analytics.periods import day_at
from analytics.shelf import Shelf
from analytics.what_if import average_day, parsed
from analytics.what_if import figures as under

DOCS = Path(__file__).parent.parent / "docs"
PAGE = (DOCS / "definitions.md").read_text(encoding="utf-8")
FAQ = (DOCS / "faq.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| ([^|]+) \| [^|]+ \| [^|]+ \| ([^|]+) \|$", flags=re.MULTILINE)


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Shelf:
    return shelf_of(PAGE, tmp_path_factory.mktemp("worked"))


@pytest.fixture(scope="module")
def day(shelf: Shelf) -> dict[str, Any]:
    return account(shelf, day_at(START, shelf.settings.zone))


NO_BILL = dict.fromkeys(("headline_nano", "headline_bound", "headline_nano_per_mtok"))


def what_ifs(shelf: Shelf) -> dict[str, str]:
    """The full price under each change that the page thinks of."""
    average = average_day(shelf, day_at(START, shelf.settings.zone))
    assert average is not None
    changes = {
        "if the rig worked 4 h a day": {"hours_per_day": "4"},
        "if the box had cost 17,532 USD": {"hardware_price": "17532"},
        "if a kWh cost 0.40 USD": {"price_per_kwh": "0.40"},
    }
    return {
        f"full price, {told}": usd(under(average, NO_BILL, parsed(change))["full_nano_per_mtok"])
        for told, change in changes.items()
    }


def money(nano: int | None) -> str:
    """To the millionth, at least cents."""
    if nano is None:
        return "unknown"
    amount = round(Decimal(nano) / 10**9, 6).normalize()
    cents = max(2, -int(amount.as_tuple().exponent))
    return f"{amount:.{cents}f}".replace("-", "\N{MINUS SIGN}")


def usd(nano: int | None) -> str:
    return money(nano) if nano is None else f"{money(nano)} USD"


def span(ns: int) -> str:
    hours, minutes = divmod(ns // 60_000_000_000, 60)
    told = [f"{hours} h"] * bool(hours or not minutes) + [f"{minutes} min"] * bool(minutes)
    return " ".join(told)


def figures(day: dict[str, Any]) -> dict[str, str]:
    """What the last column says, by the first."""
    cost, prices, layers = day["cost_nano"], day["cost_per_mtok"], day["layers"]
    spent = " + ".join(money(cost[name]) for name in ("capital", "energy", "other"))
    kwh = {name: day["energy_uj"][name] / 3.6e12 for name in ("cards", "host")}
    steps = {step["step"]: step["nano_per_mtok"] for step in day["waterfall_nano_per_mtok"]}
    projects = {group["name"]: group for group in day["groups"]["project"]}
    (sheet,) = day["compare"]
    herding = day["routing"]["herding"]
    ratios = [layers[name] for name in ("hours", "occupancy", "throughput")]
    rates = {peak["tokens_per_second"] for peak in layers["peak"].values()}
    could = day["capacity_ns"] / 1e9 * rates.pop()
    assert rates == set()
    states = {name.replace("other", "other use"): name for name in day["states_ns"]}
    return {
        "cost": f"{spent} = {usd(cost['total'])}",
        "full price": usd(prices["full"]["output"]),
        "active price": usd(prices["active"]["output"]),
        "marginal price": usd(prices["marginal"]["output"]),
        "full price, all tokens": usd(prices["full"]["all"]),
        "active price of new input": usd(prices["active"]["by_kind"]["new"]),
        "active price of output": usd(prices["active"]["by_kind"]["output"]),
        "energy": f"cards {kwh['cards']:g} kWh, host {kwh['host']:g} kWh",
        "capacity": span(day["capacity_ns"]),
        **{
            told: f"{span(day['states_ns'][name])}, {usd(day['states_cost_nano'][name])}"
            for told, name in states.items()
        },
        "card time": span(sum(projects["notes"]["card_time_ns"].values())),
        "card time of prompts": span(day["kinds_ns"]["new"]),
        "card time of output": span(day["kinds_ns"]["output"]),
        **{
            name: f"{ratio:.1%}".replace("%", " %")
            for name, ratio in zip(("hours", "occupancy", "throughput"), ratios, strict=True)
        },
        "output tokens": f"{round(could * ratios[0] * ratios[1] * ratios[2]):,}",
        "at peak": usd(steps.pop("at_peak")),
        "below peak": usd(steps.pop("below_peak")),
        "the other steps": usd(sum(steps.values())),
        "active cost of shop": usd(projects["shop"]["busy_cost_nano"]),
        "full cost of shop": usd(projects["shop"]["full_cost_nano"]),
        "full cost of notes": usd(projects["notes"]["full_cost_nano"]),
        "no cache": usd(sheet["no_cache_nano"]),
        "same hits": usd(sheet["same_hits_nano"]),
        "simulated cache": usd(sheet["simulated_nano"]),
        "output-only": usd(sheet["output_only_nano_per_mtok"]),
        "saved against full": usd(sheet["savings_full_nano"]),
        "saved against marginal": usd(sheet["savings_marginal_nano"]),
        "break-even in hours": sheet["break_even"]["verdicts"]["hours_per_day"],
        "queued beside idle cards": f"{len(herding['episodes'])} time, "
        f"{span(sum(each['stranded_ns'] for each in herding['episodes']))}",
        "at stake": usd(day["routing"]["at_stake"]["nano"]),
    }


def test_every_figure_of_the_page_is_what_the_books_tell(shelf: Shelf, day: dict[str, Any]) -> None:
    told = {name: figure for name, figure in ROW.findall(PAGE) if name not in ("number", "---")}
    assert told == figures(day) | what_ifs(shelf)


def test_a_million_output_tokens_and_nothing_in_doubt(day: dict[str, Any]) -> None:
    assert day["tokens"]["output"] == 10**6
    assert day["quality"]["flags"] == day["at_least"] == []


def test_what_a_card_hour_costs_explains_every_state(day: dict[str, Any]) -> None:
    """By hand: hours of each state times the rates that the page names."""
    assert "0.52 USD, or 0.58 at 350 W" in PAGE
    for name, nano in day["states_cost_nano"].items():
        hours = Decimal(day["states_ns"].get(name, 0)) / (3600 * 10**9)
        rate = Decimal("0.58" if name == "busy" else "0.52")
        assert abs(Decimal(nano) / 10**9 - hours * rate) < 2e-9


def test_the_faq_speaks_of_the_same_day() -> None:
    assert set(re.findall(r"[\d.]+ USD", FAQ)) <= set(re.findall(r"[\d.]+ USD", PAGE))


def test_the_faqs_months_by_hand() -> None:
    october, twelfth = Decimal(17_000) * 31 / 1_461, Decimal(17_000) / 4 / 12
    assert f"{october:.2f} in the report and {twelfth:.2f} in `estimate`" in FAQ
