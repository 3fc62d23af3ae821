"""Who may speak to the collector."""

from pathlib import Path

import pytest

from collector import guard
from collector.settings import SettingsError

WORD = "0123456789abcdef"


@pytest.mark.parametrize("listen", ["127.0.0.1:8585", "localhost:0", "[::1]:8585", "127.3.2.1:1"])
def test_loopback_needs_no_token(listen: str) -> None:
    assert guard.token(listen, None) is None


@pytest.mark.parametrize("listen", ["0.0.0.0:8585", "[::]:8585", "192.168.1.5:8585", "desk:8585"])
def test_an_open_address_needs_a_token(listen: str, tmp_path: Path) -> None:
    with pytest.raises(
        SettingsError, match=r"set collector\.token_file, or listen on 127\.0\.0\.1"
    ):
        guard.token(listen, None)
    file = tmp_path / "token"
    file.write_text(f"{WORD}\n")
    file.chmod(0o600)
    assert guard.token(listen, str(file)) == WORD


@pytest.mark.parametrize(
    ("content", "mode", "remedy"),
    [
        (WORD, 0o640, "chmod 600"),
        ("", 0o600, "at least 16"),
        (WORD[:-1], 0o600, "at least 16"),
        (f"{WORD} {WORD}", 0o600, "one word"),
        (None, 0o600, "create it"),
    ],
)
def test_a_token_file_that_protects_nothing_is_refused(
    tmp_path: Path, content: str | None, mode: int, remedy: str
) -> None:
    file = tmp_path / "token"
    if content is not None:
        file.write_text(content)
        file.chmod(mode)
    with pytest.raises(SettingsError, match=remedy) as refusal:
        guard.token("127.0.0.1:8585", str(file))
    assert WORD not in str(refusal.value), "an error must not tell the token"


def test_an_address_without_a_port_is_refused() -> None:
    for listen in ("127.0.0.1", "127.0.0.1:99999", ":8585"):
        with pytest.raises(SettingsError, match=r"like 127\.0\.0\.1:8585"):
            guard.address(listen)
    assert guard.address("[::1]:8585") == ("::1", 8585)
