"""Each policy on worked cases from its published rule."""

from random import Random
from typing import get_args

import pytest

from collector.settings_router import Policy
from router.decision import Asked, Card, State
from router.policies import (
    POLICIES,
    estimated_wait,
    least_requests,
    lmetric,
    load_aware,
    longest_prefix,
    power_of_two,
    round_robin,
    sglang_cache_aware,
    smg_cache_aware,
    two_candidates,
)
from router.prefix import Prefix

# A prompt of 10,000 tokens, of which 6,000 are tools and system prompt.
PREFIX = Prefix(("k1:system", "k1:turn"), (6000, 10_000), 1)
ASKED = Asked(prefix=PREFIX)


def card(name, *, in_flight=0, hit=0, sent=0, estimate_ms=1000.0, slots=2, free=100_000, new=-1):
    return Card(name, slots, in_flight, 0, hit, sent, estimate_ms, 2000.0, free, new)


def choose(policy, *cards, turn=0, asked=ASKED, seed=1, **thresholds):
    return policy(State(cards, turn), asked, Random(seed), **thresholds)


def test_home_is_the_deepest_useful_prefix_even_where_another_is_sooner():
    home = card("a", in_flight=1, hit=9000, estimate_ms=500)
    assert choose(estimated_wait, home, card("b", estimate_ms=400)) == ("a", "home")


def test_of_several_homes_the_soonest():
    homes = card("a", hit=9000, estimate_ms=500), card("b", hit=9000, estimate_ms=300)
    assert choose(estimated_wait, *homes) == ("b", "home")


def test_what_every_branch_shares_is_no_home():
    # 4,000 tokens at 2,000/s hold one up by 2 s, which counts twice: 1.5 + 4 s at a. At b the 3 s
    # of the shared 6,000 do not count.
    system = card("a", in_flight=1, hit=6000, estimate_ms=1500)
    assert choose(estimated_wait, system, card("b", estimate_ms=8000)) == ("b", "cold")
    assert choose(estimated_wait, system, card("b", estimate_ms=9000)) == ("a", "cold")


def test_a_system_prompt_of_one_conversation_alone_is_a_home():
    system = card("a", in_flight=1, hit=6000, estimate_ms=1500)
    own = Asked(prefix=PREFIX, common=0)
    assert choose(estimated_wait, system, card("b", estimate_ms=5000), asked=own) == ("a", "home")
    # Too late at home: 3 + 2 x 2 s there, 5 s of its whole prompt elsewhere.
    late = card("a", in_flight=1, hit=6000, estimate_ms=6000)
    assert choose(estimated_wait, late, card("b", estimate_ms=5000), asked=own) == ("b", "spill")


def test_what_is_new_goes_where_nothing_new_went_longest_and_where_there_is_room():
    cards = card("a", hit=6000, estimate_ms=2000, new=8), card("b", estimate_ms=5000, new=7)
    assert choose(estimated_wait, *cards) == ("b", "cold")
    # Where the room lacks, 0.3 of the 2 s for what is pushed out count; 2.5 against 2 + 0.6 s.
    full = card("a", hit=6000, estimate_ms=2000, free=0)
    roomy = card("b", estimate_ms=5450, free=4000)
    assert choose(estimated_wait, full, roomy) == ("b", "cold")
    assert choose(estimated_wait, full._replace(free_tokens=4000), roomy) == ("a", "cold")


def test_a_home_that_is_full_and_busier_than_the_mean_is_left_for_the_least_wait_of_all():
    # a: 1,000 tokens hold two up by 0.5 s each, 4.5 + 2 s. b: 9 s less the 3 s of what is shared.
    # c: 4,000 tokens hold one up by 2 s, 2.4 + 4 s.
    full = card("a", in_flight=2, hit=9000, estimate_ms=4500)
    idle, one = card("b", estimate_ms=9000), card("c", in_flight=1, hit=6000, estimate_ms=2400)
    assert choose(estimated_wait, full, idle, one) == ("b", "spill")
    sooner = one._replace(estimate_ms=1600)
    assert choose(estimated_wait, full, idle, sooner) == ("c", "spill")


