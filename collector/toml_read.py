"""Reads TOML strictly into structs: every refusal names file, line, key and remedy."""

import difflib
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from typing import Any, TypeVar, get_args

import msgspec

from collector.settings_check import Fault, Impossible
from collector.settings_syntax import HEADER, told
from collector.settings_types import SettingsError

T = TypeVar("T", bound=msgspec.Struct)
_KEY = re.compile(r"^\s*([\w\-]+|\"[^\"]*\"|'[^']*')\s*(?:\.[^=]*)?=")
_STEP = re.compile(r"\.?([\w\-]+)|\[(\d+)\]|\[\.\.\.\]")

_BY_TYPE = {
    "str": "write text in quotes",
    "int": "write a whole number without quotes",
    "array": "write a list in square brackets",
    "object": "write it as a table",
    "date": "write a date without quotes, like 2026-10-01",
}
_KINDS = {
    "str": "text",
    "int": "a whole number",
    "float": "a number with decimals",
    "bool": "true or false",
    "array": "a list",
    "object": "a table",
    "date": "a date",
    "datetime": "a date with a time",
}


def read_toml(
    text: str, name: str, struct: type[T], remedies: Mapping[str, str]
) -> tuple[T, Callable[[Fault], Impossible]]:
    """The struct that the text holds, and what makes a refusal of a later fault, with its line.

    `name` stands for the file; `remedies` say what to write instead, by key.
    Raises SettingsError: Impossible for a key or value, itself for text that is no TOML.
    """
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line, what = told(str(error), text)
        raise SettingsError(f"{name}:{line}: {what}") from None

    def refusal(fault: Fault) -> Impossible:
        return Impossible(_placed(fault, _lines(text), name), fault)

    message = _complaint(raw, struct)
    if message is not None:
        raise refusal(_fault(message, raw, struct, remedies))
    return msgspec.convert(raw, struct, strict=True), refusal


def _complaint(raw: dict[str, Any], struct: type[msgspec.Struct]) -> str | None:
    try:
        msgspec.convert(raw, struct, strict=True)
    except msgspec.ValidationError as error:
        return str(error)
    return None


def _placed(fault: Fault, lines: dict[tuple[str | int, ...], int], name: str) -> str:
    where = fault.path
    while where and where not in lines:
        where = where[:-1]
    line = lines.get(where, 1)
    key = ".".join(part for part in fault.path if isinstance(part, str))
    return f"{name}:{line}: {key}: {fault.what}; {fault.remedy}"


def _fault(
    message: str, raw: dict[str, Any], struct: type[msgspec.Struct], remedies: Mapping[str, str]
) -> Fault:
    """Turn the validator's words into a place and a remedy."""
    what, _, place = message.replace(" - at `key` in `", " - at `").partition(" - at `$")
    steps = [
        name or (int(index) if index else ...) for name, index in _STEP.findall(place.rstrip("`"))
    ]
    path = tuple(_named(steps, raw, struct))
    unknown = re.match(r"Object contains unknown field `(.*)`", what)
    if unknown:
        return Fault((*path, unknown[1]), "unknown key", _known(unknown[1], path, struct))
    missing = re.match(r"Object missing required field `(.*)`", what)
    if missing:
        remedy = _remedy((missing[1],), "", remedies)
        return Fault((*path, missing[1]), "missing", f"add it; {remedy}")
    return _brackets(path, what) or Fault(
        path, _plain(what, _at(raw, path)), _remedy(path, what, remedies)
    )


def _named(
    steps: list[Any], raw: dict[str, Any], struct: type[msgspec.Struct]
) -> Iterator[str | int]:
    """The steps of a path, each that the validator calls `...` by the key that it does not like."""
    trial = deepcopy(raw)
    table: Any = trial
    for step in steps:
        name = step
        if step is ...:
            if not isinstance(table, dict):
                return
            whole = dict(table)
            for name, value in whole.items():
                table.clear()
                table[name] = value
                if _complaint(trial, struct):
                    break
        yield name
        table = table[name]


def _brackets(path: tuple[str | int, ...], what: str) -> Fault | None:
    """A table in brackets where its list was meant, or the other way round."""
    kinds = re.match(r"Expected `(\w+)`, got `(\w+)`", what)
    name = ".".join(str(part) for part in path)
    if kinds and kinds.groups() == ("array", "object"):
        return Fault(path, "this table can be repeated", f"write [[{name}]] with two brackets")
    if kinds and kinds.groups() == ("object", "array"):
        return Fault(path, "there is one such table", f"write [{name}] with one bracket")
    return None


def _plain(what: str, value: Any) -> str:
    # What is neither text nor number is told by its kind, below.
    shown = repr(value) if isinstance(value, str | int | float) else "this"
    kinds = re.match(r"Expected `(\w+)[^`]*`, got `(\w+)`", what)
    if kinds:
        got, meant = (_KINDS.get(kinds[n], kinds[n]) for n in (2, 1))
        return f"{shown} is {got}, not {meant}"
    limit = re.match(r"Expected `int` (>=|<=) (-?\d+)", what)
    if limit:
        return f"{shown} must be {limit[1]} {limit[2]}"
    return f"{shown} is not possible here"


def _remedy(path: tuple[str | int, ...], what: str, remedies: Mapping[str, str]) -> str:
    names = [part for part in path if isinstance(part, str)]
    # The key in its table, the key, or the table whose keys are dates.
    for name in (".".join(names), *names[:-3:-1]):
        if name in remedies:
            return remedies[name]
    kind = re.search(r"`(\w+)", what)
    return _BY_TYPE.get(kind[1] if kind else "str", "see the example in README.md")


def _known(key: str, path: tuple[str | int, ...], struct: Any) -> str:
    for part in path:
        if isinstance(part, str) and isinstance(struct, type):
            struct = _struct_of(struct, part)
    names = [f.encode_name for f in msgspec.structs.fields(struct)]
    close = difflib.get_close_matches(key, names, n=1)
    return f"did you mean {close[0]!r}?" if close else f"known here: {', '.join(names)}"


def _struct_of(struct: Any, key: str) -> Any:
    """The struct of a field, whether it holds one, a list or a table of them."""
    fields = {f.encode_name: f.type for f in msgspec.structs.fields(struct)}
    return next(_structs(fields[key]), struct) if key in fields else struct


def _structs(hint: Any) -> Iterator[Any]:
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        yield hint
    for part in get_args(hint):
        yield from _structs(part)


def _at(raw: Any, path: tuple[str | int, ...]) -> Any:
    for part in path:
        raw = raw[part]
    return raw


def _lines(text: str) -> dict[tuple[str | int, ...], int]:
    """The line of every table header and key, by its path from the root."""
    found: dict[tuple[str | int, ...], int] = {}
    newest: dict[tuple[str | int, ...], int] = {}
    table: tuple[str | int, ...] = ()
    for number, line in enumerate(text.splitlines(), start=1):
        header, key = HEADER.match(line), _KEY.match(line)
        if header:
            table = _within(header[2], newest)
            if header[1] == "[[":
                found.setdefault(table, number)
                newest[table] = newest.get(table, -1) + 1
                table = (*table, newest[table])
            found.setdefault(table, number)
        elif key:
            found.setdefault((*table, key[1].strip("\"'")), number)
    return found


def _within(header: str, newest: Mapping[tuple[str | int, ...], int]) -> tuple[str | int, ...]:
    """The path of a header: a table inside a repeated one belongs to the newest of these."""
    path: tuple[str | int, ...] = ()
    for name in (part.strip().strip("\"'") for part in header.split(".")):
        path = (*path, newest[path], name) if path in newest else (*path, name)
    return path
