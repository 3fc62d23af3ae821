"""`rigledger prices` as it is typed: listing, costing, and sheets of one's own."""

import datetime as dt
import json
import re
import shlex
import tomllib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

import rigledger
from analytics.prices.read import parse_sheets
from analytics.prices.sheet import When
from collector.settings_file import parse

FLASH = "deepseek/deepseek-v4.1-flash"
LONG = ("--input", "1000000", "--cache-read", "900000", "--output", "10000")


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "rigledger.toml"
    path.write_text('[compare]\nsheet_folder = "sheets"\n', encoding="utf-8")
    return path


@pytest.fixture
def prices(config, capsys):
    def run(*arguments: str) -> tuple[int, str, str]:
        status = rigledger.main(["prices", *arguments, "--config", str(config)])
        told = capsys.readouterr()
        return status, told.out, told.err

    return run


def test_cost_tells_the_amount_as_text_and_since_when_its_price_counts(prices):
    status, out, err = prices("cost", FLASH, *LONG, "--at", "2026-11-25T12:00:00Z", "--json")
    told = json.loads(out)
    assert (status, err) == (0, "")
    assert told["cost"] == "0.0237"
    assert told["currency"] == "USD"
    assert told["period"] == {"from": "2026-09-10T04:00:00Z", "to": None}
    assert told["prices"] == {"input": "0.15", "cache_read": "0.003", "output": "0.6"}


def test_cost_names_what_is_in_force(prices):
    status, out, _ = prices("cost", FLASH, *LONG, "--at", "2026-11-25T10:00:00+08:00")
    assert status == 0
    assert out.startswith("0.0474 USD at deepseek/deepseek-v4-flash, ")
    assert out.endswith("in force: peak\n")


def test_cost_takes_terms_and_times_to_live(prices):
    haiku = ("cost", "anthropic/claude-haiku-5-5", "--at", "2026-11-25T12:00Z", "--json")
    _, out, _ = prices(*haiku, "--input", "100001", "--term", "processing=batch")
    assert json.loads(out)["cost"] == "0.02500025"
    _, out, _ = prices(*haiku, "--input", "100000", "--cache-write", "100000", "--ttl", "1h")
    assert json.loads(out)["cost"] == "0.02"


def test_what_has_no_price_is_told_with_status_1(prices):
    flash = ("cost", "deepseek/deepseek-flash", *LONG, "--json")
    status, out, _ = prices(*flash, "--at", "2026-01-01T00:00Z")
    told = json.loads(out)
    assert (status, told["cost"]) == (1, None)
    assert told["why"] == "the sheet has no price at this instant"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("cost", "deepseek/deepseek-v5", "--input", "1"), "near it: deepseek/"),
        (("cost", FLASH, "--input", "1", "--at", "2026-11-25"), "write it with its offset"),
        (("cost", FLASH, "--input", "-1"), "argument --input"),
        (("cost", FLASH, "--input", "1", "--term", "batch"), "NAME=VALUE"),
        (("show", "nothing/there"), "`rigledger prices list` shows all"),
    ],
)
def test_a_mistake_is_one_sentence_with_status_2(prices, arguments, words):
    status, out, err = prices(*arguments)
    assert (status, out) == (2, "")
    assert words in err


def test_list_shows_what_matches(prices):
    status, out, _ = prices("list", "deepseek/*@CNY", "--json")
    assert status == 0
    assert {row["sheet"] for row in json.loads(out)} == {
        "deepseek/deepseek-flash@CNY",
        "deepseek/deepseek-v4-pro@CNY",
    }
    status, out, err = prices("list", "no-such-thing")
    assert (status, out) == (1, "")
    assert "no-such-thing" in err


def test_what_is_shown_can_be_a_sheet_of_ones_own(prices, config):
    for name in ("openai/gpt-5.6-luna", "anthropic/claude-haiku-5-5", FLASH):
        _, shown, _ = prices("show", name)
        folder = config.parent / "sheets"
        folder.mkdir(exist_ok=True)
        (folder / "copy.toml").write_text(shown, encoding="utf-8")
        assert prices("show", name)[1] == shown
        assert tomllib.loads(shown)["sheets"][0]["periods"]
        (folder / "copy.toml").unlink()


def test_show_tells_instants_in_json(prices):
    told = json.loads(prices("show", FLASH, "--json")[1])
    assert told["periods"][1]["from"] == "2026-08-16T16:00:00Z"
    assert told["cache"]["boundary"] == "request_unit"


