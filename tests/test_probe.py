"""Asking a real collector how it is."""

import secrets
import socket
from pathlib import Path

import msgspec
import pytest
import requests
from rig.door import opened
from rig.events import body, sample_json
from rig.ledger import engine, sample
from rig.ports import free_port

from collector.clock import SECOND_NS, from_ns, now_ns
from collector.parcel import pack
from collector.probe import Health, ask
from collector.settings import CollectorSettings, Settings

JSON = {"Content-Type": "application/json"}


def settings(port: int, token_file: Path | None = None) -> Settings:
    given = None if token_file is None else str(token_file)
    return Settings(collector=CollectorSettings(listen=f"127.0.0.1:{port}", token_file=given))


def test_it_tells_the_age_of_readings_and_which_engines_are_up(tmp_path: Path) -> None:
    odd = 'card "0"\\\nx'
    read_ns = now_ns() - 90 * SECOND_NS
    events = [
        msgspec.structs.replace(sample(odd, 0, power_mw=1000), at=from_ns(read_ns)),
        engine("fast", 0, "up"),
        engine("slow", 0, "up"),
        engine("slow", 9, "down"),
    ]
    with opened(tmp_path) as served:
        assert ask(settings(served.port)) == Health()
        served.door.committer.submit(pack(events)).result(30)
        before_ns = now_ns()
        told = ask(settings(served.port))
        after_ns = now_ns()
    assert told.trouble is None
    assert told.engine_up == {"fast": True, "slow": False}
    assert list(told.sample_age_s) == [odd]
    ages = [(at - read_ns) / SECOND_NS for at in (before_ns, after_ns)]
    assert ages[0] - 0.01 <= told.sample_age_s[odd] <= ages[1] + 0.01


def test_it_tells_what_it_refused_by_kind(tmp_path: Path) -> None:
    """One event of three is whole: the answer is 202, and the other two are counted."""
    batch = body([sample_json(1), sample_json(2, power_mw=-1), {"kind": "letter"}])
    with opened(tmp_path) as served:
        told = requests.post(f"{served.url}/v1/events", data=batch, headers=JSON, timeout=30)
        assert told.status_code == 202
        assert ask(settings(served.port)).refused == {"sample": 1, "unknown": 1}


def test_no_collector_is_told_with_its_remedy() -> None:
    port = free_port()
    assert ask(settings(port)).trouble == (
        f"no collector answers at http://127.0.0.1:{port} (connection refused); "
        "start `rigledger up`"
    )


def test_who_never_answers_is_given_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        told = ask(settings(silent.getsockname()[1]), timeout_s=0.1)
    assert told.trouble is not None
    assert "(timed out)" in told.trouble


def test_a_failing_collector_is_told_in_its_own_words(tmp_path: Path) -> None:
    with opened(tmp_path) as served:
        served.door.committer.failure = "no room on the disk"
        told = ask(settings(served.port))
    assert told.trouble == "the collector cannot keep events: no room on the disk"


@pytest.mark.parametrize("mode", [0o600, 0o644])
def test_the_token_is_shown_and_guarded(tmp_path: Path, mode: int) -> None:
    secret = secrets.token_hex(16)
    file = tmp_path / "token"
    file.write_text(secret)
    file.chmod(mode)
    with opened(tmp_path / "ledger", secret=secret) as served:
        given = ask(settings(served.port, file))
        without = ask(settings(served.port))
    assert given.trouble is None if mode == 0o600 else "chmod 600" in str(given.trouble)
    assert "it answers 401" in str(without.trouble)
