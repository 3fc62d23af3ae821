"""The benchmarks run, tell what they found, and judge it; how fast anything is, no test says."""

import asyncio
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from rig.events import read

from analytics.read import Ledger
from bench import books, crowd, herding, ingest, page, pages, pools, tap, workloads
from bench.__main__ import BENCHMARKS, Benchmark, chosen, run
from bench.attempts import START_NS, attempt, batches, encode
from bench.children import rigledger
from bench.play import Answer, Outcome, play
from bench.result import Result, Target, figure, spread, table
from collector.clock import to_ns
from collector.events import Attempt
from collector.store import Store
from dashboard.pages import PAGES


def answers(value: float) -> Benchmark:
    return Benchmark(
        lambda _: Result("right", value, "s", {"other way": 4.5}, "a note"), Target("at most", 2)
    )


def breaks(_: Path) -> Result:
    raise RuntimeError("the disk is gone")


def test_the_kept_file_is_a_list_of_results(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["right"], tmp_path, {"right": answers(1.25)}) == 0
    assert json.loads((tmp_path / "bench.json").read_text(encoding="utf-8")) == [
        {
            "name": "right",
            "value": 1.25,
            "unit": "s",
            "peers": {"other way": 4.5},
            "notes": "a note",
        }
    ]
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["name", "value", "unit", "peers", "target", "met"]
    assert lines[1].split() == ["right", "1.25", "s", "other", "way", "4.5", "≤", "2", "yes"]
    assert "right: a note" in lines


def test_what_breaks_is_told_and_the_rest_still_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    some = {"wrong": Benchmark(breaks, Target("at most", 1)), "right": answers(3)}
    assert run(["wrong", "right"], tmp_path, some) == 1
    said = capsys.readouterr()
    assert "could not be measured: RuntimeError: the disk is gone" in said.err
    assert said.out.splitlines()[1].endswith("no")
    assert len(json.loads((tmp_path / "bench.json").read_text(encoding="utf-8"))) == 1


def test_only_names_what_runs() -> None:
    assert chosen("") == list(BENCHMARKS)
    assert chosen("day_33k_built_s, report_1m_s,") == ["day_33k_built_s", "report_1m_s"]
    with pytest.raises(ValueError, match="no benchmark is called 'speed'"):
        chosen("speed")


@pytest.mark.parametrize(
    ("target", "value", "met"),
    [
        (Target("at least", 20_000), 20_000, True),
        (Target("at least", 20_000), 19_999, False),
        (Target("at most", 1), 1, True),
        (Target("at most", 1), 1.001, False),
    ],
)
def test_a_target_is_met_at_its_bound(target: Target, value: float, met: bool) -> None:
    assert target.met(value) is met


def test_figures_keep_three_digits() -> None:
    assert [figure(value) for value in (0.12345, 12.345, 12_345.6)] == ["0.123", "12.3", "12,346"]
    assert spread([3.0, 1.0, 2.0]) == "median 2 of 3 rounds (1 to 3)"
    assert "-" in table([Result("a", 1, "s")], {"a": Target("at most", 1)}).splitlines()[1]


def test_a_full_attempt_leaves_nothing_out_and_is_taken_as_sent() -> None:
    told = attempt(7, "bench")
    assert json.loads(encode([told]))[0].keys() - {"kind"} == (
        set(Attempt.__struct_fields__) - {"revision", "operation"}  # both at their default
    )
    events, refused = read(encode(next(batches("bench", 3, first=5))))
    assert refused == []
    assert [event.event_id for _, event in events] == [
        attempt(n, "bench").event_id for n in (5, 6, 7)
    ]
    assert to_ns(attempt(0, "bench").received_at) == START_NS


def test_a_few_events_are_ingested(tmp_path: Path) -> None:
    found = ingest.measure(tmp_path, keys=300, rounds=1, batches_each=2, batch=10)
    assert (found.name, found.unit) == ("ingest_events_per_s", "1/s")
    assert found.value > 0
    assert found.peers.keys() == {"DuckDB Arrow insert", "SQLite plain rows"}
    assert "300 keys present" in found.notes


def test_a_few_streams_pass_a_tap(tmp_path: Path) -> None:
    found = tap.measure(tmp_path, requests=5, warm=1)
    assert (found.name, found.unit) == ("tap_first_byte_added_p50_ms", "ms")
    assert found.peers["direct"] == 0
    assert "sglang-router" in {**found.peers} or "was skipped" in found.notes


def test_a_small_month_is_reported_and_a_day_of_it_built(tmp_path: Path) -> None:
    report = books.measure_report(tmp_path, requests_a_day=200, days=2, rounds=1)
    day = books.measure_day(tmp_path, requests_a_day=200, days=2, rounds=1)
    assert [report.name, day.name] == ["report_1m_s", "day_33k_built_s"]
    assert [report.unit, day.unit] == ["s", "s"]
    assert "400 requests" in report.notes
    assert "200 requests" in day.notes


