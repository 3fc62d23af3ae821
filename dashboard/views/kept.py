"""Charts as the pages draw them: each is made once for what it shows, then kept for every visit."""

import hashlib
import json
import pickle
from collections.abc import Callable
from threading import Lock
from typing import Any, ParamSpec

import altair as alt
import streamlit as st
from streamlit.dataframe_util import convert_anything_to_arrow_bytes as as_arrow

from dashboard.views import first

CHARTS = 256
P = ParamSpec("P")
# The theme that a chart is written with is altair's own state, and the same for all threads.
_writing = Lock()


def kept(make: Callable[P, alt.TopLevelMixin]) -> Callable[P, dict[str, Any]]:
    """`make`, giving a chart as its Vega-Lite specification, which `st.vega_lite_chart` takes.

    Writing one takes a tenth of a second and more, most of it for checks. Its rows are kept as they
    are sent, too: Streamlit would write them anew for each drawing. `make` must go by its arguments
    alone, and these must be what they seem when pickled: dicts, frames, plain values.
    """

    def kept_or_made(*args: P.args, **more: P.kwargs) -> dict[str, Any]:
        first.let_the_words_be_painted()
        told = (make.__module__, make.__qualname__, args, more)
        key = hashlib.blake2b(pickle.dumps(told), digest_size=16).hexdigest()
        text, rows = _written(key, lambda: make(*args, **more))
        found: dict[str, Any] = json.loads(text)
        return found | {"datasets": dict(rows)}

    return kept_or_made


@st.cache_resource(max_entries=CHARTS, show_spinner=False)
def _written(key: str, _make: Callable[[], alt.TopLevelMixin]) -> tuple[str, dict[str, bytes]]:
    """A chart as JSON without its rows, and these by name."""
    with _writing, alt.theme.enable("none"):
        chart = _make().to_dict()
    rows = {name: as_arrow(told) for name, told in chart.pop("datasets", {}).items()}
    return json.dumps(chart), rows
