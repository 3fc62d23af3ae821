"""A comparison in words, from figures that are worked out by hand."""

from typing import Any

from analytics.render.compare import as_text

PERIOD = {"name": "2026-10", "time_zone": "UTC", "provisional": False}
MONTH = {"period": PERIOD, "rig": "desk", "currency": "EUR"}
SHEET = {
    "sheet": "an API",
    "currency": "EUR",
    "sheet_currency": "USD",
    "rate": [{"from": "2026-10-06", "rate": "0.9"}],
    "tokenizer_ratio": "1.1",
    "no_cache_nano": 5_000_000_000,
    "same_hits_nano": 3_000_000_000,
    "same_hits_untold": 2,
    "simulated_nano": 2_500_000_000,
    "scenario": "simulated",
    "headline_nano": 2_500_000_000,
    "headline_nano_per_mtok": 1_250_000_000,
    "output_only_nano_per_mtok": 600_000_000,
    "priced_requests": 7,
    "simulated_requests": 5,
    "unpriced_requests": 1,
    "unpriced": [{"why": "input tokens are not known", "requests": 1}],
    "noted": [{"why": "no price for cached input: charged as input", "requests": 4}],
    "savings_full_nano": -7_500_000_000,
    "savings_full_bound": "at least",
    "savings_marginal_nano": 2_000_000_000,
    "savings_marginal_bound": "open",
    "here_or_there": {
        "here_nano_per_mtok": 250_000_000,
        "there_nano_per_mtok": 1_250_000_000,
        "cheaper": "here",
    },
    "break_even": {
        "hours_per_day": "8.5",
        "utilization": "0.1234",
        "tokens_per_day": 1_000_000,
        "hardware_price": "1234.5",
        "price_per_kwh": None,
        "payback_months": None,
        "verdicts": {
            "hours_per_day": "at",
            "utilization": "at",
            "tokens_per_day": "at",
            "hardware_price": "at",
            "price_per_kwh": "always",
            "payback_months": None,
        },
    },
}
FOUND: dict[str, Any] = MONTH | {
    "tokens": {"requests": 8, "output": 2_000_000, "input": 9_000_000, "cache_read": 5_000_000},
    "missing_cached": 2,
    "cost_nano": {"full": 10_000_000_000, "marginal": 500_000_000},
    "at_least": {"full": False, "marginal": True},
    "per_mtok_nano": {"full": 5_000_000_000, "marginal": 250_000_000},
    "per_mtok_bound": {"full": "exactly", "marginal": "at least"},
    "sheets": [SHEET],
    "since_purchase": [
        {
            "sheet": "an API",
            "months": [
                {
                    "month": "2026-09",
                    "bill_nano": None,
                    "bill_bound": None,
                    "full_bound": "at least",
                    "marginal_bound": "exactly",
                    "saved_full_sum_bound": "open",
                    "saved_marginal_sum_bound": "at least",
                    "full_nano": 5_000_000_000,
                    "marginal_nano": 100_000_000,
                    "saved_full_sum_nano": -5_000_000_000,
                    "saved_marginal_sum_nano": -100_000_000,
                },
                {
                    "month": "2026-10",
                    "bill_nano": 2_500_000_000,
                    "bill_bound": "at least",
                    "full_bound": "exactly",
                    "marginal_bound": None,
                    "saved_full_sum_bound": "open",
                    "saved_marginal_sum_bound": "open",
                    "full_nano": 10_000_000_000,
                    "marginal_nano": None,
                    "saved_full_sum_nano": -7_500_000_000,
                    "saved_marginal_sum_nano": None,
                },
            ],
        }
    ],
}
EXPECTED = [
    "desk · 2026-10 · UTC",
    "8 requests · 2,000,000 output tokens · 9,000,000 input tokens, 5,000,000 of them cached, "
    "unknown for 2 requests",
    "Cost here in EUR",
    "full (all cost) 10.00 5.0000 per million output tokens",
    "marginal (electricity beyond idle), at least 0.50 0.2500 per million output tokens, at least",
    "",
    "At an API, in EUR",
    "per million output tokens 1.2500 of 7 of 8 requests",
    "simulated cache, at least 2.50",
    "same hits, at least 3.00",
    "no cache, at least 5.00",
    "lost, full, at most 7.50",
    "saved, marginal, as far as known 2.00",
    "run it here or there, now 0.2500 1.2500 cheaper here",
    "Even, with everything else as measured",
    "hours per day 8.50",
    "utilization 12.3 %",
    "output tokens per day 1,000,000",
    "price of the hardware 1,234.50",
    "price of a kWh always",
    "output-only, as prices are quoted: 0.6000 per million; the bills above are for the input, too",
    "the cache was simulated for 5 of 7 requests; the others told no prefixes and take the hits as"
    " here",
    "one token here counts as 1.1 there",
    "1 USD is 0.9 EUR from 2026-10-06 on, as declared",
    "4 requests: no price for cached input: charged as input",
    "1 request could not be priced: input tokens are not known",
    "",
    "Saved at an API since 2026-09, in EUR",
    "month bill full marginal full, so far marginal, so far",
    "2026-09 unknown 5.00, at least 0.10 -5.00, as far as known -0.10, at least",
    "2026-10 2.50, at least 10.00 unknown -7.50, as far as known unknown",
]


def test_the_whole_answer() -> None:
    assert [" ".join(line.split()) for line in as_text(FOUND).splitlines()] == EXPECTED


NOTHING: dict[str, Any] = dict.fromkeys(SHEET) | {
    "sheet": "an API",
    "same_hits_untold": 0,
    "scenario": "same_hits",
    "unpriced": SHEET["unpriced"],
    "noted": [],
    "here_or_there": {"cheaper": None},
}


def test_without_a_bill_only_the_reasons_are_told() -> None:
    text = as_text(FOUND | {"sheets": [NOTHING], "since_purchase": []})
    assert text.split("\n\n")[1].splitlines() == [
        "At an API, in EUR",
        "  1 request could not be priced: input tokens are not known",
    ]


def test_a_month_that_still_runs_says_so_and_one_without_requests_too() -> None:
    running = FOUND | {"period": PERIOD | {"provisional": True}}
    quiet = NOTHING | {"unpriced": []}
    text = as_text(running | {"sheets": [quiet], "since_purchase": []})
    assert text.startswith("desk · 2026-10 · UTC · provisional, still running\n")
    assert text.split("\n\n")[1].splitlines() == [
        "At an API, in EUR",
        "  nothing was asked of it in this period",
    ]
