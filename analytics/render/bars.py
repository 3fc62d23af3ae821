"""Bars as inline SVG, one to a row of a table: as wide as its column, with no text of their own.

Figures stand beside them, so they are hidden from readers who listen. Places are per cent of the
width, which no font and no window changes; colours come by class from the page's style.
"""

from collections.abc import Iterator, Sequence

# What is only watched for is drawn with strokes, never as a plain colour.
HATCH = (
    '<svg width="0" height="0" aria-hidden="true" class="defs"><defs><pattern id="hatch" width="6"'
    ' height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect width="6"'
    ' height="6" class="ground"/><rect width="2.6" height="6" class="stroke"/></pattern></defs>'
    "</svg>"
)
Span = tuple[int, int]


def running(amounts: Sequence[int]) -> list[Span]:
    """Amounts one after the other, each from where the one before it ended."""
    found, at = [], 0
    for amount in amounts:
        found.append((at, at + amount))
        at += amount
    return found


def bars(spans: Sequence[Span], looks: Sequence[str]) -> Iterator[str]:
    """Bars on one axis that holds all of them and zero; `looks` are their classes."""
    low = min((0, *(min(span) for span in spans)))
    wide = max((0, *(max(span) for span in spans))) - low or 1
    zero = _percent(-low, wide)
    axis = f'<line class="axis" x1="{zero}%" x2="{zero}%" y1="0" y2="18"/>' if low else ""
    for span, look in zip(spans, looks, strict=True):
        left, right = min(span), max(span)
        place = f'x="{_percent(left - low, wide)}%" width="{_percent(right - left, wide)}%"'
        yield (
            '<svg class="bar" aria-hidden="true" width="100%" height="18">'
            f'{axis}<rect class="{look}" {place} y="3" height="12"/></svg>'
        )


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.3f}"
