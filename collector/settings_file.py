"""Reads `rigledger.toml` strictly: every refusal names file, line, key and remedy."""

import difflib
import os
import re
import tomllib
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from collector.settings import Settings, SettingsError, StoreSettings
from collector.settings_check import Fault, Impossible, faults
from collector.settings_syntax import HEADER, told

DEFAULT = Path("rigledger.toml")
_KEY = re.compile(r"^\s*([\w\-]+|\"[^\"]*\"|'[^']*')\s*(?:\.[^=]*)?=")
_STEP = re.compile(r"\.?([\w\-]+)|\[(\d+)\]|\[\.\.\.\]")

# What to write instead, by key; keys that are not here are told by their type.
_REMEDY = {
    "listen": 'write host and port in quotes, like "127.0.0.1:8585"',
    "price": 'write a decimal amount in quotes, like "17000" or "1999.99"',
    "residual": 'write a decimal amount in quotes, like "0"',
    "price_per_kwh": 'write a decimal amount per kWh in quotes, like "0.20"',
    "input": 'write a price per million tokens in quotes, like "0.15"',
    "cache_read": 'write a price per million tokens in quotes, like "0.003"',
    "output": 'write a price per million tokens in quotes, like "0.60"',
    "psu_efficiency": 'write a share from 0.0001 to 1 in quotes, like "0.92"',
    "currency": 'write the three capital letters of its code, like "USD"',
    "active_gap": 'write a number with s, m or h in quotes, like "15m"',
    "url": 'write an address with its scheme in quotes, like "http://127.0.0.1:8001"',
    "from": "write a date without quotes, like 2026-10-01",
    "in_service": "write a date without quotes, like 2026-10-01",
    "gpus": 'write a list of card UUIDs in quotes, like ["GPU-…"]; `nvidia-smi -L` tells them',
    "cards": 'write a list of card UUIDs in quotes, like ["GPU-…"]; `nvidia-smi -L` tells them',
}
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


def read(path: Path | None) -> Settings:
    """Settings of a file, see `collector.settings.load`. Raises SettingsError."""
    if path is None:
        if not DEFAULT.exists():
            return defaults()
        path = DEFAULT
    path = path.absolute()
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise SettingsError(f"{path}: not UTF-8 text; save it as UTF-8") from None
    except OSError as error:
        reason = (error.strerror or "cannot be read").lower()
        raise SettingsError(f"{path}: {reason}; name a readable file with --config") from None
    return settings_of(text, path)


def settings_of(text: str, path: Path) -> Settings:
    """Settings of a file that holds this text, its folders told in full. Raises SettingsError."""
    return _anchored(parse(text, str(path)), path.absolute().parent)


def defaults() -> Settings:
    """What holds where there is no settings file."""
    return Settings(store=StoreSettings(path=str(_default_folder())))


def _anchored(settings: Settings, folder: Path) -> Settings:
    """The settings with full paths: relative ones start in the folder of their file."""
    store, collector = settings.store, settings.collector
    secret = collector.token_file and str(folder / collector.token_file)
    return replace(
        settings,
        store=replace(store, path=str(folder / store.path)),
        collector=replace(collector, token_file=secret),
    )


def _default_folder() -> Path:
    """Where the ledger lies when no file says so: here in a checkout, which always has its `data`
    folder, or where one has been made; else among the user's own data."""
    here = Path.cwd() / StoreSettings().path
    if here.is_dir():
        return here
    shared = Path(os.environ.get("XDG_DATA_HOME") or "~/.local/share").expanduser()
    return shared / "rigledger"


def parse(text: str, name: str) -> Settings:
    """Settings from TOML text; `name` stands for the file in refusals.

    Raises SettingsError: Impossible for a setting, itself for text that is no TOML.
    """
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line, what = told(str(error), text)
        raise SettingsError(f"{name}:{line}: {what}") from None
    lines = _lines(text)
    try:
        settings = msgspec.convert(raw, Settings, strict=True)
    except msgspec.ValidationError as error:
        fault = _fault(str(error), raw)
        raise Impossible(_placed(fault, lines, name), fault) from None
    for fault in faults(settings):
        raise Impossible(_placed(fault, lines, name), fault)
    return settings


def _placed(fault: Fault, lines: dict[tuple[str | int, ...], int], name: str) -> str:
    where = fault.path
    while where and where not in lines:
        where = where[:-1]
    line = lines.get(where, 1)
    key = ".".join(part for part in fault.path if isinstance(part, str))
    return f"{name}:{line}: {key}: {fault.what}; {fault.remedy}"


def _fault(message: str, raw: dict[str, Any]) -> Fault:
    """Turn the validator's words into a place and a remedy."""
    what, _, place = message.partition(" - at `$")
    path: tuple[str | int, ...] = tuple(
        name or (int(index) if index else "") for name, index in _STEP.findall(place.rstrip("`"))
    )
    path = tuple(part for part in path if part != "")
    unknown = re.match(r"Object contains unknown field `(.*)`", what)
    if unknown:
        return Fault((*path, unknown[1]), "unknown key", _known(unknown[1], path))
    missing = re.match(r"Object missing required field `(.*)`", what)
    if missing:
        return Fault((*path, missing[1]), "missing", f"add it; {_remedy((missing[1],), '')}")
    return _brackets(path, what) or Fault(path, _plain(what, _at(raw, path)), _remedy(path, what))


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


def _remedy(path: tuple[str | int, ...], what: str) -> str:
    names = [part for part in path if isinstance(part, str)]
    if names and names[-1] == "kind":
        return "write one of ninfer, llama_cpp, vllm, sglang, ollama, openai"
    if names and names[-1] in _REMEDY:
        return _REMEDY[names[-1]]
    kind = re.search(r"`(\w+)", what)
    return _BY_TYPE.get(kind[1] if kind else "str", "see the example in README.md")


def _known(key: str, path: tuple[str | int, ...]) -> str:
    struct: Any = Settings
    for part in path:
        if isinstance(part, str):
            struct = _struct_of(struct, part)
    names = [f.encode_name for f in msgspec.structs.fields(struct)]
    close = difflib.get_close_matches(key, names, n=1)
    return f"did you mean {close[0]!r}?" if close else f"known here: {', '.join(names)}"


def _struct_of(struct: Any, key: str) -> Any:
    kind = next(f.type for f in msgspec.structs.fields(struct) if f.encode_name == key)
    return kind.__args__[0] if hasattr(kind, "__args__") else kind


def _at(raw: Any, path: tuple[str | int, ...]) -> Any:
    for part in path:
        raw = raw[part]
    return raw


def _lines(text: str) -> dict[tuple[str | int, ...], int]:
    """The line of every table header and key, by its path from the root."""
    found: dict[tuple[str | int, ...], int] = {}
    counts: dict[str, int] = {}
    table: tuple[str | int, ...] = ()
    for number, line in enumerate(text.splitlines(), start=1):
        header, key = HEADER.match(line), _KEY.match(line)
        if header:
            names = [part.strip().strip("\"'") for part in header[2].split(".")]
            table = tuple(names)
            if header[1] == "[[":
                found.setdefault(table, number)
                counts[header[2]] = counts.get(header[2], -1) + 1
                table = (*names, counts[header[2]])
            found.setdefault(table, number)
        elif key:
            found.setdefault((*table, key[1].strip("\"'")), number)
    return found
