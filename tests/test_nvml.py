"""The NVML source: the real child and the real nvidia-ml-py over a fake driver library."""

import contextlib
import ctypes
import datetime as dt
import os
import queue
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest
from rig.nvml import LOST, FakeCards

from collector import clock
from collector.events import Event, Sample
from collector.settings import CollectorSettings, EngineSettings, RigSettings, Settings
from collector.sources.child import Child, ChildEndedError
from collector.sources.nvml import NvmlSource, NvmlStatus, current_engines, local_port
from collector.sources.nvml_wire import NO_NVML, Counter, Plan, Port, Reading, Round
from collector.sources.processes import engine_processes, listening_inodes

A, B = "GPU-aaaaaaaa-0000-0000-0000-000000000001", "GPU-bbbbbbbb-0000-0000-0000-000000000002"
PATIENCE_S = 30.0
NEVER, _WRITER = os.pipe()
LISTENER = (
    "import socket,sys,time\n"
    "s = socket.create_server(('127.0.0.1', 0))\n"
    "print(s.getsockname()[1], flush=True)\n"
    "sys.stdin.read()"
)
SLEEPER = "import sys\nprint('ready', flush=True)\nsys.stdin.read()"
PARENT = f"import subprocess,sys\n{LISTENER.replace('sys.stdin.read()', '')}\n" + (
    "c = subprocess.Popen([sys.executable, '-c', 'import sys; sys.stdin.read()'])\n"
    "print(c.pid, flush=True)\n"
    "c.wait()"
)


class Rounds:
    """The rounds of one real child."""

    def __init__(self, **plan: object) -> None:
        order = msgspec.json.encode(Plan(**{"sample_seconds": 0.05, **plan})).decode()
        module = "collector.sources.nvml_child"
        self.child = Child([sys.executable, "-m", module, order])

    def next(self) -> Round:
        line = self.child.line(PATIENCE_S, NEVER)
        assert line is not None
        return msgspec.json.decode(line, type=Round)

    def until(self, device: str, holds: Callable[[Reading], bool]) -> Reading:
        """The first reading of a card that fits; the child's own end or silence fails the test."""
        while True:
            for reading in self.next().cards:
                if reading.device == device and holds(reading):
                    return reading


@contextlib.contextmanager
def sampling(**plan: object) -> Iterator[Rounds]:
    rounds = Rounds(**plan)
    try:
        yield rounds
    finally:
        assert rounds.child.end()


@contextlib.contextmanager
def running(code: str, lines: int = 1) -> Iterator[tuple[int, list[str]]]:
    """A Python process and the first lines that it says; it ends with its standard input."""
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        yield process.pid, [process.stdout.readline().strip() for _ in range(lines)]
        process.stdin.close()


def settings(**collector: object) -> Settings:
    return Settings(
        rig=RigSettings(name="desk"),
        collector=CollectorSettings(**{"sample_seconds": 0.05} | collector),
    )


class Delivered:
    """What a running source delivers."""

    def __init__(self, source: NvmlSource) -> None:
        self.source = source
        self.samples: queue.Queue[Sample] = queue.Queue()

    def take(self, events: list[Event]) -> None:
        for event in events:
            assert isinstance(event, Sample)
            self.samples.put(event)

    def until(self, holds: Callable[[Sample], bool]) -> Sample:
        while True:
            sample = self.samples.get(timeout=PATIENCE_S)
            if holds(sample):
                return sample

    def wait(self, holds: Callable[[NvmlStatus], bool]) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not holds(self.source.status):
            assert time.monotonic() < deadline, self.source.status
            time.sleep(0.02)


@contextlib.contextmanager
def source(**options: object) -> Iterator[Delivered]:
    started = NvmlSource(settings(), **{"modules": Path("nowhere"), **options})
    delivered = Delivered(started)
    started.start(delivered.take)
    try:
        yield delivered
    finally:
        started.stop()


