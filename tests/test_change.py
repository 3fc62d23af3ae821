"""What changed since the month before, and why: causes that are the whole change."""

from fractions import Fraction
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from analytics.change import change, effects
from analytics.render import change as printed

HOUR, NANO, KWH = 3_600 * 10**9, 10**9, 3_600 * 10**9


def month(name: str = "2026-10", **changes: Any) -> dict[str, Any]:
    """A month by hand: 8 of capital and 10 kWh at 0.20 for four card-hours, a quarter of them
    busy, 2.5 million output tokens: 4 per million."""
    told: dict[str, Any] = {
        "period": {"name": name, "provisional": False},
        "currency": "USD",
        "at_least": [],
        "capacity_ns": 4 * HOUR,
        "layers": {"hours": 0.5, "occupancy": 0.5},
        "energy_uj": {"cards": 6 * KWH, "host": 4 * KWH},
        "tokens": {"output": 2_500_000},
        "quality": {"missing_output": 0, "unpriced_energy_uj": 0, "unmetered_ns": 0},
    }
    cost = {"capital": 8 * NANO, "energy": 2 * NANO, "other": 0}
    cost |= {name: changes.pop(name) for name in list(cost) if name in changes}
    told.update(changes)
    total, tokens = sum(cost.values()), told["tokens"]["output"]
    price = None if not tokens else (2 * total * 10**6 + tokens) // (2 * tokens)
    return {
        **told,
        "cost_nano": {"total": total, **cost},
        "cost_per_mtok": {"full": {"output": price}},
    }


def causes(told: dict[str, Any], kind: str) -> dict[str, int]:
    """The causes that did something."""
    unit = {"price": "nano_per_mtok", "cost": "nano"}[kind]
    return {cause["name"]: cause[unit] for cause in told[kind]["causes"] if cause[unit]}


def test_energy_that_neither_card_nor_wall_told_is_not_split_into_draw_and_price() -> None:
    """Half the cost of energy, at the same tokens: of what was drawn only the host's is known."""
    before, now = (
        month(name, energy=nano, energy_uj={"cards": None, "host": 4 * KWH},
              quality={"missing_output": 0, "unpriced_energy_uj": 0, "unmetered_ns": unmetered})
        for name, nano, unmetered in (("2026-09", 2 * NANO, HOUR), ("2026-10", NANO, HOUR))
    )  # fmt: skip
    assert causes(change(now, before), "cost") == {"energy": -NANO}
    walled = {"missing_output": 0, "unpriced_energy_uj": 0, "unmetered_ns": 0}
    before, now = ({**each, "quality": walled} for each in (before, now))
    assert causes(change(now, before), "cost") == {"energy_price": -NANO}


def test_the_electricity_of_a_month_that_told_none_is_unknown_and_not_nothing() -> None:
    """As of a month whose hardware was declared before anything watched it."""
    unmetered = {"missing_output": 0, "unpriced_energy_uj": 0, "unmetered_ns": HOUR}
    untold = {"cards": None, "host": None}
    silent = month("2026-09", energy=0, energy_uj=untold, quality=unmetered)
    found = change(month(), silent)
    for kind in ("cost", "price"):
        (energy,) = (each for each in found[kind]["causes"] if each["name"] == "energy")
        assert energy["old"] is None
        assert energy["new"] is not None
        assert printed.factors(energy).startswith("unknown → ")


def test_twice_the_hours_is_told_as_hours() -> None:
    """Twice the tokens in twice the hours at the same cost: 4 becomes 2 per million."""
    told = change(month("2026-11", layers={"hours": 1.0, "occupancy": 0.5},
                        tokens={"output": 5_000_000}), month())  # fmt: skip
    assert told["month"] == "2026-10"
    assert told["price"]["change_nano_per_mtok"] == -2 * NANO
    assert causes(told, "price") == {"hours": -2 * NANO}
    assert causes(told, "cost") == {}


def test_energy_is_amount_and_price_each_at_the_mean_of_the_other() -> None:
    """10 kWh at 0.20 becomes 20 at 0.30: 10 more at 0.25 is 2.50, 0.10 more on 15 is 1.50."""
    after = month("2026-11", energy=6 * NANO, energy_uj={"cards": 15 * KWH, "host": 5 * KWH})
    told = change(after, month())
    assert causes(told, "cost") == {"energy_drawn": 2_500_000_000, "energy_price": 1_500_000_000}
    # Over the same 2.5 million tokens, and the same hours.
    assert causes(told, "price") == {"energy_drawn": NANO, "energy_price": 600_000_000}
    drawn = next(each for each in told["price"]["causes"] if each["name"] == "energy_drawn")
    # 10 kWh in four card-hours are 2,500 W a card.
    assert (drawn["old"], drawn["new"], drawn["unit"]) == (2500.0, 5000.0, "watts per card")


