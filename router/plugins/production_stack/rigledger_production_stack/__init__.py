"""The production-stack callback of rigledger: `--callbacks rigledger_production_stack.handler`."""

from rigledger_production_stack.hooks import Handler, handler

__all__ = ["Handler", "handler"]
