"""Settings: what parses, and that each refusal names line, key and remedy."""

import datetime as dt
from pathlib import Path

import pytest

from collector.settings import Settings, SettingsError, StoreSettings, load

EXAMPLE = """\
[store]
path = "data"                      # default

[collector]
listen = "127.0.0.1:8585"

[dashboard]
listen = "127.0.0.1:8501"

[rig]
name = "desk"
time_zone = "America/Los_Angeles"
currency = "USD"

[[hardware]]                       # assets
name = "3x RTX 5090 workstation"
price = "17000"
in_service = 2026-10-01
life_years = 4
residual = "0"
method = "straight_line"
cards = ["GPU-a"]

[[electricity]]
from = 2026-10-01
price_per_kwh = "0.20"
host_watts = 90
psu_efficiency = "0.92"

[usage]
active_gap = "15m"
peak_output_tokens_per_second = {}

[[engines]]
name = "card0"
url = "http://127.0.0.1:8001"
kind = "ninfer"
gpus = ["GPU-a"]
slots = 2
pool = "qwen"
from = 2026-10-01

[[taps]]
engine = "card0"
listen = "127.0.0.1:9001"

[[compare.prices]]
name = "DeepSeek V4.1-Flash"
input = "0.15"
cache_read = "0.003"
output = "0.60"
"""


@pytest.fixture
def write(tmp_path: Path):
    def write(text: str) -> Path:
        path = tmp_path / "rig.toml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_the_example_parses(write):
    settings = load(write(EXAMPLE))
    assert settings.rig.name == "desk"
    assert settings.hardware[0].price_nano == 17_000_000_000_000
    assert settings.hardware[0].in_service == dt.date(2026, 10, 1)
    assert settings.electricity[0].price_nano_per_kwh == 200_000_000
    assert settings.electricity[0].psu_efficiency_e4 == 9_200
    assert settings.usage.active_gap_ns == 900_000_000_000
    assert settings.engines[0].pool_name == "qwen"
    assert settings.taps[0].engine == "card0"
    assert settings.compare.prices[0].cache_read == "0.003"


