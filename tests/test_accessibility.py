"""The pages without a mouse, with less sight, and without colours, in a real browser."""

import json
import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser
from rig import month_page, walked, walked_day
from rig.accessible import DRAWN, PAINTED, PALE, UNKNOWN_CELLS, open_all, walked_by_tab
from rig.browser import Visit, chromium, served
from rig.ports import free_port
from rig.walk import marks

ONE_REQUEST = f"requests?day={walked_day.LAST_DAY}&request={walked_day.REQUEST}"
PAGES = ["", "cost", "utilization", "compare", "routing", ONE_REQUEST, "settings"]
LOOKS = [(page, theme) for theme in ("light", "dark") for page in PAGES]
# Tall enough for a whole page: nothing has to be scrolled into sight.
HEIGHT = 7000
NARROW = 390
# What a colour says is said beside it: in the legend, by the name of a bar, or by its place.
LEGEND = {
    "State of each card in 15-minute cells",
    "State of each card by day of the month",
    "Cost of each month by hardware, electricity and other costs",
    "Share of each card in the requests of each day",
    "Requests on each card of the pool over the seconds of the episode",
    "The request and its neighbours on the card's time line, and the power beneath",
}
NAMED = {
    "Full price per million output tokens, by what the cards were doing",
    "What is left of the cards' capacity after each layer",
    "Cost of computing prompts by why they were not read from a cache",
}
PLACED = {
    "Hours by the number of requests at once",
    "Decisions by the hit predicted and the hit reported, around the diagonal",
    "Decisions by how much later than estimated elsewhere their first token came",
}


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    listen = f'\n[dashboard]\nlisten = "127.0.0.1:{free_port()}"\n'
    made = walked.write(tmp_path_factory.mktemp("rig"))
    made.write_text(made.read_text(encoding="utf-8") + listen, encoding="utf-8")
    return made


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def address(config: Path) -> Iterator[str]:
    with served(config) as address:
        yield address


@pytest.fixture(scope="module", params=LOOKS, ids=lambda look: f"{look[0][:8]}-{look[1]}")
def visit(request: pytest.FixtureRequest, browser: Browser, address: str) -> Iterator[Visit]:
    """One page in one theme, once everything is drawn and opened. The tests below it go on from
    where the one before left it."""
    name, scheme = request.param
    with closing(Visit(browser, scheme)) as made:
        made.page.set_viewport_size({"width": 1400, "height": HEIGHT})
        made.page.add_init_script(PAINTED)
        made.page.goto(f"{address}/{name}{'&' if '?' in name else '?'}month=2026-10")
        made.page.wait_for_function(DRAWN, timeout=120_000)
        open_all(made.page)
        yield made


def test_every_text_stands_out_from_its_ground(visit: Visit) -> None:
    told, pale = visit.page.evaluate(PALE)
    assert told > 40
    assert pale == []


def test_what_is_unknown_in_a_table_can_be_read(visit: Visit) -> None:
    """The ink that cells without a value are painted with; of some pages no table has any."""
    painted = visit.page.evaluate(UNKNOWN_CELLS)
    if visit.page.url.split("?")[0].endswith("/compare"):
        assert painted
    assert [contrast for contrast in painted if contrast < 4.5] == []


def test_every_chart_has_its_words(visit: Visit) -> None:
    words = visit.page.locator(".stVegaLiteChart[role^=graphics]").evaluate_all(
        "charts => charts.map(e => e.getAttribute('aria-label'))"
    )
    assert len(words) == visit.page.locator(".stVegaLiteChart svg.marks").count()
    assert all(len(each or "") > 20 for each in words)


def test_every_control_is_reached_and_seen_by_keyboard(visit: Visit) -> None:
    missed, unseen = walked_by_tab(visit.page)
    assert missed == []
    assert unseen == []


