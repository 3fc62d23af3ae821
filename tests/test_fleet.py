"""The fleet's counts, beliefs and choices, over any sequence of what can happen to it."""

import json
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rig.events import read

from router.decision import Asked, Outcome
from router.fleet import Fleet, FleetEngine, NoOtherEngine
from router.policies import POLICIES
from router.prefix import Prefix

SECOND = 10**9


def fleet(policy="estimated_wait", slots=(2, 2, 2), **options):
    engines = [FleetEngine(name, count) for name, count in zip("abc", slots, strict=False)]
    return Fleet(engines, policy, rng=Random(options.pop("seed", 1)), **options)


def conversation(name, turns, turn_tokens=1000, system_tokens=2000):
    keys = ["k1:system", *(f"k1:{name}-{turn}" for turn in range(turns))]
    tokens = [system_tokens + turn * turn_tokens for turn in range(turns + 1)]
    return Asked(prefix=Prefix(tuple(keys), tuple(tokens), 1))


def run(live, asked, now_ns=0, **told):
    """A request alone from its decision to its end, its hit as predicted."""
    decision = live.decide(asked, now_ns)
    live.first_token(decision, now_ns + SECOND)
    hit = told.pop("cache_read_tokens", decision.hit_tokens)
    outcome = Outcome("ok", asked.prompt_tokens, hit, told.pop("output_tokens", 100), **told)
    live.finished(decision, outcome, now_ns + 2 * SECOND)
    return decision


def test_a_conversation_comes_home_and_another_goes_elsewhere():
    live = fleet()
    first = run(live, conversation("x", 2))
    assert (first.reason, first.hit_tokens) == ("cold", 0)
    second = live.decide(conversation("x", 3), 5 * SECOND)
    assert (second.chosen, second.reason, second.hit_tokens) == (first.chosen, "home", 4000)


def test_a_system_prompt_is_a_home_until_others_begin_with_it():
    """Some clients put all of a task into the system prompt, and speak after it."""
    live = fleet()
    first = run(live, conversation("x", 0, system_tokens=9000))
    asked = conversation("x", 1, system_tokens=9000)
    second = run(live, asked)
    assert (second.chosen, second.reason, second.hit_tokens) == (first.chosen, "home", 9000)
    other = run(live, conversation("y", 1, system_tokens=9000))
    assert (other.chosen != first.chosen, other.reason) == (True, "cold")


def test_branches_that_come_at_once_are_spread():
    live = fleet()
    chosen = [live.decide(conversation(f"branch{n}", 1), 0).chosen for n in range(6)]
    assert sorted(chosen) == ["a", "a", "b", "b", "c", "c"]


def test_estimates_are_pending_work_slot_wait_and_own_prefill():
    live = fleet(slots=(1, 1))
    asked = conversation("x", 1)  # 3,000 tokens at 2,000/s: 1.5 s
    first = live.decide(asked, 0)
    assert [card.estimate_ms for card in first.cards] == [1500, 1500]
    second = live.decide(conversation("y", 1), 0)
    by_name = {card.name: card for card in second.cards}
    # Behind the first: its 1.5 s, an answer of 256 tokens at 50/s, then 1,000 uncached tokens.
    assert by_name[first.chosen].estimate_ms == pytest.approx(1500 + 5120 + 500)
    assert by_name[first.chosen].pending_tokens == 3000
    assert second.chosen != first.chosen


def test_a_miss_teaches_that_the_cache_is_smaller_and_hits_that_it_is_not():
    live = fleet(slots=(2,), index_tokens=100_000)
    index = live.card("a").index
    run(live, conversation("x", 10))
    for number in range(5):
        run(live, conversation(f"other{number}", 10))
    missed = run(live, conversation("x", 11), cache_read_tokens=0)
    assert missed.actual_hit_tokens == 0
    # The prompt of 13,000 and five conversations of ten turns of 1,000: a fifth of the way to that.
    assert index.budget_tokens == 100_000 - (100_000 - 63_000) // 5
    for turns in range(12, 20):
        run(live, conversation("x", turns))
    assert 92_600 < index.budget_tokens <= 100_000


def test_where_tools_and_system_prompt_alone_are_left_that_is_a_miss():
    live = fleet(slots=(2,), index_tokens=100_000)
    run(live, conversation("x", 1, system_tokens=50_000))
    # 50,000 of 52,000 tokens hit, and still all that is its own is gone.
    run(live, conversation("x", 2, system_tokens=50_000), cache_read_tokens=50_000)
    # All but 48,000 of the budget is in use by this prompt: a fifth of that.
    assert live.card("a").index.budget_tokens == 100_000 - 48_000 // 5


def test_an_engine_that_caches_nothing_is_soon_known_to():
    live = fleet(slots=(2,), index_tokens=100_000)
    for turns in range(1, 80):
        run(live, conversation("x", turns, turn_tokens=300), cache_read_tokens=0)
    assert live.card("a").index.budget_tokens < 10_000


def test_what_is_cached_beyond_belief_lets_the_budget_grow_by_a_good_step():
    live = fleet(slots=(2,), index_tokens=100_000)
    index = live.card("a").index
    index.shrink(20_000)
    run(live, conversation("x", 10), cache_read_tokens=6_000)
    assert index.budget_tokens == 25_000


