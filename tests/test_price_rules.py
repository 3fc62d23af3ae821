"""What the providers say of their caches and of storage, sheet by sheet."""

from fnmatch import fnmatchcase

import pytest

from analytics.prices.catalogue import Catalogue
from analytics.prices.read import bundled_rules, parse_sheets
from analytics.prices.rules import with_rules
from analytics.prices.toml import as_toml
from collector.settings import Settings

CATALOGUE = Catalogue(Settings())


@pytest.mark.parametrize(
    ("name", "least", "ttl_seconds", "write_billed"),
    [
        ("openai/gpt-5.5", 1024, 300, False),
        ("openai/gpt-5.6-sol", 1024, 1800, True),
        ("anthropic/claude-haiku-5-5", 512, 300, True),
        ("anthropic/claude-sonnet-5-5", 512, 300, True),
        ("anthropic/claude-sonnet-5", 1024, 300, True),
        ("anthropic/claude-opus-4-8", 1024, 300, True),
        ("anthropic/claude-opus-4-7", 2048, 300, True),
        ("anthropic/claude-opus-4-5", 4096, 300, True),
        ("anthropic/claude-haiku-4-5", 4096, 300, True),
        ("deepseek/deepseek-v4.1-flash", None, 7200, False),
        ("deepseek/deepseek-flash@CNY", None, 7200, False),
        ("google/gemini-3.8-flash", 1024, None, False),
        ("google/gemini-2.5-pro", 4096, None, False),
        ("google/gemini-4-argon", 4096, None, False),
        ("qwen/qwen3-coder-plus", 1024, None, False),
        ("minimax/minimax-m3", 512, None, False),
    ],
)
def test_each_providers_cache_hits_by_its_own_rules(name, least, ttl_seconds, write_billed):
    policy = CATALOGUE.sheet(name).cache
    assert policy.min_prefix_tokens == least
    assert policy.ttl_seconds.get("default") == ttl_seconds
    assert policy.write_billed is write_billed
    assert policy.source.startswith("https://")


def test_what_is_billed_for_writing_has_a_price_for_it():
    for rule in bundled_rules():
        if not (rule.cache and rule.cache.write_billed):
            continue
        fitting = [
            name for name in CATALOGUE.names() if any(fnmatchcase(name, p) for p in rule.sheets)
        ]
        assert fitting
        for name in fitting:
            sheet = CATALOGUE.sheet(name)
            assert sheet.periods[-1].cache_write or sheet.cache != rule.cache, name


def test_every_pattern_fits_a_sheet():
    names = CATALOGUE.names()
    patterns = [pattern for rule in bundled_rules() for pattern in rule.sheets]
    assert [p for p in patterns if not any(fnmatchcase(name, p) for name in names)] == []


def test_storage_has_its_price_from_the_providers_page():
    for name in ("gemini-3.6-flash", "gemini-3.7-flash", "gemini-3.8-flash"):
        prices = {p.storage_mtok_hour for p in CATALOGUE.sheet(f"google/{name}").periods}
        assert prices == {"0.50"}
    assert CATALOGUE.sheet("google/gemini-2.5-pro").periods[0].storage_mtok_hour is None


def test_what_a_sheet_says_itself_stays():
    text = (
        '[[sheets]]\nid = "anthropic/claude-opus-5-5"\n[sheets.cache]\nmin_prefix_tokens = 7\n'
        '[[sheets.periods]]\ninput = "1"\noutput = "2"\n'
    )
    (own,) = parse_sheets(text, "own.toml")
    assert with_rules(own, bundled_rules()) == own


def test_a_sheet_with_its_rules_can_be_written_and_read_again():
    for name in ("anthropic/claude-haiku-5-5", "google/gemini-3.8-flash"):
        sheet = CATALOGUE.sheet(name)
        assert parse_sheets(as_toml([sheet]), "x") == [sheet]
