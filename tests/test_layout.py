"""The house rules that a reader can rely on, checked on the source itself."""

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from itertools import chain
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
FLOORS = ["collector", "router", "analytics", "dashboard"]  # each may import those before it
LINES_MAX = 350

# What would let a calculation read the world; only the reader and the commands may.
DOORS = {
    *("aiohttp", "duckdb", "http", "os", "pynvml", "requests", "shutil", "socket", "sqlite3"),
    *("subprocess", "tempfile", "time", "urllib", "uvloop"),
}
DOOR_CALLS = {"open", "read_bytes", "read_text", "write_bytes", "write_text", "mkdir", "unlink"}
DOOR_KEEPERS = {
    "analytics/read.py",
    *("analytics/prices/read.py", "analytics/prices/own.py", "analytics/prices/imported.py"),
    "analytics/prices/update.py",
    "analytics/folder.py",
    "analytics/sql.py",
    "analytics/cli.py",
}

# What runs inside another program is a distribution of its own, and no part of any room.
PLUGINS = ROOT / "router" / "plugins"
modules = [
    path
    for room in FLOORS
    for path in sorted((ROOT / room).rglob("*.py"))
    if PLUGINS not in path.parents
]


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), name(path))


def imports(path: Path) -> Iterator[str]:
    """The top-level package of every import, those inside functions too."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name(path)}: imports are written from the root"
            yield str(node.module).partition(".")[0]


def test_a_plugin_needs_the_standard_library_alone():
    for path in PLUGINS.rglob("*.py"):
        (own,) = {part for part in path.parts if part.startswith("rigledger_")}
        allowed = sys.stdlib_module_names | {own, own.removeprefix("rigledger_")}
        assert set(imports(path)) <= allowed, name(path)


def pyproject() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def lock(file: str) -> list[str]:
    """One text per locked package: its requirement and its hashes, without comments."""
    lines = (ROOT / file).read_text(encoding="utf-8").splitlines()
    text = "\n".join(line for line in lines if not line.lstrip().startswith("#"))
    return [entry for entry in re.split(r"\n(?=\S)", text.strip()) if entry]


def test_data_flows_one_way():
    upwards = [
        f"{name(path)} imports {package}"
        for path in modules
        for package in imports(path)
        if package in [*FLOORS[FLOORS.index(path.relative_to(ROOT).parts[0]) + 1 :], "rigledger"]
    ]
    assert modules
    assert upwards == []


def test_analytics_reads_the_world_only_through_its_reader():
    pure = [p for p in modules if name(p).startswith("analytics/") and name(p) not in DOOR_KEEPERS]
    assert {name(path) for path in pure} >= {"analytics/estimate.py"}
    doors = [f"{name(p)} imports {package}" for p in pure for package in imports(p)]
    calls = [
        f"{name(path)}:{node.lineno} calls {called}"
        for path in pure
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Call)
        and (called := getattr(node.func, "id", getattr(node.func, "attr", ""))) in DOOR_CALLS
    ]
    assert [line for line in doors if line.split()[-1] in DOORS] + calls == []


def test_the_charts_know_nothing_of_the_page():
    assert "streamlit" not in imports(ROOT / "dashboard/charts.py")


def test_numbers_of_tables_have_the_separators_of_all_others():
    """A comma whatever the browser's language is, as in sentences; ratios alone are percentages."""
    formats = {
        word.value.value
        for path in modules
        if name(path).startswith("dashboard/views/")
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Call)
        and getattr(node.func, "attr", getattr(node.func, "id", "")) in ("NumberColumn", "number")
        for word in node.keywords
        if word.arg == "format" and isinstance(word.value, ast.Constant)
    }
    assert {"%,d", "%,.2f"} <= formats
    assert {each for each in formats if not re.fullmatch(r"%,(d|\.\df)|percent", each)} == set()


def test_modules_stay_short():
    lengths = {name(p): len(p.read_text(encoding="utf-8").splitlines()) for p in modules}
    assert {file: lines for file, lines in lengths.items() if lines > LINES_MAX} == {}


def public(node: ast.AST, where: str) -> Iterator[tuple[str, ast.AST]]:
    """Public classes and functions of a module, with their public methods."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            if child.name.startswith("_"):
                continue
            yield f"{where}.{child.name}", child
            if isinstance(child, ast.ClassDef):
                yield from public(child, f"{where}.{child.name}")


def test_what_is_public_says_what_it_is():
    silent = [
        where
        for path in [*modules, ROOT / "rigledger.py"]
        for where, node in [(name(path), tree(path)), *public(tree(path), name(path))]
        if path.read_text(encoding="utf-8").strip() and not ast.get_docstring(node)
    ]
    assert silent == []


def test_no_dashboard_file_hides_a_module():
    """Streamlit puts the folder of its entry first on the path."""
    taken = {*FLOORS, "rigledger", *sys.stdlib_module_names, *packages_distributions()}
    entries = {path.stem for path in (ROOT / "dashboard").iterdir() if path.name[0] not in "._"}
    assert entries & taken == set()


def test_every_library_imported_is_declared():
    project = pyproject()["project"]
    declared = {canonicalize_name(Requirement(text).name) for text in project["dependencies"]}
    pages = {
        canonicalize_name(Requirement(text).name)
        for text in project["optional-dependencies"]["dashboard"]
    }
    homes = packages_distributions()
    missing = {
        f"{name(path)} imports {package}"
        for path in modules
        for package in imports(path)
        if package not in {*FLOORS, *sys.stdlib_module_names}
        and not {canonicalize_name(home) for home in homes.get(package, [])}
        & (declared | pages if name(path).startswith("dashboard/") else declared)
    }
    assert missing == set()


@pytest.mark.parametrize(
    "file", ["requirements.lock", "requirements-test.lock", "bench/peers.lock", "tests/focus.lock"]
)
def test_locks_hold_exact_versions_and_hashes_and_no_address(file):
    entries = lock(file)
    assert len(entries) > 20
    for entry in entries:
        assert re.fullmatch(
            r"[a-z0-9-]+==[^\s;]+( ; [^\\\n]+)? \\\n(    --hash=sha256:[0-9a-f]{64}( \\\n)?)+",
            entry,
        )
    assert "://" not in (ROOT / file).read_text(encoding="utf-8")


def test_locks_are_in_step_with_the_declared_dependencies():
    declared, groups = pyproject()["project"], pyproject()["dependency-groups"]
    product = [*declared["dependencies"], *declared["optional-dependencies"]["dashboard"]]
    for file, wanted in [
        ("requirements.lock", [*product, *groups["build"]]),
        ("requirements-test.lock", [*product, *chain(*groups.values())]),
    ]:
        locked = dict(entry.split()[0].split("==") for entry in lock(file))
        for text in wanted:
            requirement = Requirement(text)
            version = locked.get(canonicalize_name(requirement.name))
            assert version and version in requirement.specifier, f"{file}: {text}; run make lock"


def test_no_text_names_a_machine_path_or_a_registry_host():
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    files = subprocess.run(listed, cwd=ROOT, capture_output=True, check=True, text=True).stdout
    foreign = re.compile(
        r"(?<![\w.*-])/(?:work|root|farm)/|/tmp/[a-z]|\b(?:py(?:thonhosted|pi)|npmjs)[.](?:org|com)"
    )
    paths = [ROOT / file for file in files.split("\0") if file and (ROOT / file).is_file()]
    found = [
        f"{name(path)}: {match.group()}"
        for path in paths
        if b"\0" not in (data := path.read_bytes())
        for match in foreign.finditer(data.decode())
    ]
    assert ROOT / "pyproject.toml" in paths
    assert found == []
