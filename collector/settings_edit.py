"""Edits the text of `rigledger.toml` so that nothing but the edited setting changes.

The text is cut into statements (a header, a `key = value`, over one line or several), and one of
them is renewed or a new one put between them; every other line stays as it is. TOML Kit renews a
statement; over a whole file it moves comments and tables that stand apart, so it never sees one.
The result must hold exactly the old settings and the change, or it is refused.
"""

import datetime as dt
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import tomlkit

from collector.settings import SettingsError

Value = str | int | dt.date | list[str] | dict[str, str]
Path = tuple[str | int, ...]
_LINE = re.compile(r"[^\n]*\n|[^\n]+")


class NotEditable(SettingsError):
    """The file is written in a way that cannot be edited without touching more than is asked."""


@dataclass(frozen=True)
class Append:
    """A new entry of a repeated table, `values` by key; the entries before it stay."""

    table: str
    values: Mapping[str, Value]


@dataclass(frozen=True)
class Correct:
    """Another value for one setting, like ("hardware", 0, "price"); a comment keeps the old one.

    None takes the setting out. `default` is the value in force where the file has none. Without
    `remark` no comment is left: for what the program itself sets.
    """

    place: Path
    value: Value | None
    default: Value | None = None
    remark: bool = True


Change = Append | Correct


@dataclass(frozen=True)
class _Statement:
    """Lines [start, end); `at`: the table they stand in, or the header's own; `told`: its data."""

    start: int
    end: int
    at: Path
    header: bool
    told: dict[str, Any]


def edited(text: str, changes: Sequence[Change], day: dt.date) -> str:
    """The text with the changes made, in order; `day` is written into the comments.

    `text` must be TOML. Raises NotEditable.
    """
    for change in changes:
        expected = _expected(tomllib.loads(text), change)
        text = _append(text, change) if isinstance(change, Append) else _correct(text, change, day)
        try:
            made = tomllib.loads(text)
        except tomllib.TOMLDecodeError:
            made = {}
        if made != expected:
            raise NotEditable(
                f"{_name(change)} cannot be edited in place in the way it is written; "
                "edit rigledger.toml by hand"
            )
    return text


def toml(value: Value) -> str:
    """A value as it is written in the file, on one line."""
    return str(_item(value).as_string())


def _item(value: Value) -> Any:
    if not isinstance(value, dict):
        return tomlkit.item(value)
    table = tomlkit.inline_table()
    table.update(value)
    return table


def told(change: Change, text: str) -> str:
    """A change of this text in words, as the history tells it.

    `hardware box: price 17000 → 15000`, `new electricity: from 2026-12-01, price_per_kwh 0.31`.
    """
    if isinstance(change, Append):
        values = ", ".join(f"{key} {_shown(value)}" for key, value in change.values.items())
        return f"new {change.table}: {values}"
    *inside, key = change.place
    entry = _descend(tomllib.loads(text), inside)
    names = [str(part) for part in inside if isinstance(part, str)]
    which = "" if not isinstance(inside[-1], int) else entry.get("name", entry.get("from", ""))
    old = _shown(entry[key]) if key in entry else "not set"
    return f"{'.'.join(names)}{f' {which}' if which else ''}: {key} {old} → {_shown(change.value)}"


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {each}" for key, each in value.items())
    if value is None:
        return "not set"
    return ", ".join(value) if isinstance(value, list) else str(value)


def _name(change: Change) -> str:
    if isinstance(change, Append):
        return f"[[{change.table}]]"
    return "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in change.place)[1:]


def _expected(raw: dict[str, Any], change: Change) -> dict[str, Any]:
    made = deepcopy(raw)
    if isinstance(change, Append):
        *parents, last = change.table.split(".")
        _descend(made, parents).setdefault(last, []).append(dict(change.values))
        return made
    home = _descend(made, change.place[:-1])
    if change.value is None:
        home.pop(change.place[-1], None)
    else:
        home[change.place[-1]] = change.value
    return made


def _descend(raw: dict[str, Any], path: Sequence[str | int]) -> Any:
    here: Any = raw
    for part in path:
        here = here[part] if isinstance(part, int) else here.setdefault(part, {})
    return here


def _append(text: str, change: Append) -> str:
    lines, newline = _lines(text)
    table = tuple(change.table.split("."))
    found = list(_statements(lines))
    inline = _holder(found, table)
    if inline is not None:
        document = tomlkit.parse("".join(lines[inline.start : inline.end]))
        entry = tomlkit.inline_table()
        entry.update({key: _item(value) for key, value in change.values.items()})
        _descend(document, table[len(inline.at) :]).append(entry)
        return _spliced(lines, inline.start, inline.end, tomlkit.dumps(document))
    entry_lines = [f"[[{change.table}]]", *(f"{k} = {toml(v)}" for k, v in change.values.items())]
    own = [s for s in found if s.at[: len(table)] == table and len(s.at) > len(table)]
    at = _after(lines, own[-1], found) if own else len(lines)
    above = [""] if at else []
    below = ["", ""] if at < len(lines) and lines[at].strip() else [""]
    return _spliced(lines, at, at, newline.join([*above, *entry_lines, *below]), newline)


