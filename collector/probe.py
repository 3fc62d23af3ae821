"""Asks a running collector how it is: whether it answers, its cards' readings, its engines, and
what it had to refuse."""

import http.client
import json
import re
import urllib.error
import urllib.request
from dataclasses import dataclass, field

from collector import guard
from collector.settings import Settings, SettingsError
from collector.settings_check import local_url

LIMIT_B = 1_000_000
_LINE = re.compile(r'^rigledger_(\w+)\{(?:device|engine|kind)="((?:[^"\\]|\\.)*)"\} (\S+)$', re.M)
_ESCAPED = {r"\\": "\\", r"\"": '"', r"\n": "\n"}


@dataclass(frozen=True)
class Health:
    """What a collector tells: seconds since each device's last reading, whether each engine is up,
    and since its start the events that the contract refused, by kind (`unknown` where untold).

    `trouble` says why it does not answer or cannot keep events; None where all is well.
    """

    trouble: str | None = None
    sample_age_s: dict[str, float] = field(default_factory=dict)
    engine_up: dict[str, bool] = field(default_factory=dict)
    refused: dict[str, int] = field(default_factory=dict)


def ask(settings: Settings, timeout_s: float = 2.0) -> Health:
    """Ask the collector that these settings name; never raises."""
    url = local_url(settings.collector.listen)
    try:
        secret = guard.token(settings.collector.listen, settings.collector.token_file)
        trouble = _trouble(url, timeout_s)
        text = _get(f"{url}/metrics", secret, timeout_s)
    except SettingsError as error:
        return Health(str(error))
    except (OSError, http.client.HTTPException, UnicodeDecodeError) as error:
        return Health(f"no collector answers at {url} ({_reason(error)}); start `rigledger up`")
    found: dict[str, dict[str, float]] = {
        "last_sample_age_seconds": {},
        "engine_up": {},
        "events_rejected_total": {},
    }
    for name, label, value in _LINE.findall(text):
        if name in found:
            found[name][_plain(label)] = float(value)
    return Health(
        trouble=trouble,
        sample_age_s=found["last_sample_age_seconds"],
        engine_up={name: bool(up) for name, up in found["engine_up"].items()},
        refused={kind: int(count) for kind, count in found["events_rejected_total"].items()},
    )


def _trouble(url: str, timeout_s: float) -> str | None:
    """Why the collector cannot keep events, in its own words."""
    try:
        _get(f"{url}/healthz", None, timeout_s)
    except urllib.error.HTTPError as error:
        try:
            told = json.loads(error.read(LIMIT_B))
            return f"the collector cannot keep events: {told['error']}"
        except (ValueError, KeyError, TypeError):
            return f"the collector cannot keep events: it answers {error.code}"
    return None


def _get(url: str, secret: str | None, timeout_s: float) -> str:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    headers = {} if secret is None else {"Authorization": f"Bearer {secret}"}
    asked = urllib.request.Request(url, headers=headers)  # noqa: S310 - the scheme is ours
    with opener.open(asked, timeout=timeout_s) as answer:
        told: bytes = answer.read(LIMIT_B)
    return told.decode()


def _reason(error: Exception) -> str:
    if isinstance(error, urllib.error.HTTPError):
        return f"it answers {error.code}"
    cause = error.reason if isinstance(error, urllib.error.URLError) else error
    text = cause.strerror if isinstance(cause, OSError) and cause.strerror else str(cause)
    return text.lower() or type(cause).__name__


def _plain(label: str) -> str:
    return re.sub(r"\\.", lambda found: _ESCAPED.get(found[0], found[0]), label)
