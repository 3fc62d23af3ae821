"""The simulated cards keep time as worked out by hand, and show what was seen on real routers."""

from random import Random

import pytest

from bench.fleet_cards import Job, SimCard
from bench.fleet_sim import AMPLE, OURS, Case, Simulation, _measure, mean_ttft_s
from bench.fleet_work import burst, trees
from router.policies import POLICIES
from router.prefix import Prefix


def job(key="a", tokens=3000, output_tokens=120):
    return Job(Prefix((f"k1:{key}",), (tokens,), 0), f"answer {key}", output_tokens, 0.0)


def play(card):
    """(time, first tokens, ends) of all that happens on a card."""
    told = []
    while (at_s := card.next_s()) is not None:
        first, ended = card.advance(at_s)
        told.append((pytest.approx(at_s), first, ended))
    return told


def test_a_request_alone_takes_its_prompt_and_then_its_answer():
    card, one = SimCard(slots=1, cache_tokens=10_000), job()
    card.send(one)
    assert play(card) == [(1.0, [one], []), (2.0, [], [one])]
    assert (one.hit_tokens, card.cached_tokens) == (0, 3120)


def test_another_waits_for_the_slot_and_finds_the_prompt_cached():
    card, one, same = SimCard(slots=1, cache_tokens=10_000), job(), job()
    card.send(one)
    card.send(same)
    assert [at for at, *_ in play(card)] == [1.0, 2.0, 2.0 + 1 / 3000, 3.0 + 1 / 3000]
    assert same.hit_tokens == 3000


def test_prompts_are_computed_one_by_one_and_answers_together():
    card, one, other = SimCard(slots=2, cache_tokens=10_000), job("a"), job("b", 6000, 190)
    card.send(one)
    card.send(other)
    # The first decodes alone at 120/s while the second is computed, and is done before that is.
    assert play(card) == [
        (1.0, [one], []),
        (2.0, [], [one]),
        (3.0, [other], []),
        (3.0 + 190 / 120, [], [other]),
    ]
    card.send(job("a", output_tokens=95))
    card.send(job("b", 6000, output_tokens=95))
    start_s = card.now_s
    ends = [at.expected - start_s for at, _, ended in play(card) if ended]
    # Cached both, they decode from the first on at 95/s each, but for 1/3000 s.
    assert ends == [pytest.approx(1.0, abs=1e-3), pytest.approx(1.0, abs=1e-3)]


def test_a_cache_holds_no_more_than_it_can():
    card = SimCard(slots=1, cache_tokens=4000)
    for key in "abc":
        card.send(job(key))
        play(card)
        assert card.cached_tokens <= 4000
    again = job("c")
    card.send(again)
    play(card)
    assert again.hit_tokens == 3000
    gone = job("a")
    card.send(gone)
    play(card)
    assert gone.hit_tokens == 0


def sent(policy, gap_s):
    case = Case(lambda rng: burst(rng, gap_s=gap_s), 2, 200_000)
    return sorted(case.run(policy, 1).sent.values())


def test_sglangs_margin_sends_a_burst_to_one_card_and_none_spreads_it():
    """As measured on sglang-router 0.3.2: 0/0/36 by default, 9 to 14 each with a margin of 0."""
    for gap_s in (0.4, 0.0):
        assert sent("sglang_cache_aware", gap_s) == [0, 0, 36]
        assert all(9 <= each <= 15 for each in sent("sglang_balance_0", gap_s))
        assert sent("round_robin", gap_s) == [12, 12, 12]


@pytest.mark.parametrize("policy", POLICIES)
def test_every_request_is_answered_once_whatever_the_policy(policy):
    def run(name):
        work = trees(Random(3), tasks=3, every_s=10)
        return Simulation(name, slots=2, cache_tokens=30_000, seed=1).run(work)

    one, other = run(policy), run("round_robin")
    assert sum(one.sent.values()) == len(one.ttft_s) == len(other.ttft_s)
    assert one.prompt_tokens == other.prompt_tokens  # the same is asked
    assert 0 < one.hit_tokens < one.prompt_tokens
    assert min(one.ttft_s) > 0


@pytest.mark.parametrize("told", [{"reports": False}, {"slots_told": False}])
def test_a_black_box_does_nearly_as_well(told):
    work = trees(Random(1), tasks=20, every_s=16)
    plain = Simulation(OURS, slots=2, cache_tokens=60_000, seed=1).run(work)
    black = Simulation(OURS, slots=2, cache_tokens=60_000, seed=1, **told).run(work)
    assert sum(black.ttft_s) < 1.25 * sum(plain.ttft_s)


def test_the_ratio_is_to_the_best_other_policy():
    case = AMPLE["12 branches at once"]
    result = _measure("ratio", {"one": case}, seeds=1)
    ttft_s = {policy: mean_ttft_s(case, policy, 1) for policy in POLICIES}
    best = min(own for policy, own in ttft_s.items() if policy != OURS)
    assert result.value == pytest.approx(ttft_s[OURS] / best)
    assert result.peers == {
        policy: pytest.approx(own / best) for policy, own in ttft_s.items() if policy != OURS
    }
