"""Documents that a user adds to a conversation."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response

from config.policy import POLICY
from domain.errors import NotFound
from domain.requests import thread_id
from retrieval.reading import FIELD, FileReader, check_content, check_name
from serve.conversation_reader import document
from serve.encoded_paths import conversation_of
from serve.gateway import Gateway
from serve.identity import not_the_callers
from serve.multipart_body import read_file


def document_routes(gateway: Gateway) -> APIRouter:
    routes = APIRouter()
    who = gateway.authenticator
    files = FileReader()

    @routes.post("/v1/conversations/{segment}/documents")
    async def add(segment: str, request: Request) -> Response:
        """A conversation may begin with a document; it is kept from then on."""
        identity = await who.identify(request, "chat")
        owner = (identity.tenant, identity.user, conversation_of(segment))
        thread = thread_id(*owner)
        await gateway.uploads.check_room(thread)
        name, body = await read_file(request, FIELD, POLICY.document.file_bytes)
        name = check_name(name)
        check_content(name, body)
        found = await files.read(name, body)
        # Recorded before, so that nothing is kept that retention does not know, and again after,
        # in case the conversation was deleted in between.
        await gateway.conversations.add_document(*owner, name)
        added = await gateway.uploads.add(thread, name, len(body), found.text, found.language)
        await gateway.conversations.add_document(*owner, name)
        return JSONResponse(document(added), status_code=201)

    @routes.get("/v1/conversations/{segment}/documents")
    async def listed(segment: str, request: Request) -> dict[str, Any]:
        identity = await who.identify(request, "history")
        record = await gateway.reader.record(identity, conversation_of(segment))
        uploads = await gateway.uploads.list(thread_id(identity.tenant, identity.user, record.id))
        return {"object": "list", "data": [document(upload) for upload in uploads]}

    @routes.delete("/v1/conversations/{segment}/documents/{upload}")
    async def delete(segment: str, upload: str, request: Request) -> Response:
        identity = await who.identify(request, "history")
        thread = thread_id(identity.tenant, identity.user, conversation_of(segment))
        try:
            await gateway.uploads.delete(thread, upload)
        except NotFound:
            raise not_the_callers(identity, "document") from None
        return Response(status_code=204)

    return routes
