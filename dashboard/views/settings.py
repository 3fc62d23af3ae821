"""Settings: what do I assume. The answer first, then each kind of assumption and its changes."""

import datetime as dt
from collections.abc import Callable
from typing import Any

import polars as pl
import streamlit as st

from collector.settings import Settings, SettingsError
from collector.settings_fields import Setting, tables
from collector.settings_save import Version
from collector.settings_types import without_user
from dashboard import loaders, meanings, settings_words, what_if, words
from dashboard.sentences import plain
from dashboard.views import settings_change as change
from dashboard.views.places import four_places

REFRESH_S = 15


def run(header: Callable[[Settings], object]) -> None:
    """Read the file and draw the page under its header."""
    try:
        version = what_if.version()
    except SettingsError as error:
        broken(error)
        return
    header(version.settings)
    page(version)


def page(version: Version) -> None:
    """Draw the page over one version of the file."""
    settings = version.settings
    change.outcome(version)
    answer(settings)
    hardware(version)
    electricity(version)
    other_costs(version)
    usage(version)
    st.subheader("Where the figures come from", anchor=False, help=meanings.SOURCES)
    st.fragment(sources, run_every=REFRESH_S)(settings)
    the_rest(version)
    history(version)


def broken(error: SettingsError) -> None:
    """The file cannot be read, so nothing is shown and nothing can be overwritten."""
    st.subheader("The settings file cannot be used", anchor=False)
    st.error(plain(f"{error}."))
    st.markdown("Mend it with a text editor, then reload this page. Nothing is saved until then.")


def today(settings: Settings) -> dt.date:
    """The present day in the rig's zone."""
    return dt.datetime.now(settings.zone).date()


def answer(settings: Settings) -> None:
    """What is assumed, in words and in four figures."""
    lost = what_if.value_lost_today_nano(settings)
    tariff = settings_words.in_force(settings, today(settings))
    currency = settings.rig.currency
    with st.container(key="assumed", gap="small"):
        st.caption(f"What do I assume? · amounts in {currency} · days in {settings.rig.time_zone}")
        st.markdown(settings_words.assumed(settings, lost, today(settings)))
    figures = (
        (
            f"{currency} of value lost a day",
            words.headline(lost) if settings.hardware else words.UNKNOWN,
            meanings.VALUE_LOST,
        ),
        (
            f"{currency} per kWh",
            settings_words.price(tariff),
            meanings.TARIFF,
        ),
        ("W of host power", settings_words.host_power(settings, tariff), meanings.HOST),
        ("active gap", words.minutes(settings.usage.active_gap_ns), meanings.GAP),
    )
    for place, (label, value, meaning) in zip(four_places(), figures, strict=True):
        place.metric(label, value, help=meaning)


def hardware(version: Version) -> None:
    """The assets, oldest first."""
    settings = version.settings
    st.subheader("Hardware", anchor=False, help=meanings.CAPITAL)
    order = sorted(range(len(settings.hardware)), key=lambda i: settings.hardware[i].in_service)
    if order:
        st.markdown("What each asset loses in value over its life, or costs in rent.")
        entries(settings, "hardware", [settings.hardware[i] for i in order])
    else:
        st.markdown("No hardware yet: the rig itself counts as free.")
    change.table(version, "hardware", order, add="Add what was bought")


def electricity(version: Version) -> None:
    """The tariffs, oldest first."""
    settings = version.settings
    st.subheader("Electricity", anchor=False, help=meanings.TARIFF)
    order = sorted(range(len(settings.electricity)), key=lambda i: settings.electricity[i].from_)
    if order:
        st.markdown("Each entry counts from its day on, until the next one begins.")
        entries(settings, "electricity", [settings.electricity[i] for i in order])
    else:
        st.markdown("No electricity price yet: energy is measured, but not priced.")
    change.table(version, "electricity", order, add="New price from a day on")


def other_costs(version: Version) -> None:
    """What is paid for beside hardware and electricity."""
    settings = version.settings
    st.subheader("Other costs", anchor=False, help=meanings.OTHER)
    order = sorted(range(len(settings.other_costs)), key=lambda i: settings.other_costs[i].from_)
    if order:
        st.markdown("All cards share them, by their time in service.")
        entries(settings, "other_costs", [settings.other_costs[i] for i in order])
    else:
        st.markdown("None: no internet, space, maintenance or cost of capital is counted.")
    change.table(version, "other_costs", order, add="Add a cost")


def usage(version: Version) -> None:
    """When the rig counts as in use."""
    settings = version.settings
    st.subheader("Active hours", anchor=False, help=meanings.GAP)
    st.markdown(
        f"A pause shorter than **{words.minutes(settings.usage.active_gap_ns)}** belongs to active "
        "hours: the cards are kept ready. A longer one is idle time."
    )
    change.single(version, "usage", "active_gap", button="Change the gap")


