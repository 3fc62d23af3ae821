"""Dated declarations of an engine: the one in force at the request counts."""

import datetime as dt

import pytest

from collector.settings import EngineSettings, RigSettings, Settings, SettingsError
from router.engines import Assignments


def declared(name, gpu, day):
    return EngineSettings(name=name, url="http://127.0.0.1:1", gpus=[gpu], from_=day)


# Berlin's midnights of 1 July and 1 December 2026, in UTC.
JULY_NS = int(dt.datetime(2026, 6, 30, 22, tzinfo=dt.UTC).timestamp()) * 1_000_000_000
DECEMBER_NS = int(dt.datetime(2026, 11, 30, 23, tzinfo=dt.UTC).timestamp()) * 1_000_000_000
SETTINGS = Settings(
    rig=RigSettings(time_zone="Europe/Berlin"),
    engines=[
        declared("card0", "GPU-december", dt.date(2026, 12, 1)),
        declared("other", "GPU-other", dt.date(2026, 9, 1)),
        declared("card0", "GPU-july", dt.date(2026, 7, 1)),
    ],
)


@pytest.mark.parametrize(
    ("at_ns", "gpu"),
    [
        (JULY_NS - 1, "GPU-july"),
        (JULY_NS, "GPU-july"),
        (DECEMBER_NS - 1, "GPU-july"),
        (DECEMBER_NS, "GPU-december"),
        (DECEMBER_NS * 2, "GPU-december"),
    ],
)
def test_the_declaration_in_force_counts(at_ns, gpu):
    assert Assignments(SETTINGS, "card0").at(at_ns).gpus == [gpu]


def test_an_unknown_engine_is_refused_by_name():
    with pytest.raises(SettingsError, match="no engine is named 'card9'; add it under"):
        Assignments(SETTINGS, "card9")
