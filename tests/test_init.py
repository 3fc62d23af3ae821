"""`rigledger init`: what it asks and finds out becomes a file that the strict reader takes."""

import argparse
import datetime as dt
import os
import pty
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import msgspec
import pytest
from rig.engine import answering
from rig.ports import free_ports
from rig.tree import Up, answers, until

import rigledger
from collector.settings import RouterSettings, Settings, SettingsError, load
from collector.settings_file import parse
from collector.setup.ask import Questions
from collector.setup.file import text, value
from collector.setup.flags import EngineFlags, add_flags, engine
from collector.setup.look import Found, engine_at, system_zone
from collector.setup.units import cron, enabling, units
from collector.sources.nvml_look import NoCardsSeen, look

TODAY = dt.date(2026, 11, 3)
LLAMA = {
    "/health": {"status": "ok"},
    "/props": {"total_slots": 3},
    "/v1/models": {"data": [{"id": "tiny", "owned_by": "llamacpp"}]},
}


def flags(*arguments: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_flags(parser)
    return parser.parse_args(arguments)


def tables(*arguments, replies=None, cards=(), found=None):
    """The tables that come of flags and replies, what was asked, and what was said."""
    told: list[str] = []
    asked: list[str] = []
    left = None if replies is None else iter(replies)

    def read(prompt: str) -> str:
        asked.append(prompt)
        return next(left)

    questions = Questions(
        None if left is None else read, told.append, lambda url: found or Found(up=False), cards
    )
    made = questions.tables(flags(*arguments), "box", "Europe/Berlin", TODAY)
    if left is not None:
        assert list(left) == [], "a reply was not asked for"
    return made, asked, told


# --- from answers to tables


def test_flags_alone_are_enough():
    made, _, told = tables(
        *("--name", "desk", "--time-zone", "America/Los_Angeles", "--currency", "EUR"),
        *("--hardware-name", "3 cards", "--price", "17000", "--in-service", "2026-10-01"),
        *("--life-years", "5", "--price-per-kwh", "0.31", "--host-watts", "90"),
        *("--engine", "url=http://h:1,kind=vllm,name=a,cards=GPU-x+GPU-y,tap=127.0.0.1:7,slots=8"),
        *("--engine", "url=http://h:2,kind=openai,cards=GPU-z,tap=none,model=m"),
    )
    assert made == {
        "rig": {"name": "desk", "time_zone": "America/Los_Angeles", "currency": "EUR"},
        "hardware": [
            {
                "name": "3 cards",
                "price": "17000",
                "in_service": dt.date(2026, 10, 1),
                "life_years": 5,
            }
        ],
        "electricity": [{"from": dt.date(2026, 10, 1), "price_per_kwh": "0.31", "host_watts": 90}],
        "engines": [
            {
                "name": "a",
                "url": "http://h:1",
                "kind": "vllm",
                "gpus": ["GPU-x", "GPU-y"],
                "slots": 8,
            },
            {
                "name": "card1",
                "url": "http://h:2",
                "kind": "openai",
                "gpus": ["GPU-z"],
                "model": "m",
            },
        ],
        "taps": [{"engine": "a", "listen": "127.0.0.1:7"}],
    }
    assert told == ["http://h:1 does not answer (yet)", "http://h:2 does not answer (yet)"]


def test_defaults_take_the_cards_in_their_order_and_say_what_is_missing():
    made, _, told = tables(
        *("--engine", "url=http://h:1", "--engine", "url=http://h:2"),
        cards=["GPU-a"],
        found=Found(True, 3, "llama_cpp", "tiny"),
    )
    assert made["rig"] == {"name": "box", "time_zone": "Europe/Berlin", "currency": "USD"}
    assert made["hardware"] == made["electricity"] == []
    assert [each["gpus"] for each in made["engines"]] == [["GPU-a"], ["GPU-a"]]
    assert made["engines"][0] == {
        "name": "card0",
        "url": "http://h:1",
        "kind": "llama_cpp",
        "gpus": ["GPU-a"],
        "slots": 3,
        "model": "tiny",
    }
    assert [tap["listen"] for tap in made["taps"]] == ["127.0.0.1:9001", "127.0.0.1:9002"]
    assert "no money" in told[0]
    assert told[1] == "http://h:1 answers, looks like llama_cpp, serves tiny, 3 slots"
    assert len(told) == 3


@pytest.mark.parametrize(
    ("cards", "given", "why"),
    [
        ([], "", "no card is left for card0; name its own, like cards=GPU-…"),
        ([], ",cards=0", "cards: '0' is an index, which a reboot may change; run `nvidia-smi -L`"),
        (["GPU-a", "GPU-b"], ",cards=2", "cards: '2' is an index"),
    ],
)
def test_no_card_is_named_by_a_number_in_the_file(cards, given, why):
    with pytest.raises(SettingsError, match="--engine http://h:1: ") as refusal:
        tables("--engine", f"url=http://h:1{given}", cards=cards)
    assert why in str(refusal.value)


def test_a_person_is_asked_again_until_the_answer_can_be_used():
    made, asked, told = tables(
        cards=["GPU-a", "GPU-b"],
        replies=[
            *("desk", "Mars/Base", "Europe/Paris", "euro", "EUR"),
            *("17,000", "17000", "", "yesterday", "2026-10-01", "four", "4"),
            *("0.20", "-1", "85"),
            *("127.0.0.1:8001", "http://127.0.0.1:8001", "left", "lama", "vllm", "1"),
            *("0", "2", "nowhere", "127.0.0.1:9100"),
            *("http://127.0.0.1:8002", "", "", "0, GPU-c", "", "none"),
            "",
        ],
    )
    assert made["rig"] == {"name": "desk", "time_zone": "Europe/Paris", "currency": "EUR"}
    assert made["hardware"][0]["name"] == "the rig"
    assert made["hardware"][0]["in_service"] == dt.date(2026, 10, 1)
    assert made["electricity"] == [
        {"from": dt.date(2026, 10, 1), "price_per_kwh": "0.20", "host_watts": 85}
    ]
    assert made["engines"] == [
        {
            "name": "left",
            "url": "http://127.0.0.1:8001",
            "kind": "vllm",
            "gpus": ["GPU-b"],
            "slots": 2,
        },
        {
            "name": "card1",
            "url": "http://127.0.0.1:8002",
            "kind": "openai",
            "gpus": ["GPU-a", "GPU-c"],
        },
    ]
    assert made["taps"] == [{"engine": "left", "listen": "127.0.0.1:9100"}]
    assert "  'Mars/Base' is no time zone; write it like \"America/Los_Angeles\"" in told
    assert any("three capital letters" in line for line in told)
    assert "  'yesterday' is not possible here; write a date like 2026-10-01" in told
    assert "  'four' is not possible here; write a whole number" in told
    assert any("must be >= 0" in line for line in told)
    assert any("one of ninfer, llama_cpp" in line for line in told)
    assert "    1: GPU-b" in told
    assert "    1: GPU-b (taken)" in told
    assert asked[0] == "Name of the rig [box]: "


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--time-zone", "Mars/Base"], "--time-zone: 'Mars/Base' is no time zone"),
        (["--price", "much"], "--price: 'much' is not possible here; write a decimal amount"),
        (["--price", "1", "--in-service", "x"], "--in-service: 'x' is not possible here"),
        (["--engine", "url=nowhere"], "--engine: 'nowhere' is not possible here"),
    ],
)
def test_a_flag_that_cannot_be_used_is_refused(arguments, words):
    with pytest.raises(SettingsError, match=re.escape(words)):
        tables(*arguments)


