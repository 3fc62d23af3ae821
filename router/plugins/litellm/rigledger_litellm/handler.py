"""The hooks. Whatever happens in them, the proxy goes on as if they were not there."""

from __future__ import annotations

import os
from typing import Any

from rigledger_litellm.books import event, noted
from rigledger_litellm.choice import Chooser
from rigledger_litellm.sender import Sender

try:
    from litellm.integrations.custom_logger import CustomLogger as _Base
except ImportError:  # outside a proxy, as in this package's own tests
    _Base = object


class Handler(_Base):  # type: ignore[misc]
    """Logs every call; chooses deployments where it was told to."""

    def __init__(self, environment: dict[str, str] | None = None) -> None:
        """Reads the `RIGLEDGER_…` variables; a value that cannot be used counts as its default."""
        super().__init__()
        told = os.environ if environment is None else environment
        url = told.get("RIGLEDGER_URL", "http://127.0.0.1:8585")
        slots = told.get("RIGLEDGER_SLOTS", "2")
        rig = told.get("RIGLEDGER_RIG", "rig")
        self.sender = Sender(url, lambda call: event(call, rig), told.get("RIGLEDGER_TOKEN_FILE"))
        self._chooser = None
        if told.get("RIGLEDGER_ROUTE") == "1":
            self._chooser = Chooser(int(slots) if slots.isdecimal() and int(slots) else 2)

    async def async_log_success_event(
        self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any
    ) -> None:
        """A call was answered."""
        self._log(kwargs)

    async def async_log_failure_event(
        self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any
    ) -> None:
        """A call failed."""
        self._log(kwargs)

    def log_success_event(
        self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any
    ) -> None:
        """A call outside an event loop was answered."""
        self._log(kwargs)

    def log_failure_event(
        self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any
    ) -> None:
        """A call outside an event loop failed."""
        self._log(kwargs)

    async def async_filter_deployments(
        self,
        model: str,
        healthy_deployments: list[Any],
        messages: Any,
        request_kwargs: Any = None,
        parent_otel_span: Any = None,
    ) -> list[Any]:
        """The deployments that a call may go to: one, where this handler chooses."""
        if self._chooser is None:
            return healthy_deployments
        try:
            call = (request_kwargs or {}).get("litellm_call_id")
            name = None if call is None else str(call)
            return self._chooser.choose(healthy_deployments, messages, name)
        except Exception:
            return healthy_deployments

    def _log(self, kwargs: Any) -> None:
        try:
            told = kwargs["standard_logging_object"]
            if self._chooser is not None:
                self._chooser.over(str(told.get("litellm_call_id")), str(told.get("model_id")))
            self.sender.put(noted(told))
        except Exception as error:
            self.sender.drop(1, f"of which no event can be made: {type(error).__name__}")


handler = Handler()
