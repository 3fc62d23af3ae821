"""Says in plain words what is wrong with a settings file that is no TOML."""

import re
from dataclasses import dataclass

HEADER = re.compile(r"^\s*(\[\[?)\s*([\w\-./ \"']+?)\s*\]\]?\s*(?:#.*)?$")
_PAIR = re.compile(r"^\s*([\w\-.\"']+)\s*=\s*(.*?)\s*(?:#.*)?$")


@dataclass(frozen=True)
class _Line:
    """A line that is no TOML: its number, its text and the lines before it."""

    number: int
    text: str
    before: list[str]

    def first(self, name: str) -> tuple[int, str]:
        """Where a table of this name stands above, and with which bracket; (0, "") nowhere."""
        for number, line in enumerate(self.before, start=1):
            found = HEADER.match(line)
            if found and found[2] == name:
                return number, found[1]
        return 0, ""


def told(message: str, text: str) -> tuple[int, str]:
    """The line of a parser's complaint about a text, and what is wrong with what to do."""
    lines = text.splitlines()
    found = re.search(r"\(at line (\d+), column \d+\)", message)
    number = int(found[1]) if found else len(lines)
    line = _Line(number, lines[number - 1] if lines else "", lines[: number - 1])
    what = message.partition(" (at ")[0]
    return number, _plain(what, line) or f"not TOML: {what[:1].lower()}{what[1:]}; mend this line"


def _plain(what: str, line: _Line) -> str | None:
    header, pair = HEADER.match(line.text), _PAIR.match(line.text)
    if header and what.startswith(("Cannot declare", "Cannot overwrite")):
        return _table_twice(header[1], header[2], line)
    if pair and what.startswith("Cannot overwrite"):
        return f"{pair[1]} stands twice in its table; keep one of them"
    if pair and what.startswith(("Invalid value", "Invalid date", "Expected newline")):
        return _value(pair[1], pair[2])
    if what.startswith("Illegal character '\\n'"):
        return "a quote is opened and not closed; close it on the same line"
    return None


def _table_twice(bracket: str, name: str, line: _Line) -> str:
    number, other = line.first(name)
    if "[[" in (bracket, other):
        at = "" if bracket == "[" else f" in line {number} too"
        return f"[{name}] and [[{name}]] do not go together; write [[{name}]] with two brackets{at}"
    above = f"those of line {number}" if number else "the others of its name"
    return f"[{name}] stands here for the second time; put its lines under {above}"


def _value(key: str, value: str) -> str | None:
    if not value:
        return f"nothing stands behind {key} =; write its value, or take the line out"
    if value[0] in "\"'[{":
        return None
    if re.fullmatch(r"\d{4}-\d+-\d+", value):
        return f"{value} is no date; write one that exists as YYYY-MM-DD, like 2026-10-01"
    if value[0].isdigit():
        return f"{value} is no number; write a number without its unit, and all else in quotes"
    return f'{value} stands without quotes; put text in quotes, like {key} = "{value}"'
