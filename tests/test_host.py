"""What befalls the host is told as far as it is shown, and no farther."""

import dataclasses
from pathlib import Path

import pytest
from rig.clocks import Clocks, machine, wtmp

from collector.clock import SECOND_NS, from_ns, to_ns
from collector.events import Event, Heartbeat, Host
from collector.settings import RigSettings, Settings
from collector.sources.host import HostSource, Machine
from collector.sources.wtmp import LAYOUTS, Ending, ending
from collector.store import Store

NOON = 1_790_000_000 * SECOND_NS
HOUR = 3_600 * SECOND_NS
RIG = Settings(rig=RigSettings(name="desk"))


def heartbeat(at_ns: int, boot_id: str | None, rig: str = "desk") -> Heartbeat:
    return Heartbeat(
        source="test",
        event_id=f"{boot_id}-{at_ns}",
        rig=rig,
        boot_id=boot_id,
        witness="collector",
        covers=[],
        at=from_ns(at_ns),
    )


def keep(folder: Path, *events: Event) -> None:
    with Store(folder / "ledger") as store:
        store.append(events)


def source(folder: Path, made: Machine) -> HostSource:
    return HostSource(RIG, folder / "ledger", made)


def booted(folder: Path, uptime_s: float = 90, boot_id: str = "new") -> HostSource:
    """The collector's start at NOON, some time after a boot."""
    clocks = Clocks(NOON, boot_ns=round(uptime_s * SECOND_NS), awake_ns=round(uptime_s * SECOND_NS))
    return source(folder, machine(folder, clocks, boot_id))


def boot_of(events: list[Event]) -> tuple[int, int | None]:
    """When the one boot was, and since when it says that the host was off."""
    (boot,) = (event for event in events if isinstance(event, Host) and event.what == "boot")
    at_ns = to_ns(boot.at)
    return at_ns, None if boot.duration_ns is None else at_ns - boot.duration_ns


BOOT = NOON - 90 * SECOND_NS
LAST = NOON - 8 * HOUR


def test_a_power_cut_leaves_the_time_before_the_boot_unknown(tmp_path: Path) -> None:
    keep(tmp_path, heartbeat(LAST, "old"))
    wtmp(tmp_path / "wtmp", ("boot", LAST - HOUR), ("login", LAST), ("boot", BOOT + 2 * SECOND_NS))
    assert boot_of(booted(tmp_path).begin()) == (BOOT, None)


def test_an_orderly_shutdown_is_the_begin_of_off(tmp_path: Path) -> None:
    keep(tmp_path, heartbeat(LAST, "old"))
    down = LAST + 5 * SECOND_NS
    wtmp(tmp_path / "wtmp", ("boot", LAST - HOUR), ("shutdown", down), ("boot", BOOT))
    assert boot_of(booted(tmp_path).begin()) == (BOOT, down)


