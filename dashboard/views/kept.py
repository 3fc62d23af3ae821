"""Charts as the pages draw them: each is made once for what it shows, then kept for every visit."""

import hashlib
import json
import pickle
import time
from collections.abc import Callable
from threading import Lock
from typing import Any, ParamSpec

import altair as alt
import streamlit as st

CHARTS = 256
WORDS = 1.5  # how long a browser takes for a page's words, in terms of its start
STARTED = "started_s"  # how long the visit's browser took to start, in the state of its session
P = ParamSpec("P")
# The theme that a chart is written with is altair's own state, and the same for all threads.
_writing = Lock()


def kept(make: Callable[P, alt.TopLevelMixin]) -> Callable[P, dict[str, Any]]:
    """`make`, giving a chart as its Vega-Lite specification, which `st.vega_lite_chart` takes.

    Writing one takes a tenth of a second and more, most of it for checks. `make` must go by its
    arguments alone, and these must be what they seem when pickled: dicts, frames, plain values.
    """

    def kept_or_made(*args: P.args, **more: P.kwargs) -> dict[str, Any]:
        let_the_words_be_painted()
        told = (make.__module__, make.__qualname__, args, more)
        key = hashlib.blake2b(pickle.dumps(told), digest_size=16).hexdigest()
        found: dict[str, Any] = json.loads(_written(key, lambda: make(*args, **more)))
        return found

    return kept_or_made


@st.cache_data(max_entries=CHARTS, show_spinner=False)
def _written(key: str, _make: Callable[[], alt.TopLevelMixin]) -> str:
    with _writing, alt.theme.enable("none"):
        return json.dumps(_make().to_dict())


def let_the_words_be_painted() -> None:
    """Before the first chart of a visit, give the browser time to show what stands above it: it is
    busy with the charts' library for longer than with all else, and paints nothing meanwhile. Words
    take it up to half as long again as its start did."""
    is_first = not st.session_state.get("has_charts")
    st.session_state["has_charts"] = True
    if is_first and st.context.url is not None:  # there is a browser
        time.sleep(WORDS * st.session_state.get(STARTED, 0))
