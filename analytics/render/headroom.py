"""How many engines the declared target takes, as a section of the report."""

from collections.abc import Iterable, Mapping
from typing import Any

from analytics.render.parts import Part, Row


def section(month: Mapping[str, Any]) -> Iterable[Part]:
    """A line for each pool, where there is a target."""
    slo = month.get("headroom", {}).get("slo")  # a month that was closed earlier tells none
    if slo is None:
        return
    yield f"Engines for 95 of 100 first tokens within {slo['ttft_p95_ms'] / 1000:g} s"
    for pool in month["headroom"]["needed"]:
        p95 = [f"{n}: {ms / 1000:,.3g} s" for n, ms in pool["p95_ms"].items() if ms is not None]
        if not p95:
            yield Row(pool["name"], ("not judged: no slots told, or no first token",))
            continue
        fewest, spare = pool["needed"], pool["spare_nano"]
        met = "missed" if fewest is None else f"{fewest} of {pool['engines']}"
        rest = f"the rest cost {spare / 1e9:,.2f}" if spare else ""
        yield Row(pool["name"], (met, ", ".join(p95), rest))
