"""Edits of the settings' text: whatever is edited, nothing else moves."""

import datetime as dt
import tomllib
from copy import deepcopy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.settings_edit import Append, Correct, NotEditable, edited, told, toml

DAY = dt.date(2026, 11, 29)
EXAMPLE = """\
# the rig under the desk
[store]
path = "data"  # beside the checkout

[[electricity]]
from = 2026-10-01
price_per_kwh = "0.20"   # the old contract
host_watts = 90
# measured with a plug

# what runs on it
[[engines]]
name = "card0"
"""


def test_a_new_entry_follows_the_last_one_of_its_kind_and_its_comments():
    entry = {"from": dt.date(2026, 12, 1), "price_per_kwh": "0.31"}
    assert edited(EXAMPLE, [Append("electricity", entry)], DAY) == EXAMPLE.replace(
        "# measured with a plug\n",
        '# measured with a plug\n\n[[electricity]]\nfrom = 2026-12-01\nprice_per_kwh = "0.31"\n',
    )


def test_the_first_entry_of_a_kind_goes_to_the_end():
    made = edited(EXAMPLE, [Append("hardware", {"name": 'a "box"', "cards": ["0", "1"]})], DAY)
    assert made == EXAMPLE + '\n[[hardware]]\nname = "a \\"box\\""\ncards = ["0", "1"]\n'


def test_a_correction_keeps_the_old_value_and_the_lines_comment():
    change = Correct(("electricity", 0, "price_per_kwh"), "0.21")
    assert edited(EXAMPLE, [change], DAY) == EXAMPLE.replace(
        'price_per_kwh = "0.20"   # the old contract\n',
        '# corrected 2026-11-29: price_per_kwh was "0.20"\n'
        'price_per_kwh = "0.21"   # the old contract\n',
    )


def test_a_setting_that_was_left_out_is_added_to_its_table():
    change = Correct(("electricity", 0, "psu_efficiency"), "0.92", default="1")
    assert edited(EXAMPLE, [change], DAY) == EXAMPLE.replace(
        "host_watts = 90\n",
        "host_watts = 90\n"
        '# corrected 2026-11-29: psu_efficiency was not set, which meant "1"\n'
        'psu_efficiency = "0.92"\n',
    )


def test_a_table_that_is_not_there_is_made():
    change = Correct(("usage", "active_gap"), "30m", default="15m")
    assert edited(EXAMPLE, [change], DAY) == EXAMPLE + (
        "\n[usage]\n"
        '# corrected 2026-11-29: active_gap was not set, which meant "15m"\nactive_gap = "30m"\n'
    )


def test_what_the_program_sets_leaves_no_remark():
    change = Correct(("store", "path"), "elsewhere", remark=False)
    assert edited(EXAMPLE, [change], DAY) == EXAMPLE.replace('"data"', '"elsewhere"')


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            'hardware = [\n  {name = "a", price = "1"}, # old\n  # and\n]\n',
            '# corrected 2026-11-29: price was "1"\n'
            'hardware = [\n  {name = "a", price = "2"}, # old\n  # and\n]\n',
        ),
        (
            '[[hardware]] # "a"\r\nprice = "1" # USD\r\n',
            '[[hardware]] # "a"\r\n# corrected 2026-11-29: price was "1"\r\nprice = "2" # USD\r\n',
        ),
        (
            '[[hardware]]\n\tprice = "1"',
            '[[hardware]]\n\t# corrected 2026-11-29: price was "1"\n\tprice = "2"',
        ),
        (
            '[[ "hardware" ]]\nname = """\n[[hardware]]\nprice = "7"\n"""\n"price" = \'1\'\n',
            '[[ "hardware" ]]\nname = """\n[[hardware]]\nprice = "7"\n"""\n'
            '# corrected 2026-11-29: price was "1"\n"price" = "2"\n',
        ),
    ],
    ids=["inline", "crlf", "no-end", "quoted"],
)
def test_however_it_is_written(before, after):
    assert edited(before, [Correct(("hardware", 0, "price"), "2")], DAY) == after


def test_entries_written_inline_are_added_inline():
    before = 'hardware = [{name = "a"}] # all\n[rig]\nname = "desk"\n'
    made = edited(before, [Append("hardware", {"name": "b"})], DAY)
    assert made == before.replace('{name = "a"}', '{name = "a"}, {name = "b"}')


def test_what_cannot_be_edited_in_place_is_refused():
    with pytest.raises(NotEditable, match=r"\[\[compare.prices\]\] .* by hand"):
        edited("compare = {}\n", [Append("compare.prices", {"name": "an API"})], DAY)


def test_changes_are_told_in_words():
    new = Append("electricity", {"from": DAY, "host_watts": 9})
    assert told(new, EXAMPLE) == "new electricity: from 2026-11-29, host_watts 9"
    price = Correct(("electricity", 0, "price_per_kwh"), "0.3")
    assert told(price, EXAMPLE) == "electricity 2026-10-01: price_per_kwh 0.20 → 0.3"
    cards = Correct(("hardware", 0, "cards"), ["0", "1"])
    assert told(cards, '[[hardware]]\nname = "box"\n') == "hardware box: cards not set → 0, 1"
    gap = Correct(("usage", "active_gap"), "30m", "15m")
    assert told(gap, "") == "usage: active_gap not set → 30m"
    assert toml("two\nlines") == '"two\\nlines"'


# --- any file, any edits ---------------------------------------------------------------------

comments = st.sampled_from(["", "  # why", "\t#=[[x]]", ' # "quoted" # twice'])
between = st.sampled_from(["", "\n", "# a note\n", "\n# section\n\n", "  \n#\n", '# a = "b"\n'])
strings = st.sampled_from(
    ['"plain"', "'literal'", '"with # sign"', '"""\n[[hardware]]\nprice = "9"\n# no comment\n"""']
)
amounts = st.decimals(0, 99_999, places=2).map(str)
days = st.dates(dt.date(2020, 1, 1), dt.date(2030, 1, 1))


