"""The program's books against the plain second set, on random small ledgers, to the unit."""

import datetime as dt
import random
from collections import defaultdict
from pathlib import Path
from typing import Any

import msgspec
import pytest
from rig import power
from rig.assets import assets, other_costs
from rig.ledger import SECOND, START, attempt, engine, heartbeats, ledger, sample, settings
from rig.oracle import Books as Oracle
from rig.oracle_groups import assert_groups_equal

from analytics.books import keep_books
from analytics.month import month
from analytics.periods import Period
from collector.clock import from_ns, to_ns
from collector.events import Attempt, Event, Host
from collector.settings import CompareSettings, EngineSettings, Hardware, UsageSettings

HOURS = 2


def rig(dice: random.Random, folder: Path) -> Any:
    """Three cards in one pool, any tariff and meters, perhaps a fourth engine on card A and a
    model split over B and C. Of some rigs no card is in service yet."""
    bought = dt.date(2026, 10, 6) if dice.random() < 0.15 else None
    made = settings(
        "A",
        "B",
        "C",
        hardware=[
            Hardware(
                name="box",
                price=str(dice.randint(1, 20_000)),
                in_service=bought or dt.date(2026, 9, 1),
                life_years=dice.randint(1, 5),
                residual="0.5",
            ),
            Hardware(
                name="card B",
                price="1999.99",
                in_service=bought or dt.date(2026, 10, dice.choice([1, 5, 6])),
                life_years=3,
                cards=["B"],
            ),
            *([] if bought else assets(dice, dt.date(2026, 10, 5), "ABC")),
        ],
        other_costs=other_costs(dice, dt.date(2026, 10, 5)),
        electricity=[
            power.electricity(dice, dt.date(2026, 1, 1), folder, START),
            power.electricity(dice, dt.date(2026, 10, dice.choice([5, 5, 6])), folder, START),
        ],
        meters=power.meters(dice, dt.date(2026, 10, 5)),
        usage=UsageSettings(active_gap=dice.choice(["15m", "3m", "40s"])),
        compare=CompareSettings(),
    )
    made.engines.append(
        EngineSettings(name="second-on-A", url="http://x:1", gpus=["A"], slots=1, pool="small")
    )
    made.engines.append(
        EngineSettings(name="split", url="http://x:1", gpus=["B", "C"], slots=None, pool="big")
    )
    return made


def requests(dice: random.Random) -> list[Event]:
    """Overlapping, queued, split and odd requests, some across the period's bounds."""
    made: list[Event] = []
    for n in range(dice.randint(0, 25)):
        start = dice.choice([dice.uniform(-300, HOURS * 3600), dice.uniform(0, 120)])
        name = dice.choice(["on-A", "on-A", "on-B", "on-C", "second-on-A", "split"])
        cards = {"on-A": ["A"], "on-B": ["B"], "on-C": ["C"], "second-on-A": ["A"]}
        length = dice.choice([dice.uniform(0, 5), dice.uniform(0, 200), 0, 1e-9])
        fields: dict[str, Any] = {
            "gpus": cards.get(name, ["B", "C"]) if dice.random() < 0.7 else [],
            "ttft_ns": dice.choice([None, dice.randint(0, 250 * SECOND)]),
            "dispatch_ns": dice.choice([None, 0, 1_000_003]),
            "wait_ns": dice.choice([None, None, dice.randint(0, 20 * SECOND)]),
            "cache_read_tokens": dice.choice([None, 0, 100]),
            "output_tokens": dice.choice([None, 0, 7, 500]),
            "project": dice.choice([None, "p", "q"]),
            "key": dice.choice([None, "laptop", "phone"]),
            "operation": dice.choice(["chat", "chat", "embedding"]),
            "status": dice.choice(["ok", "ok", "client_abort"]),
            "prefix": (prefix := dice.choice([[], ["a"], ["a", "b"], ["a", "c", "d"]])),
            "prefix_tokens": [7, 60, 300][: len(prefix)],
        }
        made.append(attempt(f"r{n}", start, start + length, engine=name, **fields))
    return made


def surroundings(dice: random.Random) -> list[Event]:
    """Witnesses with gaps, samples with resets and holes, engines down, a host switched off.

    Some counters stand still for a while, and go on from there or catch up.
    """
    made: list[Event] = []
    for _ in range(dice.randint(0, 4)):
        start = dice.uniform(-200, HOURS * 3600)
        covers = dice.sample(["on-A", "on-B", "on-C", "split", "second-on-A"], k=2)
        made += heartbeats(start, start + dice.uniform(10, 2400), covers, source=f"w{start}")
    for card in "ABC":
        total, counter = dice.randint(0, 10**9), dice.random() < 0.6
        second, behind = -600.0, 0
        while second < HOURS * 3600 + 900:
            watts = dice.choice([30, 31, 32, 400])
            fields: dict[str, Any] = {
                "power_mw": dice.choice([None, watts * 1000, watts * 1000]),
                "energy_uj_total": total - behind if counter and dice.random() < 0.95 else None,
                "counter_epoch": "e1" if dice.random() < 0.98 else "e2",
                "util_pct": dice.choice([None, 0, 50]),
                "foreign_processes": dice.choice([None, 0, 0, 0, 1]),
            }
            made.append(sample(card, second, **fields))
            if dice.random() < 0.1:
                other = msgspec.structs.replace(made[-1], source="other", energy_uj_total=None)
                made.append(other)
            step = dice.choice([60, 60, 60, 60, 61.5, 700, 2500])
            grown = round(watts * 10**6 * step)
            total = total + grown if dice.random() < 0.97 else 5 + behind
            behind = behind + grown if dice.random() < 0.15 else dice.choice([behind, 0])
            second += step
    for name in ("on-A", "second-on-A", "on-C", "split"):
        if dice.random() < 0.5:
            made.append(engine(name, dice.uniform(0, 3000), "down"))
            made.append(engine(name, dice.uniform(3000, 6000), "up", dice.choice([None, 1, 3])))
    if dice.random() < 0.4:
        at = dice.uniform(1000, 7000)
        made.append(
            Host(
                source="collector",
                event_id="h",
                rig="desk",
                what="boot",
                at=from_ns(START + round(at * SECOND)),
                duration_ns=dice.randint(1, 900 * SECOND),
            )
        )
    return made + disturbances(dice)