def test_a_card_is_read_in_our_units(cards: FakeCards) -> None:
    cards.add(
        A,
        power=212_345,
        energy=987_654,
        utilization=97,
        memory=21_474_836_480,
        clock=1_905,
        temperature=71,
        throttle=0x24,
    )
    before = clock.boot_ns()
    with sampling(boot="boot-7") as rounds:
        told = rounds.next()
    (reading,) = told.cards
    assert before <= reading.at_ns <= clock.boot_ns()
    reading.at_ns = 0
    assert reading == Reading(
        device=A,
        at_ns=0,
        power_mw=212_345,
        energy_uj_total=987_654_000,
        counter_epoch="boot-7-0",
        util_pct=97,
        memory_used_b=21_474_836_480,
        sm_clock_mhz=1_905,
        temp_c=71,
        throttle_mask=0x24,
        foreign_processes=0,
    )
    assert told.driver == "580.65.06"
    assert told.errors == []


@pytest.mark.parametrize("energy", [None, 0])
def test_a_card_without_a_counter_is_asked_once(cards: FakeCards, energy: int | None) -> None:
    cards.add(A, energy=energy)
    with sampling() as rounds:
        (first,) = rounds.next().cards
        cards.answer(A, energy=5, power=31_000)
        later = rounds.until(A, lambda reading: reading.power_mw == 31_000)
    for reading in (first, later):
        assert reading.energy_uj_total is None
        assert reading.counter_epoch is None
        assert reading.error is None


@pytest.mark.parametrize(
    ("energy", "chosen", "cadence"),
    [
        ((1, 2), None, 5.0),
        ((1, None), None, 1.0),
        ((1, 0), None, 1.0),
        ((None, None), None, 1.0),
        ((1, 2), 2, 2.0),
    ],
)
def test_power_is_read_more_often_where_it_must_be_integrated(
    cards: FakeCards, energy: tuple[int | None, int | None], chosen: int | None, cadence: float
) -> None:
    cards.add(A, energy=energy[0])
    cards.add(B, energy=energy[1])
    with sampling(sample_seconds=chosen) as rounds:
        assert rounds.next().sample_seconds == cadence


@pytest.mark.parametrize(
    ("question", "field", "code", "why"),
    [
        ("power", "power_mw", 999, "power: unknown driver error"),
        ("energy", "energy_uj_total", 17, "energy: blocked by the operating system"),
        ("utilization", "util_pct", 3, "utilization: not supported by the card"),
        ("memory", "memory_used_b", 4, "memory: no permission"),
        ("clock", "sm_clock_mhz", 10, "clock: timed out"),
        ("temperature", "temp_c", 777, "temperature: NVML error 777"),
        ("throttle", "throttle_mask", 20, "throttle: out of memory"),
        ("graphics", "foreign_processes", 21, "processes: no data"),
    ],
)
def test_what_failed_is_unknown_and_the_rest_is_read(
    cards: FakeCards, question: str, field: str, code: int, why: str
) -> None:
    cards.add(A)
    with sampling() as rounds:
        (whole,) = rounds.next().cards
        cards.answer(A, **{f"{question}_error": code})
        broken = rounds.until(A, lambda reading: reading.error is not None)
    assert broken.error == why
    gone = {name for name in whole.__struct_fields__ if getattr(broken, name) is None}
    assert gone == ({"counter_epoch", field} if question == "energy" else {field})


def test_values_that_cannot_be_are_not_believed(cards: FakeCards) -> None:
    cards.add(A, power=0, utilization=4_294_967_295)
    with sampling() as rounds:
        (reading,) = rounds.next().cards
    assert (reading.power_mw, reading.util_pct) == (None, None)
    assert reading.error == ("power: the driver says 0; utilization: the driver says 4294967295")


def test_a_counter_that_fell_began_anew(cards: FakeCards) -> None:
    cards.add(A, energy=5_000)
    with sampling(boot="b") as rounds:
        rounds.next()
        cards.answer(A, energy=20)
        fallen = rounds.until(A, lambda reading: reading.energy_uj_total == 20_000)
        counters = rounds.next().counters
    assert fallen.counter_epoch == "b-1"
    cards.answer(A, energy=21)
    with sampling(boot="b", cards=counters) as rounds:
        (same,) = rounds.next().cards
    assert same.counter_epoch == "b-1"
    cards.answer(A, energy=3)
    with sampling(boot="b", cards=counters) as rounds:
        (again,) = rounds.next().cards
    assert again.counter_epoch == "b-2"


