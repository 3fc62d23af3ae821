"""The month as a page to read: the text report's figures, names that stay names, no network."""

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from rig.browser import Visit, chromium
from test_change import month as plain_month
from test_markdown import HOUR, NANO, month

from analytics.change import change
from analytics.render.colours import DARK, LIGHT, Palette
from analytics.render.html import as_html
from analytics.render.report import STEPS, as_text

NUMBER = re.compile(r"[+-]?\d[\d.,]*%?")
HOSTILE = "<script>alert(1)</script> \"&\" 'x'"


def told(**changes: Any) -> dict[str, Any]:
    """The month by hand with its change: twice the hours, half the price."""
    now = plain_month("2026-10", layers={"hours": 1.0, "occupancy": 0.5},
                      tokens={"output": 5_000_000})  # fmt: skip
    made = month(change=change(now, plain_month("2026-09")), marginal_cost_nano=None, **changes)
    made["compare"][0] |= {"scenario": "simulated", "headline_nano_per_mtok": 800_000_000}
    return made


class Page(HTMLParser):
    """What a page says, its rows, and the exact amounts behind its figures."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.texts: list[tuple[str, str]] = []
        self.figures: list[tuple[int, str]] = []
        self.rows: list[list[str]] = []
        self.rects: list[dict[str, str | None]] = []
        self._value: str | None = None
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in {"meta", "link", "rect", "line"}:
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag == "rect":
            self.rects.append(dict(attrs))
        self._value = dict(attrs).get("value") if tag == "data" else None

    def handle_endtag(self, tag: str) -> None:
        if tag not in {"rect", "line"}:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" in self.open or not data.strip():
            return
        self.texts.append((self.open[-1], data.strip()))
        if "tr" in self.open:
            self.rows[-1].append(data.strip())
        if self._value is not None:
            self.figures.append((int(self._value), data))
            self._value = None

    def below(self, tag: str) -> list[str]:
        """The texts of an element."""
        return [text for name, text in self.texts if name == tag]


def test_every_figure_of_the_text_is_on_the_page_and_no_other() -> None:
    made = told()
    page = Page(as_html(made))
    # The title of the window, the three large figures, and own cost beside the bills are its own.
    own = ["2026-10", "4.00", "0.800", "5 of 7", "\N{MINUS SIGN}2.00", "2026-09", "10.00"]
    left = NUMBER.findall(" ".join(text for _, text in page.texts))
    for number in NUMBER.findall(" ".join(own)):
        left.remove(number)
    assert sorted(left) == sorted(NUMBER.findall(as_text(made)))


def test_figures_are_the_documents() -> None:
    made = told()
    page = Page(as_html(made))
    exact = {row[0]: value for row in page.rows for value, text in page.figures if text == row[-1]}
    for step in made["waterfall_nano_per_mtok"]:
        if step["nano_per_mtok"]:
            assert exact[STEPS[step["step"]]] == step["nano_per_mtok"]
    assert page.figures[:3] == [
        (4 * NANO, "4.00"),
        (800_000_000, "0.800"),
        (-2 * NANO, "\N{MINUS SIGN}2.00"),
    ]
    assert ["hours worked", "50.0 % → 100.0 %", "-2.0000"] in page.rows
    (entry,) = made["compare"]
    bills = [("simulated cache, at least", "simulated_nano"),
             ("same hits, at least", "same_hits_nano"),
             ("no cache, at least", "no_cache_nano")]  # fmt: skip
    for label, figure in bills:
        assert [label, f"{entry[figure] / 1e9:.2f}"] in page.rows
        assert entry[figure] in [value for value, _ in page.figures]
    for value, text in page.figures:
        shown = float(text.replace("\N{MINUS SIGN}", "-").replace(",", ""))
        assert shown == pytest.approx(value / NANO, rel=0.005)


def test_own_cost_is_called_a_bound_where_it_is_one() -> None:
    made = told(at_least=["no price"], marginal_at_least=True)
    made["marginal_cost_nano"] = NANO
    rows = Page(as_html(made)).rows
    assert ["this rig, full, at least", "10.00"] in rows
    assert ["this rig, marginal, at least", "1.00"] in rows
    made["marginal_cost_nano"] = 0
    assert not any(row[0].startswith("this rig, marginal") for row in Page(as_html(made)).rows)


def test_a_restatement_stands_before_the_figures_that_it_is_about() -> None:
    figures = [{"figure": "cost_nano.total", "old": 10 * NANO, "new": 12 * NANO}]
    entry = {"number": None, "at": None, "figures": figures, "why": [{"what": "a price"}]}
    broken = {"number": None, "at": None, "figures": [], "why": [{"what": "it is off by 1"}]}
    texts = [text for _, text in Page(as_html(told(restated=[entry, broken]))).texts]
    assert texts.index("10.00") < texts.index("→ 12.00") < texts.index("why: a price")
    assert texts.index("why: it is off by 1") < texts.index("at peak")


def test_bars_are_as_long_as_their_figures() -> None:
    """1.6 at peak and 2.4 idle, end to end, of 4; bills of 2, 3 and 5 beside a cost of 10."""
    rects = [rect for rect in Page(as_html(told())).rects if rect.get("x")]
    found = [(rect["class"], rect["x"], rect["width"]) for rect in rects]
    assert found[:3] == [
        ("at_peak", "0.000%", "40.000%"),
        ("idle", "40.000%", "60.000%"),
        ("sum-bar", "0.000%", "100.000%"),
    ]
    assert found[3:7] == [
        ("own", "0.000%", "100.000%"),
        ("api", "0.000%", "20.000%"),
        ("api-too", "0.000%", "30.000%"),
        ("api-too", "0.000%", "50.000%"),
    ]
    # A cause that made it cheaper goes to the left from the middle.
    assert found[7] == ("less", "0.000%", "50.000%")


def test_energy_that_is_paid_for_goes_left_of_zero() -> None:
    steps = [
        {"step": "at_peak", "nano_per_mtok": -NANO},
        {"step": "idle", "nano_per_mtok": 4 * NANO},
    ]
    made = told(waterfall_nano_per_mtok=steps)
    rects = [rect for rect in Page(as_html(made)).rects if rect.get("x")]
    assert [(r["x"], r["width"]) for r in rects[:3]] == [
        ("0.000%", "25.000%"),
        ("0.000%", "100.000%"),
        ("25.000%", "75.000%"),
    ]


def test_names_stay_names() -> None:
    project = {"name": HOSTILE, "requests": 1, "busy_cost_nano": 0, "full_cost_nano": 0}
    made = told(rig=HOSTILE, currency=HOSTILE, groups={"project": [project]})
    made["compare"][0]["sheet"] = HOSTILE
    made["quality"]["flags"] = [HOSTILE]
    page = Page(as_html(made))
    assert "script" not in {name for name, _ in page.texts}
    assert "<script" not in as_html(made)
    assert page.below("title") == [f"{HOSTILE} · 2026-10"]
    assert [HOSTILE, "1 request", "0.00", "0.00"] in page.rows


def test_a_month_without_anything_is_a_page_too() -> None:
    made = month(
        cost_nano={"total": 0, "capital": 0, "energy": 0, "other": 0},
        capacity_ns=0,
        states_ns={"busy": 0},
        states_cost_nano={"busy": 0, "unassigned": 0},
        tokens={"requests": 0, "attempts": 0, "input": 0, "cache_read": 0, "output": 0},
        cost_per_mtok={n: {"output": None} for n in ("full", "active", "marginal")},
        waterfall_nano_per_mtok=None,
        layers={"hours": None, "occupancy": None, "throughput": None, "peak": {}},
        groups={"project": []},
        compare=[],
    )
    page = Page(as_html(made))
    assert (
        page.below("p")[0] == "No output tokens in this period, so a million of them has no price."
    )
    assert page.below("h2") == ["To doubt"]


def luminance(colour: str) -> float:
    """Relative luminance (WCAG 2.2)."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return sum(w * p for w, p in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