@pytest.mark.parametrize(
    "told",
    [
        "http://h:1",
        "url=",
        "name=a",
        "url=http://h,kind=x",
        "url=http://h,url=http://i",
        "url=h,slots=x",
    ],
)
def test_an_engine_flag_that_is_not_understood(told):
    with pytest.raises(argparse.ArgumentTypeError):
        engine(told)


def test_an_engine_flag():
    assert engine("url=http://h:1/a=b,cards=0+1,slots=4") == EngineFlags(
        url="http://h:1/a=b", cards=["0", "1"], slots=4
    )


# --- from tables to the file


def everything():
    made, _, _ = tables(
        *("--name", 'the "desk" \\ # [x]', "--price", "17000", "--price-per-kwh", "0.20"),
        *("--engine", "url=http://h:1,cards=GPU-x+GPU-y", "--engine", "url=http://h:2,cards=GPU-z"),
    )
    return made


def test_what_was_answered_is_what_the_strict_reader_reads():
    made = everything()
    settings = parse(text(made), "x")
    assert settings.rig.name == 'the "desk" \\ # [x]'
    assert settings.hardware[0].price == "17000"
    assert settings.electricity[0].from_ == TODAY
    assert [each.gpus for each in settings.engines] == [["GPU-x", "GPU-y"], ["GPU-z"]]
    assert [tap.engine for tap in settings.taps] == ["card0", "card1"]
    assert tomllib.loads(text(made)) == {
        **made,
        "store": {},
        "collector": {},
        "dashboard": {},
        "usage": {},
        "slo": {},
        "router": {},
        "compare": {},
    }