def test_a_counter_that_fell_to_nothing_is_still_one(cards: FakeCards) -> None:
    cards.add(A, energy=7)
    with sampling(boot="b") as rounds:
        rounds.next()
        cards.answer(A, energy=0)
        fell = rounds.until(A, lambda reading: reading.energy_uj_total == 0)
    assert fell.counter_epoch == "b-1"


def test_a_lost_card_is_told_of_until_it_is_back(cards: FakeCards) -> None:
    cards.add(A, energy=5_000)
    cards.add(B)
    with sampling(boot="b") as rounds:
        rounds.next()
        cards.answer(A, temperature_error=LOST)
        lost = rounds.until(A, lambda reading: reading.lost)
        at = lost.at_ns
        assert lost == Reading(device=A, at_ns=at, lost=True, error="temperature: GPU is lost")
        assert rounds.until(B, lambda reading: reading.at_ns > at).error is None
        cards.answer(A, temperature_error=None, energy=9_000)
        back = rounds.until(A, lambda reading: not reading.lost)
    assert (back.energy_uj_total, back.error) == (9_000_000, None)
    assert back.counter_epoch == "b-1"


def test_a_counter_that_stands_higher_than_a_new_one_could_has_survived(cards: FakeCards) -> None:
    """Ten minutes lost: a counter that began anew since then stands at 1,080 kJ at most."""
    read_ns = clock.boot_ns() - 600 * clock.SECOND_NS
    lost = Counter(last_mj=900_000_000, read_ns=read_ns, lost=True)
    for resets, mj in ((0, 1_200_000_000), (1, 1_000_000_000), (1, 20)):
        cards.add(A, energy=mj)
        with sampling(boot="b", cards={A: lost}) as rounds:
            (back,) = rounds.next().cards
        assert back.counter_epoch == f"b-{resets}"


def test_a_driver_that_goes_away_ends_the_child(cards: FakeCards) -> None:
    cards.add(A)
    with sampling() as rounds:
        rounds.next()
        cards.answer(A, all_error=LOST)
        cards.fail_init(9)
        rounds.until(A, lambda reading: reading.lost)
        with pytest.raises(ChildEndedError, match="driver is not loaded") as ended:
            rounds.until(A, lambda reading: not reading.lost)
    assert ended.value.status == NO_NVML


def test_a_card_known_before_is_told_of_although_it_does_not_answer(cards: FakeCards) -> None:
    cards.add(A)
    cards.answer(A, handle_error=LOST)
    cards.add(B)
    with sampling(cards={A: Counter(last_mj=1)}) as rounds:
        told = rounds.next()
        assert [(card.device, card.lost) for card in told.cards] == [(A, True), (B, False)]
        assert told.errors == ["card 0: GPU is lost"]
        cards.answer(A, handle_error=None)
        rounds.until(A, lambda reading: reading.power_mw == 25_000)


def test_a_card_that_appears_later_is_found(cards: FakeCards) -> None:
    cards.add(A)
    cards.answer(A, uuid_error=LOST)
    cards.add(B)
    with sampling() as rounds:
        assert [card.device for card in rounds.next().cards] == [B]
        cards.answer(A, uuid_error=None)
        rounds.until(A, lambda reading: not reading.lost)


def test_values_stay_with_the_uuid_when_the_order_changes(cards: FakeCards) -> None:
    cards.add(A, power=11_000)
    cards.add(B, power=22_000)
    for order in ((A, B), (B, A)):
        cards.order(*order)
        with sampling() as rounds:
            told = {card.device: card.power_mw for card in rounds.next().cards}
        assert told == {A: 11_000, B: 22_000}


