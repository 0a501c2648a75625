"""The application with the scripted models behind it; each module gets one of its own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import openai
import pytest
from acme import LINKED, PAGE
from model_server import ModelServer
from served import Served, served, settings_for
from sites import Site, site


@pytest.fixture(scope="module")
def pages() -> Iterator[tuple[Site, str]]:
    with site({"/hr/": PAGE, "/hr/carry.html": LINKED}) as running:
        yield running


@pytest.fixture(scope="module")
def tenants(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tenants")
    web = {
        "enabled": True,
        "sources": [{"url": "http://hr.acme.example/hr/", "allowed_path_prefixes": ["/hr"]}],
    }
    acme = {"tenant": "acme", "name": "Acme", "chatbot": {"knowledge_base": {"web": web}}}
    quiet = {
        "tenant": "quiet",
        "name": "Quiet",
        "chatbot": {"agents": {"career_chat": {"active": True}}},
    }
    idle = {"tenant": "idle", "name": "Idle", "chatbot": {"agents": {}}}
    for tenant in (acme, quiet, idle):
        (folder / f"{tenant['tenant']}.json").write_text(json.dumps(tenant))
    return folder


@pytest.fixture(scope="module")
def app(
    model_server: ModelServer,
    pages: tuple[Site, str],
    tenants: Path,
    redis_url: str,
    milvus_uri: str,
) -> Iterator[Served]:
    settings = settings_for(
        tenants=tenants,
        default_tenant="acme",
        provider="openai",
        openai_api_key="test",
        openai_base_url=model_server.url,
        redis_url=redis_url,
        milvus_uri=milvus_uri,
        connect_to={"hr.acme.example:80": pages[1]},
        directory=None,
        prices={"gpt-6-luna": {"input": 1.0, "cached": 0.5, "output": 2.0}},
    )
    with served(settings) as running:
        yield running


@pytest.fixture
def client(app: Served) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{app.url}/v1", api_key="any", max_retries=0)
