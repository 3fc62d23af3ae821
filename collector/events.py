"""The contract: every row the ledger accepts, with its units and its limits.

One struct per event kind. The same declaration validates what arrives over HTTP (`decode`) and
gives the columns that the store writes and the data dictionary explains (`columns`).
"""

from datetime import UTC, datetime
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

INT64_MAX = 2**63 - 1
INT64_MIN = -(2**63)
DEPTH_MAX = 32
EARLIEST = datetime(2000, 1, 1, tzinfo=UTC)
LATEST = datetime(2100, 1, 1, tzinfo=UTC)
# Sums over a month's events must stay far from where 64 bits end.
ELAPSED_MAX_NS = 30 * 86_400 * 10**9
AWAY_MAX_NS = 3650 * 86_400 * 10**9
TOKENS_MAX = 2**40
Name = Annotated[str, Meta(min_length=1, max_length=256)]
Instant = Annotated[datetime, Meta(tz=True)]
Count = Annotated[int, Meta(ge=0, le=INT64_MAX)]
Signed = Annotated[int, Meta(ge=-INT64_MAX, le=INT64_MAX)]
Elapsed = Annotated[int, Meta(ge=0, le=ELAPSED_MAX_NS)]
Away = Annotated[int, Meta(ge=-AWAY_MAX_NS, le=AWAY_MAX_NS)]
Tokens = Annotated[int, Meta(ge=0, le=TOKENS_MAX)]
Slots = Annotated[int, Meta(ge=1, le=INT64_MAX)]
Percent = Annotated[int, Meta(ge=0, le=100)]


def doc(text: str, unit: str = "") -> Meta:
    """What a field means, and its unit."""
    return Meta(description=text, extra={"unit": unit})


def refuse_text(value: object, where: str, depth: int = 1) -> None:
    """Raise ValueError if any text hides in a usage object: no prompt may enter by that door.

    Numbers must be finite and fit 64 bits; objects may nest 32 deep.
    """
    if isinstance(value, (dict, list)):
        if depth > DEPTH_MAX:
            raise ValueError(f"`{where}` nests deeper than {DEPTH_MAX} levels")
        if isinstance(value, list):
            for index, item in enumerate(value):
                refuse_text(item, f"{where}[{index}]", depth + 1)
            return
        for name, item in value.items():
            if not isinstance(name, str) or len(name) > 64:
                raise ValueError(f"`{where}` has a key longer than 64 characters")
            if type(item) is int and INT64_MIN < item <= INT64_MAX:
                continue  # most are plain counts
            refuse_text(item, f"{where}.{name}", depth + 1)
    elif isinstance(value, str):
        raise ValueError(f"`{where}` holds text; send numbers only")
    elif isinstance(value, float):
        if not -1e300 < value < 1e300:
            raise ValueError(f"`{where}` is not a finite number")
    elif isinstance(value, int) and not INT64_MIN < value <= INT64_MAX:
        raise ValueError(f"`{where}` does not fit a 64-bit integer")


def refuse_nul(event: "Event") -> None:
    """Raise ValueError for a NUL in the identity, which is `source`, NUL, `event_id`."""
    if "\0" in event.source or "\0" in event.event_id:
        where = "source" if "\0" in event.source else "event_id"
        raise ValueError(f"`{where}` holds a NUL character")


def refuse_era(instant: datetime, where: str) -> None:
    """Raise ValueError unless the instant has a zone and lies in the years 2000 to 2099."""
    if instant.tzinfo is UTC and 2000 <= instant.year < 2100:
        return  # most are written in UTC, and this is quick
    if instant.tzinfo is None:
        raise ValueError(f"`{where}` has no time zone")
    if not EARLIEST <= instant < LATEST:
        raise ValueError(f"`{where}` lies outside the years 2000 to 2099")


# gc=False: no event can be part of a reference cycle, and reading a batch costs a third less where
# none is tracked. omit_defaults: a field at its default is not written, so that an event is written
# (and digested) the same before and after a later version adds fields.
class Candidate(
    msgspec.Struct,
    forbid_unknown_fields=True,
    kw_only=True,
    frozen=True,
    gc=False,
    omit_defaults=True,
):
    """One engine that a routing decision weighed."""

    engine: Name
    hit_tokens: Tokens | None = None
    pending_tokens: Tokens | None = None
    in_flight: Count | None = None
    estimate_ms: Count | None = None


