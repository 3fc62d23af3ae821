"""`rigledger sql`: one picture of the ledger, nothing but reading, answers safe to open."""

import csv
import datetime as dt
import io
import json
import sqlite3
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from rig.events import host
from rig.ledger import attempt, engine, heartbeats, sample

import rigledger
from analytics.render import rows
from analytics.sql import QueryError, ask
from collector.clock import now_ns
from collector.events import KINDS
from collector.settings import RigSettings, Settings, StoreSettings
from collector.snapshot import Snapshot, snapshots
from collector.store import Store

ZONE = "America/Los_Angeles"


@pytest.fixture
def rig(tmp_path: Path) -> Settings:
    """Two sealed attempts, a hot third that replaces the first, and one of each other kind."""
    with Store(tmp_path / "ledger") as store:
        store.append([attempt("a", 0, 1), attempt("b", 1, 3, project="=1+1")])
        store.seal()
        changed = attempt("a", 0, 5, revision=1)
        store.append([changed, sample("A", 0), host(0), engine("e", 0, "up")])
        store.append(heartbeats(0, 10, ["e"]))
    return Settings(
        store=StoreSettings(path=str(tmp_path / "ledger")), rig=RigSettings(time_zone=ZONE)
    )


@pytest.fixture
def sql(rig: Settings, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    config = tmp_path / "rigledger.toml"
    config.write_text(f'[store]\npath = "{rig.store.path}"\n[rig]\ntime_zone = "{ZONE}"\n')

    def run(*arguments: str) -> tuple[int, str, str]:
        code = rigledger.main(["--config", str(config), "sql", *arguments])
        told = capsys.readouterr()
        return code, told.out, told.err

    return run


def test_sealed_and_hot_rows_without_those_replaced(rig: Settings) -> None:
    found = ask(rig, "SELECT event_id, duration_ns FROM attempt ORDER BY event_id", None)
    assert found.names == ["event_id", "duration_ns"]
    assert found.numeric == [False, True]
    assert found.rows == [("a", 5 * 10**9), ("b", 2 * 10**9)]


def test_every_kind_is_a_table(rig: Settings) -> None:
    names = [name for (name,) in ask(rig, "SHOW TABLES", None).rows]
    assert sorted(names) == sorted(KINDS)
    for kind, count in [("sample", 1), ("heartbeat", 1), ("engine", 1), ("host", 1)]:
        assert ask(rig, f"SELECT count(*) FROM {kind}", None).rows == [(count,)]  # noqa: S608


def test_instants_are_timestamps_of_the_rigs_zone(rig: Settings) -> None:
    query = "SELECT received_at_ns, received_at, received_at::date FROM attempt WHERE event_id='b'"
    ((ns, told, day),) = ask(rig, query, None).rows
    expected = dt.datetime(2026, 10, 5, 8, 0, 1, tzinfo=dt.UTC)
    assert ns == int(expected.timestamp()) * 10**9
    assert told == expected
    assert (told.hour, day) == (1, dt.date(2026, 10, 5))
    ((at,),) = ask(rig, "SELECT at_time FROM sample", None).rows
    assert at == expected - dt.timedelta(seconds=1)


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("DROP VIEW attempt", "this is DROP"),
        ("COPY attempt TO 'x.csv'", "this is COPY"),
        ("EXPLAIN ANALYZE COPY attempt TO 'x.csv'", "this is EXPLAIN"),
        ("INSERT INTO ledger.hot_host SELECT * FROM ledger.hot_host", "this is INSERT"),
        ("SET enable_external_access = true", "this is SET"),
        ("ATTACH 'x.db'", "this is ATTACH"),
        ("SELECT 1; SELECT 2", "not 2"),
        ("-- nothing", "not 0"),
    ],
)
def test_only_one_query_and_only_reading(rig: Settings, query: str, words: str) -> None:
    with pytest.raises(QueryError, match=words):
        ask(rig, query, None)


def test_no_other_file_can_be_read(rig: Settings, tmp_path: Path) -> None:
    secret = tmp_path / "secret.csv"
    secret.write_text("canary\n1\n")
    beside = Path(rig.store.path) / "manifest.sqlite"
    for query in (
        f"FROM read_csv('{secret}')",
        f"FROM read_text('{beside}')",
        f"FROM glob('{tmp_path}/*')",
        f"FROM '{secret}'",
    ):
        with pytest.raises(QueryError, match="only the ledger's tables can be read"):
            ask(rig, query, None)


def test_our_own_variables_are_no_tables(rig: Settings) -> None:
    with pytest.raises(QueryError, match="Table with name found does not exist"):
        ask(rig, "SELECT * FROM found", None)


def test_files_merged_meanwhile_are_read_from_their_successor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "merged"
    settings = Settings(store=StoreSettings(path=str(path)))
    with Store(path, compact_files=2) as store:
        for number in range(2):
            store.append([host(number)])
            store.seal()
        merged = 0

        def overtaken(*asked: Any) -> dict[str, Snapshot]:
            nonlocal merged
            seen = snapshots(*asked)
            merged += store.compact()
            store.bury(now_ns())
            return seen

        monkeypatch.setattr("analytics.sql.snapshots", overtaken)
        assert ask(settings, "SELECT count(*) FROM host", None).rows == [(2,)]
    assert merged == 2


