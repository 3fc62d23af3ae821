"""`rigledger doctor`: every finding from facts made by hand, and a real rig looked at."""

import json
from dataclasses import replace
from datetime import date
from pathlib import Path

import msgspec
import pytest
from rig.door import opened
from rig.engine import answering
from rig.ledger import attempt, heartbeats
from rig.ports import free_ports

import rigledger
from analytics import doctor
from analytics.finding import Finding, as_json, as_text, note, ok, problem, worst
from collector import checkup
from collector.checkup import CardFacts, Facts, LedgerFacts
from collector.clock import SECOND_NS, from_ns, now_ns
from collector.events import Heartbeat, Host
from collector.probe import Health
from collector.settings import (
    ApiPrice,
    CompareSettings,
    Electricity,
    EngineSettings,
    Hardware,
    RouterSettings,
    Settings,
    StoreSettings,
    Tap,
)
from collector.setup.look import Found
from collector.sources.nvml_wire import Reading
from collector.store import Store
from router import checkup as taps
from router.checkup import TapFacts
from router.spool import Spool

NOW = 1_795_000_000 * SECOND_NS
DAY = date(2026, 10, 1)


def engine(name: str, port: int, gpus: list[str], **more) -> EngineSettings:
    given = {"kind": "llama_cpp", "slots": 2, **more}
    return EngineSettings(name=name, url=f"http://127.0.0.1:{port}", gpus=gpus, **given)


WELL = Settings(
    hardware=[Hardware(name="box", price="1", in_service=DAY, life_years=4)],
    electricity=[Electricity(from_=DAY, price_per_kwh="0.2")],
    compare=CompareSettings(prices=[ApiPrice(name="a", input="1", cache_read="0", output="1")]),
    engines=[engine("e0", 8001, ["GPU-a"]), engine("e1", 8002, ["GPU-b"])],
    taps=[Tap(engine="e0", listen="127.0.0.1:9001"), Tap(engine="e1", listen="127.0.0.1:9002")],
)
READINGS = [Reading(device=f"GPU-{x}", at_ns=NOW, energy_uj_total=1) for x in "ab"]
FACTS = Facts(
    now_ns=NOW,
    ledger=LedgerFacts(
        Path("data"),
        newest_ns={"heartbeat": NOW - 9 * SECOND_NS, "sample": NOW - SECOND_NS, "attempt": NOW},
    ),
    collector=Health(),
    cards=CardFacts("580", READINGS),
    engines={name: Found(True, 2, "llama_cpp", "m") for name in ("e0", "e1")},
    system_zone="UTC",
    synchronised=True,
)
TAPS = TapFacts({"127.0.0.1:9001": True, "127.0.0.1:9002": True}, 0, 0)


def found(settings=WELL, facts=FACTS, tapped=TAPS) -> list[Finding]:
    """All that is not well."""
    return [each for each in doctor.findings(settings, facts, tapped) if each.level != "ok"]


def changed(settings: Settings, **tables) -> Settings:
    return msgspec.structs.replace(settings, **tables)


def test_a_rig_that_is_well_has_nothing_to_mend():
    assert found() == []
    told = doctor.findings(WELL, FACTS, TAPS)
    assert {each.area for each in told} == {
        "ledger",
        "collector",
        "events",
        "clock",
        "cards",
        "engines",
        "taps",
    }
    assert worst(told) == 0


@pytest.mark.parametrize(
    ("table", "value", "words"),
    [
        ("hardware", [], "no hardware is in service"),
        (
            "hardware",
            [Hardware(name="x", price="1", in_service=date(2030, 1, 1), life_years=1)],
            "no hardware is in service",
        ),
        (
            "hardware",
            [
                Hardware(
                    name="x",
                    price="1",
                    life_years=9,
                    in_service=date(2020, 1, 1),
                    retired=date(2021, 1, 1),
                )
            ],
            "no hardware is in service",
        ),
        ("electricity", [], "no electricity price is in force"),
        ("compare", CompareSettings(), "no API price"),
    ],
)
def test_missing_prices(table, value, words):
    (only,) = found(changed(WELL, **{table: value}))
    assert (only.area, only.level) == ("prices", "note")
    assert words in only.text
    assert only.remedy


@pytest.mark.parametrize(
    ("sheet", "level", "text", "remedy"),
    [
        ("anthropic/claude-haiku-5-5", None, "", ""),
        ("anthropic/claude-haiku-5.6", "problem", "there is no price sheet", "claude-haiku-5-5"),
        ("deepseek/deepseek-flash@CNY", "problem", "no rate from CNY to USD", "[currencies]"),
    ],
)
def test_sheets_to_compare_with(tmp_path, sheet, level, text, remedy):
    compare = CompareSettings(sheets=[sheet], sheet_folder=str(tmp_path))
    told = found(changed(WELL, compare=compare))
    assert [each.level for each in told] == ([level] if level else [])
    assert all(text in each.text and remedy in each.remedy for each in told)