def test_text_stands_out(colours: Palette) -> None:
    page = luminance(colours.page)
    for ink in (colours.text, colours.quiet):
        low, high = sorted((luminance(ink), page))
        assert (high + 0.05) / (low + 0.05) >= 4.5


def test_a_browser_shows_it_without_asking_for_anything(tmp_path: Path) -> None:
    states = {"busy": HOUR, "idle": 2 * HOUR, "unknown": HOUR, "off": 0}
    cost = {"busy": 4 * NANO, "idle": 5 * NANO, "unknown": NANO, "off": 0, "unassigned": 0}
    project = {"name": "p" * 300, "requests": 1, "busy_cost_nano": 0, "full_cost_nano": 0}
    made = told(states_ns=states, states_cost_nano=cost, groups={"project": [project]})
    file = tmp_path / "report.html"
    file.write_text(as_html(made), encoding="utf-8")
    with chromium() as browser:
        for scheme, width, ground in (
            ("light", 1200, "rgb(255, 255, 255)"),
            ("dark", 390, "rgb(22, 24, 29)"),
        ):
            visit = Visit(browser, scheme, width)
            visit.context.set_offline(True)
            visit.page.goto(file.as_uri())
            wide = "document.documentElement.scrollWidth"
            shown = "getComputedStyle(document.body).backgroundColor"
            hatch = "getComputedStyle(document.querySelector('.unknown')).fill"
            assert visit.page.evaluate(wide) <= width
            assert visit.page.evaluate(shown) == ground
            assert "#hatch" in visit.page.evaluate(hatch)
            visit.page.emulate_media(media="print")
            assert visit.page.evaluate(shown) == "rgb(255, 255, 255)"
            assert visit.complaints == []
            assert visit.asked == [file.as_uri()]
            visit.close()
