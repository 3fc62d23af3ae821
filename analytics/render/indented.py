"""A document as JSON to be read by people, too."""

import json
from typing import Any

import msgspec


def indented(document: Any) -> str:
    """What `json.dumps(document, ensure_ascii=False, indent=2)` gives; its own way of indenting is
    several times slower. Raises ValueError for NaN and the infinities, which JSON does not have."""
    told = json.dumps(document, ensure_ascii=False, allow_nan=False)
    return msgspec.json.format(told, indent=2)
