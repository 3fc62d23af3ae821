"""Numbers and figures in words: rounding, signs, and what is unknown."""

from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rig import overview_example as example

from dashboard import charts, sentences, words

NANO = 1_000_000_000
ZONE = ZoneInfo(example.ZONE)


@pytest.mark.parametrize(
    ("nano", "text"),
    [
        (4_466_987_000, "4.47"),
        (932_100_000, "0.932"),
        (41_700_000, "0.0417"),
        (412_300_000_000, "412"),
        (17_000 * NANO, "17,000"),
        (1_234_500_000_000, "1,230"),
        (999_600_000_000, "1,000"),
        (9_996_000_000, "10.0"),
        (0, "0.00"),
        (-412_300_000_000, "−412"),
        (None, "unknown"),
    ],
)
def test_headlines_have_three_significant_digits(nano: int | None, text: str) -> None:
    assert words.headline(nano) == text


@pytest.mark.parametrize(
    ("nano", "text"),
    [(80_000_000, "0.08"), (160_836, "less than 0.01"), (0, "0.00"), (None, "unknown")],
)
def test_amounts_in_sentences(nano: int | None, text: str) -> None:
    assert words.amount(nano) == text


@given(st.lists(st.integers(-(10**13), 10**13), min_size=1, max_size=9))
def test_printed_parts_add_up_to_their_printed_sum(amounts: list[int]) -> None:
    printed = [text.replace(",", "").replace("−", "-") for text in words.parts(amounts, 2)]
    in_cents = [round(float(text) * 100) for text in printed]
    assert sum(in_cents) == round(sum(amounts) / 10**7)
    for cents, amount in zip(in_cents, amounts, strict=True):
        assert abs(cents * 10**7 - amount) < 10**7


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (5, "5 s"),
        (59.6, "1 min"),
        (900, "15 min"),
        (27_000, "7 h 30 min"),
        (47 * 3600, "47 h"),
        (12 * 86_400 + 4 * 3600, "12 d 4 h"),
    ],
)
def test_spans(seconds: float, text: str) -> None:
    assert words.span(round(seconds * NANO)) == text


@pytest.mark.parametrize(
    ("ratio", "text"),
    [(0.0826, "8.3 %"), (0.564, "56 %"), (0.0042, "0.42 %"), (0.0, "0 %"), (None, "unknown")],
)
def test_shares(ratio: float | None, text: str) -> None:
    assert words.share(ratio) == text


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (1, "1 request"),
        (41_207, "41,207 requests"),
        (78_240_000, "78.2 million requests"),
        (999_999, "999,999 requests"),
        (1_000_000, "1 million requests"),
        (999_400_000, "999 million requests"),
        (999_800_000, "1 billion requests"),
        (1_234_000_000_000, "1,230 billion requests"),
    ],
)
def test_counts(number: int, text: str) -> None:
    assert words.count(number, "request") == text


@pytest.mark.parametrize(
    ("per_second", "text"), [(1364.6, "1,365"), (42.4, "42"), (3.94, "3.9"), (0.083333, "0.083")]
)
def test_rates(per_second: float, text: str) -> None:
    assert words.rate(per_second) == text


def sheet(full: int, marginal: int | None) -> dict[str, Any]:
    told = example.month()["compare"][0]
    return (
        told
        | {"savings_full_nano": full * NANO, "savings_full_bound": "exactly"}
        | {"savings_marginal_bound": "exactly", "priced_requests": 41_207, "unpriced_requests": 0}
        | {"savings_marginal_nano": None if marginal is None else marginal * NANO}
    )


@pytest.mark.parametrize(
    ("full", "marginal", "ending"),
    [
        (-412, 37, "**412 USD less** than the rig did. Now that it is bought, running them here "
                   "saved **37.0 USD**."),
        (-412, -3, "**412 USD less** than the rig did. Now that it is bought, running them here "
                   "cost **3.00 USD too much**."),
        (80, 90, "**80.0 USD more** than the rig did. Against its electricity alone, running "
                 "them here saved **90.0 USD**."),
        (-412, None, "**412 USD less** than the rig did."),
    ],
)  # fmt: skip
def test_the_answer_says_who_was_cheaper(full: int, marginal: int | None, ending: str) -> None:
    told = sentences.answer(example.month(), sheet(full, marginal))
    assert told.endswith(ending)


@pytest.mark.parametrize(
    ("meet", "told"),
    [
        (None, None),
        ({"verdict": None, "hours_per_day": None}, None),
        (
            {"verdict": "at", "hours_per_day": "7.04"},
            "Even at 7.0 active hours a day, all else as measured.",
        ),
        (
            {"verdict": "at", "hours_per_day": "7.04", "bounds": {"hours_per_day": "at most"}},
            "Even at 7.0 active hours a day, at most, all else as measured.",
        ),
        (
            {"verdict": "never", "hours_per_day": None},
            "Not even at 24 active hours a day would the rig be cheaper, all else as measured.",
        ),
    ],
)
def test_the_break_even_is_told_in_hours(meet: dict[str, Any] | None, told: str | None) -> None:
    assert sentences.even(sheet(-412, 37) | {"break_even": meet}) == told