def test_commented_lines_hold_the_defaults():
    """Without its # such a line is good TOML and changes nothing."""
    made = text(everything())
    bare = re.sub(r"^# (\w+ = )", r"\1", made, flags=re.M)
    assert bare != made
    assert parse(bare, "x") == parse(made, "x")
    assert parse(text({}), "x") == Settings()


def test_comments_come_from_the_declaration():
    made = text(everything())
    told = "# An asset: what was bought or rented, and how its cost is spread over time.\n"
    assert f"{told}[[hardware]]\n" in made
    assert re.search(
        r"^# One extra port .*\n(#   .*\n)*#   .*routers drop\.\n\[\[taps\]\]$", made, re.M
    )
    assert re.search(r"^# \[\[electricity.windows\]\] with .*hours.*price", made, re.M)
    assert re.search(r'^price_per_kwh = "0.20"  # .*per kWh', made, flags=re.M)
    assert max(map(len, made.splitlines())) <= 120


@pytest.mark.parametrize(
    "told", ["a\nb\t\x7f\x00ü😀", -1, True, [], ["a", "b"], {}, {"a b": 1, "c": 2}, TODAY]
)
def test_values_are_read_back(told):
    assert tomllib.loads(f"x = {value(told)}")["x"] == told


# --- what it finds out


def test_an_engine_tells_of_itself():
    with answering(LLAMA) as url:
        assert engine_at(url) == Found(True, 3, "llama_cpp", "tiny")
    assert engine_at(url) == Found(up=False)
    with answering({"/v1/models": {"data": [{"id": "m", "owned_by": "vllm"}]}}) as url:
        assert engine_at(url) == Found(True, None, "vllm", "m")
    with answering({"/v1/models": {"data": "?"}}) as url:
        assert str(engine_at(url)) == "answers"


def test_a_real_engine_tells_of_itself(two_llamas):
    found = engine_at(two_llamas[0].url)
    assert found.up
    assert found.kind == "llama_cpp"
    assert found.slots
    assert found.model


def test_the_systems_zone(tmp_path):
    assert system_zone({"TZ": ":Asia/Tokyo"}, tmp_path) == "Asia/Tokyo"
    assert system_zone({"TZ": "nonsense"}, tmp_path) == "UTC"
    (tmp_path / "localtime").symlink_to("/usr/share/zoneinfo/Europe/Rome")
    assert system_zone({}, tmp_path) == "Europe/Rome"
    (tmp_path / "timezone").write_text("Asia/Tokyo\n")
    assert system_zone({}, tmp_path) == "Asia/Tokyo"


def test_the_cards_are_seen_through_a_child(cards):
    cards.add("GPU-a")
    cards.add("GPU-b", energy=None)
    seen = look()
    assert seen.driver == "580.65.06"
    assert [(each.device, each.energy_uj_total) for each in seen.cards] == [
        ("GPU-a", 1_000_000),
        ("GPU-b", None),
    ]
    cards.fail_init(9)
    with pytest.raises(NoCardsSeen, match="the NVIDIA driver is not loaded"):
        look()


