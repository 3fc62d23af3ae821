"""The collector's own figures, as Prometheus reads them."""

import threading
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from collector.clock import SECOND_NS
from collector.damage import PARTS
from collector.decode import Rejected
from collector.parcel import Parcel
from collector.store import Receipt

LABELS_MAX = 1000  # a sender that invents names must not fill memory
# The kinds of which something is shown, and what of them.
NOTED = {
    "sample": ["device", "at_ns", "power_mw", "energy_uj_total"],
    "engine": ["engine", "at_ns", "state"],
}
Labels = tuple[tuple[str, str], ...]
Series = Iterable[tuple[Labels, int | float]]


class Tally:
    """What the collector has seen since it started; fed by several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rejected: Counter[str] = Counter()
        self._sampled_ns: dict[str, int] = {}
        self._engines: dict[str, tuple[int, bool]] = {}

    def kept(self, parcel: Parcel, receipt: Receipt) -> None:
        """Take note of readings that the store has accepted."""
        if parcel.parts.keys().isdisjoint(NOTED):
            return
        refused = set(receipt.conflicts)
        kept = parcel.rows([place for place in range(len(parcel)) if place not in refused])
        with self._lock:
            for kind, note in (("sample", self._sample), ("engine", self._engine)):
                if kind in kept:
                    for told in kept[kind].select(NOTED[kind]).to_pylist():
                        note(**told)

    def rejected(self, refusals: Sequence[Rejected]) -> None:
        """Take note of what the contract refused."""
        with self._lock:
            self._rejected.update(refusal.kind or "unknown" for refusal in refusals)

    def sample_ages(self, now_ns: int) -> Series:
        """Seconds since each device's last sample that carried a reading."""
        with self._lock:
            told = sorted(self._sampled_ns.items())
        return [((("device", name),), (now_ns - at) / SECOND_NS) for name, at in told]

    def engines_up(self) -> Series:
        """1 for each engine whose last word was up, else 0."""
        with self._lock:
            told = sorted(self._engines.items())
        return [((("engine", name),), int(up)) for name, (_, up) in told]

    def rejections(self) -> Series:
        """Refusals by kind."""
        with self._lock:
            return [((("kind", kind),), n) for kind, n in sorted(self._rejected.items())]

    def _sample(
        self, device: str, at_ns: int, power_mw: int | None, energy_uj_total: int | None
    ) -> None:
        if power_mw is None and energy_uj_total is None:
            return
        if device in self._sampled_ns or len(self._sampled_ns) < LABELS_MAX:
            self._sampled_ns[device] = max(at_ns, self._sampled_ns.get(device, at_ns))

    def _engine(self, engine: str, at_ns: int, state: str) -> None:
        if engine in self._engines or len(self._engines) < LABELS_MAX:
            told = (at_ns, state == "up")
            if told[0] >= self._engines.get(engine, told)[0]:
                self._engines[engine] = told


def render(
    tally: Tally,
    counters: Mapping[tuple[str, str], int],
    *,
    damage: Mapping[str, int],
    hot_rows: int,
    segments: int,
    now_ns: int,
) -> str:
    """The exposition text (Prometheus format 0.0.4)."""

    def told(name: str) -> Series:
        return [((("kind", k),), n) for (what, k), n in sorted(counters.items()) if what == name]

    families: list[tuple[str, str, str, Series]] = [
        ("events_accepted_total", "counter", "Events kept.", told("accepted")),
        ("events_duplicate_total", "counter", "Events told again.", told("duplicate")),
        (
            "events_conflict_total",
            "counter",
            "Events whose identity was taken by other content.",
            told("conflict"),
        ),
        (
            "events_rejected_total",
            "counter",
            "Events that the contract refused, since the start.",
            tally.rejections(),
        ),
        (
            "damage_total",
            "counter",
            "Parts of the ledger that were found damaged.",
            [((("part", part),), damage.get(part, 0)) for part in PARTS],
        ),
        ("hot_rows", "gauge", "Rows not yet sealed.", [((), hot_rows)]),
        ("segments", "gauge", "Sealed files.", [((), segments)]),
        (
            "last_sample_age_seconds",
            "gauge",
            "Age of a device's last reading.",
            tally.sample_ages(now_ns),
        ),
        ("engine_up", "gauge", "Whether an engine answered last.", tally.engines_up()),
    ]
    return "".join(_family(f"rigledger_{n}", kind, text, rows) for n, kind, text, rows in families)


def _family(name: str, kind: str, text: str, series: Series) -> str:
    lines = [f"# HELP {name} {text}", f"# TYPE {name} {kind}"]
    lines += [f"{name}{_labels(labels)} {value}" for labels, value in series]
    return "\n".join(lines) + "\n"


def _labels(labels: Labels) -> str:
    if not labels:
        return ""
    return "{" + ",".join(f'{name}="{_escape(value)}"' for name, value in labels) + "}"


def _escape(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