class Route(
    msgspec.Struct,
    forbid_unknown_fields=True,
    kw_only=True,
    frozen=True,
    gc=False,
    omit_defaults=True,
):
    """A routing decision, told with the attempt that it sent on its way.

    `hit_tokens` of the prompt were believed to be cached on the chosen engine, `actual_hit_tokens`
    it reported. `regret_ms` is the time to the first token less the least that another candidate
    was estimated to need. `shadow` is what another policy would have chosen.
    """

    policy: Name
    reason: Name | None = None
    chosen: Name
    candidates: Annotated[list[Candidate], Meta(max_length=64)] = msgspec.field(
        default_factory=list
    )
    hit_tokens: Tokens | None = None
    actual_hit_tokens: Tokens | None = None
    regret_ms: Signed | None = None
    shadow_policy: Name | None = None
    shadow: Name | None = None


class Event(
    msgspec.Struct,
    forbid_unknown_fields=True,
    kw_only=True,
    frozen=True,
    gc=False,
    omit_defaults=True,
):
    """What every event carries. (source, event_id) is its identity for ever."""

    source: Annotated[Name, doc("what tells the event: tap, collector, demo, …")]
    event_id: Annotated[Name, doc("unique within its source; the idempotency key with it")]
    revision: Annotated[Count, doc("a higher revision of the same event replaces it")] = 0
    rig: Annotated[Name, doc("the host that the event speaks of")]
    boot_id: Annotated[Name | None, doc("the kernel's id of the boot that saw it")] = None


class Attempt(
    Event, kw_only=True, frozen=True, gc=False, omit_defaults=True, tag_field="kind", tag="attempt"
):
    """One request sent to one engine, whatever became of it."""

    operation: Annotated[
        Literal["chat", "completion", "embedding", "rerank", "other"],
        doc("what was asked of the engine"),
    ] = "chat"
    request_id: Annotated[Name | None, doc("X-Request-ID: the same request told elsewhere")] = None
    attempt_no: Annotated[Count, doc("1 for the first try of a request")] = 1
    response_id: Annotated[Name | None, doc("the engine's own id of its answer")] = None
    session: Annotated[Name | None, doc("conversation, as a keyed hash unless listed plain")] = None
    project: Annotated[Name | None, doc("project label")] = None
    key: Annotated[Name | None, doc("label of the API key, never the key")] = None
    engine: Annotated[
        Name,
        doc("the engine that served it; a front tap, which cannot see it, tells of `behind …`"),
    ]
    model: Annotated[Name | None, doc("the model as the engine names it")] = None
    gpus: Annotated[
        Annotated[list[Name], Meta(max_length=64)], doc("the engine's cards, by UUID")
    ] = msgspec.field(default_factory=list)
    received_at: Annotated[Instant, doc("when the request arrived; places the attempt", "instant")]
    dispatch_ns: Annotated[Elapsed | None, doc("arrival to its sending on to the engine", "ns")] = (
        None
    )
    wait_ns: Annotated[
        Elapsed | None, doc("time known to have been queued after dispatch, before computing", "ns")
    ] = None
    ttft_ns: Annotated[Elapsed | None, doc("arrival to the first token", "ns")] = None
    duration_ns: Annotated[Elapsed, doc("arrival to the last byte or the failure", "ns")]
    input_tokens: Annotated[
        Tokens | None, doc("whole prompt, cached and written tokens included", "tokens")
    ] = None
    cache_read_tokens: Annotated[
        Tokens | None, doc("part of input that a prefix cache served", "tokens")
    ] = None
    cache_write_tokens: Annotated[
        Tokens | None, doc("part of input newly written to a cache", "tokens")
    ] = None
    output_tokens: Annotated[
        Tokens | None, doc("emitted tokens, reasoning included, all choices", "tokens")
    ] = None
    reasoning_tokens: Annotated[Tokens | None, doc("part of output spent reasoning", "tokens")] = (
        None
    )
    draft_tokens: Annotated[
        Tokens | None, doc("speculated tokens; computed, never priced", "tokens")
    ] = None
    draft_accepted_tokens: Annotated[
        Tokens | None, doc("speculated tokens that were kept", "tokens")
    ] = None
    usage_source: Annotated[
        Literal["engine", "derived", "estimated", "missing"],
        doc("engine: reported; derived: counted from the stream; estimated; missing"),
    ] = "missing"
    status: Annotated[
        Literal["ok", "client_abort", "upstream_error", "timeout"], doc("how the attempt ended")
    ]
    http_status: Annotated[Count | None, doc("the engine's HTTP status, once it answered")] = None
    finish_reason: Annotated[Name | None, doc("why the engine stopped")] = None
    raw_usage: Annotated[
        dict[str, Any] | None, doc("usage and timings as the engine told them; numbers only")
    ] = None
    prefix: Annotated[
        Annotated[list[Name], Meta(max_length=1024)], doc("keyed hashes of the prompt's prefixes")
    ] = msgspec.field(default_factory=list)
    prefix_tokens: Annotated[
        Annotated[list[Tokens], Meta(max_length=1024)], doc("tokens up to each prefix", "tokens")
    ] = msgspec.field(default_factory=list)
    route: Annotated[Route | None, doc("the routing decision behind it")] = None

    def __post_init__(self) -> None:
        """Refuse what cannot be stored; what is merely odd is kept and counted by the books."""
        refuse_nul(self)
        refuse_era(self.received_at, "received_at")
        if len(self.prefix) != len(self.prefix_tokens):
            raise ValueError("`prefix_tokens` must have as many items as `prefix`")
        if self.raw_usage is not None:
            refuse_text(self.raw_usage, "raw_usage")


