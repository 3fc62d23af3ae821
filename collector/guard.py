"""Who may speak to the collector: its addresses, the Host and Origin rules, the token."""

import hmac
import ipaddress
import socket
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from urllib.parse import urlsplit

from collector.settings import SettingsError

TOKEN_MIN = 16


def address(listen: str) -> tuple[str, int]:
    """`host:port` (IPv6 in brackets) as host and port. Raises SettingsError."""
    parts = urlsplit(f"//{listen}")
    try:
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if host is None or port is None:
        raise SettingsError(f"collector.listen = {listen!r} is no host:port, like 127.0.0.1:8585")
    return host, port


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach the host."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def token(listen: str, token_file: str | None, table: str = "collector") -> str | None:
    """The bearer token of an address in the settings' `table`, None where none is asked for.

    Raises SettingsError: an address that others can reach needs a token, and its file must hold
    one that only its owner may read.
    """
    host, _ = address(listen)
    if token_file is None:
        if is_loopback(host):
            return None
        raise SettingsError(
            f"{table}.listen = {listen!r} can be reached from other machines:"
            f" set {table}.token_file, or listen on 127.0.0.1"
        )
    path = Path(token_file)
    try:
        secret = path.read_text(encoding="utf-8").strip()
        mode = path.stat().st_mode & 0o777
    except (OSError, UnicodeDecodeError):
        raise SettingsError(
            f"{table}.token_file {token_file} cannot be read:"
            " create it, readable by this user alone (chmod 600)"
        ) from None
    if mode & 0o077:
        raise SettingsError(f"{table}.token_file {token_file} is open to others: chmod 600 it")
    if len(secret) < TOKEN_MIN or not secret.isascii() or len(secret.split()) != 1:
        raise SettingsError(
            f"{table}.token_file {token_file} must hold one word of at least {TOKEN_MIN}"
            " ASCII characters, for example from `openssl rand -hex 32`"
        )
    return secret


def hosts(host: str, port: int) -> frozenset[str]:
    """The Host headers that are ours; all others are refused, so no web page can rebind DNS."""
    names = {host, "localhost", "127.0.0.1", "::1"}
    if host in {"0.0.0.0", "::"}:  # noqa: S104 - compared, not bound
        names.add(socket.gethostname().lower())
    return frozenset(f"[{name}]:{port}" if ":" in name else f"{name}:{port}" for name in names)


def reached(local: object) -> frozenset[str]:
    """The Host of a connection's own end, as the socket tells it: an address is no name that
    could be rebound, and where all are listened on it is one of ours."""
    if not isinstance(local, tuple) or len(local) < 2:
        return frozenset()
    host, port = local[:2]
    return frozenset({f"[{host}]:{port}" if ":" in host else f"{host}:{port}"})


def refuse_rebound(told: Sequence[str]) -> str | None:
    """Why these Host headers are refused where only this machine can connect; the port may be a
    tunnel's. A web page that has rebound its own name to a loopback address still tells that
    name; a client that tells none is no browser."""
    if all(_is_own_name(name) for name in told):
        return None
    return "This Host is not served here: use localhost or a loopback address."


@lru_cache(maxsize=64)
def _is_own_name(told: str) -> bool:
    try:
        host = urlsplit(f"//{told}").hostname
    except ValueError:
        return False
    return host is not None and is_loopback(host)


def refuse_host(told: Sequence[str], allowed: frozenset[str]) -> str | None:
    """Why these Host headers are refused, None if they are ours."""
    if len(told) != 1:
        return "exactly one Host header is needed"
    if told[0].lower() not in allowed:
        return "this Host is not served here; use the address in collector.listen"
    return None


def refuse_origin(told: Sequence[str], host: str) -> str | None:
    """Why a browser's Origin is refused, None if there is none or it is our own page's."""
    if not told or (len(told) == 1 and told[0].lower() == f"http://{host.lower()}"):
        return None
    return "requests from other web pages are refused"


def refuse_token(headers: Mapping[str, str], secret: str | None) -> str | None:
    """Why the request is not authorised, None if it is; compared in constant time."""
    if secret is None:
        return None
    scheme, _, given = headers.get("Authorization", "").partition(" ")
    if scheme.lower() == "bearer" and hmac.compare_digest(
        given.strip().encode("utf-8", "surrogateescape"), secret.encode()
    ):
        return None
    return "a bearer token is needed: Authorization: Bearer <content of collector.token_file>"