def test_a_sheet_that_is_sold_no_more_and_a_file_that_cannot_be_read(tmp_path):
    path = tmp_path / "own.toml"
    path.write_text(
        '[[sheets]]\nid = "old"\n[[sheets.periods]]\nto = 2026-01-01T00:00:00Z\ninput = "1"\n',
        encoding="utf-8",
    )
    compare = CompareSettings(sheets=["old"], sheet_folder=str(tmp_path))
    (only,) = found(changed(WELL, compare=compare))
    assert (only.level, only.text) == ("note", "old: the sheet has no price at this instant")
    path.write_text("[[sheets]]\n", encoding="utf-8")
    (only,) = found(changed(WELL, compare=compare))
    assert only.level == "problem"
    assert only.text.startswith(f"{path}:1: sheets.")


@pytest.mark.parametrize(
    ("change", "level", "words"),
    [
        ({"error": "it is torn"}, "problem", "it is torn"),
        ({"writable": False}, "problem", "cannot be written"),
        ({"mode": 0o750}, "note", "open to other users"),
        ({"free_b": 100 << 20}, "problem", "0.1 GiB are free"),
        ({"free_b": 2 << 30}, "note", "2.0 GiB are free"),
        ({"damaged": 1}, "note", "damage was found once"),
        ({"clock_steps": 3}, "note", "jumped 3 times in 30 days"),
    ],
)
def test_the_ledger(change, level, words):
    (only,) = found(facts=replace(FACTS, ledger=replace(FACTS.ledger, **change)))
    assert only.level == level
    assert words in only.text


def test_a_ledger_that_is_not_there_yet():
    facts = replace(FACTS, ledger=LedgerFacts(Path("data"), exists=False))
    assert found(facts=facts) == [
        note("ledger", "data does not exist yet", "`rigledger up` makes it")
    ]


def test_a_collector_that_does_not_answer():
    silent = replace(FACTS, collector=Health("nobody there"))
    (only,) = found(facts=silent)
    assert only.text == "nobody there, though a process writes the ledger"
    facts = replace(silent, ledger=replace(FACTS.ledger, written=False))
    assert found(facts=facts) == [problem("collector", "nobody there")]


def test_what_the_collector_refused_is_known():
    facts = replace(FACTS, collector=Health(refused={"unknown": 1, "attempt": 1200}))
    (only,) = found(facts=facts)
    assert (only.area, only.level) == ("collector", "note")
    assert only.text.endswith(": 1,200 of kind attempt, 1 of kind unknown")


@pytest.mark.parametrize(
    ("newest", "words"),
    [
        ({"sample": 1}, "there is no heartbeat yet"),
        ({"heartbeat": 1}, "there is no sample yet"),
        ({"heartbeat": 61, "sample": 1}, "the newest heartbeat is 1.0 min old"),
        ({"heartbeat": 1, "sample": 7200}, "the newest sample is 2.0 h old"),
        (
            {"heartbeat": 1, "sample": 1, "attempt": -86400},
            "the newest attempt lies 1.0 days in the future",
        ),
    ],
)
def test_events_that_are_late_or_early(newest, words):
    told = {kind: NOW - age * SECOND_NS for kind, age in newest.items()}
    (only,) = found(facts=replace(FACTS, ledger=replace(FACTS.ledger, newest_ns=told)))
    assert (only.area, only.level, only.text) == ("events", "problem", words)


def test_a_rig_without_requests_or_cards_is_no_problem():
    ledger = replace(FACTS.ledger, newest_ns={"heartbeat": NOW})
    facts = replace(FACTS, ledger=ledger, cards=CardFacts(error="no driver"))
    assert [each.text for each in found(facts=facts)] == ["no driver"]
    bare = changed(WELL, engines=[], taps=[])
    facts = replace(facts, ledger=replace(ledger, newest_ns={"attempt": NOW - 10**18}))
    assert {each.level for each in found(bare, facts)} == {"note"}


def test_the_clock():
    assert found(facts=replace(FACTS, synchronised=None)) == []
    (only,) = found(facts=replace(FACTS, synchronised=False))
    assert "time service" in only.remedy
    (only,) = found(facts=replace(FACTS, system_zone="Asia/Tokyo"))
    assert only.text == "the books keep the days of UTC, this machine those of Asia/Tokyo"
    assert found(facts=replace(FACTS, system_zone="Etc/UTC")) == []