def test_a_driver_that_hangs_does_not_hold_us_up(cards):
    cards.add("GPU-a")
    cards.answer("GPU-a", power_hang=60)
    with pytest.raises(NoCardsSeen, match="hangs"):
        look(timeout_s=3)


# --- the command


@pytest.fixture
def here(tmp_path, monkeypatch, cards):
    cards.add("GPU-a")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("RIGLEDGER_DATA", raising=False)
    with Path("/dev/null").open() as nothing:
        monkeypatch.setattr("sys.stdin", nothing)
        yield tmp_path


def test_the_file_is_written_for_its_owner_alone_and_never_over_another(here, capsys):
    assert rigledger.main(["init", "--engine", "url=http://127.0.0.1:9"]) == 0
    told = capsys.readouterr()
    assert told.out == ""
    assert "Wrote rigledger.toml." in told.err
    assert "Driver 580.65.06 knows 1 cards: GPU-a" in told.err
    file = here / "rigledger.toml"
    assert file.stat().st_mode & 0o777 == 0o600
    assert load(None).engines[0].gpus == ["GPU-a"]
    before = file.read_text()

    assert rigledger.main(["init", "--name", "other"]) == 2
    assert "rigledger.toml is there already" in capsys.readouterr().err
    assert file.read_text() == before
    assert rigledger.main(["init", "--name", "other", "--force"]) == 0
    assert load(None).rig.name == "other"
    assert sorted(path.name for path in here.glob("*rigledger*")) == ["rigledger.toml"]


def test_print_writes_nothing(here, capsys):
    arguments = ["init", "--print", "--systemd", "--engine", "url=http://127.0.0.1:9"]
    assert rigledger.main(["--config", "my.toml", *arguments]) == 0
    out = capsys.readouterr().out
    assert list(here.rglob("*.toml")) == list(here.rglob("*.service")) == []
    toml = out.partition(f"# {here}/config/systemd")[0]
    assert parse(toml, "x").taps[0].listen == "127.0.0.1:9001"
    assert out.count("[Install]") == 4


def test_units_are_written_for_settings_that_are_there(here, capsys):
    (here / "rigledger.toml").write_text('[rig]\ntime_zone = "Asia/Tokyo"\n')
    assert rigledger.main(["init", "--systemd"]) == 0
    folder = here / "config/systemd/user"
    names = sorted(path.name for path in folder.iterdir())
    assert names == [
        "rigledger-collect.service",
        "rigledger-dashboard.service",
        "rigledger-report.service",
        "rigledger-report.timer",
    ]
    assert capsys.readouterr().out.splitlines() == [
        "systemctl --user daemon-reload",
        "systemctl --user enable --now rigledger-collect.service rigledger-dashboard.service"
        " rigledger-report.timer",
    ]
    assert "OnCalendar=*-*-01 06:00:00 Asia/Tokyo" in (folder / names[-1]).read_text()
    assert rigledger.main(["init", "--systemd"]) == 0
    (folder / names[0]).write_text("mine")
    assert rigledger.main(["init", "--systemd"]) == 2
    assert "replace it with --force" in capsys.readouterr().err
    assert (folder / names[0]).read_text() == "mine"


def test_a_router_without_taps_has_a_unit_too():
    bare = msgspec.structs.replace(parse(text(everything()), "x"), taps=[], router=RouterSettings())
    doored = msgspec.structs.replace(bare, router=RouterSettings(listen="127.0.0.1:8080"))
    for settings, expected in ((bare, False), (doored, True)):
        names = {unit.name for unit in units(settings, Path("/x.toml"), Path("/v/python"))}
        assert ("rigledger-route.service" in names) == expected