def _correct(text: str, change: Correct, day: dt.date) -> str:
    lines, newline = _lines(text)
    found = list(_statements(lines))
    inside, key = change.place[:-1], str(change.place[-1])
    holder = _holder(found, change.place) or _holder(found, inside)
    if change.value is None:
        return _taken_out(lines, newline, holder, change, day)
    if holder is None:
        header = f"[{'.'.join(str(part) for part in inside)}]"
        made = [header, *_remark(change, None, day), f"{key} = {toml(change.value)}", ""]
        start = [""] if lines else []
        return _spliced(lines, len(lines), len(lines), newline.join(start + made), newline)
    if holder.header:
        mine = [s for s in found if s.at == holder.at]
        at = mine[-1].end
        indent = _indent(lines[mine[-1].start])
        made = [*_remark(change, None, day), f"{key} = {toml(change.value)}"]
        return _spliced(lines, at, at, "".join(f"{indent}{m}{newline}" for m in made), newline)
    statement = "".join(lines[holder.start : holder.end])
    document = tomlkit.parse(statement)
    home = _descend(document, change.place[len(holder.at) : -1])
    old = _plain(home.get(key))
    home[key] = _item(change.value)
    indent = _indent(statement)
    remark = "".join(f"{indent}{line}{newline}" for line in _remark(change, old, day))
    return _spliced(lines, holder.start, holder.end, remark + tomlkit.dumps(document), newline)


def _taken_out(
    lines: list[str], newline: str, holder: _Statement | None, change: Correct, day: dt.date
) -> str:
    if holder is None or holder.header:
        return "".join(lines)
    statement = "".join(lines[holder.start : holder.end])
    document = tomlkit.parse(statement)
    home, key = _descend(document, change.place[len(holder.at) : -1]), change.place[-1]
    remark = _remark(change, _plain(home.pop(key)), day)
    kept = "".join(f"{_indent(statement)}{line}{newline}" for line in remark)
    return _spliced(lines, holder.start, holder.end, kept + tomlkit.dumps(document), newline)


def _remark(change: Correct, old: Value | None, day: dt.date) -> list[str]:
    if not change.remark:
        return []
    key = change.place[-1]
    if old is not None:
        before = f"was {toml(old)}"
    else:
        before = "was not set"
        before += "" if change.default is None else f", which meant {toml(change.default)}"
    return [f"# corrected {day}: {key} {before}"]


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t"))]


def _plain(value: Any) -> Any:
    return value.unwrap() if hasattr(value, "unwrap") else value


def _spliced(lines: list[str], start: int, end: int, made: str, newline: str = "\n") -> str:
    before = "".join(lines[:start])
    if before and not before.endswith("\n"):
        before += newline
    return before + made + "".join(lines[end:])


def _lines(text: str) -> tuple[list[str], str]:
    """Lines with their ends, and the end that a new line takes."""
    lines = _LINE.findall(text)
    return lines, "\r\n" if lines and lines[0].endswith("\r\n") else "\n"


def _after(lines: list[str], last: _Statement, found: list[_Statement]) -> int:
    """Where an entry ends whose last statement this is: its own comments stay with it.

    Comments right below belong to it, unless the next statement follows on them without a gap.
    """
    at = last.end
    while at < len(lines) and lines[at].lstrip().startswith("#"):
        at += 1
    return last.end if any(statement.start == at for statement in found) else at


def _holder(found: list[_Statement], path: Path) -> _Statement | None:
    """The statement that tells what lies at a path: a `key = value` before a header."""
    for statement in found:
        rest = path[len(statement.at) :]
        if not statement.header and path[: len(statement.at)] == statement.at and rest:
            here: Any = statement.told
            for part in rest:
                held = isinstance(here, dict) and part in here
                if not held and not (isinstance(here, list) and part in range(len(here))):
                    break
                here = here[part]
            else:
                return statement
    return next((s for s in found if s.header and s.at == path), None)


def _statements(lines: list[str]) -> Iterator[_Statement]:
    """Every header and `key = value` with its place; blank lines and comments are left out.

    A statement ends where the lines from its start on are TOML by themselves.
    """
    here: Path = ()
    counts: dict[Path, int] = {}
    start = 0
    while start < len(lines):
        if lines[start].strip() == "" or lines[start].lstrip().startswith("#"):
            start += 1
            continue
        end, told = _whole(lines, start)
        header = lines[start].lstrip().startswith("[")
        if header:
            here = _place(told, lines[start].lstrip().startswith("[["), counts)
        yield _Statement(start, end, here, header, told)
        start = end


def _whole(lines: list[str], start: int) -> tuple[int, dict[str, Any]]:
    for end in range(start + 1, len(lines) + 1):
        try:
            return end, tomllib.loads("".join(lines[start:end]))
        except tomllib.TOMLDecodeError:
            continue
    raise NotEditable(f"line {start + 1} cannot be told apart; edit rigledger.toml by hand")


def _place(told: dict[str, Any], repeated: bool, counts: dict[Path, int]) -> Path:
    """The path of a header; entries of repeated tables are counted in `counts`."""
    names: list[str] = []
    here: Any = told
    while here:
        here = here[0] if isinstance(here, list) else here
        if not here:
            break
        name = next(iter(here))
        names.append(name)
        here = here[name]
    path: Path = ()
    for depth, name in enumerate(names):
        path = (*path, name)
        if repeated and depth == len(names) - 1:
            counts[path] = counts.get(path, -1) + 1
        if path in counts:
            path = (*path, counts[path])
    return path
