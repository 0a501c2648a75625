"""One invocation of a specialist over the scripted model server."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fake_directory import FakeDirectory, FakeUploads
from fake_requests import context_of, tenant_of
from fake_roles import FakeRetriever
from model_server import ModelServer
from scripted_replies import Reply, call

from actors.career_chat import CareerChat
from actors.catalogue_search import CATALOGUES, catalogue_tools
from actors.person_disambiguation import person_tools
from actors.profile_analysis import profile_tools
from actors.specialist import Specialist
from actors.task_guidance import task_tools
from config.settings import Settings
from domain.messages import Message, user
from domain.outcomes import SpecialistOutcome
from domain.pauses import Resumption
from domain.requests import SpecialistRequest
from providers.openai_protocol import OpenAIModels

REPLY = call("reply_to_user")
ASKED = (user("How many days?"),)


class Bench:
    """What a specialist works with, and how one is run."""

    def __init__(
        self,
        server: ModelServer,
        retriever: FakeRetriever | None = None,
        directory: FakeDirectory | None = None,
        uploads: FakeUploads | None = None,
    ) -> None:
        self.server = server
        self.retriever = retriever or FakeRetriever()
        self.directory = directory or FakeDirectory()
        self.uploads = uploads or FakeUploads()

    async def run(
        self,
        name: str,
        *replies: Reply,
        messages: tuple[Message, ...] = ASKED,
        tenant: Any = None,
        context: dict[str, Any] | None = None,
        **request: Any,
    ) -> tuple[list[Any], SpecialistOutcome]:
        """The public events and the outcome."""
        self.server.script(f"manta.{name}", *replies)
        asked = SpecialistRequest(messages=messages, **request)
        async with openai_models(self.server) as (models, settings):
            role = self.role(name, models, settings)
            stream = role.run(context_of(**(context or {})), tenant or tenant_of(), asked)
            items = [item async for item in stream]
        assert isinstance(items[-1], SpecialistOutcome)
        return items[:-1], items[-1]

    def role(self, name: str, models: Any, settings: Settings) -> Any:
        retriever, own = self.retriever.handle, lambda _: self.directory
        if name == "career_chat":
            return CareerChat(models, settings, retriever, own, self.uploads)  # type: ignore[arg-type]
        if name in CATALOGUES:
            toolbox = catalogue_tools(name, retriever)  # type: ignore[arg-type]
            return Specialist(name, toolbox, models, settings)  # type: ignore[arg-type]
        toolboxes: dict[str, Any] = {
            "person_disambiguation": lambda: person_tools(retriever),
            "profile_analysis": lambda: profile_tools(own, retriever),
            "task_guidance": lambda: task_tools(own, retriever),
        }
        return Specialist(name, toolboxes[name](), models, settings)  # type: ignore[arg-type]


@asynccontextmanager
async def openai_models(server: ModelServer) -> AsyncIterator[tuple[OpenAIModels, Settings]]:
    settings = Settings.load(provider="compatible", openai_base_url=server.url)
    models = OpenAIModels(settings)
    yield models, settings
    await models.close()


def tools_of(body: dict[str, Any]) -> set[str]:
    return {tool["function"]["name"] for tool in body.get("tools") or ()}


def results(outcome: SpecialistOutcome) -> list[dict[str, Any]]:
    """What the tools of a run gave to the model."""
    return [json.loads(m.text) for m in outcome.messages if m.role == "tool"]


def answered(outcome: SpecialistOutcome, **answers: str) -> dict[str, Any]:
    """The messages and the resumption of the run that follows a pause."""
    assert outcome.pause is not None
    return {
        "messages": (*ASKED, *outcome.messages),
        "resumption": Resumption(pause=outcome.pause, answers=answers),
    }
