"""A second set of books, as plain as can be: Python integers, one instant at a time.

It reads the events themselves and shares no code with `analytics`; where the two differ, one of
them is wrong. Quadratic on purpose: for small ledgers only.
"""

import datetime as dt
import itertools
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable
from statistics import median_low
from typing import Any

from rig import oracle_capital, oracle_tariff
from rig.oracle_tellings import one_each

from collector.events import Attempt, Engine, Event, Heartbeat, Host, Sample
from collector.settings import Settings

SECOND = 1_000_000_000
BUCKET = 900 * SECOND
QUIET = ("stranded", "headroom", "idle")
EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
Leaf = tuple[str, int, str, str, str]  # card, bucket, state, request, kind


def ns_of(instant: dt.datetime) -> int:
    return (instant - EPOCH) // dt.timedelta(microseconds=1) * 1000


def share_out(amount: int, weights: dict[Any, int]) -> dict[Any, int]:
    """Largest remainder: floors first, then one unit each by remainder, ties by key."""
    whole = sum(weights.values())
    shares = {key: amount * weight // whole for key, weight in weights.items()}
    ranked = sorted(weights, key=lambda key: (-(amount * weights[key] % whole), key))
    for key in ranked[: amount - sum(shares.values())]:
        shares[key] += 1
    return shares


def covered(spans: Iterable[tuple[int, int]]) -> Callable[[int], bool]:
    """Whether an instant lies in any of the half-open spans."""
    marks = sorted([(b, 1) for a, b in spans if b > a] + [(a, -1) for a, b in spans if b > a])
    depth, bounds = 0, [-1]
    depths = [0]
    for at, step in marks:
        depth -= step
        bounds.append(at)
        depths.append(depth)
    return lambda at: depths[bisect_right(bounds, at) - 1] > 0


class Request:
    """An attempt with the instants at which it came, computed, spoke and left."""

    def __init__(self, event: Attempt, slots: int | None, earlier: list["Request"]) -> None:
        self.event = event
        self.name = f"{event.source}\0{event.event_id}"
        received = ns_of(event.received_at)
        self.start = received + (event.dispatch_ns or 0)
        self.end = received + event.duration_ns
        self.compute = min(self._queued(slots, earlier), self.end)
        if event.wait_ns is not None:
            self.compute = min(self.start + event.wait_ns, self.end)
        self.split, self.kinds = self._split(received)
        self.again = 0  # of the fresh tokens, those that the pool had computed before

    @property
    def computed(self) -> int | None:
        """When its prefixes had been computed."""
        if self.event.ttft_ns is not None:
            return min(ns_of(self.event.received_at) + self.event.ttft_ns, self.end)
        return self.end if self.event.status == "ok" else None

    def _queued(self, slots: int | None, earlier: list["Request"]) -> int:
        there = sorted((r.end for r in earlier), reverse=True)
        if slots is None or len(there) < slots:
            return self.start
        return max(self.start, there[slots - 1])

    def _split(self, received: int) -> tuple[int, tuple[str, str]]:
        event = self.event
        if event.operation in ("embedding", "rerank"):
            return self.end, ("new", "output")
        if event.ttft_ns is None:
            return self.end, ("unsplit", "output")
        at = min(max(received + event.ttft_ns, self.compute), self.end)
        cached, total = event.cache_read_tokens, event.input_tokens
        nothing_new = cached is not None and total is not None and cached >= total
        return at, ("unsplit" if nothing_new else "new", "output")


class Books:
    """Leaves of time and money over [start, end) of a rig whose engines each have their slots."""

    def __init__(
        self, events: Iterable[Event], settings: Settings, start: int, end: int, now: int
    ) -> None:
        self.settings, self.start, self.end = settings, start, min(end, now)
        self.days = (self._midnight(start), min(self._midnight(end - 1, 1), now))
        self.events = list(events)
        self._of: dict[type[Any], list[Any]] = {}
        in_force = [e for e in settings.engines if settings.midnight_ns(e.from_) <= start]
        self.engines = {e.name: e for e in sorted(in_force, key=lambda e: e.from_)}
        self.requests = self._requests()
        self.cards = sorted(
            {gpu for e in self.engines.values() for gpu in e.gpus}
            | {gpu for a in settings.hardware for gpu in a.cards}
        )
        self.said: dict[str, list[tuple[int, str, str]]] = defaultdict(list)
        for e in self.words():
            self.said[e.engine].append((ns_of(e.at), e.event_id, e.state))
        self.segments = {card: self._segments(card) for card in self.cards}
        self.time = self._time_leaves()
        self.at: dict[tuple[str, int], dict[Leaf, int]] = defaultdict(dict)
        for leaf, ns in self.time.items():
            self.at[leaf[0], leaf[1]][leaf] = ns
        self.energy = self._card_energy()
        self.money: dict[str, dict[Leaf, int]] = {}
        self.unassigned = 0
        self.by_category: dict[str, int] = defaultdict(int)
        self._capital()
        self._electricity()

    def of(self, kind: type[Any]) -> list[Any]:
        if kind not in self._of:
            self._of[kind] = [event for event in self.events if isinstance(event, kind)]
        return self._of[kind]

    def attempts(self) -> list[Attempt]:
        """Each attempt once, whoever told of it."""
        return one_each(self.of(Attempt))

    def cards_of(self, request: Request) -> list[str]:
        declared = self.engines.get(request.event.engine)
        return list(request.event.gpus) or (list(declared.gpus) if declared else [])

    def _requests(self) -> list[Request]:
        queues: dict[str, list[Request]] = defaultdict(list)
        in_order = sorted(
            self.attempts(),
            key=lambda e: (
                ns_of(e.received_at) + (e.dispatch_ns or 0),
                e.source,
                e.event_id,
            ),
        )
        for event in in_order:
            queue = queues[event.engine]
            queue.append(Request(event, self.slots(event), list(queue)))
        found = [request for queue in queues.values() for request in queue]
        for request in found:
            request.again = self._again(request, found)
        return found

    def _again(self, request: Request, others: list[Request]) -> int:
        """The longest prefix that the pool had computed in two days, less what the cache served."""
        event = request.event
        if event.input_tokens is None or event.cache_read_tokens is None:
            return 0
        seen = request.compute
        if event.ttft_ns is not None:
            seen = min(seen, ns_of(event.received_at) + event.ttft_ns)
        known: set[str] = set()
        for other in others:
            done = other.computed
            if done is None or self.pool(other) != self.pool(request):
                continue
            if request.end - 192 * BUCKET <= done < seen:
                known.update(other.event.prefix)
        longest = max(
            (tokens for key, tokens in zip(event.prefix, event.prefix_tokens, strict=True)
             if key in known),
            default=0,
        )  # fmt: skip
        return max(0, min(longest, event.input_tokens) - event.cache_read_tokens)

    def slots(self, event: Attempt) -> int | None:
        """Declared, else as the engine last told before the request came."""
        declared = self.engines.get(event.engine)
        if declared is not None and declared.slots is not None:
            return declared.slots
        came = ns_of(event.received_at) + (event.dispatch_ns or 0)
        told = [
            (ns_of(e.at), e.event_id, e.slots)
            for e in self.words()
            if e.engine == event.engine and e.slots is not None and ns_of(e.at) <= came
        ]
        return max(told)[2] if told else None

    # -- states

    def _spans(self, card: str) -> list[tuple[str, Callable[[int], bool]]]:
        """For each state, whether it holds at an instant; asked in order."""
        names = [e.name for e in self.engines.values() if card in e.gpus]
        pools = {e.pool_name for e in self.engines.values() if card in e.gpus}
        own = [r for r in self.requests if card in self.cards_of(r)]
        waiting = [r for r in self.requests if self.pool(r) in pools]
        seen = [ns_of(h.at) for h in self.of(Heartbeat) if set(h.covers) & set(names)]
        used = [(a, b) for a, b, gap, s in self.readings(card) if not gap and self._foreign(s)]
        witnessed = covered([(t, t + 30 * SECOND) for t in seen])

        def off(at: int) -> bool:
            down = bool(names) and all(self.down(name, at) for name in names)
            return self.host_off(at) or (down and witnessed(at))

        return [
            ("busy", covered([(r.start, r.end) for r in own])),
            ("off", off),
            ("unknown", lambda at: not witnessed(at)),
            ("other", covered(used)),
            ("stranded", covered([(r.start, r.compute) for r in waiting])),
            ("headroom", covered(self.active_windows())),
            ("idle", lambda at: True),
        ]

    @staticmethod
    def _foreign(sample: Sample) -> bool:
        return (sample.foreign_processes or 0) >= 1 and (sample.util_pct or 0) >= 10

    def pool(self, request: Request) -> str:
        declared = self.engines.get(request.event.engine)
        return declared.pool_name if declared else request.event.engine

    def down(self, name: str, at: int) -> bool:
        said = self.said.get(name, [])
        before = [entry for entry in said if entry[0] <= at]
        return bool(before) and max(before)[2] == "down"

    def words(self) -> list[Engine]:
        """What was said of engines, in time told once."""
        return [e for e in self.of(Engine) if not self.told_twice(ns_of(e.at))]

    def told_twice(self, at: int) -> bool:
        """Whether the clock was set back over this instant, from a time that it had told."""
        for step in self.of(Host):
            back = -(step.duration_ns or 0)
            if step.what != "clock_step" or not 0 < back <= 2 * 96 * BUCKET:
                continue
            if max(ns_of(step.at), self._told_since(step)) <= at < ns_of(step.at) + back:
                return True
        return False

    def _told_since(self, step: Host) -> int:
        """Where the clock that `step` put an end to had begun, by its own time."""
        if step.boot_id is None:
            return 0
        same = [h for h in self.of(Host) if h.boot_id == step.boot_id]
        steps = [h for h in same if h.what == "clock_step"]
        before = [h for h in steps if h.event_id < step.event_id]
        if before:
            return ns_of(max(before, key=lambda h: h.event_id).at)
        boots = [ns_of(h.at) for h in same if h.what == "boot"]
        return max(boots, default=0) - sum(h.duration_ns or 0 for h in steps) if boots else 0

    def disturbed(self, a: int, b: int) -> bool:
        """Whether between two readings the host began to be off, was booted, or its clock set."""
        for h in self.of(Host):
            bounds = {ns_of(h.at) - (h.duration_ns or 0)} if h.what in ("boot", "resume") else set()
            if h.what == "boot" or (h.what == "clock_step" and h.duration_ns):
                bounds.add(ns_of(h.at))
            if any(a < t <= b for t in bounds):
                return True
        return False

    def host_off(self, at: int) -> bool:
        return any(
            ns_of(e.at) - (e.duration_ns or 0) <= at < ns_of(e.at)
            for e in self.of(Host)
            if e.what in ("boot", "resume")
        )

    def active_windows(self, gap: int | None = None) -> list[tuple[int, int]]:
        gap = self.settings.usage.active_gap_ns if gap is None else gap
        windows: list[tuple[int, int]] = []
        for start, end in sorted((r.start, r.end) for r in self.requests if r.end > r.start):
            if windows and start - windows[-1][1] < (gap or 1):
                windows[-1] = (windows[-1][0], max(windows[-1][1], end))
            else:
                windows.append((start, end))
        return windows

    def edges(self) -> set[int]:
        """Every instant at which anything may change, and the bucket bounds."""
        found = set(range(self.days[0], self.days[1] + BUCKET, BUCKET))
        for r in self.requests:
            found |= {r.start, r.compute, r.split, r.end}
        for h in self.of(Heartbeat):
            found |= {ns_of(h.at), ns_of(h.at) + 30 * SECOND}
        for h in self.of(Host):
            found |= {ns_of(h.at), ns_of(h.at) - (h.duration_ns or 0)}
        for e in [*self.of(Engine), *self.of(Sample)]:
            found.add(ns_of(e.at))
        return found | {self.start, self.end}

    def _segments(self, card: str) -> list[tuple[int, int, str]]:
        since, until = self.days
        edges = sorted(e for e in self.edges() | {since, until} if since <= e <= until)
        tests = self._spans(card)
        return [
            (a, b, next(state for state, holds in tests if holds(a)))
            for a, b in itertools.pairwise(edges)
            if self.serves(card, a)
        ]

    def serves(self, card: str, at: int) -> bool:
        """Whether an asset of the card's own is in service; else a shared one; else its engine."""
        own = [a for a in self.settings.hardware if card in a.cards]
        shared = [a for a in self.settings.hardware if not a.cards]
        terms = [(a.in_service, a.retired) for a in own or shared]
        terms = terms or [(e.from_, None) for e in self.settings.engines if card in e.gpus]
        midnight = self.settings.midnight_ns
        return any(midnight(a) <= at and not (b and midnight(b) <= at) for a, b in terms)

    def within(self, at: int) -> bool:
        return self.start <= at < self.end

    # -- time

    def _time_leaves(self) -> dict[Leaf, int]:
        leaves: dict[Leaf, int] = defaultdict(int)
        for card in self.cards:
            for a, b, state in self.segments[card]:
                if self.within(a) and state != "busy":
                    leaves[(card, a // BUCKET * BUCKET, state, "", "")] += b - a
            for bucket, busy in self._busy(card).items():
                taken = self._card_time(card, bucket)
                for (name, kind), ns in taken.items():
                    if ns:
                        leaves[(card, bucket, "busy", name, kind)] += ns
                if busy - sum(taken.values()):
                    rest = busy - sum(taken.values())
                    leaves[(card, bucket, "busy", "", "unattributed")] = rest
        return leaves

    def _busy(self, card: str) -> dict[int, int]:
        found: dict[int, int] = defaultdict(int)
        for a, b, state in self.segments[card]:
            if self.within(a) and state == "busy":
                found[a // BUCKET * BUCKET] += b - a
        return found

    def _card_time(self, card: str, bucket: int) -> dict[tuple[str, str], int]:
        """1/k of each moment, in 2⁻²⁰ ns floored per moment; whole ns by largest remainder."""
        own = [
            r
            for r in self.requests
            if card in self.cards_of(r)
            and r.compute < r.end
            and r.end > bucket
            and r.compute < bucket + BUCKET
        ]
        low = max(bucket, self.start)
        high = min(bucket + BUCKET, self.end)
        edges = {low, high} | {t for r in own for t in (r.compute, r.split, r.end)}
        ordered = sorted(t for t in edges if low <= t <= high)
        scaled: dict[tuple[str, str], int] = defaultdict(int)
        computing = 0
        for a, b in itertools.pairwise(ordered):
            there = [r for r in own if r.compute <= a < r.end]
            computing += (b - a) if there else 0
            for r in there:
                scaled[r.name, r.kinds[a >= r.split]] += ((b - a) << 20) // len(there)
        for r in own:
            fresh = (r.event.input_tokens or 0) - (r.event.cache_read_tokens or 0)
            if r.again and (r.name, "new") in scaled:
                part = scaled[r.name, "new"] * r.again // fresh
                scaled[r.name, "new"] -= part
                scaled[r.name, "recomputed"] += part
        floors = {key: units >> 20 for key, units in scaled.items()}
        ranked = sorted(scaled, key=lambda key: (-(scaled[key] % 2**20), key))
        for key in ranked[: computing - sum(floors.values())]:
            floors[key] += 1
        return floors

    # -- energy

    def readings(self, card: str) -> list[tuple[int, int, bool, Sample]]:
        """(from, to, gap, later sample) between each two samples of a card."""
        own = self._metered(card)
        pairs = [(a, b, s) for (a, _), (b, s) in itertools.pairwise(own) if b > a]
        by_day: dict[int, list[int]] = defaultdict(list)
        for a, b, _ in pairs:
            if b - a <= BUCKET:
                by_day[b // (96 * BUCKET)].append(b - a)
        return [
            (
                a,
                b,
                b - a > BUCKET
                or b - a > 3 * median_low(by_day[b // (96 * BUCKET)])
                or self.disturbed(a, b),
                s,
            )
            for a, b, s in pairs
        ]

    def read(self, card: str) -> list[Sample]:
        """A card's samples: those that read anything, in time told once."""
        return [
            s
            for s in self.of(Sample)
            if s.device == card
            and (s.power_mw, s.energy_uj_total, s.util_pct, s.foreign_processes) != (None,) * 4
            and not self.told_twice(ns_of(s.at))
        ]

    def _metered(self, card: str) -> list[tuple[int, Sample]]:
        """Per UTC day the series that tells most, and of it what tells energy, or else power."""
        days: dict[int, dict[tuple[str, str], list[Sample]]] = defaultdict(
            lambda: defaultdict(list)
        )
        for s in self.read(card):
            days[ns_of(s.at) // (96 * BUCKET)][s.source, s.sensor].append(s)
        kept: list[Sample] = []
        for series in days.values():
            counters = {k: sum(s.energy_uj_total is not None for s in v) for k, v in series.items()}
            powers = {k: sum(s.power_mw is not None for s in v) for k, v in series.items()}
            best = min(series, key=lambda k: (-counters[k], -powers[k], k))
            if counters[best]:
                kept += [s for s in series[best] if s.energy_uj_total is not None]
            elif powers[best]:
                kept += [s for s in series[best] if s.power_mw is not None]
            else:
                kept += series[best]
        return sorted(((ns_of(s.at), s) for s in kept), key=lambda p: (p[0], p[1].event_id))

    def _measured(self, card: str) -> list[tuple[int, int, bool, int, Sample]]:
        return [piece for told in self.told(card) for piece in self._cut(*told)]

    def told(
        self, card: str, most_mw: int = 1_500_000, *, coarse: bool = False
    ) -> list[tuple[int, int, bool, int, Sample]]:
        """The intervals of a card or meter whose energy is known; a card's counter is not coarse:
        it cannot stand for half a second while the card draws power."""
        before = dict(self._metered(card))
        found = []
        for a, b, gap, late in self.readings(card):
            early = before[a]
            energy = None
            same = early.counter_epoch == late.counter_epoch or None in (
                early.counter_epoch,
                late.counter_epoch,
            )
            alike = (early.source, early.sensor) == (late.source, late.sensor)
            if alike and None not in (early.energy_uj_total, late.energy_uj_total):
                grown = late.energy_uj_total - early.energy_uj_total
                draw_mw = max(most_mw, early.power_mw or 0, late.power_mw or 0)
                possible = 0 <= grown <= draw_mw * (b - a) * 6 // 5 // 1_000_000
                drawing = 0 not in (early.power_mw or 0, late.power_mw or 0)
                stuck = not coarse and drawing and grown == 0 and b - a >= 500_000_000
                energy = grown if possible and same and not stuck else None
            if energy is None and not gap and None not in (early.power_mw, late.power_mw):
                energy = (early.power_mw + late.power_mw) * (b - a) // 2_000_000
            bridged = not gap or b - a <= 2 * 96 * BUCKET
            if energy is not None and bridged:
                found.append((a, b, gap, energy, late))
        return found

    def _cut(
        self, a: int, b: int, gap: bool, energy: int, late: Sample
    ) -> list[tuple[int, int, bool, int, Sample]]:
        inner = range((a // BUCKET + 1) * BUCKET, b, BUCKET)
        bounds = [a, *(t for t in inner if gap or t == self._midnight(t)), b]
        reached = [energy * (t - a) // (b - a) for t in bounds]
        return [
            (bounds[i], bounds[i + 1], gap, reached[i + 1] - reached[i], late)
            for i in range(len(bounds) - 1)
        ]

    def _card_energy(self) -> dict[tuple[str, int, str], int]:
        found: dict[tuple[str, int, str], int] = defaultdict(int)
        self.energy_known_ns = 0
        for card in self.cards:
            for pieces, shares in self._split_energy(card):
                for key, energy in shares.items():
                    bucket, state = key
                    if self.within(bucket) and state != "outside":
                        found[card, bucket, state] += energy
                        self.energy_known_ns += pieces[key] if state != "off" else 0
        return found

    def _split_energy(
        self, card: str
    ) -> Iterable[tuple[dict[tuple[int, str], int], dict[tuple[int, str], int]]]:
        intervals = [(a, b, gap, e, s, self._pieces(card, a, b))
                     for a, b, gap, e, s in self._measured(card)]  # fmt: skip
        draws: dict[dt.date, list[int]] = defaultdict(list)
        for a, b, gap, energy, late, pieces in intervals:
            if not gap and all(state in QUIET for _, state in pieces):
                measured = energy * 1_000_000 // (b - a)
                power = late.power_mw if late.power_mw is not None else measured
                draws[self._day(a)].append(power)
        for a, b, _, energy, _, pieces in intervals:
            today = draws.get(self._day(a))
            yield pieces, self._parts(pieces, energy, today, b - a)

    @staticmethod
    def _parts(
        pieces: dict[tuple[int, str], int], energy: int, draws: list[int] | None, length: int
    ) -> dict[tuple[int, str], int]:
        busy = {key: ns for key, ns in pieces.items() if key[1] == "busy"}
        quiet = {key: ns for key, ns in pieces.items() if key[1] != "busy"}
        if not draws or not busy or not quiet:
            return share_out(energy, pieces)
        idle = median_low(draws) * (length - sum(busy.values())) // 1_000_000
        if energy <= idle:
            return share_out(energy, pieces)
        return share_out(idle, quiet) | share_out(energy - idle, busy)

    def _day(self, at: int) -> dt.date:
        return (EPOCH + dt.timedelta(microseconds=at // 1000)).astimezone(self.settings.zone).date()

    def _midnight(self, at: int, days_later: int = 0) -> int:
        day = self._day(at) + dt.timedelta(days=days_later)
        local = dt.datetime.combine(day, dt.time(), tzinfo=self.settings.zone)
        return ns_of(local.astimezone(dt.UTC))

    def _pieces(self, card: str, start: int, end: int) -> dict[tuple[int, str], int]:
        pieces: dict[tuple[int, str], int] = defaultdict(int)
        reached = start
        segments = self.segments[card]
        first = bisect_right(segments, start, key=lambda segment: segment[1])
        last = bisect_right(segments, end, key=lambda segment: segment[0])
        for a, b, state in [*segments[first:last], (end, end, "")]:
            low, high = max(a, start), min(b, end)
            if a >= end or high > low:
                self._outside(pieces, reached, min(low, end))
                reached = max(reached, min(low, end))
            if high > low:
                pieces[a // BUCKET * BUCKET, state] += high - low
                reached = high
        self._outside(pieces, reached, end)
        return pieces

    @staticmethod
    def _outside(pieces: dict[tuple[int, str], int], start: int, end: int) -> None:
        while start < end:
            stop = min(end, (start // BUCKET + 1) * BUCKET)
            pieces[start // BUCKET * BUCKET, "outside"] += stop - start
            start = stop

    # -- money

    def _capital(self) -> None:
        bounds = sorted({self.start, self.end, *range(
            (self.start // BUCKET + 1) * BUCKET, self.end, BUCKET)})  # fmt: skip
        for name, category, own, spent in oracle_capital.lines(self.settings, self._up()):
            line = self.money.setdefault(name, defaultdict(int))
            reached = [spent(at) for at in bounds]
            self.by_category[category] += reached[-1] - reached[0]
            for n, (a, _) in enumerate(itertools.pairwise(bounds)):
                amount = reached[n + 1] - reached[n]
                bucket = a // BUCKET * BUCKET
                carried = [c for c in self.cards if not own or c in own]
                capacity = {c: self._sum(card=c, bucket=bucket) for c in carried}
                if not sum(capacity.values()):
                    self.unassigned += amount
                    continue
                for card, nano in share_out(
                    amount, {c: n for c, n in capacity.items() if n}
                ).items():
                    self._spread(line, nano, self._leaves(card, bucket))

    def _up(self) -> Callable[[int, int], int]:
        """How long the host was known to be up between two instants of the days."""
        alive, edges = self.alive(), sorted(self.edges())
        before = [0]  # how much of the time before each edge the host was up
        for a, b in itertools.pairwise(edges):
            before.append(before[-1] + (b - a if alive(a) and not self.host_off(a) else 0))

        def until(at: int) -> int:
            if not edges[0] < at < edges[-1]:
                return before[-1] if at >= edges[-1] else 0
            place = bisect_right(edges, at) - 1
            a, b = edges[place], edges[place + 1]
            return before[place] + (before[place + 1] - before[place]) * (at - a) // (b - a)

        return lambda start, end: max(until(end) - until(start), 0)

    def _sum(self, card: str, bucket: int) -> int:
        return sum(self._leaves(card, bucket).values())

    def _leaves(self, card: str, bucket: int) -> dict[Leaf, int]:
        return self.at.get((card, bucket), {})

    @staticmethod
    def _spread(line: dict[Leaf, int], amount: int, weights: dict[Leaf, int]) -> None:
        for leaf, share in share_out(amount, weights).items():
            line[leaf] += share

    def _electricity(self) -> None:
        self.wall = oracle_tariff.Wall(self)
        self.host = oracle_tariff.host(self)
        for name, energy in (
            ("cards' electricity", self.energy),
            ("host's electricity", self.host[False]),
            ("host's electricity, metered", self.host[True]),
        ):
            line = self.money.setdefault(name, defaultdict(int))
            on_leaves: dict[Leaf, int] = defaultdict(int)
            for (card, bucket, state), uj in energy.items():
                if state == "unassigned":
                    self.unassigned += self._energy_cost(uj, bucket)
                    continue
                leaves = {k: n for k, n in self._leaves(card, bucket).items() if k[2] == state}
                self._spread(on_leaves, uj, leaves)
            at: dict[tuple[str, int], dict[Leaf, int]] = defaultdict(dict)
            for leaf, uj in on_leaves.items():
                if uj:
                    at[leaf[0], leaf[1]][leaf] = uj
            for (_, bucket), drawn in at.items():
                sizes = {leaf: abs(uj) for leaf, uj in drawn.items()}
                self._spread(line, self._energy_cost(sum(drawn.values()), bucket), sizes)

    def _energy_cost(self, energy_uj: int, bucket: int) -> int:
        cost = self.price(energy_uj, bucket)
        self.by_category["energy"] += cost
        return cost

    def price(self, energy_uj: int, bucket: int) -> int:
        return oracle_tariff.money(self.settings, energy_uj, *self._passed(bucket))

    def unpriced(self) -> int:
        """Energy without a price, rounded per card, bucket and state."""
        cells: dict[tuple[str, int, str], int] = defaultdict(int)
        for energy in (self.energy, *self.host.values()):
            for key, uj in energy.items():
                cells[key] += uj
        return sum(
            oracle_tariff.unpriced(self.settings, uj, *self._passed(bucket))
            for (_, bucket, _), uj in cells.items()
        )

    def _passed(self, bucket: int) -> tuple[int, int]:
        return max(bucket, self.start), min(bucket + BUCKET, self.end)

    def alive(self) -> Callable[[int], bool]:
        """Whether something on the host was seen alive at an instant."""
        return covered([
            *((ns_of(h.at), ns_of(h.at) + 30 * SECOND) for h in self.of(Heartbeat)
              if set(h.covers) & set(self.engines)),
            *((r.start, r.end) for r in self.requests),
            *((a, b) for card in self.cards for a, b, gap, _ in self.readings(card) if not gap),
        ])  # fmt: skip

    @staticmethod
    def share_out(amount: int, weights: dict[Any, int]) -> dict[Any, int]:
        return share_out(amount, weights)

    # -- groups

    def pool_name(self, card: str) -> str:
        pools = {e.pool_name for e in self.engines.values() if card in e.gpus}
        return "+".join(sorted(pools)) or card
