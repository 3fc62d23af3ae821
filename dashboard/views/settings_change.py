"""Forms that change the settings: fill in, look at what it would do, save, undo.

Until `Save` is pressed nothing leaves the page: what-if values live in this browser session.
"""

import datetime as dt
from dataclasses import dataclass
from typing import Any

import streamlit as st

from analytics.preview import Effect
from collector.settings import Settings, SettingsError
from collector.settings_check import Impossible
from collector.settings_edit import Append, Change, Correct, Value
from collector.settings_fields import Setting, tables
from collector.settings_history import Record
from collector.settings_save import Version, candidate, save, undo
from dashboard import loaders, settings_words, what_if
from dashboard.sentences import plain

CORRECT = "Correct an entry"
DRAFT, SAVED, REFUSED, ROUND = "draft", "saved", "refused", "round"


@dataclass
class Draft:
    """A change that is looked at: where its form stands, what it would write, what it would do."""

    place: str
    version: Version
    changes: list[Change]
    text: str
    settings: Settings
    effects: list[Effect] | None = None


def outcome(version: Version) -> None:
    """What became of the last click: saved or undone, with the undo beside it."""
    record: Record | None = st.session_state.get(SAVED)
    if record is not None:
        with st.container(horizontal=True, vertical_alignment="center", key="saved"):
            verb = "Undone" if record.undoes is not None else "Saved"
            st.success(f"{verb}: {plain(record.what.removeprefix('undone: '))}.", width="stretch")
            _, last = what_if.changes(version)
            if last is not None and last.number == record.number:
                undo_button(last, "outcome")
    refused = st.session_state.get(REFUSED)
    if refused is not None and refused[0] == "undo":
        st.error(plain(f"{refused[1]}."))


def table(version: Version, name: str, order: list[int], add: str) -> None:
    """The two ways to change a repeated table; `order` are its entries as they are shown."""
    ways = [add, CORRECT] if order else [add]
    way = st.segmented_control(
        f"Change {name}", ways, key=_key(name, "way"), label_visibility="collapsed"
    )
    if way == add:
        _append(version, name, order)
    elif way == CORRECT:
        _correct(version, name, order)
    _look(name)


def single(version: Version, name: str, key: str, button: str) -> None:
    """The change of one setting of a table that stands once."""
    if st.segmented_control(
        f"Change {name}", [button], key=_key(name, "way"), label_visibility="collapsed"
    ):
        row = getattr(version.settings, name)
        setting = tables()[name][key]
        with st.form(_key(name, "form")):
            value = _field(setting, value_of(row, key), version.settings, _key(name, key))
            if st.form_submit_button("See what it changes", type="primary"):
                _propose(version, name, _differences(name, (name,), row, {setting: value}))
    _look(name)


def value_of(row: Any, key: str) -> Any:
    """A setting of a table by its name in the file."""
    return getattr(row, "from_" if key == "from" else key)


def undo_button(last: Record, where: str) -> None:
    """One click takes the last change back."""
    st.button(
        "Undo",
        key=f"undo_{where}",
        icon=":material/undo:",
        on_click=_undo,
        args=(last.number,),
        help=plain(f"Takes back: {last.what}. The undo is listed with the changes."),
    )


def _append(version: Version, name: str, order: list[int]) -> None:
    rows = getattr(version.settings, name)
    newest = rows[order[-1]] if order and name == "electricity" else None
    with st.form(_key(name, "new")):
        values = _fields(version.settings, name, newest, "new")
        if st.form_submit_button("See what it changes", type="primary"):
            told = {
                setting.key: value
                for setting, value in values.items()
                if value is not None and (setting.required or not is_default(setting, value))
            }
            _propose(version, name, [Append(name, told)])


def _correct(version: Version, name: str, order: list[int]) -> None:
    rows = getattr(version.settings, name)
    index = order[-1]
    if len(order) > 1:
        index = st.selectbox(
            "Entry",
            order[::-1],
            format_func=lambda i: str(value_of(rows[i], tables()[name].settings[0].key)),
            key=_key(name, "entry"),
        )
    with st.form(_key(name, f"entry_{index}")):
        values = _fields(version.settings, name, rows[index], f"old_{index}")
        if st.form_submit_button("See what it changes", type="primary"):
            _propose(version, name, _differences(name, (name, index), rows[index], values))