@st.composite
def blocks(draw: st.DrawFn) -> str:
    kind = draw(st.sampled_from(["electricity", "hardware", "engines", "note"]))
    pad, gap = (
        draw(st.sampled_from(["", "  ", "\t"])),
        draw(st.sampled_from([" = ", "=", "   =\t"])),
    )
    if kind == "note":
        return draw(between)
    keys = {
        "electricity": {"from": days.map(str), "price_per_kwh": amounts.map(repr)},
        "hardware": {"price": amounts.map(repr), "name": strings},
        "engines": {"name": strings, "gpus": st.sampled_from(['["0"]', '[\n "0", # one\n "1"\n]'])},
    }[kind]
    told = "".join(
        f"{draw(between)}{pad}{key}{gap}{draw(value)}{draw(comments)}\n"
        for key, value in keys.items()
    )
    return f"{pad}[[{kind}]]{draw(comments)}\n{told}"


@st.composite
def files(draw: st.DrawFn) -> str:
    parts = draw(st.lists(blocks(), max_size=6))
    usage = draw(st.sampled_from(["", '[usage]\nactive_gap = "15m" # a while\n', "[usage]\n# \n"]))
    parts.insert(draw(st.integers(0, len(parts))), usage)
    text = "# head\n" + draw(st.sampled_from(["", "\n"])) + "".join(parts)
    text = text.rstrip("\n") if draw(st.booleans()) else text
    return text.replace("\n", "\r\n") if draw(st.booleans()) else text


@st.composite
def steps(draw: st.DrawFn) -> tuple[str, str, object]:
    table = draw(st.sampled_from(["electricity", "hardware", "usage"]))
    return draw(st.sampled_from(["new", "correct"])), table, draw(amounts)


def change_of(raw, step):
    """The change that a step asks of a file with this content, and the content after it."""
    what, table, amount = step
    after = deepcopy(raw)
    if table == "usage":
        after.setdefault("usage", {})["active_gap"] = amount
        return Correct(("usage", "active_gap"), amount, "15m"), after
    key = "price" if table == "hardware" else "price_per_kwh"
    if what == "new" or table not in raw:
        entry = {key: amount, "name": "new"}
        after.setdefault(table, []).append(entry)
        return Append(table, entry), after
    index = len(raw[table]) // 2
    after[table][index][key] = amount
    return Correct((table, index, key), amount), after


@given(files(), st.lists(steps(), min_size=1, max_size=5))
def test_any_edits_of_any_file_touch_one_statement_each(text, wanted):
    for step in wanted:
        raw = tomllib.loads(text)
        change, after = change_of(raw, step)
        made = edited(text, [change], DAY)
        assert tomllib.loads(made) == after
        removed, added = difference(text, made)
        if isinstance(change, Append):
            assert removed == []
        elif removed:
            (old,), (remark, new) = removed, added
            key = change.place[-1]
            assert remark.strip().startswith(f"# corrected 2026-11-29: {key} was ")
            value = raw[change.place[0]]
            value = value[change.place[1]][key] if len(change.place) == 3 else value[key]
            before, _, behind = old.partition(str(value))
            assert str(value) in remark
            assert new.startswith(before[:-1])
            assert new.endswith(behind[1:])
        text = made


def difference(text, made):
    """The lines that went and those that came, where two texts differ."""
    ended = text if text.endswith("\n") else text + ("\r\n" if "\r\n" in text else "\n")
    old, new = ended.split("\n"), made.split("\n")
    if not made.endswith("\n"):
        old = text.split("\n")
    head = 0
    while head < min(len(old), len(new)) and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    return old[head : len(old) - tail], new[head : len(new) - tail]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            '[[hardware]]\nname = "a"\nlife_years = 4 # long\nprice = "1"\n',
            '[[hardware]]\nname = "a"\n# corrected 2026-11-29: life_years was 4\nprice = "1"\n',
        ),
        (
            'hardware = [{ name = "a", price = "1", life_years = 4 }]\n',
            '# corrected 2026-11-29: life_years was 4\nhardware = [{ name = "a", price = "1"  }]\n',
        ),
        ('[[hardware]]\nname = "a"\n', '[[hardware]]\nname = "a"\n'),
    ],
)
def test_a_setting_can_be_taken_out(before: str, after: str) -> None:
    change = Correct(("hardware", 0, "life_years"), None)
    assert edited(before, [change], DAY) == after


def test_amounts_by_date_stand_on_one_line() -> None:
    values = {"2027-10-01": "11000", "2028-10-01": "8000"}
    change = Correct(("hardware", 0, "market_values"), values)
    written = 'market_values = {2027-10-01 = "11000", 2028-10-01 = "8000"}\n'
    before = '[[hardware]]\nname = "a"\n'
    made = edited(before, [change], DAY)
    assert made.startswith(before) and made.endswith(written)
    assert told(change, before) == (
        "hardware a: market_values not set → 2027-10-01 11000, 2028-10-01 8000"
    )
    appended = edited("", [Append("hardware", {"name": "a", "market_values": values})], DAY)
    assert appended == f"{before}{written}"


def test_amounts_in_a_table_of_their_own_are_left_to_the_hand() -> None:
    text = '[[hardware]]\nname = "a"\n[hardware.market_values]\n2027-10-01 = "11000"\n'
    for value in (None, {"2027-10-01": "9"}):
        with pytest.raises(NotEditable, match="by hand"):
            edited(text, [Correct(("hardware", 0, "market_values"), value)], DAY)
