"""A rig whose every page has figures, and all that its JSON tells of them."""

import datetime as dt
import json
import tomllib
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

from places import common, cost, routing
from rig import month_page, page
from rig.ledger import attempt, engine
from rig.units import UNITS, places_for, printed
from test_routing_page import events as decided

from analytics.comparison import answered
from analytics.publish import published
from analytics.render import rows
from analytics.sql import ask
from collector.clock import to_ns
from collector.scenarios import Scenario, save
from collector.settings import load

NOW_NS = to_ns(dt.datetime(2026, 11, 8, 12, 0, tzinfo=dt.UTC))
DAY_S = 86_400
CHEAP, DEAR = "deepseek/deepseek-v4.1-flash", "a dear API"
# Nobody serves this port, so that no other collector of the machine is taken for the rig's.
TABLES = """
[collector]
listen = "127.0.0.1:3"

[[other_costs]]
name = "internet share"
from = 2026-10-01
per_month = "10"

[[compare.prices]]
name = "a dear API"
input = "2000"
cache_read = "100"
output = "200000"

[compare]
sheets = ["deepseek/deepseek-v4.1-flash"]

[slo]
ttft_p95_seconds = 2.0
"""
# What-ifs that were kept, and what the settings file would say under them.
HOURS, KWH_UJ, NANO = "2", 3.6e12, common.NANO
COLUMN = {"hardware_price": "hardware", "price_per_kwh": "kwh"}
WHAT_IFS = {
    "dearer machine": ({"hardware_price": "70128"}, ('"35064"', '"70128"')),
    "dearer power": ({"price_per_kwh": "0.4"}, ('"0.20"', '"0.4"')),
}


def write(folder: Path) -> Path:
    """A morning of work, decisions and a queue on October's last day, and some in November; and
    three what-ifs of it."""
    slots = [engine(f"on-{card}", 0, "up", slots=n) for card, n in (("A", 2), ("B", 1))]
    later = attempt("later", 30 * DAY_S, 30 * DAY_S + 900, output_tokens=700)
    told = [*month_page.events(), *slots, *decided(26 * DAY_S), later]
    config = month_page.write(folder, page.PRICES, TABLES, told=told)
    save(config, Scenario(name="longer days", hours_per_day=HOURS))
    for name, (change, _) in WHAT_IFS.items():
        save(config, Scenario(name=name, **change))
    return config


@cache
def report(config: Path, month: str) -> dict[str, Any]:
    """What `rigledger report --json` prints."""
    found: dict[str, Any] = json.loads(published(config, month, "json")[1])
    return found


def month(config: Path) -> dict[str, Any]:
    """October's report, with the months beside it and what sentences pick from it."""
    months = [report(config, name) for name in common.MONTHS]
    told = months[0]
    (episode,) = told["routing"]["herding"]["episodes"]
    began, ended = (dt.datetime.fromisoformat(episode[end]) for end in ("from", "to"))
    steps = told["waterfall_nano_per_mtok"]
    dearest = max(steps, key=lambda each: each["nano_per_mtok"])
    amounts = [each["nano_per_mtok"] for each in steps]
    parts = [told["cost_nano"][part] for part in ("capital", "energy", "other")]
    flags = [f"{flag[0].upper()}{flag[1:]}" for flag in told["quality"]["flags"]]
    peaks = sorted(each["tokens_per_second"] for each in told["layers"]["peak"].values())
    return told | {
        "months": months,
        "printed": printed(parts, 2),
        "dearest_printed": printed(amounts, places_for(sum(amounts)))[steps.index(dearest)],
        "dearest_share": dearest["nano_per_mtok"] / sum(amounts),
        "rates": [peaks[0], peaks[-1]],
        "last_day_name": common.day_name(told["last_day"]["name"]),
        "episode": episode,
        "episode_clock": f"{began:%H:%M}",
        "episode_second": f"{began:%H:%M:%S}",
        "episode_ns": round((ended - began).total_seconds()) * common.NANO,
        "flags": flags,
    }


def by(config: Path, label: str) -> dict[str, Any]:
    """October by one label."""
    told = month(config)
    ranked = cost.ranked(told, label)
    share = ranked[0]["full"] / told["cost_nano"]["total"]
    return told | {"ranked": ranked, "ranked_share": share}


def utilization(config: Path) -> dict[str, Any]:
    """October's hours and gaps."""
    told = month(config)
    hours = [h for h in told["groups"]["weekday_hour"] if h["busy_share"] is not None]
    gap, states, own = told["active_gap"], told["states_ns"], told["layers"]
    as_set = {"gap_ns": gap["gap_ns"], "headroom_ns": states["headroom"], "idle_ns": states["idle"],
              "hours": own["hours"], "occupancy": own["occupancy"]}  # fmt: skip
    return told | {
        "busiest": max(each["busy_share"] for each in hours),
        "never": sum(not each["states_ns"]["busy"] for each in hours),
        "gaps": [
            gap["half"] | {"which": "half"},
            as_set | {"which": "as set"},
            gap["twice"] | {"which": "twice"},
        ],
    }