def test_a_month_written_at_once_is_reported_and_a_day_of_it_built(tmp_path: Path) -> None:
    report = books.measure_large_report(tmp_path, requests_a_day=700, days=2, rounds=1)
    day = books.measure_large_day(tmp_path, requests_a_day=700, days=2, rounds=1)
    assert [report.name, day.name] == ["report_10m_s", "day_330k_built_s"]
    assert "1,400 requests" in report.notes
    assert "700 requests" in day.notes
    assert all("MiB of memory" in found.notes for found in (report, day))
    told = json.loads((tmp_path / "crowd-700-2" / "report.json").read_text(encoding="utf-8"))
    groups = told["groups"]
    assert [len(groups[name]) for name in ("model", "project", "card")] == [6, 6, 3]
    # Of sixty sessions at a time, after each 30,000 requests the next sixty.
    assert len(groups["session"]) == 60
    # Two days of three cards; beyond, nobody watches.
    assert told["states_ns"]["unknown"] <= (31 - 2) * 3 * 86_400 * 10**9
    assert told["energy_uj"]["unknown_ns"] <= (31 - 2) * 3 * 86_400 * 10**9 + 3 * 10**9


def test_the_store_takes_a_month_written_at_once_for_its_own(tmp_path: Path) -> None:
    config = crowd.build(tmp_path / "made", requests_a_day=50, days=1)
    with Store(config.parent / "ledger") as store:
        assert store.hot_rows == 0
    kept = Ledger(config.parent / "ledger")
    assert kept.damaged() == []
    attempts = kept.frame("attempts", 0, 2**62, ends_after_ns=0)
    assert attempts.height == 50
    assert attempts["event_id"].n_unique() == 50


def test_a_report_told_twice_is_the_same_to_the_byte(tmp_path: Path) -> None:
    config = crowd.build(tmp_path / "made", requests_a_day=300, days=2)
    told = []
    for threads in ("1", "2", "2"):  # built by one thread, taken from the shelf, built by two
        file = tmp_path / f"{len(told)}.json"
        words = ("report", "2026-10", "--json", "--out", str(file))
        subprocess.run(
            rigledger(config, *words),
            check=True,
            capture_output=True,
            env={**os.environ, "POLARS_MAX_THREADS": threads},
        )
        told.append(file.read_bytes())
        if len(told) == 2:
            shutil.rmtree(config.parent / "ledger" / "derived")
    assert told[0] == told[1] == told[2]


def test_a_few_branches_are_played_on_real_engines(tmp_path: Path) -> None:
    found = herding.measure_llama(tmp_path, talks=2, runs=1, routers=["rigledger"])
    assert (found.name, found.unit) == ("router_ttft_mean_llama_s", "s")
    assert found.value > 0
    assert "6 requests over 3 llama.cpp servers" in found.notes
    (split,) = re.findall(r"split (\d+)/(\d+)/(\d+)", found.notes)
    assert sum(map(int, split)) == 6


def test_what_an_engine_had_in_its_cache_is_read_from_its_answers(tmp_path: Path) -> None:
    talks = workloads.branches(0, talks=1, turns=2, every_s=0, scale=0.02, output=3)
    with pools.llamas(tmp_path, 3) as pool:
        answers, makespan_s = asyncio.run(play(pool.urls[0], pool.model, talks, 1.0))
        assert pool.answered() == [2, 0, 0]
    first, second = answers
    assert first.hit_tokens == 0
    # All of the first turn was computed; the second adds an answer and a question of its own.
    assert 0 < second.input_tokens - first.input_tokens < first.input_tokens
    assert second.hit_tokens in range(first.input_tokens - 16, first.input_tokens + 1)
    assert makespan_s >= max(first.ttft_s, second.ttft_s)


def test_a_run_is_summed_up_by_its_answers() -> None:
    run = Outcome([Answer(0.5, 100, 0), Answer(0.1, 300, 200), Answer(0.3, 100, 50)], 2.0, [3])
    assert (run.mean_s, run.at(0.5), run.at(0.95), run.hit_ratio) == (
        pytest.approx(0.3), 0.3, 0.5, 0.5,
    )  # fmt: skip


def test_the_page_is_timed(tmp_path: Path) -> None:
    try:
        found = page.measure(tmp_path, rounds=1, days=1)
    except page.NoBrowser as error:
        pytest.skip(str(error))
    assert (found.name, found.unit) == ("page_first_s", "s")
    assert "first paint" in found.notes


def test_every_page_of_a_small_crowd_is_opened_and_drawn_again(tmp_path: Path) -> None:
    try:
        paint = pages.measure("paint", tmp_path, requests_a_day=40, days=1, rounds=1)
    except page.NoBrowser as error:
        pytest.skip(str(error))
    first = pages.measure("first", tmp_path, requests_a_day=40, days=1, rounds=1)
    again = pages.measure("rerun", tmp_path, requests_a_day=40, days=1, rounds=1)
    for found, name in ((paint, "paint"), (first, "first"), (again, "rerun")):
        assert (found.name, found.unit) == (f"page_10m_{name}_s", "s")
        each = re.findall(r"(\w+) [\d.]+(?=[,;])", found.notes.removeprefix("the slowest of "))
        assert each == list(PAGES)
        assert found.value > 0
        assert "40 requests; the server held at most" in found.notes
