"""The routing page: every figure is the month's own, its pictures draw what they are given."""

from pathlib import Path
from typing import Any

import pytest
from rig import month_page as rig
from rig.ledger import SECOND, attempt, heartbeats
from rig.page import PATIENCE_S, copied
from streamlit.testing.v1 import AppTest

from analytics.episode import episode
from analytics.periods import month_of
from analytics.read import Ledger
from analytics.shelf import Shelf
from collector.clock import now_ns
from collector.events import Candidate, Event, Route
from collector.settings import Settings, load
from dashboard import (
    decision_charts,
    episode_chart,
    routing_charts,
    routing_sentences,
    words,
)
from dashboard.palette import DARK, LIGHT, Palette, of_cards

pytestmark = pytest.mark.usefixtures("forget")

THEMES = pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
NAMES = {"A": "card0", "B": "card1", "(none)": routing_charts.NOWHERE}
DOOR = """
[router]
listen = "127.0.0.1:8080"
"""


def decided(chosen: str, hit: int, regret: int, actual: int | None) -> Route:
    return Route(
        policy="estimated_wait",
        reason="home" if hit else "cold",
        chosen=chosen,
        hit_tokens=hit,
        actual_hit_tokens=actual,
        regret_ms=regret,
        shadow_policy="round_robin",
        shadow="on-A",
        candidates=[
            Candidate(engine="on-A", hit_tokens=60, pending_tokens=5, in_flight=2, estimate_ms=40),
            Candidate(engine="on-B", hit_tokens=0, pending_tokens=0, in_flight=0, estimate_ms=90),
        ],
    )


def asked(name: str, start: float, card: str, keys: str, cached: int, **more: Any) -> Event:
    """A request of 100 tokens a message: ten seconds of prefill, two of decode."""
    fields = {
        "input_tokens": 100 * len(keys),
        "cache_read_tokens": cached,
        "ttft_ns": 10 * SECOND,
        "prefix": [keys[: n + 1] for n in range(len(keys))],
        "prefix_tokens": [100 * (n + 1) for n in range(len(keys))],
        "session": "s",
        **more,
    }
    return attempt(name, start, start + 12, card, **fields)


def events(since: float = 0) -> list[Event]:
    """Half a minute in which one waits for A while B stands by, then four decisions: one whose
    prompt the other card had computed, one that found less than predicted, one estimated."""
    busy = [attempt(f"q{n}", since, since + 30, wait_ns=0) for n in range(2)]
    waits = attempt("q2", since, since + 40, wait_ns=30 * SECOND, session="late")
    return [
        *busy,
        waits,
        asked("1", since + 100, "A", "ab", 0, route=decided("on-A", 0, -20, 0)),
        asked("2", since + 200, "B", "abc", 0, route=decided("on-B", 100, 500, 0)),
        asked("3", since + 300, "B", "abcd", 300, route=decided("on-B", 300, 700, 300)),
        asked("4", since + 400, "A", "abcde", 200, usage_source="estimated",
              route=decided("on-A", 200, 900, None)),
        *heartbeats(since - 30, since + 900, ["on-A", "on-B"]),
    ]  # fmt: skip


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return rig.built(rig.write(tmp_path_factory.mktemp("built"), told=events()), "routing")


@pytest.fixture
def config(built: Path, tmp_path: Path) -> Path:
    return copied(built, tmp_path)


