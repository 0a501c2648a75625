"""``manta key``: a new API key, and the entry of the file that knows its hash."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from typing import Any

from pydantic import ValidationError

from config.auth import ApiKey, new_key
from config.tenants import describe_validation
from domain.errors import InvalidConfiguration

USUAL = ("chat", "history")


def make_key(
    tenant: str, user: str | None, permissions: list[str] | None, name: str | None
) -> Iterator[str]:
    """Lines to print: the key, then the JSON entry.

    Raises:
        InvalidConfiguration: a wrong name or permission.
    """
    key, hashed = new_key()
    owner: dict[str, Any] = {"scope": "tenant"} if user is None else {"user": user}
    entry = {
        "id": name or f"key-{secrets.token_hex(4)}",
        "hash": hashed,
        "tenant": tenant,
        **owner,
        "permissions": sorted(set(permissions or USUAL)),
    }
    try:
        ApiKey.model_validate(entry)
    except ValidationError as error:
        wrong = describe_validation(error)
        option = wrong.field.split(".")[0].removesuffix("s")
        raise InvalidConfiguration(f"--{option}", wrong.reason, wrong.mend) from None
    yield f"key: {key}"
    yield "It is not kept anywhere: hand it over now. The entry for the file of MANTA_AUTH.keys:"
    yield json.dumps(entry)