def test_the_record_of_last_month_is_read_too(tmp_path: Path) -> None:
    keep(tmp_path, heartbeat(LAST, "old"))
    wtmp(tmp_path / "wtmp.1", ("boot", LAST - HOUR), ("shutdown", LAST + 5))
    wtmp(tmp_path / "wtmp", ("boot", BOOT), ("login", NOON))
    assert boot_of(booted(tmp_path).begin()) == (BOOT, (LAST + 5) // 1000 * 1000)


def test_nothing_is_off_before_the_last_sign_of_life(tmp_path: Path) -> None:
    down = LAST - 3 * SECOND_NS
    keep(tmp_path, heartbeat(LAST - HOUR, "old"), heartbeat(LAST, "old"))
    wtmp(tmp_path / "wtmp", ("shutdown", down), ("boot", BOOT))
    assert boot_of(booted(tmp_path).begin()) == (BOOT, LAST)


def test_a_crash_of_a_boot_in_between_leaves_only_its_own_time_unknown(tmp_path: Path) -> None:
    """Shut down, booted without a collector, power cut, booted again: nothing is shown."""
    keep(tmp_path, heartbeat(LAST, "old"))
    between = LAST + HOUR
    wtmp(tmp_path / "wtmp", ("shutdown", LAST + 5), ("boot", between), ("boot", BOOT))
    assert boot_of(booted(tmp_path).begin()) == (BOOT, None)


def test_a_stopped_collector_says_nothing_of_the_host(tmp_path: Path) -> None:
    told: list[Event] = []
    clocks = Clocks(NOON, boot_ns=HOUR, awake_ns=HOUR)
    keep(tmp_path)
    stopped = source(tmp_path, machine(tmp_path, clocks, "old"))
    stopped.start(told.extend)
    stopped.stop()
    assert [event.what for event in told if isinstance(event, Host)] == ["boot"]


def test_a_shutdown_seen_by_the_collector_is_proof_where_no_record_is_kept(tmp_path: Path) -> None:
    told: list[Event] = []
    clocks = Clocks(LAST, boot_ns=HOUR, awake_ns=HOUR)
    keep(tmp_path, heartbeat(LAST - SECOND_NS, "old"))
    stopped = source(tmp_path, machine(tmp_path, clocks, "old", going_down=True))
    stopped.start(told.extend)
    stopped.stop()
    assert [event.what for event in told if isinstance(event, Host)] == ["boot", "shutdown"]
    keep(tmp_path, *told)
    assert boot_of(booted(tmp_path).begin()) == (BOOT, LAST)


def test_a_shutdown_that_was_called_off_proves_nothing(tmp_path: Path) -> None:
    keep(tmp_path, shutdown(LAST, "old"), heartbeat(LAST + HOUR, "old"))
    assert boot_of(booted(tmp_path).begin()) == (BOOT, None)


def test_a_shutdown_of_a_boot_before_the_last_proves_nothing(tmp_path: Path) -> None:
    keep(tmp_path, shutdown(LAST, "older"), heartbeat(LAST + HOUR, "old"))
    assert boot_of(booted(tmp_path).begin()) == (BOOT, None)
    keep(tmp_path, heartbeat(LAST - 5, "older"))
    wtmp(tmp_path / "wtmp", ("boot", LAST + 60 * SECOND_NS), ("boot", BOOT))
    assert boot_of(booted(tmp_path).begin()) == (BOOT, None)


def shutdown(at_ns: int, boot_id: str) -> Host:
    return Host(
        source="collector",
        event_id=f"shutdown-{boot_id}",
        rig="desk",
        boot_id=boot_id,
        what="shutdown",
        at=from_ns(at_ns),
    )


def test_the_same_boot_is_told_once(tmp_path: Path) -> None:
    keep(tmp_path)
    first = booted(tmp_path).begin()
    keep(tmp_path, *first)
    assert len(first) == 1
    assert booted(tmp_path).begin() == []
    with Store(tmp_path / "ledger") as store:
        store.seal()
    assert booted(tmp_path).begin() == []
    assert len(booted(tmp_path, 30, "newer").begin()) == 1


def test_other_rigs_and_hosts_without_a_boot_id_do_not_matter(tmp_path: Path) -> None:
    keep(tmp_path, heartbeat(BOOT + HOUR, "far", rig="other"), heartbeat(BOOT + HOUR, None))
    wtmp(tmp_path / "wtmp", ("shutdown", LAST), ("boot", BOOT))
    assert boot_of(booted(tmp_path).begin()) == (BOOT, LAST)
    started = booted(tmp_path)
    nameless = dataclasses.replace(started._machine, proc=tmp_path / "nowhere")
    assert source(tmp_path, nameless).begin() == []


def test_sleep_is_told_with_its_length(tmp_path: Path) -> None:
    keep(tmp_path)
    clocks = Clocks(NOON, boot_ns=HOUR, awake_ns=HOUR)
    host = source(tmp_path, machine(tmp_path, clocks, "b"))
    host.begin()
    for _ in range(2):
        clocks.run(5)
        assert host.look() == []
    clocks.suspend(8 * 3600)
    clocks.run(3)
    (resume,) = host.look()
    assert isinstance(resume, Host)
    assert (resume.what, to_ns(resume.at)) == ("resume", NOON + 8 * HOUR + 13 * SECOND_NS)
    assert resume.duration_ns == 8 * HOUR
    clocks.run(5)
    assert host.look() == []


@pytest.mark.parametrize("step_s", [-3600, 3600, -1.0, 10 * 365 * 86_400])
def test_a_clock_step_is_told_once_and_moves_the_boot(tmp_path: Path, step_s: float) -> None:
    keep(tmp_path, heartbeat(LAST, "old"))
    wtmp(tmp_path / "wtmp", ("shutdown", LAST + SECOND_NS), ("boot", BOOT))
    clocks = Clocks(NOON, boot_ns=90 * SECOND_NS, awake_ns=90 * SECOND_NS)
    host = source(tmp_path, machine(tmp_path, clocks, "b"))
    first = host.begin()
    clocks.run(5)
    clocks.set(step_s)
    step, boot = host.look()
    assert isinstance(step, Host)
    assert isinstance(boot, Host)
    step_ns = round(step_s * SECOND_NS)
    assert (step.what, step.duration_ns) == ("clock_step", step_ns)
    assert to_ns(step.at) == clocks.wall_ns
    assert (boot.event_id, boot.revision) == (first[0].event_id, 1)
    assert boot_of([boot]) == (BOOT + step_ns, LAST + SECOND_NS)
    assert host.look() == []
    keep(tmp_path, *first, step, boot)
    assert source(tmp_path, host._machine).begin() == []


def test_a_clock_set_while_no_collector_ran_is_told_by_the_next(tmp_path: Path) -> None:
    keep(tmp_path)
    keep(tmp_path, *booted(tmp_path).begin())
    step, boot = booted(tmp_path, 90 + 1800).begin()
    assert isinstance(step, Host)
    assert (step.what, step.duration_ns, to_ns(step.at)) == ("clock_step", -HOUR // 2, NOON)
    assert boot_of([boot]) == (BOOT - HOUR // 2, None)
    assert boot.revision == 1


def test_a_clock_set_between_two_boots_is_a_step_and_nothing_is_off(tmp_path: Path) -> None:
    keep(tmp_path, heartbeat(BOOT + HOUR, "old"))
    wtmp(tmp_path / "wtmp", ("shutdown", BOOT + HOUR), ("boot", BOOT))
    step, boot = booted(tmp_path).begin()
    assert isinstance(step, Host)
    assert (step.what, step.duration_ns, to_ns(step.at)) == ("clock_step", -HOUR, BOOT)
    assert step.boot_id is None
    assert boot_of([boot]) == (BOOT, None)


def test_a_look_that_fails_is_not_the_last(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """There is no ledger to read at first."""
    clocks = Clocks(NOON)
    told: list[Event] = []
    host = HostSource(RIG, tmp_path / "ledger", machine(tmp_path, clocks, "b"), interval_s=0.01)
    host.start(told.extend)
    for _ in range(3000):
        if caplog.records:
            break
        host._stop.wait(0.01)
    keep(tmp_path)
    for _ in range(3000):
        if told:
            break
        host._stop.wait(0.01)
    host.stop()
    assert [event.what for event in told if isinstance(event, Host)] == ["boot"]
    assert "a look at the host failed" in caplog.text


def test_records_of_every_layout_are_read_and_others_are_not(tmp_path: Path) -> None:
    wide = LAYOUTS[1]
    records = [(1, b"shutdown", LAST), (2, b"reboot", BOOT)]
    told = b"".join(
        wide.pack(kind, 0, b"~", b"~~", user, b"", 0, 0, 0, at // SECOND_NS, 0, b"")
        for kind, user, at in records
    )
    (tmp_path / "wtmp").write_bytes(told)
    assert ending(BOOT, tmp_path / "wtmp") == Ending(shutdown_ns=LAST)
    (tmp_path / "wtmp").write_bytes(told[:-1])
    assert ending(BOOT, tmp_path / "wtmp") is None
    (tmp_path / "wtmp").write_bytes(b"\xff" * len(told))
    assert ending(BOOT, tmp_path / "wtmp") is None


def test_a_record_of_another_boot_is_not_taken_for_this_one(tmp_path: Path) -> None:
    wtmp(tmp_path / "wtmp", ("shutdown", LAST), ("boot", BOOT - HOUR))
    assert ending(BOOT, tmp_path / "wtmp") is None
    wtmp(tmp_path / "wtmp", ("boot", BOOT))
    assert ending(BOOT, tmp_path / "wtmp") == Ending()
    wtmp(tmp_path / "wtmp", ("runlevel", LAST), ("boot", BOOT))
    assert ending(BOOT, tmp_path / "wtmp") == Ending()
