"""Every figure that a page shows, and every figure that it should show.

A page is read from its elements, not from its code: metrics, whatever is written, the cells of
tables and the rows behind charts. What it should show is told by `places`: labels, sentences and
columns with paths into the JSON in braces, `{tokens.output:count}` for one, and the unit.
"""

import json
import math
import re
import string
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd
from rig.units import UNITS
from streamlit.dataframe_util import convert_arrow_bytes_to_pandas_df
from streamlit.testing.v1 import AppTest

Row = Mapping[str, Any]
Figures = frozenset[tuple[str, Any]]
# Where a mark or its label stands among others, in pixels or lanes, and what colours it.
LAYOUT = ("place", "foot", "edge", "right", "key")
WRITTEN = ("markdown", "caption", "subheader", "header", "title", "success", "info", "warning",
           "error")  # fmt: skip


@dataclass(frozen=True)
class Place:
    """Where the figures of a page come from: labels, sentences and cells with their paths."""

    metrics: Iterable[tuple[str, str]]
    sentences: Iterable[str]
    tables: Iterable[tuple[str, Mapping[str, str]]] = ()
    charts: Mapping[str, Callable[[Any], list[dict[str, Any]]]] = field(default_factory=dict)
    layout: tuple[str, ...] = LAYOUT


class Paths(string.Formatter):
    """Templates whose fields are paths into JSON: names and numbers with dots between."""

    def get_field(self, path: str, _args: Any, told: Any) -> tuple[Any, str]:
        at = told
        for part in path.split("."):
            at = at[int(part)] if isinstance(at, list) else at[part]
        return at, path

    def format_field(self, value: Any, unit: str) -> str:
        return str(UNITS[unit or "same"](value))

    def value(self, template: str, told: Any) -> Any:
        """The figure itself where the template is but one field."""
        parts = list(self.parse(template))
        if len(parts) == 1 and not parts[0][0] and parts[0][1]:
            return UNITS[parts[0][2] or "same"](self.get_field(parts[0][1], (), told)[0])
        return self.vformat(template, (), told)


PATHS = Paths()


def expected(place: Place, told: Mapping[str, Any]) -> dict[str, Any]:
    """What the page should show."""
    return {
        "metrics": sorted(tuple(PATHS.value(t, told) for t in pair) for pair in place.metrics),
        "sentences": sorted(PATHS.value(each, told) for each in place.sentences),
        "tables": [
            [
                {title: _plain(PATHS.value(cell, {**told, **row})) for title, cell in cells.items()}
                for row in PATHS.get_field(rows, (), told)[0]
            ]
            for rows, cells in place.tables
        ],
        "charts": {alt: _sets(rows(told), place) for alt, rows in place.charts.items()},
    }


def shown(at: AppTest, place: Place) -> dict[str, Any]:
    """What the page shows, as `expected` has it; a sentence without any digit is no figure."""
    assert not at.exception
    elements = list(_elements(at._tree))
    lines = [line for each in elements for line in _lines(each)]
    tables = [each.value for each in elements if each.type in ("dataframe", "table")]
    return {
        "metrics": sorted((_text(m.label), m.value) for m in elements if m.type == "metric"),
        "sentences": sorted(line for line in lines if re.search(r"\d", line)),
        "tables": [
            [{name: _plain(cell) for name, cell in row.items()} for row in each.to_dict("records")]
            for each in tables
        ],
        "charts": {
            each.proto.alt: _sets(marks(each.proto), place)
            for each in elements
            if each.type == "vega_lite_chart"
        },
    }


def untold(at: AppTest) -> list[str]:
    """The headings under which a chart or a table stands before any sentence."""
    heading, told, found = "", False, []
    for each in _elements(at._tree):
        if each.type == "subheader":
            heading, told = each.value, False
        elif each.type in WRITTEN:
            told = told or each.value.rstrip().endswith((".", ":"))
        elif each.type in ("dataframe", "table", "vega_lite_chart") and not told:
            found.append(heading)
    return found


def strays(shown: set[Figures], meant: set[Figures]) -> list[dict[str, Any]]:
    """What a chart draws or tells of no row that it should, and the rows it does not tell whole.

    A row may be drawn by several marks, each with some of its figures.
    """
    stray = [row for row in shown if not any(row <= whole for whole in meant)]
    lost = [
        whole - told
        for whole in meant
        if (told := frozenset().union(*(row for row in shown if row <= whole))) != whole
    ]
    return [dict(row) for row in (*stray, *lost)]


def _elements(block: Any) -> Iterator[Any]:
    for child in block.children.values():
        if getattr(child, "children", None) is not None and child.type != "dataframe":
            yield from _elements(child)
        yield child


def _lines(element: Any) -> Iterator[str]:
    """What an element says: sentences of a list one by one, texts of HTML part by part."""
    if element.type == "html":
        yield from (part for part in re.split(r"<[^>]*>", element.proto.body) if part.strip())
    elif element.type in WRITTEN:
        yield from (_text(line) for line in element.value.split("\n"))
    elif element.type == "expander":
        yield _text(element.label)


def _text(markdown: str) -> str:
    """What Markdown shows of names, which come escaped."""
    return markdown.replace("\\", "")


def marks(proto: Any) -> Iterator[dict[str, Any]]:
    """The rows behind a chart's marks, with what is drawn or told of them."""
    spec = json.loads(proto.spec)
    sets = {each.name: convert_arrow_bytes_to_pandas_df(each.data.data) for each in proto.datasets}
    for layer in spec.get("layer", [spec]):
        data = layer.get("data") or spec["data"]
        frame = sets[data["name"]] if "name" in data else pd.DataFrame(data["values"])
        fields = set(_fields(layer["encoding"]))
        for row in frame.to_dict("records"):
            yield {name: row[name] for name in fields if name in row}


def _fields(encoding: Mapping[str, Any]) -> Iterator[str]:
    for channel in encoding.values():
        for each in channel if isinstance(channel, list) else [channel]:
            if "field" in each:
                yield each["field"]


def _plain(value: Any) -> Any:
    """A cell without the ways of its library; floats to nine digits."""
    if value is None or value is pd.NaT or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, bool | str):
        return value
    if isinstance(value, int | float) or hasattr(value, "item"):
        return float(f"{float(value):.9g}")
    return str(value)


def _sets(rows: Iterable[Mapping[str, Any]], place: Place) -> set[Figures]:
    return {
        frozenset((name, _plain(value)) for name, value in row.items() if name not in place.layout)
        for row in rows
    }