def test_the_line_for_cron_makes_a_report_of_the_month_that_is_over(tmp_path):
    """What `sh` runs of it, once cron has taken the times and the signs before per cent."""
    rig = tmp_path / "100% rig"
    rig.mkdir()
    program = rig / "py"
    program.write_text('#!/bin/sh\nprintf "%s\\n" "$PWD" "$@" > "$PWD/reports/told"\n')
    program.chmod(0o700)
    minute, hour, day, month, weekday, line = cron(rig / "r.toml", program).split(" ", 5)
    assert (minute, hour, day, month, weekday) == ("0", "6", "2", "*", "*")
    assert not re.search(r"(?<!\\)%", line)
    subprocess.run(["sh", "-c", line.replace("\\%", "%")], cwd="/", check=True)
    assert (rig / "reports" / "told").read_text().splitlines() == [
        *(str(rig), "-P", "-m", "rigledger", "--config", str(rig / "r.toml")),
        *("report", "--format", "html", "--out", "reports"),
    ]


def test_the_units_restart_and_are_confined(tmp_path):
    made = everything()
    config = Path("/home/me/100% rig/rigledger.toml")
    found = {unit.name: unit for unit in units(parse(text(made), "x"), config, Path("/v/python"))}
    route = found["rigledger-route.service"].text
    assert (
        'ExecStart="/v/python" -P -m rigledger --config "/home/me/100%% rig/rigledger.toml" route\n'
        in route
    )
    assert "WorkingDirectory=/home/me/100%% rig\n" in route
    for line in ("Restart=on-failure", "RestartPreventExitStatus=2", "NoNewPrivileges=yes"):
        assert f"\n{line}\n" in route
    assert "--format html --out reports\n" in found["rigledger-report.service"].text
    assert "route.service" in enabling(list(found.values()))[1]
    assert "report.service" not in enabling(list(found.values()))[1]
    tool = shutil.which("systemd-analyze")
    if tool:
        for unit in units(parse(text(made), "x"), tmp_path / "x.toml", Path(sys.executable)):
            (tmp_path / unit.name).write_text(unit.text)
        files = [
            str(path) for path in tmp_path.glob("*.*") if path.suffix in (".service", ".timer")
        ]
        env = {**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)}
        done = subprocess.run(
            [tool, "--user", "verify", *files], capture_output=True, text=True, check=False, env=env
        )
        assert (done.returncode, done.stderr) == (0, "")


def test_a_person_on_a_terminal(here):
    """The same through a terminal: prompts are shown, replies are taken."""
    ours, theirs = pty.openpty()
    replies = ["desk", "Europe/Paris", "", "", "", ""]
    os.write(ours, "".join(f"{reply}\n" for reply in replies).encode())
    command = [sys.executable, "-P", "-m", "rigledger", "init"]
    done = subprocess.run(
        command, stdin=theirs, capture_output=True, text=True, timeout=60, check=False
    )
    os.close(theirs)
    os.close(ours)
    assert done.returncode == 0, done.stderr
    assert "Name of the rig [" in done.stderr
    assert "URL of an engine (empty: no more): " in done.stderr
    settings = load(here / "rigledger.toml")
    assert (settings.rig.name, settings.rig.time_zone) == ("desk", "Europe/Paris")


def test_up_runs_with_the_file(here, request):
    with answering(LLAMA) as url:
        ports = free_ports(3)
        tap = f"127.0.0.1:{ports[2]}"
        arguments = ["init", "--name", "desk", "--engine", f"url={url},tap={tap}"]
        assert rigledger.main(arguments) == 0
        file = here / "rigledger.toml"
        made = file.read_text()
        for old, new in zip(("8585", "8501"), ports, strict=False):
            made = made.replace(f'# listen = "127.0.0.1:{old}"', f'listen = "127.0.0.1:{new}"')
        file.write_text(made)
        up = Up(here, ["up"])
        request.addfinalizer(up.destroy)
        until(up.said("Ctrl-C stops all of it"), "the tree is up")
        assert "rigledger is up: desk" in up.log
        assert answers(f"http://127.0.0.1:{ports[0]}/healthz")
        assert answers(f"http://{tap}/health")
        assert up.interrupt() == 0