def test_cards_named_wrongly():
    engines = [engine("e0", 8001, ["GPU-a"]), engine("e1", 8002, ["GPU-gone"])]
    told = found(changed(WELL, engines=engines))
    assert told == [
        problem(
            "cards",
            "e1 names card GPU-gone, which the driver does not know",
            "write one of GPU-a, GPU-b",
        ),
        note(
            "cards",
            "GPU-b belongs to no engine",
            "name it in `gpus` of [[engines]] if it serves a model",
        ),
    ]


def test_cards_that_tell_less():
    readings = [
        Reading(device="GPU-a", at_ns=NOW),
        Reading(device="GPU-b", at_ns=NOW, lost=True, error="GPU is lost"),
    ]
    told = found(facts=replace(FACTS, cards=CardFacts("580", readings, ["card 2: unknown"])))
    assert [(each.level, each.text) for each in told] == [
        ("problem", "a card without a UUID: card 2: unknown"),
        ("note", "GPU-a has no energy counter: energy is summed up from its draw"),
        ("problem", "GPU-b cannot be read in full: GPU is lost"),
    ]


@pytest.mark.parametrize(
    ("answer", "level", "words"),
    [
        (Found(up=False), "problem", "e0 does not answer at http://127.0.0.1:8001"),
        (Found(True, 2, "vllm"), "note", "e0 looks like vllm, not llama_cpp"),
        (Found(True, 4, "llama_cpp"), "note", "e0 has 4 slots, not 2"),
    ],
)
def test_engines(answer, level, words):
    (only,) = found(facts=replace(FACTS, engines={**FACTS.engines, "e0": answer}))
    assert (only.area, only.level, only.text) == ("engines", level, words)


def test_an_engine_whose_slots_nobody_tells():
    engines = [engine("e0", 8001, ["GPU-a"], slots=None, kind="vllm"), WELL.engines[1]]
    facts = replace(FACTS, engines={**FACTS.engines, "e0": Found(True, None, "vllm")})
    (only,) = found(changed(WELL, engines=engines), facts)
    assert only.remedy == "write its slots"


def test_two_things_on_one_port():
    engines = [
        engine("e0", 8001, ["GPU-a"]),
        EngineSettings(
            name="e1", url="http://localhost:8001/", kind="llama_cpp", gpus=["GPU-b"], slots=2
        ),
    ]
    (only,) = found(changed(WELL, engines=engines))
    assert (only.level, only.text) == ("problem", "e0 and e1 have one address, 127.0.0.1:8001")
    looped = [Tap(engine="e0", listen="127.0.0.1:8002"), WELL.taps[1]]
    tapped = TapFacts({"127.0.0.1:8002": True, "127.0.0.1:9002": True}, 0, 0)
    (only,) = found(changed(WELL, taps=looped), tapped=tapped)
    assert only.text == "the tap of e0 listens where an engine answers"


def test_taps():
    tapped = TapFacts({"127.0.0.1:9001": False, "127.0.0.1:9002": True}, 1_200, 3)
    assert [(each.level, each.text) for each in found(tapped=tapped)] == [
        ("problem", "nobody listens on 127.0.0.1:9001, the tap of e0"),
        ("note", "1,200 events wait for the collector"),
        ("note", "the collector refused 3 events of the router and the taps"),
    ]
    assert found(tapped=TapFacts(TAPS.listening, None, None)) == []
    (only,) = found(changed(WELL, taps=WELL.taps[:1]))
    assert (
        only.text
        == "e1 has no tap: its requests are in the books only if another source tells them"
    )


def test_the_router():
    front = changed(WELL, taps=[], router=RouterSettings(listen="127.0.0.1:8080"))
    listens = TapFacts({"127.0.0.1:8080": True}, 0, 0)
    assert found(front, tapped=listens) == []
    assert ok("router", "the router listens on 127.0.0.1:8080") in doctor.findings(
        front, FACTS, listens
    )
    (only,) = found(front, tapped=TapFacts({"127.0.0.1:8080": False}, 0, 0))
    assert (only.level, only.area) == ("problem", "router")
    assert only.text == "nobody listens on 127.0.0.1:8080, the router"
    looped = changed(front, router=RouterSettings(listen="127.0.0.1:8002"))
    (only,) = found(looped, tapped=TapFacts({"127.0.0.1:8002": True}, 0, 0))
    assert only.text == "the router listens where an engine answers"


def test_lines_and_json():
    told = [ok("clock", "fine"), problem("cards", "gone", "plug it in")]
    assert as_text(told).splitlines() == [
        "ok       clock      fine",
        "problem  cards      gone; plug it in",
    ]
    assert as_json(told)[1] == {
        "area": "cards",
        "level": "problem",
        "text": "gone",
        "remedy": "plug it in",
    }
    assert worst(told) == 1


