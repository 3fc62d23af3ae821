"""What a browser is given first: the code of what stands above all charts, and time to show it."""

import re
from collections.abc import Iterator

import pytest
import streamlit as st
from starlette.testclient import TestClient

from dashboard import pace, server
from dashboard.pages import PAGES
from dashboard.views import kept


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
    named = re.findall(r'<link rel="modulepreload" crossorigin href="\./static/js/([^"]+)">', told)
    assert len(named) == len(set(named))
    for first in server.FIRST:
        (file,) = (name for name in named if name.startswith(f"{first}."))
        asks = re.findall(r'from"\./([^"]+\.js)"', (server.STATIC / "static/js" / file).read_text())
        assert set(asks) <= {*named, *re.findall(r'src="\./static/js/([^"]+)"', told)}
    assert all((server.STATIC / "static/js" / name).is_file() for name in named)


def test_the_first_chart_of_a_visit_alone_waits_for_the_words(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    slept: list[float] = []
    monkeypatch.setattr(kept.time, "sleep", slept.append)
    monkeypatch.setattr(type(st.context), "url", "http://localhost/")
    st.session_state.clear()
    st.session_state[kept.STARTED] = 0.7
    kept.let_the_words_be_painted()
    kept.let_the_words_be_painted()
    assert slept == [0.7]
    monkeypatch.setattr(type(st.context), "url", None)
    st.session_state.clear()
    st.session_state[kept.STARTED] = 0.7
    kept.let_the_words_be_painted()
    assert slept == [0.7]


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
