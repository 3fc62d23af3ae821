"""Assets and other costs through the whole books: on which cards they fall, and what meets none."""

import datetime as dt
from pathlib import Path
from typing import Any

import pytest
from rig.kept import alter_cells
from rig.ledger import SECOND, START, attempt, heartbeats, ledger, settings

from analytics.identities import BrokenIdentity, check
from analytics.month import month
from analytics.periods import Period, month_of
from analytics.read import Ledger
from analytics.render.report import as_text
from collector.clock import from_ns
from collector.events import Event, Host
from collector.settings import EngineSettings, Hardware, OtherCost, Settings
from collector.settings_check import faults

NANO = 10**9
DAY_NS = 86_400 * NANO
FIRST, SIXTEENTH = dt.date(2026, 10, 1), dt.date(2026, 10, 16)


def account(folder: Path, made: Settings, *events: Event, name: str = "2026-10") -> Any:
    assert not list(faults(made))
    period = month_of(name, made.zone)
    return month(ledger(folder / "ledger", events), made, period, period.to_ns + 10**15)


def replaced() -> Settings:
    """Card A gives way to card B on 16 October; both stand in a rented chassis."""
    made = settings(
        "A",
        hardware=[
            # 1461 over 1461 days, 1 a day.
            Hardware(
                name="card", price="1461", in_service=FIRST, life_years=4, cards=["A"],
                retired=SIXTEENTH, proceeds="1000",
            ),
            Hardware(name="card", price="2922", in_service=SIXTEENTH, life_years=4, cards=["B"]),
            Hardware(name="chassis", method="rented", rate_per_hour="0.1", in_service=FIRST),
        ],
        other_costs=[OtherCost(name="space", per_month="31", from_=FIRST)],
    )  # fmt: skip
    made.engines.append(
        EngineSettings(name="on-A", url="http://x:1", gpus=["B"], slots=2, from_=SIXTEENTH)
    )
    return made


def test_a_card_is_replaced_in_mid_month(tmp_path: Path) -> None:
    told = account(tmp_path, replaced())
    # 15 days of A and 16 of B.
    assert told["capacity_ns"] == 31 * DAY_NS
    # A lost 15 and then, at once, 1461 − 15 − 1000 = 446, when it had no time left to bear it;
    # B 16 times 2; the chassis 744 hours.
    capital = 15 * NANO + 446 * NANO + 32 * NANO + 74_400_000_000
    assert told["cost_nano"] == {
        "total": capital + 31 * NANO,
        "capital": capital,
        "energy": 0,
        "other": 31 * NANO,
    }
    assert told["states_cost_nano"]["unassigned"] == 446 * NANO
    by_card = {g["name"]: sum(g["states_cost_nano"].values()) for g in told["groups"]["card"]}
    # Each bears the chassis (2.40 a day) and the space (1 a day) while it is there alone.
    assert by_card == {"A": 15 * 4_400_000_000, "B": 16 * 5_400_000_000}


def test_a_request_on_a_card_that_is_gone_costs_nothing(tmp_path: Path) -> None:
    late = (12 * 86_400) + 3600  # START is 5 October, 08:00
    told = account(tmp_path, replaced(), attempt("r", late, late + 60, card="A"))
    assert told["tokens"]["output"] == 50
    assert told["requests_cost_nano"] == told["states_ns"]["busy"] == 0


def test_what_is_retired_costs_nothing_more_and_leaves_no_capacity(tmp_path: Path) -> None:
    box = Hardware(name="box", price="1461", in_service=FIRST, life_years=4, retired=SIXTEENTH)
    cost = OtherCost(name="space", per_month="30")
    made = settings("A", hardware=[box], other_costs=[cost])
    told = account(tmp_path, made, name="2026-11")
    assert told["capacity_ns"] == 0
    assert told["cost_nano"]["capital"] == 0
    # The space is still paid for, and no card is there to bear it.
    assert told["cost_nano"]["other"] == 30 * NANO
    assert told["states_cost_nano"]["unassigned"] == 30 * NANO


def test_a_rise_of_the_market_is_a_negative_cost(tmp_path: Path) -> None:
    box = Hardware(
        name="box", price="1000", in_service=FIRST, method="market",
        market_values={"2026-11-01": "1310"},
    )  # fmt: skip
    made = settings("A", hardware=[box])
    told = account(tmp_path, made, attempt("r", 0, 3600))
    assert told["cost_nano"]["total"] == -310 * NANO
    # An hour of 744 is busy.
    assert told["requests_cost_nano"] == told["states_cost_nano"]["busy"]
    assert told["requests_cost_nano"] == pytest.approx(-310 * NANO / 744, abs=4)
    assert told["groups"]["model"][0]["busy_cost_nano"] == told["requests_cost_nano"]
    assert "-310.00" in as_text(told)


def test_a_rent_while_up_costs_witnessed_time_and_says_what_nobody_witnessed(
    tmp_path: Path,
) -> None:
    rig = Hardware(
        name="rig", method="rented", rate_per_hour="3.6", billed="while_up",
        in_service=dt.date(2026, 10, 5),
    )  # fmt: skip
    made = settings("A", hardware=[rig])
    period = Period("day", START - 8 * 3600 * SECOND, START + 16 * 3600 * SECOND)
    # Seen from 08:00 to 09:00:20 (the last word, at 08:59:50, holds for 30 s), then off until noon.
    off = Host(
        source="collector", event_id="boot", rig="desk", what="boot",
        at=from_ns(START + 4 * 3600 * SECOND), duration_ns=(3 * 3600 - 20) * SECOND,
    )  # fmt: skip
    seen = heartbeats(0, 3600, ["on-A"])
    told = month(ledger(tmp_path / "ledger", [*seen, off]), made, period, period.to_ns + 10**15)
    assert told["cost_nano"]["capital"] == 3_620_000_000
    alter_cells(tmp_path / "ledger" / "derived" / "2026-10-05", "capital_nano", "idle")
    with pytest.raises(BrokenIdentity, match=r"capital \+ other = as declared"):
        month(Ledger(tmp_path / "ledger"), made, period, period.to_ns + 10**15)
    unknown = 24 * 3600 - 4 * 3600
    assert told["quality"]["rent_unknown_ns"] == unknown * SECOND
    assert (
        "nothing told for 20.0 h whether a host that is rented while up was up" in told["at_least"]
    )


def test_other_costs_have_their_line_in_the_report(tmp_path: Path) -> None:
    told = account(tmp_path, replaced())
    lines = [" ".join(line.split()) for line in as_text(told).splitlines()]
    assert lines[lines.index("Cost in USD") + 1] == "hardware 567.40"
    assert "other costs 31.00" in lines
    assert "no card in service 446.00" in lines
    without = account(tmp_path / "2", settings("A", hardware=replaced().hardware))
    assert "\n  other " not in as_text(without)


def test_a_report_whose_parts_do_not_make_the_total_is_refused(tmp_path: Path) -> None:
    told = account(tmp_path, replaced())
    told["cost_nano"]["other"] += 1
    with pytest.raises(BrokenIdentity, match=r"capital \+ energy \+ other = total"):
        check(told, [], 0)
