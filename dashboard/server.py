"""What serves the pages: Streamlit's server, whose page is told where that server is."""

from pathlib import Path
from typing import Final

import streamlit
from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.routing import Route
from streamlit.starlette import App

from dashboard.pages import PAGES

INDEX: Final = Path(streamlit.__file__).with_name("static") / "index.html"
# Opened at the address of one of its pages, Streamlit's client looks for its server below that
# page first, and logs two errors, unless it is told. The page's assets stand beside it, too.
HERE: Final = (
    "<script>window.__streamlit={BACKEND_BASE_URL:new URL('.',location.href).href}</script>"
)


async def page(_request: Request) -> HTMLResponse:
    """The page that starts Streamlit's client, at the address of one of its pages."""
    head, found, rest = INDEX.read_text(encoding="utf-8").partition("<head>")
    return HTMLResponse(f"{head}{found}{HERE}{rest}", headers={"Cache-Control": "no-cache"})


app = App(Path(__file__).with_name("app.py"), routes=[Route(f"/{name}", page) for name in PAGES])
