"""The episodes of herding as a list that opens each on a time line of its requests."""

import datetime as dt
from typing import Any

import polars as pl
import streamlit as st

from collector.clock import to_ns
from collector.settings import Settings
from dashboard import episode_chart, lookups, request_charts, words
from dashboard import routing_meanings as meanings
from dashboard import routing_sentences as said
from dashboard.palette import Palette
from dashboard.views import legend
from dashboard.views.kept import kept

OPENED, LISTED, TABLE = "episode", "episodes", "episode_table"
ROWS = 8


def show(
    month: dict[str, Any], names: dict[str, str], settings: Settings, colours: Palette
) -> None:
    """The list, dearest first, and the episode that is opened: the dearest unless one is chosen."""
    st.subheader("Queued beside idle cards", anchor=False, help=meanings.HERDING)
    st.markdown(said.herding(month))
    told = sorted(
        month["routing"]["herding"]["episodes"], key=lambda each: (-each["cost_nano"], each["from"])
    )
    if not told:
        return
    _table(told, names, settings, month["currency"])
    chosen = _chosen(told)
    _open(chosen, names, settings, colours)


def _table(
    told: list[dict[str, Any]], names: dict[str, str], settings: Settings, currency: str
) -> None:
    st.session_state[LISTED] = [_name(each) for each in told]
    zone, number = settings.zone, st.column_config.NumberColumn
    spans = [(to_ns(_instant(each["from"])), to_ns(_instant(each["to"]))) for each in told]
    frame = pl.DataFrame(
        {
            "day": [f"{_instant(each['from']).astimezone(zone):%a %d %b}" for each in told],
            "from": [request_charts.second(start, zone) for start, _ in spans],
            "lasted": [words.span(end - start) for start, end in spans],
            "waited": [each["requests"] for each in told],
            "queued on": [_cards(each["queued"], names) for each in told],
            "stood by": [_cards(each["stood_by"], names) for each in told],
            "cost": [each["cost_nano"] / words.NANO for each in told],
        }
    )
    st.dataframe(
        frame,
        hide_index=True,
        height="auto" if len(told) <= ROWS else 320,
        key=TABLE,
        on_select=_ticked,
        selection_mode="single-row",
        column_config={
            "waited": number("requests waited", format="%,d"),
            "cost": number(f"cost, {currency}", format="%,.4f", help=meanings.HERDING),
        },
    )
    st.caption(
        "Dearest first. Tick a row to open it; by keyboard, Shift and Space tick it. The dearest "
        "is open until then."
    )


def _open(
    told: dict[str, Any], names: dict[str, str], settings: Settings, colours: Palette
) -> None:
    """One episode: what happened on each card of the pool."""
    start, end = to_ns(_instant(told["from"])), to_ns(_instant(told["to"]))
    found = lookups.episode(settings, told["pool"], start, end)
    st.markdown(f"**{said.episode(told, names, settings.zone, start, end)}**", help=meanings.GANTT)
    st.vega_lite_chart(
        kept(episode_chart.gantt)(found, names, settings.zone, colours),
        theme=None,
        key="gantt",
        alt="Requests on each card of the pool over the seconds of the episode",
    )
    phases = [(shade, phase, "") for phase, shade in request_charts.phase_colours(colours).items()]
    stood = f"color-mix(in srgb, {colours.states['stranded']} 30%, {colours.page})"
    st.html(legend.items([*phases, (stood, "stood by", "")], colours))
    day = dt.datetime.fromtimestamp(start // words.NANO, settings.zone).date()
    address = f"requests?month={day:%Y-%m}&day={day}"
    left = f"{words.count(found.left_out, 'request')} more are not drawn. " * bool(found.left_out)
    st.caption(f"{left}[All requests of that day]({address})")


def _chosen(told: list[dict[str, Any]]) -> dict[str, Any]:
    """The episode that was ticked or that the address names, else the dearest."""
    asked = st.query_params.get(OPENED)
    name = st.session_state.get(OPENED) or asked
    chosen = next((each for each in told if _name(each) == name), None)
    if chosen is None:
        st.query_params.pop(OPENED, None)
        return told[0]
    if name != asked:
        st.query_params[OPENED] = str(name)
    return chosen


def _ticked() -> None:
    """A row was ticked, or unticked."""
    rows = st.session_state[TABLE].selection.rows
    st.session_state[OPENED] = st.session_state[LISTED][rows[0]] if rows else None


def _name(told: dict[str, Any]) -> str:
    """An episode's name in the address: its pool and the second in which it began."""
    return f"{told['pool']}/{_instant(told['from']):%Y-%m-%dT%H:%M:%SZ}"


def _instant(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text)


def _cards(cards: list[str], names: dict[str, str]) -> str:
    return ", ".join(names.get(card, card) for card in cards)