def test_foreign_processes_are_those_of_no_engine(cards: FakeCards) -> None:
    cards.add(A)
    cards.add(B)
    with running(LISTENER) as (engine, (port,)), running(SLEEPER) as (game, _):
        cards.answer(A, compute=[engine], graphics=[game])
        cards.answer(B, compute=[engine, game], graphics=[game])
        with sampling(engines=[Port(port=int(port), gpus=[A])]) as rounds:
            assert [card.foreign_processes for card in rounds.next().cards] == [1, 1]
            cards.answer(A, graphics=None)
            cards.answer(B, compute=[game], graphics=[os.getpid()])
            rounds.until(B, lambda reading: reading.foreign_processes == 2)
            assert [card.foreign_processes for card in rounds.next().cards] == [0, 2]


def test_an_engines_children_are_its_own(cards: FakeCards) -> None:
    cards.add(A)
    with running(PARENT, lines=2) as (_, (port, worker)):
        cards.answer(A, compute=[worker])
        with sampling(engines=[Port(port=int(port), gpus=[])]) as rounds:
            assert rounds.next().cards[0].foreign_processes == 0


def test_an_engine_that_cannot_be_found_leaves_it_unknown(cards: FakeCards) -> None:
    cards.add(A, compute=[os.getpid()])
    cards.add(B)
    with running(LISTENER) as (_, (port,)):
        pass
    for engine in (Port(port=int(port), gpus=[]), Port(port=None, gpus=[A])):
        with sampling(engines=[engine]) as rounds:
            told = rounds.next().cards
        assert [card.foreign_processes for card in told] == [None, 0]
        assert told[0].error is None
    elsewhere = Port(port=None, gpus=["GPU-on-another-host"])
    with sampling(engines=[elsewhere]) as rounds:
        assert rounds.next().cards[0].foreign_processes == 1


def _process(proc: Path, pid: int, name: str, parent: int, *inodes: int) -> None:
    (proc / str(pid) / "fd").mkdir(parents=True)
    (proc / str(pid) / "stat").write_text(f"{pid} ({name}) S {parent} 1 1 0")
    for number, inode in enumerate(inodes):
        (proc / str(pid) / "fd" / str(number)).symlink_to(f"socket:[{inode}]")


def test_sockets_are_told_apart_in_the_process_table(tmp_path: Path) -> None:
    """Addresses as the kernel writes them: hexadecimal, each four bytes in host order."""
    row = "  0: {}:{:04X} {}:0000 {} 00000000:00000000 00:00000000 00000000 1000 0 {} 1 0"
    v4 = [
        row.format("0100007F", 8001, "00000000", "0A", 11),
        row.format("0501A8C0", 8001, "00000000", "0A", 12),
        row.format("0100007F", 8001, "00000000", "01", 13),
        row.format("00000000", 8002, "00000000", "0A", 14),
        row.format("0100007F", 8009, "00000000", "0A", 15),
    ]
    v6 = [
        row.format("0" * 24 + "01000000", 8003, "0" * 32, "0A", 16),
        row.format("0" * 16 + "FFFF00000100007F", 8003, "0" * 32, "0A", 17),
        row.format("0" * 32, 8003, "0" * 32, "0A", 18),
        row.format("B80D0120" + "0" * 16 + "01000000", 8003, "0" * 32, "0A", 19),
    ]
    (tmp_path / "net").mkdir()
    (tmp_path / "net/tcp").write_text("\n".join(["header", *v4]) + "\n")
    (tmp_path / "net/tcp6").write_text("\n".join(["header", *v6]) + "\n")
    found = listening_inodes([8001, 8002, 8003, 8004], tmp_path)
    assert found == {8001: {11}, 8002: {14}, 8003: {16, 17, 18}, 8004: set()}


def test_engines_are_processes_with_all_that_they_started(tmp_path: Path) -> None:
    _process(tmp_path, 1, "init", 0)
    _process(tmp_path, 10, "a (b) c", 1, 7, 70)
    _process(tmp_path, 11, "worker", 10)
    _process(tmp_path, 12, "its worker", 11)
    _process(tmp_path, 20, "docker-proxy", 1, 8)
    _process(tmp_path, 30, "game", 1, 9)
    assert engine_processes([{7}], tmp_path) == {10, 11, 12}
    assert engine_processes([{7}, {9}], tmp_path) == {10, 11, 12, 30}
    assert engine_processes([{7}, {8}], tmp_path) is None
    assert engine_processes([{7}, set()], tmp_path) is None
    assert engine_processes([], tmp_path) == set()