def test_a_simulated_cache_is_named_and_what_has_no_price_too() -> None:
    entry = sheet(-412, 37)
    assert sentences.api_label(entry) == "the same requests at DeepSeek V4.1-Flash, off-peak"
    simulated = sentences.api_label(entry | {"scenario": "simulated"})
    assert simulated == "the same requests at DeepSeek V4.1-Flash, off-peak (simulated cache)"
    assert sentences.unpriced(entry) is None
    some = entry | {"priced_requests": 41_195, "unpriced_requests": 12}
    assert str(sentences.unpriced(some)).startswith("12 requests could not be priced")
    name = "DeepSeek V4.1-Flash, off-peak"
    assert sentences.api_label(some) == f"the priced requests at {name}"
    assert sentences.whose(some) == f"41,195 of 41,207 requests at {name}"
    assert sentences.whose(entry) == "DeepSeek V4.1-Flash, off-peak"
    none = entry | {"priced_requests": 0, "unpriced_requests": 12}
    assert sentences.api_label(none).startswith("the same requests at ")


def test_where_names_the_largest_step() -> None:
    month = example.month()
    told = sentences.where(month["waterfall_nano_per_mtok"], month["currency"])
    assert told == "Of 4.47 USD, 3.72 (83 %) passed while nobody used the rig."


def test_the_largest_step_is_told_as_its_bar_is() -> None:
    # 0.004 + 0.004 + 3.496 = 3.504, printed 3.50: cut to cents the bars lack one; 3.496 lost most.
    # 0.006 + 0.006 + 3.495 = 3.507, printed 3.51: they lack two; both small ones lost more.
    for small, large, printed in ((4, 3_496, "3.50"), (6, 3_495, "3.49")):
        amounts = {"at_peak": small, "below_peak": small, "idle": large}
        steps = [{"step": k, "nano_per_mtok": v * 10**6} for k, v in amounts.items()]
        assert f", {printed} (" in sentences.where(steps, "USD")
        assert charts.waterfall_rows(steps)[2]["text"] == printed


@pytest.mark.parametrize(
    ("nano", "told"),
    [
        (4_470_000_000, "4.47"),
        (99_949 * 10**9, "99,900"),
        (407_400 * 10**9, "407k"),
        (-40_575_727 * 10**9, "−40.6M"),
        (1_234 * 10**15, "1.23B"),
        (99_949_999 * 10**6, "99,900"),
        (99_960 * 10**9, "100k"),
        (999_499 * 10**9, "999k"),
        (999_999 * 10**9, "1M"),
        (-999_999 * 10**9, "−1M"),
        (9_996_000 * 10**9, "10M"),
        (999_950_000 * 10**9, "1B"),
    ],
)
def test_large_amounts_are_brief_where_there_is_little_room(nano: int, told: str) -> None:
    assert words.brief(nano) == told


@given(st.integers(0, 20), st.integers(-9, 9), st.sampled_from([-1, 1]))
def test_no_brief_amount_has_a_thousand_of_its_unit(power: int, step: int, sign: int) -> None:
    """Around each edge, by a little less than what rounds to it and more than what does not."""
    nano = sign * (10**power + step * 10**power // 2000)
    told = words.brief(nano).lstrip("−")
    if told[-1] in "kMB":
        assert 1 <= float(told[:-1]) < 1000
    else:
        assert float(told.replace(",", "")) < 100_000


def test_layers_say_what_lowered_them() -> None:
    month = example.month()
    assert sentences.layer("hours", month) == (
        "Of 2,062 h of card time: 1,772 h idle, 110 h off, 8.0 h in other use, 2.0 h unknown."
    )
    assert "stood ready for 71.0 h and stranded for 3.2 h" in sentences.layer("occupancy", month)
    assert "365 tokens per second a card" in sentences.layer("throughput", month)
    high = example.month(layers=month["layers"] | {"throughput": 1.2})
    assert sentences.layer("throughput", high).endswith("that peak was set too low.")
    none = example.month(
        layers={"hours": None, "occupancy": None, "throughput": None, "peak": {}}, capacity_ns=0
    )
    for name in ("hours", "occupancy", "throughput"):
        assert sentences.layer(name, none).startswith("No ")


def test_the_stranded_episode_has_cards_time_and_price() -> None:
    names = {"GPU-a": "card0", "GPU-b": "card1", "GPU-c": "card2"}
    day, month = "2026-11-29", example.month()
    one = "14:00, for 15 min: requests queued on card0 while card1 and card2 stood by, 0.08 USD."
    assert sentences.stranded(month, day, names, ZONE) == one
    episodes = month["routing"]["herding"]["episodes"]
    episodes += [example.episode(cost_nano=1), example.episode(example.DAY_NS - example.HOUR)]
    assert sentences.stranded(month, day, names, ZONE) == f"{one} 1 cheaper episode that day."
    none = "No request waited 10 s or longer while a card of its pool stood by."
    assert sentences.stranded(month, "2026-11-27", names, ZONE) == none


def test_names_cannot_become_markup() -> None:
    assert sentences.plain("a_b*[x](y)") == r"a\_b\*\[x\](y)"


def test_the_cost_sentence_tells_other_costs_where_there_are_any() -> None:
    parts = {"capital": 1000 * NANO, "energy": 200 * NANO, "other": NANO // 2}
    month = example.month(at_least=[], cost_nano={"total": sum(parts.values()), **parts})
    told = sentences.cost(month, hardware=True, electricity=True)
    assert "**1,200.50 USD**" in told
    assert told.endswith(": 1,000.00 hardware, 200.00 electricity and 0.50 other costs.")