def test_in_a_narrow_window_too(visit: Visit) -> None:
    shown = visit.page
    shown.set_viewport_size({"width": NARROW, "height": HEIGHT})
    drawer = shown.get_by_test_id("stExpandSidebarButton")
    drawer.wait_for(timeout=30_000)
    shown.wait_for_function(DRAWN, timeout=60_000)
    if visit.scheme == "light":  # who reaches what is the same in both
        assert walked_by_tab(shown) == ([], [])
    assert shown.evaluate("document.documentElement.scrollWidth") == NARROW
    assert shown.evaluate(PALE)[1] == []
    drawer.press("Enter")
    link = shown.get_by_role("link", name="Overview", exact=True)
    link.wait_for(timeout=30_000)
    assert shown.evaluate(PALE)[1] == []
    link.focus()
    assert shown.evaluate("document.activeElement.textContent") == "Overview"


def test_every_menu_is_opened_by_keyboard_and_stands_out(visit: Visit) -> None:
    shown = visit.page
    for box in shown.locator("input[role=combobox]:visible").all():
        box.focus()
        shown.keyboard.press("ArrowDown")
        shown.get_by_role("option").first.wait_for(timeout=30_000)
        assert shown.evaluate(PALE)[1] == []
        shown.keyboard.press("Escape")
        shown.get_by_role("option").first.wait_for(state="hidden", timeout=30_000)


def test_a_month_and_a_group_are_chosen_by_keyboard(browser: Browser, address: str) -> None:
    with closing(Visit(browser)) as visit:
        shown = visit.page
        shown.goto(f"{address}/cost?month=2026-10")
        shown.wait_for_function(DRAWN, timeout=120_000)
        shown.get_by_role("radio", name="Cards").focus()
        shown.keyboard.press("Space")
        shown.get_by_text("The card on-A cost most").wait_for(timeout=60_000)
        shown.get_by_role("combobox", name="Month").focus()
        shown.keyboard.type("November 2026")
        shown.keyboard.press("Enter")
        shown.wait_for_url("**/cost?month=2026-11", timeout=60_000)
        shown.get_by_role("link", name="Routing", exact=True).focus()
        shown.keyboard.press("Enter")
        shown.wait_for_url("**/routing?month=2026-11", timeout=60_000)


def test_a_request_is_opened_by_keyboard(browser: Browser, address: str) -> None:
    with closing(Visit(browser)) as visit:
        shown = visit.page
        shown.goto(f"{address}/requests?month=2026-10&day={walked_day.LAST_DAY}")
        shown.wait_for_function(DRAWN, timeout=120_000)
        shown.locator("[data-testid=stDataFrame] canvas").first.focus()
        shown.keyboard.press("ArrowDown")
        shown.keyboard.press("Shift+Space")
        # The newest but one of that day.
        shown.get_by_text("It arrived at 08:05:00").wait_for(timeout=60_000)


@pytest.mark.parametrize("name", ["overview", "cost", "utilization", "compare", "routing"])
def test_no_colour_speaks_alone(config: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    at = month_page.run(config, name, monkeypatch)
    legends = "".join(each.proto.body for each in at.get("html"))
    for chart in at.get("vega_lite_chart"):
        alt = chart.proto.alt
        rows = list(marks(chart.proto))
        for shades, field, is_named in colours(json.loads(chart.proto.spec)):
            assert alt in LEGEND | NAMED | PLACED, f"{alt}: what do its colours say, and where?"
            if alt in LEGEND:
                for drawn in {row[field] for row in rows if field in row} & shades.keys():
                    told = re.search(
                        f"background:{shades[drawn]}[^>]*></span>(<span>)?\\w", legends
                    )
                    assert told, (alt, drawn)
            if alt in NAMED:
                assert is_named, (alt, field)


def colours(spec: dict[str, Any]) -> Iterator[tuple[dict[str, str], str, bool]]:
    """The colours of each scale that tells several names apart, its field, and whether marks that
    bear them stand on an axis of names."""
    for layer in spec["layer"]:
        shade = layer["encoding"].get("color", {})
        scale = shade.get("scale", {})
        if shade.get("type") == "nominal" and len(set(scale["range"])) > 1:
            y, shades = layer["encoding"]["y"], zip(scale["domain"], scale["range"], strict=True)
            yield dict(shades), shade["field"], y["field"] == "label" and y["type"] == "nominal"
