"""In what order a visit's first page is told, so that a browser shows the words of it soon."""

import time

import streamlit as st

from dashboard import pace

# Parts of the time that a browser took to start in which it takes up new code, and paints words.
CODE, WORDS = 0.3, 1.0
_START = "started_s"


def begin() -> None:
    """At the head of every run; on a visit's first, have the client take up the code of figures.

    Where the client meets a kind of element for the first time it shows a stand-in, and what comes
    after it only 0.3 s later, however soon its code is there. So an unseen figure goes ahead, for
    which alone that is so, and is taken back.
    """
    place = st.container(key="unseen").empty()
    if _START not in st.session_state and _has_browser():
        st.session_state[_START] = pace.started_s()
        place.metric(" ", "")
        time.sleep(CODE * st.session_state[_START])
        place.empty()


def let_the_words_be_painted() -> None:
    """Before the first chart of a visit, give the browser time to show what stands above it: it is
    busy with the charts' library for longer than with all else, and paints nothing meanwhile."""
    is_first = not st.session_state.get("has_charts")
    st.session_state["has_charts"] = True
    if is_first and _has_browser():
        time.sleep(WORDS * st.session_state.get(_START, 0))


def _has_browser() -> bool:
    return st.context.url is not None