def _fields(settings: Settings, name: str, row: Any, where: str) -> dict[Setting, Value | None]:
    """The fields of one entry, in two columns."""
    declared = tables()[name].settings
    rows = [st.columns(2) for _ in declared[::2]]
    found = {}
    for number, setting in enumerate(declared):
        with rows[number // 2][number % 2]:
            start = None if row is None else value_of(row, setting.key)
            if row is not None and where == "new" and setting.key == "from":
                start = None
            found[setting] = _field(setting, start, settings, _key(name, f"{where}_{setting.key}"))
    return found


def _field(setting: Setting, value: Any, settings: Settings, key: str) -> Value | None:
    """One input, as the declaration says; it keeps what is typed when the file changes.

    None where a setting without a default is left empty.
    """
    label, text = setting.label(settings.rig.currency), f"{setting.help} ({setting.type})"
    default = setting.default
    if setting.type == "date":
        return _date(setting, value, settings, key)
    if setting.type == "whole number":
        st.session_state.setdefault(key, int(default) if value is None and default else value)
        chosen = st.number_input(label, value=None, step=1, key=key, help=text)
        return None if chosen is None else int(chosen)
    if setting.choices:
        st.session_state.setdefault(key, (default or "").strip('"') if value is None else value)
        return str(st.selectbox(label, setting.choices, key=key, help=text))
    if setting.type.startswith("list of"):
        known = sorted({gpu for engine in settings.engines for gpu in engine.gpus})
        st.session_state.setdefault(key, list(value or []))
        options = list(dict.fromkeys([*known, *st.session_state[key]]))
        return list(
            st.multiselect(
                label, options, key=key, help=text, accept_new_options=True, placeholder="all"
            )
        )
    dated = setting.type.startswith("table of")
    start = settings_words.dated(value or {}) if dated else value
    st.session_state.setdefault(key, (default or "").strip('"') if start is None else start)
    typed = (st.text_input(label, key=key, help=text) or "").strip()
    if dated:
        return settings_words.read_dated(typed)
    return typed or (None if default is None and not setting.required else "")


def _date(setting: Setting, value: Any, settings: Settings, key: str) -> Value | None:
    """A day; one that is needed, or stands for ever by default, begins as today."""
    now = dt.datetime.now(settings.zone).date()
    needed = setting.required or setting.default is not None
    st.session_state.setdefault(key, value or (now if needed else None))
    chosen: Any = st.date_input(
        setting.label(settings.rig.currency),
        value=None,
        key=key,
        help=f"{setting.help} ({setting.type})",
        format="YYYY-MM-DD",
        required=needed,
    )
    return chosen if isinstance(chosen, dt.date) else now if needed else None


def is_default(setting: Setting, value: Value | None) -> bool:
    """Whether a value need not stand in the file."""
    if value is None:
        return setting.default is None
    return setting.default in (f'"{value}"', str(value))


def _differences(
    name: str, place: tuple[str | int, ...], row: Any, values: dict[Setting, Value | None]
) -> list[Change]:
    return [
        Correct((*place, setting.key), value, default=value_of(row, setting.key))
        for setting, value in values.items()
        if value != value_of(row, setting.key)
    ]


def _propose(version: Version, name: str, changes: list[Change]) -> None:
    """Keep a change in mind, or say why it cannot be."""
    st.session_state.pop(DRAFT, None)
    st.session_state.pop(SAVED, None)
    st.session_state.pop(REFUSED, None)
    if not changes:
        st.session_state[REFUSED] = (name, "nothing is different from what the file says")
        return
    try:
        text, settings = candidate(version, changes, dt.datetime.now(version.settings.zone).date())
    except Impossible as error:
        st.session_state[REFUSED] = (name, settings_words.refusal(error.fault))
    except SettingsError as error:
        st.session_state[REFUSED] = (name, plain(f"{error}."))
    else:
        st.session_state[DRAFT] = Draft(name, version, changes, text, settings)


def _look(name: str) -> None:
    """What the change of this section would do, before anything is saved."""
    refused = st.session_state.get(REFUSED)
    if refused is not None and refused[0] == name:
        st.error(refused[1][:1].upper() + refused[1][1:])
    draft: Draft | None = st.session_state.get(DRAFT)
    if draft is None or draft.place != name:
        return
    with st.container(border=True, key=f"preview_{name}"):
        if draft.effects is None:
            try:
                draft.effects = _computed(draft)
            except loaders.UNREADABLE as error:
                st.error(plain(f"What it changes cannot be computed: {error}."))
        if draft.effects is not None:
            st.markdown(settings_words.effect(draft.effects, draft.settings.rig.currency))
        st.caption(settings_words.reach(draft.changes))
        st.code(settings_words.lines(draft.version.text or "", draft.text), language="diff")
        with st.container(horizontal=True):
            st.button("Save", type="primary", key=f"save_{name}", on_click=_save)
            st.button("Discard", key=f"discard_{name}", on_click=_discard)


def _computed(draft: Draft) -> list[Effect]:
    """Both sides of each month, with the progress in sight."""
    bar = st.progress(0.0, "Reading the ledger …")

    def show(built: int, days: int) -> None:
        bar.progress(built / days, f"Computing what it changes: {built} of {days} days")

    found = list(what_if.effects(draft.version.settings, draft.settings, show))
    bar.empty()
    return found


def _save() -> None:
    draft: Draft = st.session_state.pop(DRAFT)
    try:
        now = dt.datetime.now(draft.settings.zone)
        st.session_state[SAVED] = save(draft.version, draft.changes, now)
    except SettingsError as error:
        st.session_state[REFUSED] = (draft.place, plain(f"{error}."))
    else:
        st.session_state[ROUND] = st.session_state.get(ROUND, 0) + 1


def _discard() -> None:
    st.session_state.pop(DRAFT, None)
    st.session_state[ROUND] = st.session_state.get(ROUND, 0) + 1


def _undo(number: int) -> None:
    for name in (DRAFT, SAVED, REFUSED):
        st.session_state.pop(name, None)
    try:
        version = what_if.version()
        now = dt.datetime.now(version.settings.zone)
        st.session_state[SAVED] = undo(version, number, now)
    except SettingsError as error:
        st.session_state[REFUSED] = ("undo", str(error))
    st.session_state[ROUND] = st.session_state.get(ROUND, 0) + 1


def _key(name: str, part: str) -> str:
    """Forms start anew after each save; until then they keep what is typed."""
    return f"{name}_{part}_{st.session_state.get(ROUND, 0)}"
