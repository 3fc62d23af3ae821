"""The month as Markdown: the text report's words, tables that hold, names that stay names."""

import re
from typing import Any

import pytest

from analytics.render.markdown import as_markdown
from analytics.render.report import as_text

HOUR = 3_600 * 10**9
NANO = 10**9

QUALITY = {"flags": [], "missing_output": 0, "missing_cached": 0}


def month(**changes: Any) -> dict[str, Any]:
    """A month by hand: 10 for four card-hours, 2.5 million output tokens."""
    told: dict[str, Any] = {
        "period": {"name": "2026-10", "time_zone": "UTC", "provisional": False},
        "rig": "desk",
        "currency": "USD",
        "cost_nano": {"total": 10 * NANO, "capital": 8 * NANO, "energy": 2 * NANO, "other": 0},
        "at_least": [],
        "marginal_at_least": False,
        "unattributed_cost_nano": 0,
        "unallocated_cost_nano": 0,
        "capacity_ns": 4 * HOUR,
        "states_ns": {"busy": 1 * HOUR, "idle": 3 * HOUR, "off": 0},
        "states_cost_nano": {"busy": 4 * NANO, "idle": 6 * NANO, "off": 0, "unassigned": 0},
        "tokens": {
            "requests": 7,
            "attempts": 8,
            "input": 9_000,
            "cache_read": 1_000,
            "output": 2_500_000,
        },
        "cost_per_mtok": {
            "full": {"output": 4 * NANO},
            "active": {"output": 1_600_000_000},
            "marginal": {"output": None},
        },
        "waterfall_nano_per_mtok": [
            {"step": "at_peak", "nano_per_mtok": 1_600_000_000},
            {"step": "below_peak", "nano_per_mtok": 0},
            {"step": "idle", "nano_per_mtok": 2_400_000_000},
        ],
        "layers": {
            "hours": 0.5,
            "occupancy": 0.5,
            "throughput": None,
            "peak": {"GPU-a": {"tokens_per_second": 100.0, "source": "declared", "from": None}},
        },
        "active_gap": {
            name: {"gap_ns": HOUR // of, "headroom_ns": 0, "idle_ns": 3 * HOUR}
            for name, of in (("half", 8), ("twice", 2))
        },
        "groups": {
            "project": [
                {
                    "name": "agent",
                    "groups": 1,
                    "requests": 7,
                    "busy_cost_nano": 4 * NANO,
                    "full_cost_nano": 10 * NANO,
                }
            ]
        },
        "compare": [
            {
                "sheet": "an API",
                "simulated_nano": 2 * NANO,
                "same_hits_nano": 3 * NANO,
                "same_hits_untold": 0,
                "no_cache_nano": 5 * NANO,
                "headline_nano": 2 * NANO,
                "savings_full_nano": -7 * NANO,
                "savings_full_bound": "at least",
                "savings_marginal_nano": None,
                "savings_marginal_bound": None,
                "break_even": {
                    "verdict": "at",
                    "hours_per_day": "7.25",
                    "verdicts": {"hours_per_day": "at"},
                    "bounds": {"hours_per_day": "at most"},
                },
                "priced_requests": 5,
                "unpriced_requests": 2,
                "unpriced": [{"why": "input tokens are not known", "requests": 2}],
            }
        ],
        "quality": {
            "missing_output": 0,
            "missing_cached": 0,
            "flags": [],
        },
    }
    told.update(changes)
    return told


EXPECTED = """\
# desk · 2026-10 · UTC

4.0000 USD per million output tokens, everything included

7 requests · 2,500,000 output tokens · 9,000 input tokens, 1,000 of them cached

## Cost in USD

|  |  |
| --- | ---: |
| hardware | 8.00 |
| electricity | 2.00 |
| total | 10.00 |

## Per million output tokens

|  |  |
| --- | ---: |
| full (all cost) | 4.0000 |
| active (busy share) | 1.6000 |
| marginal (electricity beyond idle) | unknown |

## Where it went, per million output tokens

|  |  |
| --- | ---: |
| at peak | 1.6000 |
| idle | 2.4000 |
| = | 4.0000 |

## Card-hours, and what they cost in USD

|  |  |  |
| --- | ---: | ---: |
| busy | 1.00 h | 4.00 |
| idle | 3.00 h | 6.00 |
| = | 4.00 h | 10.00 |

## Layers: hours × occupancy × throughput × what the cards could do = output tokens

|  |  |  |
| --- | ---: | ---: |
| hours | 50.0 % |  |
| occupancy | 50.0 % |  |
| throughput | unknown |  |
| peak of GPU-a | 100.0 tok/s | declared |

## By project, in USD: busy cost, and full cost with its share of the rest

|  |  |  |  |
| --- | ---: | ---: | ---: |
| agent | 7 requests | 4.00 | 10.00 |
| = |  | 4.00 | 10.00 |

## The same requests at API prices, in USD

|  |  |  |
| --- | ---: | ---: |
| an API | simulated cache, at least | 2.00 |
|  | same hits, at least | 3.00 |
|  | no cache, at least | 5.00 |
|  | lost, full, at most | 7.00 |
|  | even at | 7.25 hours per day, at most |
|  | 2 requests could not be priced | input tokens are not known |

## To doubt

- nothing that the books can see"""


def test_the_whole_page() -> None:
    assert as_markdown(month()) == EXPECTED


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("a|b", r"a\|b"),
        ("a\nb", "a b"),
        ("*bold* _it_ `code`", r"\*bold\* \_it\_ \`code\`"),
        ("<script>", r"\<script\>"),
        ("[x](http://x)", r"\[x\](http://x)"),
        (r"back\|slash", r"back\\\|slash"),
    ],
)
def test_names_stay_names(name: str, shown: str) -> None:
    project = {"name": name, "requests": 1, "busy_cost_nano": 0, "full_cost_nano": 0}
    page = as_markdown(month(rig=name, groups={"project": [project]}))
    assert page.startswith(f"# {shown} · 2026-10")
    assert f"| {shown} | 1 request | 0.00 | 0.00 |" in page.splitlines()


def test_every_table_is_whole() -> None:
    """Rows of one table have the same number of cells, also with borders in the names."""
    projects = [
        {"name": f"p|{n}", "groups": 1, "requests": n, "busy_cost_nano": 0, "full_cost_nano": 0}
        for n in range(12)
    ]
    page = as_markdown(month(groups={"project": projects}))
    tables = [chunk.splitlines() for chunk in page.split("\n\n") if chunk.startswith("|")]
    assert len(tables) == 7
    for rows in tables:
        assert len({len(re.findall(r"(?<!\\)\|", row)) for row in rows}) == 1
        assert re.fullmatch(r"\|( -+:? \|)+", rows[1])
    assert "| 2 more | 21 requests | 0.00 | 0.00 |" in page.splitlines()
    assert "- --format json tells the dearest 1,000 one by one" in page.splitlines()


def test_text_and_markdown_say_the_same() -> None:
    """Without signs and spaces, the two are the same words in the same order."""
    told = month(
        quality={"missing_output": 0, "missing_cached": 0, "flags": ["nobody watched for 2.0 h"]}
    )
    rules = re.compile(r"^\| -.*$|^[|\s]+$", re.M)
    plain = re.findall(r"[\w.,%+]+", as_text(told))
    assert re.findall(r"[\w.,%+]+", rules.sub("", as_markdown(told))) == plain
