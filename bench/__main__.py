"""`python -m bench`: run the benchmarks, print a table, keep `build/bench.json`.

ONLY=name,name in the environment runs some of them.
"""

import os
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bench import books, door, fleet_sim, herding, hook, ingest, machine, page, pages, tap
from bench.result import Result, Target, table, write

BUILD = Path(__file__).parent.parent / "build"


@dataclass(frozen=True)
class Benchmark:
    """What is measured, and what it should reach, where that is a figure of its own."""

    measure: Callable[[Path], Result]
    target: Target | None


BENCHMARKS = {
    "machine_additions_m_per_s": Benchmark(machine.measure, None),
    "ingest_events_per_s": Benchmark(ingest.measure, Target("at least", 20_000)),
    "tap_first_byte_added_p50_ms": Benchmark(tap.measure, Target("at most", 1.0)),
    "sim_ttft_ample_ratio": Benchmark(fleet_sim.measure_ample, Target("at most", 1.03)),
    "sim_ttft_tight_ratio": Benchmark(fleet_sim.measure_tight, Target("at most", 0.9)),
    "report_1m_s": Benchmark(books.measure_report, Target("at most", 3.0)),
    "day_33k_built_s": Benchmark(books.measure_day, Target("at most", 1.0)),
    "report_10m_s": Benchmark(books.measure_large_report, Target("at most", 10.0)),
    "day_330k_built_s": Benchmark(books.measure_large_day, Target("at most", 5.0)),
    "router_first_byte_added_p50_ms": Benchmark(door.measure_p50, Target("at most", 1.0)),
    "router_first_byte_added_p99_ms": Benchmark(door.measure_p99, Target("at most", 10.0)),
    "router_json_per_s": Benchmark(door.measure_json, Target("at least", 3000)),
    "router_ttft_mean_branches_s": Benchmark(herding.measure_branches, None),
    "router_ttft_mean_ample_s": Benchmark(herding.measure_ample, None),
    "router_ttft_mean_tight_s": Benchmark(herding.measure_tight, None),
    "router_ttft_mean_traces_s": Benchmark(herding.measure_traces, None),
    "router_ttft_mean_llama_s": Benchmark(herding.measure_llama, None),
    "hook_p50_us": Benchmark(hook.measure_p50, Target("at most", 20)),
    "hook_p99_us": Benchmark(hook.measure_p99, Target("at most", 200)),
    "page_first_s": Benchmark(page.measure, Target("at most", 1.5)),
    "page_10m_paint_s": Benchmark(partial(pages.measure, "paint"), Target("at most", 1.5)),
    "page_10m_first_s": Benchmark(partial(pages.measure, "first"), Target("at most", 1.5)),
    "page_10m_rerun_s": Benchmark(partial(pages.measure, "rerun"), Target("at most", 0.5)),
}


def chosen(only: str, benchmarks: Mapping[str, Benchmark] = BENCHMARKS) -> list[str]:
    """The names in `only`, or all of them. Raises ValueError for a name that is none."""
    names = [name.strip() for name in only.split(",") if name.strip()]
    unknown = [name for name in names if name not in benchmarks]
    if unknown:
        raise ValueError(
            f"no benchmark is called {unknown[0]!r}; choose of {', '.join(benchmarks)}"
        )
    return names or list(benchmarks)


def run(
    names: list[str], build: Path = BUILD, benchmarks: Mapping[str, Benchmark] = BENCHMARKS
) -> int:
    """Run them and tell; 1 if one could not be measured. A missed target is no failure."""
    work = build / "bench"
    shutil.rmtree(work, ignore_errors=True)
    results: list[Result] = []
    failed = False
    for name in names:
        _say(f"-> {name} (load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores)")
        try:
            results.append(benchmarks[name].measure(work))
        except Exception as error:
            failed = True
            _say(f"   could not be measured: {type(error).__name__}: {error}")
    shutil.rmtree(work, ignore_errors=True)
    write(results, build / "bench.json")
    print(table(results, {name: benchmarks[name].target for name in names}))
    return int(failed)


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def main() -> int:
    """The command."""
    try:
        names = chosen(os.environ.get("ONLY", ""))
    except ValueError as error:
        _say(f"bench: {error}")
        return 2
    return run(names)


if __name__ == "__main__":
    sys.exit(main())
