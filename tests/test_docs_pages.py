"""The pages of docs/: settings, commands, links and pictures, checked against the program."""

import contextlib
import io
import re
import shlex
import struct
import subprocess
from pathlib import Path

import pytest
from newcomer import PICTURE
from pictures import PICTURES

import rigledger
from analytics.prices.read import parse_sheets
from bench.peers import command as peer
from collector.settings_file import parse

ROOT = Path(__file__).parent.parent
PATHS = [path for pattern in ("*.md", "[dr]*/**/*.md") for path in ROOT.glob(pattern)]
PAGES = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in sorted(PATHS)}
FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
BLOCKS = [
    (page, language, text)
    for page, told in PAGES.items()
    for language, text in FENCED.findall(told)
]
COMMANDS = tuple(rigledger._parser()._subparsers._group_actions[0].choices)
SETTINGS = [(page, text) for page, language, text in BLOCKS if language == "toml"]
SHELL = [
    (page, line.removeprefix("$ "))
    for page, language, text in BLOCKS
    if language in ("sh", "console")
    for line in text.replace("\\\n", " ").splitlines()
    if language == "sh" or line.startswith("$ ")
]
LINES = [(page, line) for page, line in SHELL if re.match(r"(\.venv/bin/)?rigledger ", line)]
INLINE = sorted(
    {
        (page, code.removeprefix(".venv/bin/").removeprefix("rigledger "))
        for page, told in PAGES.items()
        for code in re.findall(r"`([^`\n]+)`", FENCED.sub("", told))
        if re.match(r"(\.venv/bin/)?rigledger \w", code)
        or (code.split()[0] in COMMANDS and " --" in code)
    }
)
ROUTERS = {"sglang_router.launch_router": "sglang-router", "smg.launch_router": "SMG"}


def refused(words: list[str]) -> str:
    """Why the program's own parser refuses a command line; nothing where it does not."""
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            rigledger._parser().parse_args(words)
    except SystemExit:
        return said.getvalue().splitlines()[-1]
    return ""


def anchors(page: str) -> set[str]:
    """What a link to a heading of the page may end in, as GitHub names them."""
    titles = re.findall(r"^#+ (.*)$", FENCED.sub("", PAGES[page]), flags=re.MULTILINE)
    plain = [re.sub(r"[^\w\- ]", "", title.lower()) for title in titles]
    return {title.replace(" ", "-") for title in plain}


@pytest.mark.parametrize(("page", "text"), SETTINGS)
def test_settings_shown_are_accepted(page: str, text: str) -> None:
    if text.startswith("[[sheets]]"):
        assert parse_sheets(text, page)
    else:
        parse(text, page)


@pytest.mark.parametrize(("page", "line"), LINES)
def test_command_lines_shown_are_accepted(page: str, line: str) -> None:
    _, *words = shlex.split(line, comments=True)
    assert refused(words) == ""


@pytest.mark.parametrize(("page", "code"), INLINE)
def test_commands_named_in_a_sentence_exist(page: str, code: str) -> None:
    why = refused(shlex.split(code))
    assert why == "" or why.endswith("expected one argument") or "are required" in why


@pytest.mark.parametrize("module", ROUTERS)
def test_options_of_other_routers_exist(module: str) -> None:
    (line,) = [line for page, line in SHELL if module in line]
    found = peer(ROUTERS[module], "127.0.0.1:0", [], [])
    if found is None:
        pytest.skip(f"{ROUTERS[module]} is not installed; `make peers` does that")
    asked = [*found[: found.index(module) + 1], "--help"]
    told = subprocess.run(asked, capture_output=True, text=True, check=True, timeout=60).stdout
    options = set(re.findall(r"--[\w-]+", line))
    assert options <= set(re.findall(r"--[\w-]+", told))


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    links = re.findall(r"\]\(([^)\s]+)\)", FENCED.sub("", PAGES[page]))
    for link in (link for link in links if "://" not in link):
        path, _, anchor = link.partition("#")
        file = ((ROOT / page).parent / path).resolve() if path else ROOT / page
        assert file.exists(), f"{page}: {link}"
        if anchor:
            assert anchor in anchors(str(file.relative_to(ROOT))), f"{page}: {link}"


def test_every_page_is_linked_from_another() -> None:
    told = {page: text for page, text in PAGES.items() if page.startswith("docs/")}
    linked = {
        ((ROOT / page).parent / path).resolve()
        for page, text in PAGES.items()
        for path in re.findall(r"\]\(([^)#\s]+)", text)
    }
    assert [page for page in told if (ROOT / page).resolve() not in linked] == []


def test_pictures_are_shown_and_small() -> None:
    files = sorted(ROOT.glob("docs/pictures/*"))
    assert [file.stem for file in files] == sorted([PICTURE.stem, *(name for name, *_ in PICTURES)])
    for file in files:
        told = file.read_bytes()
        assert struct.unpack(">I", told[16:20]) == (1440,)
        assert len(told) <= 250_000
        page = "docs/newcomer.md" if file == PICTURE else "docs/tour.md"
        assert f"pictures/{file.name})" in PAGES[page]
