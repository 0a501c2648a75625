"""The HTTP application over a gateway; Ray Serve hosts it, and tests host it without Ray."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI, Response
from fastapi.responses import JSONResponse

from serve.agui_routes import agui_routes
from serve.errors import install_errors
from serve.gateway import Gateway
from serve.identity import LoopbackOnly
from serve.openai_routes import openai_routes
from serve.page_routes import page_routes


def build_app(gateway: Gateway, on_close: Callable[[], Awaitable[None]]) -> FastAPI:
    """All routes of design section 8 that exist.

    Args:
        on_close: closes what the app's owner opened, after the gateway has drained its turns.
    """

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        await gateway.close()
        await on_close()

    app = FastAPI(title="Manta", lifespan=lifespan, docs_url=None, redoc_url=None)
    install_errors(app)

    app.add_middleware(LoopbackOnly)

    @app.get("/healthz")
    async def healthz() -> dict[str, str]:
        return {"status": "ok"}

    @app.get("/readyz")
    async def readyz() -> Response:
        report = await gateway.check()
        ready = all(state == "ok" for state in report.values())
        body: dict[str, Any] = {"status": "ok" if ready else "unavailable", "checks": report}
        return JSONResponse(body, status_code=200 if ready else 503)

    @app.get("/metrics")
    async def metrics() -> Response:
        return Response(gateway.metrics.text(), media_type="text/plain; version=0.0.4")

    app.include_router(openai_routes(gateway))
    app.include_router(agui_routes(gateway))
    app.include_router(page_routes(gateway.settings, gateway.tenants))
    return app