@pytest.mark.parametrize(
    ("url", "port"),
    [
        ("http://127.0.0.1:8001", 8001),
        ("http://localhost:8002/v1", 8002),
        ("http://[::1]:8003", 8003),
        ("http://127.1.2.3", 80),
        ("https://localhost", 443),
        ("http://192.168.1.5:8001", None),
        ("http://engine.example:8001", None),
    ],
)
def test_only_loopback_addresses_lead_to_a_process(url: str, port: int | None) -> None:
    assert local_port(url) == port


def test_of_an_engine_the_entry_in_force_counts() -> None:
    old = EngineSettings(name="e", url="http://127.0.0.1:1", gpus=[A], from_=dt.date(2026, 1, 1))
    new = EngineSettings(name="e", url="http://127.0.0.1:2", gpus=[B], from_=dt.date(2026, 3, 1))
    march = [Port(port=2, gpus=[B])]
    assert current_engines([new, old], dt.date(2026, 2, 28)) == [Port(port=1, gpus=[A])]
    assert current_engines([new, old], dt.date(2026, 3, 1)) == march
    assert current_engines([new], dt.date(2026, 2, 28)) == []


@pytest.mark.parametrize(
    ("code", "why"),
    [(9, "the NVIDIA driver is not loaded"), (18, "driver and library differ in version")],
)
def test_no_driver_is_told_in_one_sentence(cards: FakeCards, code: int, why: str) -> None:
    cards.add(A)
    cards.fail_init(code)
    with sampling() as rounds, pytest.raises(ChildEndedError, match=why) as ended:
        rounds.next()
    assert ended.value.status == NO_NVML


def test_a_driver_without_cards_is_told(cards: FakeCards) -> None:
    with sampling() as rounds, pytest.raises(ChildEndedError, match="knows no card") as ended:
        rounds.next()
    assert ended.value.status == NO_NVML


def _has_library() -> bool:
    with contextlib.suppress(OSError):
        ctypes.CDLL("libnvidia-ml.so.1")
        return True
    return False


