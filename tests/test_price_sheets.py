"""Sheets by name, and sheets of one's own: read strictly, refused with line and remedy."""

import datetime as dt
from fractions import Fraction

import pytest

from analytics.prices.catalogue import Catalogue, NoSuchSheet
from analytics.prices.cost import Usage, cost
from analytics.prices.read import bundled, parse_sheets
from collector.settings import ApiPrice, CompareSettings, Settings, SettingsError

NOON = dt.datetime(2026, 11, 25, 12, tzinfo=dt.UTC)
MILLION = Usage(1_000_000, 0, 0)

OWN = """\
[[sheets]]
id = "house/large"
currency = "EUR"
aliases = ["large"]
tokenizer_ratio = "1.1"

[[sheets.periods]]
input = "1"
output = "2"

[[sheets.periods]]
from = 2026-10-01T00:00:00+02:00
to = 2027-01-01T00:00:00Z
input = "3"
cache_write = { default = "3.75", "1h" = "6" }
output = "4"

[[sheets.periods.overrides]]
name = "evening"
when = { windows = ["18:00-24:00"], tz = "Europe/Berlin", except_holidays = "DE" }
multiply = { "*" = "0.5" }

[[sheets]]
id = "house/small"

[[sheets.periods]]
input = "0.1"
output = "0.2"
"""


def test_a_sheet_of_ones_own_is_read_whole():
    large, small = parse_sheets(OWN, "own.toml")
    assert (large.currency, small.currency) == ("EUR", "USD")
    # 1.1 tokens there for each of ours, at 3 by day and 1.5 in the evening, here 18:30 in Berlin
    assert cost(large, MILLION, NOON).amount == Fraction("3.3")
    evening = dt.datetime(2026, 11, 25, 17, 30, tzinfo=dt.UTC)
    assert cost(large, MILLION, evening).amount == Fraction("1.65")
    assert cost(large, MILLION, dt.datetime(2026, 9, 30, 21, 59, tzinfo=dt.UTC)).amount == Fraction(
        "1.1"
    )
    assert cost(large, MILLION, dt.datetime(2027, 1, 1, tzinfo=dt.UTC)).amount is None


@pytest.mark.parametrize(
    ("old", "new", "line", "key", "word"),
    [
        ('input = "3"', "input = 3", 14, "sheets.periods.input", "price per million tokens"),
        ('input = "3"', 'input = "-3"', 14, "sheets.periods.input", "price per million tokens"),
        ('input = "3"', 'input = "0.0000000001"', 14, "sheets.periods.input", "per million"),
        ('input = "3"', 'inputs = "3"', 14, "sheets.periods.inputs", "did you mean 'input'?"),
        ('"1h" = "6"', '"1h" = 6', 15, "sheets.periods.cache_write.1h", "each time to live"),
        ("+02:00", "", 12, "sheets.periods.from", "with its offset"),
        ("from = 2026-10-01T00:00:00+02:00", "", 11, "sheets.periods.from", "which instant"),
        ("to = 2027-01-01", "to = 2026-01-01", 13, "sheets.periods.to", "later instant"),
        ('"18:00-24:00"', '"18-24"', 20, "sheets.periods.overrides.when.windows", "minutes"),
        ('"18:00-24:00"', '"18:00-18:00"', 20, "sheets.periods.overrides.when.windows", "length"),
        ("Europe/Berlin", "Europe/Berln", 20, "sheets.periods.overrides.when.tz", "time zone"),
        ('"DE"', '"XX"', 20, "sheets.periods.overrides.when.except_holidays", "two letters"),
        ('{ "*" = "0.5" }', "{}", 18, "sheets.periods.overrides", "changes nothing"),
        ('{ "*" = "0.5" }', '{ out = "0.5" }', 21, "sheets.periods.overrides.multiply", "factor"),
        ('id = "house/small"', 'id = "large"', 24, "sheets.id", "another sheet"),
        ('id = "house/small"', "", 23, "sheets.id", "missing"),
        ('currency = "EUR"', 'currency = "euro"', 3, "sheets.currency", "three capital letters"),
        ('ratio = "1.1"', 'ratio = "0.0"', 5, "sheets.tokenizer_ratio", "a ratio of 0"),
        (
            'input = "0.1"\noutput = "0.2"',
            "",
            26,
            "sheets.periods.input",
            "neither input nor output",
        ),
    ],
)
def test_a_refusal_names_line_key_and_remedy(old, new, line, key, word):
    assert OWN.count(old) >= 1
    with pytest.raises(SettingsError) as refusal:
        parse_sheets(OWN.replace(old, new, 1), "own.toml")
    told = str(refusal.value)
    assert told.startswith(f"own.toml:{line}: {key}")
    assert word in told