REFUSED = [
    (
        'time_zone = "America/Los_Angeles"',
        'time_zone = "America/Los_Angles"',
        12,
        "rig.time_zone",
        "did you mean 'America/Los_Angeles'?",
    ),
    ('time_zone = "America/Los_Angeles"', 'time_zone = "America"', 12, "rig.time_zone", "no time"),
    ('time_zone = "America/Los_Angeles"', 'time_zon = "x"', 12, "rig.time_zon", "'time_zone'?"),
    (
        'time_zone = "America/Los_Angeles"',
        'time_zone = "PST"',
        12,
        "rig.time_zone",
        "write it like",
    ),
    ('currency = "USD"', 'currency = "usd"', 13, "rig.currency", "three capital letters"),
    (
        'price = "17000"',
        "price = 17000",
        17,
        "hardware.price",
        "17000 is a whole number, not text; write a decimal amount in quotes",
    ),
    ('price = "17000"', 'price = "-17000"', 17, "hardware.price", "in quotes"),
    ('price = "17000"', 'price = "0.0000000001"', 17, "hardware.price", "decimal amount"),
    ('price = "17000"', 'price = "NaN"', 17, "hardware.price", "decimal amount"),
    ('residual = "0"', 'residual = "17000.01"', 20, "hardware.residual", "above the price"),
    (
        "in_service = 2026-10-01",
        "in_service = 2026-10-01T08:00:00Z",
        18,
        "hardware.in_service",
        "without quotes",
    ),
    ("life_years = 4", "life_years = 0", 19, "hardware.life_years", ">= 1"),
    ("life_years = 4", "life_years = true", 19, "hardware.life_years", "whole number"),
    ('name = "3x RTX 5090 workstation"', "", 15, "hardware.name", "missing"),
    ('psu_efficiency = "0.92"', 'psu_efficiency = "92"', 28, "electricity.psu_efficiency", "0.92"),
    (
        'psu_efficiency = "0.92"',
        'psu_efficiency = "0.0"',
        28,
        "electricity.psu_efficiency",
        "efficiency 0",
    ),
    ("host_watts = 90", 'host_watts = "90 W"', 27, "electricity.host_watts", "whole number"),
    ('active_gap = "15m"', 'active_gap = "15 minutes"', 31, "usage.active_gap", '"15m"'),
    (
        "peak_output_tokens_per_second = {}",
        "peak_output_tokens_per_second = {a = 0}",
        32,
        "usage.peak_output_tokens_per_second.a",
        ">= 1",
    ),
    ('kind = "ninfer"', 'kind = "nvinfer"', 37, "engines.kind", "ninfer, llama_cpp"),
    ('gpus = ["GPU-a"]', "gpus = [0]", 38, "engines.gpus", "card UUIDs"),
    ('gpus = ["GPU-a"]', 'gpus = ["GPU-a", "1"]', 38, "engines.gpus", "run `nvidia-smi -L` and"),
    ('cards = ["GPU-a"]', 'cards = ["0"]', 22, "hardware.cards", "run `nvidia-smi -L` and copy"),
    (
        "peak_output_tokens_per_second = {}",
        'peak_output_tokens_per_second = { "0" = 3000 }',
        32,
        "usage.peak_output_tokens_per_second",
        "copy the card's UUID",
    ),
    ('gpus = ["GPU-a"]', "gpus = []", 38, "engines.gpus", "card UUIDs"),
    ('engine = "card0"', 'engine = "card7"', 44, "taps.engine", "[[engines]]: card0"),
    ('listen = "127.0.0.1:9001"', 'listen = "127.0.0.1"', 45, "taps.listen", "host and port"),
    ('listen = "127.0.0.1:9001"', 'listen = "127.0.0.1:99999"', 45, "taps.listen", "65535"),
    ('listen = "127.0.0.1:9001"', 'listen = "::1:9001"', 45, "taps.listen", "no host"),
    ('listen = "127.0.0.1:9001"', 'listen = "gpu..lan:9001"', 45, "taps.listen", "cannot be"),
    ('"http://127.0.0.1:8001"', '"http://gpu..lan:8001"', 36, "engines.url", 'like "gpu.lan"'),
    ('"http://127.0.0.1:8001"', '"http://h:8001/v1"', 36, "engines.url", "leave out the /v1"),
    ('"http://127.0.0.1:8001"', '"http://h/api/v1/"', 36, "engines.url", "leave out the /v1"),
    (
        'engine = "card0"',
        'front = "http://h:30000/v1"',
        44,
        "taps.front",
        "what comes to the tap or the router has it",
    ),
    ('"http://127.0.0.1:8001"', f'"http://{"g" * 64}.lan"', 36, "engines.url", "too long"),
    (
        'engine = "card0"',
        'front = "http://.gpu.lan:30000"',
        44,
        "taps.front",
        "a part of it is empty",
    ),
    (
        'listen = "127.0.0.1:9001"',
        'listen = "127.0.0.1:8501"',
        45,
        "taps.listen",
        "taken by the dashboard",
    ),
    ('listen = "127.0.0.1:8585"', 'listen = "0.0.0.0:8585"', 5, "collector.listen", "token_file"),
    ('cache_read = "0.003"', 'cache_read = "0.3"', 50, "compare.prices.cache_read", "exchanged"),
    ('engine = "card0"', "", 43, "taps.engine", "before one engine or before one router"),
    (
        'engine = "card0"',
        'engine = "card0"\nfront = "http://127.0.0.1:30000"',
        44,
        "taps.engine",
        "before one engine or before one router",
    ),
    ('engine = "card0"', 'front = "127.0.0.1:30000"', 44, "taps.front", 'like "http://'),
    (
        'engine = "card0"',
        'front = "http://localhost:9001"',
        44,
        "taps.front",
        "is where the front tap of http://localhost:9001 listens",
    ),
    ("[[taps]]", "[[tap]]", 43, "tap", "did you mean 'taps'?"),
    ("[[hardware]]", "[hardware]", 15, "hardware", "write [[hardware]] with two brackets"),
    ("[rig]", "[[rig]]", 10, "rig", "write [rig] with one bracket"),
    ("[usage]", "[usages]", 30, "usages", "did you mean 'usage'?"),
]


@pytest.mark.parametrize("case", REFUSED)
def test_a_refusal_names_line_key_and_remedy(write, case):
    old, new, line, key, word = case
    assert EXAMPLE.count(old) >= 1
    path = write(EXAMPLE.replace(old, new, 1))
    with pytest.raises(SettingsError) as refusal:
        load(path)
    text = str(refusal.value)
    assert text.startswith(f"{path}:{line}: {key}: ")
    assert word in text
    assert "; " in text
    assert "\n" not in text


