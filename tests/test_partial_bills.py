"""A bill that leaves requests out: a bound, in every figure and verdict that rests on it."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from rig.told_day import NO_INPUT, month, period, rig, shelf

from analytics.bounds import Bound, both, known, over, sign, turned
from analytics.comparison import comparison
from analytics.render import compare, html, report
from analytics.what_if import Change, average_day, figures
from dashboard import compare_words, scenario_words, sentences

BOUNDS: tuple[Bound, ...] = ("exactly", "at least", "at most", "open")


@pytest.fixture(scope="module")
def partial(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The day on which five of ten requests told no input: a bill of at least 20."""
    return month(tmp_path_factory.mktemp("partial"), rig(), *[NO_INPUT] * 5)


def told(text: str) -> list[str]:
    return [" ".join(line.split()) for line in text.splitlines()]


def test_the_price_is_that_of_the_requests_in_the_bill(partial: dict[str, Any]) -> None:
    (entry,) = partial["compare"]
    assert (entry["headline_nano"], entry["headline_bound"]) == (20_000_000_000, "at least")
    # 20 over their own five million tokens out; over all ten it would be half of every price.
    assert entry["headline_nano_per_mtok"] == 4_000_000_000
    assert entry["here_or_there"]["there_nano_per_mtok"] == 4_000_000_000


def test_a_whole_bill_is_over_all_output_as_own_cost_is(tmp_path: Path) -> None:
    (entry,) = month(tmp_path, rig())["compare"]
    assert (entry["headline_nano"], entry["headline_bound"]) == (40_000_000_000, "exactly")
    assert entry["headline_nano_per_mtok"] == 4_000_000_000
    assert entry["savings_full_bound"] == "exactly"
    assert entry["break_even"]["bounds"]["hours_per_day"] == "exactly"


def test_each_axis_is_a_bound_or_holds_as_far_as_known(partial: dict[str, Any]) -> None:
    (entry,) = partial["compare"]
    meet = entry["break_even"]
    # 24.48 without work against 20 less 0.20 an hour; with all requests billed it is 0.62.
    assert Fraction(meet["hours_per_day"]) == pytest.approx(24.48 / 19.80, abs=1e-6)
    assert Fraction(meet["hardware_price"]) == pytest.approx(1461 * (20 - 0.68), abs=1e-3)
    # 24 of capital are more than this bill, whatever a kWh costs; they are less than the whole.
    assert (meet["price_per_kwh"], meet["verdicts"]["price_per_kwh"]) == (None, "never")
    assert meet["bounds"] == {
        "hours_per_day": "at most",
        "utilization": "at most",
        "tokens_per_day": "at most",
        "hardware_price": "at least",
        "price_per_kwh": "open",
        "payback_months": "at most",
    }


@pytest.mark.parametrize(
    ("price", "cheaper", "verdict", "bound"),
    [
        (("1", "3"), "here", "at", "at most"),
        # At least 0.15 against 0.20: the whole bill of 0.30 turns it round.
        (("0.01", "0.02"), None, "never", "open"),
    ],
)
def test_a_verdict_is_called_open_where_the_bound_does_not_decide_it(
    tmp_path: Path, price: tuple[str, str], cheaper: str | None, verdict: str, bound: str
) -> None:
    (entry,) = month(tmp_path, rig(price), *[NO_INPUT] * 5)["compare"]
    assert entry["here_or_there"]["cheaper"] == cheaper
    meet = entry["break_even"]
    assert (meet["verdict"], meet["bounds"]["hours_per_day"]) == (verdict, bound)


def test_report_and_compare_print_the_bounds(tmp_path: Path, partial: dict[str, Any]) -> None:
    lines = told(report.as_text(partial))
    assert "an API same hits, at least 20.00" in lines
    assert "no cache, at least 20.00" in lines
    assert "lost, full, at most 4.68" in lines
    assert "even at 1.24 hours per day, at most" in lines
    assert "5 of 10 requests at an API, same hits" in html.as_html(partial)
    assert "same hits, at least" in html.as_html(partial)
    made = rig()
    found = comparison(shelf(tmp_path, made, *[NO_INPUT] * 5), period(made), ["an API"])
    lines = told(compare.as_text(found))
    assert "per million output tokens 4.0000 of 5 of 10 requests" in lines
    assert "same hits, at least 20.00" in lines
    assert "hours per day, at most 1.24" in lines
    assert "price of a kWh, as far as known never" in lines


def test_the_pages_say_whose_price_it_is_and_what_bounds_it(partial: dict[str, Any]) -> None:
    (sheet,) = partial["compare"]
    assert sentences.api_label(sheet) == "the priced requests at an API"
    assert sentences.even(sheet) == (
        "Even at 1.2 active hours a day, at most, all else as measured."
    )
    assert "at most **4.68 USD less**" in sentences.answer(partial, sheet)
    assert "saved at least **19.8 USD**" in sentences.answer(partial, sheet)
    assert "a bill of at least 20.00 USD" in sentences.elsewhere(partial)
    assert "from at most **1.2** on" in compare_words.even({"here_hours": 1.0}, sheet)
    meet = sheet["break_even"]
    assert compare_words.axis_tile(meet, "hours_per_day", "USD")[:2] == (
        "active hours a day, at most",
        "1.2",
    )
    assert compare_words.axis_tile(meet, "price_per_kwh", "USD")[:2] == (
        "price of a kWh, USD, as far as known",
        "never",
    )
    open_never = sheet | {
        "break_even": meet | {"verdict": "never", "bounds": {"hours_per_day": "open"}}
    }
    assert sentences.even(open_never) == (
        "Not even at 24 active hours a day would the rig be cheaper, all else as measured, as far"
        " as known."
    )
    assert compare_words.even({"here_hours": 1.0}, open_never).endswith(
        "an API costs less, as far as known."
    )


def test_a_what_if_keeps_the_price_and_the_bound(tmp_path: Path) -> None:
    made = rig()
    books = shelf(tmp_path, made, *[NO_INPUT] * 5)
    day = average_day(books, period(made))
    assert day is not None
    (sheet,) = comparison(books, period(made), ["an API"])["sheets"]
    here = figures(day, sheet, Change(hours_per_day=Fraction(2)))
    assert here["bill_nano"] == 40_000_000_000
    assert here["bill_nano_per_mtok"] == 4_000_000_000
    assert here["break_even"]["bounds"]["hours_per_day"] == "at most"
    assert scenario_words.even(here) == "1.2, at most"
    assert figures(day, sheet, Change())["break_even"] == sheet["break_even"]


def test_bounds_add_up_like_intervals() -> None:
    """Against ends of intervals: a bound says which of two ends may move."""
    ends = {"exactly": (0, 0), "at least": (0, 1), "at most": (1, 0), "open": (1, 1)}
    for one in BOUNDS:
        below, above = ends[one]
        assert known(at_least=bool(above), at_most=bool(below)) == one
        assert ends[turned(one)] == (above, below)
        for other in BOUNDS:
            less, more = ends[other]
            assert ends[both(one, other)] == (below | less, above | more)
            assert ends[over(one, other)] == (below | more, above | less)


@pytest.mark.parametrize(
    ("figure", "bound", "way"),
    [
        (7, "exactly", 1),
        (-7, "exactly", -1),
        (0, "exactly", 0),
        (7, "at least", 1),
        (-7, "at least", None),
        (0, "at least", None),
        (7, "at most", None),
        (-7, "at most", -1),
        (7, "open", None),
    ],
)
def test_a_bound_decides_a_sign_or_not(figure: int, bound: Bound, way: int | None) -> None:
    assert sign(figure, bound) == way
