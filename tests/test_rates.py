"""What is learned of a card's speed, by hand."""

import pytest

from router.rates import (
    DECODE_PRIOR,
    KEPT,
    OUTPUT_PRIOR,
    PREFILL_PRIOR,
    Decode,
    Mean,
    Prefill,
)


def test_prefill_is_the_90th_percentile_of_the_latest():
    prefill = Prefill()
    assert prefill.per_s == PREFILL_PRIOR
    for rate in range(1, 101):  # 1,000 to 100,000 tokens in a second
        prefill.learn(1000 * rate, 1.0)
    # Kept are 37 to 100; the 57th of the 64 is 94.
    assert prefill.per_s == 94_000
    assert prefill.median_per_s == 69_000


def test_short_prompts_and_no_time_tell_nothing():
    prefill = Prefill()
    prefill.learn(255, 0.001)
    prefill.learn(1000, 0.0)
    assert (prefill.per_s, prefill.median_per_s) == (PREFILL_PRIOR, None)


def test_a_median_is_believed_after_four():
    prefill = Prefill()
    for count in range(4):
        assert prefill.median_per_s is None, count
        prefill.learn(3000, 1.0)
    assert prefill.median_per_s == 3000


def test_decode_is_learned_by_batch_and_guessed_from_the_nearest():
    decode = Decode()
    assert decode.per_s(1) == DECODE_PRIOR
    assert decode.per_s(3) == pytest.approx(DECODE_PRIOR / 1.5)
    decode.learn(240, 2.0, 1)
    assert decode.per_s(1) == 120
    assert decode.per_s(2) == pytest.approx(96)  # a quarter slower
    decode.learn(95, 1.0, 2)
    assert decode.per_s(2) == 95
    decode.learn(105, 1.0, 2)
    assert decode.per_s(2) == pytest.approx(97)  # a fifth of the way
    assert decode.per_s(4) == pytest.approx(97 * 1.25 / 1.75)
    decode.learn(3, 1.0, 8)
    decode.learn(300, 0.0, 8)
    assert decode.per_s(8) == pytest.approx(97 * 1.25 / 2.75)


def test_a_mean_forgets_its_prior_at_once_and_old_samples_in_time():
    output = Mean(OUTPUT_PRIOR)
    assert output.value == OUTPUT_PRIOR
    output.learn(100)
    assert output.value == 100
    for _ in range(KEPT):
        output.learn(300)
    assert output.value == 300