@pytest.fixture(scope="module")
def undecided(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same morning without a router."""
    return rig.built(rig.write(tmp_path_factory.mktemp("undecided")), "routing")


@pytest.fixture
def at(config: Path, monkeypatch: pytest.MonkeyPatch) -> AppTest:
    return rig.run(config, "routing", monkeypatch)


def test_every_figure_is_the_months_own(at: AppTest, config: Path) -> None:
    month = rig.document(config)
    told = month["routing"]
    assert {metric.label: metric.value for metric in at.metric} == {
        "USD another card might have saved": words.headline(told["at_stake"]["nano"]),
        "decisions": "4",
        "of predicted hits found": "75 %",
        "might have been quicker": "67 %",
        "same as round\\_robin": "50 %",
    }
    assert all(len(metric.help) > 40 for metric in at.metric)
    missed, episodes, reasons = (frame.value for frame in at.dataframe)
    causes = told["misses"]["causes"]
    shown = sorted(("misrouted", "new"), key=lambda cause: -causes[cause]["cost_nano"])
    assert missed["why"].to_list() == [routing_charts.CAUSES[cause] for cause in shown]
    assert missed["tokens"].to_list() == [causes[cause]["tokens"] for cause in shown]
    assert missed["ns"].to_list() == [causes[cause]["ns"] / 3.6e12 for cause in shown]
    for card in told["misses"]["by_card"]:
        costs = [card["causes"][cause]["cost_nano"] / 1e9 for cause in shown]
        assert missed[card["name"]].to_list() == costs
    (one,) = told["herding"]["episodes"]
    assert episodes["cost"].to_list() == [one["cost_nano"] / 1e9]
    assert episodes.iloc[0].to_dict() | {"cost": 0} == {
        "day": "Mon 05 Oct", "from": "08:00:00", "lasted": "30 s", "waited": 1,
        "queued on": "on-A", "stood by": "on-B", "cost": 0,
    }  # fmt: skip
    assert reasons["decisions"].to_list() == [3, 1]
    assert reasons["hit_tokens"].to_list() == [400, 0]
    assert reasons["hits_estimated"].to_list() == [1, 0]


def test_the_answer_by_hand(at: AppTest, config: Path) -> None:
    """Two thirds of the ten seconds of 2, and of those of 4, had been computed elsewhere."""
    told = rig.text(at)
    month = rig.document(config)
    causes = month["routing"]["misses"]["causes"]
    assert causes["misrouted"]["ns"] == 6_666_666_667 + 6_666_666_667
    assert month["routing"]["herding"]["stranded_ns"] == 30 * SECOND
    assert "3 decisions told both: predicted were 400 tokens, found 300, **75 %** of them" in told
    assert "Left out: 1 decision whose engine reported no hit" in told
    assert "In **2** of 3 decisions (67 %)" in told
    assert "by 0.6 s on average" in told
    assert "Left out: 1 decision with an estimated hit." in told
    assert "round\\_robin would have chosen as estimated\\_wait did in **50 %** of 4" in told
    assert "**1 time** requests waited 10 s or longer while a card of their pool stood by" in told
    assert "08:00:00, for 30 s: 1 request waited on on-A while on-B stood by." in told
    assert "(requests?month=2026-10&day=2026-10-05)" in told


def test_every_chart_has_words(at: AppTest) -> None:
    charts = at.get("vega_lite_chart")
    assert [bool(chart.proto.alt) for chart in charts] == [True] * 5
    (button,) = at.get("download_button")
    assert button.proto.label == "Every figure as CSV"


def test_without_decisions_it_says_how_to_get_them(
    undecided: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = rig.run(copied(undecided, tmp_path), "routing", monkeypatch)
    told = rig.text(at)
    assert "No router told its decisions yet" in told
    assert "rigledger route" in told
    assert at.code[0].value.startswith("[router]")
    assert "Unknown: no request told prefix keys" in told
    assert "No request waited while a card of its pool stood by." in told
    assert len(at.get("vega_lite_chart")) == 1


def test_a_router_that_got_no_request_names_its_door(
    undecided: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = copied(undecided, tmp_path)
    config.write_text(config.read_text(encoding="utf-8") + DOOR, encoding="utf-8")
    at = rig.run(config, "routing", monkeypatch)
    assert "Point your clients at `http://127.0.0.1:8080/v1`" in rig.text(at)


def test_a_month_without_requests_says_so(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    at = rig.run(config, "routing", monkeypatch, month="2026-11")
    assert "No requests in November 2026" in rig.text(at)


def test_the_address_names_the_episode_that_is_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The half minute is the dearest; twenty seconds later that morning are asked for."""
    later = [attempt(f"p{n}", 600, 620, wait_ns=0) for n in range(2)]
    later.append(attempt("p2", 600, 630, wait_ns=20 * SECOND))
    config = rig.write(tmp_path, told=[*events(), *later])
    monkeypatch.setenv("RIGLEDGER_CONFIG", str(config))
    (dearest, other) = rig.document(config)["routing"]["herding"]["episodes"]
    assert dearest["cost_nano"] > other["cost_nano"]
    script = rig.SCRIPT.format(name="routing", month="2026-10")
    at = AppTest.from_string(script, default_timeout=PATIENCE_S)
    at.query_params["episode"] = f"{other['pool']}/2026-10-05T08:10:00Z"
    assert "08:10:00, for 20 s: 1 request waited on on-A" in rig.text(at.run())
    assert at.dataframe[1].value["lasted"].to_list() == ["30 s", "20 s"]
    # One that is not there is none: the dearest is open, and the address names no other.
    at.query_params["episode"] = "nonsense"
    assert "08:00:00, for 30 s" in rig.text(at.run())
    assert "episode" not in at.query_params


def opened(config: Path) -> Any:
    settings: Settings = load(config)
    shelf = Shelf(Ledger(settings.store_path()), settings, now_ns())
    span = month_of("2026-10", settings.zone)
    (day,) = [d for d in shelf.days(span.from_ns, span.to_ns) if d.name == "2026-10-05"]
    start = day.from_ns + 8 * 3600 * SECOND
    pool = rig.document(config)["routing"]["herding"]["episodes"][0]["pool"]
    return episode(shelf, pool, start, start + 30 * SECOND)


def test_an_opened_episode_has_its_requests_and_who_stood_by(config: Path) -> None:
    found = opened(config)
    assert found.cards == ["A", "B"]
    bars = found.bars.sort("event_id")
    assert bars["event_id"].to_list() == ["q0", "q1", "q2"]
    assert bars["is_it"].to_list() == [False, False, True]
    assert bars["lane"].to_list() == [0, 1, 2]
    start = found.span[0]
    assert found.stood_by.rows() == [("B", start, start + 30 * SECOND)]
    lane_px, blocks = episode_chart.blocks_of(found)
    assert [block["card"] for block in blocks] == ["A", "B"]
    assert blocks[0]["foot"] - blocks[0]["top"] == 3 * lane_px
    (row,) = episode_chart.stood_rows(found, blocks)
    assert (row["from"], row["to"], row["time"]) == (0.0, 30.0, "30 s")


@THEMES
def test_charts_compile_with_a_fixed_height_and_name_their_units(
    config: Path, colours: Palette
) -> None:
    told = rig.document(config)["routing"]
    drawn = [
        routing_charts.shares(told["by_day"], NAMES, "2026-10", colours),
        decision_charts.hits(told["hits"]["pairs"], colours),
        decision_charts.regrets(told["regret"]["bins"], colours),
        routing_charts.causes(told["misses"]["causes"], "USD", colours),
        episode_chart.gantt(opened(config), NAMES, load(config).zone, colours),
    ]
    specs = [chart.to_dict() for chart in drawn]
    assert all(isinstance(spec["height"], int) for spec in specs)
    titles = [
        {layer["encoding"].get(axis, {}).get("title") for layer in spec["layer"]}
        | {(layer["encoding"].get(axis, {}).get("axis") or {}).get("title")
           for layer in spec["layer"]}
        for spec, axis in zip(specs, "yxxxx", strict=True)
    ]  # fmt: skip
    for name, among in zip(
        ("share of the day's requests", "predicted to be cached, tokens",
         "later than estimated elsewhere (log scale)",
         "cost of computing it, USD", "seconds since it began at 08:00:00"),
        titles,
        strict=True,
    ):  # fmt: skip
        assert name in among


BY_DAY = [
    {"name": "2026-10-05", "requests": {"A": 1, "B": 2, "(none)": 1}},
    {"name": "2026-10-06", "requests": {"B": 3}},
]


def test_a_days_parts_are_the_whole_day() -> None:
    rows = routing_charts.share_rows(BY_DAY, NAMES)
    assert [(row["card"], row["low"], row["high"], row["share"]) for row in rows] == [
        ("card0", 0.0, 0.25, "25 %"),
        ("card1", 0.25, 0.75, "50 %"),
        (routing_charts.NOWHERE, 0.75, 1.0, "25 %"),
        ("card1", 0.0, 1.0, "100 %"),
    ]


@THEMES
def test_cards_have_colours_that_stay_apart_in_grey(colours: Palette) -> None:
    shades = list(of_cards(list("abcdefgh"), colours).values())
    assert len(set(shades)) == 8
    light = [sum(int(c[at : at + 2], 16) * w for at, w in ((1, 2), (3, 7), (5, 1))) for c in shades]
    assert light == sorted(light)
    assert set(of_cards(["a"], colours)) == {"a"}


def test_circles_stand_at_the_means_on_their_side_of_the_diagonal() -> None:
    rows = decision_charts.hit_rows(
        [
            {"predicted_from": 80, "actual_from": 80, "decisions": 2,
             "hit_tokens": 170, "actual_hit_tokens": 168},
            {"predicted_from": 80, "actual_from": 0, "decisions": 3,
             "hit_tokens": 240, "actual_hit_tokens": 0},
            {"predicted_from": 0, "actual_from": 80, "decisions": 1,
             "hit_tokens": 0, "actual_hit_tokens": 90},
        ]
    )  # fmt: skip
    assert [(row["predicted"], row["actual"], row["side"]) for row in rows] == [
        (80.0, 0.0, "less"),
        (85.0, 84.0, "as predicted"),
        (0.0, 90.0, "more"),
    ]


def test_regret_is_drawn_by_size_on_both_sides() -> None:
    bins = [{"from_ms": ms, "decisions": 1, "regret_ms": ms} for ms in (-2048, 0, 1, 16)]
    rows = decision_charts.regret_rows(bins)
    assert [(row["start"] + 0.44, row["side"]) for row in rows] == [
        (-12.0, "sooner"), (0.0, "sooner"), (1.0, "later"), (5.0, "later"),
    ]  # fmt: skip
    assert [row["text"] for row in rows] == [
        "2 s to 4 s sooner", "as estimated", "1 ms to 2 ms later", "16 ms to 32 ms later",
    ]  # fmt: skip


def test_causes_are_ranked_by_money_and_add_up_as_printed() -> None:
    def sums(tokens: int, nano: int) -> dict[str, int]:
        return {"requests": 1, "tokens": tokens, "ns": SECOND, "cost_nano": nano}

    told = {
        "misrouted": sums(5, 1_005_000_000),
        "evicted": sums(0, 0),
        "rewritten": sums(1, 3_004_000_000),
        "new": sums(9, 2_001_000_000),
        "untold": sums(2, 0),
    }
    rows = routing_charts.cause_rows(told)
    assert [row["cause"] for row in rows] == ["rewritten", "new", "misrouted", "untold"]
    assert round(sum(float(row["text"]) for row in rows), 2) == 6.01


def test_what_has_no_price_is_unknown() -> None:
    month: dict[str, Any] = {"at_least": ["no hardware"]}
    assert routing_sentences.money(month, 0, SECOND) == words.UNKNOWN
    assert routing_sentences.money(month, 0, 0) == "0.00"
    assert routing_sentences.money(month, 20_000_000, SECOND) == "0.02"
    assert routing_sentences.money({"at_least": []}, 0, SECOND) == "0.00"


@pytest.mark.parametrize(
    ("herding", "misrouted", "unpriced", "headline", "words_of_it"),
    [
        (20_000_000, 10_000_000, False, "0.0300", "At most that, 3.0 % of all cost: 0.02 while"),
        (20_000_000, None, False, "0.0200", "As far as it is known: 0.02 while cards stood by"),
        (0, None, False, words.UNKNOWN, "As far as it is known: no card stood by"),
        (0, 0, False, "0.00", "no card stood by beside a queue, no prompt that another card"),
        (None, 0, True, words.UNKNOWN, "unknown while cards stood by"),
    ],
)
def test_what_is_at_stake_is_as_known_as_its_parts(
    herding: int | None, misrouted: int | None, unpriced: bool, headline: str, words_of_it: str
) -> None:
    """None of herding stands for stranded time that nobody priced."""
    nano = herding or 0
    causes = {"misrouted": {"ns": SECOND if misrouted else 0}}
    month: dict[str, Any] = {
        "at_least": ["no price"] if unpriced else [],
        "cost_nano": {"total": SECOND},
        "routing": {
            "at_stake": {"herding_nano": nano, "misrouted_nano": misrouted,
                         "nano": nano + (misrouted or 0)},
            "herding": {"stranded_ns": SECOND if herding != 0 else 0},
            "misses": None if misrouted is None else {"causes": causes},
        },
    }  # fmt: skip
    assert routing_sentences.at_stake(month) == headline
    assert words_of_it in routing_sentences.answer(month)
