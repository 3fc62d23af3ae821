"""The largest remainder keeps every unit, also of negative amounts."""

from collections import defaultdict

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analytics.allocate import divided, largest_remainder

AMOUNT = st.integers(-(10**18), 10**18)
WEIGHTS = st.lists(st.integers(0, 9 * 10**11), min_size=1, max_size=12).filter(any)
GROUPS = st.lists(st.tuples(AMOUNT, WEIGHTS), min_size=1, max_size=5)


def frame(groups: list[tuple[int, list[int]]]) -> pl.DataFrame:
    rows = [
        (group, amount, weight, place)
        for group, (amount, weights) in enumerate(groups)
        for place, weight in enumerate(weights)
    ]
    columns = {"group": pl.Int64, "amount": pl.Int64, "weight": pl.Int64, "place": pl.Int64}
    return pl.DataFrame(rows, schema=columns, orient="row")


def split(rows: pl.DataFrame) -> list[int]:
    shares = largest_remainder(
        rows, amount="amount", weight="weight", by=["group"], order=["place"]
    )
    return shares.to_list()


@given(GROUPS)
def test_shares_sum_to_the_amount_and_stay_within_a_unit(groups: list) -> None:
    rows = frame(groups)
    shares = split(rows)
    totals: dict[int, int] = defaultdict(int)
    for (group, amount, weight, _), share in zip(rows.iter_rows(), shares, strict=True):
        totals[group] += share
        whole = sum(groups[group][1])
        assert amount * weight // whole <= share <= amount * weight // whole + 1
    assert [totals[group] for group in range(len(groups))] == [amount for amount, _ in groups]


@given(GROUPS, st.randoms())
def test_the_order_of_rows_changes_nothing(groups: list, dice: object) -> None:
    rows = frame(groups).with_columns(share=pl.Series(split(frame(groups)), dtype=pl.Int64))
    places = list(range(len(rows)))
    dice.shuffle(places)  # type: ignore[attr-defined]
    shuffled = rows[places]
    assert split(shuffled) == shuffled["share"].to_list()


def test_ties_go_by_order_and_a_unit_is_never_invented() -> None:
    assert split(frame([(2, [1, 1, 1])])) == [1, 1, 0]
    assert split(frame([(-1, [1, 1])])) == [0, -1]
    assert split(frame([(100, [1, 2])])) == [33, 67]


def test_money_without_a_place_is_refused() -> None:
    with pytest.raises(ValueError, match="no weight"):
        split(frame([(1, [0, 0])]))


@given(st.integers(1, 2**62), st.data())
def test_a_floor_and_its_rest_are_exact_however_large(whole: int, data: st.DataObject) -> None:
    weight = data.draw(st.integers(0, whole))
    amount = data.draw(st.integers(-(2**62), 2**62))
    found = divided(*(np.array([value]) for value in (amount, weight, whole)))
    assert tuple(int(part[0]) for part in found) == divmod(amount * weight, whole)
