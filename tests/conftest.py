"""Fixtures shared by the tests; the machinery is under `rig/`."""

from pathlib import Path

import pytest
from rig.nvml import FakeCards, build_library


@pytest.fixture(scope="session")
def nvml_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the fake libnvidia-ml.so.1."""
    library = build_library(tmp_path_factory.mktemp("nvml"))
    if library is None:
        pytest.skip("no C compiler to build the fake NVML library with")
    return library


@pytest.fixture
def cards(nvml_library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeCards:
    """A host without cards as yet; child processes load the fake driver."""
    fake = FakeCards(nvml_library, tmp_path)
    for name, value in fake.environment.items():
        monkeypatch.setenv(name, value)
    return fake
