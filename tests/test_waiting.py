"""How long a request would wait, worked out by hand: 1,000 prompt and 50 output tokens a second."""

import pytest

from router.waiting import Flight, Pace, wait_s

SECOND = 10**9


def flight(new_tokens, *, first_s=None, streams=True):
    first_token_ns = None if first_s is None else round(first_s * SECOND)
    return Flight(new_tokens, 200.0, SECOND, streams, False, 0, 0, first_token_ns)


def wait(*flights, slots, since_s=1.0, now_s=1.0):
    pace = Pace(slots, 1000.0, 50.0)
    now_ns = round(now_s * SECOND)
    return pytest.approx(wait_s(dict(enumerate(flights)), pace, round(since_s * SECOND), now_ns))


def test_with_a_slot_free_what_is_pending_is_computed_first():
    assert wait(flight(3000), flight(500), slots=3) == 3.5
    assert wait(flight(3000), flight(500, first_s=1), slots=3) == 3.0


def test_the_prompt_at_the_head_is_partly_done():
    assert wait(flight(3000), flight(500), slots=3, now_s=3) == 1.5
    # It streams and has not begun to answer: the next prompt waits still.
    assert wait(flight(3000), flight(500), slots=3, now_s=9) == 0.5


def test_a_whole_answer_shows_no_first_token_so_its_time_counts():
    assert wait(flight(3000, streams=False), flight(500), slots=3, now_s=4.2) == pytest.approx(0.3)


def test_without_a_slot_the_answer_that_ends_first_is_waited_for():
    # 200 tokens at 50/s are 4 s; one has had 2.5 s of them, the other 0.5 s.
    running = flight(500, first_s=1), flight(500, first_s=3)
    assert wait(*running, slots=2, now_s=3.5) == 1.5


def test_an_answer_longer_than_the_mean_has_still_a_part_to_come():
    assert wait(flight(500, first_s=1), slots=1, now_s=100) == 1.2


def test_those_that_wait_already_are_served_before():
    # The slot is free after 1 s of prompt and 4 s of answer; the next takes 2 + 4 s.
    assert wait(flight(1000), flight(2000), slots=1) == 11.0
    # Two slots: the second prompt is computed after the first; free at 5 and 7 s. The third takes
    # the first slot, for 1 + 4 s, and leaves the second the sooner.
    assert wait(flight(1000), flight(2000), flight(1000), slots=2) == 7.0
