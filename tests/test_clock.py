"""Time as the ledger keeps it: order between steps, and steps that are told."""

from rig.clocks import Clocks

from collector.clock import SECOND_NS, Placed, Step

START = 1_790_000_000 * SECOND_NS
HOUR = 3_600 * SECOND_NS


def test_an_undisturbed_clock_shows_the_wall_time() -> None:
    clocks = Clocks(START, boot_ns=77)
    for _ in range(5):
        clocks.run(7.25)
        assert clocks.placed.now_ns() == clocks.wall_ns
    assert clocks.placed.steps() == []


def test_a_slewed_clock_is_followed_in_order() -> None:
    """The wall clock is half a second ahead and is set back by so much in small pieces."""
    clocks = Clocks(START)
    seen = [clocks.placed.now_ns()]
    for _ in range(50):
        clocks.run(0.2)
        clocks.set(-0.01)
        seen.append(clocks.placed.now_ns())
    assert seen == sorted(set(seen))
    assert clocks.placed.steps() == []
    assert abs(seen[-1] - clocks.wall_ns) <= 0.01 * SECOND_NS


def test_a_step_below_a_second_is_followed_slowly() -> None:
    clocks = Clocks(START)
    clocks.set(-0.9)
    before = clocks.placed.now_ns()
    assert before == START
    clocks.run(1)
    assert clocks.placed.now_ns() == START + SECOND_NS * 9 // 10
    clocks.run(100)
    assert clocks.placed.now_ns() == clocks.wall_ns
    assert clocks.placed.steps() == []


def test_steps_are_told_and_everything_before_them_keeps_its_place() -> None:
    clocks = Clocks(START)
    clocks.run(10)
    clocks.placed.now_ns()
    clocks.set(-3600)
    assert clocks.placed.now_ns() == START + 10 * SECOND_NS - HOUR
    clocks.run(5)
    clocks.set(7200)
    assert clocks.placed.steps() == [
        Step(START + 10 * SECOND_NS - HOUR, -HOUR, 10 * SECOND_NS),
        Step(START + 15 * SECOND_NS + HOUR, 2 * HOUR, 15 * SECOND_NS),
    ]
    assert clocks.placed.steps(1) == clocks.placed.steps()[1:]
    assert clocks.placed.place(3 * SECOND_NS) == START + 3 * SECOND_NS
    assert clocks.placed.place(12 * SECOND_NS) == START + 12 * SECOND_NS - HOUR
    assert clocks.placed.place(15 * SECOND_NS) == START + 15 * SECOND_NS + HOUR


def test_sleep_is_no_step() -> None:
    clocks = Clocks(START)
    clocks.suspend(8 * 3600)
    assert clocks.placed.now_ns() == START + 8 * HOUR
    assert clocks.placed.steps() == []


def test_a_look_that_was_interrupted_says_nothing() -> None:
    """The host sleeps between the reading of the one clock and of the other."""
    boot = iter([0, 0, 1 * SECOND_NS, 9 * SECOND_NS, 9 * SECOND_NS, 9 * SECOND_NS])
    wall = iter([START, START + SECOND_NS, START + 9 * SECOND_NS])
    placed = Placed(lambda: next(wall), lambda: next(boot))
    assert placed.now_ns() == START + 9 * SECOND_NS
    assert placed._steps == []