def test_a_file_that_is_damaged_is_named(rig: Settings) -> None:
    (file,) = Path(rig.store.path).glob("month=*/attempt-*.parquet")
    file.write_bytes(b"no parquet")
    with pytest.raises(QueryError, match=file.name):
        ask(rig, "SELECT count(*) FROM attempt", None)


def test_hot_rows_that_cannot_be_read_are_told(rig: Settings, sql) -> None:
    with closing(sqlite3.connect(Path(rig.store.path) / "manifest.sqlite")) as db, db:
        db.execute("UPDATE hot SET batch = x'00' WHERE kind = 'host'")
    code, out, err = sql("SELECT count(*) AS hosts FROM host", "--csv")
    assert (code, out) == (0, "hosts\n0\n")
    assert err.startswith("rigledger sql: left out: manifest.sqlite is damaged")
    assert "1 host rows are lost" in err


def test_refusals_at_the_front_door(sql) -> None:
    code, out, err = sql("SELECT duration FROM attempt")
    assert (code, out) == (2, "")
    assert 'Referenced column "duration" not found' in err
    assert '"duration_ns"' in err
    assert err.count("\n") == 1
    code, _, err = sql("SELECT * FROM requests")
    assert code == 2
    assert err.endswith(
        "Table with name requests does not exist;"
        " the tables are attempt, sample, heartbeat, engine, host\n"
    )


def test_a_missing_ledger_is_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RIGLEDGER_DATA", str(tmp_path / "nowhere"))
    assert rigledger.main(["sql", "SELECT 1"]) == 2
    assert "holds no ledger" in capsys.readouterr().err


def test_a_table_on_the_terminal(sql) -> None:
    code, out, err = sql(
        "SELECT event_id AS id, duration_ns // 1000000000 AS seconds, session"
        " FROM attempt ORDER BY id"
    )
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "id  seconds  session",
        "--  -------  -------",
        "a         5",
        "b         2",
    ]


def test_rows_left_out_are_told(sql) -> None:
    code, out, err = sql("SELECT * FROM range(5)", "--limit", "2", "--csv")
    assert (code, out) == (0, "range\n0\n1\n")
    assert err == "rigledger sql: only the first 2 rows; --limit 0 for all\n"
    assert sql("SELECT * FROM range(2)", "--limit", "2")[2] == ""
    code, out, err = sql("SELECT * FROM range(1001)")
    assert len(out.splitlines()) == 1002
    assert "only the first 1,000 rows" in err
    assert len(json.loads(sql("SELECT * FROM range(1001)", "--json")[1])) == 1001
    assert sql("SELECT 1", "--limit", "-1")[0] == 2


def test_json_keeps_types(sql) -> None:
    code, out, _ = sql(
        "SELECT 1.50::DECIMAL(9,2) AS price, 'nan'::DOUBLE AS odd, NULL AS none, [1, 2] AS list,"
        " {'a': DATE '2026-10-05'} AS part, true AS yes, 2::HUGEINT AS big",
        "--json",
    )
    assert code == 0
    assert json.loads(out) == [
        {
            "price": "1.50",
            "odd": None,
            "none": None,
            "list": [1, 2],
            "part": {"a": "2026-10-05"},
            "yes": True,
            "big": 2,
        }
    ]


def test_json_wants_a_name_for_each_column(sql) -> None:
    query = "SELECT a.event_id, b.event_id FROM attempt a JOIN attempt b ON a.event_id < b.event_id"
    code, out, err = sql(query, "--json")
    assert (code, out) == (2, "")
    assert "two columns are called 'event_id'; give each a name of its own with AS" in err
    assert sql(query, "--csv")[1] == "event_id,event_id\na,b\n"


def test_csv_is_safe_in_a_spreadsheet(sql) -> None:
    _, out, _ = sql("SELECT project FROM attempt WHERE event_id = 'b'", "--csv")
    assert out == "project\n'=1+1\n"


@pytest.mark.parametrize("sign", ["=", "+", "-", "@", "\t", "\r"])
def test_no_text_starts_a_formula(sign: str) -> None:
    text = rows.as_csv([f"{sign}name"], [[f"{sign}1"], [-1], [Decimal("-1.5")], [None], ["a=b"]])
    cells = [row[0] if row else "" for row in csv.reader(io.StringIO(text, newline=""))]
    assert cells == [f"'{sign}name", f"'{sign}1", "-1", "-1.5", "", "a=b"]


def test_cells_cannot_move_the_cursor_and_wide_signs_line_up() -> None:
    table = rows.as_table(["a", "b"], [False, True], [["\x1b[2J\nx", 1], ["数据", 22]])
    assert table.splitlines() == ["a        b", "------  --", " [2J x   1", "数据    22"]
    assert rows.as_table(["a"], [False], [["y" * 61]]).splitlines()[-1] == "y" * 59 + "…"
