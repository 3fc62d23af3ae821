"""The LiteLLM callback of rigledger: `callbacks: ["rigledger_litellm.handler"]`."""

from rigledger_litellm.handler import Handler, handler

__all__ = ["Handler", "handler"]
