"""Where metrics stand beside each other."""

from collections.abc import Iterator
from typing import Any

import streamlit as st


def four_places() -> Iterator[Any]:
    """Four places side by side, or two and two where there is no room."""
    left, right = st.columns(2)
    for half in (left, right):
        yield from half.columns(2, wrap=False)
