"""How long a call of the LiteLLM callback holds up the proxy's loop."""

import json
import shutil
import sys
from pathlib import Path

from bench.children import free_address, rigledger, running, timed
from bench.result import Result, figure, quantile

PYTHON = Path(__file__).parent.parent / "build" / "litellm" / "bin" / "python"
CALLS = 5_000


def measure_p50(work: Path, calls: int = CALLS) -> Result:
    """Microseconds of a hook at the median, the slower one."""
    return _measured(work, "hook_p50_us", 0.5, calls)


def measure_p99(work: Path, calls: int = CALLS) -> Result:
    """Microseconds that 99 of 100 calls stay within."""
    return _measured(work, "hook_p99_us", 0.99, calls)


def _measured(work: Path, name: str, share: float, calls: int) -> Result:
    folder = work.resolve() / "hook"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    address = free_address()
    config = folder / "rigledger.toml"
    config.write_text(
        f"[store]\npath = {json.dumps(str(folder / 'ledger'))}\n"
        f'[collector]\nlisten = "{address}"\n',
        encoding="utf-8",
    )
    python = str(PYTHON) if PYTHON.exists() else sys.executable
    watch = rigledger(config, "collect", "--no-sources", "--log-level", "warning")
    with running(watch, f"http://{address}/healthz", folder / "collector.log"):
        command = [python, "-m", "bench.hook_calls", f"http://{address}", str(calls)]
        took = json.loads(timed(command).output)
    shutil.rmtree(folder)
    at = {way: quantile(seconds, share) * 1e6 for way, seconds in took.items()}
    base = "LiteLLM's own class" if PYTHON.exists() else "no LiteLLM here (make litellm)"
    return Result(
        name,
        max(at["log"], at["choose"]),
        "µs",
        {"an empty hook": at["empty"]},
        f"{calls:,} calls each, a thousand a second, a collector taking the events: logging"
        f" {figure(at['log'])}, choosing {figure(at['choose'])} with conversations of up to"
        f" 24,000 characters; {base}",
    )