def test_a_home_that_is_full_is_kept_where_all_are_as_busy():
    full = card("a", in_flight=2, hit=9000, estimate_ms=4500)
    assert choose(estimated_wait, full, card("b", in_flight=2, estimate_ms=0)) == ("a", "home")


def test_a_home_with_a_slot_free_is_kept_though_it_is_busier():
    roomy = card("a", in_flight=3, hit=9000, estimate_ms=5000, slots=4)
    assert choose(estimated_wait, roomy, card("b", estimate_ms=0)) == ("a", "home")


def test_a_home_is_left_where_computing_all_anew_is_quicker():
    # The whole prompt takes 5 s.
    late = card("a", in_flight=1, hit=9000, estimate_ms=5001)
    assert choose(estimated_wait, late, card("b", estimate_ms=5000)) == ("b", "spill")


def test_a_home_left_may_still_be_the_least_wait_of_all():
    full = card("a", in_flight=2, hit=9000, estimate_ms=3900)
    assert choose(estimated_wait, full, card("b", estimate_ms=9500)) == ("a", "home")


def test_equal_waits_are_drawn_by_chance():
    seen = {choose(estimated_wait, card("a"), card("b"), seed=seed)[0] for seed in range(20)}
    assert seen == {"a", "b"}


def test_round_robin_takes_turns():
    cards = card("a", in_flight=9), card("b"), card("c")
    chosen = [choose(round_robin, *cards, turn=turn)[0] for turn in range(5)]
    assert chosen == ["a", "b", "c", "a", "b"]


def test_least_requests():
    cards = card("a", in_flight=3, hit=9000), card("b", in_flight=1), card("c", in_flight=2)
    assert choose(least_requests, *cards) == ("b", "balance")


def test_power_of_two_takes_the_less_busy_of_two():
    cards = card("a", in_flight=3), card("b", in_flight=1), card("c", in_flight=2)
    chosen = {choose(power_of_two, *cards, seed=seed)[0] for seed in range(30)}
    assert chosen == {"b", "c"}  # the busiest never wins
    assert choose(power_of_two, card("a")) == ("a", "random")


def test_longest_prefix_whatever_the_load():
    cards = card("a", in_flight=50, hit=6000), card("b", in_flight=0, hit=5000)
    assert choose(longest_prefix, *cards) == ("a", "home")
    assert choose(longest_prefix, card("a", in_flight=2), card("b", in_flight=1)) == ("b", "cold")


@pytest.mark.parametrize(
    ("in_flight", "sent", "chosen"),
    [
        # Balanced, and the match is above 0.3 of the text: the matched card.
        ((40, 0, 0), (3001, 0, 0), ("a", "home")),
        # A match of exactly 0.3 is not above it: the least loaded, the first of equals.
        ((40, 0, 0), (3000, 0, 0), ("b", "cold")),
        # A difference of 64 is not above 64; one of 65 is, and 65 > 1.5 × 0.
        ((64, 0, 0), (9000, 0, 0), ("a", "home")),
        ((65, 0, 0), (9000, 0, 0), ("b", "balance")),
        # 195 > 1.5 × 130 is false: in balance although the difference is 65.
        ((195, 130, 140), (9000, 0, 0), ("a", "home")),
        ((196, 130, 140), (9000, 0, 0), ("b", "balance")),
    ],
)
def test_sglangs_thresholds(in_flight, sent, chosen):
    cards = [
        card(name, in_flight=load, sent=text, hit=0)
        for name, load, text in zip("abc", in_flight, sent, strict=True)
    ]
    assert choose(sglang_cache_aware, *cards) == chosen