def disturbances(dice: random.Random) -> list[Event]:
    """A host that sleeps, and whose clock is set once or twice, perhaps soon after a boot."""
    made: list[Event] = []
    if dice.random() < 0.5:
        made.append(befell("resume", dice.uniform(0, 7000), dice.uniform(1, 2000)))
    boot_id = dice.choice([None, "b"])
    for n in range(dice.choice([0, 0, 1, 2])):
        step_s = dice.choice([dice.uniform(-2000, -1), dice.uniform(1, 2000), -3 * 86_400])
        made.append(befell("clock_step", dice.uniform(0, 7000), step_s, boot_id, str(n)))
    if dice.random() < 0.5:
        made.append(befell("boot", dice.uniform(-600, 7000), None))
    return made


def befell(
    what: Any, second: float, length_s: float | None, boot_id: str | None = "b", name: str = "h"
) -> Host:
    return Host(
        source="collector",
        event_id=f"{what}-{name}",
        rig="desk",
        boot_id=boot_id,
        what=what,
        at=from_ns(START + round(second * SECOND)),
        duration_ns=None if length_s is None else round(length_s * SECOND),
    )


@pytest.mark.parametrize("seed", range(40))
def test_books_equal_the_second_set(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    made = rig(dice, tmp_path)
    end = START + HOURS * 3600 * SECOND
    now = dice.choice([end + 10**14, end - 1234 * SECOND - 567])
    walls: list[Event] = []
    for name in sorted({meter.name for meter in made.meters}):
        walls += power.told(dice, name, START - 600 * SECOND, end + 900 * SECOND, every=20)
    events = [e for e in requests(dice) + surroundings(dice) + walls if told_at(e) <= now]
    dice.shuffle(events)
    period = Period("test", START, end)
    kept = ledger(tmp_path / "ledger", events)
    books = keep_books(kept, made, START, end, now)
    document = month(kept, made, period, now)
    second = Oracle(events, made, START, end, now)

    time: dict[Any, int] = defaultdict(int)
    for card, bucket, state, request, kind, ns in books.leaves.select(
        "card", "bucket_ns", "state", "request", "kind", "ns"
    ).iter_rows():
        time[card, bucket, state, _name(books, request), kind] += ns
    assert time == {leaf: ns for leaf, ns in second.time.items() if ns}

    energy = {
        (card, bucket, state): uj
        for card, bucket, state, uj in books.card_energy.select(
            "card", "bucket_ns", "state", "energy_uj"
        ).iter_rows()
    }
    assert energy == second.energy

    money: dict[Any, int] = defaultdict(int)
    for line, card, bucket, state, request, kind, nano in (
        books.money.join(books.leaves, on="leaf")
        .select("line", "card", "bucket_ns", "state", "request", "kind", "nano")
        .iter_rows()
    ):
        money[line.split("'")[0], card, bucket, state, _name(books, request), kind] += nano
    expected: dict[Any, int] = defaultdict(int)
    for line, leaves in second.money.items():
        for leaf, nano in leaves.items():
            expected[line.split("'")[0], *leaf] += nano
    assert {k: v for k, v in money.items() if v} == {k: v for k, v in expected.items() if v}
    assert document["states_cost_nano"]["unassigned"] == second.unassigned
    assert document["cost_nano"]["total"] == sum(expected.values()) + second.unassigned
    assert document["cost_nano"]["energy"] == second.by_category["energy"]
    assert document["quality"]["unpriced_energy_uj"] == second.unpriced()
    told = [uj for energy in second.host.values() for uj in energy.values()]
    assert (document["energy_uj"]["host"] or 0) == sum(told)
    bare = [uj for e in second.host.values() for key, uj in e.items() if not key[0]]
    assert (document["energy_uj"]["unassigned"] or 0) == sum(bare)
    assert document["energy_uj"]["wall"] == (sum(second.wall.energy.values()) or None)
    by_state: dict[str, int] = defaultdict(int)
    for leaf, nano in expected.items():
        by_state[leaf[3]] += nano
    assert document["states_cost_nano"] == {**by_state, "unassigned": second.unassigned} | {
        state: 0
        for state in document["states_cost_nano"]
        if state not in by_state and state != "unassigned"
    }
    assert_groups_equal(document, [second])


def told_at(event: Event) -> int:
    """When an event can be told at the earliest: an attempt once it has ended."""
    if isinstance(event, Attempt):
        return to_ns(event.received_at) + event.duration_ns
    return to_ns(event.at)  # type: ignore[attr-defined]


def _name(books: Any, request: int) -> str:
    if request < 0:
        return ""
    row = books.rows.filter(request=request).row(0, named=True)
    return f"{row['source']}\0{row['event_id']}"
