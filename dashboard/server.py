"""What serves the pages: Streamlit's server, whose page is told where that server is."""

import re
from functools import cache
from pathlib import Path
from typing import Final

import streamlit
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse
from starlette.routing import Route
from streamlit.starlette import App

from dashboard import pace
from dashboard.code_cache import KeptCode
from dashboard.pages import PAGES
from dashboard.table_ink import TableInk
from dashboard.unfound import Unfound

STATIC: Final = Path(streamlit.__file__).with_name("static")
INDEX: Final = STATIC / "index.html"
STYLE: Final = Path(__file__).with_name("style.css")
# What stands first on each page. The client asks for the code of an element when it is told of one.
FIRST: Final = ("Selectbox", "Metric")
# Opened at the address of one of its pages, Streamlit's client looks for its server below that
# page first, and logs two errors, unless it is told. The page's assets stand beside it, too.
HERE: Final = (
    "<script>window.__streamlit={BACKEND_BASE_URL:new URL('.',location.href).href}</script>"
)


async def page(_request: Request) -> HTMLResponse:
    """The page that starts Streamlit's client, at the root or the address of one of its pages."""
    head, found, rest = INDEX.read_text(encoding="utf-8").partition("<head>")
    pace.given()
    style = f"<style>{STYLE.read_text(encoding='utf-8')}</style>"
    rest = rest.replace("</head>", f"{preloads()}{style}</head>", 1)
    return HTMLResponse(f"{head}{found}{HERE}{rest}", headers={"Cache-Control": "no-cache"})


async def at_the_root(request: Request) -> RedirectResponse:
    """The first page, which the client knows at the root alone, asked for by its name."""
    query = request.url.query
    return RedirectResponse(f"./?{query}" if query else "./")


@cache
def preloads() -> str:
    """Links by which the browser loads the code of the first elements while the client starts."""
    scripts = STATIC / "static" / "js"
    due = [file.name for name in FIRST for file in scripts.glob(f"{name}.*.js")]
    known = set(re.findall(r"[\w.-]+\.js", INDEX.read_text(encoding="utf-8")))
    links = []
    while due:
        if (name := due.pop()) not in known:
            known.add(name)
            links.append(f'<link rel="modulepreload" crossorigin href="./static/js/{name}">')
            text = (scripts / name).read_text(encoding="utf-8")
            due += re.findall(r'(?:from|import)"\./([\w.-]+\.js)"', text)
    return "".join(links)


app = App(
    Path(__file__).with_name("app.py"),
    routes=[
        Route(f"/{PAGES[0]}", at_the_root),
        *(Route(f"/{name}", page) for name in ("", *PAGES[1:])),
    ],
    middleware=[Middleware(KeptCode), Middleware(TableInk), Middleware(Unfound)],
)
