"""Every error that may cross a boundary of Manta.

The tree::

    MantaError                     a failure of ours, with a stable code
    ├── InvalidInput               a caller's mistake: field, reason and mend
    │   └── InvalidConfiguration   an operator's mistake: the path of the key
    ├── Unauthenticated            nobody knows who asks: no key, or one that is not valid
    ├── Forbidden                  the caller is known and may not do this
    ├── NotFound                   it is not there, or not the caller's
    ├── ConversationBusy           another turn of the same conversation still runs
    ├── AllowanceExhausted         a budget ran out: which one, and whose
    ├── DeadlineExceeded           a wall clock ran out: of what, and how long it was
    ├── PageRejected               a URL that may not be fetched (crawler codes)
    ├── PageFailed                 a fetch that did not give a page (crawler codes)
    ├── Unavailable                something Manta depends on did not answer
    │   ├── StoreUnavailable       Redis or Milvus
    │   ├── ModelUnavailable       a model provider, its refusals and its malformed replies included
    │   └── ActorUnavailable       a role whose process died or cannot be reached
    └── TurnFailed                 the turn stopped; carries only what a user may see

Errors travel through Ray, so each one rebuilds itself from its keyword arguments.
"""

from __future__ import annotations

from typing import Any


class MantaError(Exception):
    """Base of all errors of Manta; ``code`` is stable and safe to log and to show."""

    code = "error"

    def __init__(self, message: str, **fields: Any) -> None:
        super().__init__(message)
        self.message = message
        self.fields = fields
        for name, value in fields.items():
            setattr(self, name, value)

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.message, self.fields)


def _rebuild(kind: type[MantaError], message: str, fields: dict[str, Any]) -> MantaError:
    error = kind.__new__(kind)
    MantaError.__init__(error, message, **fields)
    return error


class InvalidInput(MantaError):
    """A caller sent something that is refused: ``field``, ``reason`` and the ``mend``."""

    code = "invalid_input"
    field: str
    reason: str
    mend: str

    def __init__(self, field: str, reason: str, mend: str) -> None:
        super().__init__(f"{field}: {reason}; {mend}", field=field, reason=reason, mend=mend)


class InvalidConfiguration(InvalidInput):
    """A setting or a tenant file is wrong; ``field`` is the path of the key."""

    code = "invalid_configuration"


class Unauthenticated(MantaError):
    """A request without a valid key or token; ``code`` is OpenAI's."""

    code = "invalid_api_key"


class Forbidden(MantaError):
    """The caller's key or token does not carry the ``permission`` that this needs."""

    code = "permission_missing"
    permission: str

    def __init__(self, permission: str) -> None:
        super().__init__(f"this needs the permission {permission}", permission=permission)


class NotFound(MantaError):
    """The thing does not exist, or does not belong to the caller (the two are not told apart)."""

    code = "not_found"

    def __init__(self, what: str) -> None:
        super().__init__(f"{what} was not found", what=what)


class ConversationBusy(MantaError):
    """Another turn of the same conversation still runs."""

    code = "conversation_busy"

    def __init__(self) -> None:
        super().__init__("another turn of this conversation still runs")


class AllowanceExhausted(MantaError):
    """A budget ran out. ``allowance`` names it, ``source`` says whose limit it was."""

    code = "allowance_exhausted"
    allowance: str
    limit: int
    source: str

    def __init__(self, allowance: str, limit: int, source: str) -> None:
        super().__init__(
            f"{source} allows {limit} {allowance.replace('_', ' ')}",
            allowance=allowance,
            limit=limit,
            source=source,
        )


class DeadlineExceeded(MantaError):
    """``operation`` did not end within its ``seconds`` of wall clock."""

    code = "deadline_exceeded"
    operation: str
    seconds: float

    def __init__(self, operation: str, seconds: float) -> None:
        super().__init__(
            f"{operation} did not end within {seconds:g} s", operation=operation, seconds=seconds
        )


class PageRejected(MantaError):
    """A URL that may not be fetched; the stable ``code`` says why, the URL itself is not kept."""

    def __init__(self, code: str) -> None:
        super().__init__(code, code=code)


class PageFailed(MantaError):
    """A fetch gave no page; ``code`` is stable, ``status`` the HTTP status where there was one."""

    status: int | None
    error_type: str | None

    def __init__(
        self, code: str, *, status: int | None = None, error_type: str | None = None
    ) -> None:
        super().__init__(code, code=code, status=status, error_type=error_type)


class Unavailable(MantaError):
    """Something Manta depends on did not answer; ``what`` names it without addresses."""

    code = "unavailable"
    what: str
    reason: str

    def __init__(self, what: str, reason: str) -> None:
        super().__init__(f"{what} is unavailable: {reason}", what=what, reason=reason)


class StoreUnavailable(Unavailable):
    """Redis or Milvus did not answer."""

    code = "store_unavailable"


class ModelUnavailable(Unavailable):
    """A model gave no usable reply: transport, status, refusal, malformed or incomplete."""

    code = "model_unavailable"


class ActorUnavailable(Unavailable):
    """A role's process died or cannot be reached."""

    code = "actor_unavailable"


class TurnFailed(MantaError):
    """A turn stopped. ``stage`` is the node that stopped it; the message is safe to show."""

    code = "turn_failed"
    stage: str
    cause: str

    def __init__(self, stage: str, cause: str) -> None:
        super().__init__(
            "The assistant could not answer just now. Please try again.", stage=stage, cause=cause
        )
