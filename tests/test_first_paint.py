"""What a browser is given first: the code of what stands above all charts, and time to show it."""

import re
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import pytest
import streamlit as st
from playwright.sync_api import BrowserContext, sync_playwright
from rig.browser import ARGS, served
from rig.ports import free_port
from starlette.responses import HTMLResponse
from starlette.testclient import TestClient
from starlette.types import Receive, Scope, Send

from dashboard import code_cache, pace, server, table_ink, unfound
from dashboard.pages import PAGES
from dashboard.unfound import Unfound
from dashboard.views import first


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    with TestClient(server.app, base_url="http://localhost") as found:
        yield found


@pytest.mark.parametrize("address", ["/", "/?month=2026-10", *(f"/{name}" for name in PAGES)])
def test_every_page_names_the_code_of_its_first_elements_once(
    client: TestClient, address: str
) -> None:
    told = client.get(address).text
    assert server.HERE in told
    assert server.STYLE.read_text(encoding="utf-8") in told
    named = re.findall(r'<link rel="modulepreload" crossorigin href="\./static/js/([^"]+)">', told)
    assert len(named) == len(set(named))
    for kind in server.FIRST:
        (file,) = (name for name in named if name.startswith(f"{kind}."))
        asks = re.findall(r'from"\./([^"]+\.js)"', (server.STATIC / "static/js" / file).read_text())
        assert set(asks) <= {*named, *re.findall(r'src="\./static/js/([^"]+)"', told)}
    assert all((server.STATIC / "static/js" / name).is_file() for name in named)


def test_modules_alone_are_given_as_code_that_is_compiled_once_it_is_whole(
    client: TestClient,
) -> None:
    folder = server.STATIC / "static"
    for file in (*folder.glob("js/Metric.*.js"), *folder.glob("js/index.*.js")):
        told = client.get(f"/static/js/{file.name}")
        assert told.headers["content-type"] == code_cache.TYPE
        assert "immutable" in told.headers["cache-control"]
        assert told.content == file.read_bytes()
    (style,) = folder.glob("css/index.*.css")
    assert client.get(f"/static/css/{style.name}").headers["content-type"].startswith("text/css")
    assert "charset=koi8-r" not in client.get("/").headers["content-type"]
    assert client.get("/static/js/none.js").headers["content-type"] != code_cache.TYPE


def test_tables_are_given_with_an_ink_for_unknown_cells_that_can_be_read(
    client: TestClient,
) -> None:
    (path,) = table_ink.PATHS
    told = client.get(path)
    assert told.headers["content-type"] == code_cache.TYPE
    assert "immutable" in told.headers["cache-control"]
    assert told.text.count("textLight:e.colors.fadedText70") == 1
    assert "textLight:e.colors.fadedText40" not in told.text


@pytest.mark.parametrize(
    ("address", "home"),
    [("/nothing", "./"), ("/nothing?month=2026-10", "./"), ("/cost/nothing", "../"),
     ("/index.html", "./"), ("/static/js/none.js", "../../")],
)  # fmt: skip
def test_an_unknown_address_is_told_so_and_leads_to_the_overview(
    client: TestClient, address: str, home: str
) -> None:
    told = client.get(address)
    assert told.status_code == 404
    assert "none of rigledger's pages" in told.text
    assert f'<a href="{home}">Overview</a>' in told.text
    assert "<script" not in told.text
    # It asks for nothing else, an icon neither.
    assert re.findall(r'(?:href|src)="([^"]+)"', told.text) == ["data:,", home]
    assert urljoin(f"http://localhost{address}", home) == "http://localhost/"
    assert client.get("/_stcore/health").text == "ok"
    assert client.get("/favicon.png").headers["content-type"] == "image/png"


def test_a_report_that_is_saved_is_given_as_it_is() -> None:
    async def report(scope: Scope, receive: Receive, send: Send) -> None:
        await HTMLResponse("a report")(scope, receive, send)

    asked = TestClient(Unfound(report))
    assert asked.get("/media/0f1e.html").text == "a report"
    assert asked.get("/medial").status_code == 404


def test_beneath_a_path_of_ones_own_all_is_given_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unfound, "get_option", {"server.baseUrlPath": "ledger"}.get)
    asked = TestClient(Unfound(HTMLResponse("a page")))
    assert asked.get("/ledger/cost").text == "a page"