def decisions(config: Path) -> dict[str, Any]:
    """October's decisions, in the shares and means that sentences tell."""
    told = month(config)
    found = told["routing"]
    hits, regret, (shadow,) = found["hits"], found["regret"], found["shadow"]
    return told | {
        "found_share": hits["actual_hit_tokens"] / hits["hit_tokens"],
        "regretted_share": regret["regretted"] / regret["decisions"],
        "agreed_share": shadow["agreed"] / shadow["decisions"],
        "regret_mean_ms": regret["regret_ms"] / regret["regretted"],
        "chosen_mean_ms": shadow["chosen_ms"] / shadow["estimated"],
        "shadow_mean_ms": shadow["shadow_ms"] / shadow["estimated"],
        "stake_share": found["at_stake"]["nano"] / told["cost_nano"]["total"],
        "missed": routing.misses(told),
        "missed_nano": sum(each["cost_nano"] for each in found["misses"]["causes"].values()),
        "again_share": routing.again(told),
        "reasons": [
            {"policy": policy["name"], **reason}
            for policy in found["by_policy"]
            for reason in policy["by_reason"]
        ],
        "attempts": attempts(config),
    }


@cache
def comparison(config: Path) -> dict[str, Any]:
    """What `rigledger compare --json` prints of October."""
    found: dict[str, Any] = json.loads(answered(config, "2026-10", "2026-10", [], as_json=True))
    return found


def compared(config: Path, name: str) -> dict[str, Any]:
    """A comparison, and one of its sheets."""
    found = comparison(config)
    (sheet,) = (each for each in found["sheets"] if each["sheet"] == name)
    (line,) = (each for each in found["since_purchase"] if each["sheet"] == name)
    return found | {"sheet": sheet, "line": line, "last": line["months"][-1]}


def beside(config: Path, name: str) -> dict[str, Any]:
    """The comparison, and beside it what it would tell under each what-if."""
    found = compared(config, name)
    told = report(config, "2026-10")
    drawn = told["energy_uj"]
    was = what_if("as measured", found) | {
        "hours": found["by_hours"]["here_hours"],
        "hardware": 35064,
        "kwh": told["cost_nano"]["energy"] / NANO / ((drawn["cards"] + drawn["host"]) / KWH_UJ),
    }
    rows = [was, was | longer(found)]
    for what, (change, (before, after)) in WHAT_IFS.items():
        other = config.with_name(f"{what}.toml")
        other.write_text(config.read_text().replace(before, after), encoding="utf-8")
        changes = {COLUMN[which]: float(value) for which, value in change.items()}
        rows.append(was | what_if(what, compared(other, name)) | changes)
    return found | {"what_ifs": rows}


def what_if(name: str, found: dict[str, Any]) -> dict[str, Any]:
    """A comparison as a what-if."""
    sheet = found["sheet"]
    return {
        "scenario": name,
        "price_nano": found["per_mtok_nano"]["full"],
        "cost_nano": found["cost_nano"]["full"],
        "bill_nano": sheet["headline_nano"],
        "saved_nano": sheet["savings_full_nano"],
        "even": even(sheet["break_even"]),
    }


def longer(found: dict[str, Any]) -> dict[str, Any]:
    """More hours of the same work: it, its bill and its electricity beyond idle grow with them;
    where both meet stays. The price is on the curve."""
    hours, cost = found["by_hours"], found["cost_nano"]
    times = Fraction(HOURS) / Fraction(hours["here_hours"])
    all_nano, bill = cost["full"] + (times - 1) * cost["marginal"], found["sheet"]["headline_nano"]
    (price,) = (p["full_nano_per_mtok"] for p in hours["points"] if p["hours"] == float(HOURS))
    return {
        "scenario": "longer days",
        "hours": float(HOURS),
        "price_nano": price,
        "cost_nano": float(all_nano),
        "bill_nano": float(bill * times),
        "saved_nano": float(bill * times - all_nano),
    }


def even(meet: dict[str, Any]) -> str:
    """Where own cost and the bill meet, in hours a day."""
    if meet["verdict"] != "at":
        return str(meet["verdict"])
    side = {"exactly": "", "at least": ", at least", "at most": ", at most"}
    return f"{UNITS['one'](meet['hours_per_day'])}{side[meet['bounds']['hours_per_day']]}"


def attempts(config: Path) -> list[dict[str, Any]]:
    """Every attempt of the ledger, as `rigledger sql --json` prints it."""
    found = ask(load(config), "SELECT * FROM attempt", None)
    told: list[dict[str, Any]] = json.loads(rows.as_json(found.names, found.rows))
    return told


def assumed(before: Path, after: Path) -> dict[str, Any]:
    """What the settings file says, and the reports before a change of it and after."""
    file = tomllib.loads(before.read_text(encoding="utf-8"))
    (asset,), (tariff,) = file["hardware"], file["electricity"]
    days = (asset["in_service"].replace(year=2026 + asset["life_years"]) - asset["in_service"]).days
    return {
        "file": file,
        "price": f"{int(asset['price']):,}",
        "tariff": tariff,
        "lost_nano": int(asset["price"]) * common.NANO // days,
        "before": [report(before, name) for name in common.MONTHS],
        "after": [report(after, name) for name in common.MONTHS],
    }