@pytest.mark.skipif(_has_library(), reason="this host has the real library")
def test_no_library_is_told_once_and_harms_nothing(
    cards: FakeCards, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LD_LIBRARY_PATH", str(cards.file.parent))
    monkeypatch.setattr("collector.sources.nvml.ABSENT_RETRY_S", 0.05)
    with source() as delivered:
        delivered.wait(lambda status: status.children == 3)
    error = delivered.source.status.last_error
    assert error is not None
    assert "libnvidia-ml.so.1 is not installed" in error
    assert [record.message for record in caplog.records] == [error]
    assert delivered.samples.empty()


def test_readings_become_samples(cards: FakeCards) -> None:
    cards.add(A, power=100_000, energy=5)
    cards.add(B)
    cards.answer(B, power_error=999)
    with source() as delivered:
        first = delivered.until(lambda sample: sample.device == A)
        second = delivered.until(lambda sample: sample.device == B)
        third = delivered.until(lambda sample: sample.device == A)
        status = delivered.source.status
    assert (first.source, first.sensor, first.scope) == ("nvml", "nvml", "card")
    assert (first.rig, first.boot_id) == ("desk", clock.boot_id())
    assert (first.power_mw, first.energy_uj_total) == (100_000, 5_000)
    assert (second.power_mw, second.error) == (None, "power: unknown driver error")
    for sample in (first, second):
        assert msgspec.convert(msgspec.to_builtins(sample), Sample) == sample
    assert len({first.event_id, second.event_id, third.event_id}) == 3
    assert status.last_seen_ns.keys() == {A, B}
    assert status.driver == "580.65.06"
    assert status.last_error == f"Card {B}: power: unknown driver error"
    with source() as again:
        other = again.until(lambda sample: sample.device == A)
    assert other.event_id not in {first.event_id, second.event_id, third.event_id}
    assert other.counter_epoch == first.counter_epoch


def test_the_counters_epoch_names_the_load_of_the_driver(cards: FakeCards, tmp_path: Path) -> None:
    """The collector was stopped while the driver was loaded again: its counters count anew."""
    cards.add(A, energy=5)
    epochs = []
    for name in ("nvidia", "other", "nvidia"):
        (tmp_path / "module").mkdir(exist_ok=True)
        (tmp_path / "module" / name).mkdir(exist_ok=True)
        with source(modules=tmp_path / "module") as delivered:
            epochs.append(delivered.until(lambda sample: True).counter_epoch)
        if name == "other":
            (tmp_path / "module/nvidia").rename(tmp_path / "unloaded")
    first, same, again = epochs
    assert first == same == f"{clock.boot_id()}-{(tmp_path / 'unloaded').stat().st_ino}-0"
    assert again == f"{clock.boot_id()}-{(tmp_path / 'module/nvidia').stat().st_ino}-0" != first


def test_samples_bear_the_time_of_the_clock_that_was_in_force(cards: FakeCards) -> None:
    cards.add(A)
    placed = clock.Placed(lambda: clock.boot_ns() + 10**18)
    with source(placed=placed) as delivered:
        before = clock.boot_ns() + 10**18
        delivered.until(lambda sample: clock.to_ns(sample.at) >= before)
        status = delivered.source.status
    assert status.last_seen_ns[A] >= before


def test_a_hung_driver_call_is_killed_and_samples_resume(cards: FakeCards) -> None:
    cards.add(A, power=1_000, energy=100)
    with source(silence_s=0.5) as delivered:
        first = delivered.until(lambda sample: sample.power_mw == 1_000)
        cards.answer(A, power_hang=3_600, power=2_000)
        delivered.wait(lambda status: status.last_error is not None)
        cards.answer(A, power_hang=None, energy=7)
        resumed = delivered.until(lambda sample: sample.power_mw == 2_000)
        status = delivered.source.status
    assert status.last_error is not None
    assert "said nothing for 0.5 s" in status.last_error
    assert status.children >= 2
    boot = clock.boot_id()
    assert (first.counter_epoch, resumed.counter_epoch) == (f"{boot}-0", f"{boot}-1")


def test_the_child_is_ours_whatever_lies_in_the_current_folder(
    cards: FakeCards, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cards.add(A)
    foreign = tmp_path / "collector"
    foreign.mkdir()
    (foreign / "__init__.py").write_text("raise SystemExit('not the collector')")
    monkeypatch.chdir(tmp_path)
    child = Child(NvmlSource(settings())._command())
    try:
        line = child.line(PATIENCE_S, NEVER)
    finally:
        child.end()
    assert line is not None
    assert [reading.device for reading in msgspec.json.decode(line, type=Round).cards] == [A]


def test_stop_does_not_wait_for_a_hung_driver(cards: FakeCards) -> None:
    cards.add(A)
    with source() as delivered:
        delivered.until(lambda sample: True)
        cards.answer(A, power_hang=3_600)
        with pytest.raises(queue.Empty):
            while True:
                delivered.samples.get(timeout=0.3)
        thread = delivered.source._thread
        assert thread is not None
        delivered.source.stop()
        assert not thread.is_alive()


def test_a_failing_store_does_not_end_the_sampling(cards: FakeCards) -> None:
    cards.add(A)
    seen: queue.Queue[str | None] = queue.Queue()

    def deliver(events: list[Event]) -> None:
        (sample,) = events
        assert isinstance(sample, Sample)
        seen.put(sample.device)
        raise OSError("disk full")

    started = NvmlSource(settings())
    started.start(deliver)
    try:
        assert seen.get(timeout=PATIENCE_S) == A
        assert seen.get(timeout=PATIENCE_S) == A
        assert started.status.children == 1
    finally:
        started.stop()
    assert started.status.last_error == "A round of card samples was lost: OSError: disk full"


def test_the_child_ends_with_its_reader(cards: FakeCards) -> None:
    cards.add(A)
    order = msgspec.json.encode(Plan(sample_seconds=0.05)).decode()
    command = [sys.executable, "-m", "collector.sources.nvml_child", order]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline().startswith(b"{")
        process.stdout.close()
        assert process.wait(PATIENCE_S) == 0
        assert process.stderr.read() == b""