@pytest.mark.parametrize("query", ["", "?month=2026-10&sheet=a%20b", "?sheet=x?"])
def test_the_overview_by_its_name_is_found_at_the_root(client: TestClient, query: str) -> None:
    told = client.get(f"/overview{query}", follow_redirects=False)
    assert told.status_code == 307
    assert told.headers["location"] == f"./{query}"


@pytest.fixture
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A visit begins, of a browser that took 0.5 s to start; for how long was waited, in turn."""
    told: list[float] = []
    monkeypatch.setattr(first.time, "sleep", told.append)
    monkeypatch.setattr(pace, "started_s", lambda: 0.5)
    monkeypatch.setattr(type(st.context), "url", "http://localhost/")
    st.session_state.clear()
    return told


def test_a_visit_waits_once_for_its_code_and_once_for_its_words(slept: list[float]) -> None:
    first.begin()
    first.begin()
    assert slept == [pytest.approx(first.CODE / 2)]
    first.let_the_words_be_painted()
    first.let_the_words_be_painted()
    assert slept[1:] == [pytest.approx(first.WORDS / 2)]


def test_without_a_browser_nothing_waits(
    monkeypatch: pytest.MonkeyPatch, slept: list[float]
) -> None:
    monkeypatch.setattr(type(st.context), "url", None)
    first.begin()
    first.let_the_words_be_painted()
    assert not slept


def test_a_start_is_as_long_as_since_the_page_was_given_and_no_longer_than_it_may(
    monkeypatch: pytest.MonkeyPatch, client: TestClient
) -> None:
    now = [100.0]
    monkeypatch.setattr(pace.time, "monotonic", lambda: now[0])
    client.get("/cost")
    now[0] += 0.25
    assert pace.started_s() == 0.25
    now[0] += 3600
    assert pace.started_s() == pace.LONGEST_S


def compiled(browser: BrowserContext, address: str) -> dict[str, bool]:
    """Opens the page; of the modules that it compiled, whether each came from the kept code."""
    shown = browser.new_page()
    told: list[dict[str, Any]] = []
    ended: list[bool] = []
    devtools = browser.new_cdp_session(shown)
    devtools.on("Tracing.dataCollected", lambda part: told.extend(part["value"]))
    devtools.on("Tracing.tracingComplete", lambda _: ended.append(True))
    categories = {"includedCategories": ["v8", "devtools.timeline"]}
    devtools.send("Tracing.start", {"traceConfig": categories, "transferMode": "ReportEvents"})
    shown.goto(address)
    shown.get_by_test_id("stHeading").first.wait_for()
    devtools.send("Tracing.end")
    while not ended:
        shown.wait_for_timeout(20)
    shown.close()
    found = [event["args"]["data"] for event in told if event["name"] == "v8.compileModule"]
    return {data["url"].rpartition("/")[2]: "consumedCacheSize" in data for data in found}


def heavy(modules: dict[str, bool]) -> set[bool]:
    """What is said of those whose compiling costs most."""
    return {kept for name, kept in modules.items() if name.startswith(("index.", "react-dom."))}


def test_a_browser_that_has_been_there_before_has_kept_the_code(tmp_path: Path) -> None:
    path = next(filter(None, map(shutil.which, ("chromium", "google-chrome"))), None)
    if path is None:
        pytest.skip("no Chromium on this machine; install one to see what it keeps")
    listen = f'[dashboard]\nlisten = "127.0.0.1:{free_port()}"\n'
    config = tmp_path / "rigledger.toml"
    config.write_text(f'[store]\npath = "{tmp_path / "ledger"}"\n{listen}')
    with (
        served(config) as address,
        sync_playwright() as driver,
        closing(
            driver.chromium.launch_persistent_context(
                tmp_path / "profile", executable_path=path, args=ARGS
            )
        ) as browser,
    ):
        first = compiled(browser, address)
        for _ in range(9):  # it keeps what it meets again, and writes it when it has time
            kept = compiled(browser, address)
            if heavy(kept) == {True}:
                break
    assert heavy(first) == {False}
    assert heavy(kept) == {True}
