"""A month as one file to read: what it cost and why first, with bars, then its tables.

The words and figures are those of the text report. The file holds all that it shows: no script,
no font and no picture is asked for, and its policy would allow none.
"""

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import Any, NamedTuple

from analytics.price_bounds import bound_of
from analytics.render import change, compare
from analytics.render.bars import HATCH, Span, bars, running
from analytics.render.parts import Block, Note, Row
from analytics.render.report import sections
from analytics.render.rounding import three_digits
from analytics.render.style import style
from analytics.wording import BOUNDS, covered

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
LONG = 18  # signs of a cell that are more than a figure with its unit
LEAD = ("waterfall", "compare", "change", "quality")
Month = dict[str, Any]


class Line(NamedTuple):
    """A row of a table: its label, the cells of its figures as HTML, its bar, its class, and what
    stands small below the label."""

    label: str
    cells: Sequence[str]
    bar: str = ""
    look: str = ""
    small: str = ""


def as_html(month: Month) -> str:
    """The report as an HTML document; every name in it is escaped."""
    told = sections(month)
    title = f"{month['rig']} · {month['period']['name']}"
    lead = {
        "waterfall": _waterfall,
        "compare": _compare,
        "change": _change,
        "quality": _plain,
    }
    first = [_section(lead[name](told[name], month)) for name in LEAD if name in told]
    rest = [
        _section(_states(block, month) if name == "states" else _plain(block, month))
        for name, block in told.items()
        if name not in (*LEAD, "head", "restated")
    ]
    restated = _section(_plain(told["restated"], month)) if "restated" in told else ""
    return "\n".join(
        [
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            f'<title>{escape(title)}</title>\n<link rel="icon" href="data:,">',
            f"<style>{style()}</style>\n</head>\n<body>\n{HATCH}\n<main>",
            _head(told["head"], month),
            restated,
            '<div class="lead">',
            *first,
            '</div>\n<div class="tables">',
            *rest,
            "</div>\n</main>\n</body>\n</html>",
        ]
    )


def _head(block: Block, month: Month) -> str:
    title, *sentences = (escape(str(part)) for part in block)
    tiles = "".join(f"<p>{_figure(nano, text)} {escape(words)}</p>" for nano, text, words in
                    _tiles(month))  # fmt: skip
    lines = "".join(f"<p>{sentence}</p>" for sentence in sentences)
    return f'<header><h1>{title}</h1>\n<div class="tiles">{tiles}</div>\n{lines}</header>'


def _tiles(month: Month) -> Iterator[tuple[int, str, str]]:
    """The figures that people ask for first, with their words."""
    price, currency = month["cost_per_mtok"]["full"]["output"], month["currency"]
    if price is None or (month["at_least"] and not price):
        return
    bound = BOUNDS[bound_of(month, "full")].removeprefix(", ")
    known = f" ({bound})" if bound else ""
    yield price, three_digits(price), f"{currency} per million output tokens{known}"
    for entry in month["compare"][:1]:
        if (there := entry.get("headline_nano_per_mtok")) is not None:
            bill = compare.SCENARIOS[f"{entry['scenario']}_nano"]
            yield there, three_digits(there), f"{covered(entry)} at {entry['sheet']}, {bill}"
    since = month.get("change")
    if since and since["price"] is not None:
        moved = since["price"]["change_nano_per_mtok"]
        sign, way = ("+", "dearer than") if moved > 0 else ("", "cheaper than" if moved else "as")
        yield moved, f"{sign}{three_digits(moved)}", f"{way} in {since['month']}"


def _waterfall(block: Block, month: Month) -> Iterator[str]:
    heading, *rows = block
    steps = [step for step in month["waterfall_nano_per_mtok"] if step["nano_per_mtok"]]
    amounts = [step["nano_per_mtok"] for step in steps]
    spans = [*running(amounts), (0, sum(amounts))]
    drawn = bars(spans, [*(step["step"] for step in steps), "sum-bar"])
    yield _table(str(heading), _barred(rows, [*amounts, sum(amounts)], drawn))


def _states(block: Block, month: Month) -> Iterator[str]:
    """Hours as bars; cost of no card in service has none."""
    heading, *rows = block
    cost, ns = month["states_cost_nano"], month["states_ns"]
    names = [name for name in cost if ns.get(name) or cost[name]]
    spans: list[Span] = [(0, ns.get(name, 0)) for name in names]
    drawn = bars([*spans, (0, month["capacity_ns"])], [*names, "sum-bar"])
    told = [row for row in rows if isinstance(row, Row)]
    lines = (line._replace(bar=bar) for line, bar in zip(_lines(told), drawn, strict=True))
    yield _table(str(heading), lines)


def _change(block: Block, month: Month) -> Iterator[str]:
    """Causes as bars from a middle line: filled to the right where they made it dearer."""
    told, kinds = month["change"], [k for k in change.KINDS if month["change"][k] is not None]
    for heading, rows, notes in _groups(block):
        kind = next((kind for kind in kinds if rows and change.KINDS[kind] in heading), None)
        if kind is None:
            yield from _told(heading, rows, notes)
            continue
        unit = change.PRINTED[kind][0]
        amounts = [cause[unit] for cause, _ in change.causes(told[kind], kind)]
        reach = max(map(abs, amounts), default=0)
        looks = ["own" if amount > 0 else "less" for amount in amounts]
        # The widest one on either side, so that the line stands in the middle.
        spans = [(0, amount) for amount in amounts] + [(0, -reach), (0, reach)]
        drawn = list(bars(spans, [*looks, "", ""]))[: len(amounts)]
        ends = (told[kind][f"{end}_{unit}"] for end in ("old", "new"))
        values = [next(ends), *amounts, next(ends)]
        yield _table(heading, _barred(rows, values, ["", *drawn, ""]))
        yield _notes(notes)