def test_the_price_of_energy_is_the_one_at_the_wall() -> None:
    """10 kWh behind a supply of 80 % are 12.5 at the wall, at 0.16 and then at 0.24."""
    told = {"cards": 6 * KWH, "host": 4 * KWH, "billed": 25 * KWH // 2}
    before, after = (
        month(name, energy=nano, energy_uj=told)
        for name, nano in (("2026-10", 2 * NANO), ("2026-11", 3 * NANO))
    )
    price = next(
        each for each in change(after, before)["cost"]["causes"] if each["name"] == "energy_price"
    )
    assert (price["old"], price["new"], price["nano"]) == (0.16, 0.24, NANO)


def test_a_longer_month_changes_no_price() -> None:
    """A quarter more of everything: hours of the cards, cost, energy and tokens."""
    after = month("2026-11", capital=10 * NANO, energy=2_500_000_000, capacity_ns=5 * HOUR,
                  energy_uj={"cards": 8 * KWH, "host": KWH * 9 // 2},
                  tokens={"output": 3_125_000})  # fmt: skip
    told = change(after, month())
    assert told["price"]["change_nano_per_mtok"] == 0
    assert causes(told, "price") == {}
    assert causes(told, "cost") == {"capital": 2 * NANO, "energy_drawn": 500_000_000}


def test_a_new_peak_rate_is_no_cause() -> None:
    """Throughput is tokens per busy second of a card, whatever its peak: 2.5 million in an hour."""
    told = change(month("2026-11", tokens={"output": 5_000_000}), month())
    assert causes(told, "price") == {"throughput": -2 * NANO}
    found = next(each for each in told["price"]["causes"] if each["name"] == "throughput")
    assert (found["old"], found["unit"]) == (2_500_000 / 3600, "tokens per second")


def test_energy_that_is_not_all_known_is_one_part() -> None:
    for unknown in (
        {"energy_uj": {"cards": 6 * KWH, "host": None}},
        {"energy_uj": {"cards": 0, "host": 0}},
        {"quality": {"missing_output": 0, "unpriced_energy_uj": 1, "unmetered_ns": 0}},
        {"quality": {"missing_output": 0, "unpriced_energy_uj": 0, "unmetered_ns": 1}},
    ):
        told = change(month("2026-11", energy=3 * NANO), month(**unknown))
        assert causes(told, "cost") == {"energy": NANO}
        assert causes(told, "price") == {"energy": 400_000_000}


def test_tokens_without_layers_are_tokens() -> None:
    idle = month("2026-11", layers={"hours": 0.0, "occupancy": None}, tokens={"output": 1_250_000})
    assert causes(change(idle, month()), "price") == {"tokens": 4 * NANO}


def test_what_cannot_be_compared_says_why() -> None:
    silent = month("2026-11", tokens={"output": None})
    for told in (change(silent, month()), change(month(), silent)):
        assert told["price"] is None
        assert told["cost"]["change_nano"] == 0
        assert told["why_none"] == "no output tokens are known of 2026-11"
    other = change(month("2026-11"), month() | {"currency": "EUR"})
    assert (other["price"], other["cost"]) == (None, None)
    assert other["why_none"] == "2026-10 is in EUR"


def test_a_comparison_that_is_less_than_whole_is_noted() -> None:
    after = month("2026-11", period={"name": "2026-11", "provisional": True})
    counted = {"missing_output": 2, "unpriced_energy_uj": 0, "unmetered_ns": 0}
    before = month(at_least=["x"], quality=counted)
    assert change(after, before)["notes"] == [
        "the cost of 2026-10 is only known in part",
        "2 requests of 2026-10 told no output",
        "2026-11 still runs: its cost is that so far",
    ]


amounts = st.integers(-(10**13), 10**14)
ratios = st.floats(1e-6, 1.0)
months = st.builds(
    month,
    st.just("2026-11"),
    capital=amounts,
    energy=amounts,
    other=amounts,
    capacity_ns=st.integers(0, 10**17),
    layers=st.fixed_dictionaries({"hours": ratios, "occupancy": ratios | st.none()}),
    energy_uj=st.fixed_dictionaries(
        {"cards": st.integers(0, 10**14), "host": st.integers(0, 10**14) | st.none()}
    ),
    tokens=st.fixed_dictionaries({"output": st.integers(1, 10**11)}),
)


@given(months, months)
def test_causes_add_up_to_the_change_to_the_unit(
    after: dict[str, Any], old: dict[str, Any]
) -> None:
    told = change(after, old)
    total = after["cost_nano"]["total"] - old["cost_nano"]["total"]
    assert sum(causes(told, "cost").values()) == told["cost"]["change_nano"] == total
    prices = [each["cost_per_mtok"]["full"]["output"] for each in (old, after)]
    moved = told["price"]["change_nano_per_mtok"]
    assert sum(causes(told, "price").values()) == moved == prices[1] - prices[0]
    # A cause is not moved by others: what is the same in both months did nothing.
    same = change(after, {**old, "layers": after["layers"]})
    assert not {"hours", "occupancy"} & causes(same, "price").keys()


factors = st.fixed_dictionaries({n: st.fractions(Fraction(1, 99), 99) for n in "abcd"})


@given(factors, factors)
def test_effects_are_the_difference_and_turn_with_it(
    old: dict[str, Fraction], new: dict[str, Fraction]
) -> None:
    def formula(of: Any) -> Fraction:
        return (of["a"] + of["b"]) / (of["c"] * of["d"])

    there, back = effects(formula, old, new), effects(formula, new, old)
    assert sum(there.values()) == formula(new) - formula(old)
    assert {name: -effect for name, effect in back.items()} == there
