"""Recorded data beside the checkout, which is no part of it: tests skip where it is not there."""

import os
from pathlib import Path

import pytest

BESIDE = Path(__file__).parents[3] / "shared/data"


def recorded(name: str) -> Path:
    """A file or folder of the recorded data; RIGLEDGER_RECORDED names another place for it."""
    path = Path(os.environ.get("RIGLEDGER_RECORDED") or BESIDE) / name
    if not path.exists():
        pytest.skip(f"no recorded data at {path}: RIGLEDGER_RECORDED names its folder")
    return path
