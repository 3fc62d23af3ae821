"""What if: sliders over the month's figures, and what was given a name, beside each other.

Nothing here touches the books. A slider's value stands in the address, a named what-if in a file of
its own (`collector.scenarios`).
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import polars as pl
import streamlit as st

from analytics.breakeven import UsedDay
from analytics.what_if import Change, figures, levels, parsed
from analytics.wording import covered
from collector import scenarios
from collector.scenarios import Scenario
from collector.settings_file import DEFAULT
from collector.settings_types import SettingsError
from dashboard import loaders, meanings, scenario_chart, scenario_meanings, scenario_words, words
from dashboard.palette import Palette
from dashboard.scenario_words import ABOVE, MEASURED, Slider
from dashboard.sentences import plain, whose
from dashboard.views.kept import kept

TROUBLE, NAME, NEW_NAME, CHOSEN = "scenario_trouble", "scenario_name", "scenario_new", "scenario"


def show(
    day: UsedDay | None, found: Mapping[str, Any], sheet: Mapping[str, Any], colours: Palette
) -> None:  # fmt: skip
    """The sliders with their figures, and the named what-ifs."""
    st.subheader("What if?", anchor=False, help=scenario_meanings.WHAT_IF)
    if day is None:
        st.markdown(
            "It takes requests with output tokens, and electricity that is read and priced, to "
            "tell what other hours or prices would make of this month."
        )
        return
    currency, month = found["currency"], found["period"]["name"]
    st.markdown(
        "Move a slider: all else stays as measured, and nothing changes in the books or the "
        "settings."
    )
    asked = _asked()
    drawn = scenario_words.sliders(levels(day), currency, asked)
    moved = _sliders(drawn, month, asked)
    told = figures(day, sheet, parsed(moved))
    _tiles(told, sheet, currency)
    try:
        stored = scenarios.kept(_config())
    except SettingsError as error:
        st.error(plain(f"{error}."))
        return
    _keep(moved, drawn, month)
    _trouble()
    if stored:
        now = {ABOVE: parsed(moved)} if moved and not _among(moved, stored) else {}
        named = {each.name: parsed(_texts(each)) for each in stored}
        rows = {MEASURED: Change(), **now, **named}
        _beside(
            {name: figures(day, sheet, change) for name, change in rows.items()},
            sheet, currency, colours,
        )  # fmt: skip
        _manage(stored, drawn, month)


def _config() -> Path:
    return (loaders.config_path() or DEFAULT).absolute()


def _texts(scenario: Scenario) -> dict[str, str]:
    """What a scenario changes, by name."""
    told = {name: getattr(scenario, name) for name in scenarios.CHANGES}
    return {name: value for name, value in told.items() if value is not None}


def _among(moved: Mapping[str, str], stored: list[Scenario]) -> bool:
    return any(parsed(_texts(each)) == parsed(moved) for each in stored)


def _asked() -> dict[str, float]:
    """What the address asks the sliders for."""
    told = {n: scenario_words.asked(n, st.query_params.get(n)) for n in scenarios.CHANGES}
    return {name: value for name, value in told.items() if value is not None}


def _key(name: str, month: str) -> str:
    # Where a slider starts is the month's own; another month has another slider.
    return f"{name}_{month}"


def _sliders(drawn: list[Slider], month: str, asked: Mapping[str, float]) -> dict[str, str]:
    """Draw them; returns those that do not stand where they start, as decimal texts."""
    moved = {}
    for place, slider in zip(st.columns(len(drawn)), drawn, strict=True):
        key = _key(slider.name, month)
        if key not in st.session_state:
            st.session_state[key] = asked.get(slider.name, slider.start)
        value = place.slider(
            slider.label, slider.low, slider.high, step=slider.step, format=slider.format,
            key=key, help=slider.meaning,
        )  # fmt: skip
        told = slider.moved(value)
        if told is not None:
            moved[slider.name] = told
            if st.query_params.get(slider.name) != told:
                st.query_params[slider.name] = told
        elif slider.name in st.query_params:
            del st.query_params[slider.name]
    return moved


def _tiles(told: Mapping[str, Any], sheet: Mapping[str, Any], currency: str) -> None:
    price, saved, even = st.columns(3, vertical_alignment="bottom")
    price.metric(
        f"{currency} per million, then",
        words.headline(told["full_nano_per_mtok"]),
        help=scenario_meanings.IF_PRICE,
    )
    label, figure = scenario_words.tile(told, sheet, currency)
    saved.metric(label, figure, help=scenario_meanings.IF_SAVED)
    even.metric(
        "even at hours a day, then",
        scenario_words.even(told),
        help=scenario_meanings.IF_EVEN,
    )


def _keep(moved: Mapping[str, str], drawn: list[Slider], month: str) -> None:
    """The name for what the sliders say, and the way back."""
    with st.container(horizontal=True, vertical_alignment="bottom", key="keep_scenario"):
        st.text_input(
            "Name of the scenario", key=NAME, max_chars=scenarios.NAME_MOST, width=300,
            placeholder="twice the hours",
        )  # fmt: skip
        st.button(
            "Keep it", disabled=not moved, on_click=_do, args=(_saved, dict(moved)),
            help="Keeps the sliders under this name, in a file beside the settings.",
        )  # fmt: skip
        st.button("Back to what was measured", disabled=not moved, on_click=_to,
                  args=({}, drawn, month))  # fmt: skip


def _saved(moved: Mapping[str, str]) -> None:
    scenarios.save(_config(), Scenario(name=st.session_state[NAME] or "", **moved))
    st.session_state[NAME] = ""


def _do(change: Callable[..., None], *arguments: Any) -> None:
    """Make a change of the file; what keeps it from being made is told at the next run."""
    try:
        change(*arguments)
    except SettingsError as error:
        st.session_state[TROUBLE] = str(error)


def _trouble() -> None:
    told = st.session_state.pop(TROUBLE, None)
    if told is not None:
        st.error(plain(f"{told[:1].upper()}{told[1:]}."))


def _to(texts: Mapping[str, str], drawn: list[Slider], month: str) -> None:
    """Put the sliders where a scenario has them, or where they start."""
    for slider in drawn:
        told = texts.get(slider.name)
        st.session_state.pop(_key(slider.name, month), None)
        if told is None:
            st.query_params.pop(slider.name, None)
        else:
            st.query_params[slider.name] = told


def _beside(
    told: Mapping[str, dict[str, Any]], sheet: Mapping[str, Any], currency: str, colours: Palette
) -> None:
    """The scenarios as a table and as a picture, the month as it was on top."""
    number = st.column_config.NumberColumn
    columns: dict[str, Any] = {
        "scenario": st.column_config.TextColumn("scenario"),
        "hours": number("hours a day", format="%,.2f", help=scenario_meanings.IF_HOURS),
        "hardware": number(
            f"hardware, {currency}", format="%,.2f", help=scenario_meanings.IF_HARDWARE
        ),
        "kwh": number(f"a kWh, {currency}", format="%,.3f", help=scenario_meanings.IF_KWH),
        "price": number(f"{currency} per million", format="%,.2f", help=scenario_meanings.IF_PRICE),
        "cost": number(f"cost, {currency}", format="%,.2f", help=meanings.COST),
        "bill": number(f"API bill, {currency}", format="%,.2f", help=meanings.API),
        "saved": number(f"saved, {currency}", format="%,.2f", help=scenario_meanings.IF_SAVED),
        "even": st.column_config.TextColumn("even at hours a day", help=scenario_meanings.IF_EVEN),
    }
    rows = [scenario_words.row(name, figures) for name, figures in told.items()]
    frame = pl.DataFrame({name: [row[name] for row in rows] for name in columns}, strict=False)
    st.dataframe(
        frame, hide_index=True, column_config=columns, placeholder=words.UNKNOWN, key="scenarios"
    )
    bars = [(n, each["full_nano_per_mtok"]) for n, each in told.items()]
    there = next(iter(told.values()))["bill_nano_per_mtok"]
    st.vega_lite_chart(
        kept(scenario_chart.prices)(
            [(name, nano) for name, nano in bars if nano is not None],
            None if there is None else (whose(sheet), there),
            currency,
            colours,
        ),
        theme=None,
        key="scenario_prices",
        alt="Full price per million output tokens of each scenario, and the API's as a line",
    )
    if there is not None:
        where = f"{covered(sheet)} at {plain(sheet['sheet'])}"
        st.caption(f"The line is {where}: {words.headline(there)}.")


def _manage(stored: list[Scenario], drawn: list[Slider], month: str) -> None:
    """Show one on the sliders, rename it, delete it."""
    names = [each.name for each in stored]
    if st.session_state.get(CHOSEN) not in names:
        st.session_state.pop(CHOSEN, None)
    with st.container(horizontal=True, vertical_alignment="bottom", key="manage_scenario"):
        chosen = st.selectbox("Scenario", names, key=CHOSEN, width=240)
        (one,) = [each for each in stored if each.name == chosen]
        st.button("Show on the sliders", on_click=_to, args=(_texts(one), drawn, month))
        st.button("Delete", on_click=_do, args=(scenarios.delete, _config(), chosen))
        st.text_input("New name", key=NEW_NAME, max_chars=scenarios.NAME_MOST, width=240)
        st.button("Rename", on_click=_do, args=(_renamed, chosen))


def _renamed(name: str) -> None:
    new = st.session_state[NEW_NAME] or ""
    scenarios.rename(_config(), name, new)
    st.session_state[NEW_NAME], st.session_state[CHOSEN] = "", new.strip()
