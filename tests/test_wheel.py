"""The wheel: what is inside, and that it works away from the checkout."""

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).parent.parent
ROOMS = {"collector", "router", "analytics", "dashboard"}
UV = shutil.which("uv", path=ROOT / ".tools/bin") or shutil.which("uv")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (built,) = folder.iterdir()
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    if UV is None:
        pytest.skip("no uv in .tools or on the path: run `make install`")
    target = tmp_path_factory.mktemp("installed")
    place = ["--python", sys.executable, "--target", str(target)]
    install = [UV, "pip", "install", "--offline", "--no-deps", *place, str(wheel)]
    subprocess.run(install, check=True, capture_output=True)
    return target


def version() -> str:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return project["version"]


def members(wheel: Path) -> list[str]:
    with ZipFile(wheel) as archive:
        return archive.namelist()


def rigledger(installed: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command from the installed wheel, with the checkout out of reach."""
    code = (
        "import sys; from pathlib import Path\n"
        f"elsewhere = [p for p in sys.path if Path(p or '.').resolve() != Path({str(ROOT)!r})]\n"
        f"sys.path[:] = [{str(installed)!r}, *elsewhere]\n"
        "import rigledger\n"
        f"assert rigledger.__file__.startswith({str(installed)!r})\n"
        f"sys.exit(rigledger.main({list(arguments)!r}))"
    )
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=installed.parent,
        capture_output=True,
        text=True,
        check=False,
    )


def test_top_level_names_are_the_rooms_and_the_front_door(wheel):
    top = {member.partition("/")[0] for member in members(wheel)}
    assert top == {*ROOMS, "rigledger.py", f"rigledger-{version()}.dist-info"}


def test_every_source_file_is_inside_and_nothing_else(wheel):
    sources = {
        path.relative_to(ROOT).as_posix()
        for room in ROOMS
        for path in (ROOT / room).rglob("*")
        if path.is_file() and not {"__pycache__", "plugins"} & set(path.parts)
    }
    assert {"analytics/prices/sheets/deepseek.toml", "analytics/prices/rules.toml"} <= sources
    assert {"collector/schema", "analytics/queries"} <= {
        path.rpartition("/")[0] for path in sources if path.endswith(".sql")
    }
    inside = {member for member in members(wheel) if ".dist-info/" not in member}
    assert inside == sources | {"rigledger.py"}


def test_nothing_changes_the_environment_it_enters(wheel):
    assert [m for m in members(wheel) if m.endswith(".pth") or "/test" in f"/{m}"] == []


def test_help_works_from_the_wheel(installed):
    shown = rigledger(installed, "--help")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "estimate" in shown.stdout


def test_version_is_the_projects(installed):
    assert rigledger(installed, "--version").stdout.strip() == f"rigledger {version()}"


def test_estimate_works_from_the_wheel(installed):
    rent = "--rent-per-hour=2 --full-watts=0 --tokens-per-second=1000 --price-per-kwh=0"
    shown = rigledger(installed, "estimate", *rent.split(), "--hours-per-day=24")
    # 2 an hour for 3.6 million tokens
    assert shown.stdout.startswith("A million output tokens cost 0.5556.")
    assert shown.returncode == 0


def test_the_command_is_declared(installed):
    entry = installed / f"rigledger-{version()}.dist-info/entry_points.txt"
    assert "rigledger = rigledger:main" in entry.read_text(encoding="utf-8")