def test_periods_that_overlap_are_refused():
    later = '[[sheets.periods]]\nfrom = 2026-12-01T00:00:00Z\ninput = "1"\n\n'
    small = '[[sheets]]\nid = "house/small"'
    place = "own.toml:24: sheets.periods.from: 2026-12-01T00:00:00Z lies in the period before"
    with pytest.raises(SettingsError, match=place):
        parse_sheets(OWN.replace(small, later + small), "own.toml")


def test_ones_own_sheets_come_first(tmp_path):
    own = OWN.replace("house/large", "deepseek/deepseek-v4-flash")
    (tmp_path / "own.toml").write_text(own, encoding="utf-8")
    flat = ApiPrice(name="house/small", input="7", cache_read="0", output="7")
    settings = Settings(compare=CompareSettings(prices=[flat], sheet_folder=str(tmp_path)))
    catalogue = Catalogue(settings)
    assert catalogue.sheet("deepseek/deepseek-v4-flash").currency == "EUR"
    assert catalogue.sheet("large").id == "deepseek/deepseek-v4-flash"
    assert cost(catalogue.sheet("house/small"), MILLION, NOON).amount == 7
    assert catalogue.names().count("house/small") == 1


def test_a_flat_list_of_the_settings_is_a_sheet_in_the_rigs_currency(tmp_path):
    flat = ApiPrice(name="an API", input="0.15", cache_read="0.003", output="0.60")
    settings = Settings(compare=CompareSettings(prices=[flat]))
    sheet = Catalogue(settings, tmp_path).sheet("an API")
    assert sheet.currency == settings.rig.currency
    assert cost(sheet, Usage(1_000_000, 10_000, 900_000), NOON).amount == Fraction("0.0237")


def test_a_name_that_is_not_there_tells_what_is_near(tmp_path):
    with pytest.raises(NoSuchSheet) as missing:
        Catalogue(Settings(), tmp_path).sheet("anthropic/claude-haiku-5.6")
    assert str(missing.value).startswith("there is no price sheet 'anthropic/claude-haiku-5.6'; ")
    assert "anthropic/claude-haiku-5-5" in str(missing.value)
    with pytest.raises(KeyError, match="`rigledger prices list` shows all"):
        Catalogue(Settings(), tmp_path).sheet("zzz")


def test_a_model_is_found_by_any_name_that_its_provider_takes(tmp_path):
    catalogue = Catalogue(Settings(), tmp_path)
    assert catalogue.sheet("anthropic/claude-haiku-5.5").id == "anthropic/claude-haiku-5-5"
    assert catalogue.sheet("openai/gpt-5.6").id == "openai/gpt-5.6-sol"


def test_every_sheet_listed_can_be_had_and_priced(tmp_path):
    catalogue = Catalogue(Settings(), tmp_path)
    names = catalogue.names()
    assert len(names) > 2_000
    assert {sheet.id for sheet in bundled()} <= set(names)
    for name in names:
        sheet = catalogue.sheet(name)
        assert sheet.id == name
        found = cost(sheet, Usage(300_000, 0, 0), NOON)
        assert found.amount is not None or found.why


def test_prices_announced_for_later_count_from_their_day(tmp_path):
    sheet = Catalogue(Settings(), tmp_path).sheet("google/gemini-4-argon")
    before = dt.datetime(2026, 11, 30, 23, 59, tzinfo=dt.UTC)
    assert cost(sheet, MILLION, before).amount == 2
    assert cost(sheet, MILLION, dt.datetime(2026, 12, 1, tzinfo=dt.UTC)).amount == 4


def test_a_model_that_another_provider_resells_at_its_makers_prices_is_the_makers_sheet(tmp_path):
    assert Catalogue(Settings(), tmp_path).sheet("azure/gpt-5.6").id == "openai/gpt-5.6-sol"
