"""Small requests and tenants for unit tests."""

from __future__ import annotations

import json
from typing import Any

from config.tenants import TenantConfig
from domain.requests import RequestContext


def tenant_of(name: str = "acme", locale: str = "en", **chatbot: Any) -> TenantConfig:
    document = {"tenant": name, "name": name.title(), "locale": locale, "chatbot": chatbot}
    return TenantConfig.model_validate_json(json.dumps(document))


def context_of(**fields: Any) -> RequestContext:
    given = {
        "request_id": "r1",
        "tenant": "acme",
        "user": "ana",
        "conversation": "c1",
        "locale": "en",
        **fields,
    }
    return RequestContext.model_validate(given)