def test_the_second_of_two_tables_is_the_one_named(write):
    twice = EXAMPLE + '\n[[engines]]\nname = "card0"\nurl = "http://h:1"\ngpus = ["GPU-b"]\n'
    with pytest.raises(SettingsError, match=r"rig\.toml:55: engines\.url: "):
        load(write(twice.replace('"http://h:1"', '"h:1"')))
    with pytest.raises(SettingsError, match=r"rig\.toml:54: engines\.name: two engines"):
        load(write(twice + "from = 2026-10-01\n"))
    assert len(load(write(twice + "from = 2026-11-01\n")).engines) == 2


@pytest.mark.parametrize(
    ("url", "listen", "loops"),
    [
        ("http://127.0.0.1:9001", "127.0.0.1:9001", True),
        ("http://LOCALHOST:9001/engine", "127.0.0.1:9001", True),
        ("http://[::1]:9001", "localhost:9001", True),
        ("http://127.0.0.1:9001", "0.0.0.0:9001", True),
        ("http://0.0.0.0:9001", "127.0.0.1:9001", True),
        ("http://127.0.0.1", "127.0.0.1:80", True),
        ("http://127.0.0.1:9002", "127.0.0.1:9001", False),
        ("http://127.0.0.2:9001", "127.0.0.1:9001", False),
        ("http://192.168.1.5:9001", "127.0.0.1:9001", False),
        ("http://other:9001", "0.0.0.0:9001", False),
    ],
)
def test_an_engine_that_is_one_of_our_own_doors_is_refused(write, url, listen, loops):
    text = EXAMPLE.replace("http://127.0.0.1:8001", url).replace(
        'listen = "127.0.0.1:9001"', f'listen = "{listen}"'
    )
    if not loops:
        assert load(write(text)).taps[0].listen == listen
        return
    with pytest.raises(SettingsError, match=r":36: engines\.url: .* the tap of card0 listens"):
        load(write(text))


def test_an_engine_is_neither_collector_nor_dashboard(write):
    for port, name in ((8585, "collector"), (8501, "dashboard")):
        text = EXAMPLE.replace("http://127.0.0.1:8001", f"http://127.0.0.1:{port}")
        with pytest.raises(SettingsError, match=rf"engines\.url: .* where the {name} listens"):
            load(write(text))


def test_a_tap_may_take_the_port_that_its_engine_had_before(write):
    """So that no client need change when a tap comes between."""
    moved = '\n[[engines]]\nname = "card0"\nurl = "http://127.0.0.1:8101"\ngpus = ["GPU-a"]\n'
    text = EXAMPLE.replace("127.0.0.1:9001", "127.0.0.1:8001") + moved + "from = 2026-11-01\n"
    assert len(load(write(text)).engines) == 2


def test_an_engine_needs_a_port_that_exists(write):
    text = EXAMPLE.replace("http://127.0.0.1:8001", "http://127.0.0.1:80010")
    with pytest.raises(SettingsError, match=r":36: engines\.url: .* no address .*; write scheme"):
        load(write(text))


def test_two_taps_on_one_port_name_each_other(write):
    twice = EXAMPLE + '\n[[taps]]\nengine = "card0"\nlisten = "127.0.0.1:9001"\n'
    with pytest.raises(SettingsError, match=r":55: taps\.listen: .* by the tap of card0; choose"):
        load(write(twice))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[rig]\nname = \n", "2: nothing stands behind name =; write its value"),
        ("[rig]\nname = desk # x\n", '2: desk stands without quotes; .* like name = "desk"$'),
        ("[electricity]\nhost_watts = 90 W\n", "2: 90 W is no number; .* without its unit"),
        ("[rig]\nx = 2026-02-30\n", "2: 2026-02-30 is no date; write one .* YYYY-MM-DD"),
        ("[rig]\nx = 2026-1-5\n", "2: 2026-1-5 is no date; write one .* YYYY-MM-DD"),
        ("[rig]\n\n[rig]\n", r"3: \[rig\] stands here for the second time; .* of line 1$"),
        ("[[taps]]\n[taps]\n", r"2: .* write \[\[taps\]\] with two brackets$"),
        ("[taps]\nx = 1\n[[taps]]\n", r"3: .* \[\[taps\]\] with two brackets in line 1 too$"),
        ('rig.name = "a"\n[rig]\n', "2: .* put its lines under the others of its name$"),
        ('[rig]\nname = "a"\nname = "b"\n', "3: name stands twice in its table; keep one"),
        ('[rig]\nname = "a\n', "2: a quote is opened and not closed; "),
        ("[rig\n", "1: not TOML: expected '\\]'.*; mend this line$"),
        ("[rig]\nname", "2: not TOML: expected '=' .*; mend this line$"),
        ('[rig]\nname = "a" "b"', "2: not TOML: expected newline .*; mend this line$"),
    ],
)
def test_what_is_no_toml_is_told_in_plain_words(write, text, told):
    with pytest.raises(SettingsError, match=rf"rig\.toml:{told}"):
        load(write(text))