def test_without_a_report_a_miss_is_inferred_from_the_time():
    live = fleet(slots=(2,), index_tokens=100_000)
    for number in range(4):  # cold prompts of 12,000 tokens in a second: 12,000/s
        run(live, conversation(f"cold{number}", 10, system_tokens=2000 + number))
    before = live.card("a").index.budget_tokens
    slow = live.decide(conversation("cold3", 11), 100 * SECOND)
    live.first_token(slow, 101 * SECOND)
    live.finished(slow, Outcome("ok", 13_000, None, 100), 102 * SECOND)
    assert slow.hit_tokens == 12_000
    assert slow.actual_hit_tokens is None  # inferred is not reported
    assert live.card("a").index.budget_tokens < before


@pytest.mark.parametrize(("streams", "decoded", "computed"), [(True, 99, 4000), (False, 50, 2000)])
def test_only_a_stream_shows_its_first_token(streams, decoded, computed):
    """4,000 tokens of prompt in a second, 99 more of output in another; of a whole answer the first
    byte comes after all of it, and what was assumed stays."""
    live = fleet(slots=(2, 2))
    decision = run(live, conversation("x", 2)._replace(streams=streams))
    card = live.card(decision.chosen)
    assert (card.decode.per_s(1), card.prefill.per_s) == (decoded, computed)
    assert (decision.regret_ms is not None) == streams


def test_a_card_that_has_not_answered_is_taken_for_equal():
    live = fleet(slots=(1, 1))
    run(live, conversation("x", 9))  # 11,000 tokens in a second
    assert {live.card(name).prefill.per_s for name in "ab"} == {11_000}
    run(live, conversation("y", 4))  # 6,000 on the other
    assert sorted(live.card(name).prefill.per_s for name in "ab") == [6_000, 11_000]


def test_conversations_that_take_turns_are_spread_over_all_caches():
    live = fleet(slots=(2, 2, 2))
    homes = [run(live, conversation(str(n), 1), 10 * n * SECOND).chosen for n in range(6)]
    assert sorted(homes) == ["a", "a", "b", "b", "c", "c"]


def test_slots_are_learned_from_what_decodes_at_once():
    live = fleet(slots=(None,))
    decisions = [live.decide(conversation(str(n), 1), 0) for n in range(3)]
    assert live.card("a").slots == 1
    for decision in decisions:
        live.first_token(decision, SECOND)
    assert live.card("a").slots == 3
    live.told_slots("a", 2)
    assert live.decide(Asked(), 0).card.slots == 2


def test_a_failed_request_is_tried_elsewhere_once():
    live = fleet()
    first = live.decide(conversation("x", 1), 0)
    second = live.exclude(first, first.chosen, SECOND)
    assert second.chosen != first.chosen
    assert (second.reason, second.retry) == ("health", True)
    assert live.card(first.chosen).in_flight == 0
    assert live.decide(conversation("x", 1), SECOND).hit_tokens in (0, 3000)
    with pytest.raises(NoOtherEngine):
        live.exclude(second, second.chosen, 2 * SECOND)
    assert live.card(second.chosen).in_flight <= 1


def test_nothing_is_tried_on_an_engine_that_is_down():
    live = fleet(slots=(1, 1))
    live.health("b", False, 0)
    decision = live.decide(Asked(), 0)
    assert decision.chosen == "a"
    with pytest.raises(NoOtherEngine):
        live.exclude(decision, "a", 0)
    assert live.card("a").in_flight == 0


def test_where_all_are_down_one_is_tried_all_the_same():
    live = fleet(slots=(1,))
    live.health("a", False, 0)
    assert live.decide(Asked(), 0).reason == "health"


def test_an_engine_that_was_down_has_lost_its_cache():
    live = fleet(slots=(2,))
    run(live, conversation("x", 2))
    live.health("a", False, 0)
    live.gone("a")
    live.health("a", True, 0)
    assert live.decide(conversation("x", 3), 5 * SECOND).hit_tokens == 0


def test_behind_another_router_the_own_choice_is_only_noted():
    live = fleet()
    home = run(live, conversation("x", 2)).chosen
    other = next(name for name in "abc" if name != home)
    asked = conversation("x", 3)
    pinned = live.decide(Asked(prefix=asked.prefix, pinned=other), 5 * SECOND)
    assert (pinned.chosen, pinned.reason) == (other, "pinned")
    assert (pinned.shadow_policy, pinned.shadow) == ("estimated_wait", home)


def test_a_shadow_changes_no_choice():
    alone, watched = fleet(seed=4), fleet(seed=4, shadow="round_robin")
    asked = [conversation(str(number), 1) for number in range(12)]
    chosen = [alone.decide(each, 0).chosen for each in asked]
    decisions = [watched.decide(each, 0) for each in asked]
    assert [decision.chosen for decision in decisions] == chosen
    assert [decision.shadow for decision in decisions] == ["a", "b", "c"] * 4


