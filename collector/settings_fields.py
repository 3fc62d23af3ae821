"""The declaration of the settings, read back: forms, help texts and the documentation."""

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import NODEFAULT

from collector.settings import Settings

PREFACE = """# Settings

`rigledger.toml` holds what no meter can tell: addresses, prices and watts. Everything has its
place below; what has a default may be left out. A setting that cannot be used is refused with its
line and with what to write instead.

Amounts and shares are decimal numbers in quotes, like `"0.20"`, so that none is rounded; dates
stand without quotes, like `2026-10-01`. Tables in double brackets may be repeated.

## How a setting changes

History does not move by itself. **A new price, tariff or asset is a new entry** with its own first
day: the entries before it stay, and so do the months that they counted for. **A mistake in an
entry is corrected in its place**: every month that the entry counts for changes, and a comment
above the line keeps the old value and the day of the correction.

The settings page does both, shows before it saves what the change does to the price per million
tokens, and keeps every comment and line that it does not touch. The file is edited by hand just as
well. Each version that the page replaced stays in `rigledger.toml.d/` beside the file, up to the
last 50, and the page's undo brings it back.

This page is what `python -m collector.settings` prints; a test compares the two.
"""


@dataclass(frozen=True)
class Setting:
    """One setting: `key` as it stands in the file, `title` in words, `default` as TOML, None where
    none is set."""

    key: str
    title: str
    type: str
    unit: str
    required: bool
    default: str | None
    help: str
    choices: tuple[str, ...] = ()

    def label(self, currency: str) -> str:
        """The title with its unit, in the rig's currency: `price, EUR per kWh`."""
        unit = self.unit.replace("currency", currency)
        return f"{self.title}, {unit}" if unit else self.title


@dataclass(frozen=True)
class Table:
    """One table of the file; `repeated` in double brackets."""

    name: str
    repeated: bool
    help: str
    settings: tuple[Setting, ...]

    def __getitem__(self, key: str) -> Setting:
        """The setting of a key. Raises KeyError."""
        for setting in self.settings:
            if setting.key == key:
                return setting
        raise KeyError(f"[{self.name}] has no setting {key!r}")


@cache
def tables() -> dict[str, Table]:
    """Every table by its name, in the order of the declaration."""
    return {table.name: table for table in _tables(Settings, "")}


def _tables(struct: Any, prefix: str) -> Iterator[Table]:
    hints = get_type_hints(struct, include_extras=True)
    for field in msgspec.structs.fields(struct):
        inner, repeated = _struct_of(hints[field.name])
        if inner is None:
            continue
        name = f"{prefix}{field.encode_name}"
        if get_origin(_bare(hints[field.name])) is dict:
            # TOML's own way to repeat a table under a key; any key will do.
            name += '."CNY/USD"'
        own = tuple(_settings(inner))
        if own:
            summary = (inner.__doc__ or "").strip().partition("\n")[0]
            yield Table(name, repeated, summary, own)
        yield from _tables(inner, f"{name}.")


def _settings(struct: Any) -> Iterator[Setting]:
    hints = get_type_hints(struct, include_extras=True)
    for field in msgspec.structs.fields(struct):
        hint = hints[field.name]
        if _struct_of(hint)[0] is not None:
            continue
        text, extra = "", dict[str, Any]()
        for meta in _metas(hint):
            text = meta.description or text
            extra |= meta.extra or {}
        bare = _bare(hint)
        choices = get_args(bare) if get_origin(bare) is Literal else ()
        yield Setting(
            key=field.encode_name,
            title=extra.get("title") or field.encode_name.replace("_", " "),
            type=extra.get("type") or _words(bare),
            unit=extra.get("unit", ""),
            required=field.required,
            default=_default(field),
            help=text,
            choices=choices,
        )


def _struct_of(hint: Any) -> tuple[Any, bool]:
    bare = _bare(hint)
    if get_origin(bare) is dict:
        bare = _bare(get_args(bare)[1])
    if get_origin(bare) is list:
        bare = _bare(get_args(bare)[0])
        return (bare, True) if _is_struct(bare) else (None, False)
    return (bare, False) if _is_struct(bare) else (None, False)


def _is_struct(bare: Any) -> bool:
    return isinstance(bare, type) and issubclass(bare, msgspec.Struct)


def _metas(hint: Any) -> Iterator[msgspec.Meta]:
    """Every Meta of a hint, the innermost first."""
    if get_origin(hint) is Annotated:
        yield from _metas(get_args(hint)[0])
        yield from (meta for meta in hint.__metadata__ if isinstance(meta, msgspec.Meta))
    elif get_origin(hint) in (Union, UnionType):
        for part in get_args(hint):
            yield from _metas(part)


def _bare(hint: Any) -> Any:
    while get_origin(hint) is Annotated:
        hint = get_args(hint)[0]
    if get_origin(hint) in (Union, UnionType):
        return _bare(next(part for part in get_args(hint) if part is not type(None)))
    return hint


def _words(bare: Any) -> str:
    if get_origin(bare) is Literal:
        return "one of " + ", ".join(get_args(bare))
    if get_origin(bare) is list:
        return f"list of {_words(_bare(get_args(bare)[0]))}"
    if get_origin(bare) is dict:
        return "table of whole numbers"
    return {str: "text", int: "whole number", float: "number", dt.date: "date"}[bare]


def _default(field: Any) -> str | None:
    if field.default_factory is not NODEFAULT:
        return {"list": "[]", "dict": "{}"}[field.default_factory.__name__]
    if field.default is NODEFAULT or field.default is None:
        return None
    return f'"{field.default}"' if isinstance(field.default, str) else str(field.default)


def document() -> str:
    """`docs/settings.md`: a table per table of the file, straight from the declaration."""
    parts = [PREFACE]
    for table in tables().values():
        brackets = "[[{}]]" if table.repeated else "[{}]"
        parts += [f"## {brackets.format(table.name)}\n", f"{table.help}\n"]
        parts += ["| setting | type | unit | default | meaning |", "|---|---|---|---|---|"]
        parts += [*(_row(setting) for setting in table.settings), ""]
    return "\n".join(parts)


def _row(setting: Setting) -> str:
    default = "**required**" if setting.required else f"`{setting.default}`"
    default = "none" if default == "`None`" else default
    cells = (f"`{setting.key}`", setting.type, setting.unit, default, setting.help)
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
