"""Real llama.cpp servers, each in a process of its own, over a tiny model.

llama.cpp comes from the wheel `xllamacpp`, or from the binary that LLAMA_SERVER names.
"""

import contextlib
import json
import os
import select
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rig.ports import free_port

START_S = 60.0
DYING_S = 5.0
SERVER = Path(__file__).with_name("llama_server.py")
WRITER = Path(__file__).with_name("tiny_gguf.py")


def make_model(path: Path, *, width: int = 64, layers: int = 2) -> Path:
    """Write a model (see `tiny_gguf`): 64×2 is quick, 256×6 slow enough to leave midway."""
    size = ["--width", str(width), "--layers", str(layers)]
    subprocess.run([sys.executable, WRITER, path, *size], check=True)
    return path


class LlamaServer:
    """One server: `url` without a trailing slash, `pid` of the process that listens."""

    def __init__(self, model: Path, log: Path, *, slots: int, context: int) -> None:
        """Start it; `ready` waits for it. `context` (tokens) is shared out among the slots."""
        self._log = log
        self.url = ""
        binary = os.environ.get("LLAMA_SERVER")
        command = [sys.executable, str(SERVER), str(model), str(slots), str(context)]
        if binary:
            port = free_port()
            self.url = f"http://127.0.0.1:{port}"
            command = [binary, "-m", str(model), "--host", "127.0.0.1", "--port", str(port)]
            command += ["-t", "1", "-tb", "1", "-c", str(context), "-np", str(slots)]
            command += ["--metrics", "--slots", "--no-webui"]
        with log.open("wb") as file:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=file if binary else subprocess.PIPE,
                stderr=file,
            )
        self.pid = self._process.pid

    def ready(self) -> None:
        """Return once it answers. Raises RuntimeError with the end of its log."""
        due = time.monotonic() + START_S
        out = self._process.stdout
        if out is not None and select.select([out], [], [], START_S)[0]:
            self.url = out.readline().decode().strip()
        while self._process.poll() is None and self.url and time.monotonic() < due:
            with contextlib.suppress(urllib.error.URLError, ConnectionError, TimeoutError):
                self.get("/health")
                return
            time.sleep(0.05)
        tail = self._log.read_text(errors="replace")[-2000:]
        raise RuntimeError(f"the llama.cpp server did not start:\n{tail}")

    def get(self, path: str) -> str:
        """A page of the server as text."""
        with urllib.request.urlopen(self.url + path, timeout=10) as answer:
            text: str = answer.read().decode()
        return text

    def chat(self, prompt: str, **options: Any) -> dict[str, Any]:
        """A whole answer of /v1/chat/completions, as parsed JSON."""
        body = {"messages": [{"role": "user", "content": prompt}], "max_tokens": 16} | options
        request = urllib.request.Request(
            f"{self.url}/v1/chat/completions",
            json.dumps(body).encode(),
            {"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            parsed: dict[str, Any] = json.load(answer)
        return parsed

    def metrics(self) -> dict[str, float]:
        """/metrics: name → value. `llamacpp:prompt_tokens_total` excludes cached tokens."""
        rows = [row.rpartition(" ") for row in self.get("/metrics").splitlines() if row[:1] != "#"]
        return {name: float(value) for name, _, value in rows if name}

    def stop(self) -> None:
        """End the process; its port refuses connections from then on."""
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        if os.environ.get("LLAMA_SERVER"):
            self._process.terminate()
        try:
            self._process.wait(DYING_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


@contextlib.contextmanager
def llama_servers(
    count: int,
    directory: Path,
    *,
    model: Path | None = None,
    width: int = 64,
    layers: int = 2,
    slots: int = 2,
    context: int = 16_384,
) -> Iterator[list[LlamaServer]]:
    """`count` servers that answer, stopped on leaving; their logs lie in `directory`.

    Without `model` one of `width` and `layers` is made there.
    """
    model = model or make_model(directory / "tiny.gguf", width=width, layers=layers)
    servers: list[LlamaServer] = []
    try:
        for number in range(count):
            log = directory / f"llama{number}.log"
            servers.append(LlamaServer(model, log, slots=slots, context=context))
        for server in servers:
            server.ready()
        yield servers
    finally:
        for server in servers:
            server.stop()
