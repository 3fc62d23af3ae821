"""What is told to differ between two contents of a month, and the reasons that are given."""

import copy
import datetime as dt
from typing import Any

from analytics.restate import kept, restatement
from collector.settings import Electricity, Hardware, RigSettings, Settings

DAY = dt.date(2026, 10, 1)
SETTINGS = Settings(
    rig=RigSettings(name="desk"),
    hardware=[Hardware(name="box", price="17000", in_service=DAY, life_years=4)],
    electricity=[Electricity(from_=DAY, price_per_kwh="0.20")],
)
OLD: dict[str, Any] = {
    "month": "2026-10",
    "closed_at_ns": 1_793_491_200 * 10**9,
    "report": {
        "cost_nano": {"total": 5, "capital": 3, "energy": 2},
        "waterfall_nano_per_mtok": [{"step": "idle", "nano_per_mtok": 5}],
        "layers": {"hours": None},
        "groups": {"project": [{"name": "a", "full_cost_nano": 3}, {"name": "b"}], "model": []},
        "quality": {"damaged": [], "gaps": [["x", "y"]]},
    },
    "settings": kept(SETTINGS),
    "inputs": {
        "version": "0.1.0",
        "rules": 2,
        "ledger": "aa",
        "assumptions": "1",
        "tables": ["zone", "holidays 1"],
        "sheets": {"a/b": "x", "c/d": "y"},
        "news": {"attempt": [[496_000, 7], [496_001, 8]], "sample": [[496_000, 7]]},
    },
}


def changed(*path: str, to: Any) -> dict[str, Any]:
    """A later content, different in one place, whose total is 6."""
    new = copy.deepcopy(OLD)
    new["report"]["cost_nano"]["total"] = 6
    place = new
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = to
    return new


def why(new: dict[str, Any], settings: Settings = SETTINGS) -> list[dict[str, Any]]:
    found = restatement(OLD, new, settings)
    assert found is not None
    why: list[dict[str, Any]] = found["why"]
    return why


def test_the_same_figures_are_no_restatement_whatever_they_rest_on() -> None:
    new = copy.deepcopy(OLD)
    new["inputs"] = {
        "version": "9",
        "rules": 9,
        "ledger": "bb",
        "news": {},
        "sheets": {},
        "assumptions": "2",
        "tables": [],
    }
    new["report"]["a figure of a newer program"] = 1
    del new["report"]["layers"]
    assert restatement(OLD, new, SETTINGS) is None


def test_a_target_judges_a_month_and_moves_none_of_its_figures() -> None:
    old, new = copy.deepcopy(OLD), copy.deepcopy(OLD)
    old["report"]["headroom"] = {"slo": None, "needed": [], "concurrency": []}
    new["report"]["headroom"] = {
        "slo": {"ttft_p95_ms": 2000},
        "needed": [{"name": "p", "needed": 1}],
        "concurrency": [],
    }
    assert restatement(old, new, SETTINGS) is None


def test_every_figure_that_differs_is_told_old_and_new() -> None:
    new = copy.deepcopy(OLD)
    report = new["report"]
    report["cost_nano"]["total"] = 6
    report["waterfall_nano_per_mtok"] = [{"step": "busy", "nano_per_mtok": 6}]
    report["quality"]["gaps"] = []
    report["layers"]["hours"] = 0.5
    report["groups"] = {"project": [{"name": "b"}, {"name": "a", "full_cost_nano": 4}], "model": []}
    found = restatement(OLD, new, SETTINGS)
    assert found is not None
    assert [(f["figure"], f["old"], f["new"]) for f in found["figures"]] == [
        ("cost_nano.total", 5, 6),
        ("waterfall_nano_per_mtok.idle", {"step": "idle", "nano_per_mtok": 5}, None),
        ("waterfall_nano_per_mtok.busy", None, {"step": "busy", "nano_per_mtok": 6}),
        ("layers.hours", None, 0.5),
        ("quality.gaps", [["x", "y"]], []),
    ]
    assert found["groups"] == {"project": 1}, "an order of rows is no figure"
    assert found["why"] == []
    assert found["at"] == "2026-11-01T00:00:00+00:00"


