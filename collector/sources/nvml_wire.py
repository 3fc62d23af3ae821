"""What the NVML source and its child process tell each other: a plan in, one line a round out."""

import msgspec

NO_NVML = 3
"""The child's exit status where there is no driver, no library or no card to read."""


class Port(msgspec.Struct, frozen=True, kw_only=True):
    """Where an engine listens on this host; `port` None where its address is no loopback one."""

    port: int | None
    gpus: list[str]


class Counter(msgspec.Struct, frozen=True, kw_only=True):
    """Where a card's energy counter stood: `last_mj` in mJ, `resets` seen in this boot.

    `read_ns`: when it was read, boot clock, ns. `lost`: the card has not answered since.
    """

    resets: int = 0
    last_mj: int | None = None
    read_ns: int | None = None
    lost: bool = False


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """The child's orders, one JSON argument.

    `sample_seconds` None lets the cards decide. `cards` maps each UUID known so far to its
    counter: they are told of even while lost. `boot` names this boot and this load of the
    driver, with which the counters start. `proc` is the root of the process table.
    """

    sample_seconds: float | None = None
    engines: list[Port] = []
    cards: dict[str, Counter] = {}
    boot: str = "boot"
    proc: str = "/proc"


class Reading(msgspec.Struct, kw_only=True):
    """One card, once. Fields and units are those of a sample; None means not read.

    `at_ns`: when, on the boot clock, ns; the parent places it on the wall clock. `lost`: the card
    did not answer at all; only `error` is set then.
    """

    device: str
    at_ns: int
    lost: bool = False
    power_mw: int | None = None
    energy_uj_total: int | None = None
    counter_epoch: str | None = None
    util_pct: int | None = None
    memory_used_b: int | None = None
    sm_clock_mhz: int | None = None
    temp_c: int | None = None
    throttle_mask: int | None = None
    foreign_processes: int | None = None
    error: str | None = None


class Round(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the child: every known card, and the counters to hand to a successor.

    `sample_seconds` is the cadence now in force; `errors` speaks of cards that have no UUID yet.
    """

    driver: str | None
    sample_seconds: float
    cards: list[Reading]
    counters: dict[str, Counter]
    errors: list[str] = []
