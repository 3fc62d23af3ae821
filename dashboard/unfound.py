"""Says that an address is none of the pages, and where these are.

Streamlit answers any address that it does not know with its client, which opens the first page
beneath a notice of its own.
"""

from typing import Final

from starlette.responses import HTMLResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit import get_option

from dashboard.pages import PAGES
from dashboard.palette import DARK, FONT, LIGHT

KNOWN: Final = {"/", *(f"/{name}" for name in PAGES)}
# What Streamlit gives by its own name may be HTML, too: a report that is saved.
GIVEN: Final = ("/media/", "/_stcore/", "/component/")
STYLE: Final = (
    ":root { color-scheme: light dark }"
    f"body {{ font: 1rem/1.6 {FONT}; max-width: 36rem; margin: 4.25rem auto; padding: 0 1rem;"
    f" color: light-dark({LIGHT.text}, {DARK.text});"
    f" background: light-dark({LIGHT.page}, {DARK.page}) }}"
    "h1 { font-size: 1.75rem; font-weight: 600 }"
    "a { color: inherit }"
)


class Unfound:
    """Middleware: a page of our own where the client would be given at an unknown address."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        is_other = scope["type"] != "http" or scope["path"].startswith(GIVEN)
        # Beneath a path of one's own only Streamlit knows which addresses are pages.
        if is_other or scope["path"] in KNOWN or get_option("server.baseUrlPath"):
            await self._app(scope, receive, send)
            return
        is_client = False

        async def told(message: Message) -> None:
            nonlocal is_client
            if message["type"] == "http.response.start":
                named = {name.lower(): value for name, value in message["headers"]}
                is_client = named.get(b"content-type", b"").startswith(b"text/html")
                if is_client:
                    await page(scope["path"])(scope, receive, send)
            if not is_client:
                await send(message)

        await self._app(scope, receive, told)


def page(path: str) -> HTMLResponse:
    """The page at an unknown address; its link leads to the first page, wherever that is served."""
    home = "../" * (path.count("/") - 1) or "./"
    return HTMLResponse(
        '<!doctype html><html lang="en"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<title>rigledger</title><link rel="icon" href="data:,">'
        f"<style>{STYLE}</style><main><p><b>rigledger</b></p>"
        "<h1>No such page</h1><p>This address is none of rigledger's pages. "
        f'All of them are found from the <a href="{home}">Overview</a>.</p></main></html>',
        status_code=404,
        headers={"Cache-Control": "no-cache"},
    )