def test_of_a_figure_over_time_only_the_instants_that_differ_are_told() -> None:
    old, new = copy.deepcopy(OLD), copy.deepcopy(OLD)
    for report, count in ((old["report"], 4), (new["report"], 5)):
        report["routing"] = {"over_time": [{"at": "t0", "n": 1}, {"at": "t1", "n": count}]}
    found = restatement(old, new, SETTINGS)
    assert found is not None
    assert found["figures"] == [{"figure": "routing.over_time.t1.n", "old": 4, "new": 5}]


def test_hours_with_news_are_counted_by_kind() -> None:
    news = {"attempt": [[496_000, 9], [496_001, 8], [496_002, 10]], "sample": [[496_000, 7]]}
    assert why(changed("inputs", "news", to=news)) == [
        {
            "input": "events",
            "kind": "attempt",
            "hours": 2,
            "first": "2026-08-01T16:00:00+00:00",  # 496,000 hours after 1970
            "what": "2 hours got late or revised events of kind attempt",
        }
    ]


def test_a_manifest_that_was_built_anew_and_other_rules_are_said() -> None:
    (told,) = why(changed("inputs", "ledger", to="bb"))
    assert "built anew" in told["what"]
    (told,) = why(changed("inputs", "rules", to=3))
    assert told["input"] == "program"
    (told,) = why(changed("inputs", "tables", to=["zone", "holidays 2"]))
    assert told["what"].startswith("the table of the time zone or of the holidays changed")
    (told,) = why(changed("report", "quality", "damaged", to=["lost"]))
    assert "damage" in told["what"]


def test_price_sheets_and_named_files_are_said_to_have_changed() -> None:
    sheets = {"a/b": "x", "c/d": "z", "e/f": "new in the settings"}
    assert [each["what"] for each in why(changed("inputs", "sheets", to=sheets))] == [
        "the price sheet c/d changed"
    ]
    assert [each["what"] for each in why(changed("inputs", "assumptions", to="2"))] == [
        "a file that the settings name changed"
    ]


def test_settings_are_told_as_people_know_them() -> None:
    box, tariff = SETTINGS.hardware[0], SETTINGS.electricity[0]
    second = Hardware(name="box two", price="1", in_service=DAY, life_years=1)
    later = Electricity(from_=DAY.replace(month=11), price_per_kwh="0.9")
    new = Settings(
        rig=RigSettings(name="desk", currency="EUR"),
        hardware=[box, second],
        electricity=[
            Electricity(from_=DAY, price_per_kwh="0.25", host_watts=tariff.host_watts),
            later,
        ],
    )
    assert [each["what"] for each in why(changed("closed_at_ns", to=0), new)] == [
        "rig: currency USD → EUR",
        'hardware "box two" was added',
        "electricity from 2026-10-01: price_per_kwh 0.20 → 0.25",
    ]
    gone = Settings(rig=SETTINGS.rig, electricity=SETTINGS.electricity)
    assert [each["what"] for each in why(changed("closed_at_ns", to=0), gone)] == [
        'hardware "box" was removed'
    ]


def test_a_setting_that_the_older_program_did_not_know_counts_where_it_is_set() -> None:
    old = copy.deepcopy(OLD)
    for entry in old["settings"]["electricity"]:
        del entry["psu_efficiency"], entry["host_watts"]
    new = changed("closed_at_ns", to=0)
    found = restatement(old, new, SETTINGS)
    assert found is not None
    assert found["why"] == [], "its default is no change of anyone's"
    efficient = Electricity(from_=DAY, price_per_kwh="0.20", psu_efficiency="0.9")
    settings = Settings(rig=SETTINGS.rig, hardware=SETTINGS.hardware, electricity=[efficient])
    found = restatement(old, new, settings)
    assert found is not None
    assert [each["what"] for each in found["why"]] == [
        "electricity from 2026-10-01: psu_efficiency unset → 0.9"
    ]
