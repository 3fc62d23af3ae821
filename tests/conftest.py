"""Fixtures shared by the tests; the machinery is under `rig/`."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from rig.llama import LlamaServer, llama_servers, make_model
from rig.nvml import FakeCards, build_library
from rig.page import forget_all


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """In a parallel run, tests that share a fixture of their module stay together in their order:
    it is made once, and some go on from where the one before left it."""
    for item in items:
        if isinstance(item, pytest.Function):
            made = [found[-1] for found in item._fixtureinfo.name2fixturedefs.values()]
            if any(fixture.scope == "module" for fixture in made):
                item.add_marker(pytest.mark.xdist_group(item.path.stem))


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


@pytest.fixture
def forget() -> Iterator[None]:
    """Nothing that the pages have cached in one test may serve another."""
    yield
    forget_all()


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A quick random-weight model, a GGUF file."""
    return make_model(tmp_path_factory.mktemp("model") / "tiny.gguf")


@pytest.fixture(scope="session")
def slow_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random-weight model slow enough to leave in the middle of an answer."""
    return make_model(tmp_path_factory.mktemp("model") / "slow.gguf", width=256, layers=6)


@pytest.fixture(scope="module")
def two_llamas(
    tiny_model: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[list[LlamaServer]]:
    """Two llama.cpp servers over the quick model, for one module."""
    with llama_servers(2, tmp_path_factory.mktemp("llama"), model=tiny_model) as servers:
        yield servers
