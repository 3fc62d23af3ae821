"""Prices and costs of which a part is not known: which side that leaves open, said everywhere."""

import datetime as dt
from pathlib import Path
from typing import Any

import pytest
from rig.ledger import START, attempt, heartbeats, ledger
from rig.told_day import BOX, NO_INPUT, NO_OUTPUT, NOW, month, period, rig, shelf

from analytics.comparison import comparison
from analytics.price_bounds import bound_of
from analytics.render import compare, html, report, table
from analytics.savings import since_purchase
from analytics.shelf import Shelf
from collector.clock import SECOND_NS
from collector.settings import Electricity
from dashboard import compare_words, sentences

NO_HOST = [Electricity(from_=dt.date(2026, 10, 5), price_per_kwh="0.20")]
HALF = {"ttft_ns": 180 * SECOND_NS}


def told(text: str) -> list[str]:
    return [" ".join(line.split()) for line in text.splitlines()]


def near(nano: int) -> Any:
    """Within what energies round to."""
    return pytest.approx(nano, abs=20)


def test_a_price_over_tokens_that_some_did_not_tell_is_at_most(tmp_path: Path) -> None:
    """Half of the hour is prefill: 0.50 of capital, and 0.11 of energy, for ten million tokens, of
    which five are told."""
    found = month(tmp_path, rig(), *[NO_INPUT] * 5, **HALF)
    active, full = found["cost_per_mtok"]["active"], found["cost_per_mtok"]["full"]
    bounds = found["cost_per_mtok_bound"]
    assert active["by_kind"]["new"] == near(122_000_000)
    assert bounds["active"]["by_kind"] == {
        "new": "at most",
        "recomputed": None,
        "output": "exactly",
    }
    assert full["all"] == near(24_680_000_000 // 15)
    assert (bounds["full"]["all"], bounds["full"]["output"]) == ("at most", "exactly")
    assert found["quality"]["missing_input"] == 5
    assert any(flag.startswith("5 requests ended without an input count") for flag in
               found["quality"]["flags"])  # fmt: skip
    head = report.as_text(found).splitlines()[2]
    assert "10,000,000 output tokens · at least 5,000,000 input tokens" in head
    assert "cost_per_mtok_bound,,full.all,at most," in table.as_table(found).replace("\r", "")


def test_where_all_is_told_every_price_is_exact(tmp_path: Path) -> None:
    found = month(tmp_path, rig(), **HALF)
    assert found["cost_per_mtok"]["active"]["by_kind"]["new"] == near(61_000_000)
    assert found["cost_per_mtok"]["full"]["all"] == near(1_234_000_000)
    for bounds in found["cost_per_mtok_bound"].values():
        assert (bounds["output"], bounds["all"]) == ("exactly", "exactly")
        assert bounds["by_kind"]["new"] == bounds["by_kind"]["output"] == "exactly"
    assert "· 10,000,000 input tokens" in report.as_text(found).splitlines()[2]


def test_without_any_input_there_is_no_price_of_all_tokens(tmp_path: Path) -> None:
    found = month(tmp_path, rig(), *[NO_INPUT] * 10)
    assert found["cost_per_mtok"]["full"]["all"] is None
    assert found["cost_per_mtok_bound"]["full"]["all"] is None


@pytest.mark.parametrize(
    ("tables", "bound", "head", "row"),
    [
        (
            {},
            "at most",
            "at most 3.0850 USD per million output tokens (2 requests told no output)",
            "full, at most (all cost) 3.0850",
        ),
        (
            {"electricity": NO_HOST},
            "open",
            "3.0850 USD per million output tokens, as far as cost and tokens are known"
            " (2 requests told no output)",
            "full, as far as known (all cost) 3.0850",
        ),
    ],
)
def test_untold_output_bounds_every_price(
    tmp_path: Path, tables: dict[str, Any], bound: str, head: str, row: str
) -> None:
    """24.68 over the eight million tokens that were told."""
    made = rig(**tables)
    books = shelf(tmp_path, made, *[NO_OUTPUT] * 2)
    found = month(tmp_path, made)
    assert found["cost_per_mtok_bound"]["full"]["output"] == bound_of(found, "full") == bound
    del found["cost_per_mtok_bound"]  # as in a month that was closed before there was one
    assert bound_of(found, "full") == bound
    lines = told(report.as_text(found))
    assert head in lines
    assert row in lines
    assert "8,000,000 output tokens" in lines[2]
    assert "at least 8,000,000 output tokens" in lines[2]
    words = {"at most": "(at most)", "open": "(as far as known)"}[bound]
    assert f"USD per million output tokens {words}" in html.as_html(found)
    lines = told(compare.as_text(comparison(books, period(made), ["an API"])))
    side = {"at most": ", at most", "open": ", as far as known"}[bound]
    assert any(f"3.0850 per million output tokens{side}" in line for line in lines)


def test_a_part_of_the_cost_that_is_known_in_part_says_so(tmp_path: Path) -> None:
    found = month(tmp_path, rig(electricity=NO_HOST))
    assert found["parts_at_least"] == ["energy"]
    lines = told(report.as_text(found))
    assert "hardware 24.00" in lines
    assert "electricity, at least 0.68" in lines
    assert "total, at least 24.68" in lines
    (sheet,) = found["compare"]
    # A bill of 40 against at least 24.68: at most 15.32 saved.
    assert "cost at most **15.3 USD more**" in sentences.answer(found, sheet)
    assert "the rig cost at least 24.68" in sentences.elsewhere(found)


def test_nothing_is_at_least_where_all_is_known(tmp_path: Path) -> None:
    made = rig()
    found = month(tmp_path, made)
    assert found["parts_at_least"] == []
    assert "at least" not in report.as_text(found)


def test_months_with_unwatched_time_bound_the_payback(tmp_path: Path) -> None:
    """Watched from 5 to 6 October and not in November: nobody knows what was run then."""
    made = rig()
    books = ledger(tmp_path, [attempt("r", 0, 360, input_tokens=10**6, output_tokens=10**6),
                              *heartbeats(0, 86_400, ["on-A"])])  # fmt: skip
    (line,) = since_purchase(Shelf(books, made, NOW), ["an API"])
    october, november = line["months"]
    assert (october["bill_nano"], october["bill_bound"]) == (4_000_000_000, "at least")
    assert (november["requests"], november["bill_nano"], november["bill_bound"]) == (0, None, None)
    assert november["marginal_nano"] is None
    assert november["saved_full_sum_bound"] == "open"
    lines = told(compare.as_text(comparison(Shelf(books, made, NOW), period(made), ["an API"])))
    (row,) = [line for line in lines if line.startswith("2026-10 4.00")]
    assert row.startswith("2026-10 4.00, at least")
    assert BOX.price == "35064"


def test_a_day_that_was_watched_throughout_is_booked_exactly(tmp_path: Path) -> None:
    made = rig()
    end = START + 16 * 3600 * SECOND_NS
    books = shelf(tmp_path, made)
    (line,) = since_purchase(Shelf(books.ledger, made, end), ["an API"])
    (only,) = line["months"]
    assert (only["bill_nano"], only["bill_bound"]) == (40_000_000_000, "exactly")
    assert only["full_bound"] == only["marginal_bound"] == "exactly"
    assert only["saved_full_sum_bound"] == only["saved_marginal_sum_bound"] == "exactly"
    assert only["marginal_nano"] == near(200_000_000)


def test_marginal_cost_in_a_sentence_has_its_bound() -> None:
    found = {
        "currency": "USD",
        "cost_nano": {"full": 10**10, "marginal": 2 * 10**8},
        "at_least": {"full": False, "marginal": True},
    }
    sheet = {
        "sheet": "an API",
        "headline_nano": 10**9,
        "unpriced_requests": 0,
        "scenario": "same_hits",
    }
    assert "at least 0.20 of it electricity" in compare_words.answer(found, sheet)