def _compare(block: Block, month: Month) -> Iterator[str]:
    """Own cost and every bill on one axis, then what follows from them."""
    own = list(_own(month))
    found = [(entry, figure, label, entry[figure])
             for entry in month["compare"] for figure, label, _ in compare.bills(entry)
             if entry["headline_nano"] is not None]  # fmt: skip
    amounts = [nano for _, nano in own] + [nano for *_, nano in found]
    looks = ["own" if label.startswith("this rig, full") else "less" for label, _ in own]
    looks += ["api" if figure == f"{entry['scenario']}_nano" else "api-too"
              for entry, figure, *_ in found]  # fmt: skip
    drawn = bars([(0, nano) for nano in amounts], looks)
    lines = [Line(label, [_figure(nano, _cents(nano))], next(drawn)) for label, nano in own]
    for row in block:
        if not isinstance(row, Row):
            continue
        label, *values = row.values
        if row.label:
            lines.append(Line(row.label, [], look="group"))
        known = next((each for each in found if each[2] == label and len(values) == 1), None)
        if known is None or not values:
            lines.append(Line(label, [escape(value) for value in values]))
        else:
            found.remove(known)
            lines.append(Line(label, [_figure(known[3], values[0])], next(drawn)))
    yield _table(str(block[0]), lines)


def _own(month: Month) -> Iterator[tuple[str, int]]:
    """Own cost as far as it is known; what nobody has priced or read is not zero."""
    for name, nano, is_least in (
        ("full", month["cost_nano"]["total"], bool(month["at_least"])),
        ("marginal", month["marginal_cost_nano"], month["marginal_at_least"]),
    ):
        if nano is not None and (nano or not is_least):
            yield f"this rig, {name}{', at least' if is_least else ''}", nano


def _plain(block: Block, month: Month) -> Iterator[str]:
    for group in _groups(block):
        yield from _told(*group)


def _told(heading: str, rows: Sequence[Row], notes: Sequence[Note]) -> Iterator[str]:
    if rows:
        yield _table(heading, _lines(rows))
    else:
        yield f"<h2>{escape(heading)}</h2>"
    yield _notes(notes)


def _groups(block: Block) -> Iterator[tuple[str, list[Row], list[Note]]]:
    """A block by its headings."""
    found: list[tuple[str, list[Row], list[Note]]] = []
    for part in block:
        if isinstance(part, Row):
            found[-1][1].append(part)
        elif isinstance(part, Note):
            found[-1][2].append(part)
        else:
            found.append((part, [], []))
    yield from found


def _barred(rows: Sequence[Any], values: Sequence[int], drawn: Iterable[str]) -> Iterator[Line]:
    """Rows whose first figure is one of these, each with its bar; what follows stands below the
    label."""
    for row, value, bar in zip(rows, values, drawn, strict=True):
        first, *more = row.values
        look = "" if bar and row.label != "=" else "sum"
        yield Line(row.label, [_figure(value, first)], bar, look, " ".join(more))


def _lines(rows: Sequence[Row]) -> Iterator[Line]:
    """Rows as they are; where they are of unlike lengths, no column means one thing, and there is
    only one."""
    is_ragged = len({len(row.values) for row in rows}) > 1
    for row in rows:
        values = [escape(value) for value in row.values]
        cells = [" · ".join(f"<span>{value}</span>" for value in values)] if is_ragged else values
        is_sum = row.label == "=" or row.label.startswith("total")
        yield Line(row.label, cells, look="sum" if is_sum else "")


def _section(parts: Iterable[str]) -> str:
    return "<section>" + "\n".join(filter(None, parts)) + "</section>"


def _table(caption: str, lines: Iterable[Line]) -> str:
    told = list(lines)
    width = max((len(line.cells) for line in told), default=0)
    has_bars = any(line.bar for line in told)
    body = "\n".join(_row(line, width, has_bars=has_bars) for line in told)
    look = ' class="bars"' if has_bars else ""
    return f"<table{look}><caption>{escape(caption)}</caption><tbody>\n{body}\n</tbody></table>"


def _row(line: Line, width: int, *, has_bars: bool) -> str:
    """A label without a bar takes the bars' column, one without figures the whole width."""
    look = f' class="{line.look}"' if line.look else ""
    wide = has_bars and not line.bar
    span = 1 + wide + (0 if line.cells else width)
    across = f' colspan="{span}"' if span > 1 else ""
    small = f"<small>{escape(line.small)}</small>" if line.small else ""
    label = f'<tr{look}><th scope="row"{across}>{escape(line.label)}{small}</th>'
    chart = f'<td class="chart">{line.bar}</td>' if line.bar else ""
    return label + chart + "".join(map(_cell, line.cells)) + "</tr>"


def _cell(inner: str) -> str:
    """Figures stay on one line, words may wrap."""
    is_figure = inner.startswith("<data") or len(inner) <= LONG
    return f"<td>{inner}</td>" if is_figure else f'<td class="words">{inner}</td>'


def _notes(notes: Sequence[Note]) -> str:
    items = "".join(f"<li>{escape(note)}</li>" for note in notes)
    return f"<ul>{items}</ul>" if items else ""


def _figure(nano: int, text: str) -> str:
    """A figure with its exact amount, in nano-units, for machines."""
    return f'<data value="{nano}">{escape(text)}</data>'


def _cents(nano: int) -> str:
    return f"{nano / 1e9:,.2f}"
