"""Gives the cells of tables that have no value an ink that can be read.

Streamlit paints tables on a canvas, so no style reaches their cells, and no setting does: a cell
without a value would stand out from its ground by 2.4 to 1, in any theme. The ink is named in the
code of tables, which is given to the browser with another of the theme's own inks.
"""

from functools import cache
from pathlib import Path
from typing import Final

import streamlit
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

FOLDER: Final = Path(streamlit.__file__).with_name("static") / "static" / "js"
PATHS: Final = {f"/static/js/{file.name}": file for file in FOLDER.glob("DataFrame.*.js")}
FAINT: Final = "textLight:e.colors.fadedText40"
PLAIN: Final = "textLight:e.colors.fadedText70"
# The name of the file changes with what is in it.
LASTING: Final = {"Cache-Control": "public, immutable, max-age=31536000"}


class TableInk:
    """Middleware: answers for the code of tables; all else is the app's own."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        file = PATHS.get(scope["path"]) if scope["type"] == "http" else None
        told: ASGIApp = self._app
        if file is not None:
            told = Response(code(file), media_type="text/javascript", headers=LASTING)
        await told(scope, receive, send)


@cache
def code(file: Path) -> str:
    """The code of tables with the other ink."""
    return file.read_text(encoding="utf-8").replace(FAINT, PLAIN)
