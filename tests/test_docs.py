"""What the README says, run."""

import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest

import rigledger
from collector.price_series import parse as parse_series
from collector.settings_file import parse
from router.watch import PROJECT_HEADER, SESSION_HEADERS

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = {
    name: (ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "CONTRIBUTING.md")
}
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")

blocks = re.findall(r"^```(\w*)\n(.*?)^```$", README, flags=re.MULTILINE | re.DOTALL)
code = [text for _, text in blocks] + re.findall(r"`([^`\n]+)`", README)
commands = sorted(set(re.findall(r"(?:^|[\s/])rigledger ([a-z]+)\b", "\n".join(code))))
sessions = [
    (line, output)
    for language, text in blocks
    if language == "console"
    for line, output in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", text, flags=re.MULTILINE)
]
targets = dict(re.findall(r"^([a-z]+):.*?(?:## (.*))?$", MAKEFILE, flags=re.MULTILINE))


@pytest.mark.parametrize("command", commands)
def test_every_command_named_in_the_readme_exists(command, capsys):
    assert rigledger.main([command, "--help"]) == 0
    assert f"rigledger {command}" in capsys.readouterr().out


def test_the_readme_names_the_commands_of_each_part():
    parts = {"up", "collect", "route", "dashboard", "report", "estimate", "init", "sql", "doctor"}
    assert parts | {"close"} <= set(commands)


@pytest.mark.parametrize(("line", "output"), sessions)
def test_output_shown_in_the_readme_is_the_real_one(line, output, capsys):
    program, *arguments = shlex.split(line)
    assert program == "rigledger"
    assert rigledger.main(arguments) == 0
    assert capsys.readouterr().out == output


def test_the_readme_shows_an_estimate():
    assert [line.split()[1] for line, _ in sessions] == ["estimate"]


def test_the_settings_in_the_readme_are_accepted():
    (example,) = [text for language, text in blocks if language == "toml"]
    settings = parse(example, "README.md")
    taps = {tap.engine: tap.listen for tap in settings.taps}
    assert list(taps) == [engine.name for engine in settings.engines]
    assert all(f"`{listen}`" in README for listen in taps.values())


def test_the_readme_names_the_headers_that_the_taps_take():
    told = {word.lower() for word in re.findall(r"`(X-[\w-]+)`", README)}
    assert told == {PROJECT_HEADER, *SESSION_HEADERS}


def test_every_make_target_has_help():
    phony = re.search(r"^\.PHONY: (.*)$", MAKEFILE, flags=re.MULTILINE)[1].split()
    alone = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    shown = subprocess.run(
        ["make", "help"], cwd=ROOT, env=alone, capture_output=True, text=True, check=True
    )
    listed = [line.split()[:3] for line in shown.stdout.splitlines()]
    assert {words[1] for words in listed} == set(phony) == set(targets)
    assert all(words[0] == "make" and len(words) == 3 for words in listed)


@pytest.mark.parametrize("page", PAGES)
def test_every_make_target_named_exists(page):
    code = re.findall(r"`(make [^`\n]+)`|^(make .*)$", PAGES[page], flags=re.MULTILINE)
    named = {shlex.split("".join(pair))[1] for pair in code}
    assert {"test"} <= named <= set(targets)


def test_every_folder_in_the_layout_table_exists():
    rows = re.findall(r"^\| `([\w./]+)` \|", README, flags=re.MULTILINE)
    assert {"collector/", "router/", "analytics/", "dashboard/", "data/", "tests/"} <= set(rows)
    assert [row for row in rows if not (ROOT / row).exists()] == []


def test_the_changelog_has_the_version():
    version = re.search(r'^version = "(.*)"$', (ROOT / "pyproject.toml").read_text(), flags=re.M)[1]
    assert f"## [{version}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_prices_of_the_electricity_page_are_accepted():
    page = (ROOT / "docs/electricity.md").read_text(encoding="utf-8")
    (prices,) = re.findall(r"^```csv\n(.*?)^```$", page, flags=re.MULTILINE | re.DOTALL)
    assert len(parse_series(prices, "prices.csv").prices_nano) == 2