def test_sglang_without_a_margin_balances_small_fleets():
    cards = card("a", in_flight=2, sent=9000), card("b", in_flight=1)
    assert choose(sglang_cache_aware, *cards, balance_abs=0) == ("b", "balance")


def test_load_aware_weighs_the_match_against_the_load():
    # mean 2; a: 0.9 − (4−2)/2 = −0.1; b: 0 − (1−2)/2 = 0.5; c: 0.4 − (1−2)/2 = 0.9
    cards = (
        card("a", in_flight=4, sent=9000),
        card("b", in_flight=1),
        card("c", in_flight=1, sent=4000),
    )
    assert choose(load_aware, *cards) == ("c", "home")
    # mean 1/3, so max(1, mean) = 1; a: 0.9 − 2/3 = 0.233; b, c: 0 + 1/3 = 0.333
    cold = card("b"), card("c")
    assert choose(load_aware, card("a", in_flight=1, sent=9000), *cold)[1] == "balance"
    assert choose(load_aware, card("a", in_flight=1, sent=9000), *cold, beta=0.5) == ("a", "home")


def test_two_candidates_are_the_same_two_for_a_conversation():
    cards = [card(name) for name in "abcdef"]
    pairs = set()
    for slo_ms in (1e9, 0.0):
        for estimates in ((1, 2), (2, 1)):
            for first in "abcdef":
                moved = [
                    c._replace(estimate_ms=estimates[0] if c.name == first else estimates[1])
                    for c in cards
                ]
                pairs.add(choose(two_candidates, *moved, slo_ms=slo_ms)[0])
    assert len(pairs) == 2
    later = Asked(prefix=Prefix(("k1:system", "k1:turn", "k1:more"), (6000, 10_000, 11_000), 1))
    assert choose(two_candidates, *cards, asked=later) == choose(two_candidates, *cards)


def test_two_candidates_stay_warm_until_the_objective_is_missed():
    warm, other = card("a", hit=9000, estimate_ms=5000), card("b", estimate_ms=800)
    assert choose(two_candidates, warm, other, slo_ms=5000) == ("a", "home")
    late = warm._replace(estimate_ms=5001)
    assert choose(two_candidates, late, other, slo_ms=5000) == ("b", "spill")


def test_smg_takes_the_least_busy_holder_unless_it_is_overloaded():
    holders = card("a", in_flight=4, sent=9000), card("b", in_flight=3, sent=9000)
    assert choose(smg_cache_aware, *holders, card("c")) == ("b", "home")
    # Mean 2: 6 > 1.5 × 2, and 6 > 2 + 4 is false; 7 of mean 7/3 is more than 7/3 + 4.
    one = card("a", in_flight=6, sent=9000)
    assert choose(smg_cache_aware, one, card("b"), card("c")) == ("a", "home")
    assert choose(smg_cache_aware, one._replace(in_flight=7), card("b"), card("c")) == (
        "b",
        "spill",
    )
    assert choose(smg_cache_aware, one, card("b"), card("c"), balance_abs=0) == ("b", "spill")
    assert choose(smg_cache_aware, card("a", in_flight=1), card("b")) == ("b", "cold")


def test_lmetric_takes_the_least_product():
    # (1,000 + 1) × 5 = 5,005 against (10,000 + 1) × 1 = 10,001, and × 10 against it.
    warm, idle = card("a", in_flight=4, hit=9000), card("b")
    assert choose(lmetric, warm, idle) == ("a", "home")
    assert choose(lmetric, warm._replace(in_flight=9), idle) == ("b", "balance")


def test_the_settings_take_the_policies_that_there_are():
    assert get_args(Policy) == tuple(POLICIES)


@pytest.mark.parametrize("name", POLICIES)
def test_every_policy_chooses_where_there_is_one_card_and_no_prompt(name):
    assert choose(POLICIES[name], card("only"), asked=Asked())[0] == "only"