class Sample(
    Event, kw_only=True, frozen=True, gc=False, omit_defaults=True, tag_field="kind", tag="sample"
):
    """One reading of a card or a meter."""

    device: Annotated[Name, doc("card UUID or meter name")]
    scope: Annotated[Literal["card", "host", "wall"], doc("what the reading contains")]
    at: Annotated[Instant, doc("when it was read", "instant")]
    power_mw: Annotated[Count | None, doc("power draw", "mW")] = None
    energy_uj_total: Annotated[
        Count | None, doc("the device's energy counter", "µJ since counter_epoch")
    ] = None
    counter_epoch: Annotated[
        Name | None, doc("changes whenever the counter may have started anew")
    ] = None
    util_pct: Annotated[Percent | None, doc("share of time a kernel ran", "%")] = None
    memory_used_b: Annotated[Count | None, doc("device memory in use", "B")] = None
    sm_clock_mhz: Annotated[Count | None, doc("shader clock", "MHz")] = None
    temp_c: Annotated[Signed | None, doc("temperature", "°C")] = None
    throttle_mask: Annotated[Count | None, doc("NVML's clock event reasons", "bit mask")] = None
    foreign_processes: Annotated[
        Count | None, doc("processes on the card that are none of its engines'")
    ] = None
    sensor: Annotated[Name, doc("what was asked: nvml, shelly, demo, …")]
    error: Annotated[Name | None, doc("what could not be read, and why")] = None

    def __post_init__(self) -> None:
        refuse_nul(self)
        refuse_era(self.at, "at")


class Heartbeat(
    Event,
    kw_only=True,
    frozen=True,
    gc=False,
    omit_defaults=True,
    tag_field="kind",
    tag="heartbeat",
):
    """Every 10 s: a witness tells that it watches these engines."""

    witness: Annotated[Name, doc("who watches: tap, collector, router")]
    covers: Annotated[
        Annotated[list[Name], Meta(max_length=256)], doc("the engines that it watches")
    ]
    at: Annotated[Instant, doc("when", "instant")]

    def __post_init__(self) -> None:
        refuse_nul(self)
        refuse_era(self.at, "at")


class Engine(
    Event, kw_only=True, frozen=True, gc=False, omit_defaults=True, tag_field="kind", tag="engine"
):
    """An engine as its health check found it; told when it changes."""

    engine: Annotated[Name, doc("the engine")]
    state: Annotated[Literal["up", "down"], doc("whether it answered")]
    slots: Annotated[Slots | None, doc("requests it computes at a time")] = None
    running: Annotated[Count | None, doc("requests computing now")] = None
    waiting: Annotated[Count | None, doc("requests queued now")] = None
    at: Annotated[Instant, doc("when", "instant")]

    def __post_init__(self) -> None:
        refuse_nul(self)
        refuse_era(self.at, "at")


class Host(
    Event, kw_only=True, frozen=True, gc=False, omit_defaults=True, tag_field="kind", tag="host"
):
    """What befell the host."""

    what: Annotated[
        Literal["boot", "shutdown", "suspend", "resume", "clock_step"], doc("what befell it")
    ]
    at: Annotated[Instant, doc("when", "instant")]
    duration_ns: Annotated[
        Away | None, doc("boot, resume: time it was off before; clock_step: the step", "ns")
    ] = None

    def __post_init__(self) -> None:
        refuse_nul(self)
        refuse_era(self.at, "at")


AnyEvent = Attempt | Sample | Heartbeat | Engine | Host
KINDS: dict[str, type[Event]] = {
    "attempt": Attempt,
    "sample": Sample,
    "heartbeat": Heartbeat,
    "engine": Engine,
    "host": Host,
}
KIND_OF: dict[type[Event], str] = {struct: kind for kind, struct in KINDS.items()}
