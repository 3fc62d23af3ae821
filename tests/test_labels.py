"""Labels are keyed hashes, and each installation has one secret of its own."""

import hashlib
import subprocess
import sys

import pytest

from collector.settings import SettingsError
from router.labels import Labels, load_secret


def test_labels_are_blake2b_with_the_secret_and_the_domain():
    digest = hashlib.blake2b(b"alice", key=b"s" * 32, person=b"session", digest_size=16)
    assert Labels(b"s" * 32).keyed("session", "alice") == f"k1:{digest.hexdigest()}"


def test_labels_differ_between_domains_values_and_installations():
    ours, theirs = Labels(b"a" * 32), Labels(b"b" * 32)
    made = {
        ours.keyed("session", "alice"),
        ours.keyed("session", "bob"),
        ours.keyed("project", "alice"),
        theirs.keyed("session", "alice"),
    }
    assert len(made) == 4


@pytest.mark.parametrize("nothing", [None, ""])
def test_no_value_is_no_label(nothing):
    assert Labels(b"s" * 32).keyed("session", nothing) is None


def test_the_secret_is_made_once_and_closed_to_others(tmp_path):
    first = load_secret(tmp_path)
    assert load_secret(tmp_path) == first
    assert len(first) == 32
    assert [file.name for file in tmp_path.iterdir()] == ["secret"]
    assert (tmp_path / "secret").stat().st_mode & 0o777 == 0o600


def test_processes_that_start_together_agree(tmp_path):
    code = (
        "import sys, pathlib\nfrom router.labels import load_secret\n"
        "sys.stdout.write(load_secret(pathlib.Path(sys.argv[1])).hex())"
    )
    made = [
        subprocess.Popen([sys.executable, "-c", code, tmp_path], stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    assert len({process.communicate()[0] for process in made}) == 1


def test_a_damaged_secret_is_refused(tmp_path):
    (tmp_path / "secret").write_bytes(b"short")
    with pytest.raises(SettingsError, match="no secret of 32 bytes; restore it"):
        load_secret(tmp_path)
