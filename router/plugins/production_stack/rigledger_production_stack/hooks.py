"""The hooks. Whatever happens in them, the router goes on as if they were not there."""

from __future__ import annotations

import contextlib
import os
from typing import Any

from rigledger_production_stack.books import begun, event, noted
from rigledger_production_stack.sender import Sender


class Handler:
    """Logs every call whose end the router tells; what the router's own base class asks for."""

    def __init__(self, environment: dict[str, str] | None = None) -> None:
        """Reads the `RIGLEDGER_…` variables."""
        told = os.environ if environment is None else environment
        url = told.get("RIGLEDGER_URL", "http://127.0.0.1:8585")
        rig = told.get("RIGLEDGER_RIG", "rig")
        self.sender = Sender(url, lambda call: event(call, rig), told.get("RIGLEDGER_TOKEN_FILE"))

    def pre_request(self, request: Any, request_body: bytes, request_json: Any) -> None:
        """A call has come: it is noted on the call itself, and goes its way."""
        with contextlib.suppress(Exception):
            request.state.rigledger = begun(request_json)

    def post_request(self, request: Any, response_content: bytes | bytearray) -> None:
        """A call was answered; the router runs this in a thread, when the client has it all."""
        try:
            call = noted(request, response_content)
            if call is not None:
                self.sender.put(call)
        except Exception as error:
            self.sender.drop(1, f"of which no event can be made: {type(error).__name__}")


handler = Handler()