# --- the world, looked at


def live(path: Path, **tables) -> Settings:
    return Settings(store=StoreSettings(path=str(path)), **tables)


def test_a_ledger_is_looked_at_while_it_is_written(tmp_path):
    path = tmp_path / "ledger"
    now = now_ns()
    step = Host(source="t", event_id="s", rig="r", what="clock_step", at=from_ns(now - 10**9))
    old = Host(
        source="t", event_id="o", rig="r", what="clock_step", at=from_ns(now - 40 * 86_400 * 10**9)
    )
    beat = Heartbeat(
        source="t", event_id="h", rig="r", witness="w", covers=[], at=from_ns(now - 5000)
    )
    with Store(path) as store:
        store.append([step, old])
        store.seal()
        store.append([beat])
        seen = checkup.gather(live(path)).ledger
        assert seen.written
        assert (seen.error, seen.exists, seen.writable, seen.mode) == (None, True, True, 0o700)
        assert seen.clock_steps == 1
        assert seen.newest_ns == {
            "host": (now - 10**9) // 1000 * 1000,
            "heartbeat": (now - 5000) // 1000 * 1000,
        }
        assert seen.free_b > 0
    assert not checkup.gather(live(path)).ledger.written
    assert not checkup.gather(live(tmp_path / "nowhere")).ledger.exists
    assert "holds no ledger" in (checkup.gather(live(tmp_path)).ledger.error or "")


def test_taps_and_spool_are_looked_at(tmp_path):
    here, nowhere = free_ports(2)
    with answering({}) as url:
        listen = url.removeprefix("http://")
        settings = live(
            tmp_path,
            engines=[engine("e", here, ["GPU-a"])],
            taps=[Tap(engine="e", listen=listen), Tap(engine="e", listen=f"127.0.0.1:{nowhere}")],
        )
        assert taps.gather(settings) == TapFacts(
            {listen: True, f"127.0.0.1:{nowhere}": False}, 0, 0
        )
        front = changed(settings, taps=[], router=RouterSettings(listen=listen))
        assert taps.gather(front).listening == {listen: True}
    spool = Spool(tmp_path / "spool-tap.sqlite")
    spool.append([b"{}", b"{}"])
    assert taps.gather(settings).waiting is None
    spool.close()
    assert taps.gather(settings).waiting == 2
    (tmp_path / "spool-tap.sqlite").write_text("no database")
    assert taps.gather(settings).waiting is None


@pytest.fixture
def doctor_of(tmp_path, capsys, cards, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def run(text: str, *arguments: str):
        (tmp_path / "rig.toml").write_text(text)
        code = rigledger.main(["--config", "rig.toml", "doctor", *arguments])
        return code, capsys.readouterr().out

    return run


def test_a_whole_rig_at_the_front_door(tmp_path, doctor_of, cards):
    cards.add("GPU-a")
    llama = {"/health": {}, "/props": {"total_slots": 2}}
    with opened(tmp_path / "ledger") as door, answering(llama) as url, answering({}) as tap:
        rig = f"""
store.path = "ledger"
collector.listen = "127.0.0.1:{door.port}"
[[engines]]
name = "e0"
url = "{url}"
kind = "llama_cpp"
gpus = ["GPU-a"]
[[taps]]
engine = "e0"
listen = "{tap.removeprefix("http://")}"
"""
        door.door.store.append(
            [attempt("a", 0, 1, "GPU-a", engine="e0"), *heartbeats(0, 20, ["e0"])]
        )
        code, out = doctor_of(rig, "--json")
    told = json.loads(out)
    assert code == 1
    assert {(each["area"], each["text"][:26]) for each in told if each["level"] == "problem"} == {
        ("events", "there is no sample yet"),
        ("events", next(t["text"] for t in told if "newest heartbeat" in t["text"])[:26]),
    }
    lines = [(each["level"], each["area"], each["text"]) for each in told]
    assert ("ok", "settings", "rig.toml can be used") in lines
    assert ("ok", "collector", "it answers and keeps events") in lines
    assert ("ok", "engines", f"e0 at {url} answers, looks like llama_cpp, 2 slots") in lines
    assert ("ok", "cards", "driver 580.65.06 knows GPU-a") in lines
    assert lines[-1][:2] == ("ok", "report")


def test_settings_that_cannot_be_used_are_a_finding(doctor_of):
    code, out = doctor_of("[rig]\nnam = 'x'\n")
    assert code == 1
    assert out.startswith("problem  settings   /")
    assert out.endswith("/rig.toml:2: rig.nam: unknown key; did you mean 'name'?\n")