def test_engines_are_chosen_by_model_then_pool():
    engines = [FleetEngine("a", 1, "big", "m"), FleetEngine("b", 1, "big", "n"),
               FleetEngine("e", 1, "embed", "e")]  # fmt: skip
    live = Fleet(engines, "round_robin", rng=Random(1))
    assert live.candidates("m") == ("a", "b")
    assert live.candidates("e") == ("e",)
    assert live.candidates("unheard of") == live.candidates(None) == ("a", "b", "e")


def test_the_route_is_what_the_contract_takes():
    live = fleet(shadow="round_robin")
    run(live, conversation("x", 2))
    decision = run(live, conversation("x", 3), now_ns=5 * SECOND, cache_read_tokens=3900)
    event = {
        "kind": "attempt", "source": "router", "event_id": "1", "rig": "desk", "status": "ok",
        "engine": decision.chosen, "received_at": "2026-10-03T17:02:11Z", "duration_ns": 1,
        "route": decision.route(),
    }  # fmt: skip
    route = read(json.dumps([event]).encode())[0][0][1].route
    assert (route.policy, route.reason, route.hit_tokens, route.actual_hit_tokens) == (
        "estimated_wait", "home", 4000, 3900,
    )  # fmt: skip
    assert route.chosen == decision.chosen
    # The first token took 1,000 ms; the others were estimated at 5,000 tokens at 2,000/s or so.
    assert route.regret_ms == round(1000 - min(c.estimate_ms for c in decision.cards
                                               if c.name != decision.chosen))  # fmt: skip
    assert [candidate.engine for candidate in route.candidates] == ["a", "b", "c"]


def test_what_makes_no_fleet_is_refused():
    with pytest.raises(ValueError, match="no policy is called 'best'; choose of estimated_wait"):
        Fleet([FleetEngine("a")], "best", rng=Random(1))
    with pytest.raises(ValueError, match="a name of its own"):
        Fleet([FleetEngine("a"), FleetEngine("a")], "round_robin", rng=Random(1))
    with pytest.raises(ValueError, match="one engine or more"):
        Fleet([], "round_robin", rng=Random(1))


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["ask", "first", "end", "fail", "retry", "down", "up", "again"]),
        st.integers(0, 11),
        st.integers(0, 20_000),
    ),
    max_size=60,
)


@given(
    steps=STEPS,
    policy=st.sampled_from(sorted(POLICIES)),
    shadow=st.none() | st.sampled_from(sorted(POLICIES)),
    slots=st.lists(st.none() | st.integers(1, 3), min_size=1, max_size=3),
    budget=st.sampled_from([500, 8000, 100_000]),
)
def test_whatever_happens_the_counts_hold(steps, policy, shadow, slots, budget):
    live = fleet(policy, slots, shadow=shadow, index_tokens=budget)
    names = list("abc"[: len(slots)])
    up = dict.fromkeys(names, True)
    running = []
    now_ns = 0

    def check(decision):
        assert up[decision.chosen] or not any(up.values())
        for card in decision.cards:
            assert 0 <= card.hit_tokens <= decision.asked.prompt_tokens
            assert card.estimate_ms >= 0
        running.append(decision)

    for what, which, size in steps:
        now_ns += size * 10**5
        picked = running[which % len(running)] if running else None
        if what == "ask":
            asked = conversation(str(which % 4), which, turn_tokens=size // 10)
            asked = asked._replace(streams=size % 2 == 0, output_tokens_max=size % 7 or None)
            check(live.decide(asked, now_ns))
        elif what in ("down", "up"):
            name = names[which % len(names)]
            up[name] = what == "up"
            live.health(name, up[name], now_ns)
        elif picked is None:
            continue
        elif what == "first":
            live.first_token(picked, now_ns)
        elif what == "retry":
            running.remove(picked)
            try:
                check(live.exclude(picked, picked.chosen, now_ns))
            except NoOtherEngine:
                assert picked.retry or sum(up.values()) - up[picked.chosen] == 0
        elif what == "again":
            live.finished(picked, Outcome("client_abort"), now_ns)
            live.finished(picked, Outcome("ok", 100, 0, 5), now_ns)
            running.remove(picked)
        else:
            status = "ok" if what == "end" else "client_abort"
            hit = None if which % 3 == 0 else size // 2
            live.finished(picked, Outcome(status, size, hit, which), now_ns)
            running.remove(picked)
        for name in names:
            card = live.card(name)
            assert card.in_flight == sum(decision.chosen == name for decision in running)
            assert card.pending_tokens >= 0
            assert card.index.tokens <= card.index.budget_tokens <= budget
    for decision in running:
        live.finished(decision, Outcome("ok"), now_ns)
    assert all(live.card(name).in_flight == 0 for name in names)
    assert all(live.card(name).pending_tokens == 0 for name in names)


@given(steps=st.lists(st.integers(0, 5), max_size=30), policy=st.sampled_from(sorted(POLICIES)))
def test_the_same_seed_decides_the_same(steps, policy):
    def decide():
        live = fleet(policy, seed=7)
        return [live.decide(conversation(str(each), each), 0).chosen for each in steps]

    assert decide() == decide()
