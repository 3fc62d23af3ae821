"""Lets a browser keep the compiled form of the client's code from visit to visit.

Chromium compiles a module while it arrives and then passes over the compiled form that it has kept
(seen with 156), so that each visit compiles all again: a fifth of a second and more. What comes in
a character set that it cannot compile while it arrives it takes as it has kept it. To a browser a
module is UTF-8 whatever its character set is said to be (HTML, "fetch a single module script").
"""

from typing import Final

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MODULES: Final = "/static/js/"
TYPE: Final = "text/javascript; charset=koi8-r"


class KeptCode:
    """Middleware: the client's modules are given as ones that are compiled once they are whole."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""

        async def told(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                if "javascript" in headers.get("Content-Type", ""):  # a page, where there is none
                    headers["Content-Type"] = TYPE
            await send(message)

        is_module = scope["type"] == "http" and scope["path"].startswith(MODULES)
        await self._app(scope, receive, told if is_module else send)
