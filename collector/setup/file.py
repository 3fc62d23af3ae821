"""A settings file as text: the given values, explained by the declaration in `collector.settings`.

Every comment comes from there: a table's from its docstring, a key's from its description.
"""

import datetime as dt
import json
import re
import types
from collections.abc import Iterator, Mapping, Sequence
from textwrap import fill
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec
from msgspec.structs import FieldInfo

from collector.settings import Settings

HEAD = """\
# rigledger's settings. Prices and assignments carry dates: append a new entry when something
# changes, and past months stay as they were. Lines that start with # show what holds without them.
"""
WIDTH = 100
BARE = re.compile(r"[A-Za-z0-9_-]+")


def text(given: Mapping[str, Any]) -> str:
    """TOML for nested tables like those that `collector.settings` reads.

    Keys keep the declaration's order; what is not given stands there as a comment.
    """
    parts = [HEAD]
    for field in msgspec.structs.fields(Settings):
        struct, many = _struct(field.type)
        name = field.encode_name
        if get_origin(field.type) is dict:
            name += '."CNY/USD"'  # any key will do
        parts += _tables(name, struct, many, given.get(field.encode_name))
    return "\n".join(parts)


def _tables(name: str, struct: Any, many: bool, given: Any) -> Iterator[str]:
    if struct is None:
        return
    if many:
        entries: Sequence[Mapping[str, Any]] = given or []
        for entry in entries:
            yield "\n".join([*_summary(struct), f"[[{name}]]", *_keys(struct, entry), ""])
            yield from _below(name, struct, entry)
        if not entries:
            known = ", ".join(field.encode_name for field in msgspec.structs.fields(struct))
            yield "\n".join([*_summary(struct), f"# [[{name}]] with {known}", ""])
        return
    plain = list(_keys(struct, given or {}))
    if plain:
        yield "\n".join([*_summary(struct), f"[{name}]", *plain, ""])
    yield from _below(name, struct, given or {})


def _below(name: str, struct: Any, given: Mapping[str, Any]) -> Iterator[str]:
    """The tables that stand inside one."""
    for field in msgspec.structs.fields(struct):
        part, list_of = _struct(field.type)
        below = given.get(field.encode_name)
        yield from _tables(f"{name}.{field.encode_name}", part, list_of, below)


def _summary(struct: Any) -> list[str]:
    """The first sentence of what the table's declaration says of it."""
    said = " ".join((struct.__doc__ or "").split()).partition(". ")[0]
    return [_comment(said if said.endswith(".") else f"{said}.")] if said else []


def _keys(struct: Any, given: Mapping[str, Any]) -> Iterator[str]:
    for field in msgspec.structs.fields(struct):
        if _struct(field.type)[0] is not None:
            continue
        name, words = field.encode_name, _words(field)
        if name in given:
            yield _commented(f"{name} = {value(given[name])}", words)
        elif field.default not in (msgspec.NODEFAULT, None):
            yield _commented(f"# {name} = {value(field.default)}", words)
        elif words:
            yield _comment(f"{name}: {words}")


def _commented(line: str, words: str) -> str:
    if not words:
        return line
    beside = f"{line}  # {words}"
    return beside if len(beside) <= WIDTH else f"{_comment(words)}\n{line}"


def _comment(words: str) -> str:
    return fill(words, WIDTH, initial_indent="# ", subsequent_indent="#   ")


def _words(field: FieldInfo) -> str:
    """A key's description, its unit and its choices, as far as they are declared."""
    description, unit, choices = "", "", ""
    kind = field.type
    while get_origin(kind) is Annotated:
        for meta in kind.__metadata__:
            if isinstance(meta, msgspec.Meta):
                description = description or meta.description or ""
                unit = unit or (meta.extra or {}).get("unit", "")
        kind = get_args(kind)[0]
    if get_origin(kind) is Literal:
        choices = "one of " + ", ".join(map(str, get_args(kind)))
    told = f"{description} ({unit})" if description and unit else description
    return "; ".join(part for part in (told, choices) if part)


def _struct(kind: Any) -> tuple[Any, bool]:
    """The table that a field holds, and whether it holds several; None for a plain key."""
    while get_origin(kind) is Annotated:
        kind = get_args(kind)[0]
    if get_origin(kind) in (Union, types.UnionType):
        kind = next(part for part in get_args(kind) if part is not type(None))
    if get_origin(kind) in (list, dict):
        inner, _ = _struct(get_args(kind)[-1])
        return inner, inner is not None
    is_struct = isinstance(kind, type) and issubclass(kind, msgspec.Struct)
    return (kind if is_struct else None), False


def value(told: Any) -> str:
    """A value as TOML writes it."""
    if isinstance(told, bool):
        return "true" if told else "false"
    if isinstance(told, str):
        return json.dumps(told, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(told, dt.date):
        return told.isoformat()
    if isinstance(told, Mapping):
        pairs = ", ".join(f"{_key(key)} = {value(item)}" for key, item in told.items())
        return f"{{ {pairs} }}" if pairs else "{}"
    if isinstance(told, list | tuple):
        return f"[{', '.join(map(value, told))}]"
    return str(told)


def _key(name: str) -> str:
    return name if BARE.fullmatch(name) else value(name)