def test_without_a_file_the_defaults_hold(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    here = StoreSettings(path=str(tmp_path / "data"))
    assert load(None) == Settings(store=here)
    Path("rigledger.toml").write_text('[rig]\nname = "here"\n', encoding="utf-8")
    assert load(None).rig.name == "here"


@pytest.fixture
def bare(tmp_path, monkeypatch):
    """A folder with nothing in it, of a user whose data lie elsewhere."""
    folder = tmp_path / "bare"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.delenv("RIGLEDGER_DATA", raising=False)
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return folder


def test_without_a_file_the_ledger_lies_here_or_among_the_users_data(bare, tmp_path, monkeypatch):
    assert load(None).store_path() == tmp_path / "home/.local/share/rigledger"
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "xdg"))
    assert load(None).store_path() == tmp_path / "xdg/rigledger"
    (bare / "data").mkdir()
    assert load(None).store_path() == bare / "data"
    monkeypatch.setenv("RIGLEDGER_DATA", "elsewhere")
    assert load(None).store_path() == bare / "elsewhere"


@pytest.mark.parametrize(("told", "lies"), [("", "data"), ("books", "books"), ("/b", "/b")])
def test_files_are_found_from_the_settings_own_folder(bare, tmp_path, told, lies):
    settings = f'[store]\npath = "{told}"\n' if told else ""
    file = tmp_path / "rig.toml"
    file.write_text(settings + '[collector]\ntoken_file = "token"\n', encoding="utf-8")
    for way in (file, Path("../rig.toml")):
        loaded = load(way)
        assert loaded.store_path().resolve() == tmp_path / lies
        assert Path(loaded.collector.token_file or "").resolve() == tmp_path / "token"


def test_tokens_are_found_from_the_settings_own_folder(write):
    listens = EXAMPLE.replace("[collector]\n", '[collector]\ntoken_file = "one"\n')
    path = write(listens + '\n[router]\nlisten = "0.0.0.0:8080"\ntoken_file = "keys/two"\n')
    settings = load(path)
    assert settings.collector.token_file == str(path.parent / "one")
    assert settings.router.token_file == str(path.parent / "keys/two")


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://admin:pass@h:1/x@y", "http://h:1/x@y"),
        ("https://key@h", "https://h"),
        ("http://a@b:c@h:1", "http://h:1"),
        ("http://h:1/x?y=a@b", "http://h:1/x?y=a@b"),
    ],
)
def test_an_address_is_shown_without_its_password(write, url, shown):
    path = write(EXAMPLE.replace('engine = "card0"', f'front = "{url}"'))
    (tap,) = load(path).taps
    assert (tap.behind, tap.name) == (shown, f"front tap of {shown}")
    assert tap.front == url


def test_a_refusal_tells_no_password(write):
    for url in (
        "http://u:secret@127.0.0.1:9001",
        "http://u:secret@h:80010",
        "http://u:secret@h/v1",
    ):
        with pytest.raises(SettingsError) as refusal:
            load(write(EXAMPLE.replace("http://127.0.0.1:8001", url)))
        assert "secret" not in str(refusal.value)


def test_a_named_file_must_exist(tmp_path):
    with pytest.raises(SettingsError, match="no such file"):
        load(tmp_path / "none.toml")


def test_a_day_starts_at_local_midnight(write):
    settings = load(write('[rig]\ntime_zone = "America/Los_Angeles"\n'))
    # 2026-11-01 is the day on which the clocks go back: it has 25 hours.
    start, end = (settings.midnight_ns(dt.date(2026, 11, day)) for day in (1, 2))
    assert end - start == 25 * 3600 * 10**9
    assert start == 1_793_516_400 * 10**9


def test_a_day_whose_midnight_is_skipped_starts_at_the_jump(write):
    settings = load(write('[rig]\ntime_zone = "America/Santiago"\n'))
    # Chile's clocks jump from 24:00 to 01:00 at 2026-09-06T04:00Z.
    jump = dt.datetime(2026, 9, 6, 4, tzinfo=dt.UTC)
    assert settings.midnight_ns(dt.date(2026, 9, 6)) == int(jump.timestamp()) * 10**9
