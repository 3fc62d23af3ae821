"""Labels that tie requests together without telling who or what they are."""

import hashlib
import os
import secrets
from collections.abc import Iterable
from pathlib import Path

from collector.settings import SettingsError

SECRET_BYTES = 32


class Labels:
    """Keyed hashes of header values: equal values meet, nothing can be read back."""

    def __init__(self, secret: bytes, plain: Iterable[str] = ()) -> None:
        """`secret`: this installation's own key; see `load_secret`. `plain`: the domains whose
        values the owner wants to read in the books."""
        self._secret = secret
        self._plain = frozenset(plain)

    def label(self, domain: str, value: str | None) -> str | None:
        """A value as the books show it: as it is where its domain is plain, else keyed."""
        if value and domain in self._plain and len(value) <= 256 and value.isprintable():
            return value
        return self.keyed(domain, value)

    def keyed(self, domain: str, value: str | None) -> str | None:
        """`k1:<hex>` of a value within its domain (session, project, …); None for no value."""
        if not value:
            return None
        digest = hashlib.blake2b(
            value.encode("utf-8", "surrogateescape"),
            key=self._secret,
            person=domain.encode("ascii"),
            digest_size=16,
        )
        return f"k1:{digest.hexdigest()}"

    def running(self, domain: str, digest_size: int) -> "hashlib.blake2b":
        """A hash of this installation that is fed piece by piece and may be copied on the way."""
        person = domain.encode("ascii")
        return hashlib.blake2b(key=self._secret, person=person, digest_size=digest_size)


def load_secret(folder: Path) -> bytes:
    """The installation's secret (`secret`, mode 0600, in the ledger's folder), made once.

    Raises OSError where the folder cannot be written, SettingsError for a damaged secret.
    """
    path = folder / "secret"
    if not path.exists():
        _create(path)
    secret = path.read_bytes()
    if len(secret) != SECRET_BYTES:
        raise SettingsError(
            f"{path} is no secret of {SECRET_BYTES} bytes; restore it from a backup"
        )
    return secret


def _create(path: Path) -> None:
    """Write it aside and link it, so that two processes agree on one whole secret."""
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f".secret-{os.getpid()}-{secrets.token_hex(4)}")
    handle = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(secrets.token_bytes(SECRET_BYTES))
            file.flush()
            os.fsync(file.fileno())
        try:
            path.hardlink_to(aside)
        except FileExistsError:
            return
    finally:
        aside.unlink()
