"""JSON for people is the standard library's own, letter by letter."""

import json
import math
from typing import Any

import pytest

from analytics.render.indented import indented


@pytest.mark.parametrize(
    "document",
    [
        {},
        [],
        [[], {}, [[]], {"a": {}, "b": []}],
        {'ü"\\\n\u2028': ["€", "\x00", "a: {b, [c]}"], "n": None, "t": True, "f": False},
        [0, -1, 2**70, 1.0, -0.0, 1e-7, 1e16, 0.1 + 0.2, 5e-324],
        {"deep": [{"er": [{"still": [1, [2, [3]]]}]}]},
    ],
)
def test_it_is_what_the_standard_library_writes(document: Any) -> None:
    assert indented(document) == json.dumps(document, ensure_ascii=False, indent=2)


def test_what_json_does_not_have_is_refused() -> None:
    with pytest.raises(ValueError, match="JSON"):
        indented([math.nan])
