"""What can be found out before anybody is asked: the zone, and the engines at given addresses."""

import contextlib
import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec

from collector.settings import EngineSettings
from collector.sources.ask import ask
from collector.sources.engine_health import WITHIN_S, check

# Who engines say owns their models, at /v1/models.
_OWNERS = {"llamacpp": "llama_cpp", "vllm": "vllm", "sglang": "sglang", "library": "ollama"}


class Model(msgspec.Struct):
    """The part of an entry of `/v1/models` that is read."""

    id: str
    owned_by: str | None = None


class Models(msgspec.Struct):
    """An answer of `/v1/models`."""

    data: list[Model]


@dataclass(frozen=True)
class Found:
    """What an address answered; None where it did not tell."""

    up: bool
    slots: int | None = None
    kind: str | None = None
    model: str | None = None

    def __str__(self) -> str:
        if not self.up:
            return "does not answer (yet)"
        told = [
            "answers",
            self.kind and f"looks like {self.kind}",
            self.model and f"serves {self.model}",
            self.slots and f"{self.slots} slots",
        ]
        return ", ".join(part for part in told if part)


def engine_at(url: str) -> Found:
    """Ask an address for its health, its models and, as llama.cpp, its slots. Never raises."""
    health = check(EngineSettings(name="engine", url=url, kind="llama_cpp", gpus=["GPU-0"]))
    if not health.up:
        return Found(up=False)
    model = _model(url.rstrip("/"))
    kind = _OWNERS.get(model.owned_by or "") if model else None
    if health.slots is not None:
        kind = "llama_cpp"
    return Found(True, health.slots, kind, model.id if model else None)


def _model(url: str) -> Model | None:
    try:
        models = msgspec.json.decode(ask(f"{url}/v1/models", WITHIN_S)[1], type=Models).data
    except Exception:  # whatever stands there, it tells no model
        return None
    return models[0] if models else None


def host_name() -> str:
    """This host's own name."""
    return socket.gethostname().partition(".")[0] or "rig"


def system_zone(environ: Mapping[str, str] = os.environ, root: Path = Path("/etc")) -> str:
    """The system's time zone by its name: TZ, /etc/timezone or /etc/localtime; else UTC."""
    names = [environ.get("TZ", "").removeprefix(":")]
    with contextlib.suppress(OSError):
        names.append((root / "timezone").read_text(encoding="utf-8").strip())
    with contextlib.suppress(OSError):
        names.append(str((root / "localtime").readlink()).partition("zoneinfo/")[2])
    return next(filter(_is_zone, names), "UTC")


def _is_zone(name: str) -> bool:
    try:
        return bool(name) and ZoneInfo(name).key == name
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return False
