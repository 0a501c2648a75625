"""Errors as HTTP shows them: OpenAI's error object with the right status."""

from __future__ import annotations

import logging
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from domain.errors import (
    ConversationBusy,
    Forbidden,
    InvalidInput,
    MantaError,
    NotFound,
    Unauthenticated,
)

log = logging.getLogger("manta.serve")
BODY_TOO_LARGE = "body_too_large"
STATUSES: dict[type[MantaError], int] = {
    Unauthenticated: 401,
    Forbidden: 403,
    NotFound: 404,
    ConversationBusy: 409,
}


def error_object(
    message: str, kind: str, *, param: str | None = None, code: str | None = None
) -> dict[str, Any]:
    """The body that every OpenAI client understands."""
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


def error_response(error: MantaError) -> JSONResponse:
    if isinstance(error, InvalidInput):
        body = error_object(
            error.message, "invalid_request_error", param=error.field, code=error.code
        )
        return JSONResponse(body, status_code=413 if error.code == BODY_TOO_LARGE else 400)
    status = next((code for kind, code in STATUSES.items() if isinstance(error, kind)), None)
    if status is not None:
        return JSONResponse(
            error_object(error.message, "invalid_request_error", code=error.code),
            status_code=status,
            headers={"WWW-Authenticate": "Bearer"} if status == 401 else None,
        )
    return JSONResponse(error_object(error.message, "server_error", code=error.code), 503)


def stopped_object(message: str, code: str) -> dict[str, Any]:
    """A turn that stopped: a server error that the client may try again."""
    return error_object(message, "server_error", code=code)


def install_errors(app: FastAPI) -> None:
    """Let every route raise errors of ours; a defect is an error object too, without its text."""

    @app.exception_handler(Exception)
    async def _defect(_: Request, error: Exception) -> JSONResponse:
        log.error("request_failed", extra={"error_type": type(error).__name__})
        body = error_object("The server failed.", "server_error", code="unexpected")
        return JSONResponse(body, status_code=500)

    @app.exception_handler(MantaError)
    async def _ours(_: Request, error: MantaError) -> JSONResponse:
        return error_response(error)

    @app.exception_handler(HTTPException)
    async def _http(_: Request, error: HTTPException) -> JSONResponse:
        kind = "invalid_request_error" if error.status_code < 500 else "server_error"
        return JSONResponse(
            error_object(str(error.detail), kind, code=str(error.status_code)),
            status_code=error.status_code,
        )
