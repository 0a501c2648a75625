"""The HTTP application over a gateway; Ray Serve hosts it, and tests host it without Ray."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse

from config.auth import NoAuth
from serve.agui_routes import agui_routes
from serve.authentication import check_metrics
from serve.conversation_routes import conversation_routes
from serve.document_routes import document_routes
from serve.encoded_paths import EncodedPaths
from serve.errors import install_errors
from serve.feedback_routes import feedback_routes
from serve.gateway import Gateway
from serve.identity import LoopbackOnly
from serve.mcp_server import McpEndpoint
from serve.openai_routes import openai_routes
from serve.page_routes import page_routes
from serve.preference_routes import preference_routes
from serve.run_routes import run_routes


def build_app(gateway: Gateway, on_close: Callable[[], Awaitable[None]]) -> FastAPI:
    """All routes of design section 8 that exist.

    Args:
        on_close: closes what the app's owner opened, after the gateway has drained its turns.
    """

    mcp = McpEndpoint(gateway)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        gateway.start()
        async with mcp.run():
            yield
        await gateway.close()
        await on_close()

    app = FastAPI(title="Manta", lifespan=lifespan, docs_url=None, redoc_url=None, openapi_url=None)
    install_errors(app)

    app.add_middleware(EncodedPaths)
    if isinstance(gateway.settings.auth, NoAuth):
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
    async def metrics(request: Request) -> Response:
        check_metrics(request, gateway.settings)
        return Response(gateway.metrics.text(), media_type="text/plain; version=0.0.4")

    app.include_router(openai_routes(gateway))
    app.include_router(agui_routes(gateway))
    app.include_router(run_routes(gateway))
    app.router.routes.append(mcp.route())
    app.include_router(conversation_routes(gateway))
    app.include_router(document_routes(gateway))
    app.include_router(preference_routes(gateway))
    app.include_router(feedback_routes(gateway))
    app.include_router(page_routes(gateway.settings, gateway.tenants, gateway.authenticator))
    return app