def test_add_keeps_what_was_there_and_dates_what_changes(prices, config):
    flat = ("--input", "1", "--output", "4")
    assert prices("add", "house/a", *flat)[0] == 0
    assert prices("add", "house/b", *flat, "--cache-read", "0.1", "--currency", "EUR")[0] == 0
    path = config.parent / "sheets/own.toml"
    commented = f"# agreed with the house\n{path.read_text(encoding='utf-8')}"
    path.write_text(commented, encoding="utf-8")
    status, _, _ = prices(
        "add", "house/a", "--input", "2", "--output", "8", "--from", "2026-10-01T00:00Z"
    )
    assert status == 0
    assert path.read_text(encoding="utf-8").startswith("# agreed with the house\n")
    cost = ("cost", "house/a", "--input", "1000000", "--json", "--at")
    assert json.loads(prices(*cost, "2026-09-30T23:59Z")[1])["cost"] == "1"
    assert json.loads(prices(*cost, "2026-10-01T00:00Z")[1])["cost"] == "2"
    assert json.loads(prices("list", "house/b", "--json")[1])[0]["currency"] == "EUR"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("house/a", "--input", "2", "--output", "8"), "say from which instant"),
        (("house/b", "--input", "2.", "--output", "8"), "write a price per million tokens"),
        (("house/b", "--input", "2", "--output", "8", "--currency", "euro"), "three capital"),
    ],
)
def test_add_refuses_what_cannot_be_read_again(prices, config, arguments, words):
    prices("add", "house/a", "--input", "1", "--output", "4")
    before = (config.parent / "sheets/own.toml").read_bytes()
    status, _, err = prices("add", *arguments)
    assert status == 2
    assert words in err
    assert (config.parent / "sheets/own.toml").read_bytes() == before


def test_an_import_lists_what_it_leaves_out_and_dates_what_changes(prices, tmp_path):
    file = tmp_path / "models.json"
    entry = {"input_cost_per_token": 1e-6, "output_cost_per_token": 2e-6}
    models = {
        "sample_spec": {"input_cost_per_token": 9},
        "house/a": {**entry, "output_cost_per_image": 0.04},
        "other/b": entry,
    }
    file.write_text(json.dumps(models), encoding="utf-8")
    october = ("--from", "2026-10-01T00:00Z")
    status, out, err = prices("import", "litellm", str(file), "--only", "house/*", *october)
    assert status == 0
    assert out.startswith("1 sheet read: 1 new, 0 with new prices, ")
    assert err == "left out: output_cost_per_image: litellm/house/a\n"
    shown = prices("show", "litellm/house/a", "--json")[1]
    assert json.loads(shown)["left_out"] == ["output_cost_per_image"]

    entry["input_cost_per_token"] = 3e-6
    models["house/a"] = entry
    file.write_text(json.dumps(models), encoding="utf-8")
    again = ("import", "litellm", str(file), "--from", "2026-11-01T00:00Z")
    assert "2 sheets read: 1 new, 1 with new prices" in prices(*again)[1]
    assert "2 sheets read: 0 new, 0 with new prices" in prices(*again)[1]
    cost = ("cost", "litellm/house/a", "--input", "1000000", "--json", "--at")
    assert json.loads(prices(*cost, "2026-10-31T00:00Z")[1])["cost"] == "1"
    assert json.loads(prices(*cost, "2026-11-01T00:00Z")[1])["cost"] == "3"


def test_an_import_without_a_date_prices_from_its_day_on_and_no_month_before(prices, tmp_path):
    file = tmp_path / "models.json"
    entry = {"input_cost_per_token": 1e-6, "output_cost_per_token": 2e-6}
    file.write_text(json.dumps({"house/a": entry}), encoding="utf-8")
    day = dt.datetime.now(dt.UTC).date()
    out = prices("import", "litellm", str(file))[1]
    assert "--from names another instant" in out
    (period,) = json.loads(prices("show", "litellm/house/a", "--json")[1])["periods"]
    since = dt.datetime.fromisoformat(period["from"])
    assert since.time() == dt.time()
    assert since.date() in {day, dt.datetime.now(dt.UTC).date()}
    cost = ("cost", "litellm/house/a", "--input", "1000000", "--json")
    assert json.loads(prices(*cost)[1])["cost"] == "1"
    status, out, _ = prices(*cost, "--at", "2020-01-01T00:00Z")
    assert (status, json.loads(out)["cost"]) == (1, None)


