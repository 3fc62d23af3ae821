"""A real LiteLLM proxy with the callback, over engines at given addresses."""

import json
import os
import subprocess
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from rig.ports import free_port

ROOT = Path(__file__).parents[2]
PLUGIN = ROOT / "router" / "plugins" / "litellm"
PROXY = ROOT / "build" / "litellm" / "bin" / "litellm"
START_S = 300.0


@contextmanager
def proxied(
    folder: Path,
    engines: Sequence[str],
    environment: Mapping[str, str],
    callbacks: Sequence[str] = ("rigledger_litellm.handler",),
) -> Iterator[str]:
    """The proxy's address; its model `tiny` is served by card0, card1 …"""
    models = "".join(
        f"  - model_name: tiny\n"
        f"    litellm_params: {{model: openai/m, api_base: {url}/v1, api_key: none}}\n"
        f"    model_info: {{id: card{number}}}\n"
        for number, url in enumerate(engines)
    )
    config = folder / "litellm.yaml"
    config.write_text(
        f"model_list:\n{models}"
        f"litellm_settings:\n  callbacks: {json.dumps(list(callbacks))}\n"
        "router_settings: {num_retries: 0, disable_cooldowns: true}\n"
    )
    port = free_port()
    around = {
        **os.environ,
        **environment,
        "PYTHONPATH": f"{PLUGIN}:{folder}",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY": "true",
    }
    command = [str(PROXY), "--config", str(config), "--host", "127.0.0.1", "--port", str(port)]
    log = folder / "litellm.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, cwd=folder, env=around, stdout=output, stderr=subprocess.STDOUT
        )
    url = f"http://127.0.0.1:{port}"
    try:
        _wait(process, f"{url}/health/liveliness", log)
        yield url
    finally:
        process.terminate()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            pass
        finally:
            process.kill()


def _wait(process: "subprocess.Popen[bytes]", url: str, log: Path) -> None:
    due = time.monotonic() + START_S
    while time.monotonic() < due and process.poll() is None:
        try:
            with urllib.request.urlopen(url, timeout=2):
                return
        except OSError:
            time.sleep(0.3)
    raise RuntimeError(f"no proxy:\n{log.read_text()[-4000:]}")
