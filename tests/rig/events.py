"""Events to test with: the contract's own example, small ones by number, and any at random."""

import datetime as dt
import json
from typing import Any

from hypothesis import strategies as st

from collector.clock import from_ns, to_ns
from collector.decode import Rejected, decode
from collector.events import (
    EARLIEST,
    INT64_MAX,
    KINDS,
    LATEST,
    Attempt,
    Engine,
    Event,
    Heartbeat,
    Host,
    Sample,
)
from collector.parcel import Parcel
from collector.restore import from_arrow


def unpacked(parcel: Parcel) -> list[Event]:
    """The events of a parcel, in its order."""
    found: dict[int, Event] = {}
    for kind, part in parcel.parts.items():
        for place, event in zip(part.places.tolist(), from_arrow(kind, part.rows), strict=True):
            assert event is not None
            found[place] = event
    assert sorted(found) == list(range(len(parcel)))
    return [found[place] for place in range(len(parcel))]


def read(text: bytes, *, ndjson: bool = False) -> tuple[list[tuple[int, Event]], list[Rejected]]:
    """What the collector reads in a body: events, with their index in it, and refusals."""
    told = decode(text, ndjson=ndjson)
    return list(zip(told.indexes, unpacked(told.parcel), strict=True)), told.rejected


NOON_NS = to_ns(dt.datetime(2026, 10, 31, 23, 59, 59, tzinfo=dt.UTC))


def attempt_json(number: int = 0, **changes: Any) -> dict[str, Any]:
    """An attempt with every field told, as a sender writes it."""
    told = {
        "kind": "attempt",
        "source": "tap",
        "event_id": f"01J{number:010d}",
        "revision": 0,
        "rig": "desk",
        "boot_id": "53e18e75-053b-491a-9312-3f7bd04f0913",
        "operation": "chat",
        "request_id": f"req-{number}",
        "attempt_no": 1,
        "response_id": f"chatcmpl-{number}",
        "session": "k1:a1",
        "project": "agent-x",
        "key": "laptop",
        "engine": "card0",
        "model": "qwen3.8-27b",
        "gpus": ["GPU-0"],
        "received_at": "2026-10-03T17:02:11.120345Z",
        "dispatch_ns": 180000,
        "wait_ns": 0,
        "ttft_ns": 310000000,
        "duration_ns": 4200000000,
        "input_tokens": 20480,
        "cache_read_tokens": 19968,
        "cache_write_tokens": None,
        "output_tokens": 412,
        "reasoning_tokens": None,
        "draft_tokens": 900,
        "draft_accepted_tokens": 301,
        "usage_source": "engine",
        "status": "ok",
        "http_status": 200,
        "finish_reason": "stop",
        "raw_usage": {"prompt_tokens": 20480, "details": {"cached_tokens": 19968}},
        "prefix": ["k1:9f", "k1:aa"],
        "prefix_tokens": [2048, 19968],
        "route": {
            "policy": "estimated_wait",
            "reason": "home",
            "chosen": "card0",
            "candidates": [
                {
                    "engine": "card0",
                    "hit_tokens": 19968,
                    "pending_tokens": 0,
                    "in_flight": 1,
                    "estimate_ms": 310,
                }
            ],
        },
    }
    return {**told, **changes}


def sample_json(number: int = 0, **changes: Any) -> dict[str, Any]:
    """A small event, as a sender writes it."""
    told = {
        "kind": "sample",
        "source": "nvml",
        "event_id": f"s-{number}",
        "rig": "desk",
        "device": "GPU-0",
        "scope": "card",
        "at": "2026-10-03T17:02:11Z",
        "power_mw": number,
        "sensor": "nvml",
    }
    return {**told, **changes}


def host(number: int, *, revision: int = 0, duration_ns: int = 0, at_ns: int = NOON_NS) -> Host:
    """Event `number` of a source; `duration_ns` is its content."""
    return Host(
        source="test",
        event_id=str(number),
        revision=revision,
        rig="desk",
        what="boot",
        at=from_ns(at_ns),
        duration_ns=duration_ns,
    )


def body(items: list[dict[str, Any]]) -> bytes:
    """A JSON array of events."""
    return json.dumps(items).encode()


_names = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=12
)
_counts = st.integers(0, INT64_MAX)
_tokens = st.integers(0, 2**40)
_elapsed = st.integers(0, 30 * 86_400 * 10**9)
_away = st.integers(-3650 * 86_400 * 10**9, 3650 * 86_400 * 10**9)
_instants = st.integers(to_ns(EARLIEST) // 1000, to_ns(LATEST) // 1000 - 1).map(
    lambda us: from_ns(us * 1000)
)
_numbers = st.recursive(
    st.none() | st.booleans() | st.integers(-INT64_MAX, INT64_MAX),
    lambda inner: (
        st.dictionaries(st.text("ab_", max_size=5), inner, max_size=3) | st.lists(inner, max_size=3)
    ),
    max_leaves=5,
)
_identity = {
    "source": _names,
    "event_id": _names,
    "revision": _counts,
    "rig": _names,
    "boot_id": st.none() | _names,
}


@st.composite
def attempts(draw: st.DrawFn) -> Attempt:
    """Any attempt that the contract admits, in its main fields."""
    prefix = draw(st.lists(_names, max_size=3))
    return Attempt(
        **{name: draw(strategy) for name, strategy in _identity.items()},
        engine=draw(_names),
        gpus=draw(st.lists(_names, max_size=2)),
        received_at=draw(_instants),
        ttft_ns=draw(st.none() | _elapsed),
        duration_ns=draw(_elapsed),
        input_tokens=draw(st.none() | _tokens),
        status=draw(st.sampled_from(["ok", "client_abort", "upstream_error", "timeout"])),
        raw_usage=draw(st.none() | st.dictionaries(st.text("ab_", max_size=5), _numbers)),
        prefix=prefix,
        prefix_tokens=[draw(_tokens) for _ in prefix],
    )


def any_event() -> st.SearchStrategy[Event]:
    """Any event that the contract admits."""
    return st.one_of(
        attempts(),
        st.builds(
            Sample,
            **_identity,
            device=_names,
            scope=st.sampled_from(["card", "host", "wall"]),
            at=_instants,
            power_mw=st.none() | _counts,
            util_pct=st.none() | st.integers(0, 100),
            temp_c=st.none() | st.integers(-INT64_MAX, INT64_MAX),
            sensor=_names,
        ),
        st.builds(Heartbeat, **_identity, witness=_names, covers=st.lists(_names), at=_instants),
        st.builds(
            Engine, **_identity, engine=_names, state=st.sampled_from(["up", "down"]), at=_instants
        ),
        st.builds(
            Host,
            **_identity,
            what=st.sampled_from(["boot", "shutdown", "suspend", "resume", "clock_step"]),
            at=_instants,
            duration_ns=st.none() | _away,
        ),
    )


assert len(KINDS) == 5, "any_event must know every kind"