def entries(settings: Settings, table: str, rows: list[Any]) -> None:
    """The entries of a repeated table, each column with its unit and its help.

    A column without anything but defaults is left out.
    """
    shown = [
        s
        for s in tables()[table].settings
        if s.required or not all(change.is_default(s, change.value_of(row, s.key)) for row in rows)
    ]
    st.dataframe(
        pl.DataFrame({s.key: [_cell(row, s.key) for row in rows] for s in shown}),
        hide_index=True,
        column_config={s.key: _column(s, settings.rig.currency) for s in shown},
        placeholder="not set",
        key=f"entries_{table}",
    )


def _cell(row: Any, key: str) -> Any:
    value = change.value_of(row, key)
    return settings_words.dated(value) if isinstance(value, dict) else value


def _column(setting: Setting, currency: str) -> Any:
    label = setting.label(currency)
    if setting.type == "date":
        return st.column_config.DateColumn(label, help=setting.help, format="YYYY-MM-DD")
    if setting.type == "whole number":
        return st.column_config.NumberColumn(label, help=setting.help, format="%,d")
    if setting.type.startswith("list of"):
        return st.column_config.ListColumn(label, help=setting.help)
    # Amounts and shares stay the text that they are in the file: no digit is rounded away.
    side: Any = "right" if setting.type in ("amount", "share from 0 to 1") else "left"
    return st.column_config.TextColumn(label, help=setting.help, alignment=side)


def sources(settings: Settings) -> None:
    """The collector, the engines, the cards and the meters, each with its last word."""
    told = what_if.health(settings.collector.listen, settings)
    named = {gpu for engine in settings.engines for gpu in engine.gpus}
    meters = {meter.name: without_user(meter.url) for meter in settings.meters}
    ages = told.sample_age_s
    silent = [] if told.trouble else sorted((named | meters.keys()) - ages.keys())
    cards = sorted((ages.keys() | named) - meters.keys())
    names = loaders.card_names(settings, cards)
    engines = {engine.name: without_user(engine.url) for engine in settings.engines}
    st.markdown(settings_words.sources(told, silent, meters))
    rows = [
        ("engine", name, _state(told.engine_up.get(name)), engines.get(name, "not in the settings"))
        for name in sorted(engines | told.engine_up)
    ]
    rows += [("card", names[card], *_reading(ages.get(card), card)) for card in cards]
    rows += [("meter", name, *_reading(ages.get(name), url)) for name, url in meters.items()]
    if rows:
        frame = pl.DataFrame(rows, schema=["what", "name", "health", "where"], orient="row")
        st.dataframe(frame, hide_index=True, key="sources")


def _state(up: bool | None) -> str:
    return "● up" if up else "? not checked yet" if up is None else "○ down"


def _reading(age_s: float | None, card: str) -> tuple[str, str]:
    if age_s is None:
        return "? no reading yet", card
    sign = "○" if age_s > settings_words.SILENT_S else "●"
    return f"{sign} read {settings_words.age(age_s)}", card


def the_rest(version: Version) -> None:
    """Every setting that stands once, with its meaning; the file itself is their editor."""
    settings = version.settings
    with st.expander("Everything else in the file"):
        st.markdown(
            f"These stand in `{version.path}` and are edited there; addresses and folders take "
            "effect at the next start."
        )
        rows = [
            (f"{table.name}.{s.key}", _shown(getattr(settings, table.name), s.key), s.help)
            for table in tables().values()
            if not table.repeated and table.name != "usage"
            for s in table.settings
        ]
        frame = pl.DataFrame(rows, schema=["setting", "value", "meaning"], orient="row")
        st.dataframe(frame, hide_index=True, height="content", key="rest")


def _shown(row: Any, key: str) -> str:
    value = change.value_of(row, key)
    return "none" if value is None else str(value)


def history(version: Version) -> None:
    """What this page has changed, newest first, and the undo of the last change."""
    records, last = what_if.changes(version)
    if not records:
        return
    st.subheader("Changes", anchor=False, help=meanings.CHANGES)
    st.markdown("What was changed on this page, the newest first.")
    zone = version.settings.zone
    rows = [
        (record.at.astimezone(zone).strftime("%Y-%m-%d %H:%M"), record.what) for record in records
    ]
    frame = pl.DataFrame(rows, schema=["when", "what"], orient="row")
    height: Any = "auto" if frame.height <= 10 else 388
    st.dataframe(frame, hide_index=True, height=height, key="changes")
    if last is not None:
        change.undo_button(last, "history")
    elif any(record.undoes is None for record in records):
        st.caption("Nothing to undo: all is undone, or the file was edited by hand since.")
