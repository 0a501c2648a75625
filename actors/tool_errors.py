"""Tool errors that a model may read, for the specialists whose loop survives them.

Task guidance, profile analysis and the reading of objectives go on without a failed tool; every
other specialist's turn stops (seed "Recoverable tool failures"). A model sees a stable code, never
the text of an error, which may name addresses.
"""

from __future__ import annotations

import json
import logging

from langchain.agents.middleware import ToolErrorMiddleware
from langchain.agents.middleware.types import ToolCallRequest

from actors.specialist_run import SpecialistRun
from domain.errors import InvalidInput, MantaError, NotFound

log = logging.getLogger("manta.specialist")


def recovered(error: Exception) -> str | None:
    """The public text of an error that the loop survives; ``None`` for a defect."""
    if isinstance(error, NotFound):
        return json.dumps({"error": "not_found", "what": error.fields["what"]})
    if isinstance(error, InvalidInput):
        return json.dumps({"error": error.code, "field": error.field, "mend": error.mend})
    if isinstance(error, MantaError):
        return json.dumps({"error": error.code})
    return None


def recovering_middleware() -> ToolErrorMiddleware:
    def on_error(error: Exception, request: ToolCallRequest) -> str | None:
        text = recovered(error)
        if text is not None:
            run: SpecialistRun = request.runtime.context  # type: ignore[assignment]
            log.warning(
                "tool_failed",
                extra={
                    "request_id": run.context.request_id,
                    "tool": request.tool_call["name"],
                    "call_id": request.tool_call["id"],
                    "error_type": type(error).__name__,
                },
            )
        return text

    return ToolErrorMiddleware(on_error)