@pytest.mark.parametrize(
    ("kind", "text", "words"),
    [
        ("litellm", "[]", "one object with a key for each model"),
        ("openrouter", "{}", 'a list of models, "data"'),
        ("openrouter", "{", "no JSON"),
        ("litellm", '{"a": {"mode": "image_generation"}}', "no model in it is sold by the token"),
    ],
)
def test_an_import_of_another_shape_is_refused(prices, tmp_path, kind, text, words):
    file = tmp_path / "models.json"
    file.write_text(text, encoding="utf-8")
    status, _, err = prices("import", kind, str(file))
    assert status == 2
    assert words in err
    assert str(file) in err


FETCHED = [
    {
        "id": "house",
        "name": "House",
        "api_pattern": "https://house",
        "models": [
            {
                "id": "new",
                "match": {"equals": "new"},
                "prices": [
                    {"prices": {"input_mtok": 1, "output_mtok": 2}},
                    {
                        "constraint": {"start_date": "2026-11-01"},
                        "prices": {
                            "input_mtok": {"base": 2, "tiers": [{"start": 1000, "price": 3}]},
                            "output_mtok": 2,
                        },
                    },
                ],
            }
        ],
    }
]


@pytest.fixture
def served():
    """A server that answers with whatever is put in `answer`: a status and a body."""

    class Answering(BaseHTTPRequestHandler):
        def do_GET(self):
            status, body = self.server.answer
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answering)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def test_update_replaces_the_lists_of_the_package_and_keeps_them_when_it_fails(
    prices, served, config
):
    url = f"http://127.0.0.1:{served.server_port}/data.json"
    served.answer = (200, json.dumps(FETCHED).encode())
    status, out, _ = prices("update", "--url", url)
    assert (status, out.split()[0]) == (0, "1")
    cost = ("cost", "house/new", "--input", "1001", "--json", "--at")
    assert json.loads(prices(*cost, "2026-10-31T23:59Z")[1])["cost"] == "0.001001"
    assert json.loads(prices(*cost, "2026-11-01T00:00Z")[1])["cost"] == "0.003003"
    assert prices("cost", "openai/gpt-5.6", "--input", "1")[0] == 2
    assert prices("cost", FLASH, "--input", "1")[0] == 0

    kept = (config.parent / "sheets/genai-prices.json").read_bytes()
    for answer, words in (
        ((500, b"no"), "500"),
        ((200, b"<html>"), "Expecting value"),
        ((200, b"[]"), "no list of providers"),
        ((200, b'[{"id": 1}]'), "known shape"),
    ):
        served.answer = answer
        status, _, err = prices("update", "--url", url)
        assert status == 1
        assert words in err
        assert "the old price lists stay" in err
    assert prices("update", "--url", "http://127.0.0.1:1/data.json")[0] == 1
    assert (config.parent / "sheets/genai-prices.json").read_bytes() == kept


def test_a_fetched_file_that_is_damaged_names_its_remedy(prices, config):
    (config.parent / "sheets").mkdir()
    (config.parent / "sheets/genai-prices.json").write_text("[", encoding="utf-8")
    status, _, err = prices("show", "openai/gpt-5.6")
    assert status == 2
    assert "genai-prices.json: " in err
    assert "`rigledger prices update`" in err


PAGE = (Path(__file__).parent.parent / "docs/prices.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)
SESSIONS = [
    (line, output)
    for language, text in BLOCKS
    if language == "console"
    for line, output in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", text, flags=re.MULTILINE)
]


@pytest.mark.parametrize(("line", "output"), SESSIONS)
def test_the_page_shows_real_output(prices, line, output):
    program, command, *arguments = shlex.split(line)
    assert (program, command) == ("rigledger", "prices")
    assert prices(*arguments) == (0, output, "")


def test_the_page_names_every_command_and_its_examples_are_read():
    assert len(SESSIONS) == 3
    for action in ("list", "show", "cost", "add", "import", "update"):
        assert f"`prices {action}" in PAGE or f"rigledger prices {action}" in PAGE
    sheets, currencies = (text for language, text in BLOCKS if language == "toml")
    (sheet,) = parse_sheets(sheets, "docs/prices.md")
    assert sheet.cache.granularity_tokens == 128
    assert len(parse(currencies, "docs/prices.md").currencies["CNY/USD"]) == 2


def test_the_page_lists_every_condition():
    named = set(re.findall(r"\b[a-z_]+\b", PAGE))
    assert set(When.__struct_fields__) <= named


def test_a_sheet_that_is_there_changes_from_an_instant(prices):
    flat = ("--input", "1", "--output", "4")
    assert prices("add", "house/a", *flat)[0] == 0
    status, _, err = prices("add", "house/a", *flat)
    assert status == 2
    assert "has house/a already: say from which instant it costs this, with --from" in err
    assert prices("add", "house/a", *flat, "--from", "2026-11-01T00:00:00Z")[0] == 0
