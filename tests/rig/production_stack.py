"""What a vLLM production-stack router does with its callbacks, before one engine.

That router is in no package index. This keeps to its published hooks: `pre_request(request, body,
document)` before a call is sent on, which may answer it; `post_request(request, content)` with all
bytes of the answer, as a background task once the client has them. As a program,
`production_stack.py PORT ENGINE MODULE.INSTANCE` serves until it is told to end.
"""

import importlib
import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import aiohttp
import uvicorn
from rig.ports import free_port
from starlette.applications import Starlette
from starlette.background import BackgroundTasks
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

TESTS = Path(__file__).parents[1]
PLUGIN = TESTS.parent / "router" / "plugins" / "production_stack"
START_S = 60.0
END_S = 20.0


def application(engine: str, callbacks: Any) -> Starlette:
    """The router; it asks `callbacks` as the published one does."""

    @asynccontextmanager
    async def life(app: Starlette) -> AsyncIterator[None]:
        # An engine ends an idle connection when it likes; one just ended would fail the next call.
        connector = aiohttp.TCPConnector(force_close=True)
        async with aiohttp.ClientSession(connector=connector) as app.state.client:
            yield

    async def route(request: Request) -> Response:
        body = await request.body()
        overwrite: Response | None = callbacks.pre_request(request, body, json.loads(body))
        if overwrite:
            return overwrite
        tasks = BackgroundTasks()
        answer = _answer(request, engine, body, callbacks, tasks)
        status = await anext(answer)
        assert isinstance(status, int)
        return StreamingResponse(
            answer, status_code=status, media_type="text/event-stream", background=tasks
        )

    async def health(_: Request) -> Response:
        return Response()

    routes = [Route("/health", health), Route("/{path:path}", route, methods=["POST"])]
    return Starlette(routes=routes, lifespan=life)


async def _answer(
    request: Request, engine: str, body: bytes, callbacks: Any, tasks: BackgroundTasks
) -> AsyncIterator[Any]:
    """The engine's status, then its bytes."""
    whole = bytearray()
    headers = {"Content-Type": "application/json"}
    if told := request.headers.get("x-request-id"):
        headers["X-Request-Id"] = told
    url = engine + request.url.path
    client = request.app.state.client
    async with client.post(url, data=body, headers=headers) as response:
        yield response.status
        async for chunk in response.content.iter_any():
            whole.extend(chunk)
            yield chunk
    tasks.add_task(callbacks.post_request, request, whole)


@contextmanager
def routed(
    folder: Path, engine: str, environment: Mapping[str, str], callbacks: str
) -> Iterator[str]:
    """The router's address; at the end it must go when it is told to."""
    port = free_port()
    around = {**os.environ, **environment, "PYTHONPATH": f"{PLUGIN}:{folder}:{TESTS}"}
    command = [sys.executable, __file__, str(port), engine, callbacks]
    log = folder / "router.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, cwd=folder, env=around, stdout=output, stderr=subprocess.STDOUT
        )
    url = f"http://127.0.0.1:{port}"
    try:
        _wait(process, f"{url}/health", log)
        yield url
        process.terminate()
        process.wait(END_S)
        assert "Traceback" not in log.read_text()
    finally:
        process.kill()
        process.wait()


def _wait(process: "subprocess.Popen[bytes]", url: str, log: Path) -> None:
    due = time.monotonic() + START_S
    while time.monotonic() < due and process.poll() is None:
        try:
            with urllib.request.urlopen(url, timeout=2):
                return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError(f"no router:\n{log.read_text()[-4000:]}")


if __name__ == "__main__":
    module, _, instance = sys.argv[3].rpartition(".")
    app = application(sys.argv[2], getattr(importlib.import_module(module), instance))
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")
